import numpy as np
import pytest

from skscn import ACTIVATIONS, SCNRegressor
from skscn.nodes import Dense
from skscn.output_weights import LeastSquares
from skscn.rows import open_rows
from skscn.scaling import scale_inputs
from skscn.search import Polished
from skscn.search.pool import Search, draw_by_data

# No input is so small: all numbers are in double precision.
DOUBLE = {"moderate": 0.0}
RNG = np.random.default_rng(5)
X, T, P = RNG.uniform(size=(300, 3)), RNG.normal(size=(300, 2)), RNG.integers(1, 4, size=300).astype(float)


def grown(activation="sigmoid", weights=None, nodes=6):
    """Rows with a few nodes in the basis."""
    rows = open_rows(
        X, T, layer=Dense(ACTIVATIONS[activation]), scaling=scale_inputs("minmax", X), sample_weight=weights
    )
    rule, rng = LeastSquares(2), np.random.default_rng(7)
    for _ in range(nodes):
        rule.append(rows, rows.nodes(rng.uniform(-5, 5, (3, 1)), rng.uniform(-5, 5, 1)))
    return rows


@pytest.fixture(params=[2000, 200], ids=["all rows", "a sample"])
def most_rows(request):
    return request.param


def searched(rows, count=40, **settings):
    """A search on the rows, and a pool of candidates."""
    search = Search(rows, np.random.default_rng(0), **settings)
    drawn = draw_by_data(search.X, search.weights, (1.0, 20.0), count, np.random.default_rng(1))
    return search, rows.nodes(*drawn)


def falls(search, candidates):
    """How far least squares with each candidate alone brings the squared error down."""
    before = (least_squares_residual(search.basis.T, search.residual.T) ** 2).sum()
    return [
        before - (least_squares_residual(np.vstack([search.basis, column]).T, search.residual.T) ** 2).sum()
        for column in search.columns(candidates)
    ]


def least_squares_residual(columns, targets):
    return targets - columns @ np.linalg.lstsq(columns, targets, rcond=None)[0]


@pytest.mark.parametrize("weights", [None, P], ids=["plain", "weighted"])
def test_candidates_are_ranked_by_how_far_least_squares_would_bring_the_error_down(weights, most_rows):
    search, pool = searched(grown(weights=weights), most_rows=most_rows, **DOUBLE)
    found = falls(search, search.rank(pool, first=2))
    np.testing.assert_allclose(found, sorted(found, reverse=True), rtol=1e-5)
    assert max(found) > (1 - 1e-9) * max(falls(search, pool))


def test_single_precision_ranks_almost_the_same(most_rows):
    rows = grown()
    search, pool = searched(rows, most_rows=most_rows)
    assert search.X.dtype == np.float32
    exact, exact_pool = searched(rows, most_rows=most_rows, **DOUBLE)
    found = falls(exact, search.rank(pool, first=2))
    best = falls(exact, exact.rank(exact_pool, first=2))
    np.testing.assert_allclose(found[:8], best[:8], rtol=1e-3)


def test_selected_candidates_are_the_best_given_those_before_them():
    search, pool = searched(grown(), **DOUBLE)
    candidates = search.rank(pool, first=2).take(slice(12))
    chosen = search.select(candidates, len(candidates))
    columns = search.columns(candidates)
    basis = search.basis
    for bias in chosen.biases[:6]:
        (j,) = np.flatnonzero(candidates.biases == bias)
        rest = [
            (least_squares_residual(np.vstack([basis, column]).T, search.residual.T) ** 2).sum() for column in columns
        ]
        assert rest[j] <= min(rest) * (1 + 1e-9)
        basis = np.vstack([basis, columns[j]])


@pytest.mark.parametrize("rows", [100, 300], ids=["few", "many"])
def test_transitions_lie_among_the_rows(rows):
    weights, biases, scopes = draw_by_data(X[:rows], None, (1.0, 200.0), 500, np.random.default_rng(0))
    projections = X[:rows] @ weights
    assert (projections.min(axis=0) <= -biases + 1e-9).all()
    assert (-biases <= projections.max(axis=0) + 1e-9).all()
    assert (np.abs(weights).max(axis=0) <= scopes).all()
    assert 20 < (np.log(scopes) < np.log(200.0) / 10).sum() < 90


def test_inputs_are_picked_in_proportion_to_their_relevance():
    relevance = np.array([1.0, 0.5, 0.0])
    weights, _, _ = draw_by_data(X, None, (1.0, 20.0), 4000, np.random.default_rng(0), relevance)
    shares = (weights != 0.0).mean(axis=1)
    # Half of the candidates pick all inputs alike.
    assert shares[0] > shares[1] > shares[2] > 0.2


def test_the_number_of_inputs_is_log_uniform():
    many = np.random.default_rng(0).uniform(size=(300, 64))
    weights, _, _ = draw_by_data(many, None, (1.0, 20.0), 4000, np.random.default_rng(1))
    used = (weights != 0.0).sum(axis=0)
    assert used.min() == 1
    assert 0.4 < (used <= 8).mean() < 0.6
    assert (used > 32).mean() > 0.1


def test_an_activation_without_derivative_is_pooled_but_not_polished():
    model = SCNRegressor(activation=np.arctan, max_nodes=5, random_state=0).fit(X, T)
    unpolished = SCNRegressor(activation=np.arctan, configuration="pooled", max_nodes=5, random_state=0).fit(X, T)
    np.testing.assert_array_equal(model.network_.weights, unpolished.network_.weights)


class OnFewRows(Polished):
    most_rows = 150


def test_a_sample_is_as_good_as_all_rows():
    y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2]
    full = SCNRegressor(max_nodes=20, early_stopping=False, random_state=0).fit(X, y)
    few = OnFewRows(full.scopes)
    sampled = SCNRegressor(max_nodes=20, early_stopping=False, random_state=0, configuration=few).fit(X, y)
    assert sampled.history_["train_rmse"][-1] < 3 * full.history_["train_rmse"][-1] + 1e-3


def test_a_row_that_hardly_counts_does_no_harm():
    y, weights = np.sin(6 * X[:, 0]), np.ones(300)
    weights[0] = 1e-60
    model = SCNRegressor(max_nodes=10, random_state=0).fit(X, y, sample_weight=weights)
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize("size", [1e-21, 1e10])
def test_sizes_that_single_precision_cannot_hold(size):
    y = np.sin(6 * X[:, 0])
    model = SCNRegressor(max_nodes=8, activation="relu", scaling=None, random_state=0).fit(size * X, y)
    assert np.isfinite(model.predict(size * X)).all()


def test_functions_of_the_user_see_double_precision():
    seen = set()

    def softplus(z):
        seen.add(z.dtype)
        return np.log1p(np.exp(z))

    SCNRegressor(max_nodes=4, activation=softplus, random_state=0).fit(X, T)
    assert seen == {np.dtype(np.float64)}
