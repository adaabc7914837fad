"""Three made-up tables of the kinds that people have: passengers, houses and a plant.

They have numbers, text, categories, booleans, dates, missing values (at random and not), a category of high cardinality
each, and test rows with categories that training rows do not have.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

Rng = np.random.Generator


class Table(NamedTuple):
    """Training rows and test rows of a table."""

    task: str
    X: pd.DataFrame
    y: np.ndarray
    tested: pd.DataFrame
    expected: np.ndarray


def gaps(values: np.ndarray, where: np.ndarray) -> pd.Series:
    """A column that is missing in some rows."""
    return pd.Series(values).mask(where)


def days(rng: Rng, start: str, count: int, rows: int) -> pd.Series:
    """Random days from a date on."""
    return pd.Series(pd.Timestamp(start) + pd.to_timedelta(rng.integers(0, count, rows), "D"))


def passengers(rng: Rng, rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Who survives a shipwreck; ages are missing more often in the third class, and cabins mostly."""
    grade = rng.choice(3, rows, p=[0.25, 0.2, 0.55])
    woman, age = rng.random(rows) < 0.36, np.clip(rng.gamma(5.0, 6.0, rows), 0.4, 80.0)
    family = rng.poisson(0.7, rows)
    fare = np.exp(rng.normal(3.6 - 0.8 * grade, 0.5)) * (1 + 0.3 * family)
    port, agent = rng.choice(3, rows, p=[0.7, 0.2, 0.1]), rng.choice(60, rows, p=rng.dirichlet(np.full(60, 0.7)))
    deck = np.clip(grade * 2 + rng.integers(0, 3, rows), 0, 6)
    luck = rng.normal(0.0, 0.7, 60)
    odds = 1.1 - 0.9 * grade + 2.6 * woman - 1.3 * woman * (grade == 2) + 1.8 * (age < 12) * (grade < 2)
    odds += 0.25 * np.log(fare) - 0.4 * np.maximum(family - 2, 0) - 1.3 + luck[agent] + 0.3 * (port == 1)
    frame = pd.DataFrame(
        {
            "class": pd.Categorical.from_codes(grade, ["first", "second", "third"], ordered=True),
            "sex": np.where(woman, "female", "male"),
            "age": gaps(age.round(1), rng.random(rows) < 0.05 + 0.12 * grade),
            "family": family,
            "fare": gaps(fare.round(2), rng.random(rows) < 0.03),
            "port": gaps(np.array(["Southampton", "Cherbourg", "Queenstown"])[port], rng.random(rows) < 0.02),
            "deck": gaps(np.array(list("ABCDEFG"))[deck], rng.random(rows) < 0.5 + 0.2 * grade),
            "agent": [f"agent {number:02}" for number in agent],
            "booked": days(rng, "1911-10-01", 190, rows),
            "adult": age >= 16,
        }
    )
    return frame, np.where(rng.random(rows) < 1 / (1 + np.exp(-odds)), "survived", "died")


def houses(rng: Rng, rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Logarithms of prices; there is no year of the garage where there is no garage."""
    place, street = rng.choice(28, rows, p=rng.dirichlet(np.full(28, 3.0))), rng.choice(150, rows)
    value, charm, style = rng.normal(0.0, 0.2, 28), rng.normal(0.0, 0.05, 150), rng.choice(5, rows)
    built = rng.integers(1900, 2011, rows)
    area, lot = np.exp(rng.normal(7.25, 0.32, rows)), np.exp(rng.normal(9.1, 0.45, rows))
    quality = np.clip(np.rint(5.5 + 1.2 * rng.normal(size=rows) + 0.02 * (built - 1970)), 1, 10).astype(int)
    garage, air = rng.random(rows) < 0.9, rng.random(rows) < 0.5 + 0.004 * (built - 1900)
    sold = days(rng, "2006-01-01", 1650, rows)
    season = np.cos(2 * np.pi * (sold.dt.day_of_year.to_numpy() - 170) / 365)
    y = 8.2 + 0.5 * np.log(area) + 0.08 * quality + 0.1 * np.log(lot) + value[place] + charm[street] + 0.03 * season
    y += 0.1 * air + 0.12 * garage + 0.3 * np.tanh((built - 1960) / 40) + 0.02 * quality * (style == 2)
    frame = pd.DataFrame(
        {
            "neighbourhood": pd.Categorical([f"N{number:02}" for number in place]),
            "street": [f"street {number:03}" for number in street],
            "style": np.array(["1 story", "2 stories", "split", "bungalow", "duplex"])[style],
            "quality": quality,
            "built": built,
            "garage built": gaps(np.minimum(built + rng.integers(0, 20, rows), 2010), ~garage),
            "area": area.round(),
            "lot": gaps(lot.round(), rng.random(rows) < 0.17),
            "kitchen": gaps(np.array(["poor", "fair", "typical", "good", "excellent"])[quality // 2 - (quality == 10)],
                            rng.random(rows) < 0.05),
            "air": air,
            "sold": sold,
        }
    )  # fmt: skip
    return frame, y + 0.1 * rng.normal(size=rows)


def plant(rng: Rng, rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """The yield of a reactor; sensors fail, one of them where it is hot, and laboratory values are often late."""
    load, season = rng.uniform(0.5, 1.0, rows), rng.uniform(0.0, 2 * np.pi, rows)
    hot = 180 + 40 * load + 4 * rng.normal(size=rows)
    sensors = [hot + offset + 1.5 * rng.normal(size=rows) for offset in (-12.0, 0.0, 9.0)]
    pressure = 2.0 + 3.0 * load + 0.2 * rng.normal(size=rows)
    feed, catalyst = rng.choice(90, rows, p=rng.dirichlet(np.full(90, 1.0))), rng.choice(4, rows)
    purity, bypass = rng.normal(0.0, 1.0, 90), rng.random(rows) < 0.2
    acid = 4.0 + 0.5 * purity[feed] + 0.3 * rng.normal(size=rows)
    best = np.array([205.0, 212.0, 220.0, 208.0])[catalyst]
    y = 80 - 0.02 * (hot - best) ** 2 + 2.0 * purity[feed] + 1.5 * np.sin(season) - 3.0 * bypass * load
    y += 0.8 * pressure - 0.5 * np.maximum(acid - 4.5, 0) ** 2
    frame = pd.DataFrame(
        {
            "time": pd.Timestamp("2023-01-01") + pd.to_timedelta(season / (2 * np.pi) * 365.2425, "D").round("s"),
            "feed": [f"lot {number:02}" for number in feed],
            "catalyst": pd.Categorical(np.array(["A", "B", "C", "D"])[catalyst]),
            "load": load,
            "T1": gaps(sensors[0], rng.random(rows) < 0.1),
            "T2": gaps(sensors[1], rng.random(rows) < 0.3 * (sensors[1] > 215)),
            "T3": gaps(sensors[2], rng.random(rows) < 0.1),
            "pressure": gaps(pressure, rng.random(rows) < 0.05),
            "acid": gaps(acid, rng.random(rows) < 0.5),
            "bypass": bypass,
            "operator": gaps(np.array(["early", "late", "night"])[rng.choice(3, rows)], rng.random(rows) < 0.05),
        }
    )
    return frame, y + rng.normal(size=rows)


# Task, function, the column whose last test rows get a new category.
KINDS: dict[str, tuple[str, Callable[[Rng, int], tuple[pd.DataFrame, np.ndarray]], str]] = {
    "passengers": ("classification", passengers, "port"),
    "houses": ("regression", houses, "street"),
    "plant": ("regression", plant, "operator"),
}


def make(kind: str, seed: int, rows: int, test_rows: int) -> Table:
    """One of these tables; the last two of a hundred test rows have a category that training rows do not have."""
    task, function, column = KINDS[kind]
    frame, y = function(np.random.default_rng(seed), rows + test_rows)
    frame.loc[len(frame) - max(1, test_rows // 50) :, column] = "unheard of"
    test = frame.iloc[rows:].reset_index(drop=True)
    return Table(task, frame.iloc[:rows].copy(), y[:rows], test, y[rows:])
