import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from skscn import SCNClassifier, SCNEnsembleClassifier
from skscn.estimators.classifier import calibrate
from skscn.output_weights import ALGORITHMS

FAST = {"max_nodes": 20, "max_candidates": 50, "configuration": "ladder", "random_state": 0}
X, y = load_iris(return_X_y=True)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    "load", [load_iris, load_wine, load_breast_cancer, pytest.param(load_digits, marks=pytest.mark.slow)]
)
def test_log_loss_beats_class_frequencies_on_every_bundled_set(load, algorithm):
    rows, classes = load(return_X_y=True)
    for seed in range(3):
        rows_train, rows_test, train, test = train_test_split(rows, classes, stratify=classes, random_state=seed)
        model = SCNClassifier(algorithm=algorithm, random_state=seed).fit(rows_train, train)
        frequencies = np.tile(np.bincount(train) / len(train), (len(test), 1))
        assert log_loss(test, model.predict_proba(rows_test)) < 0.8 * log_loss(test, frequencies)


@pytest.mark.parametrize(
    "labels",
    [["setosa", "versicolor", "virginica"], [-1.0, 0.0, 7.0], [10, 20, 30]],
    ids=["text", "float", "int"],
)
def test_labels_of_any_type_come_back(labels):
    model = SCNClassifier(**FAST).fit(X, np.array(labels)[y])
    assert model.classes_.tolist() == labels
    assert (model.predict(X) == np.array(labels)[y]).mean() > 0.9


def test_two_classes_take_one_output():
    model = SCNClassifier(**FAST).fit(X, y == 1)
    assert model.classes_.tolist() == [False, True]
    assert model.network_.n_outputs == 1
    decision, probabilities = model.decision_function(X), model.predict_proba(X)
    assert decision.shape == (150,)
    np.testing.assert_array_equal(decision > 0, model.predict(X))
    np.testing.assert_array_equal(probabilities[:, 1] > 0.5, model.predict(X))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


@pytest.mark.parametrize("loss", ["log_loss", "squared"])
def test_methods_agree_with_each_other(loss):
    model = SCNClassifier(loss=loss, **FAST).fit(X, y)
    predicted = model.predict(X)
    np.testing.assert_array_equal(model.decision_function(X).argmax(axis=1), predicted)
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), predicted)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_staged_predictions_end_with_those_of_the_network():
    model = SCNClassifier(loss="squared", **FAST).fit(X, y)
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, model.predict(X))


def test_good_probabilities_are_left_almost_as_they_are():
    rng = np.random.default_rng(0)
    truth = softmax(rng.normal(size=(20_000, 3)), axis=1)
    labels = (rng.random((20_000, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    calibration = calibrate(truth, labels, None, weight=20_000, n_nodes=0)
    np.testing.assert_allclose(calibration.probabilities(truth), truth, atol=0.02)


def test_probabilities_are_finite_far_out():
    model = SCNClassifier(**FAST).fit(X, y)
    probabilities = model.predict_proba(np.array([[1e300] * 4, [-1e300] * 4]))
    assert np.isfinite(probabilities).all()
    assert (probabilities >= 0).all()


@pytest.mark.parametrize("weights", [np.ones(150), np.random.default_rng(0).uniform(0.5, 3, size=150)])
@pytest.mark.parametrize("unit", [0.1, 10.0, 1000.0])
def test_the_unit_of_the_weights_does_not_matter(weights, unit):
    one, other = (SCNClassifier(**FAST).fit(X, y, sample_weight=w) for w in (weights, unit * weights))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-4)


def test_small_weights_leave_probabilities_sane():
    rows_train, rows_test, train, test = train_test_split(X, y, stratify=y, random_state=0)
    weights = np.random.default_rng(0).random(len(train)) + 0.05
    model = SCNClassifier(random_state=0).fit(rows_train, train, sample_weight=weights)
    assert log_loss(test, model.predict_proba(rows_test)) < 0.8


def test_the_order_of_many_rows_does_not_matter():
    rng = np.random.default_rng(0)
    labels = np.arange(20_002) % 2
    rows = rng.normal(size=(20_002, 1)) * np.where(labels, 3.0, 0.3)[:, None]
    model = SCNClassifier(max_nodes=10, max_candidates=20, random_state=0).fit(rows, labels)
    assert log_loss(labels, model.predict_proba(rows)) < 0.4


def test_weights_count_rows():
    counts = np.random.default_rng(0).integers(0, 4, size=150)
    weighted = SCNClassifier(**FAST).fit(X, y, sample_weight=counts)
    repeated = SCNClassifier(**FAST).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)


def test_separable_classes_leave_some_doubt():
    """300 rows that a binary feature decides say that the other class has about one row in 300, not one in 10¹⁹."""
    feature = np.arange(300)[:, np.newaxis] % 2
    model = SCNClassifier(random_state=0).fit(feature, feature[:, 0])
    smallest = model.predict_proba(feature).min()
    assert 1e-4 < smallest < 0.02


def test_one_network_is_not_overconfident_on_wine():
    rows, classes = load_wine(return_X_y=True)
    losses = []
    for seed in range(3):
        rows_train, rows_test, train, test = train_test_split(
            rows, classes, test_size=0.3, stratify=classes, random_state=seed
        )
        model = SCNClassifier(random_state=seed).fit(rows_train, train)
        losses.append(log_loss(test, model.predict_proba(rows_test)))
    assert np.mean(losses) < 0.15


def test_members_of_ensembles_are_calibrated_for_their_average():
    separable = np.arange(300)[:, np.newaxis] % 2
    ensemble = SCNEnsembleClassifier(n_members=2, random_state=0).fit(separable, separable[:, 0])
    alone = SCNClassifier(random_state=0).fit(separable, separable[:, 0])
    sharp, careful = (model.predict_proba(separable).max() for model in (ensemble.members_[0], alone))
    assert sharp > careful
