"""Training rows on a Dask cluster: partitions stay where they are, and only row sums and small factors travel.

The rows of a Dask collection become *parts* on the workers, each of whole stretches. What the driver asks of the rows
is sent to every part; a part answers with its share of the sum, shares are added up on the workers in the same tree as
for rows in memory, and one small result reaches the driver. So the network is the same as from rows in memory, bit for
bit.

A part keeps its state (residual, basis, open columns) with its rows, in the memory of its worker. That is only an
optimisation. The driver has a log of what was done to all parts; a part without its state, because its worker died or
it was moved, reports that, and is asked again with the whole log. The rows themselves are recovered by lineage: Dask
reads and prepares a lost partition again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from skscn.layers import Layer, Nodes
from skscn.rows._base import Sample
from skscn.rows._shard import Shard
from skscn.rows._stretched import StretchedRows
from skscn.rows._stretches import Subtrees, added, stretch_length
from skscn.rows.memory import memory_storage
from skscn.rows.operations import Gather, Operation, ScoreSample, Selection
from skscn.rows.parts import Part, Parts, at_home, computed, in_order, reduced, task
from skscn.scaling import InputScaling, Scaling
from skscn.supervision import SampledSums

# ---- what happens on a worker


@dataclass(frozen=True)
class Request:
    """What the driver asks of every part.

    Attributes
    ----------
    done : int
        How many operations of the driver's log the state of a part must have seen.
    opening : int
        The number of the open columns.
    opened : tuple of Operation
        The operations that produced them.
    operation : Operation or Selection
        What to do now.
    log : tuple of Operation or None
        All lasting operations so far, for a part that has lost its state; not sent unless there is one.
    """

    done: int
    opening: int
    opened: tuple[Operation, ...]
    operation: Operation | Selection
    log: tuple[Operation, ...] | None = None

    @property
    def needs_columns(self) -> bool:
        """Whether the open columns are needed."""
        return isinstance(self.operation, Operation) and self.operation.works


@dataclass(frozen=True)
class Settings:
    """What parts need to know about the fit."""

    inputs: InputScaling
    outputs: Scaling
    n_rows: int


class StatefulPart:
    """Rows of whole stretches, and the state of the fit on them.

    The state is not serialised: a part that is moved to another worker, or to disk and back, starts without it.
    """

    def __init__(self, part: Part, settings: Settings, first: int):
        self.part, self.settings, self.first = part, settings, first
        self._forget()

    def _forget(self) -> None:
        self._lock = Lock()
        self._shard: Shard | None = None
        self._done, self._open = 0, (0, 0)
        self._last: tuple[tuple[int, type], Subtrees] | None = None

    def __sizeof__(self) -> int:
        """The size of its rows, from which Dask decides whether a part may be moved."""
        return sum(values.nbytes for values in self.part if values is not None)

    def __getstate__(self) -> dict:
        return {"part": self.part, "settings": self.settings, "first": self.first}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._forget()

    def answer(self, request: Request) -> Subtrees | None:
        """Return this part's share of a sum; None if it needs the log to compute it."""
        with self._lock, single_threaded():
            operation = request.operation
            assert isinstance(operation, Operation)
            # This part is asked again because another part had lost its state.
            asked = (request.done, type(operation))
            if self._last is not None and self._last[0] == asked:
                return self._last[1]
            if not self._follow(request):
                return None
            found = self._do(operation)
            self._note(request, operation)
            share = added({(0, self.first + i): value for i, value in enumerate(found)}, self._count)
            self._last = (asked, share) if operation.lasts else None
        return share

    def answer_for(self, rows: np.ndarray, request: Request) -> Any:
        """The result of a selection on the rows with these numbers in this part; None as above."""
        with self._lock, single_threaded():
            if not self._follow(request):
                return None
            assert isinstance(request.operation, Selection)
            assert self._shard is not None
            return request.operation(self._shard, rows)

    @property
    def _length(self) -> int:
        return stretch_length(self.settings.n_rows)

    @property
    def _count(self) -> int:
        return -(-self.settings.n_rows // self._length)

    def _follow(self, request: Request) -> bool:
        """Bring the state up to date with the driver."""
        if self._shard is None or self._done != request.done:
            if request.log is None and request.done:
                return False
            self._start()
            for operation in request.log or ():
                self._do(operation)
            self._done = request.done
        if request.needs_columns and self._open != (request.opening, len(request.opened)):
            for operation in request.opened:
                self._do(operation)
        return True

    def _start(self) -> None:
        settings, part = self.settings, self.part
        residual = settings.outputs.transform(part.targets)
        if part.sample_weight is not None:
            residual *= np.sqrt(part.sample_weight)[:, np.newaxis]
        storage = memory_storage(part.X, settings.inputs, residual, settings.n_rows)
        self._shard = Shard(storage, part.sample_weight)
        self._done, self._open = 0, (0, 0)

    def _do(self, operation: Operation) -> list:
        shard, n_rows, length = self._shard, len(self.part.X), self._length
        assert shard is not None
        # An operation that fails halfway leaves no state behind.
        self._shard = None
        operation.prepare(shard)
        found = [operation(shard, slice(a, min(a + length, n_rows))) for a in range(0, n_rows, length)]
        self._shard = shard
        return found

    def _note(self, request: Request, operation: Operation) -> None:
        if operation.lasts:
            self._done += len(_logged(request.opened, operation))
        elif operation.opens or operation.works:
            self._open = (request.opening, len(request.opened) + 1)


def _logged(opened: tuple[Operation, ...], operation: Operation) -> list[Operation]:
    """What a lasting operation adds to the log: itself, after what opened the columns that it needs."""
    return [*opened, operation] if operation.works else [operation]


class _Threads:
    """How many tasks in this process limit BLAS to one thread; the last of them restores the others."""

    lock = Lock()
    users = 0
    limit: threadpool_limits | None = None


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit BLAS to one thread, so that sums are the same on every machine; tasks may do so at the same time."""
    with _Threads.lock:
        if _Threads.users == 0:
            _Threads.limit = threadpool_limits(limits=1, user_api="blas")
        _Threads.users += 1
    try:
        yield
    finally:
        with _Threads.lock:
            _Threads.users -= 1
            if _Threads.users == 0 and _Threads.limit is not None:
                _Threads.limit.restore_original_limits()


def _merged(shares: Sequence[Subtrees | None], count: int) -> Subtrees | None:
    """Shares of a sum, added up as far as they are neighbours; None if one is missing."""
    nodes: Subtrees = {}
    for share in shares:
        if share is None:
            return None
        nodes |= share
    return added(nodes, count)


# ---- what happens at the driver


class DaskRows(StretchedRows):
    """N training rows in the partitions of Dask collections.

    Parameters
    ----------
    parts : Parts
        Of :class:`Part`.
    outputs : Scaling
        Of the targets.
    layer, scaling : the layer of the nodes, and the scaling of the inputs
    """

    def __init__(
        self,
        parts: Parts,
        shape: tuple[int, int, int],
        *,
        outputs: Scaling,
        layer: Layer,
        scaling: InputScaling,
    ):
        super().__init__(shape, layer)
        values, firsts = parts.aligned()
        settings = Settings(scaling, outputs, self.n_rows)
        make, length = task(StatefulPart), stretch_length(self.n_rows)
        starts = [first * length for first in firsts]
        lengths = np.diff([*starts, self.n_rows])
        stateful = [make(value, settings, first) for value, first in zip(values, firsts, strict=True)]
        self._parts = Parts(stateful, lengths)
        self._count = -(-self.n_rows // length)
        self._log: list[Operation] = []
        self._opening = 0
        self._opened: tuple[Operation, ...] = ()
        self._begin_fit()

    def total(self, operation: Operation) -> Any:
        """Run an operation on all parts and sum what it returns, on the workers."""
        if operation.ordered:
            raise ValueError(
                f"The layer {type(self.layer).__name__} needs the rows in their order, and Dask processes partitions "
                "in any order; train on arrays or files instead."
            )
        if operation.opens:
            self._opening, self._opened = self._opening + 1, ()
        (result,) = self._asked(self._shares, operation).values()
        if operation.lasts:
            self._log += _logged(self._opened, operation)
            # Columns that are still open were made orthogonal to a previous basis.
            self._opened = ()
        elif operation.opens or operation.works:
            self._opened = (*self._opened, operation)
        return result

    def sample(self, rows: np.ndarray) -> Sample:
        """The rows with these numbers, in the form that searches on a sample need."""
        order, found = self._asked(partial(self._sampled, rows), Gather(self.basis_size))
        X, residual, vectors, roots = zip(*found, strict=True)
        return Sample.of(
            np.concatenate(X)[order],
            np.concatenate(residual)[order],
            np.concatenate(vectors, axis=1)[:, order],
            None if roots[0] is None else np.concatenate(roots)[order],
        )

    def sampled_sums(self, rows: np.ndarray, nodes: Nodes, *, precision: type) -> SampledSums:
        """Row sums of T candidates on the rows with these numbers."""
        return self._asked(partial(self._sampled_shares, rows), ScoreSample(nodes, precision))

    def _asked(self, ask: Callable[[Request], Any], operation: Operation | Selection) -> Any:
        """The answer of all parts; with the log for those that have lost their state."""
        for log in (None, tuple(self._log)):
            answer = ask(Request(len(self._log), self._opening, self._opened, operation, log))
            if answer is not None:
                break
        return answer

    def _shares(self, request: Request) -> Subtrees | None:
        shares = [at_home(StatefulPart.answer, part, request) for part in self._parts.values]
        return reduced(shares, partial(_merged, count=self._count))

    def _sampled(self, rows: np.ndarray, request: Request) -> tuple | None:
        order, tasks = self._parts.of_rows(StatefulPart.answer_for, rows, request)
        found = computed(tasks)
        return None if any(some is None for some in found) else (order, found)

    def _sampled_shares(self, rows: np.ndarray, request: Request) -> SampledSums | None:
        _, tasks = self._parts.of_rows(StatefulPart.answer_for, rows, request)
        return reduced(tasks, in_order)
