"""Training rows in the columns of files, or of a Dataset or a Table of pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from skscn.readers import TableFile, near_file, open_table
from skscn.readers.arrow import arrow
from skscn.readers.table_file import ROW_LABELS
from skscn.rows.blocks import Block, Source, incomplete, not_numbers
from skscn.words import listed, not_found, refuse_twins

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as pads

    Batches: TypeAlias = Callable[[list[str], int], Iterable[pa.RecordBatch | pa.Table]]


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
            X[:, place] = _numbers(batch, name)
        y = [self._target(batch, name) for name in self.targets]
        weight = np.asarray(_numbers(batch, self._weights[0]), dtype=float) if self._weights else None
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


def _numbers(batch: pa.RecordBatch | pa.Table, name: str) -> np.ndarray:
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
