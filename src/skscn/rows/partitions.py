"""Values on the workers of a Dask cluster, one for each partition; independent of what a fit does with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise
from operator import add
from types import ModuleType
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar
from uuid import uuid4

import numpy as np

from skscn.extras import optional
from skscn.rows._cluster import scheduler
from skscn.rows._stretches import stretch_length

# A value of type dask.delayed.Delayed, an optional package.
Delayed: TypeAlias = Any
Value = TypeVar("Value")
Result = TypeVar("Result")

# Number of shares that one task adds up.
_FAN_IN = 16
# The name of tasks that should run where their part is. Dask expects tasks of this name to be over in an instant
# ("distributed.scheduler.default-task-durations" in its configuration) and never moves them to another worker, and a
# part that is moved loses its state. A test fails if Dask treats them in another way.
AT_HOME = "rechunk-split"


def is_dask(value: object) -> bool:
    """Whether this is a Dask collection; dask is not imported to find out."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


class Part(NamedTuple):
    """Some rows: inputs, targets (n, m), weights, and the row numbers in the user's data."""

    X: np.ndarray
    targets: np.ndarray
    sample_weight: np.ndarray | None
    numbers: np.ndarray

    def take(self, rows: np.ndarray | slice) -> Part:
        """Some of them."""
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        return Part(self.X[rows], self.targets[rows], weights, self.numbers[rows])


class Partitions(Generic[Value]):
    """Values on the workers, one for each partition, with the number of rows in each.

    Parameters
    ----------
    values : sequence of Delayed
    lengths : sequence of int or None
        Their numbers of rows; None to ask the workers for the lengths of ``value.X``.
    """

    def __init__(self, values: Sequence[Delayed], lengths: Sequence[int] | np.ndarray | None = None):
        self.values = persisted(values)
        self.lengths = np.array(self.map(_length) if lengths is None else lengths, dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])

    @property
    def n_rows(self) -> int:
        """N."""
        return int(self.starts[-1])

    def map(self, function: Callable[..., Result], *arguments: object) -> list[Result]:
        """The results of a function of each value, brought to the driver; they should be small."""
        return computed([task(function)(value, *arguments) for value in self.values])

    def total(self, function: Callable[..., Result], *arguments: object) -> Result:
        """The sum of a function of the values, added up on the workers in their order."""
        total: Result = reduced([task(function)(value, *arguments) for value in self.values], _sum)
        return total

    def changed(self, function: Callable[..., Result], *arguments: object) -> Partitions[Result]:
        """The results of a function of each value, left on the workers."""
        return Partitions([task(function)(value, *arguments) for value in self.values])

    def map_with_starts(self, function: Callable[[Value, int], Result]) -> list[Result]:
        """As :meth:`map`, for a function of each value and the number of its first row."""
        return computed([task(function)(*pair) for pair in zip(self.values, self.starts.tolist(), strict=False)])

    def changed_with_starts(self, function: Callable[..., Result], *arguments: object) -> Partitions[Result]:
        """As :meth:`changed`, for a function of each value and the number of its first row."""
        pairs = zip(self.values, self.starts.tolist(), strict=False)
        return Partitions([task(function)(*pair, *arguments) for pair in pairs])

    def of_rows(
        self, function: Callable[..., object], rows: np.ndarray, *arguments: object
    ) -> tuple[np.ndarray, list[Delayed]]:
        """Tasks that apply a function to values and the rows with these numbers in them.

        They are preceded by the order that sorts their results as the rows were requested.
        """
        owners = np.searchsorted(self.starts, rows, side="right") - 1
        # Without any rows the first value is asked for none, so that there is a result of the right shape.
        places = {owner: np.flatnonzero(owners == owner) for owner in np.unique(owners)} or {0: rows}
        tasks = [
            at_home(function, self.values[owner], rows[place] - self.starts[owner], *arguments)
            for owner, place in places.items()
        ]
        return np.argsort(np.concatenate(list(places.values())), kind="stable"), tasks

    def take(self: Partitions[Part], rows: np.ndarray) -> Part:
        """The rows with these numbers, in this order, brought to the driver."""
        order, tasks = self.of_rows(Part.take, rows)
        return _joined(computed(tasks)).take(order)

    def kept(self: Partitions[Part], rows: np.ndarray) -> Partitions[Part]:
        """The rows with these increasing numbers, left on the workers."""
        cuts = np.searchsorted(rows, self.starts)
        chosen = [rows[a:b] - start for a, b, start in zip(cuts, cuts[1:], self.starts, strict=False)]
        values = [task(Part.take)(value, local) for value, local in zip(self.values, chosen, strict=True)]
        return Partitions(values, [len(local) for local in chosen])

    def aligned(self: Partitions[Part]) -> tuple[list[Delayed], list[int]]:
        """Parts of whole stretches, left on the workers, and the number of the first stretch of each.

        A stretch that two partitions share is assigned to one of them; a partition left without a stretch is empty.
        """
        length = stretch_length(self.n_rows)
        count = -(-self.n_rows // length)
        bounds = np.unique(np.concatenate([[0], np.rint(self.starts[1:-1] / length).astype(int), [count]]))
        values = []
        for first, last in pairwise(bounds):
            values.append(self._rows_between(first * length, min(last * length, self.n_rows)))
        return values, [int(first) for first in bounds[:-1]]

    def _rows_between(self, start: int, stop: int) -> Delayed:
        pieces = []
        first, last = np.searchsorted(self.starts, start, side="right") - 1, np.searchsorted(self.starts, stop)
        for place in range(first, last):
            value, begin, end = self.values[place], self.starts[place], self.starts[place + 1]
            low, high = max(start, begin), min(stop, end)
            if low < high:
                whole = low == begin and high == end
                pieces.append(value if whole else task(Part.take)(value, slice(int(low - begin), int(high - begin))))
        return pieces[0] if len(pieces) == 1 else task(_joined)(pieces)


def _joined(parts: Sequence[Part]) -> Part:
    X, targets, weights, numbers = zip(*parts, strict=True)
    joined_weights = None if weights[0] is None else np.concatenate(weights)
    return Part(np.concatenate(X), np.concatenate(targets), joined_weights, np.concatenate(numbers))


def _length(value: Any) -> int:
    return len(value.X)


def _sum(shares: Sequence[Any]) -> Any:
    return reduce(add, shares)


def _dask() -> ModuleType:
    return optional("dask", "Training on Dask collections")


def task(function: Callable[..., object]) -> Callable[..., Delayed]:
    """A function whose calls create tasks."""
    delayed: Callable[..., Delayed] = _dask().delayed(function, pure=False)
    return delayed


def at_home(function: Callable[..., object], value: Delayed, *arguments: object) -> Delayed:
    """A task that runs where a value is, as long as it is still there.

    Its arguments are sent with it: a separate value on some worker would attract the task there. It forms its own
    group, since Dask spreads large groups over all workers.
    """
    return task(function)(value, *arguments, dask_key_name=(f"{AT_HOME}-{uuid4().hex}", 0))


def persisted(values: Sequence[Delayed]) -> list[Delayed]:
    """Start computing values that stay on the workers; values that are lost there are computed again."""
    return list(_dask().persist(*values))


def computed(values: Sequence[Delayed]) -> list[Any]:
    """Values brought to the driver."""
    return list(_dask().compute(*values, scheduler=scheduler()))


def reduced(shares: list[Delayed], combine: Callable[[Sequence[Any]], Result]) -> Result:
    """Combine shares on the workers, some at a time, until one is left, and bring that to the driver."""
    while len(shares) > 1:
        groups = [shares[start : start + _FAN_IN] for start in range(0, len(shares), _FAN_IN)]
        shares = [task(combine)(group) for group in groups]
    result: Result
    (result,) = computed(shares)
    return result
