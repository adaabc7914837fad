"""Data to try things out with: simulated tables, the data sets of the paper, and KEEL's file format.

The paper's data sets are defined in :mod:`skscn.paper.data`, which is imported when one of them is first used.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from skscn.readers.errors import DataFileError
from skscn.readers.keel import read_keel

if TYPE_CHECKING:
    from skscn.paper.data import db1_function, load_compactiv, load_concrete, load_stock, make_db1

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

_OF_THE_PAPER = ("db1_function", "load_compactiv", "load_concrete", "load_stock", "make_db1")


def __getattr__(name: str) -> object:
    if name not in _OF_THE_PAPER:
        raise AttributeError(f"module 'skscn.datasets' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module("skscn.paper.data"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


# Names of columns -> their values; pandas.DataFrame and polars.DataFrame accept it.
Columns: TypeAlias = dict[str, list[Any]]

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


EXAMPLES: dict[str, Callable[..., Columns]] = {"flats": make_flats, "plant": make_plant}
