"""Jumps of a function along single inputs: where they are found, and that every part of the package knows them."""

import numpy as np
import onnxruntime
import pytest
from sklearn.datasets import make_friedman1

from skscn import SCNEnsembleRegressor, SCNRegressor, load_model, save_model
from skscn.jumps import NO_JUMPS, find_jumps, rows_needed
from skscn.onnx import to_onnx
from skscn.rows import Chunks
from skscn.scaling import WithJumps

PLACES = {0: 0.3, 1: 0.6, 2: 0.5}
SMALL = {"max_nodes": 12, "random_state": 0}


def stairs(X):
    return 3.0 * (X[:, 0] > 0.3) - 2.0 * (X[:, 1] > 0.6) + 3.0 * np.where(X[:, 2] > 0.5, X[:, 3], 1.0 - X[:, 3])


def drawn(n_rows, function=stairs, noise=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, 5))
    return X, function(X) + noise * rng.normal(size=n_rows)


X, y = drawn(8000)


@pytest.fixture(scope="module")
def fitted():
    return SCNRegressor(**SMALL).fit(X, y)


def places_of(network):
    return dict(zip(network.inputs.columns.tolist(), network.inputs.thresholds.tolist(), strict=True))


def test_places_of_jumps(fitted):
    found = places_of(fitted.network_)
    assert found.keys() == PLACES.keys()
    assert all(abs(found[column] - PLACES[column]) < 0.002 for column in PLACES)
    others = find_jumps(X, y, None)
    moved = find_jumps(5.0 * X - 2.0, 1e6 * y + 3.0, None)
    np.testing.assert_array_equal(moved.columns, others.columns)
    np.testing.assert_allclose(moved.thresholds, 5.0 * others.thresholds - 2.0)


def bumps(X):
    return 0.5 * np.exp(-((80 * X[:, 0] - 40) ** 2)) + 0.3 * np.exp(-((80 * X[:, 0] - 20) ** 2))


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize(
    "function",
    [bumps, lambda X: np.tanh(40 * (X[:, 0] - 0.5)), lambda X: np.abs(X[:, 0] - 0.4), lambda X: np.zeros(len(X))],
    ids=["bumps", "steep", "kink", "constant"],
)
def test_slopes_are_not_jumps(function, noise):
    assert not len(find_jumps(*drawn(8000, function, noise), None).columns)


def test_smooth_functions_heavy_tails_and_single_outliers_have_none():
    assert not len(find_jumps(*make_friedman1(8000, noise=1.0, random_state=0), None).columns)
    rng = np.random.default_rng(0)
    assert not len(find_jumps(X, X[:, 0] + rng.standard_t(2, len(X)), None).columns)


def test_weights_count(fitted):
    """Rows of almost no weight say nothing."""
    extra, nonsense = drawn(8000, lambda X: 5.0 * (X[:, 4] > 0.5), seed=1)
    weights = np.repeat([1.0, 1e-9], 8000)
    found = find_jumps(np.vstack([X, extra]), np.append(y, nonsense), weights)
    assert set(found.columns.tolist()) <= PLACES.keys()
    assert len(found.columns) >= 2


def test_few_rows_are_not_looked_at():
    assert (rows_needed(2999, 5), rows_needed(3000, 5), rows_needed(10**6, 5)) == (0, 3000, 30_000)
    assert rows_needed(10**6, 10**5) == 0


def test_they_make_the_error_smaller(fitted):
    rows, targets = drawn(2000, noise=0.0, seed=2)
    plain = SCNRegressor(**SMALL, scaling=None).fit(X, y)
    assert not isinstance(plain.network_.inputs, WithJumps)
    errors = [np.sqrt(np.mean((model.predict(rows) - targets) ** 2)) for model in (fitted, plain)]
    assert errors[0] < 0.5 * errors[1]


def test_the_network_knows_columns_and_inputs(fitted):
    network = fitted.network_
    assert (network.n_features, network.n_inputs) == (5, 8)
    np.testing.assert_array_equal(network.inputs.sources, [0, 1, 2, 3, 4, 0, 1, 2])
    x = network.inputs.transform(X[:10])
    np.testing.assert_array_equal(x[:, 5:], X[:10][:, network.inputs.columns] > network.inputs.thresholds)
    assert fitted.feature_importances_.shape == (5,)
    # The jumps are almost all that the target has of these two.
    assert fitted.feature_importances_[:2].min() > 10.0 * fitted.feature_importances_[4]


def test_everything_after_a_fit_knows_them(fitted, tmp_path):
    rows = drawn(300, seed=3)[0]
    expected = fitted.predict(rows)
    save_model(fitted, tmp_path / "model.scn")
    loaded = load_model(tmp_path / "model.scn")
    np.testing.assert_array_equal(loaded.predict(rows), expected)
    session = onnxruntime.InferenceSession(to_onnx(fitted).SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"X": rows})[0].ravel(), expected, rtol=1e-9)
    more, targets = drawn(500, seed=4)
    again = SCNRegressor(**SMALL).fit(X, y).partial_fit(more, targets)
    np.testing.assert_allclose(loaded.partial_fit(more, targets).predict(rows), again.predict(rows), rtol=1e-9)


def test_rows_in_files_have_the_same(fitted):
    in_files = SCNRegressor(**SMALL).fit(Chunks(X, y, memory_limit=2**20))
    assert places_of(in_files.network_) == places_of(fitted.network_)
    np.testing.assert_array_equal(in_files.predict(X[:50]), fitted.predict(X[:50]))


def test_fits_continue_with_them(fitted, tmp_path):
    path = tmp_path / "checkpoint"
    for _ in range(2):
        model = SCNRegressor(**SMALL, checkpoint=path).fit(X, y)
        np.testing.assert_array_equal(model.predict(X[:50]), fitted.predict(X[:50]))
    warm = SCNRegressor(max_nodes=6, random_state=0, warm_start=True).fit(X, y)
    warm.set_params(max_nodes=12).fit(X, y)
    np.testing.assert_array_equal(warm.predict(X[:50]), fitted.predict(X[:50]))


def test_monotone_in_an_input_with_a_jump():
    model = SCNRegressor(**SMALL, monotone=[1, 0, 0, 0, 0]).fit(X, y)
    assert 0 in places_of(model.network_)
    grid = np.repeat(X[:20], 101, axis=0)
    grid[:, 0] = np.tile(np.linspace(0.0, 1.0, 101), 20)
    assert (np.diff(model.predict(grid).reshape(20, -1), axis=1) >= -1e-9).all()


def test_members_have_those_of_their_columns():
    model = SCNEnsembleRegressor(SCNRegressor(**SMALL), 4, max_features=0.6, random_state=0).fit(X, y)
    known = set()
    for member, features in zip(model.members_, model.features_, strict=True):
        inputs = member.network_.inputs
        if isinstance(inputs, WithJumps):
            known |= set(zip(features[inputs.columns].tolist(), inputs.thresholds.tolist(), strict=True))
            assert set(features.tolist()) & PLACES.keys() == set(features[inputs.columns].tolist())
    # They were found once, for all of them.
    assert sorted(column for column, _ in known) == list(PLACES)
    # Every third member maps its inputs to quantiles.
    assert [member.network_.inputs.name for member in model.members_] == ["robust", "robust", "quantile", "robust"]


def test_a_compact_network_has_the_jumps_of_all_members():
    model = SCNEnsembleRegressor(SCNRegressor(**SMALL), 3, random_state=0).fit(X, y)
    small = model.compact(max_nodes=20)
    # With the quantiles of members that have these as inputs.
    inputs = small.network_.inputs.scaling
    assert set(inputs.columns.tolist()) == PLACES.keys()
    assert np.std(small.predict(X[:500]) - model.predict(X[:500])) < 0.05 * y.std()


def test_among_renumbers_columns():
    found = NO_JUMPS._replace(columns=np.array([1, 4, 6]), thresholds=np.array([0.1, 0.4, 0.6]))
    among = found.among(np.array([0, 4, 5, 6]))
    assert (among.columns.tolist(), among.thresholds.tolist()) == ([1, 3], [0.4, 0.6])
