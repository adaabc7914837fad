import numpy as np
import pytest

from skscn.supervision import Sums, admissible, alive, slack, supported, weakening

RNG = np.random.default_rng(0)
E, H = RNG.normal(size=(40, 2)), RNG.uniform(size=(40, 5))
SUMS = Sums(E.T @ H, (H**2).sum(axis=0), (H**4).sum(axis=0))


def test_weakening_is_the_papers_sequence():
    assert weakening(0.9, 1) == pytest.approx(0.05)
    assert weakening(0.9, 9) == pytest.approx(0.01)


def test_slack_is_the_papers_formula():
    r, node = 0.99, 3
    mu = (1 - r) / (node + 1)
    for q in range(2):
        for j in range(5):
            e, h = E[:, q], H[:, j]
            truth = (e @ h) ** 2 / (h @ h) - (1 - r - mu) * (e @ e)
            assert slack(SUMS, (E**2).sum(axis=0), r, node)[q, j] == pytest.approx(truth, rel=1e-12)


def test_slack_says_exactly_when_the_error_falls_enough():
    r, node = 0.97, 2
    slacks = slack(SUMS, (E**2).sum(axis=0), r, node)
    for q in range(2):
        for j in range(5):
            e, h = E[:, q], H[:, j]
            after = e - h * (e @ h) / (h @ h)
            falls = after @ after <= (r + (1 - r) / (node + 1)) * (e @ e)
            assert (slacks[q, j] >= 0) == falls
    assert (admissible(slacks) == (slacks >= 0).all(axis=0)).all()


def test_contraction_one_asks_for_nothing():
    assert admissible(slack(SUMS, (E**2).sum(axis=0), 1.0, 1)).all()


def test_a_zero_column_is_not_admissible():
    zero = Sums(np.zeros((1, 1)), np.zeros(1), np.zeros(1))
    assert not admissible(slack(zero, np.ones(1), 0.999999, 1)).any()
    assert not alive(zero, 40.0, 1.0).any()


def test_guards_refuse_almost_dead_and_lonely_nodes():
    columns = np.column_stack([np.full(1000, 0.5), np.full(1000, 1e-3), np.r_[np.ones(5), np.zeros(995)]])
    sums = Sums(np.zeros((1, 3)), (columns**2).sum(axis=0), (columns**4).sum(axis=0))
    np.testing.assert_array_equal(alive(sums, 1000.0, 1.0), [True, False, True])
    np.testing.assert_array_equal(supported(sums, 1000.0), [True, True, False])


def test_guards_do_not_depend_on_the_unit_of_the_activation():
    sums = Sums(np.zeros((1, 1)), np.array([1000 * 1e-6]))
    assert not alive(sums, 1000.0, bound=1.0).any()
    assert alive(sums, 1000.0, bound=1e-3).all()
