"""Training rows on a Dask cluster: partitions stay where they are, and only row sums and small factors travel.

The rows of a Dask collection become *parts* on the workers, each of whole stretches. What the driver asks of the rows
is sent to every part; a part answers with its share of the sum, shares are added up on the workers in the tree that
rows in memory use, and one small result reaches the driver. So the network is the one of rows in memory, bit for bit.

A part keeps what it knows (residual, basis, columns at work) beside its rows, in the memory of its worker. That is an
optimisation only. The driver has a log of what was done to all parts; a part that finds itself without its state, since
its worker died or it was moved, says so, and is asked again with the whole log. Rows themselves come back by lineage:
Dask reads and prepares a lost partition again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from operator import add
from threading import Lock
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from threadpoolctl import threadpool_limits

from skscn.activations import Activation
from skscn.extras import optional
from skscn.rows._base import Sample
from skscn.rows._shard import Shard
from skscn.rows._stretched import StretchedRows
from skscn.rows._stretches import Nodes, added, stretch_length
from skscn.rows.memory import memory_storage
from skscn.rows.sources import as_block
from skscn.scaling import InputScaling, Scaling
from skscn.supervision import SampledSums

# Shares that are added up by one task.
_FAN_IN = 16
# What tasks are called that should run where their part is: Dask takes tasks of this name for too short to be worth
# moving, and a part that is moved leaves its state behind.
_AT_HOME = "rechunk-split"


def is_dask(value) -> bool:
    """Whether this is a Dask collection; dask is not imported to find out."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


class Part(NamedTuple):
    """Some rows: inputs, targets (n, m), weights, and the numbers of the rows in what the user gave."""

    X: np.ndarray
    targets: np.ndarray
    sample_weight: np.ndarray | None
    numbers: np.ndarray

    def take(self, rows: np.ndarray | slice) -> Part:
        """Some of them."""
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        return Part(self.X[rows], self.targets[rows], weights, self.numbers[rows])


class Parts:
    """Values on the workers, one for each partition, with the number of rows in each.

    Parameters
    ----------
    values : sequence of Delayed
    """

    def __init__(self, values: Sequence, lengths: Sequence[int] | np.ndarray | None = None):
        self.values = persisted(values)
        self.lengths = np.array(self.map(_length) if lengths is None else lengths, dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])

    @property
    def n_rows(self) -> int:
        """N."""
        return int(self.starts[-1])

    def map(self, function: Callable, *arguments) -> list:
        """What a function makes of each value, brought to the driver; let it be small."""
        return computed([_task(function)(value, *arguments) for value in self.values])

    def changed(self, function: Callable, *arguments) -> Parts:
        """What a function makes of each value, left on the workers."""
        return Parts([_task(function)(value, *arguments) for value in self.values])

    def map_with_starts(self, function: Callable) -> list:
        """As :meth:`map`, of each value and the number of its first row."""
        return computed([_task(function)(*pair) for pair in zip(self.values, self.starts.tolist(), strict=False)])

    def changed_with_starts(self, function: Callable, *arguments) -> Parts:
        """As :meth:`changed`, of each value and the number of its first row."""
        pairs = zip(self.values, self.starts.tolist(), strict=False)
        return Parts([_task(function)(*pair, *arguments) for pair in pairs])

    def of_rows(self, function: Callable, rows: np.ndarray, *arguments) -> tuple[np.ndarray, list]:
        """Tasks of what a function makes of values and the named rows in them.

        Before them the order in which what they find stands for the rows as they were named.
        """
        owners = np.searchsorted(self.starts, rows, side="right") - 1
        # No rows are asked of the first value, so that there is an answer of the right shape.
        places = {owner: np.flatnonzero(owners == owner) for owner in np.unique(owners)} or {0: rows}
        tasks = [
            _at_home(function, self.values[owner], rows[place] - self.starts[owner], *arguments)
            for owner, place in places.items()
        ]
        return np.argsort(np.concatenate(list(places.values())), kind="stable"), tasks

    def take(self, rows: np.ndarray) -> Part:
        """The named rows, in their order, brought to the driver."""
        order, tasks = self.of_rows(Part.take, rows)
        return _joined(computed(tasks)).take(order)

    def kept(self, rows: np.ndarray) -> Parts:
        """The named rows, rising, left on the workers."""
        cuts = np.searchsorted(rows, self.starts)
        chosen = [rows[a:b] - start for a, b, start in zip(cuts, cuts[1:], self.starts, strict=False)]
        values = [_task(Part.take)(value, local) for value, local in zip(self.values, chosen, strict=True)]
        return Parts(values, [len(local) for local in chosen])

    def aligned(self) -> tuple[list, list[int]]:
        """Parts of whole stretches, left on the workers, and the number of the first stretch of each.

        A stretch that two partitions share goes to one of them; a partition without a stretch of its own goes empty.
        """
        length = stretch_length(self.n_rows)
        count = -(-self.n_rows // length)
        bounds = np.unique(np.concatenate([[0], np.rint(self.starts[1:-1] / length).astype(int), [count]]))
        values = []
        for first, last in pairwise(bounds):
            values.append(self._rows_between(first * length, min(last * length, self.n_rows)))
        return values, [int(first) for first in bounds[:-1]]

    def _rows_between(self, start: int, stop: int):
        pieces = []
        for value, begin, end in zip(self.values, self.starts, self.starts[1:], strict=False):
            low, high = max(start, begin), min(stop, end)
            if low < high:
                whole = low == begin and high == end
                pieces.append(value if whole else _task(Part.take)(value, slice(int(low - begin), int(high - begin))))
        return pieces[0] if len(pieces) == 1 else _task(_joined)(pieces)


def _joined(parts: Sequence[Part]) -> Part:
    X, targets, weights, numbers = zip(*parts, strict=True)
    joined_weights = None if weights[0] is None else np.concatenate(weights)
    return Part(np.concatenate(X), np.concatenate(targets), joined_weights, np.concatenate(numbers))


def _length(part) -> int:
    return len(part.X)


def _task(function: Callable) -> Callable:
    dask = optional("dask", "Training on Dask collections")
    return dask.delayed(function, pure=False)


def _at_home(function: Callable, value, *arguments):
    """A task that runs where a value is, as long as that is there.

    What it is given travels within it: a value of its own, on some worker, would draw the task there. It is a group of
    its own: Dask spreads large groups over all workers.
    """
    return _task(function)(value, *arguments, dask_key_name=(f"{_AT_HOME}-{uuid4().hex}", 0))


def persisted(values: Sequence) -> list:
    """Begin to compute values that stay on the workers; what is lost there is computed again."""
    return list(optional("dask", "Training on Dask collections").persist(*values))


def computed(values: Sequence) -> list:
    """Values brought to the driver."""
    return list(optional("dask", "Training on Dask collections").compute(*values))


# ---- reading collections


class Collections(NamedTuple):
    """Training rows of Dask collections: parts of :class:`~skscn.rows.sources.Block`, and the names of the inputs."""

    blocks: Parts
    n_features: int
    names: np.ndarray | None


def read_collections(X, y, sample_weight=None) -> Collections:
    """Rows of Dask arrays or dataframes, checked on the workers.

    Parameters
    ----------
    X : Dask array of two dimensions, or Dask dataframe
    y : Dask array, series or dataframe; or the name of the target's column in X, or a list of names
    sample_weight : Dask array or series; or the name of its column in X; or None
    """
    columns = list(getattr(X, "columns", ()))
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
            f"X, y and sample_weight have {sorted(counts)} partitions; give them the same, for example with "
            "repartition() or rechunk(), or put the target into the same dataframe and pass its name as y."
        )
    make = _task(as_block)
    blocks = Parts([make(values, number) for number, values in enumerate(zip(*pieces, strict=True))])
    if blocks.n_rows == 0:
        raise ValueError("There are no rows; training needs at least one.")
    names = np.array(inputs, dtype=object) if columns and all(isinstance(name, str) for name in inputs) else None
    return Collections(blocks, len(inputs) if columns else int(X.shape[1]), names)


def _check_columns(X, inputs: list) -> None:
    """Refuse columns of other than numbers, before anything is read."""
    kinds = {name: getattr(X[name].dtype, "kind", "O") for name in inputs}
    wrong = [str(name) for name, kind in kinds.items() if kind not in "biuf"]
    if wrong:
        raise ValueError(
            f"Columns {', '.join(wrong)} hold other than numbers; encode them, for example with "
            "dask.dataframe.get_dummies(X.categorize()), or drop them."
        )


def _pieces(collection, X, what: str) -> list:
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
    # Where both sizes are known, X says how the rows are cut.
    if collection is not X and hasattr(X, "chunks") and not np.isnan([*X.chunks[0], *collection.chunks[0]]).any():
        if X.shape[0] != collection.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows and {what} {collection.shape[0]}; give one for each row.")
        collection = collection.rechunk({0: X.chunks[0]})
    return list(collection.to_delayed().reshape(len(collection.chunks[0]), -1)[:, 0])


# ---- predictions


def mapped(function: Callable, model, X, few):
    """What a function of a model and rows makes of the partitions of X, as Dask arrays that are not computed yet.

    Parameters
    ----------
    function : callable
        Of the model and some rows; returns an array, or a tuple of arrays, of one entry a row.
    model : object
        Sent once, not with every partition.
    X : Dask array or dataframe
    few : some rows, to find out what the function returns
    """
    dask, da = optional("dask", "Predicting for Dask collections"), optional("dask.array", "Predicting")
    sample = function(model, few)
    several = isinstance(sample, tuple)
    samples = sample if several else (sample,)
    empty = tuple(values[:0] for values in samples)
    carried = dask.delayed(model, name=f"skscn-model-{uuid4().hex}", traverse=False)
    pieces = _pieces(X, X, "X")
    lengths = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(pieces)
    made = [_task(_made)(function, carried, piece, empty) for piece in pieces]
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
    return arrays if several else arrays[0]


def _made(function: Callable, model, rows, empty: tuple) -> tuple:
    """What a function makes of some rows; nothing of none."""
    if not len(rows):
        return empty
    made = function(model, rows)
    return made if isinstance(made, tuple) else (made,)


# ---- what happens on a worker


@dataclass(frozen=True)
class Call:
    """A method of a shard, and its arguments."""

    method: str
    arguments: tuple


@dataclass(frozen=True)
class Request:
    """What the driver asks of every part.

    Attributes
    ----------
    done : int
        How many calls, in the driver's log, the state of a part must have seen.
    opening : int
        The number of the columns at work.
    opened : tuple of Call
        The calls that brought them to where they are.
    call : Call
        What to do now.
    log : tuple of Call or None
        All calls so far, for a part that has lost its state; not sent unless there is one.
    """

    done: int
    opening: int
    opened: tuple[Call, ...]
    call: Call
    log: tuple[Call, ...] | None = None


@dataclass(frozen=True)
class Settings:
    """What parts need to know of the fit."""

    activation: Activation
    inputs: InputScaling
    outputs: Scaling
    n_rows: int


class StatefulPart:
    """Rows of whole stretches, and how far the fit has got on them.

    The state does not travel: a part that is moved to another worker, or to disk and back, starts without it.
    """

    def __init__(self, part: Part, settings: Settings, first: int):
        self.part, self.settings, self.first = part, settings, first
        self._forget()

    def _forget(self) -> None:
        self._lock = Lock()
        self._shard: Shard | None = None
        self._done, self._open = 0, (0, 0)

    def __sizeof__(self) -> int:
        """Of its rows; Dask weighs by it whether a part may be moved."""
        return sum(values.nbytes for values in self.part if values is not None)

    def __getstate__(self) -> dict:
        return {"part": self.part, "settings": self.settings, "first": self.first}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._forget()

    def answer(self, request: Request) -> Nodes | None:
        """Give this part's share of a sum; None if it would need the log to know."""
        with self._lock, single_threaded():
            if not self._follow(request):
                return None
            found = self._do(request.call)
            self._note(request)
        return added({(0, self.first + i): value for i, value in enumerate(found)}, self._count)

    def answer_for(self, rows: np.ndarray, request: Request) -> Any:
        """What a method makes of some rows, named by their numbers in this part; None as above."""
        with self._lock, single_threaded():
            if not self._follow(request):
                return None
            return getattr(self._shard, request.call.method)(rows, *request.call.arguments)

    @property
    def _length(self) -> int:
        return stretch_length(self.settings.n_rows)

    @property
    def _count(self) -> int:
        return -(-self.settings.n_rows // self._length)

    def _follow(self, request: Request) -> bool:
        """Bring the state to where the driver is."""
        if self._shard is None or self._done != request.done:
            if request.log is None and request.done:
                return False
            self._start()
            for call in request.log or ():
                self._do(call)
            self._done = request.done
        if request.call.method in ("deflate", "take_out") and self._open != (request.opening, len(request.opened)):
            for call in request.opened:
                self._do(call)
        return True

    def _start(self) -> None:
        settings, part = self.settings, self.part
        residual = settings.outputs.transform(part.targets)
        if part.sample_weight is not None:
            residual *= np.sqrt(part.sample_weight)[:, np.newaxis]
        storage = memory_storage(part.X, settings.inputs, residual)
        self._shard = Shard(storage, settings.activation, part.sample_weight)
        self._done, self._open = 0, (0, 0)

    def _do(self, call: Call) -> list:
        shard, n_rows, length = self._shard, len(self.part.X), self._length
        assert shard is not None
        # A call that fails half way leaves no state behind.
        self._shard = None
        shard.prepare(call.method, *call.arguments)
        method = getattr(shard, call.method)
        found = [method(slice(a, min(a + length, n_rows)), *call.arguments) for a in range(0, n_rows, length)]
        self._shard = shard
        return found

    def _note(self, request: Request) -> None:
        if request.call.method in ("begin", "deflate"):
            self._open = (request.opening, len(request.opened) + 1)
        else:
            self._done += LOGGED.get(request.call.method, lambda opened: 0)(len(request.opened))


# Calls that the log keeps, and how many entries there are with what they were opened by.
LOGGED: dict[str, Callable[[int], int]] = {"take_out": lambda opened: opened + 1, "rotate": lambda opened: 1}


class _Threads:
    """How many tasks in this process ask BLAS for one thread; the last of them gives the others back."""

    lock = Lock()
    users = 0
    limit: threadpool_limits | None = None


@contextmanager
def single_threaded() -> Iterator[None]:
    """Hold BLAS to one thread, with which sums are the same on every machine; tasks may do so at the same time."""
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


def _merged(shares: Sequence[Nodes | None], count: int) -> Nodes | None:
    """Shares of a sum, added up as far as they stand side by side; None if one is missing."""
    nodes: Nodes = {}
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
    activation, scaling : the nodes' g and the scaling of the inputs.
    """

    def __init__(
        self,
        parts: Parts,
        shape: tuple[int, int, int],
        *,
        outputs: Scaling,
        activation: Activation,
        scaling: InputScaling,
    ):
        super().__init__(shape, activation)
        values, firsts = parts.aligned()
        settings = Settings(activation, scaling, outputs, self.n_rows)
        make, length = _task(StatefulPart), stretch_length(self.n_rows)
        starts = [first * length for first in firsts]
        lengths = np.diff([*starts, self.n_rows])
        stateful = [make(value, settings, first) for value, first in zip(values, firsts, strict=True)]
        self._parts = Parts(stateful, lengths)
        self._count = -(-self.n_rows // length)
        self._log: list[Call] = []
        self._opening = 0
        self._opened: tuple[Call, ...] = ()
        self._begin_fit()

    def _sum(self, method: str, *arguments) -> Any:
        call = Call(method, arguments)
        if method == "begin":
            self._opening, self._opened = self._opening + 1, ()
        (result,) = self._asked(self._shares, call).values()
        if method in ("begin", "deflate"):
            self._opened = (*self._opened, call)
        elif method in LOGGED:
            self._log += [*self._opened, call] if method == "take_out" else [call]
            self._opened = () if method == "take_out" else self._opened
        return result

    def sample(self, rows: np.ndarray) -> Sample:
        """The named rows as the driver needs them, to search on a few."""
        call = Call("gathered", (self.basis_size,))
        order, found = self._asked(partial(self._sampled, rows), call)
        X, residual, vectors, roots = zip(*found, strict=True)
        return Sample.of(
            np.concatenate(X)[order],
            np.concatenate(residual)[order],
            np.concatenate(vectors, axis=1)[:, order],
            None if roots[0] is None else np.concatenate(roots)[order],
        )

    def sampled_sums(
        self, rows: np.ndarray, weights: np.ndarray, biases: np.ndarray, *, precision: type
    ) -> SampledSums:
        """Row sums of T candidates on the named rows."""
        call = Call("sampled_sums", (weights, biases, precision))
        return self._asked(partial(self._sampled_shares, rows), call)

    def _asked(self, ask: Callable[[Request], Any], call: Call) -> Any:
        """The answer of all parts; with the log for those that have lost their state."""
        for log in (None, tuple(self._log)):
            answer = ask(Request(len(self._log), self._opening, self._opened, call, log))
            if answer is not None:
                break
        return answer

    def _shares(self, request: Request) -> Nodes | None:
        shares = [_at_home(StatefulPart.answer, part, request) for part in self._parts.values]
        return _reduced(shares, partial(_merged, count=self._count))

    def _sampled(self, rows: np.ndarray, request: Request) -> tuple | None:
        order, tasks = self._parts.of_rows(StatefulPart.answer_for, rows, request)
        found = computed(tasks)
        return None if any(some is None for some in found) else (order, found)

    def _sampled_shares(self, rows: np.ndarray, request: Request) -> SampledSums | None:
        _, tasks = self._parts.of_rows(StatefulPart.answer_for, rows, request)
        return _reduced(tasks, _in_order)


def _reduced(shares: list, combine: Callable) -> Any:
    """Combine shares on the workers, some at a time, until one is left, and bring that to the driver."""
    while len(shares) > 1:
        groups = [shares[start : start + _FAN_IN] for start in range(0, len(shares), _FAN_IN)]
        shares = [_task(combine)(group) for group in groups]
    return computed(shares)[0]


def _in_order(shares: Sequence) -> Any:
    """The sum of shares; None if one is missing."""
    return None if any(share is None for share in shares) else reduce(add, shares)
