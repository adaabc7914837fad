import numpy as np
import pytest
from scipy import sparse

from skscn.scaling import SCALINGS, ArrayStatistics, moved, scale_inputs, scale_targets, with_room

X = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 1e-6, 1e6] + [0.0, 5.0, -1e7]


def test_minmax_maps_to_the_unit_interval_and_back():
    scaling = scale_inputs("minmax", X)
    scaled = scaling.transform(X)
    np.testing.assert_array_equal(scaled.min(axis=0), 0.0)
    np.testing.assert_array_equal(scaled.max(axis=0), 1.0)
    np.testing.assert_allclose(scaling.inverse_transform(scaled), X, rtol=1e-12)


def test_none_changes_nothing():
    np.testing.assert_array_equal(scale_inputs(None, X).transform(X), X)


@pytest.mark.parametrize("name", SCALINGS)
def test_sparse_is_scaled_as_dense(name):
    rows = X * (np.random.default_rng(1).random(X.shape) < 0.5)
    dense, scattered = scale_inputs(name, rows), scale_inputs(name, sparse.csr_array(rows))
    np.testing.assert_allclose(dense.transform(rows), scattered.transform(rows), rtol=1e-12)


@pytest.mark.parametrize("name", SCALINGS)
def test_a_row_of_weight_two_is_two_rows(name):
    counts = np.random.default_rng(2).integers(1, 4, size=50)
    weighted, repeated = scale_inputs(name, X, counts.astype(float)), scale_inputs(name, np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), rtol=1e-6, atol=1e-9)


def test_robust_scaling_is_not_ruled_by_outliers():
    values = np.r_[np.linspace(0, 1, 1000), 2823.0][:, None]
    scaling = scale_inputs("robust", values)
    scaled = scaling.transform(values)
    assert np.ptp(scaled[:1000]) > 0.9
    assert scaled.max() == 1.5
    mostly_zero = np.r_[np.zeros(1000), np.arange(5.0)][:, None]
    assert scale_inputs("robust", mostly_zero).transform(mostly_zero).max() == 1.0


def test_columns_that_rise_or_fall_get_room():
    passed, noise = np.linspace(0, 1, 1000), np.random.default_rng(0).normal(size=1000)
    failing = np.where(passed > 0.96, 50.0, noise)
    values = np.column_stack([passed, -passed, failing, np.full(1000, 7.0)])
    below, above = moved(*(ArrayStatistics(half) for half in np.split(values, 2)))
    np.testing.assert_allclose(below, [0.0, 0.5, below[2], 0.0], atol=0.01)
    np.testing.assert_allclose(above, [0.5, 0.0, above[2], 0.0], atol=0.01)
    assert max(below[2], above[2]) < 0.2
    scaling = scale_inputs("robust", values)
    wider = with_room(scaling, below, above)
    reach = wider.offset + wider.scale * wider.high
    assert reach[0] > 2.0
    assert reach[1] < 1.0
    np.testing.assert_array_equal(wider.transform(values)[:, 3], 0.0)
    assert with_room(scale_inputs("standard", values), below, above).name == "standard"


def test_standard_scaling():
    scaled = scale_inputs("standard", X).transform(X)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(scaled.std(axis=0), 1.0)


def test_a_constant_input_is_zero_for_good_and_a_constant_target_comes_back():
    constant = np.full((5, 1), 7.0)
    np.testing.assert_array_equal(scale_inputs("minmax", constant).transform(np.array([[7.0], [9.0]])), 0.0)
    scaling = scale_targets("minmax", constant)
    np.testing.assert_array_equal(scaling.transform(constant), 0.0)
    np.testing.assert_array_equal(scaling.inverse_transform(np.zeros((1, 1))), 7.0)


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_extreme_values_are_scaled_without_a_warning(size):
    values = np.array([[-size], [0.0], [size]])
    np.testing.assert_allclose(scale_inputs("minmax", values).transform(values).ravel(), [0.0, 0.5, 1.0])


def test_values_far_outside_the_training_range_stay_finite():
    scaling = scale_inputs("minmax", np.array([[0.0], [1e-200]]))
    assert np.isfinite(scaling.transform(np.array([[1e308], [-1e308]]))).all()


def test_ranges_beyond_float64_are_refused():
    values = np.array([[0.0, -1.7e308], [1.0, 1.7e308]])
    with pytest.raises(ValueError, match="column 1 of X is larger than float64"):
        scale_inputs("minmax", values)
    with pytest.raises(ValueError, match="use scaling='minmax'"):
        scale_targets(None, values)


def test_quantile_scaling_spreads_any_column_evenly():
    values = np.exp(np.random.default_rng(3).normal(size=(5000, 2)) * [1.0, 5.0])
    scaled = scale_inputs("quantile", values).transform(values)
    shares = np.sort(scaled, axis=0)
    np.testing.assert_allclose(shares, np.linspace(0, 1, 5000)[:, None] * np.ones(2), atol=0.01)
    assert (np.argsort(values[:, 0]) == np.argsort(scaled[:, 0], kind="stable")).mean() > 0.99


def test_quantile_scaling_of_ties_constants_and_what_lies_outside():
    values = np.column_stack([np.repeat([0.0, 1.0, 2.0], [10, 80, 10]), np.full(100, 7.0)])
    scaling = scale_inputs("quantile", values)
    scaled = scaling.transform(np.array([[0.0, 7.0], [1.0, 7.0], [2.0, 9.0], [-1e300, 7.0], [1e300, 7.0]]))
    np.testing.assert_allclose(scaled[1, 0], 0.5, atol=0.01)
    np.testing.assert_allclose(scaled[[0, 2], 0], [0.05, 0.95], atol=0.01)
    np.testing.assert_array_equal(scaled[[3, 4], 0], scaled[[0, 2], 0])
    np.testing.assert_array_equal(scaled[:, 1], 0.0)


@pytest.mark.parametrize("rows", [300, 1000])
@pytest.mark.parametrize("constant", [0.1, 1 / 3, 1e9])
def test_standard_scaling_knows_a_constant_column(rows, constant):
    values = np.column_stack([np.random.default_rng(4).normal(size=rows), np.full(rows, constant)])
    weights = np.random.default_rng(5).random(rows)
    for given in (values, sparse.csr_array(values), sparse.csr_array(values.astype(np.float32))):
        for p in (None, weights):
            scaled = scale_inputs("standard", given, p).transform(np.array([[0.0, constant], [0.0, constant + 0.01]]))
            np.testing.assert_array_equal(scaled[:, 1], 0.0)


def test_quantile_scaling_maps_back_where_something_was_mapped_from():
    X = np.random.default_rng(0).exponential(size=(50, 2))
    scaling = scale_inputs("quantile", X)
    np.testing.assert_allclose(scaling.inverse_transform(scaling.transform(X)), X)
    assert np.isnan(scaling.inverse_transform(np.array([[-0.1, 1.1]]))).all()
