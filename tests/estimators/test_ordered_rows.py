"""Rows in order of time: what early stopping holds out, and what ensembles learn their errors from."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

from skscn import Chunks, SCNClassifier, SCNEnsembleClassifier, SCNEnsembleRegressor, SCNRegressor
from skscn.fit.updating import following

FAST = {"max_nodes": 5, "max_candidates": 30, "random_state": 0}
MEMBER = SCNRegressor(max_nodes=15, max_candidates=40, early_stopping=True, validation_fraction=0.2)


def wandering(n_rows, seed=0):
    """A target that follows one input, and wanders off slowly for reasons that no input knows."""
    rng = np.random.default_rng(seed)
    X = np.cumsum(rng.normal(size=(n_rows, 3)), axis=0) / 10
    return X, np.sin(X[:, 0]) + np.cumsum(rng.normal(size=n_rows)) / 20


@pytest.mark.parametrize("n_rows", [50, 200])
def test_the_last_rows_are_held_out(n_rows):
    X, y = wandering(n_rows)
    model = SCNRegressor(early_stopping=True, validation="last", validation_fraction=0.2, **FAST).fit(X, y)
    np.testing.assert_array_equal(model.held_out_, np.arange(n_rows - n_rows // 5, n_rows))


def test_of_many_rows_in_order_the_last_are_held_out_too():
    X = np.linspace(0, 1, 100_010)[:, np.newaxis]
    model = SCNRegressor(validation="last", max_nodes=1, max_candidates=5, random_state=0).fit(X, X[:, 0] ** 2)
    assert model.held_out_[0] == 100_010 - 10_000


def test_rows_that_do_not_count_are_not_held_out():
    X, y = wandering(100)
    weights = np.r_[np.ones(80), np.zeros(20)]
    model = SCNRegressor(early_stopping=True, validation="last", **FAST).fit(X, y, weights)
    np.testing.assert_array_equal(model.held_out_, np.arange(72, 80))


def test_chunks_hold_out_what_arrays_do():
    X, y = wandering(150)
    settings = {"early_stopping": True, "validation": "last", **FAST}
    pieces = [(X[:70], y[:70]), (X[70:], y[70:])]
    from_chunks = SCNRegressor(**settings).fit(Chunks(lambda: iter(pieces)))
    in_memory = SCNRegressor(**settings).fit(X, y)
    np.testing.assert_array_equal(from_chunks.held_out_, in_memory.held_out_)
    np.testing.assert_array_equal(from_chunks.predict(X), in_memory.predict(X))


def test_training_knows_every_class():
    X, _ = wandering(100)
    y = np.repeat(["early", "late"], [95, 5])
    model = SCNClassifier(early_stopping=True, validation="last", **FAST).fit(X, y)
    np.testing.assert_array_equal(model.held_out_, np.arange(96, 100))


def test_a_class_that_begins_with_the_last_row_breaks_nothing():
    X, _ = wandering(100)
    model = SCNClassifier(early_stopping=True, validation="last", **FAST).fit(X, [0] * 60 + [1] * 39 + [2])
    np.testing.assert_array_equal(model.held_out_, [99])
    assert np.isfinite(model.predict_proba(X)).all()


def last_training_rows(ensemble):
    """For each member the number of the last row that it was grown on."""
    return [np.flatnonzero(~unseen)[-1] for unseen in ensemble.out_of_bag_]


@pytest.mark.parametrize("bootstrap", [False, True])
def test_only_rows_later_than_those_a_member_has_learnt_from_are_out_of_bag(bootstrap):
    X, y = wandering(300)
    model = SCNEnsembleRegressor(MEMBER, 4, bootstrap=bootstrap, validation="last", random_state=0).fit(X, y)
    for member, unseen, last in zip(model.members_, model.out_of_bag_, last_training_rows(model), strict=True):
        np.testing.assert_array_equal(np.flatnonzero(unseen), np.arange(last + 1, 300))
        assert last < member.held_out_.min()
        assert 0.1 * 300 <= 300 - last - 1 <= 0.35 * 300
    assert len(set(last_training_rows(model))) > 1


def test_what_comes_after_a_member_s_window_does_not_change_its_nodes():
    X, y = wandering(300)
    changed = y.copy()
    model = SCNEnsembleRegressor(MEMBER, 3, validation="last", random_state=0).fit(X, y)
    begin = max(last_training_rows(model)) + 1
    changed[begin:] = 0.9 * y[begin:]
    other = SCNEnsembleRegressor(MEMBER, 3, validation="last", random_state=0).fit(X, changed)
    for one, two in zip(model.members_, other.members_, strict=True):
        common = min(one.n_nodes_, two.n_nodes_)
        np.testing.assert_array_equal(one.network_.weights[:, :common], two.network_.weights[:, :common])


def test_out_of_bag_scores_of_ordered_rows_do_not_flatter():
    known, later, covered, scores = slice(0, 600), slice(600, 900), [], []
    for seed in range(6):
        X, y = wandering(900, seed)
        models = [
            SCNEnsembleRegressor(MEMBER, 4, validation=which, random_state=0).fit(X[known], y[known])
            for which in ("random", "last")
        ]
        scores.append([model.oob_score_ for model in models])
        intervals = [model.predict_interval(X[later], 0.9) for model in models]
        covered.append([np.mean((lower <= y[later]) & (y[later] <= upper)) for lower, upper in intervals])
    # The level of one series may happen to stay where it was.
    shuffled, ordered = np.median(scores, axis=0)
    assert ordered < shuffled - 0.1
    shuffled, ordered = np.mean(covered, axis=0)
    assert shuffled < ordered


def decaying(n_rows, decay, seed=0):
    """A process that answers its inputs less and less."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    activity = np.exp(-decay * np.arange(n_rows) / n_rows)
    return X, activity * (1.0 + np.tanh(X[:, 0]) + X[:, 1]) + 0.05 * rng.normal(size=n_rows)


def later_error(model, X, y, begin):
    return np.sqrt(np.mean((model.predict(X[begin:]) - y[begin:]) ** 2))


def test_members_follow_a_process_that_has_changed():
    X, y = decaying(800, 1.5)
    model = SCNEnsembleRegressor(MEMBER, 3, validation="last", random_state=0).fit(X[:600], y[:600])
    newest = SCNEnsembleRegressor(MEMBER, 3, validation="last", random_state=0).fit(X[400:600], y[400:600])
    shuffled = SCNEnsembleRegressor(MEMBER, 3, random_state=0).fit(X[:600], y[:600])
    assert later_error(model, X, y, 600) < 0.5 * later_error(shuffled, X, y, 600)
    assert later_error(model, X, y, 600) < 1.5 * later_error(newest, X, y, 600)
    lower, upper = model.predict_interval(X[600:], 0.9)
    assert np.mean((lower <= y[600:]) & (y[600:] <= upper)) > 0.85


@pytest.mark.parametrize("weighted", [False, True])
def test_all_rows_count_alike_where_nothing_has_changed(weighted):
    X, y = decaying(600, 0.0)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 600) if weighted else None
    model = SCNEnsembleRegressor(MEMBER, 2, validation="last", random_state=0).fit(X, y, sample_weight=weights)
    total = 600 if weights is None else np.sum(weights) / model.members_[0]._weight_unit
    for member in model.members_:
        assert member.network_.factor.weight == pytest.approx(total)


def test_weights_that_forget_are_those_of_weighted_least_squares():
    """A stretch counts for ``keep`` of the one after it: the same as rows with these weights."""
    X, y = decaying(1600, 4.0)
    model = SCNRegressor(max_nodes=15, validation="last", max_candidates=40, alpha=0.0, random_state=0).fit(X, y)
    network = model.network_
    followed = following(network, X, y[:, np.newaxis], None, 0.0)
    assert followed.factor.weight < 0.5 * len(y)
    H = np.vstack([columns for _, columns in network.columns(X)])
    targets = network.outputs.transform(y[:, np.newaxis])
    # The last stretch counts fully; the weight of all says by how much each one counts for less than the next.
    keep = brentq(lambda keep: 100 * (keep ** np.arange(16)).sum() - followed.factor.weight, 0.1, 1.0)
    roots = np.sqrt(np.repeat(keep ** np.arange(16)[::-1], 100))[:, np.newaxis]
    beta = np.linalg.lstsq(roots * H, roots * targets, rcond=None)[0]
    expected = network.outputs.inverse_transform(H @ beta)[:, 0]
    np.testing.assert_allclose(replace(followed, bounds=None).predict(X), expected, atol=1e-6)


@pytest.mark.parametrize("lasting", [True, False])
def test_a_change_is_followed_if_most_times_confirm_it(lasting):
    """Of three quarters of a season, few tests see the return."""
    X, y = decaying(1600, 0.0)
    passed = np.arange(1600) / 1600
    y = y + (1.5 * (passed > 0.5) if lasting else np.cos(1.5 * np.pi * passed))
    model = SCNRegressor(max_nodes=15, validation="last", max_candidates=40, alpha=0.0, random_state=0).fit(X, y)
    followed = following(model.network_, X, y[:, np.newaxis], None, 0.0)
    assert (followed is not model.network_) == lasting


@pytest.mark.parametrize(
    "model", [SCNRegressor(max_candidates=40, random_state=0), SCNEnsembleRegressor(MEMBER, 3, random_state=0)]
)
def test_what_rises_with_time_may_go_on(model):
    """Inputs and targets beyond their training range are no longer kept near it if they were on their way there."""
    rng = np.random.default_rng(0)
    load = np.linspace(1.0, 3.0, 900) + 0.05 * rng.normal(size=900)
    X, y = np.column_stack([load, rng.normal(size=900)]), 5.0 * load + 0.1 * rng.normal(size=900)
    shuffled, ordered = (
        model.set_params(validation=which).fit(X[:600], y[:600]) and later_error(model, X, y, 600)
        for which in ("random", "last")
    )
    assert shuffled > 1.0
    assert ordered < 0.3


def test_a_sensor_that_fails_is_kept_near_its_range():
    X, y = decaying(900, 0.0)
    model = SCNRegressor(validation="last", max_candidates=40, random_state=0).fit(X[:600], y[:600])
    inputs = model.network_.inputs
    span = np.ptp(X[:600], axis=0)
    assert (inputs.scale * (inputs.high - inputs.low) < 2.0 * span).all()
    X[700, 0] = 1e6
    assert y[:600].min() - 0.5 < model.predict(X[700:701])[0] < y[:600].max() + 0.5


def test_an_ensemble_of_classes_in_order():
    X, y = wandering(300)
    model = SCNEnsembleClassifier(
        SCNClassifier(early_stopping=True, validation_fraction=0.2, **FAST), 3, validation="last", random_state=0
    ).fit(X, y > np.median(y))
    assert not model.out_of_bag_[:, :200].any()
    assert model.out_of_bag_[:, -10:].all()


def test_the_order_of_members_needs_the_ensemble_s_word():
    X, y = wandering(50)
    with pytest.raises(ValueError, match=r"validation='last'; give it to the ensemble as well"):
        SCNEnsembleRegressor(SCNRegressor(validation="last")).fit(X, y)
