"""What chunks come from: arrays, Arrow tables and data sets, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

from skscn.checks import refuse_masked
from skscn.readers import TableFile, near_file, open_table
from skscn.readers.arrow import arrow
from skscn.readers.table_file import ROW_LABELS
from skscn.rows.blocks import Block, Source, check_block, incomplete, label, not_numbers
from skscn.words import listed, not_found, refuse_twins

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as pads

    Batches: TypeAlias = Callable[[list[str], int], Iterable[pa.RecordBatch | pa.Table]]


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


# Training rows in the columns of files, or of a Dataset or a Table of pyarrow.


def open_path(path: Path, target: str | Sequence[str] | None, sample_weight: str | None) -> Source:
    """The rows of a file, or of a folder of files."""
    path = path.expanduser()
    if not path.exists():
        raise FileNotFoundError(
            f"There is no file or folder {path}{near_file(path)} For remote files pass pyarrow.dataset.dataset(...)."
        )
    file = open_table(path)
    schema = _as_floats(file.schema(), except_for=_as_list(target))
    return ArrowSource(schema, partial(_read_file, file, schema), target, sample_weight)


def open_dataset(data: pads.Dataset, target: str | Sequence[str] | None, sample_weight: str | None) -> Source:
    """The rows of a Dataset of pyarrow."""
    return ArrowSource(data.schema, partial(_scan, data), target, sample_weight)


def open_arrow_table(data: pa.Table, target: str | Sequence[str] | None, sample_weight: str | None) -> Source:
    """The rows of a Table of pyarrow."""
    return ArrowSource(data.schema, partial(_slice, data), target, sample_weight)


def _as_floats(schema: pa.Schema, except_for: list[str]) -> pa.Schema:
    """Types of columns of which only the first rows are known: integers may have fractions later, or values at all."""
    pa = arrow()
    for place, field in enumerate(schema):
        if field.name not in except_for and (pa.types.is_integer(field.type) or pa.types.is_null(field.type)):
            schema = schema.set(place, field.with_type(pa.float64()))
    return schema


def _read_file(file: TableFile, schema: pa.Schema, columns: list[str], max_rows: int) -> Iterator[pa.Table]:
    return file.batches({name: schema.field(name).type for name in columns}, max_rows)


def _scan(dataset: pads.Dataset, columns: list[str], max_rows: int) -> Iterator[pa.RecordBatch]:
    """Batches; the error says what to do if values are not of their column's type."""
    try:
        yield from dataset.to_batches(
            columns=columns, batch_size=max_rows, batch_readahead=1, fragment_readahead=1, use_threads=False
        )
    except arrow().ArrowInvalid as error:
        raise ValueError(
            f"The rows cannot be read ({error}); correct them, or pass pyarrow.dataset.dataset(..., schema=...), "
            "which declares the type of each column."
        ) from error


def _slice(table: pa.Table, columns: list[str], max_rows: int) -> list[pa.RecordBatch]:
    return list(table.select(columns).to_batches(max_chunksize=max_rows))


class ArrowSource(Source):
    """Columns of numbers, and of targets of any kind; ``batches(columns, max_rows)`` reads them."""

    def __init__(
        self, schema: pa.Schema, batches: Batches, target: str | Sequence[str] | None, sample_weight: str | None
    ):
        columns = [name for name in schema.names if not ROW_LABELS.fullmatch(name)]
        refuse_twins(columns)
        self._one_target = isinstance(target, str)
        self._weights = [] if sample_weight is None else [sample_weight]
        self.targets: tuple[str, ...] = tuple(_as_list(target))
        if not self.targets:
            raise ValueError(f"target must name the target's column, one of {listed(columns)}.")
        apart = [*self.targets, *self._weights]
        for name in apart:
            _find(name, columns)
        if len(set(apart)) < len(apart):
            raise ValueError("target and sample_weight name the same column twice; name each column once.")
        self._inputs = [name for name in columns if name not in set(apart)]
        if not self._inputs:
            raise ValueError("There are no columns besides the target; training needs at least one input.")
        self.feature_names = np.array(self._inputs, dtype=object)
        self.n_features = len(self._inputs)
        self._schema, self._batches = schema, batches
        self._check_types()

    def _check_types(self) -> None:
        for name in (*self._inputs, *self._weights):
            held = _held(self._schema.field(name).type)
            if held is not None:
                raise not_numbers(f"column {name!r}", held)
        single = all(str(self._schema.field(name).type) == "float" for name in self._inputs)
        self._dtype = np.dtype(np.float32 if single else np.float64)

    def read(self, max_rows: int) -> Iterator[Block]:
        """All rows in order, at most ``max_rows`` at a time."""
        for batch in self._batches([*self._inputs, *self.targets, *self._weights], max_rows):
            for start in range(0, batch.num_rows, max_rows):
                yield self._block(batch.slice(start, max_rows))

    def _block(self, batch: pa.RecordBatch | pa.Table) -> Block:
        X = np.empty((batch.num_rows, self.n_features), dtype=self._dtype)
        for place, name in enumerate(self._inputs):
            X[:, place] = _arrow_numbers(batch, name)
        y = [self._target(batch, name) for name in self.targets]
        weight = np.asarray(_arrow_numbers(batch, self._weights[0]), dtype=float) if self._weights else None
        return Block(X, y[0] if self._one_target else np.column_stack(y), weight)

    def _target(self, batch: pa.RecordBatch | pa.Table, name: str) -> np.ndarray:
        pa, type = arrow(), self._schema.field(name).type
        type = type.value_type if pa.types.is_dictionary(type) else type
        type = pa.float64() if pa.types.is_decimal(type) else type
        return np.asarray(_column(batch, name).cast(type).to_numpy(zero_copy_only=False))


def _column(batch: pa.RecordBatch | pa.Table, name: str) -> pa.Array:
    """A column without missing values."""
    pa, column = arrow(), batch.column(name)
    if column.null_count:
        raise incomplete(f"column {name!r}", "missing values")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _arrow_numbers(batch: pa.RecordBatch | pa.Table, name: str) -> np.ndarray:
    column, pa = _column(batch, name), arrow()
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.float64())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _held(type: pa.DataType) -> str | None:
    """What a column of this type holds; None if numbers."""
    types = arrow().types
    if types.is_dictionary(type):
        type = type.value_type
    if types.is_boolean(type) or types.is_integer(type) or types.is_floating(type) or types.is_decimal(type):
        return None
    if types.is_null(type):
        return "nothing"
    if types.is_temporal(type):
        return "dates or times"
    return "text" if "string" in str(type) else f"values of type {type}"


def _as_list(names: str | Sequence[str] | None) -> list[str]:
    if names is None:
        return []
    return [names] if isinstance(names, str) else list(names)


def _find(name: object, columns: list[str]) -> None:
    if not isinstance(name, str):
        raise TypeError(f"target and sample_weight must name columns here, not be of type {type(name).__name__}.")
    if name not in columns:
        raise ValueError(not_found("column", name, columns))
