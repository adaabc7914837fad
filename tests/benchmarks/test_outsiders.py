"""Suites that others have chosen are fetched once, with their folds, and methods are rated; the model for AutoGluon."""

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from skscn import SCNClassifier, SCNEnsembleRegressor, SCNRegressor

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")
QUICK = ["--methods", "SCN", "forest", "RVFL", "--folds", "2"]


@pytest.fixture
def outsiders(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("outsiders")


def table(seed, rows=90):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=rows), "b": rng.normal(size=rows)})
    X.loc[::9, "a"] = np.nan
    X["kind"] = pd.Categorical(rng.choice(["x", "y", None], rows))
    y = X["b"].to_numpy() + (X["kind"] == "x") + 0.1 * rng.normal(size=rows)
    return X, y, np.arange(rows) % 10


@pytest.fixture
def fetched(outsiders, monkeypatch):
    """Three tables that stand in for a suite, and a list of what has been fetched of them."""
    calls = []

    def fetch(name):
        calls.append(name)
        return table(int(name))

    suite = outsiders.Suite(lambda: calls.append("names") or ["1", "2", "3"], fetch)
    monkeypatch.setattr(outsiders, "SUITES", {"ctr23": suite})
    return calls


def test_tables_are_fetched_once_and_rated(outsiders, fetched, tmp_path, capsys):
    assert outsiders.main([*QUICK, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    results = (tmp_path / "results.jsonl").read_bytes()
    assert len(results.splitlines()) == 3 * 3 * 2
    assert fetched == ["names", "1", "2", "3"]
    assert outsiders.main([*QUICK, "--out", str(tmp_path)]) == 0
    assert fetched == ["names", "1", "2", "3"]
    assert (tmp_path / "results.jsonl").read_bytes() == results
    assert capsys.readouterr().out == said
    forest = next(line for line in said.splitlines() if line.startswith("forest"))
    elo, low, high = map(float, forest.split()[1:4])
    assert low <= elo == 1000.0 <= high
    written = pd.read_csv(tmp_path / "results.csv")
    assert {"task", "fold", "method", "metric_error", "time_train_s"} <= set(written.columns)
    # The error of predicting the mean is about 1.1.
    assert written["metric_error"].max() < 1.0


def test_a_kept_table_has_its_rows_and_folds(outsiders, fetched, tmp_path):
    ((_, path),) = outsiders.cached("ctr23", tmp_path, ["2"])
    kept, (X, y, folds) = pd.read_parquet(path), table(2)
    np.testing.assert_array_equal(kept.pop(outsiders.FOLD), folds)
    np.testing.assert_array_equal(kept.pop(outsiders.TARGET), y)
    pd.testing.assert_frame_equal(kept, X)
    assert not list(tmp_path.glob("*.part"))


def test_without_internet_it_is_said_what_to_do(outsiders, monkeypatch, tmp_path):
    def fail(*_):
        raise ConnectionError("no route")

    monkeypatch.setattr(outsiders, "SUITES", {"pmlb": outsiders.Suite(fail, fail)})
    with pytest.raises(SystemExit, match=r"^pmlb could not be fetched \(no route\); connect"):
        outsiders.main(["--out", str(tmp_path)])


def test_large_tables_are_left_out_and_failed_fits_lose(outsiders, fetched, monkeypatch, tmp_path, capsys):
    def fail(rows):
        return SimpleNamespace(fit=lambda X, y: [][len(X)] if len(X) < 0 else np.linalg.inv(np.zeros((2, 2))))

    monkeypatch.setitem(outsiders.METHODS, "SVM", fail)
    arguments = ["--methods", "forest", "SVM", "--folds", "1", "--sets", "1", "2", "--out", str(tmp_path)]
    outsiders.main(arguments)
    said = capsys.readouterr().out
    assert "failed: ctr23 1 SVM fold 0: LinAlgError" in said
    board = [line.split()[0] for line in said.splitlines() if line.startswith(("SVM", "forest"))]
    assert board == ["forest", "SVM"]
    with pytest.raises(SystemExit, match="No fold has been tried"):
        outsiders.main([*arguments[:-1], str(tmp_path / "other"), "--most-rows", "80"])
    assert "left out: ctr23 1, 90 rows" in capsys.readouterr().err


def test_ratings_are_the_odds_of_winning(outsiders):
    """Of two methods, the difference is 400 points for each factor of ten in the odds."""
    won = np.array([[0.0, 30.0], [3.0, 0.0]])
    np.testing.assert_allclose(outsiders.ratings(won), [200.0, -200.0], atol=1e-3)


def test_every_table_counts_as_much_as_any_other(outsiders):
    index = pd.MultiIndex.from_tuples([("s", "one", 0), ("s", "two", 0), ("s", "two", 1)])
    won = outsiders.wins(pd.DataFrame({"A": [1.0, 1.0, 2.0], "B": [2.0, 3.0, 2.0]}, index=index))
    np.testing.assert_array_equal(won[:, 0, 1], [1.0, 0.75])
    np.testing.assert_array_equal(won[:, 1, 0], [0.0, 0.25])


def test_ratings_predict_wins(outsiders):
    """At the highest likelihood, every method has as many expected wins as real ones."""
    won = np.random.default_rng(0).uniform(1.0, 9.0, (5, 5))
    found = outsiders.ratings(won)
    chance = 1.0 / (1.0 + 10.0 ** ((found - found[:, np.newaxis]) / 400.0))
    played = won + won.T
    off = 1.0 - np.eye(5)
    np.testing.assert_allclose((chance * played * off).sum(axis=1), (won * off).sum(axis=1), rtol=1e-6)


def test_splits_are_those_of_openml(outsiders, monkeypatch):
    """With a stand-in for its package."""
    X, y, folds = table(0)
    dataset = SimpleNamespace(get_data=lambda target: (X, pd.Series(y, name=target), [], list(X)))
    task = SimpleNamespace(
        target_name="y",
        get_dataset=lambda: dataset,
        get_train_test_split_indices=lambda fold: (np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)),
    )
    openml = ModuleType("openml")
    openml.study = SimpleNamespace(get_suite=lambda number: SimpleNamespace(tasks=[number]))
    openml.tasks = SimpleNamespace(get_task=lambda number, download_splits: task if download_splits else None)
    monkeypatch.setitem(sys.modules, "openml", openml)
    assert outsiders.SUITES["ctr23"].names() == ["353"]
    found = outsiders.SUITES["ctr23"].fetch("353")
    pd.testing.assert_frame_equal(found[0], X)
    np.testing.assert_array_equal(found[1], y)
    np.testing.assert_array_equal(found[2], folds)


def test_splits_of_pmlb_are_drawn_once(outsiders, monkeypatch):
    pmlb = ModuleType("pmlb")
    pmlb.regression_dataset_names = ["one"]
    pmlb.fetch_data = lambda name: pd.DataFrame({"x": np.arange(50), "target": np.arange(50)})
    monkeypatch.setitem(sys.modules, "pmlb", pmlb)
    assert json.dumps(outsiders.SUITES["pmlb"].names()) == '["one"]'
    X, y, folds = outsiders.SUITES["pmlb"].fetch("one")
    assert list(X) == ["x"]
    assert len(y) == 50
    assert np.bincount(folds).tolist() == [5] * 10
    np.testing.assert_array_equal(outsiders.SUITES["pmlb"].fetch("one")[2], folds)


# ---- AutoGluon


class AbstractModel:
    """What AutoGluon documents of its class of this name, as far as a model uses it."""

    def __init__(self, problem_type, hyperparameters):
        self.problem_type, self.parameters = problem_type, dict(hyperparameters)
        self._set_default_params()

    def _set_default_param_value(self, name, value):
        self.parameters.setdefault(name, value)

    def _get_model_params(self):
        return dict(self.parameters)

    def preprocess(self, X, **_):
        return X.drop(columns="constant")

    def fit(self, X, y, random_seed=0, **arguments):
        self.parameters.setdefault(self.seed_name, random_seed)
        self._fit(X=X, y=y, X_val=X[:5], y_val=y[:5], num_gpus=0, verbosity=0, **arguments)
        return self


@pytest.fixture
def model(monkeypatch):
    """The class for AutoGluon, with a stand-in for AutoGluon."""
    for name in ("autogluon", "autogluon.core", "autogluon.core.models"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["autogluon.core.models"].AbstractModel = AbstractModel
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.delitem(sys.modules, "outsiders_parts.autogluon_model", raising=False)
    yield importlib.import_module("outsiders_parts.autogluon_model").SCNModel
    sys.modules.pop("outsiders_parts.autogluon_model")


@pytest.mark.parametrize("time_limit", [None, 1e6])
def test_autogluon_gets_the_same_network(model, time_limit):
    X, y, _ = table(0)
    given = {"ensemble": False, "max_nodes": 5}
    fitted = model("regression", given).fit(X.assign(constant=1), pd.Series(y), num_cpus=1, time_limit=time_limit)
    own = SCNRegressor(max_nodes=5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(fitted.model.predict(X), own.predict(X))


def test_autogluon_gets_an_ensemble_or_a_classifier(model):
    X, y, _ = table(0)
    few = {"n_members": 2}
    assert isinstance(model("regression", few).fit(X.assign(constant=1), y).model, SCNEnsembleRegressor)
    one = model("binary", {"ensemble": False, "max_nodes": 3}).fit(X.assign(constant=1), (y > 0.5).astype(int))
    assert isinstance(one.model, SCNClassifier)
    assert one.model.predict_proba(X).shape == (90, 2)


def test_a_time_limit_of_autogluon_is_kept(model):
    """After it, networks stop at their first step, and no member follows the first one."""
    X, y, _ = table(0)
    late = model("regression", {"n_members": 4}).fit(X.assign(constant=1), y, num_cpus=1, time_limit=-1.0)
    assert len(late.model.members_) == 1
    assert late.model.members_[0].stop_reason_ == "callback"
