"""Assessments of any model: scores, confidence limits that respect order and groups, baselines and cautions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skscn import TableModel, assess
from skscn.judging import Caution
from skscn.judging.assessment import seasonal_period
from skscn.judging.cautions import SENTENCES
from skscn.judging.uncertainty import confidence_limits, row_blocks


def test_a_regressor_of_scikit_learn():
    frame = load_diabetes(as_frame=True).frame
    X, y = frame.drop(columns="target"), frame["target"]
    model = HistGradientBoostingRegressor(random_state=0).fit(X[:300], y[:300])
    found = assess(model, frame[300:], "target")
    predicted = model.predict(X[300:])
    assert found.scores["rmse"] == pytest.approx(np.sqrt(mean_squared_error(y[300:], predicted)))
    assert found.scores["r2"] == pytest.approx(r2_score(y[300:], predicted))
    low, high = found.limits["rmse"]
    assert low < found.scores["rmse"] < high
    assert found.better
    assert "RMSE" in str(found)
    assert "<table>" in found._repr_html_()
    with pytest.raises(ValueError, match="name the target column"):
        assess(model, frame[300:])
    with pytest.raises(ValueError, match="has no column 'targets'"):
        assess(model, frame[300:], "targets")


def biases(model, table):
    return [caution for caution in assess(model, table, "y").cautions if caution.code == "biased"]


@pytest.mark.parametrize("options", [{"estimator": "network"}, {"estimator": "network", "loss": "quantile:0.9"}, None])
def test_predictions_that_are_off_on_average_are_a_caution(options):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(size=600)})
    table["y"] = 3.0 * table["x"] + 0.2 * rng.normal(size=600)
    if options is None:
        model = HistGradientBoostingRegressor(random_state=0).fit(table[["x"]][:300], table["y"][:300])
    else:
        model = TableModel("y", folds=0, parameters={"max_nodes": 5}, **options).fit(table[:300])
    later = table[300:]
    assert biases(model, later) == []
    found = biases(model, later.assign(y=later["y"] - 0.4))
    if options is not None and "loss" in options:
        assert found == []
        return
    (caution,) = found
    assert caution.values["mean"] == pytest.approx(-0.4, abs=0.05)
    assert caution.values["without"] == pytest.approx(0.2, abs=0.05)
    assert str(caution).startswith("On average, targets are below predictions by 0.")


def test_mean_errors_by_chance_are_no_bias():
    rng, found = np.random.default_rng(0), 0
    X = pd.DataFrame({"x0": rng.uniform(size=100)})
    model = HistGradientBoostingRegressor(random_state=0).fit(X, np.zeros(100))
    for _ in range(200):
        n_rows = int(rng.integers(8, 60))
        rows = pd.DataFrame({"x0": rng.uniform(size=n_rows), "y": rng.normal(size=n_rows)})
        found += len(biases(model, rows))
    assert found <= 4


def test_a_pipeline_that_classifies():
    frame = load_breast_cancer(as_frame=True).frame
    X, y = frame.drop(columns="target"), frame["target"]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:400], y[:400])
    found = assess(model, frame[400:], "target")
    assert found.scores["accuracy"] == pytest.approx(model.score(X[400:], y[400:]))
    assert found.scores["accuracy"] > found.baseline["accuracy"]


def test_limits_contain_the_error_as_often_as_they_say():
    """Independent truth: of many samples with a known error, about 95 % of the intervals contain it."""
    rng, inside = np.random.default_rng(0), 0
    for _ in range(200):
        y = rng.normal(size=150)
        predicted = y + 0.5 * rng.normal(size=150)
        low, high = confidence_limits({"rmse": 0.0}, y, predicted, None, row_blocks(150, False))["rmse"]
        inside += low <= 0.5 <= high
    assert 0.88 <= inside / 200 <= 0.99


def test_blocks_are_wider_where_errors_are_alike():
    rng = np.random.default_rng(0)
    errors = np.repeat(rng.normal(size=30), 20)
    y = rng.normal(size=600)
    of_rows, of_blocks = (
        confidence_limits({"rmse": 0.0}, y, y - errors, None, row_blocks(600, ordered))["rmse"]
        for ordered in (False, True)
    )
    assert np.ptp(of_blocks) > 2.0 * np.ptp(of_rows)
    groups = np.repeat([f"g{number}" for number in range(30)], 20)
    np.testing.assert_array_equal(row_blocks(600, False, groups), np.unique(groups, return_inverse=True)[1])


def test_a_season_that_beats_the_model_is_a_caution():
    hours = np.arange(24 * 40)
    load = 100 + 30 * np.sin(2 * np.pi * hours / 24) + np.random.default_rng(0).normal(size=len(hours))
    noise = np.random.default_rng(1).normal(size=len(hours))
    table = pd.DataFrame(
        {"time": pd.date_range("2026-01-01", periods=len(hours), freq="h"), "noise": noise, "load": load}
    )
    options = {"estimator": "network", "folds": 0, "parameters": {"max_nodes": 5, "cycles": False}}
    model = TableModel("load", time="time", **options).fit(table[:600])
    found = assess(model, table[600:])
    assert found.seasonal[0] == 24
    assert found.seasonal[1] < found.scores["rmse"]
    assert "seasonal" in [caution.code for caution in found.cautions]


@pytest.mark.parametrize(("step", "period"), [("1h", 24), ("15min", 96), ("D", 7), ("7D", 52), ("7h", None)])
def test_the_rows_of_a_season(step, period):
    assert seasonal_period(pd.date_range("2026-01-01", periods=500, freq=step).to_numpy()) == period


def test_rows_of_training_and_inputs_outside_are_cautions():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200)})
    table["y"] = table["a"] + 0.1 * rng.normal(size=200)
    model = TableModel("y", estimator="network", folds=2, parameters={"max_nodes": 5}).fit(table[:150])
    assert [caution.code for caution in assess(model, table[:150]).cautions] == ["seen"]
    assert assess(model, table[150:]).cautions == []
    moved = assess(model, table[150:].assign(a=table["a"] + 50.0))
    assert "unconfirmed" in [caution.code for caution in moved.cautions]
    assert any("above the largest training value" in note for note in moved.notes)


def test_every_code_has_a_sentence():
    assert str(Caution("constant_target")).endswith("Look at the RMSE instead.")
    assert all(callable(sentence) for sentence in SENTENCES.values())
    with pytest.raises(KeyError):
        str(Caution("unknown"))


def test_intervals_that_are_too_narrow_on_these_rows_are_a_caution():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(size=300)})
    table["y"] = table["x"] + rng.normal(0.0, 0.1, 300)
    model = TableModel("y", estimator="network", folds=2, parameters={"max_nodes": 3}).fit(table)
    noisy = table.assign(y=table["x"] + rng.normal(0.0, 0.3, 300))
    assert not any(caution.code == "intervals" for caution in assess(model, table).cautions)
    (caution,) = [caution for caution in assess(model, noisy).cautions if caution.code == "intervals"]
    assert str(caution).startswith("Intervals are too narrow: those for 90% contained ")


def test_intervals_are_doubted_only_for_a_reason_that_concerns_them():
    uneven = Caution("uneven", {"parts": [0.9], "low": 0.2, "high": 0.9})
    assert str(Caution("unreliable", {"intervals": True, "reasons": [uneven]})).startswith("R² cannot be trusted")
    drift = Caution("drift", {"level": (0.5, -0.86, 1)})
    said = str(Caution("unreliable", {"intervals": True, "reasons": [uneven, drift]}))
    assert said.startswith("R² and intervals cannot be trusted")
    assert "exceed predictions by 0.5 in the first training rows and are below predictions by 0.86 in the last" in said
