"""partial_fit: further rows join a network as if they had been there when its output weights were evaluated."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.linalg import lstsq
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

from skscn import (
    Chunks,
    IRVFLRegressor,
    ModifiedQuickpropRegressor,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
)
from skscn.factor import Factor

RNG = np.random.default_rng(0)
X = np.random.default_rng(5).uniform(size=(500, 4))
NOISE = np.random.default_rng(6).normal(size=(500, 2))
Y = np.column_stack([np.sin(5 * X[:, 0]) + X[:, 1] * X[:, 2], X[:, 3] ** 2]) + 0.1 * NOISE
Z = Y[:, 0]
LABELS = np.array(["few", "many", "some"])[np.digitize(Z, [0.4, 0.9])]
WEIGHTS = np.random.default_rng(7).uniform(0.2, 3.0, 500)
SMALL = {"max_nodes": 15, "max_candidates": 30, "random_state": 0}
FIRST = 150


def in_parts(model, targets, parts, weights=None, **first):
    """Grow on the first rows, then learn the others in random order and random parts; return the model."""
    order = FIRST + RNG.permutation(len(X) - FIRST)
    model.partial_fit(X[:FIRST], targets[:FIRST], sample_weight=None if weights is None else weights[:FIRST], **first)
    cuts = np.sort(RNG.choice(np.arange(1, len(order)), parts - 1, replace=False))
    for rows in np.split(order, cuts):
        model.partial_fit(X[rows], targets[rows], sample_weight=None if weights is None else weights[rows])
    return model


def columns_of(network, rows=X):
    return np.vstack([columns for _, columns in network.columns(rows)])


def solved(columns, targets, weights, alpha, linear):
    """Weighted ridge regression by SciPy; the first columns are not penalised."""
    roots = np.sqrt(weights)[:, np.newaxis]
    size = columns.shape[1]
    below = np.sqrt(alpha) * np.eye(size)[linear:]
    found, *_ = lstsq(
        np.vstack([roots * columns, below]), np.vstack([roots * targets, np.zeros((len(below), targets.shape[1]))])
    )
    return found


def distance(one, other):
    return np.linalg.norm(one - other) / np.linalg.norm(other)


@pytest.mark.parametrize("parts", [1, 2, 3, 5, 9, 17, 30, 50, 75, 100])
@pytest.mark.parametrize("alpha", [0.0, 0.01])
def test_any_parts_in_any_order_are_one_least_squares_problem(parts, alpha):
    weights = WEIGHTS if parts % 2 else np.ones(len(X))
    model = SCNRegressor(alpha=alpha, early_stopping=False, **SMALL)
    model = in_parts(model, Y, parts, weights if parts % 2 else None)
    network, columns = model.network_, columns_of(model.network_)
    unit = weights[:FIRST].mean() if parts % 2 else 1.0
    beta = solved(columns, network.outputs.transform(Y), weights / unit, alpha, network.linear.size)
    expected = network.outputs.inverse_transform((columns @ beta).clip(*network.bounds))
    assert np.linalg.cond(columns) < 1e8
    assert distance(model.predict(X), expected) < 1e-10
    assert model.n_rows_seen_ == len(X)


@pytest.mark.parametrize(("nodes", "scope", "smallest"), [(40, 0.1, 1e9), (40, 0.02, 1e11), (40, 0.01, 1e12)])
def test_columns_that_are_almost_the_same_with_hardly_any_ridge(nodes, scope, smallest):
    columns, targets = nearly_equal_columns(nodes, scope)
    factor = Factor.empty(nodes, 2).joined(columns[:FIRST], targets[:FIRST]).regularised(1e-10)
    for rows in np.array_split(FIRST + RNG.permutation(len(X) - FIRST), 60):
        factor = factor.joined(columns[rows], targets[rows])
    assert np.linalg.cond(columns) > smallest
    expected = columns @ solved(columns, targets, np.ones(len(X)), 1e-10, 0)
    assert distance(columns @ factor.solution(), expected) < 1e-8


@pytest.mark.parametrize(("scope", "parts"), [(0.2, 100), (0.05, 10), (0.02, 1), (0.02, 100)])
def test_without_a_ridge_only_the_condition_of_the_columns_limits_how_exact_predictions_are(scope, parts):
    """Compared with 60 digits: no solver in double precision promises more than cond · ε · ‖T − Hβ‖."""
    columns, targets = (values[:200] for values in nearly_equal_columns(24, scope))
    factor = Factor.empty(24, 2)
    for rows in np.array_split(RNG.permutation(200), parts):
        factor = factor.joined(columns[rows], targets[rows])
    exact = projected(columns, targets)
    limit = np.linalg.cond(columns) * np.finfo(float).eps * np.linalg.norm(targets - exact) / np.linalg.norm(exact)
    assert distance(columns @ factor.solution(), exact) < 3 * limit


def nearly_equal_columns(nodes, scope):
    model = IRVFLRegressor(max_nodes=nodes, scope=scope, random_state=0).partial_fit(X[:FIRST], Y[:FIRST])
    return columns_of(model.network_), model.network_.outputs.transform(Y)


def projected(columns, targets):
    """The least-squares predictions, by Gram and Schmidt with 60 digits."""
    with localcontext(prec=60):
        H, left = (np.vectorize(Decimal, otypes=[object])(values) for values in (columns, targets))
        for j in range(H.shape[1]):
            q = H[:, j] / (H[:, j] @ H[:, j]).sqrt()
            H[:, j + 1 :] -= np.multiply.outer(q, q @ H[:, j + 1 :])
            left = left - np.multiply.outer(q, q @ left)
        return targets - left.astype(np.float64)


@pytest.mark.parametrize(
    "model",
    [
        IRVFLRegressor(max_nodes=8, scope=10.0, random_state=0),
        SCNRegressor("SC-I", **SMALL),
        SCNRegressor("SC-II", window=3, **SMALL),
        ModifiedQuickpropRegressor(max_nodes=4, random_state=0),
    ],
    ids=lambda model: f"{type(model).__name__} {model.algorithm}",
)
def test_rules_that_leave_weights_as_they_are_solve_for_all_of_them_once_rows_join(model):
    model = in_parts(model, Z, 4)
    network, columns = model.network_, columns_of(model.network_)
    beta = solved(columns, network.outputs.transform(Z[:, np.newaxis]), np.ones(len(X)), 0.0, 0)
    assert distance(columns @ np.vstack([network.linear.output_weights, network.output_weights]), columns @ beta) < 1e-9


@pytest.mark.parametrize("algorithm", ["SC-I", "SC-II", "SC-III"])
def test_fit_and_a_first_partial_fit_are_the_same_to_rows_that_follow(algorithm):
    one, other = (SCNRegressor(algorithm, **SMALL) for _ in range(2))
    one.fit(X[:FIRST], Z[:FIRST]).partial_fit(X[FIRST:], Z[FIRST:])
    other.partial_fit(X[:FIRST], Z[:FIRST]).partial_fit(X[FIRST:], Z[FIRST:])
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_an_average_over_numbers_of_nodes_stays_one_and_held_out_rows_count():
    model = SCNRegressor(early_stopping=True, **SMALL).partial_fit(X[:FIRST], Z[:FIRST])
    assert len(model.held_out_)
    alpha, before = model.network_.alpha, model.predict(X)
    model.partial_fit(X[FIRST:], Z[FIRST:])
    network, columns = model.network_, columns_of(model.network_)
    linear, targets = network.linear.size, network.outputs.transform(Z[:, np.newaxis])
    falls = -np.diff(np.append(network.shares[linear:], 0.0))
    expected = (
        (1.0 - falls.sum()) * columns[:, :linear] @ solved(columns[:, :linear], targets, np.ones(500), 0.0, linear)
    )
    for nodes, share in enumerate(falls, start=1):
        own = columns[:, : linear + nodes]
        expected = expected + share * own @ solved(own, targets, np.ones(500), alpha, linear)
    expected = network.outputs.inverse_transform(expected.clip(*network.bounds))[:, 0]
    assert distance(model.predict(X), expected) < 1e-9
    assert distance(before, expected) > 1e-4
    *_, last = model.staged_predict(X)
    np.testing.assert_allclose(last, model.predict(X), rtol=1e-9)


def test_fit_leaves_what_rows_join_and_the_first_call_is_a_fit():
    for settings in ({}, {"configuration": "ladder", "early_stopping": True}, {"early_stopping": "gcv"}):
        fitted = SCNRegressor(**SMALL, **settings).fit(X[:FIRST], Z[:FIRST])
        begun = SCNRegressor(**SMALL, **settings).partial_fit(X[:FIRST], Z[:FIRST])
        np.testing.assert_array_equal(fitted.predict(X), begun.predict(X))
        assert fitted.n_rows_seen_ == FIRST
        assert fitted.network_.factor.weight == FIRST
        for model in (fitted, begun):
            model.partial_fit(X[FIRST:], Z[FIRST:])
        np.testing.assert_array_equal(fitted.predict(X), begun.predict(X))


@pytest.mark.parametrize("first", [None, [2.0], [4.0, 6.0], [0.25, 1.5]])
def test_a_weight_means_the_same_in_every_part(first):
    """Three copies of a row are a row that weighs three times as much as the ones before it."""
    weights = None if first is None else np.resize(first, FIRST)
    unit = 1.0 if first is None else {1: 2.0, 2: 2.0}[len(first)] if first[-1] > 1.5 else np.mean(weights)
    copies, heavy, none = (SCNRegressor(alpha=0.1, **SMALL) for _ in range(3))
    for model in (copies, heavy, none):
        model.partial_fit(X[:FIRST], Z[:FIRST], sample_weight=weights)
    new = slice(FIRST, FIRST + 20)
    copies.partial_fit(np.repeat(X[new], 3, axis=0), np.repeat(Z[new], 3), sample_weight=np.full(60, 2.0))
    heavy.partial_fit(X[new], Z[new], sample_weight=np.full(20, 6.0))
    np.testing.assert_allclose(copies.predict(X), heavy.predict(X), rtol=1e-9)
    assert heavy.network_.factor.weight == pytest.approx(heavy._weight_unit**-1 * 120.0 + none.network_.factor.weight)
    assert heavy._weight_unit == pytest.approx(unit)
    # Rows without weights have the weight 1, and rows of weight 0 are not there.
    none.partial_fit(X[new], Z[new], sample_weight=np.r_[np.ones(10), np.zeros(10)])
    ones = SCNRegressor(alpha=0.1, **SMALL).partial_fit(X[:FIRST], Z[:FIRST], sample_weight=weights)
    ones.partial_fit(X[FIRST : FIRST + 10], Z[FIRST : FIRST + 10])
    np.testing.assert_allclose(none.predict(X), ones.predict(X), rtol=1e-9)
    assert none.n_rows_seen_ == FIRST + 10


def test_bounds_follow_the_targets():
    model = SCNRegressor(**SMALL).partial_fit(X[:FIRST], Z[:FIRST])
    bounds = model.network_.bounds
    inside = (Z[:FIRST].min() < Z) & (Z[:FIRST].max() > Z)
    model.partial_fit(X[inside], Z[inside])
    np.testing.assert_array_equal(model.network_.bounds, bounds)
    model.partial_fit(X[:2], np.array([50.0, -9.0]))
    low, high = model.network_.outputs.inverse_transform(np.array(model.network_.bounds))[:, 0]
    assert (low, high) == pytest.approx((-9.0 - 0.05 * 59.0, 50.0 + 0.05 * 59.0))


def test_constant_inputs_many_times():
    model = SCNRegressor(**SMALL).partial_fit(X[:FIRST], Z[:FIRST])
    largest = np.abs(model.network_.output_weights).max()
    for _ in range(2000):
        model.partial_fit(X[:1], Z[:1])
    assert np.isfinite(model.predict(X)).all()
    assert np.abs(model.network_.output_weights).max() < 10 * largest
    assert model.predict(X[:1])[0] == pytest.approx(Z[0], abs=1e-2)


@pytest.mark.slow
def test_constant_inputs_again_and_again_in_constant_memory():
    import tracemalloc

    model = SCNRegressor(**SMALL).partial_fit(X[:FIRST], Z[:FIRST])
    row, target, sizes, weights = X[:1], Z[:1], [], []
    tracemalloc.start()
    for number in range(20_000):
        model.partial_fit(row, target)
        if number % 5_000 == 2_500:
            sizes.append(tracemalloc.get_traced_memory()[0])
            weights.append(np.abs(model.network_.output_weights).max())
    tracemalloc.stop()
    assert np.isfinite(model.predict(X)).all()
    # A row that was kept would take more than a hundred bytes; what NumPy and Python reuse varies by a few.
    assert sizes[-1] - sizes[0] < 20 * 15_000
    assert max(weights) < 2 * min(weights)


@pytest.mark.slow
def test_constant_rows_join_a_factor_without_growth():
    columns, targets = RNG.normal(size=(40, 15)), RNG.normal(size=(40, 1))
    factor, sizes = Factor.empty(15, 1).joined(columns, targets), []
    row, target = np.full((1, 15), 0.5), np.array([[2.0]])
    for _ in range(4):
        for _ in range(10_000):
            factor = factor.joined(row, target)
        sizes.append(np.abs(factor.solution()).max())
    assert max(sizes) < 1.01 * min(sizes)
    assert (row @ factor.solution()).item() == pytest.approx(2.0, abs=1e-2)


def test_chunks_and_files_are_learnt_block_by_block(tmp_path):
    whole = SCNRegressor(**SMALL).fit(X[:FIRST], Z[:FIRST])
    chunked = SCNRegressor(**SMALL).fit(X[:FIRST], Z[:FIRST])
    whole.partial_fit(X[FIRST:], Z[FIRST:])
    chunked.partial_fit(Chunks([(X[FIRST:300], Z[FIRST:300]), (X[300:], Z[300:])]))
    np.testing.assert_allclose(chunked.predict(X), whole.predict(X), rtol=1e-9)
    assert chunked.n_rows_seen_ == len(X)
    path = tmp_path / "more.csv"
    np.savetxt(path, np.column_stack([X, Z])[:40], delimiter=",", header="a,b,c,d,y", comments="")
    whole.partial_fit(X[:40], Z[:40])
    np.testing.assert_allclose(chunked.partial_fit(path, "y").predict(X), whole.predict(X), rtol=1e-9)
    with pytest.raises(ValueError, match="expects 4 inputs; the chunks have 5"):
        chunked.partial_fit(Chunks([(np.column_stack([X, Z]), Z)]))


def test_squared_error_of_classes():
    model = in_parts(SCNClassifier(loss="squared", class_weight="balanced", **SMALL), LABELS, 7)
    network, columns = model.network_, columns_of(model.network_)
    factors = model._class_factors[np.searchsorted(model.classes_, LABELS)]
    # The ridge is part of the factor by now; the equations of both are the same.
    gram = network.factor.triangle.T @ network.factor.triangle - (columns.T * factors) @ columns
    linear = network.linear.size
    np.testing.assert_allclose(
        gram, np.diag(np.r_[np.zeros(linear), np.full(len(gram) - linear, gram[-1, -1])]), atol=1e-7
    )
    inner = (columns.T * factors) @ network.outputs.transform(np.eye(3)[np.searchsorted(model.classes_, LABELS)])
    np.testing.assert_allclose(network.factor.triangle.T @ network.factor.coefficients, inner, rtol=1e-7)
    assert model.score(X, LABELS) > 0.8


@pytest.mark.parametrize("classes", [2, 4])
def test_under_log_loss_parts_hardly_matter_and_help(classes):
    rows, labels = make_classification(900, 6, n_informative=5, n_redundant=0, n_classes=classes, random_state=1)
    begun = {"max_nodes": 25, "max_candidates": 30, "random_state": 0}
    losses = {}
    for parts in (0, 1, 20):
        model = SCNClassifier(**begun).partial_fit(rows[:150], labels[:150], classes=range(classes))
        for part in np.array_split(np.arange(150, 550), parts) if parts else []:
            model.partial_fit(rows[part], labels[part])
        losses[parts] = log_loss(labels[550:], model.predict_proba(rows[550:]))
    assert max(losses[1], losses[20]) < losses[0]
    assert losses[20] == pytest.approx(losses[1], rel=0.02)


def test_a_class_may_come_later_and_several_labels_are_learnt():
    early = LABELS[:FIRST] != "some"
    model = SCNClassifier(**SMALL).partial_fit(X[:FIRST][early], LABELS[:FIRST][early], classes=["few", "many", "some"])
    model.partial_fit(X[FIRST:], LABELS[FIRST:])
    assert model.score(X, LABELS) > 0.8
    several = np.column_stack([Z > 0.4, X[:, 3] > 0.5]).astype(int)
    model = SCNClassifier(**SMALL).partial_fit(X[:FIRST], several[:FIRST])
    before = model.score(X[FIRST:], several[FIRST:])
    assert model.partial_fit(X[FIRST:], several[FIRST:]).score(X[FIRST:], several[FIRST:]) > before


def test_members_of_ensembles_learn_all_rows_in_the_end():
    model = SCNEnsembleRegressor(SCNRegressor(**SMALL, early_stopping=True), n_members=2, random_state=0)
    model = in_parts(model, Z, 3, np.full(500, 3.0))
    for member in model.members_:
        assert len(member.held_out_)
        assert member.network_.factor.weight == pytest.approx(500)
    assert model.n_rows_seen_ == 500
    free = SCNEnsembleRegressor(IRVFLRegressor(max_nodes=6, early_stopping=True), n_members=2, random_state=0)
    for member in in_parts(free, Z, 3).members_:
        assert member.network_.factor.weight == 500
    votes = SCNEnsembleClassifier(SCNClassifier(**SMALL, early_stopping=True), n_members=2, random_state=0)
    votes.partial_fit(X[:FIRST], LABELS[:FIRST], classes=np.unique(LABELS))
    before = votes.score(X[FIRST:], LABELS[FIRST:])
    assert votes.partial_fit(X[FIRST:], LABELS[FIRST:]).score(X[FIRST:], LABELS[FIRST:]) > before
    with pytest.raises(ValueError, match="must be those of y in the first call"):
        votes.partial_fit(X, LABELS, classes=["few", "many"])


def test_what_cannot_be_learnt_is_refused_and_changes_nothing():
    with pytest.raises(ValueError, match='loss="huber" what a row counts for depends on all the others, so fit'):
        SCNRegressor(loss="huber").partial_fit(X, Z)
    model = SCNRegressor(**SMALL).fit(X, Z)
    before = model.network_
    for rows, targets, weights, words in (
        (X[:, :3], Z, None, "expecting 4 features"),
        (X, Y, None, "y has 2 outputs, but the model has 1"),
        (X, Z, -WEIGHTS, "at least 0"),
        (np.where(X > 0.9, np.inf, X), Z, None, "infinity"),
        (X[:9], Z, None, "inconsistent numbers of samples"),
    ):
        with pytest.raises(ValueError, match=words):
            model.partial_fit(rows, targets, sample_weight=weights)
    assert model.network_ is before
    classes = SCNClassifier(**SMALL).fit(X, LABELS)
    with pytest.raises(ValueError, match="not among the classes of the model: none, other; it knows few, many, some"):
        classes.partial_fit(X[:2], ["other", "none"])
    with pytest.raises(ValueError, match="leave it out, or fit again"):
        classes.partial_fit(X, LABELS, classes=["few", "many"])
    with pytest.raises(ValueError, match="at least two classes"):
        SCNClassifier(**SMALL).partial_fit(X[:9], ["few"] * 9, classes=["few", "many"])


def test_warm_start_needs_the_rows_it_was_grown_on():
    model = SCNRegressor(**SMALL).fit(X[:FIRST], Z[:FIRST]).set_params(warm_start=True, max_nodes=20)
    for rows, targets in ((X, Z), (X[:FIRST], Z[1 : FIRST + 1])):
        with pytest.raises(ValueError, match="these rows are different; learn from further rows with partial_fit"):
            model.fit(rows, targets)
    assert model.fit(X[:FIRST], Z[:FIRST]).n_rows_seen_ == FIRST
    model.partial_fit(X[FIRST:], Z[FIRST:])
    with pytest.raises(ValueError, match="these rows are different"):
        model.fit(X[:FIRST], Z[:FIRST])


@pytest.mark.parametrize(("place", "value"), [("X", np.inf), ("y", np.inf), ("y", np.nan)])
def test_further_rows_that_are_not_finite_are_refused_and_change_nothing(place, value):
    rows = {"X": np.random.default_rng(3).uniform(size=(60, 2)), "y": np.arange(60.0)}
    model = SCNRegressor(max_nodes=4, random_state=0).fit(**rows)
    before, bad = model.predict(rows["X"]), {name: array[:5].copy() for name, array in rows.items()}
    bad[place].flat[0] = value
    with pytest.raises(ValueError, match=f"Input {place} contains"):
        model.partial_fit(**bad)
    np.testing.assert_array_equal(model.predict(rows["X"]), before)
