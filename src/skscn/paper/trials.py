"""Trials, networks grown on one of the paper's data sets with the errors along the way, and the file that holds them.

Data and split are fixed by the experiment's seed; trials differ in the seed of the nodes. A trial's errors are the same
on every run; only its seconds are not.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split

from skscn.datasets import load_compactiv, load_concrete, load_stock, make_db1
from skscn.estimators import DeepSCNRegressor, IRVFLRegressor, ModifiedQuickpropRegressor, SCNRegressor
from skscn.estimators.base import NetworkRegressor
from skscn.growth import StopReason
from skscn.paper.reported import METHODS, TOLERANCE
from skscn.words import not_found

ALL_SCOPES = (1, 5, 15, 30, 50, 100, 150, 200)
# How the paper's search can be read.
SEARCHES = {
    "ladder": "as in the authors' release, λ rises; one pool is drawn for each, on which r rises from 0.9 to 0.999999.",
    "renewal": "as in step 15 of the pseudo code, r starts at 0.9; if no candidate passes with any λ, r is renewed at "
    "random, and the nodes that follow keep it.",
}
FIRST_SEARCH = "ladder"
# Where Υ is not the paper's. With all scopes "ladder" hardly ever leaves the smallest, and SC-I stalls on the spikes of
# DB 1 at an RMSE of .165; with "renewal" it gets to .104.
SCOPES: dict[str, dict[str, tuple[int, ...]]] = {
    "ladder": {"DB1": (100, 150, 200)},
    "renewal": {"DB1": (50, 100, 150, 200)},
}
_LOADERS = {"DB2": load_stock, "DB3": load_concrete, "DB4": load_compactiv}
# The data sets of the paper's tables.
DATA = ("DB1", *_LOADERS)
_BASELINES: dict[str, type[NetworkRegressor]] = {"MQ": ModifiedQuickpropRegressor, "IRVFL": IRVFLRegressor}

Record: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Unit:
    """What trials have in common: data, method, number of nodes, and parameters other than the defaults.

    If the training error has not reached ε = 0.05 with ``nodes`` nodes, growth continues up to ``until`` nodes.
    ``search`` is the reading of the paper's search that SC-I, SC-II and SC-III use.
    """

    data: str
    method: str
    nodes: int
    parameters: tuple[tuple[str, Any], ...] = ()
    until: int | None = None
    search: str = FIRST_SEARCH

    @property
    def window(self) -> int | None:
        """The window K of SC-II, if it is not the default."""
        return dict(self.parameters).get("window")

    @property
    def label(self) -> str:
        """The method, with the window of SC-II if it is not the default."""
        return self.method if self.window is None else f"{self.method}, K = {self.window}"

    def estimator(self, seed: int | None = None) -> NetworkRegressor:
        """The network that a trial with this seed grows."""
        parameters = {"max_nodes": self.nodes, "tol": 0.0, "random_state": seed, **dict(self.parameters)}
        if self.method in _BASELINES:
            return _BASELINES[self.method](**parameters)
        kind = DeepSCNRegressor if "max_layers" in parameters else SCNRegressor
        return kind(
            **{
                "algorithm": self.method,
                "configuration": self.search,
                "scopes": SCOPES[self.search].get(self.data, ALL_SCOPES),
                "max_candidates": 200,
                "scaling": "minmax",
                **parameters,
            }
        )

    def searched(self, search: str) -> Unit:
        """The same with another reading of the paper's search, unless it has a search of its own, as baselines have."""
        own = self.method in _BASELINES or "configuration" in dict(self.parameters)
        return self if own else replace(self, search=search)

    def describe(self) -> Record:
        """The unit as plain values, which identify it; trials from before there was a choice of searches are found."""
        described = asdict(self)
        return described if described.pop("search") == FIRST_SEARCH else {**described, "search": self.search}


@dataclass(frozen=True)
class Trial:
    """Errors on the scale [0, 1] after each node, and the seconds spent up to it."""

    train: list[float]
    test: list[float]
    seconds: list[float]

    @classmethod
    def of(cls, model: NetworkRegressor, X_test: np.ndarray, y_test: np.ndarray) -> Trial:
        """The errors of a fitted network."""
        # The paper's errors are those of targets between 0 and 1.
        span = model.network_.outputs.scale[0]
        return cls(
            train=_rounded(model.history_["train_rmse"] / span),
            test=_rounded([np.sqrt(np.mean((p - y_test) ** 2)) / span for p in model.staged_predict(X_test)]),
            seconds=_rounded(np.cumsum(model.history_["seconds"])),
        )

    def at(self, part: str, nodes: int) -> float:
        """The error after this number of nodes, or after the last one if growth ended earlier."""
        errors: list[float] = getattr(self, part)
        return errors[min(nodes, len(errors)) - 1]

    def reached(self) -> int | None:
        """The number of nodes at which the training error is at most ε, if it gets there."""
        return next((nodes for nodes, error in enumerate(self.train, start=1) if error <= TOLERANCE), None)


def estimator_for(
    data: str,
    algorithm: str = "SC-III",
    *,
    search: str = FIRST_SEARCH,
    max_nodes: int = 50,
    random_state: int | None = None,
) -> NetworkRegressor:
    """The network of the paper's tables, with its settings for one of the data sets.

    Parameters
    ----------
    data : {"DB1", "DB2", "DB3", "DB4"}
        The data set; :func:`split` returns its rows. On DB1, Υ (``scopes``) is smaller than the paper's, which
        does not give the paper's results there.
    algorithm : {"SC-I", "SC-II", "SC-III", "IRVFL", "MQ"}, default="SC-III"
        The algorithm, or one of the two baselines.
    search : {"ladder", "renewal"}, default="ladder"
        How SC-I, SC-II and SC-III search: as in the authors' release, or as in the pseudo code.
    max_nodes : int, default=50
        Number of nodes at which growth ends.
    random_state : int or None, default=None
        Seed of the nodes.

    Returns
    -------
    estimator : SCNRegressor, IRVFLRegressor or ModifiedQuickpropRegressor
        Not fitted yet; ``set_params`` changes settings.

    Examples
    --------
    >>> from skscn.paper import estimator_for, split
    >>> X, X_test, y, y_test = split("DB1", seed=0)
    >>> model = estimator_for("DB1", algorithm="SC-III", random_state=0).fit(X, y)
    >>> model.scopes
    (100, 150, 200)
    """
    for kind, name, names in (
        ("data set", data, DATA),
        ("algorithm", algorithm, METHODS),
        ("search", search, SEARCHES),
    ):
        if name not in names:
            raise ValueError(not_found(kind, name, list(names)))
    return Unit(data, algorithm, max_nodes, search=search).estimator(random_state)


def product_of_sines(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """∏ sin(πx_j) of six inputs, on 2000 rows to train on and 2000 to test: a product is easier in two steps."""
    X = np.random.default_rng(seed).uniform(size=(4000, 6))
    y = np.prod(np.sin(np.pi * X), axis=1)
    return X[:2000], X[2000:], y[:2000], y[2000:]


@cache
def split(data: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The rows of a data set of the experiments, those for training and those for tests.

    Parameters
    ----------
    data : {"DB1", "DB2", "DB3", "DB4", "sines"}
        DB1 and the product of sines are drawn; the others are read from files, or downloaded once.
    seed : int
        Seed of the sample, or of the split: a quarter of the rows is for tests.

    Returns
    -------
    X, X_test, y, y_test : ndarray
    """
    if data == "DB1":
        db1 = make_db1(random_state=seed)
        return db1.data, db1.test_data, db1.target, db1.test_target
    if data == "sines":
        return product_of_sines(seed)
    bunch = _LOADERS[data]()
    return tuple(train_test_split(bunch.data, bunch.target, test_size=0.25, random_state=seed))


def run_trial(unit: Unit, seed: int, data_seed: int) -> Trial:
    """Grow one network and note its errors."""
    X_train, X_test, y_train, y_test = split(unit.data, data_seed)
    model = unit.estimator(seed).fit(X_train, y_train)
    error = model.history_["train_rmse"][-1] / model.network_.outputs.scale[0]
    if unit.until and error > TOLERANCE and model.stop_reason_ == StopReason.MAX_NODES:
        model.set_params(warm_start=True, max_nodes=unit.until, tol=TOLERANCE).fit(X_train, y_train)
    return Trial.of(model, X_test, y_test)


def _rounded(values: Iterable[float]) -> list[float]:
    """Nine digits: more than enough, at half the size on disk."""
    return [float(f"{value:.9g}") for value in values]


class KeyedLines:
    """Results in a file, one JSON line each, under a key of several names; the file survives a kill at any moment.

    Parameters
    ----------
    path : Path
        Its folder is made if it is missing. A last line that was cut off by a kill is removed.
    names : tuple of str
        Names of the parts of a key in the file.

    Attributes
    ----------
    results : dict
        The results by their keys; a part of a key that is a dict is replaced by its JSON.
    """

    def __init__(self, path: Path, names: tuple[str, ...]):
        self.path, self.names = path, names
        path.parent.mkdir(parents=True, exist_ok=True)
        self.results: dict[tuple[Any, ...], Record] = {}
        content = path.read_bytes() if path.exists() else b""
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(path, whole)
        for record in map(json.loads, content[:whole].splitlines()):
            self.results[_hashable(record.pop(name) for name in names)] = record

    def add(self, key: tuple[Any, ...], result: Record) -> None:
        """Keep a result; it is on disk when this returns."""
        record = dict(zip(self.names, key, strict=True)) | result
        with self.path.open("ab") as file:
            file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.results[_hashable(key)] = result


def _hashable(key: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(json.dumps(part, sort_keys=True) if isinstance(part, dict) else part for part in key)


class TrialStore(KeyedLines):
    """The trials of one experiment's seed, kept as they end: an interrupted run continues where it stopped.

    Parameters
    ----------
    path : Path
        The file of JSON lines.
    data_seed : int
        Seed of data and split. Trials of other seeds may be in the same file.
    """

    def __init__(self, path: Path, data_seed: int):
        super().__init__(path, ("unit", "seed", "data_seed"))
        self.data_seed = data_seed

    def trials(self, unit: Unit, count: int) -> list[Trial]:
        """The first ``count`` trials of a unit, in the order of their seeds; all of them must be complete."""
        return [Trial(**self.results[_hashable(self._key(unit, seed))]["trial"]) for seed in range(count)]

    def missing(self, units: Iterable[Unit], count: int) -> list[tuple[Unit, int]]:
        """Which trials are still to be run, trial by trial through all units."""
        distinct = list(dict.fromkeys(units))
        return [
            (unit, seed)
            for seed in range(count)
            for unit in distinct
            if _hashable(self._key(unit, seed)) not in self.results
        ]

    def keep(self, unit: Unit, seed: int, trial: Trial) -> None:
        """Keep a trial; it is on disk when this returns."""
        self.add(self._key(unit, seed), {"trial": asdict(trial)})

    def run(self, tasks: list[tuple[Unit, int]], jobs: int) -> Iterator[Unit]:
        """Run trials in processes and keep each as it ends; yield its unit."""
        results = Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(_run)(unit, seed, self.data_seed) for unit, seed in tasks
        )
        for unit, seed, trial in results:
            self.keep(unit, seed, trial)
            yield unit

    def _key(self, unit: Unit, seed: int) -> tuple[Record, int, int]:
        return unit.describe(), seed, self.data_seed


def _run(unit: Unit, seed: int, data_seed: int) -> tuple[Unit, int, Trial]:
    return unit, seed, run_trial(unit, seed, data_seed)


@dataclass(frozen=True)
class Results:
    """The trials of one reading of the paper's search: a function of a unit."""

    store: TrialStore
    count: int
    search: str = FIRST_SEARCH

    def __call__(self, unit: Unit) -> list[Trial]:
        """The trials of a unit, with this reading."""
        return self.store.trials(unit.searched(self.search), self.count)
