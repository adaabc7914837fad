"""What ``skscn fit`` says about simulated plants, against what ``evaluate`` finds on the rows that follow.

Each plant is a table of five-minute rows, in order of time, with lags, drift or outliers. The model is fitted on two
thirds of the rows; the R² that ``fit`` prints is compared with that on the last third, and the warnings are shown. With
``--lags``, the same is done without lags as well, which shows what they are worth.

usage: ./run bench plants [PLANT ...] [--seeds 3] [options of skscn fit]
       ./run bench plants rectification neutralisation --time Timestamp --lags auto
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

_START = dt.datetime(2024, 3, 1)
_ROWS = 4500


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


def distillation(n_rows: int, seed: int) -> dict[str, np.ndarray]:
    """A column whose product answers 5 to 20 rows later, with unmeasured feed composition."""
    rng = np.random.default_rng(seed)
    reflux, feed, steam = (wandering(rng, n_rows, 0.99) for _ in range(3))
    top = smoothed(0.5 * reflux - 0.3 * steam, 0.8) + 0.05 * rng.normal(size=n_rows)
    hidden = wandering(rng, n_rows, 0.999)
    content = 0.6 * lagged(reflux, 20) - 0.4 * lagged(feed, 12) + 0.3 * np.tanh(lagged(steam, 5)) * lagged(feed, 8)
    content += 0.5 * hidden + 0.1 * rng.normal(size=n_rows)
    return {"reflux": reflux, "feed": feed, "steam": steam, "top temperature": top, "C4": 2.0 + content}


def tanks(n_rows: int, seed: int) -> dict[str, np.ndarray]:
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


def reactor(n_rows: int, seed: int) -> dict[str, np.ndarray]:
    """A reactor whose catalyst decays, so that the same inputs give less and less; AR(1) inputs."""
    rng = np.random.default_rng(seed)
    temperature, pressure, feed = (wandering(rng, n_rows, memory) for memory in (0.95, 0.98, 0.9))
    activity = np.exp(-1.2 * np.arange(n_rows) / n_rows)
    rate = np.exp(0.4 * temperature + 0.2 * pressure) / (1.0 + 0.3 * np.exp(feed))
    conversion = activity * smoothed(rate, 0.6) + 0.05 * rng.normal(size=n_rows)
    return {"temperature": temperature, "pressure": pressure, "feed": feed, "conversion": conversion}


def furnace(n_rows: int, seed: int) -> dict[str, np.ndarray]:
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


def still(n_rows: int, seed: int) -> dict[str, np.ndarray]:
    """Inputs that have nothing to do with the target, which wanders on its own."""
    rng = np.random.default_rng(seed)
    inputs = {f"valve {place}": wandering(rng, n_rows, 0.98) for place in range(1, 5)}
    return {**inputs, "purity": wandering(rng, n_rows, 0.999)}


def rectification(n_rows: int, seed: int) -> dict[str, np.ndarray]:
    """A column whose product answers 5 to 20 rows after inputs that change quickly, two of them only together."""
    rng = np.random.default_rng(seed)
    reflux, feed, steam = (wandering(rng, n_rows, memory) for memory in (0.9, 0.85, 0.8))
    content = 0.6 * lagged(reflux, 20) - 0.4 * lagged(feed, 12) + 0.3 * np.tanh(lagged(steam, 5)) * lagged(feed, 8)
    content += 0.2 * wandering(rng, n_rows, 0.99) + 0.1 * rng.normal(size=n_rows)
    top = smoothed(0.5 * reflux - 0.3 * steam, 0.6) + 0.2 * rng.normal(size=n_rows)
    return {"reflux": reflux, "feed": feed, "steam": steam, "top temperature": top, "C4": 2.0 + content}


def neutralisation(n_rows: int, seed: int) -> dict[str, np.ndarray]:
    """A stirred tank behind a pipe: the acidity saturates, and depends on inputs 6 to 15 rows and more ago."""
    rng = np.random.default_rng(seed)
    lime, flow, temperature = held(rng, n_rows, 15), wandering(rng, n_rows, 0.9), wandering(rng, n_rows, 0.95)
    mixed = smoothed(lagged(lime, 8), 0.75)
    acidity = np.tanh(1.2 * mixed - 0.5 * lagged(flow, 15)) + 0.15 * lagged(temperature, 6) ** 2
    level = 0.4 * flow + 0.3 * rng.normal(size=n_rows)
    measured = 7.0 + acidity + 0.1 * rng.normal(size=n_rows)
    return {"lime": lime, "flow": flow, "temperature": temperature, "level": level, "pH": measured}


def filter_press(n_rows: int, seed: int) -> dict[str, np.ndarray]:
    """A filter that clogs: the effect of the flow falls by half over time, which nothing measures."""
    rng = np.random.default_rng(seed)
    flow, acidity = wandering(rng, n_rows, 0.95), held(rng, n_rows, 30)
    open_ = 1.0 - 0.5 * np.arange(n_rows) / n_rows + 0.05 * wandering(rng, n_rows, 0.99)
    moisture = 3.0 * open_ * smoothed(lagged(flow, 5), 0.8) + np.sin(2.0 * lagged(acidity, 9))
    return {"flow": flow, "acidity": acidity, "moisture": moisture + 0.2 * rng.normal(size=n_rows)}


PLANTS: dict[str, Callable[[int, int], dict[str, np.ndarray]]] = {
    plant.__name__: plant
    for plant in (distillation, tanks, reactor, furnace, still, rectification, neutralisation, filter_press)
}


def target_of(columns: dict[str, np.ndarray]) -> str:
    """The column to predict: the last one."""
    return list(columns)[-1]


def write(path: Path, columns: dict[str, np.ndarray], rows: slice) -> Path:
    """Write some rows as CSV, with their time in front."""
    numbers = range(*rows.indices(len(next(iter(columns.values())))))
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["Timestamp", *columns])
        for row in numbers:
            when = _START + dt.timedelta(minutes=5 * row)
            table.writerow([when, *(f"{values[row]:.5g}" for values in columns.values())])
    return path


def skscn(*arguments) -> dict:
    """What a command of the program says, as JSON."""
    command = [sys.executable, "-m", "skscn.cli", *map(str, arguments), "--json", "--quiet"]
    return json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


def compare(name: str, seed: int, folder: Path, options: list[str]) -> dict:
    """Fit on two thirds of a plant's rows, evaluate on the rest."""
    columns = PLANTS[name](_ROWS, seed)
    known, later = slice(0, 2 * _ROWS // 3), slice(2 * _ROWS // 3, _ROWS)
    model = folder / f"{name}{seed}.scn"
    first, rest = (write(folder / f"{part}.csv", columns, rows) for part, rows in (("known", known), ("later", later)))
    said, found = _fit_and_evaluate(first, rest, target_of(columns), model, options)
    result = {"plant": name, "seed": seed, "printed": said["tested"]["r2"]["mean"], "found": found["r2"], **_more(said)}
    if "--lags" not in options:
        return result
    _, without = _fit_and_evaluate(first, rest, target_of(columns), model, _without_lags(options))
    return {**result, "lags": said["lags"], "found without": without["r2"], "gain": found["r2"] - without["r2"]}


def _fit_and_evaluate(first: Path, rest: Path, target: str, model: Path, options: list[str]) -> tuple[dict, dict]:
    said = skscn("fit", first, "-t", target, "-m", model, *options)
    return said, skscn("evaluate", model, rest)


def _without_lags(options: list[str]) -> list[str]:
    """The options but --lags and --delay, each with its value."""
    dropped = {place + k for place, option in enumerate(options) if option in ("--lags", "--delay") for k in (0, 1)}
    return [option for place, option in enumerate(options) if place not in dropped]


def _more(said: dict) -> dict:
    return {"interval": said["tested"].get("interval_90"), "warnings": said.get("warnings", [])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plants", nargs="*", default=list(PLANTS))
    parser.add_argument("--seeds", type=int, default=3)
    arguments, options = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.plants:
            for seed in range(arguments.seeds):
                print(json.dumps(compare(name, seed, Path(folder), options), ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
