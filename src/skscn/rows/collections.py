"""Dask collections: read as training rows, and mapped to predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple, TypeAlias, TypeVar
from uuid import uuid4

import numpy as np

from skscn.extras import optional
from skscn.rows.array_chunks import as_block
from skscn.rows.blocks import Block
from skscn.rows.partitions import Delayed, Partitions, is_dask, task

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
