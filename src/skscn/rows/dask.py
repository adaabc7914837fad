"""Training rows on a Dask cluster: partitions stay where they are, and only row sums and small factors travel.

The rows of a Dask collection become *parts* on the workers, each of whole stretches. What the driver asks of the rows
is sent to every part; a part answers with its share of the sum, shares are added up on the workers in the same tree as
for rows in memory, and one small result reaches the driver. So the network is the same as in memory, bit for bit.

A part keeps its state (residual, basis, open columns) with its rows, in the memory of its worker. That is only an
optimisation: parts that lose their state get the driver's log of all that was done to them, and the rows themselves are
recovered by lineage.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any, Generic, TypeVar, final

import numpy as np

from skscn.rows.blocks import Block
from skscn.rows.operations import (
    Answer,
    Backend,
    MemoryStorage,
    Operation,
    Selection,
    Share,
    Storage,
    stretch_length,
)
from skscn.rows.partitions import Collection, Part, Partitions, at_home, read_collections, reduced, task
from skscn.scaling import InputScaling, Scaling
from skscn.threads import single_threaded

Task = TypeVar("Task", bound="Operation[Any] | Selection[Any]")
Result = TypeVar("Result")
# Partial sums: node (l, i) of a binary tree stands for the 2ˡ stretches from i 2ˡ on.
Subtrees = dict[tuple[int, int], Any]


def add_neighbours(nodes: Subtrees, count: int) -> Subtrees:
    """Add up neighbouring nodes in the binary tree over ``count`` stretches.

    Some of the stretches give some of the nodes; all of them give one, the sum over all rows. Partial sums that were
    added up elsewhere lead to the same total, bit for bit, as for rows in memory.
    """
    left: Subtrees = {}
    level, waiting = 0, {i: value for (at, i), value in nodes.items() if at == 0}
    while count > 1:
        above = {i: value for (at, i), value in nodes.items() if at == level + 1}
        for i, value in waiting.items():
            if i ^ 1 in waiting:
                if not i & 1:
                    above[i >> 1] = value + waiting[i ^ 1]
            elif i ^ 1 >= count:
                above[i >> 1] = value
            else:
                left[level, i] = value
        level, waiting, count = level + 1, above, -(-count // 2)
    return left | {(level, i): value for i, value in waiting.items()}


@dataclass(frozen=True)
class Message(Generic[Task]):
    """What the driver tells every part.

    Attributes
    ----------
    done : int
        A number that identifies the state of a part: how many operations the driver has logged, now or before it
        began again.
    opening : int
        The number of the open columns.
    opened : tuple of Operation
        The operations that produced them.
    task : Operation or Selection
        What to do now.
    log : tuple of Operation or None
        All lasting operations since the first residual, for a part without this state; not sent unless there is one.
    """

    done: int
    opening: int
    opened: tuple[Operation[Any], ...]
    task: Task
    log: tuple[Operation[Any], ...] | None = None

    @property
    def needs_columns(self) -> bool:
        """Whether the open columns are needed."""
        return isinstance(self.task, Operation) and self.task.works


@dataclass(frozen=True)
class Fixed:
    """What all parts need to know, and what stays the same: the scalings, and the number of rows in all parts.

    Targets that are scaled already need no scaling of the outputs.
    """

    inputs: InputScaling
    outputs: Scaling | None
    n_rows: int


class StatefulPart:
    """Rows of whole stretches, and the state of the fit on them.

    The state is not serialised: a part that is moved to another worker, or to disk and back, starts without it.

    Parameters
    ----------
    part : Part
    fixed : Fixed
    first : int
        The number of its first stretch.
    """

    def __init__(self, part: Part, fixed: Fixed, first: int):
        self.part, self.fixed, self.first = part, fixed, first
        self._forget()

    def _forget(self) -> None:
        self._lock = Lock()
        self._storage: Storage | None = None
        self._done, self._open = 0, (0, 0)
        self._last: tuple[tuple[int, type], Subtrees] | None = None

    def __sizeof__(self) -> int:
        """The size of its rows, from which Dask decides whether a part may be moved."""
        return sum(values.nbytes for values in self.part if values is not None)

    def __getstate__(self) -> dict[str, Any]:
        return {"part": self.part, "fixed": self.fixed, "first": self.first}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def share(self, message: Message[Operation[Share]]) -> Subtrees | None:
        """Run an operation; return this part's share of its sum, or None if it needs the log to compute it."""
        with self._lock, single_threaded():
            operation = message.task
            # This part is asked again because another part had lost its state.
            asked = (message.done, type(operation))
            if self._last is not None and self._last[0] == asked:
                return self._last[1]
            if not self._follow(message):
                return None
            found = self._do(operation)
            self._note(message, operation)
            share = add_neighbours({(0, self.first + i): value for i, value in enumerate(found)}, self._count)
            self._last = (asked, share) if operation.lasts else None
        return share

    def answer(self, rows: np.ndarray, message: Message[Selection[Answer]]) -> Answer | None:
        """The answer of a selection for the rows with these numbers in this part; None as above."""
        with self._lock, single_threaded():
            if not self._follow(message):
                return None
            assert self._storage is not None
            return message.task(self._storage, rows)

    @property
    def _length(self) -> int:
        return stretch_length(self.fixed.n_rows)

    @property
    def _count(self) -> int:
        return -(-self.fixed.n_rows // self._length)

    def _follow(self, message: Message[Any]) -> bool:
        """Bring the state up to date with the driver."""
        if self._storage is None or self._done != message.done:
            if message.log is None and message.done:
                return False
            self._start()
            for operation in message.log or ():
                self._do(operation)
            self._done = message.done
        if message.needs_columns and self._open != (message.opening, len(message.opened)):
            for operation in message.opened:
                self._do(operation)
        return True

    def _start(self) -> None:
        fixed, part = self.fixed, self.part
        residual = part.targets.copy() if fixed.outputs is None else fixed.outputs.transform(part.targets)
        if part.sample_weight is not None:
            residual *= np.sqrt(part.sample_weight)[:, np.newaxis]
        self._storage = MemoryStorage(part.X, fixed.inputs, residual, part.sample_weight, n_rows=fixed.n_rows)
        self._done, self._open = 0, (0, 0)

    def _do(self, operation: Operation[Share]) -> list[Share]:
        storage, n_rows, length = self._storage, len(self.part.X), self._length
        assert storage is not None
        # An operation that fails halfway leaves no state behind.
        self._storage = None
        operation.prepare(storage)
        found = [operation(storage, slice(a, min(a + length, n_rows))) for a in range(0, n_rows, length)]
        self._storage = storage
        return found

    def _note(self, message: Message[Any], operation: Operation[Any]) -> None:
        if operation.lasts:
            self._done += len(logged(message.opened, operation))
        elif operation.opens or operation.works:
            self._open = (message.opening, len(message.opened) + 1)


def logged(opened: tuple[Operation[Any], ...], operation: Operation[Any]) -> list[Operation[Any]]:
    """What a lasting operation adds to the log: itself, after what opened the columns that it needs."""
    return [*opened, operation] if operation.works else [operation]


def merged(shares: Sequence[Subtrees | None], count: int) -> Subtrees | None:
    """Shares of a sum, added up as far as they are neighbours; None if one is missing."""
    nodes: Subtrees = {}
    for share in shares:
        if share is None:
            return None
        nodes |= share
    return add_neighbours(nodes, count)


def combined(answers: Sequence[Answer | None], combine: Callable[[Sequence[Answer]], Answer]) -> Answer | None:
    """The answers of a selection as one; None if one is missing."""
    found = [answer for answer in answers if answer is not None]
    return combine(found) if len(found) == len(answers) else None


# The driver -------------------------------------------------------------------------------------------------------


def dask_backend(
    X: Collection,
    targets: Collection,
    *,
    scaling: InputScaling,
    sample_weight: Collection | None = None,
    n_jobs: int | None = None,
) -> Backend:
    """N training rows in Dask arrays with the same partitions; the other parameters are those of ``memory_backend``.

    The cluster determines how many workers run at a time, not ``n_jobs``.
    """
    blocks, _, _ = read_collections(X, targets, sample_weight)
    shape = (blocks.n_rows, len(scaling.sources), targets.shape[1])
    return DaskBackend(blocks.changed_with_starts(_as_part), shape, scaling=scaling)


def _as_part(block: Block, start: int) -> Part:
    return Part(block.X, block.y, block.sample_weight, np.arange(start, start + len(block.X)))


class LoggedBackend(Backend):
    """N training rows in parts that may lose their state, with a log from which they get it back.

    Parameters
    ----------
    shape : tuple of int
        N, d and m.
    """

    def __init__(self, shape: tuple[int, int, int]):
        self.shape = shape
        # What was done since the first residual, and how many operations before that no longer matter.
        self._log: list[Operation[Any]] = []
        self._past = 0
        self._opening = 0
        self._opened: tuple[Operation[Any], ...] = ()

    def total(self, operation: Operation[Share]) -> Share:
        """Run an operation on all parts and add up its shares, where they are."""
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

    def restart(self) -> None:
        """Forget what was done; parts whose state is older than that begin anew."""
        self._past, self._log, self._opened = self._past + len(self._log) + 1, [], ()

    def _asked(self, ask: Callable[[Message[Any]], Result | None], what: Operation[Any] | Selection[Any]) -> Result:
        """The result from all parts; with the log for those that have lost their state."""
        message = Message(self._past + len(self._log), self._opening, self._opened, what)
        result = ask(message)
        if result is None:
            result = ask(replace(message, log=tuple(self._log)))
        assert result is not None
        return result

    @abstractmethod
    def _shares(self, message: Message[Any]) -> Subtrees | None:
        """The sum over all parts, as the only partial sum; None if one of them needs the log."""


@final
class DaskBackend(LoggedBackend):
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
        super().__init__(shape)
        n_rows, length = shape[0], stretch_length(shape[0])
        values, firsts = partitions.aligned()
        fixed, make = Fixed(scaling, outputs, n_rows), task(StatefulPart)
        parts = [make(value, fixed, first) for value, first in zip(values, firsts, strict=True)]
        lengths = np.diff([*(first * length for first in firsts), n_rows])
        self._parts: Partitions[StatefulPart] = Partitions(parts, lengths)
        self._count = -(-n_rows // length)

    def select(self, selection: Selection[Answer], rows: np.ndarray) -> Answer:
        """The answer of a selection, combined on the workers from those of the parts that have some of the rows."""
        answer: Answer = self._asked(partial(self._answer, rows), selection)
        return answer

    def _shares(self, message: Message[Any]) -> Subtrees | None:
        shares = [at_home(StatefulPart.share, part, message) for part in self._parts.values]
        return reduced(shares, partial(merged, count=self._count))

    def _answer(self, rows: np.ndarray, message: Message[Selection[Answer]]) -> Answer | None:
        selection = message.task
        order, tasks = self._parts.of_rows(StatefulPart.answer, rows, message)
        answer = reduced(tasks, partial(combined, combine=selection.combine))
        return None if answer is None else selection.arrange(answer, order)
