"""Recursive least squares and mixtures of experts."""

import numpy as np
import pytest

from skscn.recursive import ONLINE_MIXTURE, STREAM_MIXTURE, ExpertMixture, RecursiveWeights

RNG = np.random.default_rng(0)
RULES = pytest.mark.parametrize("rule", [ONLINE_MIXTURE, STREAM_MIXTURE], ids=["likelihood", "power"])


@pytest.mark.parametrize("forgetting", [1.0, 0.98])
def test_recursive_weights_solve_the_weighted_ridge_problem(forgetting):
    H, T, alpha = RNG.normal(size=(3000, 5)), RNG.normal(size=(3000, 2)), 1e-3
    recursive = RecursiveWeights.of_rows(H[:20], T[:20], forgetting, alpha)
    for h, t in zip(H[20:], T[20:], strict=True):
        recursive.learn(h, t)
    weights = forgetting ** np.arange(len(H))[::-1]
    exact = np.linalg.solve((weights * H.T) @ H + alpha * np.eye(5), (weights * H.T) @ T)
    # What is forgotten of the penalty is added to one column after the other, not to all at once.
    np.testing.assert_allclose(recursive.weights, exact, rtol=1e-9 if forgetting == 1.0 else 1e-3)


@pytest.mark.parametrize("forgetting", [1.0, 0.999, 0.9])
def test_recursive_weights_with_constant_input_do_not_wind_up(forgetting):
    H, T = RNG.normal(size=(50, 8)), RNG.normal(size=(50, 1))
    recursive = RecursiveWeights.of_rows(H, T, forgetting, 1e-3)
    h, t = np.full(8, 0.5), np.array([2.0])
    for _ in range(20_000):
        recursive.learn(h, t)
    assert np.abs(recursive.root).max() < 10 / np.sqrt(1e-3)
    assert np.abs(recursive.weights).max() < 5.0
    np.testing.assert_allclose(h @ recursive.weights, t, rtol=1e-2)


def test_leave_one_out_errors_are_those_of_models_without_the_row():
    H, T = RNG.normal(size=(30, 4)), RNG.normal(size=(30, 1))
    errors = RecursiveWeights.of_rows(H, T, 1.0, 0.1).left_out(H, T)
    for row in range(30):
        rest = np.arange(30) != row
        weights = np.linalg.solve(H[rest].T @ H[rest] + 0.1 * np.eye(4), H[rest].T @ T[rest])
        np.testing.assert_allclose(errors[row], T[row] - H[row] @ weights)


def test_a_bounded_trace_leaves_weights_that_no_row_excites_as_they_are():
    """Without a penalty, weights agree with weighted least squares around where they began."""
    H, T, first = RNG.normal(size=(400, 4)), RNG.normal(size=(400, 2)), RNG.normal(size=(6, 2))
    H = np.column_stack([H, np.zeros((400, 2))])
    recursive = RecursiveWeights(first, np.eye(6), 0.97, largest=60.0)
    for h, t in zip(H, T, strict=True):
        recursive.learn(h, t)
        assert recursive.stretch**2 * (recursive.root**2).sum() <= 60.0 * (1.0 + 1e-12)
    np.testing.assert_array_equal(recursive.weights[4:], first[4:])
    assert np.isfinite(recursive.root).all()


def test_forgetting_without_a_limit_is_weighted_least_squares():
    H, T = RNG.normal(size=(60, 4)), RNG.normal(size=(60, 1))
    first, forgetting = RNG.normal(size=(4, 1)), 0.95
    recursive = RecursiveWeights(first, np.eye(4), forgetting)
    for h, t in zip(H, T, strict=True):
        recursive.learn(h, t)
    weights = forgetting ** np.arange(60)[::-1]
    prior = forgetting**60 * np.eye(4)
    exact = np.linalg.solve((weights * H.T) @ H + prior, (weights * H.T) @ T + prior @ first)
    np.testing.assert_allclose(recursive.weights, exact, rtol=1e-10)


@RULES
def test_mixture_prefers_experts_with_small_errors_and_corrects_constant_ones(rule):
    mixture = ExpertMixture.new(2, 1, rule)
    for _ in range(200):
        noise = RNG.normal()
        mixture.learn(mixture.parts(np.zeros((2, 1)) - [[0.1 * noise], [noise - 5.0]]), np.array([5.0]))
    assert mixture.by_expert(mixture.shares)[0].sum() > 0.9
    assert mixture.shares.sum() == pytest.approx(1.0)
    prediction = mixture.combine(mixture.parts(np.zeros((1, 2, 1))))
    np.testing.assert_allclose(prediction, 5.0, atol=0.6)


@RULES
def test_a_mixture_says_the_same_of_a_row_alone_and_among_others(rule):
    mixture = ExpertMixture.new(3, 2, rule)
    for _ in range(20):
        mixture.learn(mixture.parts(RNG.normal(size=(3, 2))), RNG.normal(size=2), np.array([1.0, 3.0]))
    outputs = RNG.normal(size=(7, 3, 2))
    together = mixture.combine(mixture.parts(outputs))
    alone = [mixture.combine(mixture.parts(row)) for row in outputs]
    np.testing.assert_array_equal(together, alone)


def test_pooled_losses_give_all_outputs_the_same_weights():
    pooled, apart = ExpertMixture.new(2, 3, ONLINE_MIXTURE), ExpertMixture.new(2, 3, STREAM_MIXTURE)
    for mixture in (pooled, apart):
        mixture.learn(mixture.parts(RNG.normal(size=(2, 3))), np.zeros(3))
    assert pooled.shares.shape == (2 * len(ONLINE_MIXTURE.gains), 1)
    assert apart.shares.shape == (2 * len(STREAM_MIXTURE.gains), 3)
