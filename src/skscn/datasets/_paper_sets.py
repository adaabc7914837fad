"""The three real data sets of the paper: stock (DB 2), concrete (DB 3) and compactiv (DB 4).

A set is looked up in the folder given by the environment variable SKSCN_DATA, then in the user's cache, and otherwise
downloaded from OpenML into the cache.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError

import numpy as np

from skscn.datasets.keel import DataFileError, read_keel
from skscn.files import replacing_text

if TYPE_CHECKING:
    from sklearn.utils import Bunch


@dataclass(frozen=True)
class _PaperSet:
    """What a file must contain: number of rows and inputs, the target's range, and its number on OpenML."""

    name: str
    openml_id: int
    rows: int
    inputs: int
    target: str
    target_range: tuple[float, float]
    description: str


_STOCK = _PaperSet(
    "stock", 223, 950, 9, "Company10", (34.0, 62.0), "Daily stock prices of ten aerospace companies, 1988 to 1991."
)
_CONCRETE = _PaperSet(
    "concrete",
    44959,
    1030,
    8,
    "ConcreteCompressiveStrength",
    (2.33, 82.6),
    "Compressive strength of concrete from its ingredients and age.",
)
_COMPACTIV = _PaperSet(
    "compactiv", 197, 8192, 21, "usr", (0.0, 99.0), "Share of time that processors run in user mode, from 21 measures."
)


def load_stock() -> Bunch:
    """Load DB 2 of the paper: 950 rows, nine inputs.

    Returns
    -------
    Bunch
        With data, target, feature_names, target_names, DESCR and filename.
    """
    return _load(_STOCK)


def load_concrete() -> Bunch:
    """Load DB 3 of the paper: 1030 rows (the paper says 1020), eight inputs.

    Returns
    -------
    Bunch
        With data, target, feature_names, target_names, DESCR and filename.
    """
    return _load(_CONCRETE)


def load_compactiv() -> Bunch:
    """Load DB 4 of the paper: 8192 rows, 21 inputs.

    Returns
    -------
    Bunch
        With data, target, feature_names, target_names, DESCR and filename.
    """
    return _load(_COMPACTIV)


def _load(wanted: _PaperSet) -> Bunch:
    from sklearn.utils import Bunch

    path = _find(wanted)
    if path is None:
        path = _download(wanted)
    bunch = read_keel(path) if path.suffix == ".dat" else _read_csv(path)
    _verify(bunch, wanted, path)
    return Bunch(
        data=bunch.data,
        target=bunch.target,
        feature_names=bunch.feature_names,
        target_names=[wanted.target],
        DESCR=wanted.description,
        filename=str(path),
    )


def _folders() -> list[Path]:
    named = os.environ.get("SKSCN_DATA")
    return [*([Path(named)] if named else []), _cache()]


def _cache() -> Path:
    from sklearn.datasets import get_data_home

    return Path(get_data_home()) / "skscn"


def _find(wanted: _PaperSet) -> Path | None:
    places = [folder / f"{wanted.name}{suffix}" for folder in _folders() for suffix in (".csv", ".dat")]
    return next((place for place in places if place.is_file()), None)


def _read_csv(path: Path) -> Bunch:
    from sklearn.utils import Bunch

    with path.open(encoding="utf-8") as file:
        names = file.readline().strip().split(",")
        try:
            table = np.loadtxt(file, delimiter=",", ndmin=2)
        except ValueError as error:
            raise DataFileError(f"{path}: {error}") from error
    return Bunch(data=table[:, :-1], target=table[:, -1], feature_names=names[:-1])


def _verify(bunch: Bunch, wanted: _PaperSet, path: Path) -> None:
    shape = (wanted.rows, wanted.inputs)
    low, high = wanted.target_range
    if (
        bunch.data.shape != shape
        or not np.isfinite(bunch.data).all()
        or not (abs(bunch.target.min() - low) < 0.5 and abs(bunch.target.max() - high) < 0.5)
    ):
        raise DataFileError(
            f"{path} is not the data set {wanted.name}: it should have {shape[0]} rows of {shape[1]} inputs and a last "
            f"column from {low:g} to {high:g}."
        )


def _download(wanted: _PaperSet) -> Path:
    from sklearn.datasets import fetch_openml

    try:
        fetched = fetch_openml(data_id=wanted.openml_id, as_frame=False, parser="liac-arff")
    except (URLError, OSError) as error:
        raise DataFileError(
            f"The data set {wanted.name} is neither in the folder given by SKSCN_DATA nor in {_cache()}, and OpenML "
            f"cannot be reached; put {wanted.name}.csv (target last) or KEEL's {wanted.name}.dat into one of them."
        ) from error
    path = _cache() / f"{wanted.name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    table = np.column_stack([fetched.data, fetched.target]).astype(np.float64)
    header = ",".join([*fetched.feature_names, wanted.target])
    with replacing_text(path) as file:
        np.savetxt(file, table, delimiter=",", fmt="%.17g", header=header, comments="")
    return path
