"""The data sets of the paper: DB 1, a function of one input, and stock (DB 2), concrete (DB 3) and compactiv (DB 4).

A real data set is looked up in the folder given by the environment variable SKSCN_DATA, then in the user's cache, and
otherwise downloaded from OpenML into the cache.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError

import numpy as np

from skscn.files import replacing_text
from skscn.readers.errors import DataFileError
from skscn.readers.keel import read_keel

if TYPE_CHECKING:
    from sklearn.utils import Bunch


def db1_function(x: np.ndarray) -> np.ndarray:
    """The function of DB 1, after Tyukin and Prokhorov (2009), with two spikes.

    f(x) = 0.2 e^{−(10x−4)²} + 0.5 e^{−(80x−40)²} + 0.3 e^{−(80x−20)²}.
    """
    return (
        0.2 * np.exp(-((10.0 * x - 4.0) ** 2))
        + 0.5 * np.exp(-((80.0 * x - 40.0) ** 2))
        + 0.3 * np.exp(-((80.0 * x - 20.0) ** 2))
    )


def make_db1(
    n_train: int = 1000, n_test: int = 300, *, random_state: int | np.random.RandomState | None = None
) -> Bunch:
    """Make DB 1: training inputs uniform on [0, 1], test inputs on a regular grid.

    Parameters
    ----------
    n_train, n_test : int
        Numbers of rows; the defaults are those of the paper.
    random_state : int, RandomState instance or None, default=None
        Seed of the training inputs.

    Returns
    -------
    Bunch
        With data, target (training) and test_data, test_target.

    Examples
    --------
    >>> from skscn.datasets import make_db1
    >>> db1 = make_db1(random_state=0)
    >>> db1.data.shape, db1.test_data.shape
    ((1000, 1), (300, 1))
    """
    from sklearn.utils import Bunch, check_random_state

    train = check_random_state(random_state).uniform(size=(n_train, 1))
    test = np.linspace(0.0, 1.0, n_test)[:, np.newaxis]
    return Bunch(
        data=train,
        target=db1_function(train[:, 0]),
        test_data=test,
        test_target=db1_function(test[:, 0]),
        feature_names=["x"],
        target_names=["f"],
        DESCR=make_db1.__doc__,
    )


@dataclass(frozen=True)
class _PaperSet:
    """A real data set: its number on OpenML, and the rows, inputs and range of the target that a file must have."""

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

    path = _find(wanted) or _download(wanted)
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


def _cache() -> Path:
    from sklearn.datasets import get_data_home

    return Path(get_data_home()) / "skscn"


def _find(wanted: _PaperSet) -> Path | None:
    named = os.environ.get("SKSCN_DATA")
    folders = [Path(named), _cache()] if named else [_cache()]
    places = [folder / f"{wanted.name}{suffix}" for folder in folders for suffix in (".csv", ".dat")]
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


def product_of_sines(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """∏ sin(πx_j) of six inputs, on 2000 rows to train on and 2000 to test: a product is easier in two steps."""
    X = np.random.default_rng(seed).uniform(size=(4000, 6))
    y = np.prod(np.sin(np.pi * X), axis=1)
    return X[:2000], X[2000:], y[:2000], y[2000:]


@cache
def split(data: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training inputs, test inputs, training targets and test targets of a data set of the experiments.

    ``data`` is DB1, DB2, DB3, DB4 or sines; ``seed`` is the seed of the sample or of the split.
    """
    from sklearn.model_selection import train_test_split

    if data == "sines":
        return product_of_sines(seed)
    if data == "DB1":
        db1 = make_db1(random_state=seed)
        return db1.data, db1.test_data, db1.target, db1.test_target
    bunch = {"DB2": load_stock, "DB3": load_concrete, "DB4": load_compactiv}[data]()
    return tuple(train_test_split(bunch.data, bunch.target, test_size=0.25, random_state=seed))
