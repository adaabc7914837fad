"""Streams that learn from late targets, intervals that follow their errors, and what later rows choose."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from skscn import ModelFileError, RecurrentSCNRegressor, load_model, save_model
from skscn.factor import Factor
from skscn.recurrent.spreads import quantile, widest_sizes

FILES = Path(__file__).parents[1] / "files"
RNG = np.random.default_rng(0)
SMALL = {"max_nodes": 5, "max_candidates": 40, "nodes_per_step": 5, "random_state": 0}
TRAINING, LATE = 400, 4


def drifting(count=1400, seed=0):
    """An output with a memory, noise, and an offset that wanders after training."""
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(-1, 1, (count, 2)), np.zeros(count)
    for n in range(2, count):
        y[n] = 0.6 * y[n - 1] + X[n - 1, 0] - 0.5 * X[n - 2, 1]
    offset = np.where(np.arange(count) < TRAINING, 0.0, np.cumsum(0.1 * rng.normal(size=count)))
    return X, y + offset + 0.1 * rng.normal(size=count)


X, Y = drifting()


@pytest.fixture(scope="module")
def model():
    return RecurrentSCNRegressor(**SMALL).fit(X[:TRAINING], Y[:TRAINING])


def followed(stream, y=Y):
    """Predictions and intervals of a stream that learns targets LATE rows late."""
    said = []
    for n in range(TRAINING, len(y)):
        said.append((stream.predict_one(X[n]), *stream.interval()))
        if n - LATE >= TRAINING:
            stream.learn_one(X[n], y[n - LATE], delay=LATE)
    return np.array(said).T


def errors_of(model, y, kinds):
    return {kind: np.square(followed(model.stream(learning=kind), y)[0] - y[TRAINING:]).mean() for kind in kinds}


def covered(low, high, y=Y):
    return ((low <= y[TRAINING:]) & (y[TRAINING:] <= high)).mean()


def test_a_blend_is_about_as_good_as_the_best_way_to_learn(model):
    errors = errors_of(model, Y, ("blend", "projection", "rls", None))
    assert errors["blend"] < 1.05 * min(errors["projection"], errors["rls"]) < 0.2 * errors[None]


def test_a_blend_does_little_harm_where_nothing_changes(model):
    steady = model.predict(X) + 0.1 * RNG.normal(size=len(X))
    errors = errors_of(model, steady, ("blend", None))
    assert errors["blend"] < 1.1 * errors[None]


def test_a_blend_relies_on_the_last_target_where_inputs_say_nothing(model):
    wandering = np.cumsum(RNG.normal(size=len(Y)))
    # From where training ended: a jump out of its range would at first be set aside.
    wandering -= wandering[TRAINING]
    last = np.square(wandering[TRAINING - LATE - 1 : -LATE - 1] - wandering[TRAINING:]).mean()
    assert errors_of(model, wandering, ["blend"])["blend"] < 1.5 * last


def test_the_latest_target_is_that_of_the_latest_row(model):
    stream = model.stream()
    for n in range(10):
        stream.predict_one(X[n])
    stream.learn_one(X[9], 1.0, delay=2)
    stream.learn_one(X[10], 5.0, delay=6)
    latest = stream.learnt
    scaling = model.reservoir_.outputs
    assert latest.last * scaling.scale + scaling.offset == pytest.approx(1.0)
    assert latest.age == 3


def test_intervals_follow_drift_where_fixed_ones_fail(model):
    fixed = covered(*model.predict_interval(X[TRAINING:], state="end"))
    steered = covered(*model.predict_interval(X[TRAINING:], y=Y[TRAINING:], delay=LATE, state="end"))
    _, low, high = followed(model.stream())
    assert fixed < 0.6
    assert 0.85 < steered < 0.95
    assert 0.85 < covered(low, high) < 0.95


def test_steered_intervals_are_those_of_a_stream_that_does_not_learn(model):
    low, high = model.predict_interval(X[TRAINING:], y=Y[TRAINING:], delay=LATE, state="end", coverage=0.8)
    _, *limits = followed(model.stream(learning=None, coverage=0.8))
    assert np.allclose(limits, (low, high), rtol=0, atol=1e-12)


def test_unknown_targets_leave_the_width_as_it_is(model):
    sparse = np.where(np.arange(len(Y)) % 7 == 0, Y, np.nan)[TRAINING:]
    low, high = model.predict_interval(X[TRAINING:], y=sparse, delay=0, state="end")
    changed = np.flatnonzero(np.abs(np.diff(high - low)) > 1e-12)
    assert set(changed) <= set(np.flatnonzero(~np.isnan(sparse)))
    nothing = model.predict_interval(X[TRAINING:], y=np.full(len(sparse), np.nan), delay=0, state="end")
    assert np.ptp(nothing[1] - nothing[0]) < 1e-12


def test_several_outputs_have_shares_and_widths_of_their_own():
    two = np.column_stack([Y, RNG.normal(size=len(Y))])
    fitted = RecurrentSCNRegressor(**SMALL).fit(X[:TRAINING], two[:TRAINING])
    stream, inside = fitted.stream(), []
    for row, target in zip(X[TRAINING:], two[TRAINING:], strict=True):
        stream.predict_one(row)
        low, high = stream.interval()
        inside.append((low <= target) & (target <= high))
        stream.learn_one(row, target)
    assert ((np.mean(inside, axis=0) > 0.85) & (np.mean(inside, axis=0) < 0.95)).all()


def test_a_file_whose_blend_has_parts_of_another_shape_is_refused(model, tmp_path):
    stream = model.stream()
    learnt = stream.learnt
    stream.learnt = replace(learnt, weights=learnt.weights[:2])
    with pytest.raises(ModelFileError):
        save_model(stream, tmp_path / "stream.scn")
    stream.learnt = replace(learnt, recursive=None)
    with pytest.raises(ModelFileError, match="does not fit its way of learning"):
        save_model(stream, tmp_path / "stream.scn")


def test_streams_can_be_saved_before_the_first_row(model, tmp_path):
    for learning in ("blend", None):
        save_model(model.stream(learning=learning, coverage=0.8), tmp_path / "stream.scn")
        restored = load_model(tmp_path / "stream.scn")
        assert restored.predict_one(X[TRAINING]) == model.stream().predict_one(X[TRAINING])
        assert restored.interval() == pytest.approx(_first_interval(model), abs=1e-12)


def test_a_stream_of_version_0_2_goes_on_learning(tmp_path):
    """Its file has a covariance in place of a root, and the parts of a blend in another order."""
    stream = load_model(FILES / "0.2.0" / "RecurrentStream.scn")
    rows = np.array(json.loads((FILES / "0.2.0" / "expected.json").read_text(encoding="utf-8"))["rows"])
    parts = stream.recent.parts[-1]
    corrections = stream.learnt.mixture.corrections
    # What each base predicted, before what has been learnt since, and with corrections, which are 0 at first.
    np.testing.assert_allclose(parts[:-1].reshape(corrections.shape), parts[:-1:3, np.newaxis] + 0.0 * corrections)
    wrong = stream.predict_one(rows[0]) + 1.0
    before = []
    for _ in range(30):
        before.append(abs(stream.predict_one(rows[0]) - wrong))
        stream.learn_one(rows[0], wrong)
    assert before[-1] < 0.1 * before[0]
    save_model(stream, tmp_path / "stream.scn")
    assert load_model(tmp_path / "stream.scn").predict_one(rows[0]) == stream.predict_one(rows[0])


def _first_interval(model):
    stream = model.stream(learning=None, coverage=0.8)
    stream.predict_one(X[TRAINING])
    return stream.interval()


def test_bad_requests_are_refused(model):
    fed = RecurrentSCNRegressor(feedback=True, **SMALL).fit(X[:200], Y[:200])
    cases = [
        (lambda: model.stream().interval(), "call predict_one first"),
        (lambda: model.stream(coverage=90), "coverage must be between 0 and 1"),
        (lambda: model.stream(learning="blended"), 'learning must be "blend"'),
        (lambda: model.predict_interval(X, delay=5), "targets y that become known"),
        (lambda: model.predict_interval(X, y=Y, delay=-1), "whole number from 0"),
        (lambda: model.predict_interval(X, y=Y, delay=1.5), "whole number from 0"),
        (lambda: fed.predict_interval(X, y=Y, delay=5), "feedback use them at once"),
    ]
    for act, message in cases:
        with pytest.raises(ValueError, match=message) as refused:
            act()
        assert "\n" not in str(refused.value)


def factored(n=60, size=6):
    columns = np.column_stack([np.ones(n), RNG.normal(size=(n, size - 1)) * np.arange(1, size)])
    targets = RNG.normal(size=(n, 1))
    return columns, targets, Factor.empty(size, 1, linear=1).with_rows(columns, targets)


def test_degrees_of_freedom_are_the_trace_of_the_smoother():
    columns, _, factor = factored()
    centred = columns[:, 1:] - columns[:, 1:].mean(axis=0)
    inputs = centred / centred.std(axis=0)
    for alpha in (0.0, 1e-2, 1.0):
        smoother = inputs @ np.linalg.solve(inputs.T @ inputs + alpha * len(inputs) * np.eye(5), inputs.T)
        assert np.isclose(factor.degrees_of_freedom(alpha), 1.0 + np.trace(smoother))


def test_widths_are_those_of_the_widest_fold():
    steady, late = RNG.normal(size=(300, 1)), 3 * RNG.normal(size=(100, 1))
    np.testing.assert_array_equal(widest_sizes([late]), np.sort(np.abs(late), axis=0))
    widest = widest_sizes([steady, late])
    assert (np.diff(widest, axis=0) >= 0).all()
    for coverage in (0.5, 0.8, 0.9):
        each = [quantile(np.sort(np.abs(fold), axis=0).T, coverage) for fold in (steady, late)]
        assert quantile(widest.T, coverage) == max(each)


@pytest.mark.parametrize("missing", [np.nan, np.inf])
def test_the_row_before_takes_the_place_of_missing_inputs(model, missing):
    filled, given = X[TRAINING : TRAINING + 50].copy(), X[TRAINING : TRAINING + 50].copy()
    given[7, 1] = given[8, 1] = given[20] = missing
    filled[7, 1] = filled[8, 1] = filled[6, 1]
    filled[20] = filled[19]
    found, expected = (
        [model_.predict_one(row) for row in rows]
        for model_, rows in zip((model.stream(), model.stream()), (given, filled), strict=True)
    )
    assert found == expected
    assert np.isfinite(model.stream(None).predict_one([missing, 0.5]))
    stream = model.stream()
    stream.predict_one(given[7])
    stream.learn_one(given[7], 0.3)
    assert len(stream.recent.outputs) == 1
