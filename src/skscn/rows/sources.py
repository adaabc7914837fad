"""Training rows that need not fit in memory: read chunk by chunk, as often as needed.

pyarrow is imported where files are read.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from skscn.extras import optional
from skscn.rows.masked import refuse_masked
from skscn.words import listed, not_found, refuse_twins

_SMALLEST_MEMORY_LIMIT = 256 * 2**20
_FORMATS = {".parquet": "parquet", ".csv": "csv", ".tsv": "tsv", ".arrow": "ipc", ".feather": "ipc"}
# The names that pandas gives to columns of row labels.
ROW_LABELS = re.compile(r"__index_level_\d+__")
# Bytes of a column read from a Parquet file at a time.
_PARQUET_BUFFER = 65536
# What arrays that are not numeric hold, by the kind of their dtype.
_HELD = {
    "O": "more than numbers",
    "U": "text",
    "S": "text",
    "M": "dates",
    "m": "times",
    "c": "complex numbers",
}


@dataclass(frozen=True)
class Block:
    """Some consecutive rows: inputs (n, d), targets (n,) or (n, m), weights (n,) or None. They may be views."""

    X: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray | None


class Chunks:
    """Training rows read chunk by chunk, any number of times, so that they need not fit in memory.

    Parameters
    ----------
    data : path, Dataset, Table, array, sequence of chunks, or callable
        - A .parquet, .csv, .tsv, .arrow or .feather file, or a folder of such files of one kind, read in the order of
          their names; hidden files, those whose names begin with ``_``, and row labels that pandas wrote are ignored.
        - A ``pyarrow.dataset.Dataset`` or a ``pyarrow.Table``.
        - A 2-D array, such as a ``numpy.memmap``.
        - A sequence of chunks (X, y) or (X, y, sample_weight), or a function without arguments that returns a fresh
          iterator of them. It must return the same rows every time.
    target : str, list of str, or array-like
        The target column, or columns for several outputs; if the data are an array, the targets themselves. None for
        chunks.
    sample_weight : str or array-like, optional
        The column of weights; if the data are an array, the weights themselves.
    memory_limit : int, optional
        Memory that training may use, in bytes. By default a quarter of the machine's memory, and at least 256 MB.

    Attributes
    ----------
    n_features : int
    n_rows : int or None
        None until all rows have been read once.
    feature_names : ndarray of str or None
    targets : tuple of str or None
        The target columns.
    memory_limit : int

    Examples
    --------
    >>> import numpy as np
    >>> from skscn.rows import Chunks
    >>> chunks = Chunks(np.arange(10.0).reshape(5, 2), np.arange(5))
    >>> [block.X.shape for block in chunks.blocks(max_rows=3)]
    [(3, 2), (2, 2)]
    """

    def __init__(self, data, target=None, *, sample_weight=None, memory_limit: int | None = None):
        if memory_limit is not None and memory_limit <= 0:
            raise ValueError(f"memory_limit must be a positive number of bytes, not {memory_limit}.")
        self.memory_limit = default_memory_limit() if memory_limit is None else int(memory_limit)
        self._source = _open(data, target, sample_weight)
        self.n_features = self._source.n_features
        self.feature_names = self._source.feature_names
        self.targets = self._source.targets
        self.n_rows: int | None = None

    def blocks(self, max_rows: int) -> Iterator[Block]:
        """All rows in order, at most ``max_rows`` at a time.

        X is float64, or float32 if all of its sources are; y is as given.
        """
        if max_rows < 1:
            raise ValueError(f"max_rows must be at least 1, not {max_rows}.")
        count = 0
        for block in self._source.read(max_rows):
            check_block(block, self.feature_names, self.targets)
            count += len(block.X)
            yield block
        if count == 0:
            raise ValueError("There are no rows; training needs at least one.")
        if self.n_rows not in (None, count):
            raise ValueError(f"There were {self.n_rows} rows before and {count} now; they must be the same every time.")
        self.n_rows = count


def check_block(block: Block, feature_names: np.ndarray | None = None, targets: tuple[str, ...] | None = None) -> None:
    """Reject rows with missing or infinite numbers, or with negative weights."""
    finite = np.isfinite(block.X)
    if not finite.all():
        place = int(np.argmin(finite.all(axis=0)))
        held = "NaN" if np.isnan(block.X[:, place]).any() else "infinity"
        raise _incomplete(_label(place, feature_names), held)
    if _is_missing(block.y):
        raise _incomplete(" ".join(["the target", *(targets or ())]), "NaN, infinity or None")
    if block.sample_weight is not None and not (
        np.isfinite(block.sample_weight).all() and (block.sample_weight >= 0).all()
    ):
        raise ValueError("The sample weights contain NaN, infinity or negative numbers; drop those rows first.")


def as_block(values: tuple, number: int = 0) -> Block:
    """All of a chunk (X, y) or (X, y, sample_weight), checked."""
    chunk = _Chunk(values, number)
    names = chunk.columns.names
    weight = None if chunk.weight is None else np.asarray(chunk.weight, dtype=float)
    block = Block(_inputs(chunk.X, names), np.asarray(chunk.y), weight)
    check_block(block, names)
    return block


def default_memory_limit() -> int:
    """A quarter of the machine's memory in bytes, and at least 256 MB."""
    return max(_machine_memory() // 4, _SMALLEST_MEMORY_LIMIT)


def _machine_memory() -> int:
    if sys.platform == "win32":
        return _windows_memory()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        container = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        return memory
    return min(memory, int(container)) if container.isdecimal() else memory


def _windows_memory() -> int:
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = [
            ("size", ctypes.c_uint32),
            ("load", ctypes.c_uint32),
            *((name, ctypes.c_uint64) for name in ("total", "free", "a", "b", "c", "d", "e")),
        ]

    status = Status(size=ctypes.sizeof(Status))
    windows: Any = ctypes
    if not windows.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return 0
    return status.total


class _Source(Protocol):
    """Where rows come from; blocks are arrays of the right shapes, whose values have not been checked yet."""

    n_features: int
    feature_names: np.ndarray | None
    targets: tuple[str, ...] | None

    def read(self, max_rows: int) -> Iterator[Block]: ...


def _open(data, target, sample_weight) -> _Source:
    if isinstance(data, str | Path):
        return _open_path(Path(data).expanduser(), target, sample_weight)
    if hasattr(data, "to_batches") and hasattr(data, "schema"):
        read = partial(_scan, data) if hasattr(data, "scanner") else partial(_slice_table, data)
        return _ArrowSource(data.schema, read, target, sample_weight)
    if hasattr(data, "shape"):
        return _open_array(data, target, sample_weight)
    if isinstance(data, Iterator):
        raise TypeError(
            "An iterator can be read only once; pass a function that returns a fresh one, "
            "such as the generator function itself, without calling it."
        )
    is_sequence = hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, Mapping | bytes)
    if not (callable(data) or is_sequence):
        raise TypeError(
            "data must be a path, a pyarrow Dataset or Table, a 2-D array, a sequence of (X, y) chunks, "
            f"or a function that returns an iterator of them, not {type(data).__name__}."
        )
    if target is not None or sample_weight is not None:
        raise TypeError("Chunks contain their own targets and weights: pass (X, y) or (X, y, sample_weight).")
    return _ChunkSource(data if callable(data) else partial(_items, data))


# ---- arrays and chunks of arrays


def _open_array(X, target, sample_weight) -> _Source:
    if target is None or isinstance(target, str):
        raise TypeError("With an array of inputs, target must be the array of its targets, one for each row.")
    if isinstance(sample_weight, str):
        raise TypeError("With an array of inputs, sample_weight must be the array of its weights, one for each row.")
    return _ChunkSource(partial(_items, [(X, target, sample_weight)]))


def _items(chunks: Sequence) -> Iterator:
    return (chunks[i] for i in range(len(chunks)))


class _ChunkSource(_Source):
    """Chunks (X, y) or (X, y, sample_weight), from a function that returns a fresh iterator of them."""

    def __init__(self, chunks: Callable[[], Iterable]):
        self._chunks = chunks
        iterator, another = chunks(), chunks()
        if another is iterator and isinstance(iterator, Iterator):
            raise ValueError("The function returned the same iterator twice; it must return a fresh one every time.")
        first = next(iter(iterator), None)
        if first is None:
            raise ValueError("There are no chunks; training needs at least one row.")
        self._columns = _Chunk(first, 0).columns
        self.n_features, self.feature_names, self.targets = self._columns.inputs, self._columns.names, None

    def read(self, max_rows: int) -> Iterator[Block]:
        for number, values in enumerate(self._chunks()):
            chunk = _Chunk(values, number)
            chunk.check_like(self._columns)
            yield from chunk.pieces(max_rows)


@dataclass(frozen=True)
class _Columns:
    """What all chunks must have in common."""

    inputs: int
    names: np.ndarray | None
    outputs: tuple[int, ...]
    weighted: bool


class _Chunk:
    """One chunk as the user gave it: its X, y and weights are converted to arrays a few rows at a time."""

    def __init__(self, values, number: int):
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
        self.columns = _Columns(self.X.shape[1], _names(self.X), tuple(self.y.shape[1:]), self.weight is not None)

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

    def check_like(self, first: _Columns) -> None:
        own, where = self.columns, self._where
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
            yield Block(_inputs(_rows(self.X, rows), self.columns.names), np.asarray(_rows(self.y, rows)), weight)


def _with_shape(values):
    return values if hasattr(values, "shape") else np.asarray(values)


def _rows(values, rows: slice):
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]


def _is_frame(X) -> bool:
    """Whether this is a DataFrame, of pandas or of Polars."""
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "get_columns"))


def _names(X) -> np.ndarray | None:
    if not _is_frame(X) or not all(isinstance(name, str) for name in X.columns):
        return None
    return np.array(list(X.columns), dtype=object)


def _inputs(X, names: np.ndarray | None) -> np.ndarray:
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
        joined[:, j] = _numbers(column, _label(j, names))
    return joined


def _numbers(values: np.ndarray, label: str) -> np.ndarray:
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
    raise _not_numbers(label, held)


def _not_numbers(label: str, held: str) -> ValueError:
    return ValueError(f"{label} holds {held}; encode it or drop it.")


def _label(place: int, names: np.ndarray | None) -> str:
    return f"column {place}" if names is None else f"column {str(names[place])!r}"


def _is_missing(y: np.ndarray) -> bool:
    """Whether targets hold NaN, infinity, or None."""
    if y.dtype.kind == "f":
        return not np.isfinite(y).all()
    return y.dtype.kind == "O" and any(
        value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and not np.isfinite(value))
        for value in y.flat
    )


def _incomplete(label: str, held: str) -> ValueError:
    return ValueError(f"{label} holds {held} in some rows; impute or drop those rows first.")


# ---- files and Arrow


def _pyarrow(module: str = "pyarrow") -> ModuleType:
    return optional(module, "Reading files")


def _open_path(path: Path, target, sample_weight) -> _Source:
    paths = _files(path)
    format = _format(paths)
    schema = _common_schema(_dataset(paths, format))
    if format == "parquet":
        return _ArrowSource(schema, partial(read_parquet, paths), target, sample_weight)
    if format in ("csv", "tsv"):
        schema = _as_floats(schema, except_for=_as_list(target))
    return _ArrowSource(schema, partial(_scan, _dataset(paths, format, schema)), target, sample_weight)


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise FileNotFoundError(
            f"There is no file or folder {path}; for remote files pass pyarrow.dataset.dataset(...) instead."
        )
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith((".", "_")))
    if not files:
        raise ValueError(
            f"The folder {path} contains no files; name one with {', '.join(_FORMATS)} files, "
            "or pass pyarrow.dataset.dataset(...) if they are in subfolders."
        )
    return files


def _format(paths: list[Path]) -> str:
    endings = sorted({path.suffix.lower() for path in paths})
    unknown = [ending for ending in endings if ending not in _FORMATS]
    if unknown and len(endings) == 1:
        raise ValueError(f"Files that end in {unknown[0]!r} cannot be read; use {', '.join(_FORMATS)} files.")
    formats = {_FORMATS.get(ending, ending) for ending in endings}
    if len(formats) > 1:
        raise ValueError(f"The folder contains files that end in {', '.join(endings)}; keep files of one kind in it.")
    return formats.pop()


def _dataset(paths: list[Path], format: str, schema=None):
    module = _pyarrow("pyarrow.dataset")
    if format in ("csv", "tsv"):
        csv = _pyarrow("pyarrow.csv")
        format = module.CsvFileFormat(
            parse_options=csv.ParseOptions(delimiter="," if format == "csv" else "\t"),
            # An empty label is a missing value; it is not a class with an empty name.
            convert_options=csv.ConvertOptions(strings_can_be_null=True),
        )
    return module.dataset([str(path) for path in paths], schema, format)


def _common_schema(dataset):
    """The columns of all files; integers in some files and floats in others become floats."""
    arrow = _pyarrow()
    fragments = list(dataset.get_fragments())
    schemas = [fragment.physical_schema.remove_metadata() for fragment in fragments]
    for fragment, schema in zip(fragments, schemas, strict=True):
        if set(schema.names) != set(schemas[0].names):
            raise ValueError(
                f"{Path(fragment.path).name} has the columns {listed(schema.names)} and "
                f"{Path(fragments[0].path).name} has {listed(schemas[0].names)}; give all files the same."
            )
    refuse_twins(schemas[0].names)
    try:
        return arrow.unify_schemas(schemas, promote_options="permissive")
    except (arrow.ArrowInvalid, arrow.ArrowTypeError) as different:
        raise ValueError(f"Files have different types in one column ({different}); give all files the same.") from None


def _as_floats(schema, except_for: list):
    """Types of CSV columns, which were guessed from the first rows: an integer column may have fractions later."""
    arrow = _pyarrow()
    for place, field in enumerate(schema):
        if field.name not in except_for and (arrow.types.is_integer(field.type) or arrow.types.is_null(field.type)):
            schema = schema.set(place, field.with_type(arrow.float64()))
    return schema


def _scan(dataset, columns: list[str], max_rows: int) -> Iterator:
    return dataset.to_batches(
        columns=columns, batch_size=max_rows, batch_readahead=1, fragment_readahead=1, use_threads=False
    )


def read_parquet(paths: list[Path], columns: list[str], max_rows: int) -> Iterator:
    """Batches of Parquet files; a dataset would decode whole row groups, commonly a million rows, at once."""
    module = _pyarrow("pyarrow.parquet")
    for path in paths:
        with module.ParquetFile(path, buffer_size=_PARQUET_BUFFER, pre_buffer=False) as file:
            yield from file.iter_batches(max_rows, columns=columns, use_threads=False)


def _slice_table(table, columns: list[str], max_rows: int) -> Iterator:
    return iter(table.select(columns).to_batches(max_chunksize=max_rows))


class _ArrowSource(_Source):
    """Columns of files, of a Dataset or of a Table; ``batches(columns, max_rows)`` reads them."""

    def __init__(self, schema, batches: Callable[[list[str], int], Iterator], target, weight):
        columns = [name for name in schema.names if not ROW_LABELS.fullmatch(name)]
        refuse_twins(columns)
        self._one_target = isinstance(target, str)
        self._weight = weight
        self.targets = tuple(_as_list(target))
        if not self.targets:
            raise ValueError(f"target must name the target's column, one of {listed(columns)}.")
        apart = [*self.targets, *([] if weight is None else [weight])]
        for name in apart:
            _find(name, columns)
        if len(set(apart)) < len(apart):
            raise ValueError("target and sample_weight name the same column twice; name each column once.")
        names = [name for name in columns if name not in apart]
        if not names:
            raise ValueError("There are no columns besides the target; training needs at least one input.")
        self.feature_names = np.array(names, dtype=object)
        self.n_features = len(names)
        self._schema, self._batches = schema, batches
        self._check_types()

    def _check_types(self) -> None:
        numeric = [*self.feature_names, *([] if self._weight is None else [self._weight])]
        for name in numeric:
            held = _held(self._schema.field(name).type)
            if held is not None:
                raise _not_numbers(f"column {name!r}", held)
        single = all(str(self._schema.field(name).type) == "float" for name in self.feature_names)
        self._dtype = np.dtype(np.float32 if single else np.float64)

    def read(self, max_rows: int) -> Iterator[Block]:
        columns = [*self.feature_names, *self.targets, *([] if self._weight is None else [self._weight])]
        for batch in _readable(self._batches(columns, max_rows)):
            for start in range(0, batch.num_rows, max_rows):
                yield self._block(batch.slice(start, max_rows))

    def _block(self, batch) -> Block:
        X = np.empty((batch.num_rows, self.n_features), dtype=self._dtype)
        for place, name in enumerate(self.feature_names):
            X[:, place] = self._numbers(batch, name)
        y = [self._target(batch, name) for name in self.targets]
        weight = None if self._weight is None else np.asarray(self._numbers(batch, self._weight), dtype=float)
        return Block(X, y[0] if self._one_target else np.column_stack(y), weight)

    def _column(self, batch, name: str):
        """A column without missing values."""
        column = batch.column(name)
        if column.null_count:
            raise _incomplete(f"column {name!r}", "missing values")
        return column.dictionary_decode() if hasattr(column, "dictionary_decode") else column

    def _numbers(self, batch, name: str) -> np.ndarray:
        column, arrow = self._column(batch, name), _pyarrow()
        if arrow.types.is_decimal(column.type):
            column = column.cast(arrow.float64())
        return column.to_numpy(zero_copy_only=False)

    def _target(self, batch, name: str) -> np.ndarray:
        column, arrow = self._column(batch, name), _pyarrow()
        type = self._schema.field(name).type
        type = type.value_type if arrow.types.is_dictionary(type) else type
        type = arrow.float64() if arrow.types.is_decimal(type) else type
        return column.cast(type).to_numpy(zero_copy_only=False)


def _readable(batches: Iterator) -> Iterator:
    """The batches; the error says what to do if values are not of their column's type."""
    try:
        yield from batches
    except _pyarrow().ArrowInvalid as error:
        raise ValueError(
            f"The rows cannot be read ({error}); correct them, or pass pyarrow.dataset.dataset(..., schema=...), "
            "which declares the type of each column."
        ) from error


def _held(type) -> str | None:
    """What a column of this type holds; None if numbers."""
    types = _pyarrow().types
    if types.is_dictionary(type):
        type = type.value_type
    if types.is_boolean(type) or types.is_integer(type) or types.is_floating(type) or types.is_decimal(type):
        return None
    if types.is_null(type):
        return "nothing"
    if types.is_temporal(type):
        return "dates or times"
    return "text" if "string" in str(type) else f"values of type {type}"


def _as_list(names) -> list[str]:
    if names is None:
        return []
    return [names] if isinstance(names, str) else list(names)


def _find(name, columns: list[str]) -> None:
    if not isinstance(name, str):
        raise TypeError(f"target and sample_weight must name columns here, not be of type {type(name).__name__}.")
    if name not in columns:
        raise ValueError(not_found("column", name, columns))
