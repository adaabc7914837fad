"""Sensors that fail do not ruin what a stream has learnt, and changes that last are learnt."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from skscn import OnlineSCNClassifier, OnlineSCNRegressor, load_model, save_model
from skscn.online import prequential
from skscn.plausibility import TargetGate, plausible_together

ROOT = Path(__file__).parents[2]


def plain(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, 2))
    return X, 100.0 + 5.0 * np.sin(6.0 * X[:, 0]) + 0.5 * rng.normal(size=n_rows)


def errors_of(X, y):
    model = OnlineSCNRegressor(random_state=0)
    return prequential(model, X, y).errors, model


@pytest.mark.parametrize("fault", [-9999.0, 1e9, 1e160, 1e300, np.nan, np.inf])
@pytest.mark.parametrize("row", [4, 12, 250])
def test_one_bad_target_is_set_aside_and_named(tmp_path, fault, row):
    X, y = plain()
    bad = y.copy()
    bad[row] = fault
    errors, model = errors_of(X, bad)
    # As if the row had not been there.
    without, reference = errors_of(np.delete(X, row, axis=0), np.delete(y, row))
    np.testing.assert_allclose(np.delete(errors, row - 1), without)
    (event,) = model.events_[model.events_["event"] == "set aside"]
    assert (event["row"], event["reason"]) == (row, "target")
    assert (model.n_rows_seen_, model.n_rows_set_aside_) == (399, 1)
    save_model(model, tmp_path / "model.scn")
    loaded = load_model(tmp_path / "model.scn")
    assert loaded.n_rows_set_aside_ == 1
    for each in (model, loaded, reference):
        each.partial_fit(X[:1], [1e9])
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_allclose(reference.predict(X), model.predict(X))


@pytest.mark.parametrize("fault", [np.nan, np.inf, 1e300])
def test_rows_whose_inputs_are_not_finite_are_set_aside_and_predicted(fault):
    X, y = plain()
    bad = X.copy()
    bad[300, 0] = fault
    model = OnlineSCNRegressor(random_state=0).fit(bad, y)
    (event,) = model.events_[model.events_["event"] == "set aside"]
    assert event["reason"] == "input"
    other = OnlineSCNRegressor(random_state=0).fit(np.delete(X, 300, axis=0), np.delete(y, 300))
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    assert 90.0 < model.predict([[np.nan, 0.5]])[0] < 110.0
    with pytest.raises(ValueError, match="infinity"):
        model.predict([[np.inf, 0.5]])
    classes = OnlineSCNClassifier(random_state=0).fit(bad, np.where(y > 100.0, "high", "low"))
    assert (classes.n_rows_seen_, classes.n_rows_set_aside_) == (399, 1)


def test_the_first_row_may_be_bad():
    X, y = plain()
    bad = y.copy()
    bad[0] = 1e60
    errors, model = errors_of(X, bad)
    assert errors[3:].max() < 30.0
    assert model.n_rows_set_aside_ == 1


def test_nothing_is_learnt_from_rows_that_are_all_bad():
    X, _ = plain(30)
    with pytest.raises(ValueError, match="None of the 30 rows could be learnt: .*; those of the target are not all"):
        OnlineSCNRegressor().fit(X, np.full(30, np.nan))
    X[::2, 0] = X[1::2, 1] = np.nan
    with pytest.raises(ValueError, match="; those of column 'x0', column 'x1' are not all"):
        OnlineSCNRegressor().fit(X, np.zeros(30))


def test_a_shift_that_lasts_is_learnt_within_a_few_rows():
    X, y = plain(600)
    y[300:] += 60.0
    errors, model = errors_of(X, y)
    assert 5 < model.n_rows_set_aside_ < 15
    assert errors[315:350].mean() < 0.1 * 60.0
    assert errors[400:].mean() < 3.0 * errors[100:299].mean()
    assert (model.events_["event"] == "set aside").sum() == 1


def test_a_change_of_the_spread_that_lasts_is_learnt():
    rng = np.random.default_rng(0)
    X, y = plain(600)
    y[300:] += 1e3 * rng.normal(size=300)
    model = OnlineSCNRegressor(random_state=0).fit(X, y)
    assert model.n_rows_set_aside_ < 30


def test_an_outage_is_not_learnt_but_a_new_constant_is():
    X, y = plain(600)
    outage = y.copy()
    outage[300:360] = -9999.0
    errors, model = errors_of(X, outage)
    without, _ = errors_of(np.delete(X, slice(300, 360), axis=0), np.delete(y, slice(300, 360)))
    assert model.n_rows_set_aside_ == 60
    np.testing.assert_allclose(np.delete(errors, slice(299, 359)), without)
    y[300:] = 5000.0
    errors, model = errors_of(X, y)
    assert errors[-100:].max() < 500.0


def test_rare_values_and_growing_ones_are_learnt():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 2))
    rare = np.where(rng.uniform(size=2000) < 0.02, 5.0, 0.0)
    for y in (rare, np.exp(2.0 * rng.normal(size=2000)), np.cumsum(rng.normal(size=2000)), np.arange(2000.0)):
        model = OnlineSCNRegressor(random_state=0).fit(X, y)
        assert model.n_rows_set_aside_ <= 0.01 * 2000


def test_a_gate_as_json_goes_on_and_what_is_no_gate_is_refused():
    gate = TargetGate.of_training(np.array([0.0]), np.array([1.0]), np.array([0.1]))
    faults = np.random.default_rng(0).uniform(100.0, 200.0, size=(7, 1))
    assert not any(gate.admits(fault, np.zeros(1)) for fault in faults)
    state = json.loads(json.dumps(gate.to_json()))
    again = TargetGate.from_json(state)
    decisions = [[each.admits(fault + 1.0, np.zeros(1)) for fault in faults] for each in (gate, again)]
    assert decisions[0] == decisions[1]
    assert True in decisions[0]
    for wrong in (None, {}, {**state, "low": None}, {**state, "recent": [[0.1, 0.2, 0.3], [0.1]]},
                  {**state, "high": [np.nan]}, {**state, "repeats": -1}, {**state, "last": [1.0, 2.0]}):  # fmt: skip
        with pytest.raises(ValueError, match="targets|set aside|sequence|inhomogeneous"):
            TargetGate.from_json(wrong)


def test_few_values_are_judged_by_each_other():
    assert plausible_together(np.array([[5.0], [1e9]])).all()
    assert plausible_together(np.array([[5.0], [1e9], [6.0], [5.5]])).tolist() == [True, False, True, True]
    assert plausible_together(np.array([[7.0]] * 5 + [[-9999.0]])).tolist() == [True] * 5 + [False]
    assert plausible_together(np.array([[0.0]] * 9 + [[5.0]])).all()
    rng = np.random.default_rng(0)
    kept = [plausible_together(rng.normal(size=(count, 1))).all() for count in range(1, 20) for _ in range(100)]
    assert np.mean(kept) > 0.999


@pytest.mark.slow
def test_a_stream_with_faults_is_predicted_as_well_as_one_without(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    from stream_parts.drifting import abrupt
    from stream_parts.spiking import COLUMNS, compared

    figures = dict(zip(COLUMNS, compared(abrupt(4000, np.random.default_rng(0)), 0), strict=True))
    for name in [name for name in sys.modules if name.partition(".")[0] == "stream_parts"]:
        del sys.modules[name]
    assert figures["faulty_rows"] > 40
    assert figures["ratio"] < 1.1


@pytest.mark.parametrize("row", [4, 12, 250])
def test_an_implausible_input_is_set_aside_and_inputs_that_change_are_learnt(tmp_path, row):
    X, y = plain()
    bad = X.copy()
    bad[row, 0] = -9999.0
    model = OnlineSCNRegressor(random_state=0).fit(bad, y)
    assert model.events_["reason"][model.events_["event"] == "set aside"].tolist() == ["input"]
    other = OnlineSCNRegressor(random_state=0).fit(np.delete(X, row, axis=0), np.delete(y, row))
    np.testing.assert_allclose(model.predict(X), other.predict(X))
    save_model(model, tmp_path / "model.scn")
    # The plant now runs elsewhere: after a few rows that is no fault.
    moved = X + np.array([20.0, 0.0])
    loaded = load_model(tmp_path / "model.scn").partial_fit(moved, y)
    np.testing.assert_array_equal(loaded.predict(moved), model.partial_fit(moved, y).predict(moved))
    assert model.n_rows_set_aside_ < 20
