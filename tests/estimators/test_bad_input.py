"""Each bad input either works or raises one clear sentence; warnings are errors in these tests."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from skscn import (
    ACTIVATIONS,
    Activation,
    Chunks,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
)

RNG = np.random.default_rng(0)
X, y = RNG.normal(size=(40, 3)), RNG.normal(size=40)
FAST = {"max_nodes": 5, "max_candidates": 20, "configuration": "ladder", "random_state": 0}


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"algorithm": "SC-IV"}, "'algorithm' parameter .* must be a str among .*'SC-III'"),
        ({"configuration": "lader"}, "'configuration' parameter .* among .*'ladder'"),
        ({"activation": "sigmoidal"}, "'activation' parameter .* among .*'sigmoid'"),
        ({"scaling": "min-max"}, "'scaling' parameter .* among .*'minmax'"),
        ({"max_nodes": 0}, "'max_nodes' parameter .* must be .*an int in the range"),
        ({"window": 0}, r"'window' parameter .* must be an int in the range \[1, inf"),
        ({"nodes_per_step": 0}, "'nodes_per_step' parameter"),
        ({"max_candidates": 2.5}, "'max_candidates' parameter .* must be an int"),
        ({"tol": -1.0}, "'tol' parameter"),
        ({"validation_fraction": 1.0}, "'validation_fraction' parameter"),
        ({"contractions": (0.99, 0.9)}, "contractions must increase and lie between 0 and 1"),
        ({"contractions": (0.9, 1.0)}, "contractions must increase and lie between 0 and 1"),
        ({"contractions": (0.9, 0.9)}, "contractions must increase"),
        ({"contractions": ()}, "contractions must be a sequence of at least one number"),
        ({"scopes": (1, 0)}, r"scopes must be numbers above 0 and up to 1e6, for example \(1, 5, 15\)"),
        ({"scopes": (1, -5)}, "scopes must be numbers above 0"),
        ({"scopes": (1, np.inf)}, "scopes must be numbers above 0"),
        ({"scopes": (1, 1e300)}, "scopes must be numbers above 0 and up to 1e6"),
        ({"scopes": ()}, "scopes must be a sequence of at least one number"),
        ({"scopes": ("a",)}, "scopes must be a sequence of at least one number"),
    ],
    ids=str,
)
@pytest.mark.parametrize(("estimator", "target"), [(SCNRegressor, y), (SCNClassifier, y > 0)])
def test_bad_parameters_are_named(estimator, target, parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        estimator(**parameters).fit(X, target)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_infinite_inputs_and_targets_that_are_no_numbers_are_refused(value):
    with pytest.raises(ValueError, match="NaN|infinity"):
        SCNRegressor().fit(X, np.where(np.arange(40) == 3, value, y))
    rows = X.copy()
    rows[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        SCNRegressor().fit(rows, y)


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="0 sample"):
        SCNRegressor().fit(X[:0], y[:0])


def test_one_row_is_learnt():
    np.testing.assert_allclose(SCNRegressor().fit(X[:1], y[:1]).predict(X), y[0])
    model = SCNRegressor(scaling=None, random_state=0).fit(X[:1], y[:1])
    np.testing.assert_allclose(model.predict(X[:1]), y[0], rtol=1e-3)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="at least two classes; y has only one class: 1."):
        SCNClassifier().fit(X, np.ones(40, dtype=int))


def test_continuous_classes_are_refused():
    with pytest.raises(ValueError, match="Unknown label type"):
        SCNClassifier().fit(X, y)


def test_constant_columns_carry_nothing():
    padded = np.column_stack([X, np.full(40, 7.0), np.zeros(40)])
    model = SCNRegressor(**FAST).fit(padded, y)
    changed = padded.copy()
    changed[:, 3:] = 1e6
    np.testing.assert_array_equal(model.predict(padded), model.predict(changed))


def test_constant_inputs_give_the_best_constant():
    model = SCNRegressor(**FAST).fit(np.ones((40, 2)), y)
    np.testing.assert_allclose(model.predict(np.ones((3, 2))), y.mean())


@pytest.mark.parametrize("weights", [np.zeros(40), -np.ones(40), np.full(40, np.nan)])
def test_impossible_weights_are_refused(weights):
    with pytest.raises(ValueError, match="(?i)sample.weight"):
        SCNRegressor().fit(X, y, sample_weight=weights)


def test_more_columns_than_rows():
    wide = np.random.default_rng(1).normal(size=(10, 200))
    model = SCNRegressor(max_nodes=30, random_state=0).fit(wide, y[:10])
    assert model.n_nodes_ <= 10
    assert np.isfinite(model.predict(wide)).all()


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_huge_and_tiny_values_work(size, activation):
    model = SCNRegressor(activation=activation, **FAST).fit(X * size, y * size)
    plain = SCNRegressor(activation=activation, **FAST).fit(X, y)
    np.testing.assert_allclose(model.predict(X * size) / size, plain.predict(X), rtol=1e-6)
    assert np.isfinite(model.predict(np.full((1, 3), 1e308))).all()


# A gaussian is zero on all rows of such size.
@pytest.mark.parametrize("activation", [name for name in ACTIVATIONS if name != "gaussian"])
@pytest.mark.parametrize("size", [1e29, 1e-300])
def test_large_and_tiny_values_work_as_given(size, activation):
    model = SCNRegressor(scaling=None, activation=activation, **FAST).fit(X * size, y * size)
    assert np.isfinite(model.predict(np.array([[1e308] * 3, [-1e308] * 3]))).all()


@pytest.mark.parametrize("weight", [1e-320, 1e-300, 1e160, 1e308])
def test_weights_of_any_size_give_the_same_network(weight):
    weighted = SCNRegressor(**FAST).fit(X, y, sample_weight=np.full(40, weight))
    np.testing.assert_allclose(weighted.predict(X), SCNRegressor(**FAST).fit(X, y).predict(X), rtol=1e-9)


def test_weights_of_very_different_size():
    weights = np.where(np.arange(40) % 2, 1e-320, 1e10)
    model = SCNClassifier(**FAST).fit(X, y > 0, sample_weight=weights)
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_constant_column_at_the_other_end_of_float64():
    rows = np.column_stack([X, np.full(40, -1e308)])
    model = SCNRegressor(**FAST).fit(rows, y)
    rows[:, 3] = 1e308
    np.testing.assert_allclose(model.predict(rows), SCNRegressor(**FAST).fit(rows, y).predict(rows))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_probabilities_far_out(activation):
    model = SCNClassifier(activation=activation, **FAST).fit(X, y > 0)
    far = np.array([[size] * 3 for size in (1e3, -1e6, 1e30, 1e300, -1e308)])
    assert np.isfinite(model.predict_proba(far)).all()
    assert np.isfinite(model.predict_proba(far[:2].astype(np.float32))).all()


def test_an_activation_of_small_amplitude_is_as_good_as_any():
    model = SCNRegressor(activation=lambda z: 1e-3 * np.tanh(z), **FAST).fit(X, y)
    assert model.n_nodes_ == 5


def test_a_network_without_nodes_warns():
    with pytest.warns(ConvergenceWarning, match="No candidate passed the supervisory inequality"):
        SCNRegressor(activation=lambda z: z == 3.0, **FAST).fit(X, y)


@pytest.mark.parametrize(
    ("activation", "fault"),
    [
        (lambda z: z.sum(), "returned the shape \\(\\)"),
        (lambda z: z[:1], "returned the shape"),
        (Activation("short", lambda z: z[:, :1]), "'short' returned the shape"),
        (lambda z: np.full_like(z, np.nan), "returned NaN or infinity"),
        (lambda z: np.where(z > 0, z, np.inf), "returned NaN or infinity"),
        (lambda z: 0.0 * z, "is constant"),
        (Activation("one", np.ones_like), "'one' is constant"),
    ],
)
@pytest.mark.parametrize(("estimator", "target"), [(SCNRegressor, y), (SCNClassifier, y > 0)])
def test_an_activation_that_no_network_can_use_is_refused(estimator, target, activation, fault):
    with pytest.raises(ValueError, match=f"The activation .*{fault}.*; it must"):
        estimator(activation=activation, **FAST).fit(X, target)


LABELS = np.array(["a", "b"], dtype=object)[(y > 0).astype(int)]


def replaced(value):
    labels = LABELS.copy()
    labels[3] = value
    return labels


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (replaced(None), "y has None or NaN in 1 of 40 rows; drop"),
        (list(replaced(None)), "y has None or NaN in 1 of 40 rows; drop"),
        (replaced(np.nan), "y has None or NaN in 1 of 40 rows; drop"),
        (replaced(7), "different types, number, str; convert them to one type"),
        (list(replaced(7)), "different types, number, str; convert them to one type"),
        (replaced(True), "different types, bool, str"),
        (np.array([1, True] * 20, dtype=object), "different types, bool, number"),
        (pd.Series(replaced(None), dtype="string"), "y has None or NaN in 1 of 40 rows; drop these rows"),
        (pd.Series([1, None] * 20, dtype="Int64"), "y has None or NaN in 20 of 40 rows; drop these rows"),
        ([10**19, 10**19 + 1, -1, 0] * 10, "cannot tell apart, such as 10000000000000000001; make them strings"),
        ([10**30, 10**30 + 1] * 20, "cannot tell apart, such as 1000000000000000000000000000001; make them strings"),
        ([2**53 + 1, 2.0] * 20, "cannot tell apart, such as 9007199254740993; make them strings"),
    ],
)
@pytest.mark.parametrize("estimator", [SCNClassifier, SCNEnsembleClassifier])
def test_labels_of_different_types_are_refused(estimator, labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        estimator().fit(X, labels)


@pytest.mark.parametrize("labels", [[2**53, 2**53 + 1], [10**19, 10**19 + 1], [-(2**63), 2**63 - 1], [0.5e3, 1]])
def test_labels_of_64_bits_stay_what_they_are(labels):
    assert SCNClassifier(**FAST).fit(X, labels * 20).classes_.tolist() == sorted(labels)


def test_labels_of_different_types_in_chunks_are_refused():
    chunks = Chunks(lambda: iter([(X[:20], LABELS[:20]), (X[20:], np.ones(20, dtype=object))]))
    with pytest.raises(ValueError, match="different types, number, str"):
        SCNClassifier().fit(chunks)


MASKED = np.ma.masked_greater(X, 1.5)


@pytest.mark.parametrize("estimator", [SCNRegressor, SCNEnsembleRegressor])
def test_masked_values_are_refused(estimator):
    with pytest.raises(ValueError, match=r"X is a masked array with \d+ masked values, .*SimpleImputer on X.filled"):
        estimator().fit(MASKED, y)
    with pytest.raises(ValueError, match="y is a masked array with 1 masked value"):
        estimator().fit(X, np.ma.masked_equal(y, y[3]))
    with pytest.raises(ValueError, match="sample_weight is a masked array"):
        estimator().fit(X, y, sample_weight=np.ma.masked_greater(np.abs(y), 1.0))
    member = SCNRegressor(**FAST)
    model = (member if estimator is SCNRegressor else estimator(member, n_members=2)).fit(np.ma.masked_array(X), y)
    with pytest.raises(ValueError, match="X is a masked array"):
        model.predict(MASKED)


def test_masked_values_in_chunks_are_refused():
    with pytest.raises(ValueError, match="X is a masked array"):
        SCNRegressor().fit(Chunks(lambda: iter([(MASKED, y)])))


def test_a_refused_fit_leaves_the_estimator_as_it_was():
    from sklearn.exceptions import NotFittedError

    fresh = SCNRegressor(scopes=(0,))
    with pytest.raises(ValueError, match="scopes"):
        fresh.fit(X, y)
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    model = SCNRegressor(warm_start=True, **FAST).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.fit(X[:, :2], y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_huge_values_as_given_are_refused():
    with pytest.raises(ValueError, match="scaling=None uses X as it is.*use scaling='minmax'"):
        SCNRegressor(scaling=None).fit(X * 1e300, y)
    with pytest.raises(ValueError, match="scaling=None uses y as it is.*use scaling='minmax'"):
        SCNRegressor(scaling=None).fit(X, y * 1e300)


def test_wrong_number_of_features_at_predict():
    model = SCNRegressor(**FAST).fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features, but SCNRegressor is expecting 3 features"):
        model.predict(X[:, :2])


def test_predicting_before_fitting():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="not fitted yet"):
        SCNRegressor().predict(X)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        next(SCNClassifier().staged_predict(X))
