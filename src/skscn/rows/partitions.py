"""Rows of Dask collections: partitions on the workers of a cluster, and what is computed there."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from copy import copy
from functools import partial, reduce
from itertools import pairwise
from operator import add
from types import ModuleType
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar
from uuid import uuid4

import numpy as np

from skscn.checks import is_dask
from skscn.extras import optional
from skscn.rows.blocks import Block
from skscn.rows.columns import as_block
from skscn.rows.operations import stretch_length

# Seconds of waiting after which the state of the workers is checked, unless Dask's configuration says otherwise.
_INTERVAL, _INTERVAL_KEY = 10.0, "skscn.check-workers-every"


def scheduler() -> Callable[..., Any] | None:
    """What computes graphs here: a cluster that is monitored, or None for Dask's default scheduler."""
    get = optional("dask.base", "Training on Dask collections").get_scheduler()
    client = getattr(get, "__self__", None)
    if client is None or not hasattr(client, "scheduler_info") or _within_a_task():
        return None
    interval = optional("dask.config", "Training on Dask collections").get(_INTERVAL_KEY, _INTERVAL)
    return partial(watched, client, interval=interval)


def _within_a_task() -> bool:
    """Whether this runs on a worker, where a waiting client must release its thread to others, as ``get`` does."""
    try:
        optional("distributed", "Training on a Dask cluster").get_worker()
    except ValueError:
        return False
    return True


def watched(client: Any, graph: object, keys: object, *, interval: float, **settings: object) -> Any:
    """The values of keys of a graph, as from ``client.get``; the workers are checked every ``interval`` seconds."""
    distributed = optional("distributed", "Training on a Dask cluster")
    packed = client.get(graph, keys, sync=False, **settings)
    futures = distributed.futures_of(packed)
    try:
        wait_for(partial(distributed.wait, futures, timeout=interval), client.scheduler_info)
        return client.gather(packed)
    except CancelledError as error:
        raise RuntimeError(
            "The Dask cluster has dropped the rows of this fit: it was restarted, for example by client.restart(), or "
            "its tasks were cancelled. Call fit again; with a checkpoint, it goes on where it was."
        ) from error
    finally:
        for future in futures:
            future.release()


def wait_for(wait: Callable[[], Any], scheduler_info: Callable[[], Mapping[str, Any]]) -> None:
    """Wait until a function no longer raises TimeoutError; warn once if workers are paused in the meantime."""
    warned = False
    while True:
        try:
            wait()
        except TimeoutError:
            paused = None if warned else paused_workers(scheduler_info())
            if paused:
                warnings.warn(paused, RuntimeWarning, stacklevel=2)
                warned = True
        else:
            return


def paused_workers(info: Mapping[str, Any]) -> str | None:
    """A sentence about the paused workers, from the scheduler's information; None if none is paused."""
    workers = info["workers"]
    paused = {address: worker for address, worker in workers.items() if worker.get("status") == "paused"}
    if not paused:
        return None
    address, worker = next(iter(paused.items()))
    return (
        f"{len(paused)} of {len(workers)} Dask workers are paused for lack of memory, and the fit waits for them "
        f"({address} uses {_memory(worker)}); give the workers more memory or the cluster more workers, or lower "
        "max_nodes: each node needs 8 bytes per row."
    )


def _memory(worker: Mapping[str, Any]) -> str:
    used, limit = worker.get("metrics", {}).get("memory", 0), worker.get("memory_limit") or 0
    return f"{used / 1e9:.1f} GB" + (f" of {limit / 1e9:.1f} GB" if limit else "")


# Values on the workers of a Dask cluster, one for each partition; independent of what a fit does with them.


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


# Dask collections: read as training rows, and mapped to predictions.


# A Dask array, series or dataframe; dask is an optional package.
Collection: TypeAlias = Any
# What a model predicts for some rows.
Arrays: TypeAlias = np.ndarray | tuple[np.ndarray, ...]
Model = TypeVar("Model")


class Collections(NamedTuple):
    """Training rows of Dask collections, block by block, and the names of the inputs."""

    blocks: Partitions[Block]
    n_features: int
    names: np.ndarray | None


def read_collections(
    X: Collection, y: Collection | str | Sequence[str], sample_weight: Collection | str | None = None
) -> Collections:
    """Rows of Dask arrays or dataframes, checked on the workers.

    Parameters
    ----------
    X : Dask array of two dimensions, or Dask dataframe
    y : Dask array, series or dataframe; or the name of the target's column in X, or a list of names
    sample_weight : Dask array or series; or the name of its column in X; or None
    """
    columns = list(getattr(X, "columns", ()))
    if len(X.shape) != 2 or not (columns or np.isfinite(X.shape[1])):
        raise ValueError(f"X must have 2 dimensions, rows by a known number of columns; its shape is {X.shape}.")
    if len(set(columns)) < len(columns):
        raise ValueError(f"The columns of X must have different names; they are {columns}.")
    targets = [y] if isinstance(y, str) else list(y) if isinstance(y, list | tuple) else []
    weights = [sample_weight] if isinstance(sample_weight, str) else []
    inputs = [name for name in columns if name not in {*targets, *weights}]
    for name in (*targets, *weights):
        if name not in columns:
            held = f"its columns are {columns}" if columns else "a Dask array has none"
            raise ValueError(f"There is no column {name!r} in X; {held}.")
    if columns:
        _check_columns(X, inputs)
    given = [X[inputs] if targets or weights else X]
    given.append((X[y] if isinstance(y, str) else X[targets]) if targets else y)
    if sample_weight is not None:
        given.append(X[sample_weight] if weights else sample_weight)
    pieces = [
        _pieces(collection, X, what) for collection, what in zip(given, ("X", "y", "sample_weight"), strict=False)
    ]
    counts = {len(some) for some in pieces}
    if len(counts) > 1:
        raise ValueError(
            f"X, y and sample_weight have {sorted(counts)} partitions; give all the same number, for example with "
            "repartition() or rechunk(), or put the target into the same dataframe and pass its name as y."
        )
    make = task(as_block)
    blocks: Partitions[Block] = Partitions(
        [make(values, number) for number, values in enumerate(zip(*pieces, strict=True))]
    )
    if blocks.n_rows == 0:
        raise ValueError("There are no rows; training needs at least one.")
    names = np.array(inputs, dtype=object) if columns and all(isinstance(name, str) for name in inputs) else None
    return Collections(blocks, len(inputs) if columns else int(X.shape[1]), names)


def _check_columns(X: Collection, inputs: Sequence[str]) -> None:
    """Reject columns that are not numeric, before anything is read."""
    kinds = {name: getattr(X[name].dtype, "kind", "O") for name in inputs}
    wrong = [str(name) for name, kind in kinds.items() if kind not in "biuf"]
    if wrong:
        raise ValueError(
            f"Columns {', '.join(wrong)} are not numeric; encode them, for example with "
            "dask.dataframe.get_dummies(X.categorize()), or drop them."
        )


def _pieces(collection: Collection, X: Collection, what: str) -> list[Delayed]:
    """The partitions of a collection, as delayed values."""
    if not is_dask(collection):
        raise TypeError(
            f"X is a Dask collection and {what} is {type(collection).__name__}; make it one with the same partitions, "
            "for example with dask.array.from_array(y, chunks=X.chunks[0]), or pass the name of a column of X."
        )
    if hasattr(collection, "columns") or not hasattr(collection, "chunks"):
        return list(collection.to_delayed())
    dimensions = 2 if what == "X" else collection.ndim
    if collection.ndim != dimensions:
        raise ValueError(f"{what} must have {dimensions} dimensions, rows by columns, not {collection.ndim}.")
    if collection.ndim == 2 and collection.numblocks[1] > 1:
        collection = collection.rechunk({1: -1})
    # Where both sizes are known, X determines how the rows are split.
    if collection is not X and hasattr(X, "chunks") and not np.isnan([*X.chunks[0], *collection.chunks[0]]).any():
        if X.shape[0] != collection.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows and {what} has {collection.shape[0]}; give one for each row.")
        collection = collection.rechunk({0: X.chunks[0]})
    return list(collection.to_delayed().reshape(len(collection.chunks[0]), -1)[:, 0])


def mapped(function: Callable[[Model, Any], Arrays], model: Model, X: Collection, few: object) -> Any:
    """Apply a function of a model and rows to the partitions of X; returns Dask arrays that are not computed yet.

    Parameters
    ----------
    function : callable
        Called with the model and some rows; returns an array, or a tuple of arrays, with one entry per row.
    model : object
        Sent once, not with every partition.
    X : Dask array or dataframe
    few : some rows, to find out what the function returns
    """
    dask, da = optional("dask", "Predicting for Dask collections"), optional("dask.array", "Predicting")
    sample = function(model, few)
    samples = sample if isinstance(sample, tuple) else (sample,)
    empty = tuple(values[:0] for values in samples)
    # A copy of its present state, in case it changes before the predictions are computed.
    carried = dask.delayed(copy(model), name=f"skscn-model-{uuid4().hex}", traverse=False)
    pieces = _pieces(X, X, "X")
    lengths = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(pieces)
    made = [task(_made)(function, carried, piece, empty) for piece in pieces]
    arrays = tuple(
        da.concatenate(
            [
                da.from_delayed(values[i], (length, *samples[i].shape[1:]), meta=empty[i])
                for values, length in zip(made, lengths, strict=True)
            ],
            allow_unknown_chunksizes=True,
        )
        for i in range(len(samples))
    )
    return arrays if isinstance(sample, tuple) else arrays[0]


def _made(
    function: Callable[[Model, Any], Arrays], model: Model, rows: Any, empty: tuple[np.ndarray, ...]
) -> tuple[np.ndarray, ...]:
    """A function applied to some rows; an empty result for no rows."""
    if not len(rows):
        return empty
    made = function(model, rows)
    return made if isinstance(made, tuple) else (made,)
