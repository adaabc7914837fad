"""Trials on disk, one JSON line each, written as they end: an interrupted run continues where it stopped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from skscn.experiments.jsonlines import append_line, read_lines
from skscn.experiments.trials import Trial, Unit, run_trial


class TrialStore:
    """The trials of one experiment's seed in a file of JSON lines.

    Parameters
    ----------
    path : Path
        The file; created with its folder if necessary.
    data_seed : int
        Seed of data and split. Trials of other seeds may be in the same file.
    """

    def __init__(self, path: Path, data_seed: int):
        self.path, self.data_seed = path, data_seed
        path.parent.mkdir(parents=True, exist_ok=True)
        self._trials: dict[tuple[str, int], Trial] = {}
        for record in read_lines(path):
            if record["data_seed"] == data_seed:
                self._trials[_key(record["unit"]), record["seed"]] = Trial(**record["trial"])

    def trials(self, unit: Unit, count: int) -> list[Trial]:
        """The first ``count`` trials of a unit, in the order of their seeds; all of them must be complete."""
        return [self._trials[_key(unit.describe()), seed] for seed in range(count)]

    def missing(self, units: Iterable[Unit], count: int) -> list[tuple[Unit, int]]:
        """Which trials are still to be run, trial by trial through all units."""
        distinct = list(dict.fromkeys(units))
        return [
            (unit, seed)
            for seed in range(count)
            for unit in distinct
            if (_key(unit.describe()), seed) not in self._trials
        ]

    def add(self, unit: Unit, seed: int, trial: Trial) -> None:
        """Keep a trial; it is on disk when this returns."""
        described = unit.describe()
        record = {"unit": described, "seed": seed, "data_seed": self.data_seed, "trial": asdict(trial)}
        append_line(self.path, record)
        self._trials[_key(described), seed] = trial

    def run(self, tasks: list[tuple[Unit, int]], jobs: int) -> Iterator[Unit]:
        """Run trials in processes and keep each as it ends; yield its unit."""
        if not tasks:
            return
        results = Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(_run)(unit, seed, self.data_seed) for unit, seed in tasks
        )
        for unit, seed, trial in results:
            self.add(unit, seed, trial)
            yield unit


def _run(unit: Unit, seed: int, data_seed: int) -> tuple[Unit, int, Trial]:
    return unit, seed, run_trial(unit, seed, data_seed)


def _key(unit: dict[str, Any]) -> str:
    return json.dumps(unit, sort_keys=True)
