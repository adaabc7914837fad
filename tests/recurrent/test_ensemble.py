"""Ensembles of recurrent networks: several reservoirs as one."""

from dataclasses import replace

import numpy as np
import pytest

from skscn import ModelFileError, RecurrentSCNEnsembleRegressor, describe_model, load_model, save_model
from skscn.recurrent.ensemble import factor_of, joined_nodes, joined_weights

pytestmark = pytest.mark.usefixtures("few_pilots")
RNG = np.random.default_rng(4)
X = RNG.uniform(-1, 1, (500, 2))
NOISE = 0.2 * RNG.normal(size=(500, 2))
Y = np.convolve(np.tanh(2 * X[:, 0]), 0.7 ** np.arange(30))[:500] + X[:, 1] * np.roll(X[:, 0], 2) + NOISE[:, 0]
TWO = np.column_stack([Y, np.sin(3 * np.roll(X[:, 1], 3)) + NOISE[:, 1]])
WAVES = np.sin(np.arange(500) / 4) + 0.5 * np.sin(np.arange(500) / 9) + 0.1 * NOISE[:, 0]
SMALL = {"max_nodes": 8, "max_candidates": 40, "nodes_per_step": 4, "random_state": 0}


@pytest.fixture(scope="module")
def model(few_pilots):
    return RecurrentSCNEnsembleRegressor(3, **SMALL).fit(X, Y)


@pytest.fixture(scope="module")
def free(few_pilots):
    return RecurrentSCNEnsembleRegressor(3, feedback=True, **SMALL).fit(None, WAVES[:400])


@pytest.fixture(scope="module")
def driven(few_pilots):
    """Inputs, feedback, and two outputs."""
    return RecurrentSCNEnsembleRegressor(2, feedback=True, **SMALL).fit(X, TWO)


@pytest.fixture(scope="module")
def models(model, free, driven):
    return [(model, X, None), (free, None, WAVES), (driven, X, TWO)]


def test_predictions_are_the_mean_of_the_members(models):
    for fitted, inputs, outputs in models:
        mean = np.mean([member.predict(inputs, y=outputs) for member in fitted.members_], axis=0)
        # A cold start may be far from the truth, and is then bounded.
        assert np.abs(fitted.predict(inputs, y=outputs) - mean)[100:].max() < 1e-10
        assert len({member.random_state for member in fitted.members_}) == fitted.n_estimators
        assert fitted.n_nodes_ == sum(member.n_nodes_ for member in fitted.members_)


def test_states_are_those_of_the_members_bit_for_bit(models):
    for fitted, inputs, outputs in models:
        rows = np.empty((500, 0)) if inputs is None else inputs
        known = None
        if outputs is not None:
            known = (outputs.reshape(500, -1) - fitted.reservoir_.outputs.offset) / fitted.reservoir_.outputs.scale
        whole = fitted.reservoir_.columns(rows, known)[0][:, 1 + fitted.reservoir_.nodes.width :]
        parts = [member.reservoir_ for member in fitted.members_]
        own = [part.columns(rows, known)[0][:, 1 + part.nodes.width :] for part in parts]
        assert (whole == np.hstack(own)).all()


def test_echo_state(models):
    for fitted, inputs, outputs in models:
        reservoir = fitted.reservoir_
        assert reservoir.has_echo_state()
        rows = np.empty((600, 0)) if inputs is None else np.resize(inputs, (600, 2))
        known = None if outputs is None else np.resize(outputs, (600, reservoir.n_outputs))
        start = replace(
            reservoir.cold_state(),
            nodes=RNG.uniform(-1, 1, reservoir.n_nodes),
            line=RNG.normal(size=(reservoir.length, reservoir.n_driving)),
        )
        one, other = (reservoir.columns(rows, known, state)[0][500] for state in (None, start))
        assert np.abs(one - other).max() < 1e-10


def test_streams_agree_with_batches(models):
    for fitted, inputs, outputs in models:
        batch, stream = fitted.predict(inputs, y=outputs), fitted.stream(None, learning=None)
        tolerance = 1e-11 * max(1.0, np.abs(batch).max())
        for n, predicted in enumerate(batch[:200]):
            row = None if inputs is None else inputs[n]
            assert np.abs(stream.predict_one(row) - predicted).max() < tolerance
            if outputs is not None:
                stream.learn_one(row, outputs[n])


@pytest.mark.parametrize("learning", ["blend", "projection", "rls"])
def test_a_stream_learns(model, learning):
    target, errors = 1.5 * Y + 0.5, []
    stream = model.stream(None, learning=learning, forgetting=0.99)
    for row, value in zip(X, target, strict=True):
        errors.append(stream.predict_one(row) - value)
        stream.learn_one(row, value)
    unlearnt = model.predict(X) - target
    assert np.square(errors[300:]).mean() < 0.8 * np.square(unlearnt[300:]).mean()


def test_a_forecast_feeds_the_mean_back(free, driven):
    for fitted, inputs in ((free, None), (driven, X)):
        streams = [member.stream(learning=None) for member in fitted.members_]
        scaling, means = fitted.reservoir_.outputs, []
        for n in range(20):
            for stream in streams:
                stream.predict_one(None if inputs is None else inputs[n])
            fed = np.mean([stream.reservoir.output_weights.T @ stream.recent.columns[-1] for stream in streams], axis=0)
            means.append(fed * scaling.scale + scaling.offset)
            for stream in streams:
                stream._output = fed.clip(fitted.reservoir_.low, fitted.reservoir_.high)
        found = fitted.forecast(20, None if inputs is None else inputs[:20]).reshape(20, -1)
        assert np.allclose(found, means, rtol=0, atol=1e-10)


def test_members_know_their_columns(free):
    assert free.members_[0].forecast(5).shape == (5,)
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=["a", "b"])
    fitted = RecurrentSCNEnsembleRegressor(2, **SMALL).fit(table, Y).partial_fit(table, Y)
    assert fitted.members_[0].feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="names should match"):
        fitted.members_[0].predict(table[["a"]])
    again = RecurrentSCNEnsembleRegressor(2, feedback=True, **SMALL).fit(table, Y).fit(None, WAVES)
    assert not hasattr(again, "feature_names_in_")
    assert again.n_features_in_ == again.members_[0].n_features_in_ == 0


def test_forecasts_are_bounded_and_their_intervals_widen(free):
    assert np.abs(free.forecast(10_000)).max() <= 2 * np.abs(WAVES).max()
    low, high = free.forecast_interval(100)
    assert (np.diff(high - low) >= -1e-12).all()
    assert ((low <= WAVES[400:]) & (WAVES[400:] <= high)).mean() > 0.5


def test_intervals_hold_the_errors_of_the_mean(model):
    low, high = model.predict_interval(X)
    assert 0.8 < ((low <= Y) & (high >= Y))[100:].mean() < 1.0
    widths = [np.subtract(*member.predict_interval(X[:1])[::-1])[0] for member in model.members_]
    assert (high - low)[0] <= max(widths)


def test_groups_lists_and_the_end_of_training():
    labels = np.repeat(["b", "a"], [300, 200])
    grouped = RecurrentSCNEnsembleRegressor(2, **SMALL).fit(X, TWO, groups=labels)
    parts = [X[labels == label] for label in "ab"]
    listed = RecurrentSCNEnsembleRegressor(2, **SMALL).fit(parts, [TWO[labels == label] for label in "ab"])
    for label, part in zip("ab", listed.predict(parts), strict=True):
        assert (grouped.predict(X, labels)[labels == label] == part).all()
    whole = np.vstack([parts[0], X[:30]])
    following = grouped.predict(X[:30], ["a"] * 30, state="end")
    assert np.allclose(grouped.predict(whole)[200:], following, rtol=0, atol=1e-12)


def test_the_first_members_do_not_depend_on_their_number(model):
    fewer = RecurrentSCNEnsembleRegressor(2, **SMALL).fit(X, Y)
    for one, other in zip(fewer.members_, model.members_, strict=False):
        assert (one.predict(X) == other.predict(X)).all()


def test_files(models, tmp_path):
    for fitted, inputs, outputs in models:
        save_model(fitted, tmp_path / "model.scn")
        loaded = load_model(tmp_path / "model.scn")
        assert (loaded.predict(inputs, y=outputs) == fitted.predict(inputs, y=outputs)).all()
        assert loaded.get_params() == fitted.get_params()
        assert (loaded.members_[1].predict(inputs, y=outputs) == fitted.members_[1].predict(inputs, y=outputs)).all()
        described = describe_model(tmp_path / "model.scn")
        assert described["class"] == "RecurrentSCNEnsembleRegressor"
        assert described["nodes"] == [member.n_nodes_ for member in fitted.members_]
    assert np.array_equal(loaded.forecast_interval(5, X[:5]), fitted.forecast_interval(5, X[:5]))
    stream = fitted.stream(learning="rls")
    save_model(stream, tmp_path / "stream.scn")
    assert (load_model(tmp_path / "stream.scn").predict_one(X[0]) == stream.predict_one(X[0])).all()


def test_a_file_whose_members_do_not_fit_is_refused(model, tmp_path):
    broken = RecurrentSCNEnsembleRegressor(3, **SMALL)
    vars(broken).update(vars(model))
    broken.members_ = model.members_[:2]
    with pytest.raises(ModelFileError, match="do not fit together"):
        save_model(broken, tmp_path / "model.scn")


def test_a_state_of_a_member_is_not_one_of_the_ensemble(model):
    with pytest.raises(ValueError, match="belongs to another model"):
        model.predict(X, state=model.members_[0].state_)


def test_dependent_columns_are_left_out_of_the_factor():
    H = np.column_stack([np.ones(60), RNG.normal(size=(60, 3)), np.full(60, 2.0)])
    H = np.column_stack([H, H[:, 1] - 3 * H[:, 2]])
    T = RNG.normal(size=(60, 2))
    kept, factor = factor_of(H, T)
    assert kept[0] == 0
    assert len(kept) == 4
    expected = H @ np.linalg.lstsq(H, T, rcond=None)[0]
    assert np.allclose(H[:, kept] @ factor.output_weights(), expected)
    assert factor_of(np.ones((5, 1)), T[:5])[0].tolist() == [0]


def test_joined_weights_are_means(model):
    blocks = [member.reservoir_.nodes for member in model.members_]
    weights = joined_weights(blocks, [member.reservoir_.output_weights for member in model.members_])
    assert (weights == model.reservoir_.output_weights).all()
    assert joined_nodes(blocks).is_triangular()


def test_bad_requests_are_refused(model, free, driven):
    cases = [
        (lambda: model.predict(X, groups=["z"] * 500, state="end"), "Group 'z' was not in training"),
        (lambda: model.predict(np.where(X > 0.9, np.nan, X)), "missing or infinite values, first in row"),
        (lambda: driven.predict(X, y=Y), "y has 1 outputs; the model has 2"),
        (lambda: model.forecast(5), "feedback=True"),
        *(
            (lambda steps=steps: free.forecast(steps), "whole number above 0")
            for steps in (0, -3, 1.5, np.nan, "5", None)
        ),
        (lambda: free.forecast(5, group="z"), "Group 'z' was not in training"),
        (lambda: free.forecast(5, state=driven.state_), "belongs to another model"),
        (lambda: free.forecast(5, state="end"), "state must be a ReservoirState or None"),
    ]
    for act, message in cases:
        with pytest.raises(ValueError, match=message) as refused:
            act()
        assert "\n" not in str(refused.value)
    assert free.forecast(5.0).shape == free.forecast_interval(5.0)[0].shape == (5,)


def test_bad_parameters_are_refused():
    with pytest.raises(ValueError, match="n_estimators"):
        RecurrentSCNEnsembleRegressor(0).fit(X, Y)
    with pytest.raises(ValueError, match="requires y"):
        RecurrentSCNEnsembleRegressor().fit(X, None)
