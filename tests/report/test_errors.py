import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    r2_score,
    root_mean_squared_error,
)

from skscn import SCNClassifier, SCNEnsembleRegressor, SCNRegressor
from skscn.judging.uncertainty import row_blocks
from skscn.report._data import open_data
from skscn.report._errors import class_qualities, classification_measures, interval_coverages, regression_measures
from skscn.report._pictures import reliability_picture


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(0)
    y = rng.normal(5.0, 2.0, 500)
    return y, y + rng.normal(0.0, 1.0, 500)


def test_measures_are_those_of_scikit_learn(noisy):
    y, predictions = noisy
    mae, rmse, r2 = regression_measures(y, predictions)
    assert mae.value == pytest.approx(mean_absolute_error(y, predictions))
    assert rmse.value == pytest.approx(root_mean_squared_error(y, predictions))
    assert r2.value == pytest.approx(r2_score(y, predictions))
    mean = np.full_like(y, y.mean())
    assert (mae.baseline, rmse.baseline) == pytest.approx(
        (mean_absolute_error(y, mean), root_mean_squared_error(y, mean))
    )


def test_intervals_are_those_of_the_bootstrap(noisy):
    y, predictions = noisy
    mae, *_ = regression_measures(y, predictions)
    draws = np.random.default_rng(1).choice(np.abs(y - predictions), (5000, len(y)))
    low, high = np.quantile(draws.mean(axis=1), (0.025, 0.975))
    assert (mae.low, mae.high) == pytest.approx((low, high), abs=0.15 * (high - low))


def test_intervals_of_many_rows_shrink_with_the_root_of_their_number():
    rng = np.random.default_rng(0)
    few, many = (regression_measures(np.zeros(n), rng.normal(size=n))[1] for n in (1000, 100_000))
    assert (few.high - few.low) / (many.high - many.low) == pytest.approx(10.0, rel=0.15)


def test_intervals_of_rows_in_order_allow_for_errors_that_are_alike():
    """Twelve times the same error in a row tells as much as once."""
    rng = np.random.default_rng(0)
    y, errors = rng.normal(size=360), np.repeat(rng.normal(size=30), 12)
    blocks = row_blocks(360, ordered=True)
    independent, ordered = (regression_measures(y, y + errors, found)[0] for found in (None, blocks))
    assert (ordered.high - ordered.low) / (independent.high - independent.low) == pytest.approx(12**0.5, rel=0.15)


def test_a_constant_has_no_variance_to_explain():
    *_, r2 = regression_measures(np.full(50, 0.1), np.linspace(0.0, 1.0, 50))
    assert (r2.value, r2.low, r2.high) == (0.0, 0.0, 0.0)


def test_measures_of_classes(blobs):
    X, y = blobs
    model = SCNClassifier(max_nodes=2, random_state=0).fit(X, y)
    data = open_data(model, X, y, None, None)
    accuracy, loss, brier = classification_measures(data)
    assert accuracy.value == pytest.approx(accuracy_score(y, model.predict(X)))
    assert loss.value == pytest.approx(log_loss(y, model.predict_proba(X)))
    assert brier.value == pytest.approx(((model.predict_proba(X) - np.eye(3)[y]) ** 2).sum(axis=1).mean())
    assert (accuracy.baseline, loss.baseline, brier.baseline) == pytest.approx((1 / 3, np.log(3), 2 / 3))
    assert sum(quality.rows for quality in class_qualities(data)) == len(y)


def test_two_classes_have_the_brier_score_of_scikit_learn_and_their_names(blobs):
    X, y = blobs
    names = np.array(["calm", "windy"])[(y == 1).astype(int)]
    model = SCNClassifier(max_nodes=2, random_state=0).fit(X, names)
    data = open_data(model, X, names, None, None)
    brier = classification_measures(data)[-1]
    assert brier.value == pytest.approx(brier_score_loss(names, model.predict_proba(X)[:, 1], pos_label="windy"))
    assert brier.baseline == pytest.approx(brier_score_loss(y == 1, np.full(len(y), 1 / 3)))
    assert reliability_picture(data).title == "Reliability: probability of windy"


def test_a_class_that_is_never_given_has_no_precision(blobs):
    X, y = blobs
    model = SCNClassifier(max_nodes=2, random_state=0).fit(X[y < 2], y[y < 2])
    unknown = class_qualities(open_data(model, X, y, None, None))[-1]
    assert (unknown.name, unknown.recall) == ("2", 0.0)
    assert np.isnan(unknown.precision)


def test_coverages_are_counted_for_each_output(diabetes):
    X, y = diabetes
    Y = np.column_stack([y, -y])
    member = SCNRegressor(max_nodes=2, early_stopping=True, validation_fraction=0.3)
    model = SCNEnsembleRegressor(member, n_members=3, random_state=0).fit(X, Y)
    outputs = interval_coverages(open_data(model, X, Y, None, None))
    lower, upper = model.predict_interval(X, coverage=0.8)
    for k, coverages in enumerate(outputs):
        eighty = coverages[1]
        assert eighty.held == pytest.approx(np.mean((lower[:, k] <= Y[:, k]) & (Y[:, k] <= upper[:, k])))
        assert eighty.low < eighty.held < eighty.high
        assert eighty.width == pytest.approx((upper - lower)[:, k].mean())
