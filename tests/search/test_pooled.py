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


def ranked(search, pool):
    return search.rank(pool, np.random.default_rng(0))


@pytest.mark.parametrize("weights", [None, P], ids=["plain", "weighted"])
def test_candidates_are_ranked_by_how_far_they_would_bring_the_error_down_with_a_constant(weights, most_rows):
    search, pool = searched(grown(weights=weights), most_rows=most_rows, **DOUBLE)
    constant = np.ones(len(search.X)) if search.sqrt_weight is None else search.sqrt_weight
    e = search.residual.T

    def fall(column):
        h = column - constant * (column @ constant) / (constant @ constant)
        return ((e.T @ h) ** 2).sum() / (h @ h)

    found = [fall(column) for column in search.columns(ranked(search, pool))]
    np.testing.assert_allclose(found, sorted(found, reverse=True), rtol=1e-9)
    assert max(found) > (1 - 1e-9) * max(fall(column) for column in search.columns(pool))


def test_single_precision_ranks_almost_the_same(most_rows):
    rows = grown()
    search, pool = searched(rows, most_rows=most_rows)
    assert search.X.dtype == np.float32
    exact, exact_pool = searched(rows, most_rows=most_rows, **DOUBLE)
    found, best = ranked(search, pool), ranked(exact, exact_pool)
    np.testing.assert_allclose(falls(exact, found)[:8], falls(exact, best)[:8], rtol=1e-3)


def test_selected_candidates_are_the_best_given_those_before_them():
    search, pool = searched(grown(), **DOUBLE)
    candidates = ranked(search, pool).take(slice(12))
    chosen = search.select(candidates, len(candidates), 0.999999, 7)
    columns = search.columns(candidates)
    basis = search.basis
    assert len(chosen) >= 6
    for bias in chosen.biases[:6]:
        (j,) = np.flatnonzero(candidates.biases == bias)
        rest = [
            (least_squares_residual(np.vstack([basis, column]).T, search.residual.T) ** 2).sum() for column in columns
        ]
        assert rest[j] <= min(rest) * (1 + 1e-9)
        basis = np.vstack([basis, columns[j]])


def test_candidates_that_fail_the_inequality_are_not_selected():
    search, pool = searched(grown(), **DOUBLE)
    e = search.residual
    for contraction in (0.99, 0.999):
        columns = search.columns(search.select(pool, 10, contraction, 7))
        share = (columns @ e.T) ** 2 / (columns**2).sum(axis=1)[:, np.newaxis] / (e**2).sum(axis=1)
        assert (share >= (1 - contraction) * (1 - 1 / 8)).all()
    assert not len(search.select(pool, 10, 0.1, 7))


def test_nodes_to_be_proposed_together_satisfy_the_inequality_one_after_the_other():
    search, pool = searched(grown(), **DOUBLE)
    chosen = search.select(pool, 8, 0.999999, 7)
    nodes = search.passing(chosen, 0.99999, 7)
    basis, e = search.basis.T, search.residual.T
    assert 0 < len(nodes) <= len(chosen)
    for number, column in enumerate(search.columns(search.passing(nodes, 0.99999, 7)), start=7):
        share = (column @ e) ** 2 / (column @ column) / (e**2).sum(axis=0)
        assert (share >= (1 - 0.99999) * (1 - 1 / (number + 1)) * (1 - 1e-4)).all()
        basis = np.column_stack([basis, column])
        e = least_squares_residual(basis, search.residual.T)


@pytest.mark.parametrize("weights", [None, P], ids=["plain", "weighted"])
def test_rows_that_are_kept_are_those_that_would_be_read_anew(weights):
    rows, rng = grown(weights=weights), np.random.default_rng(3)
    kept, rule = Search(rows, np.random.default_rng(0)), LeastSquares(2)
    for _ in range(3):
        block = rule.open(rows, rows.nodes(rng.uniform(-5, 5, (3, 2)), rng.uniform(-5, 5, 2)))
        assert block.admit(np.ones(2, dtype=bool)).all()
        rows.join(np.linalg.inv(block.factor), block.coefficients, keep=True)
        assert kept.update(rows)
    anew = Search(rows, np.random.default_rng(0))
    for name in ("X", "residual", "basis"):
        np.testing.assert_array_equal(getattr(kept, name), getattr(anew, name))
    rows.restart()
    assert not kept.update(rows)


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


@pytest.mark.parametrize(("size", "drawn"), [(4, list(range(4, 101, 4))), (200, [200])])
def test_further_pools_are_drawn_where_all_candidates_of_a_small_one_are_refused(size, drawn):
    def tried(accepted):
        """How many candidates had been drawn at each proposal, of each of which so many nodes were accepted."""
        proposals = Polished((1.0, 10.0), (0.9, 0.999999), size).propose(grown(), 7, np.random.default_rng(0), 2)
        numbers, proposal = [], next(proposals)
        while proposal is not None:
            numbers.append(proposal.candidates)
            try:
                proposal = proposals.send(accepted)
            except StopIteration:
                proposal = None
        return numbers

    assert sorted(set(tried(0))) == drawn
    assert set(tried(1)) == {size}
