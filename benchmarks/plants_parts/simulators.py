"""Simulated plants: tables of rows in order of time, of which the first half is for training.

A plant is a function of the number of rows and a seed that returns named columns, the target last. ``STEADY`` plants
behave in the second half as they did in the first, ``CHANGING`` ones do not, and ``FAULTY`` ones are steady, but
their training rows have been recorded wrongly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

Columns: TypeAlias = dict[str, np.ndarray]
Simulator: TypeAlias = Callable[[int, int], Columns]


def wandering(rng: np.random.Generator, n_rows: int, memory: float) -> np.ndarray:
    """An AR(1) process of variance 1."""
    values = rng.normal(size=n_rows)
    for row in range(1, n_rows):
        values[row] = memory * values[row - 1] + np.sqrt(1.0 - memory**2) * values[row]
    return values


def held(rng: np.random.Generator, n_rows: int, mean_stay: float) -> np.ndarray:
    """Set points: uniform levels, each held for some time."""
    moves = rng.random(n_rows) < 1.0 / mean_stay
    moves[0] = True
    return rng.uniform(-1.7, 1.7, size=moves.sum())[np.cumsum(moves) - 1]


def lagged(values: np.ndarray, rows: int) -> np.ndarray:
    """What the values were some rows before."""
    return np.r_[np.full(rows, values[0]), values[: len(values) - rows]]


def smoothed(values: np.ndarray, memory: float) -> np.ndarray:
    """First-order lag: a stirred tank."""
    out = values.copy()
    for row in range(1, len(out)):
        out[row] = memory * out[row - 1] + (1.0 - memory) * values[row]
    return out


# ---- plants with lags, drift and outliers


def distillation(n_rows: int, seed: int) -> Columns:
    """A column whose product answers 5 to 20 rows later, with unmeasured feed composition."""
    rng = np.random.default_rng(seed)
    reflux, feed, steam = (wandering(rng, n_rows, 0.99) for _ in range(3))
    top = smoothed(0.5 * reflux - 0.3 * steam, 0.8) + 0.05 * rng.normal(size=n_rows)
    hidden = wandering(rng, n_rows, 0.999)
    content = 0.6 * lagged(reflux, 20) - 0.4 * lagged(feed, 12) + 0.3 * np.tanh(lagged(steam, 5)) * lagged(feed, 8)
    content += 0.5 * hidden + 0.1 * rng.normal(size=n_rows)
    return {"reflux": reflux, "feed": feed, "steam": steam, "top temperature": top, "C4": 2.0 + content}


def tanks(n_rows: int, seed: int) -> Columns:
    """Three tanks in series with a transport delay; dosing by set points that are held."""
    rng = np.random.default_rng(seed)
    dose, flow = held(rng, n_rows, 60), wandering(rng, n_rows, 0.97)
    first = smoothed(dose, 0.9)
    second = smoothed(lagged(first, 10), 0.9)
    third = smoothed(second, 0.93) * (1.0 - 0.2 * np.tanh(flow))
    level = 0.3 * flow + 0.1 * rng.normal(size=n_rows)
    return {
        "dose": dose,
        "flow": flow,
        "level": level,
        "pH tank 2": second + 0.1 * rng.normal(size=n_rows),
        "concentration": third + 0.05 * rng.normal(size=n_rows),
    }


def reactor(n_rows: int, seed: int) -> Columns:
    """A reactor whose catalyst decays, so that the same inputs give less and less; AR(1) inputs."""
    rng = np.random.default_rng(seed)
    temperature, pressure, feed = (wandering(rng, n_rows, memory) for memory in (0.95, 0.98, 0.9))
    activity = np.exp(-1.2 * np.arange(n_rows) / n_rows)
    rate = np.exp(0.4 * temperature + 0.2 * pressure) / (1.0 + 0.3 * np.exp(feed))
    conversion = activity * smoothed(rate, 0.6) + 0.05 * rng.normal(size=n_rows)
    return {"temperature": temperature, "pressure": pressure, "feed": feed, "conversion": conversion}


def furnace(n_rows: int, seed: int) -> Columns:
    """A furnace with day and night, a sensor whose bias steps, and 2 % of the targets far off."""
    rng = np.random.default_rng(seed)
    hours = np.arange(n_rows) / 12.0
    ambient = 8.0 * np.sin(2.0 * np.pi * hours / 24.0) + 3.0 * wandering(rng, n_rows, 0.995)
    gas, load = 50.0 + 5.0 * held(rng, n_rows, 100), 20.0 + 4.0 * wandering(rng, n_rows, 0.98)
    wall = smoothed(12.0 * gas - 8.0 * load + 2.0 * ambient, 0.85)
    bias = 10.0 * np.cumsum(rng.normal(size=n_rows) * (rng.random(n_rows) < 2e-3))
    exit_ = smoothed(lagged(wall, 6), 0.7) + 0.02 * (gas - 50.0) * (load - 20.0) + 5.0 * rng.normal(size=n_rows)
    off = rng.random(n_rows) < 0.02
    exit_ = np.where(off, exit_ + rng.choice([-1.0, 1.0], n_rows) * rng.uniform(200.0, 600.0, n_rows), exit_)
    sensor = wall + bias + 3.0 * rng.normal(size=n_rows)
    return {"gas": gas, "load": load, "ambient": ambient, "wall temperature": sensor, "exit temperature": exit_}


def still(n_rows: int, seed: int) -> Columns:
    """Inputs that have nothing to do with the target, which wanders on its own."""
    rng = np.random.default_rng(seed)
    inputs = {f"valve {place}": wandering(rng, n_rows, 0.98) for place in range(1, 5)}
    return {**inputs, "purity": wandering(rng, n_rows, 0.999)}


def rectification(n_rows: int, seed: int) -> Columns:
    """A column whose product answers 5 to 20 rows after inputs that change quickly, two of them only together."""
    rng = np.random.default_rng(seed)
    reflux, feed, steam = (wandering(rng, n_rows, memory) for memory in (0.9, 0.85, 0.8))
    content = 0.6 * lagged(reflux, 20) - 0.4 * lagged(feed, 12) + 0.3 * np.tanh(lagged(steam, 5)) * lagged(feed, 8)
    content += 0.2 * wandering(rng, n_rows, 0.99) + 0.1 * rng.normal(size=n_rows)
    top = smoothed(0.5 * reflux - 0.3 * steam, 0.6) + 0.2 * rng.normal(size=n_rows)
    return {"reflux": reflux, "feed": feed, "steam": steam, "top temperature": top, "C4": 2.0 + content}


def neutralisation(n_rows: int, seed: int) -> Columns:
    """A stirred tank behind a pipe: the acidity saturates, and depends on inputs 6 to 15 rows and more ago."""
    rng = np.random.default_rng(seed)
    lime, flow, temperature = held(rng, n_rows, 15), wandering(rng, n_rows, 0.9), wandering(rng, n_rows, 0.95)
    mixed = smoothed(lagged(lime, 8), 0.75)
    acidity = np.tanh(1.2 * mixed - 0.5 * lagged(flow, 15)) + 0.15 * lagged(temperature, 6) ** 2
    level = 0.4 * flow + 0.3 * rng.normal(size=n_rows)
    measured = 7.0 + acidity + 0.1 * rng.normal(size=n_rows)
    return {"lime": lime, "flow": flow, "temperature": temperature, "level": level, "pH": measured}


def filter_press(n_rows: int, seed: int) -> Columns:
    """A filter that clogs: the effect of the flow falls by half over time, which nothing measures."""
    rng = np.random.default_rng(seed)
    flow, acidity = wandering(rng, n_rows, 0.95), held(rng, n_rows, 30)
    open_ = 1.0 - 0.5 * np.arange(n_rows) / n_rows + 0.05 * wandering(rng, n_rows, 0.99)
    moisture = 3.0 * open_ * smoothed(lagged(flow, 5), 0.8) + np.sin(2.0 * lagged(acidity, 9))
    return {"flow": flow, "acidity": acidity, "moisture": moisture + 0.2 * rng.normal(size=n_rows)}


def several(rng: np.random.Generator, n_rows: int, *memories: float) -> np.ndarray:
    """Several inputs, each with its memory, as columns."""
    return np.column_stack([wandering(rng, n_rows, memory) for memory in memories])


def named(X: np.ndarray, y: np.ndarray) -> Columns:
    """Columns with names of no meaning."""
    return {**{f"x{place}": column for place, column in enumerate(X.T, start=1)}, "y": y}


def passed(n_rows: int) -> np.ndarray:
    """The time from 0 to 1; training ends at one half."""
    return np.arange(n_rows) / n_rows


# ---- plants that are steady


def mixer(n_rows: int, seed: int) -> Columns:
    """Independent rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    return named(X, np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n_rows))


def evaporator(n_rows: int, seed: int) -> Columns:
    """Slow inputs, white noise."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.95, 0.97, 0.9, 0.95)
    return named(X, np.tanh(X[:, 0] + X[:, 1]) + 0.4 * X[:, 2] * X[:, 3] + 0.25 * rng.normal(size=n_rows))


def crystalliser(n_rows: int, seed: int) -> Columns:
    """Slow inputs, noise that lasts some ten rows."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.95, 0.9, 0.97)
    return named(X, X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.4 * X[:, 2] + 0.5 * wandering(rng, n_rows, 0.9))


def dryer(n_rows: int, seed: int) -> Columns:
    """Fast inputs, noise that lasts some thirty rows."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.8, 0.7, 0.9)
    return named(X, np.exp(0.5 * X[:, 0]) + X[:, 1] + 0.4 * wandering(rng, n_rows, 0.97))


def kiln(n_rows: int, seed: int) -> Columns:
    """Twenty-five inputs."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, *np.linspace(0.5, 0.95, 25))
    weights = rng.normal(size=25)
    return named(X, X @ weights / 5.0 + np.sin(X[:, 0]) + 0.5 * rng.normal(size=n_rows))


def pump(n_rows: int, seed: int) -> Columns:
    """A single input."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.9)
    return named(X, np.tanh(2.0 * X[:, 0]) + 0.6 * rng.normal(size=n_rows))


def meter(n_rows: int, seed: int) -> Columns:
    """Hardly any noise."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.9, 0.95, 0.8)
    return named(X, X[:, 0] * np.exp(0.3 * X[:, 1]) + 0.2 * X[:, 2] + 0.03 * rng.normal(size=n_rows))


def flotation(n_rows: int, seed: int) -> Columns:
    """The inputs explain a quarter of the variance."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.9, 0.95, 0.9, 0.8)
    return named(X, 0.5 * X[:, 0] + 0.3 * np.abs(X[:, 1]) + wandering(rng, n_rows, 0.6))


def screen(n_rows: int, seed: int) -> Columns:
    """Noise with heavy tails."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.9, 0.9)
    return named(X, X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.25 * rng.standard_t(3, size=n_rows))


def cooling_tower(n_rows: int, seed: int) -> Columns:
    """Day and night, which the time shows, and more noise at high load."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.97, 0.9)
    day = np.sin(2.0 * np.pi * np.arange(n_rows) / 288.0)
    return named(X, X[:, 0] + 0.8 * day + 0.2 * np.exp(0.5 * X[:, 1]) * rng.normal(size=n_rows))


def boiler(n_rows: int, seed: int) -> Columns:
    """A controller moves the fuel by what it sees of the target, whose set point changes now and then."""
    return _controlled(n_rows, seed, np.ones(n_rows))


def _controlled(n_rows: int, seed: int, strength: np.ndarray) -> Columns:
    rng = np.random.default_rng(seed)
    wanted, load, unseen = held(rng, n_rows, 80), wandering(rng, n_rows, 0.97), wandering(rng, n_rows, 0.95)
    fuel, heat, total = np.zeros(n_rows), np.zeros(n_rows), 0.0
    for row in range(1, n_rows):
        off = wanted[row] - heat[row - 1]
        total += 0.05 * off
        fuel[row] = strength[row] * 0.8 * off + total + 0.2 * rng.normal()
        heat[row] = 0.7 * heat[row - 1] + 0.3 * (fuel[row] - 0.5 * load[row] + 0.3 * unseen[row])
    return {"set point": wanted, "load": load, "fuel": fuel, "heat": heat + 0.1 * rng.normal(size=n_rows)}


def extruder(n_rows: int, seed: int) -> Columns:
    """Five grades in campaigns of some eighty rows, all of which come again and again."""
    rng = np.random.default_rng(seed)
    grade = np.floor(2.5 * (held(rng, n_rows, 80) / 1.7 + 1.0)).clip(0, 4)
    X = np.column_stack([grade, several(rng, n_rows, 0.9, 0.9)])
    gains = np.array([1.0, 0.6, 1.4, 0.9, 1.2])[grade.astype(int)]
    return named(X, gains * X[:, 1] + 0.5 * X[:, 2] + 0.3 * grade + 0.3 * rng.normal(size=n_rows))


# ---- plants that change


def catalyst(n_rows: int, seed: int) -> Columns:
    """A catalyst that decays slowly, with little noise: the tests look good."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.9, 0.95, 0.9)
    rate = np.exp(0.4 * X[:, 0] + 0.2 * X[:, 1]) + 0.3 * X[:, 2]
    activity = np.exp(-rng.uniform(0.2, 0.8) * passed(n_rows))
    return named(X, activity * rate + 0.1 * rng.normal(size=n_rows))


def converter(n_rows: int, seed: int) -> Columns:
    """A catalyst whose decay accelerates."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.9, 0.95)
    activity = 1.0 - rng.uniform(0.4, 0.9) * passed(n_rows) ** 2
    return named(X, activity * (X[:, 0] + np.tanh(X[:, 1])) + 0.2 * rng.normal(size=n_rows))


def exchanger(n_rows: int, seed: int) -> Columns:
    """Fouling, quick at first: heat transfer falls to a half."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.9, 0.97, 0.8)
    transfer = 0.5 + 0.5 * np.exp(-rng.uniform(0.5, 2.0) * passed(n_rows))
    return named(X, transfer * (1.0 + X[:, 0]) * (1.0 + 0.3 * np.tanh(X[:, 1])) + 0.2 * rng.normal(size=n_rows))


def washed_exchanger(n_rows: int, seed: int) -> Columns:
    """Fouling that is washed off every few hundred rows."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.9, 0.97)
    since = np.zeros(n_rows)
    for row in range(1, n_rows):
        since[row] = 0.0 if rng.random() < 1.0 / 400.0 else since[row - 1] + 1.0
    return named(X, X[:, 0] + 0.5 * X[:, 1] - since / 400.0 + 0.2 * rng.normal(size=n_rows))


def season(n_rows: int, seed: int) -> Columns:
    """Half a year of training, and the other half afterwards; nothing measures the season."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.9, 0.9, 0.95)
    year = np.sin(2.0 * np.pi * (passed(n_rows) + rng.random()))
    return named(X, X[:, 0] + 0.4 * X[:, 1] * X[:, 2] + rng.uniform(0.2, 0.9) * year + 0.2 * rng.normal(size=n_rows))


def analyser(n_rows: int, seed: int) -> Columns:
    """The analyser of the target drifts steadily after the first fifth."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.9, 0.8, 0.9)
    drift = rng.uniform(0.5, 2.0) * np.maximum(passed(n_rows) - 0.2, 0.0)
    return named(X, X[:, 0] + np.tanh(X[:, 1]) + drift + 0.25 * rng.normal(size=n_rows))


def wandering_analyser(n_rows: int, seed: int) -> Columns:
    """The bias of the analyser is a random walk."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.9, 0.8, 0.9)
    bias = np.cumsum(rng.normal(size=n_rows)) / np.sqrt(n_rows)
    return named(X, X[:, 0] + np.tanh(X[:, 1]) + rng.uniform(0.5, 2.0) * bias + 0.25 * rng.normal(size=n_rows))


def detuned(n_rows: int, seed: int) -> Columns:
    """A controller that is tuned further and further down."""
    return _controlled(n_rows, seed, 1.5 - 1.4 * passed(n_rows))


def new_grades(n_rows: int, seed: int) -> Columns:
    """Campaigns of grades that move on to new ones, at other settings."""
    rng = np.random.default_rng(seed)
    campaign = np.cumsum(rng.random(n_rows) < 1.0 / 120.0)
    centre = (0.12 * campaign + rng.normal(size=campaign[-1] + 1)[campaign])[:, np.newaxis]
    X = 0.4 * several(rng, n_rows, 0.9, 0.9) + centre * [1.0, -0.5]
    return named(X, np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=n_rows))


def thermocouple(n_rows: int, seed: int) -> Columns:
    """The sensor of an input drifts."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.9, 0.9, 0.9)
    y = X[:, 0] + 0.5 * np.sin(2.0 * X[:, 1]) + 0.2 * rng.normal(size=n_rows)
    return named(X + [rng.uniform(0.5, 2.5), 0.0, 0.0] * passed(n_rows)[:, np.newaxis], y)


def worn_mill(n_rows: int, seed: int) -> Columns:
    """Noise that grows."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.9, 0.9)
    growth = 0.2 * np.exp(rng.uniform(0.5, 2.0) * passed(n_rows))
    return named(X, X[:, 0] + 0.5 * X[:, 1] ** 2 + growth * rng.normal(size=n_rows))


def rebuilt(n_rows: int, seed: int) -> Columns:
    """A step within the training rows, after which the effect of an input is another one."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.9, 0.9, 0.9)
    after = passed(n_rows) > 0.3
    return named(X, np.where(after, 0.4, 1.2) * X[:, 0] + X[:, 1] - 0.8 * after + 0.25 * rng.normal(size=n_rows))


# ---- training rows that were recorded wrongly


def sentinel(n_rows: int, seed: int) -> Columns:
    """An input is -9999 in some of the later training rows."""
    columns, rng = evaporator(n_rows, seed), np.random.default_rng(seed)
    columns["x1"][rng.choice(np.arange(n_rows // 4, n_rows // 2), n_rows // 150, replace=False)] = -9999.0
    return columns


def target_sentinel(n_rows: int, seed: int) -> Columns:
    """The target is -9999 in some of the later training rows."""
    columns, rng = evaporator(n_rows, seed), np.random.default_rng(seed)
    columns["y"][rng.choice(np.arange(n_rows // 4, n_rows // 2), n_rows // 200, replace=False)] = -9999.0
    return columns


def frozen_input(n_rows: int, seed: int) -> Columns:
    """An input stays the same for an eighth of the training rows."""
    columns = evaporator(n_rows, seed)
    columns["x1"][3 * n_rows // 8 : 7 * n_rows // 16] = columns["x1"][3 * n_rows // 8]
    return columns


def frozen_target(n_rows: int, seed: int) -> Columns:
    """The analyser stays the same for an eighth of the training rows."""
    columns = evaporator(n_rows, seed)
    columns["y"][3 * n_rows // 8 : 7 * n_rows // 16] = columns["y"][3 * n_rows // 8]
    return columns


def fahrenheit(n_rows: int, seed: int) -> Columns:
    """A temperature in other units for a quarter of the training rows."""
    columns = evaporator(n_rows, seed)
    columns["x2"] = 80.0 + 5.0 * columns["x2"]
    columns["x2"][n_rows // 4 : 3 * n_rows // 8] = 32.0 + 1.8 * columns["x2"][n_rows // 4 : 3 * n_rows // 8]
    return columns


def percent(n_rows: int, seed: int) -> Columns:
    """The target in other units at the end of training: 100 times as large."""
    columns = evaporator(n_rows, seed)
    columns["y"] = 3.0 + 0.3 * columns["y"]
    columns["y"][3 * n_rows // 8 : n_rows // 2] *= 100.0
    return columns


# ---- plants that were added after the rules had been chosen


def fermenter(n_rows: int, seed: int) -> Columns:
    """Batches of some 120 rows, in which biomass grows to a limit; steady from batch to batch."""
    rng = np.random.default_rng(seed)
    starts = np.flatnonzero(np.r_[True, rng.random(n_rows - 1) < 1.0 / 120.0])
    age = np.arange(n_rows) - starts[np.searchsorted(starts, np.arange(n_rows), side="right") - 1]
    X = np.column_stack([age / 60.0, several(rng, n_rows, 0.9, 0.95)])
    biomass = (1.0 + 0.2 * np.tanh(X[:, 1])) / (1.0 + np.exp(3.0 - 3.0 * X[:, 0]))
    return named(X, biomass + 0.05 * X[:, 2] + 0.08 * wandering(rng, n_rows, 0.8))


def compressor(n_rows: int, seed: int) -> Columns:
    """Eight inputs, two of which nearly the same, and noise that lasts some five rows."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, *([0.9, 0.95] * 4))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    y = X[:, 0] + np.maximum(X[:, 2], 0.0) * X[:, 3] - 0.5 * np.abs(X[:, 4])
    return named(X, y + 0.4 * wandering(rng, n_rows, 0.8))


def district_heating(n_rows: int, seed: int) -> Columns:
    """Load that follows the weather and the time of the day, twice as noisy by day as by night."""
    rng = np.random.default_rng(seed)
    day = np.sin(2.0 * np.pi * np.arange(n_rows) / 288.0)
    weather = 3.0 * day + 2.0 * wandering(rng, n_rows, 0.98)
    X = np.column_stack([weather, several(rng, n_rows, 0.9)])
    return named(
        X, np.logaddexp(0.0, 2.0 - 0.5 * weather) + 0.3 * X[:, 1] + (0.3 + 0.1 * day) * rng.normal(size=n_rows)
    )


def sugar_mill(n_rows: int, seed: int) -> Columns:
    """A target that is recorded to one digit, of inputs that are set in steps."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([held(rng, n_rows, 20), held(rng, n_rows, 35), several(rng, n_rows, 0.9)])
    return named(X, (10.0 + X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * wandering(rng, n_rows, 0.7)).round(1))


def membrane(n_rows: int, seed: int) -> Columns:
    """Flux that declines with the square root of time, and with it the effect of the pressure."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.9, 0.95)
    open_ = 1.0 - rng.uniform(0.2, 0.6) * np.sqrt(passed(n_rows))
    return named(X, open_ * (2.0 + X[:, 0]) + 0.3 * X[:, 1] ** 2 + 0.3 * wandering(rng, n_rows, 0.7))


def probe(n_rows: int, seed: int) -> Columns:
    """A probe that loses sensitivity from calibration to calibration, twice in the training rows."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.9, 0.9, 0.9)
    since = np.arange(n_rows) % (n_rows // 4)
    gain = 1.0 - rng.uniform(0.3, 0.6) * since / (n_rows // 4)
    return named(X, gain * (X[:, 0] + np.sin(X[:, 1])) + 0.2 * rng.normal(size=n_rows))


def valve(n_rows: int, seed: int) -> Columns:
    """An actuator that wears: a growing dead band between what is set and what flows."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.9, 0.9)
    band, flow = rng.uniform(0.5, 2.0) * passed(n_rows), np.zeros(n_rows)
    for row in range(1, n_rows):
        flow[row] = np.clip(flow[row - 1], X[row, 0] - band[row], X[row, 0] + band[row])
    return named(X, flow + 0.4 * X[:, 1] + 0.2 * rng.normal(size=n_rows))


def feedstock(n_rows: int, seed: int) -> Columns:
    """Deliveries of raw material every 250 rows, whose quality nothing measures."""
    rng = np.random.default_rng(seed)
    X = several(rng, n_rows, 0.9, 0.8)
    quality = rng.normal(size=n_rows // 250 + 1)[np.arange(n_rows) // 250]
    return named(X, X[:, 0] * (1.0 + 0.2 * quality) + 0.5 * X[:, 1] + 0.6 * quality + 0.3 * rng.normal(size=n_rows))


STEADY: tuple[Simulator, ...] = (
    *(tanks, rectification, neutralisation, mixer, evaporator, crystalliser, dryer, kiln, pump, meter, flotation),
    *(screen, cooling_tower, boiler, extruder, fermenter, compressor, district_heating, sugar_mill),
)
CHANGING: tuple[Simulator, ...] = (
    *(distillation, reactor, furnace, still, filter_press, catalyst, converter, exchanger, washed_exchanger, season),
    *(analyser, wandering_analyser, detuned, new_grades, thermocouple, worn_mill, rebuilt, membrane),
    *(probe, valve, feedstock),
)
FAULTY: tuple[Simulator, ...] = (sentinel, target_sentinel, frozen_input, frozen_target, fahrenheit, percent)
PLANTS: dict[str, Simulator] = {plant.__name__: plant for plant in (*STEADY, *CHANGING, *FAULTY)}
