"""Data to try things out with: simulated tables, the data sets of the paper, and KEEL's file format.

The paper's real data sets are looked up in the folder given by the environment variable SKSCN_DATA, then in the user's
cache, and otherwise downloaded from OpenML into the cache.
"""

from __future__ import annotations

import csv
import datetime as dt
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.error import URLError

import numpy as np

from skscn.files import replacing_text
from skscn.readers.errors import DataFileError
from skscn.readers.keel import read_keel

if TYPE_CHECKING:
    from sklearn.utils import Bunch

__all__ = [
    "EXAMPLES",
    "DataFileError",
    "db1_function",
    "load_compactiv",
    "load_concrete",
    "load_stock",
    "make_db1",
    "make_flats",
    "make_plant",
    "read_keel",
]

# Names of columns -> their values; pandas.DataFrame and polars.DataFrame accept it.
Columns: TypeAlias = dict[str, list[Any]]


# ---- simulated tables

_DISTRICTS = {"harbour": 1.15, "old town": 1.3, "north": 0.85, "east": 0.8, "university": 1.1, "hills": 1.2}
_HEATING = {"gas": 0.0, "district": 12.0, "heat pump": 45.0, None: -15.0}


def make_flats(n_rows: int = 800, *, random_state: int | None = None) -> Columns:
    """Make a table of flats with text, dates, booleans and missing values; the target is ``rent``.

    Parameters
    ----------
    n_rows : int
    random_state : int or None, default=None
        Seed.

    Returns
    -------
    dict of str to list
        The columns; missing values are None.

    Examples
    --------
    >>> from skscn.datasets import make_flats
    >>> list(make_flats(3, random_state=0))
    ['size', 'windows', 'floor', 'district', 'built', 'heating', 'balcony', 'listed', 'rent']
    """
    rng = np.random.default_rng(random_state)
    size = rng.gamma(9.0, 8.0, n_rows) + 18.0
    windows = np.clip(np.round(size / 13.0 + rng.normal(0, 1.2, n_rows)), 1, 14).astype(int)
    floor = rng.integers(0, 7, n_rows)
    district, heating = (rng.integers(0, len(names), n_rows) for names in (_DISTRICTS, _HEATING))
    built = rng.choice([1905, 1935, 1960, 1975, 1990, 2010], n_rows) + rng.integers(0, 12, n_rows)
    balcony, days = rng.random(n_rows) < 0.55, rng.integers(0, 900, n_rows)
    # The oldest houses are liked better than those of the seventies; large flats are cheaper by the square metre.
    charm = 0.1 * np.cos((built - 1905) / 115.0 * 2.0 * np.pi)
    rent = 38.0 * size**0.78 * np.array(list(_DISTRICTS.values()))[district] * (1.0 + charm)
    rent += np.array(list(_HEATING.values()))[heating] + 30.0 * balcony * (floor > 0) + 6.0 * floor + 0.06 * days
    rent *= 1.0 + 0.05 * rng.normal(size=n_rows)
    return {
        "size": size.round(1).tolist(),
        "windows": windows.tolist(),
        "floor": floor.tolist(),
        "district": [list(_DISTRICTS)[i] for i in district],
        "built": [None if gap else int(year) for year, gap in zip(built, rng.random(n_rows) < 0.08, strict=True)],
        "heating": [list(_HEATING)[i] for i in heating],
        "balcony": balcony.tolist(),
        "listed": [dt.date(2024, 1, 1) + dt.timedelta(days=int(day)) for day in days],
        "rent": rent.round().astype(int).tolist(),
    }


def make_plant(n_rows: int = 3000, *, random_state: int | None = None) -> Columns:
    """Make a table of a plant in rows of five minutes; the target, ``quality``, answers 6 to 20 rows after the inputs.

    A few measurements of the feed are missing. The first rows of a longer table are those of a shorter one.

    Parameters
    ----------
    n_rows : int
    random_state : int or None, default=None
        Seed.

    Returns
    -------
    dict of str to list
        The columns, with times in ``time``; missing values are None.

    Examples
    --------
    >>> from skscn.datasets import make_plant
    >>> list(make_plant(3, random_state=0))
    ['time', 'feed', 'steam', 'reflux', 'pressure', 'quality']
    """
    # Each quantity has its own generator, so that further rows do not change those before.
    seeds = np.random.SeedSequence(random_state).spawn(7)
    feed, steam, reflux = (_wandering(np.random.default_rng(seed), n_rows, 0.9) for seed in seeds[:3])
    noise, gaps, pressure = (np.random.default_rng(seed) for seed in seeds[3:6])
    quality = 92.0 + 2.0 * np.tanh(_earlier(steam, 8)) - 1.2 * _earlier(feed, 14) * _earlier(reflux, 6)
    quality += 0.8 * _earlier(reflux, 20) + 0.25 * noise.normal(size=n_rows)
    begin = dt.datetime(2026, 3, 1)
    return {
        "time": [begin + dt.timedelta(minutes=5 * row) for row in range(n_rows)],
        "feed": [
            None if gap else round(40 + 3 * x, 2) for x, gap in zip(feed, gaps.random(n_rows) < 0.01, strict=True)
        ],
        "steam": (12.0 + 1.5 * steam).round(3).tolist(),
        "reflux": (25.0 + 2.0 * reflux).round(3).tolist(),
        "pressure": (1.8 + 0.05 * steam + 0.02 * pressure.normal(size=n_rows)).round(4).tolist(),
        "quality": quality.round(3).tolist(),
    }


def _wandering(rng: np.random.Generator, n_rows: int, memory: float) -> np.ndarray:
    """A process of variance 1 that forgets slowly."""
    values = rng.normal(size=n_rows)
    for row in range(1, n_rows):
        values[row] = memory * values[row - 1] + np.sqrt(1.0 - memory**2) * values[row]
    return values


def _earlier(values: np.ndarray, rows: int) -> np.ndarray:
    """What the values were some rows before; in the first rows, what they are first."""
    return values[np.maximum(np.arange(len(values)) - rows, 0)]


# Names for ``skscn example`` -> functions that make the tables; and rows to train on, and further ones.
EXAMPLES: dict[str, Callable[..., Columns]] = {"flats": make_flats, "plant": make_plant}
EXAMPLE_ROWS = {"flats": (800, 200), "plant": (3000, 1000)}


def write_example(name: str, paths: Sequence[Path], seed: int) -> None:
    """Write an example to two CSV files; the rows of the second follow those of the first."""
    training, further = EXAMPLE_ROWS[name]
    columns = EXAMPLES[name](training + further, random_state=seed)
    for path, rows in zip(paths, (slice(training), slice(training, None)), strict=True):
        with replacing_text(path) as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(columns)
            lines.writerows(zip(*(values[rows] for values in columns.values()), strict=True))


# ---- DB 1 of the paper


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


# ---- DB 2, 3 and 4 of the paper: stock, concrete and compactiv


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
