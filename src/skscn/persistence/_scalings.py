"""How inputs and targets are scaled, in a model file."""

from __future__ import annotations

import numpy as np

from skscn.persistence._base import UnusableError
from skscn.persistence._composed import OneOf, Record
from skscn.persistence._fields import Array, Enumerated, Scalar
from skscn.scaling import SCALINGS, QuantileScaling, Scaling


def scaling(letter: str) -> Record:
    """An affine scaling of columns that this letter counts."""
    return Record(
        Scaling,
        _check_scaling,
        name=Enumerated(*SCALINGS, "centred"),
        offset=Array(np.float64, letter),
        scale=Array(np.float64, letter, finite=False),
        low=Scalar(),
        high=Scalar(),
    )


def _check_scaling(scaling: Scaling) -> None:
    if not (scaling.scale > 0.0).all() or scaling.low > scaling.high:
        raise UnusableError("a scaling divides by numbers that are not above 0, or has its limits the wrong way round")


def _check_quantiles(scaling: QuantileScaling) -> None:
    if len(scaling.knots) == 0 or (np.diff(scaling.knots, axis=0) < 0.0).any():
        raise UnusableError("the knots of a scaling do not increase")


QUANTILES = Record(
    QuantileScaling,
    _check_quantiles,
    name=Enumerated(*SCALINGS),
    knots=Array(np.float64, "sd"),
    shares=Array(np.float64, "sd"),
)

INPUT_SCALING = OneOf("scalings", {"Scaling": scaling("d"), "QuantileScaling": QUANTILES})
