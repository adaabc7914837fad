"""Training rows on a Dask cluster: partitions stay where they are, and only row sums and small factors travel.

The rows of a Dask collection become *parts* on the workers, each of whole stretches (``_worker.py``). What the driver
asks of the rows is sent to every part; a part answers with its share of the sum, shares are added up on the workers in
the same tree as for rows in memory, and one small result reaches the driver. So the network is the same as from rows in
memory, bit for bit.

Parts may lose their state, and then get the driver's log of all that was done to them; the rows themselves are
recovered by lineage: Dask reads and prepares a lost partition again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, final

import numpy as np

from skscn.layers import Layer
from skscn.rows._backend import Backend
from skscn.rows._rows import Rows
from skscn.rows._stretches import Share, Subtrees, stretch_length
from skscn.rows._worker import Fixed, Message, StatefulPart, combined, logged, merged
from skscn.rows.blocks import Block
from skscn.rows.collections import Collection, read_collections
from skscn.rows.operations import Answer, Operation, Selection
from skscn.rows.partitions import Part, Partitions, at_home, reduced, task
from skscn.scaling import InputScaling, Scaling

Result = TypeVar("Result")


def dask_rows(
    X: Collection,
    targets: Collection,
    *,
    layer: Layer,
    scaling: InputScaling,
    sample_weight: Collection | None = None,
    n_jobs: int | None = None,
) -> Rows:
    """N training rows in Dask arrays with the same partitions; otherwise the parameters are those of ``memory_rows``.

    The cluster determines how many workers run at a time, not ``n_jobs``.
    """
    blocks, n_features, _ = read_collections(X, targets, sample_weight)
    shape = (blocks.n_rows, n_features, targets.shape[1])
    return Rows(DaskBackend(blocks.changed_with_starts(_as_part), shape, scaling=scaling), layer)


def _as_part(block: Block, start: int) -> Part:
    return Part(block.X, block.y, block.sample_weight, np.arange(start, start + len(block.X)))


@final
class DaskBackend(Backend):
    """N training rows in partitions on the workers of a cluster.

    Parameters
    ----------
    partitions : Partitions
        Of :class:`Part`.
    shape : tuple of int
        N, d and m.
    scaling : InputScaling
        Of the inputs.
    outputs : Scaling or None
        Of the targets, if they are not scaled already.
    """

    def __init__(
        self,
        partitions: Partitions[Part],
        shape: tuple[int, int, int],
        *,
        scaling: InputScaling,
        outputs: Scaling | None = None,
    ):
        self.shape = shape
        n_rows, length = shape[0], stretch_length(shape[0])
        values, firsts = partitions.aligned()
        fixed, make = Fixed(scaling, outputs, n_rows), task(StatefulPart)
        parts = [make(value, fixed, first) for value, first in zip(values, firsts, strict=True)]
        lengths = np.diff([*(first * length for first in firsts), n_rows])
        self._parts: Partitions[StatefulPart] = Partitions(parts, lengths)
        self._count = -(-n_rows // length)
        self._log: list[Operation[Any]] = []
        self._opening = 0
        self._opened: tuple[Operation[Any], ...] = ()

    def total(self, operation: Operation[Share]) -> Share:
        """Run an operation on all parts and add up its shares, on the workers."""
        if operation.ordered:
            raise ValueError(
                "Nodes that depend on earlier rows need all rows in their order, and Dask processes partitions in any "
                "order; train on arrays or files instead."
            )
        if operation.opens:
            self._opening, self._opened = self._opening + 1, ()
        result: Share
        (result,) = self._asked(self._shares, operation).values()
        if operation.lasts:
            self._log += logged(self._opened, operation)
            # Columns that are still open were made orthogonal to a previous basis.
            self._opened = ()
        elif operation.opens or operation.works:
            self._opened = (*self._opened, operation)
        return result

    def select(self, selection: Selection[Answer], rows: np.ndarray) -> Answer:
        """The answer of a selection, combined on the workers from those of the parts that have some of the rows."""
        answer: Answer = self._asked(partial(self._answer, rows), selection)
        return answer

    def _asked(self, ask: Callable[[Message[Any]], Result | None], what: Operation[Any] | Selection[Any]) -> Result:
        """The result from all parts; with the log for those that have lost their state."""
        message = Message(len(self._log), self._opening, self._opened, what)
        result = ask(message)
        if result is None:
            result = ask(replace(message, log=tuple(self._log)))
        assert result is not None
        return result

    def _shares(self, message: Message[Any]) -> Subtrees | None:
        shares = [at_home(StatefulPart.share, part, message) for part in self._parts.values]
        return reduced(shares, partial(merged, count=self._count))

    def _answer(self, rows: np.ndarray, message: Message[Selection[Answer]]) -> Answer | None:
        selection = message.task
        order, tasks = self._parts.of_rows(StatefulPart.answer, rows, message)
        answer = reduced(tasks, partial(combined, combine=selection.combined))
        return None if answer is None else selection.arranged(answer, order)
