"""What happens to the rows on a worker of a Dask cluster: a part does what a message says, on top of its state.

A part keeps its state (residual, basis, open columns) with its rows, in the memory of its worker. That is only an
optimisation. The driver has a log of what was done to all parts; a part without its state, because its worker died or
it was moved, reports that, and is asked again with the whole log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np

from skscn.rows._shard import Shard
from skscn.rows._stretches import Share, Subtrees, added, stretch_length
from skscn.rows.memory import memory_storage
from skscn.rows.operations import Answer, Operation, Selection
from skscn.rows.partitions import Part
from skscn.scaling import InputScaling, Scaling
from skscn.threads import single_threaded

Task = TypeVar("Task", bound="Operation[Any] | Selection[Any]")


@dataclass(frozen=True)
class Message(Generic[Task]):
    """What the driver tells every part.

    Attributes
    ----------
    done : int
        How many operations of the driver's log the state of a part must have seen.
    opening : int
        The number of the open columns.
    opened : tuple of Operation
        The operations that produced them.
    task : Operation or Selection
        What to do now.
    log : tuple of Operation or None
        All lasting operations so far, for a part that has lost its state; not sent unless there is one.
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
        self._shard: Shard | None = None
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
            share = added({(0, self.first + i): value for i, value in enumerate(found)}, self._count)
            self._last = (asked, share) if operation.lasts else None
        return share

    def answer(self, rows: np.ndarray, message: Message[Selection[Answer]]) -> Answer | None:
        """The answer of a selection for the rows with these numbers in this part; None as above."""
        with self._lock, single_threaded():
            if not self._follow(message):
                return None
            assert self._shard is not None
            return message.task(self._shard, rows)

    @property
    def _length(self) -> int:
        return stretch_length(self.fixed.n_rows)

    @property
    def _count(self) -> int:
        return -(-self.fixed.n_rows // self._length)

    def _follow(self, message: Message[Any]) -> bool:
        """Bring the state up to date with the driver."""
        if self._shard is None or self._done != message.done:
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
        storage = memory_storage(part.X, fixed.inputs, residual, fixed.n_rows)
        self._shard = Shard(storage, part.sample_weight)
        self._done, self._open = 0, (0, 0)

    def _do(self, operation: Operation[Share]) -> list[Share]:
        shard, n_rows, length = self._shard, len(self.part.X), self._length
        assert shard is not None
        # An operation that fails halfway leaves no state behind.
        self._shard = None
        operation.prepare(shard)
        found = [operation(shard, slice(a, min(a + length, n_rows))) for a in range(0, n_rows, length)]
        self._shard = shard
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
    return added(nodes, count)


def combined(answers: Sequence[Answer | None], combine: Callable[[Sequence[Answer]], Answer]) -> Answer | None:
    """The answers of a selection as one; None if one is missing."""
    found = [answer for answer in answers if answer is not None]
    return combine(found) if len(found) == len(answers) else None
