"""What encodes the rows of an estimator, in a model file."""

from __future__ import annotations

from typing import Any

import numpy as np

from skscn.persistence._base import Field, Shelf, Sizes, UnusableError
from skscn.persistence._by_json import ByJson
from skscn.persistence._composed import Added, Optional, Record, Several
from skscn.persistence._fields import Array, Scalar
from skscn.persistence._scalings import QUANTILES
from skscn.persistence._values import Text
from skscn.tables.filling import Filling
from skscn.tables.row_encoder import RowEncoder


def _check_filling(filling: Filling) -> None:
    for numbers in (filling.columns, filling.marked):
        if (np.diff(numbers) <= 0).any() or (numbers >= filling.n_features).any():
            raise UnusableError("missing values are filled in for columns that there are not, or not in their order")
    if (np.diff(filling.scores.shares, axis=0) < 0.0).any():
        raise UnusableError("the scores of values that are filled in do not increase")


def _check_encoder(encoder: RowEncoder) -> None:
    """Its parts have to do with the same columns."""
    table, names = encoder.table, encoder.names
    if (table is None) != (names is None):
        raise UnusableError("an encoder has a table without names of its columns, or names without a table")
    width = encoder.n_columns if table is None else len(table.get_feature_names_out())
    if encoder.filling.n_features != width:
        raise UnusableError(
            f"{width} columns are encoded, and missing values of {encoder.filling.n_features} filled in"
        )
    named = set(names or ())
    if table is not None and (len(named) != encoder.n_columns or not table.groups_.keys() <= named):
        raise UnusableError("an encoder has columns that its table does not have")


class _RowEncoders:
    """An encoder, whose letters have values of their own."""

    record = Record(
        RowEncoder,
        _check_encoder,
        n_columns=Scalar(1, 2**53, whole=True),
        names=Optional(Several(Text(), as_tuple=True)),
        table=Optional(ByJson("skscn.tables", "TableEncoder")),
        filling=Record(
            Filling,
            _check_filling,
            medians=Array(np.float64, "d"),
            columns=Array(np.int64, "k", lowest=0),
            scores=QUANTILES,
            slopes=Array(np.float64, "rdk"),
            intercepts=Array(np.float64, "rk"),
            marked=Array(np.int64, "j", lowest=0),
        ),
    )

    def write(self, value: RowEncoder, place: str, shelf: Shelf) -> dict[str, Any]:
        return self.record.write(value, place, shelf)

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Any:
        return self.record.read(stored, place, shelf, {})


# Earlier versions had neither.
ROWS: dict[str, Field] = {
    "encoder_": Added(Optional(_RowEncoders()), None),
    "_medians": Added(Optional(Array(np.float64, "d")), None),
}


def numbers_of(estimator: Any, n_columns: int) -> int:
    """How many numbers the networks of an estimator see of a row with this many columns."""
    encoder = estimator.encoder_
    if encoder is None:
        return n_columns
    if encoder.n_columns != n_columns:
        raise UnusableError(f"the columns of {n_columns} inputs are encoded as {encoder.n_columns}")
    return int(encoder.width)
