"""One bad row neither throws a recurrent network out of its range nor ruins what a stream has learnt."""

from copy import deepcopy

import numpy as np
import pytest

from skscn import RecurrentSCNRegressor, load_model, save_model

pytestmark = pytest.mark.usefixtures("few_pilots")
RNG = np.random.default_rng(7)
# A temperature and a flow, and a concentration that follows both slowly.
X = np.column_stack([350.0 + 10.0 * np.sin(np.arange(700) / 9) + RNG.normal(size=700), RNG.uniform(1.0, 2.0, 700)])
Y = np.zeros(700)
for n in range(1, 700):
    Y[n] = 0.8 * Y[n - 1] + 0.2 * np.exp((X[n - 1, 0] - 350.0) / 20.0) / X[n - 1, 1]
Y += 0.01 * RNG.normal(size=700)
SMALL = {"max_nodes": 20, "max_candidates": 60, "nodes_per_step": 5, "random_state": 0}
BAD = X[500:].copy()
BAD[50, 0] = 1473.0


@pytest.fixture(scope="module")
def model(few_pilots):
    return RecurrentSCNRegressor(**SMALL).fit(X[:500], Y[:500])


@pytest.fixture(scope="module")
def fed(few_pilots):
    return RecurrentSCNRegressor(feedback=True, **SMALL).fit(X[:500], Y[:500])


def outside(predictions):
    """By how much predictions leave the range of training, as a share of it."""
    low, high = Y[:500].min(), Y[:500].max()
    return np.maximum(low - predictions, predictions - high).max() / (high - low)


@pytest.mark.parametrize("value", [1473.0, -9999.0, 1e300])
def test_predictions_stay_near_the_range_and_recover(model, value):
    bad = BAD.copy()
    bad[50, 0] = value
    found, without = model.predict(bad, state="end"), model.predict(X[500:], state="end")
    assert outside(found) <= 0.5 + 1e-9
    off = np.abs(found - without) > 0.05 * (Y.max() - Y.min())
    assert off.sum() <= 25
    assert not off[80:].any()


def test_a_bad_target_that_comes_back_is_bounded(fed):
    bad = Y[500:].copy()
    bad[50] = 1e9
    found = fed.predict(X[500:], y=bad, state="end")
    assert outside(found) <= 0.5 + 1e-9
    np.testing.assert_allclose(found[-50:], fed.predict(X[500:], y=Y[500:], state="end")[-50:], atol=0.01)


def test_streams_are_bounded_as_predictions_are(model, fed):
    for fitted in (model, fed):
        known = Y[500:].copy()
        known[100] = 1e9
        expected = fitted.predict(BAD, y=known if fitted is fed else None, state="end")
        stream = fitted.stream(learning=None)
        found = []
        for row, target in zip(BAD, known, strict=True):
            found.append(stream.predict_one(row))
            stream.learn_one(row, target)
        # A stream sets the target aside, and its own prediction comes back.
        rows = slice(0, 100 if fitted is fed else None)
        np.testing.assert_allclose(found[rows], expected[rows], atol=1e-9)


@pytest.mark.parametrize("learning", ["blend", "projection", "rls"])
def test_a_stream_sets_one_bad_target_aside_and_learns_a_change(model, tmp_path, learning):
    streams = [model.stream(learning=learning) for _ in range(2)]
    for n in range(500, 600):
        for stream, target in zip(streams, (Y[n], np.inf if n == 520 else 1e9 if n == 550 else Y[n]), strict=True):
            stream.predict_one(X[n])
            stream.learn_one(X[n], np.nan if target == Y[n] and n in (520, 550) else target)
    assert [stream.n_set_aside for stream in streams] == [0, 2]
    assert streams[0].predict_one(X[600]) == streams[1].predict_one(X[600])
    save_model(streams[1], tmp_path / "stream.scn")
    loaded = load_model(tmp_path / "stream.scn")
    errors = []
    for n in range(601, 700):
        errors.append(abs(loaded.predict_one(X[n]) - (Y[n] + 30.0)))
        loaded.learn_one(X[n], Y[n] + 30.0)
    assert 5 < loaded.n_set_aside - 2 < 20
    # The projection algorithm alone takes long to follow such a jump.
    assert np.mean(errors[-30:]) < (1.0 if learning == "blend" else 25.0)


def test_targets_and_inputs_of_any_size(model):
    for size in (1e155, 1e-155):
        large = RecurrentSCNRegressor(**SMALL).fit(size * X[:500], size * Y[:500])
        np.testing.assert_allclose(large.predict(size * X) / size, model.predict(X), rtol=1e-3, atol=1e-3)


def test_further_rows_widen_the_bounds(model):
    wider = deepcopy(model).partial_fit(X[500:], 3.0 * Y[500:])
    low, high = wider.reservoir_.target_range
    scaled = wider.reservoir_.outputs.transform(3.0 * Y[500:, np.newaxis])
    assert high[0] == pytest.approx(scaled.max())
    assert low[0] == pytest.approx(model.reservoir_.target_range[0][0])
