"""Training rows in arrays and data frames, whole or in chunks, converted a few rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from skscn.rows.blocks import Block, Source, check_block, label, not_numbers
from skscn.rows.masked import refuse_masked
from skscn.words import listed

# (X, y) or (X, y, sample_weight): arrays, sparse matrices, data frames or lists.
ArrayChunk = tuple[Any, Any] | tuple[Any, Any, Any]
# What arrays that are not numeric hold, by the kind of their dtype.
_HELD = {
    "O": "more than numbers",
    "U": "text",
    "S": "text",
    "M": "dates",
    "m": "times",
    "c": "complex numbers",
}


def as_block(values: ArrayChunk, number: int = 0) -> Block:
    """All of a chunk (X, y) or (X, y, sample_weight), checked."""
    chunk = _Chunk(values, number)
    names = chunk.layout.names
    weight = None if chunk.weight is None else np.asarray(chunk.weight, dtype=float)
    block = Block(_inputs(chunk.X, names), np.asarray(chunk.y), weight)
    check_block(block, names)
    return block


class ChunkSource(Source):
    """Chunks (X, y) or (X, y, sample_weight), from a function that returns a fresh iterator of them.

    The first chunk shows what all must have in common; the first reading goes on from there.
    """

    def __init__(self, chunks: Callable[[], Iterable[ArrayChunk]]):
        self._chunks = chunks
        iterable, another = chunks(), chunks()
        if another is iterable and isinstance(iterable, Iterator):
            raise ValueError("The function returned the same iterator twice; it must return a fresh one every time.")
        iterator = iter(iterable)
        first = next(iterator, None)
        if first is None:
            raise ValueError("There are no chunks; training needs at least one row.")
        self._layout = _Chunk(first, 0).layout
        self._begun: Iterable[ArrayChunk] | None = chain([first], iterator)
        self.n_features, self.feature_names, self.targets = self._layout.inputs, self._layout.names, None

    def __getstate__(self) -> dict[str, Any]:
        # Iterators cannot be pickled.
        return {**self.__dict__, "_begun": None}

    def read(self, max_rows: int) -> Iterator[Block]:
        """All rows in order, at most ``max_rows`` at a time."""
        begun, self._begun = self._begun, None
        for number, values in enumerate(self._chunks() if begun is None else begun):
            chunk = _Chunk(values, number)
            chunk.check_like(self._layout)
            yield from chunk.pieces(max_rows)


def items(chunks: Sequence[ArrayChunk]) -> Iterator[ArrayChunk]:
    """The chunks of a sequence, which may have a length and places alone."""
    place = 0
    while place < len(chunks):
        yield chunks[place]
        place += 1


@dataclass(frozen=True)
class _Layout:
    """What all chunks must have in common."""

    inputs: int
    names: np.ndarray | None
    outputs: tuple[int, ...]
    weighted: bool


class _Chunk:
    """One chunk as the user gave it: its X, y and weights are converted to arrays a few rows at a time."""

    def __init__(self, values: object, number: int):
        if not (isinstance(values, tuple | list) and len(values) in (2, 3)):
            raise TypeError(
                f"A chunk is a tuple (X, y) or (X, y, sample_weight), but chunk {number} is {type(values).__name__}."
            )
        X, y, weight = (*values, None)[:3]
        refuse_masked(X=X, y=y, sample_weight=weight)
        self.X = X.tocsr() if sparse.issparse(X) else _with_shape(X)
        self.y = _with_shape(y)
        self.weight = None if weight is None else _with_shape(weight)
        self._where = f"(chunk {number})"
        self._check_shapes()
        self.layout = _Layout(self.X.shape[1], _names(self.X), tuple(self.y.shape[1:]), self.weight is not None)

    def _check_shapes(self) -> None:
        where = self._where
        if len(self.X.shape) != 2:
            raise ValueError(f"X must have 2 dimensions, rows by columns, not {len(self.X.shape)} {where}.")
        n_rows = self.X.shape[0]
        if len(self.y.shape) not in (1, 2):
            raise ValueError(f"y must have 1 or 2 dimensions, not {len(self.y.shape)} {where}.")
        if self.y.shape[0] != n_rows:
            raise ValueError(f"X has {n_rows} rows and y has {self.y.shape[0]}; give one target for each row {where}.")
        if self.weight is not None and tuple(self.weight.shape) != (n_rows,):
            raise ValueError(
                f"X has {n_rows} rows and sample_weight has shape {tuple(self.weight.shape)}; "
                f"give one weight for each row {where}."
            )

    def check_like(self, first: _Layout) -> None:
        own, where = self.layout, self._where
        if own.inputs != first.inputs:
            raise ValueError(
                f"There are {own.inputs} columns where the first chunk has {first.inputs}; "
                f"give all chunks the same {where}."
            )
        if own.names is not None and first.names is not None and not np.array_equal(own.names, first.names):
            raise ValueError(
                f"The columns are {listed(own.names)} where those of the first chunk are {listed(first.names)}; "
                f"give all chunks the same, in the same order {where}."
            )
        if own.outputs != first.outputs:
            raise ValueError(f"y has a different shape than in the first chunk; give all chunks the same {where}.")
        if own.weighted != first.weighted:
            raise ValueError(f"Only some chunks have a sample_weight; give it with all chunks or with none {where}.")

    def pieces(self, max_rows: int) -> Iterator[Block]:
        for start in range(0, self.X.shape[0], max_rows):
            rows = slice(start, min(start + max_rows, self.X.shape[0]))
            weight = None if self.weight is None else np.asarray(_rows(self.weight, rows), dtype=float)
            yield Block(_inputs(_rows(self.X, rows), self.layout.names), np.asarray(_rows(self.y, rows)), weight)


def _with_shape(values: Any) -> Any:
    return values if hasattr(values, "shape") else np.asarray(values)


def _rows(values: Any, rows: slice) -> Any:
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]


def _is_frame(X: Any) -> bool:
    """Whether this is a DataFrame, of pandas or of Polars."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "get_columns"))


def _names(X: Any) -> np.ndarray | None:
    if not _is_frame(X) or not all(isinstance(name, str) for name in X.columns):
        return None
    return np.array(list(X.columns), dtype=object)


def _inputs(X: Any, names: np.ndarray | None) -> np.ndarray:
    """Some rows of inputs as one array of floats."""
    if _is_frame(X):
        columns = [np.asarray(X.iloc[:, j] if hasattr(X, "iloc") else X[:, j]) for j in range(X.shape[1])]
        return _joined(columns, names)
    values = X.toarray() if sparse.issparse(X) else np.asarray(X)
    if values.dtype.kind not in "biuf":
        return _joined(list(values.T), names)
    return np.ascontiguousarray(values, dtype=values.dtype if values.dtype == np.float32 else np.float64)


def _joined(columns: list[np.ndarray], names: np.ndarray | None) -> np.ndarray:
    types = [column.dtype for column in columns]
    single = bool(types) and all(t.kind in "biuf" for t in types) and np.result_type(*types) == np.float32
    joined = np.empty((len(columns[0]) if columns else 0, len(columns)), dtype=np.float32 if single else np.float64)
    for j, column in enumerate(columns):
        joined[:, j] = _numbers(column, label(j, names))
    return joined


def _numbers(values: np.ndarray, name: str) -> np.ndarray:
    """Check that a column is numeric; convert objects to floats."""
    if values.dtype.kind in "biuf":
        return values
    held = _HELD.get(values.dtype.kind, f"values of type {values.dtype}")
    if values.dtype.kind == "O":
        if any(isinstance(value, str) for value in values):
            held = "text"
        else:
            try:
                return values.astype(float)
            except (TypeError, ValueError):
                pass
    raise not_numbers(name, held)
