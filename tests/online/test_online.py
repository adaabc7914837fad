"""Networks that follow a stream."""

import numpy as np
import pytest
from river import compat, drift, metrics
from scipy.signal import lfilter
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from skscn import OnlineSCNClassifier, OnlineSCNRegressor, load_model, save_model
from skscn.factor import Factor
from skscn.online import ErrorRise, prequential
from skscn.online._learner import RecentRows, error_increases, useful

RNG = np.random.default_rng(0)


def drifting(n_rows=600, noise=0.1):
    """A function of two inputs that is reversed half-way."""
    X = RNG.uniform(size=(n_rows, 2))
    y = np.sin(6 * X[:, 0]) * np.where(np.arange(n_rows) < n_rows // 2, 1.0, -1.0) + X[:, 1]
    return X, y + noise * RNG.normal(size=n_rows)


@parametrize_with_checks([OnlineSCNRegressor(random_state=0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([OnlineSCNClassifier(random_state=0)])
def test_scikit_learn_checks_of_classes(estimator, check):
    check(estimator)


def test_error_increases_are_those_of_removing_a_column():
    H, T = RNG.normal(size=(40, 5)), RNG.normal(size=(40, 2))
    factor = Factor.empty(5, 2).with_rows(H, T)

    def squares(columns):
        return ((T - H[:, columns] @ np.linalg.lstsq(H[:, columns], T, rcond=None)[0]) ** 2).sum()

    everything = list(range(5))
    expected = [squares(everything[:j] + everything[j + 1 :]) - squares(everything) for j in everything]
    np.testing.assert_allclose(error_increases(factor.triangle, factor.coefficients), expected)


def test_useless_columns_are_removed_and_useful_ones_kept():
    H = RNG.normal(size=(200, 10))
    T = H[:, [2, 7]] @ np.array([[3.0], [-2.0]]) + 0.1 * RNG.normal(size=(200, 1))
    kept = useful(Factor.empty(10, 1).with_rows(H, T), degrees_per_node=4.0, most=10)
    assert {2, 7} <= set(kept.tolist())
    assert len(kept) <= 4
    assert len(useful(Factor.empty(10, 1).with_rows(H, T), degrees_per_node=0.0, most=3)) == 3


def test_recent_rows_are_the_last_ones():
    recent = RecentRows(5, 2, 1)
    for row in range(23):
        recent.append(np.array([row, -row]), np.array([2 * row]))
    X, T = recent.last()
    np.testing.assert_array_equal(X[:, 0], np.arange(18, 23))
    np.testing.assert_array_equal(T[:, 0], 2 * np.arange(18, 23))
    recent.forget_all_but(2)
    assert len(recent.last()[0]) == 2
    assert len(recent.last(1)[0]) == 1


def sizes(factor):
    """Of errors that become larger by this factor half-way."""
    return np.abs(RNG.normal(size=4000)) * np.repeat([1.0, factor], 2000)


@pytest.mark.parametrize("factor", [2.0, 4.0])
def test_alarms_are_like_those_of_river(factor):
    errors = sizes(factor)
    detectors = {"river": drift.PageHinkley(), "adwin": drift.ADWIN()}
    ours, theirs = ErrorRise(), dict.fromkeys(detectors)
    alarms = [row for row, error in enumerate(errors) if ours.alarm(error)]
    for name, detector in detectors.items():
        for row, error in enumerate(errors):
            detector.update(error)
            if detector.drift_detected and row >= 2000 and theirs[name] is None:
                theirs[name] = row
    assert len(alarms) == 1
    assert 2000 < alarms[0] < 2100
    assert alarms[0] <= max(theirs.values())


def test_there_are_no_alarms_for_stationary_errors_or_single_outliers():
    errors = np.abs(RNG.standard_t(3, size=30_000))
    errors[::1000] *= 100
    detector = ErrorRise()
    assert not any(detector.alarm(error) for error in errors)


@pytest.mark.parametrize("memory", [0.5, 0.9, 0.98])
def test_errors_with_a_memory_raise_at_most_one_alarm_in_ten_thousand(memory):
    noise = RNG.normal(size=30_000)
    errors, detector = np.abs(lfilter([1.0], [1.0, -memory], noise)), ErrorRise()
    assert sum(detector.alarm(error) for error in errors) <= 3
    inertia = detector.inertia
    rise = [row for row in range(1000) if detector.alarm(8.0 * errors[row])]
    assert rise
    assert rise[0] < 40 * inertia


def test_errors_that_are_larger_now_and_then_raise_few_alarms_but_a_change_does():
    """As where inputs change slowly and the model is bad in places that they seldom reach."""
    slow = lfilter([0.2], [1.0, -0.98], RNG.normal(size=40_000))
    errors, detector = np.abs(RNG.normal(size=40_000)) * (1.0 + 3.0 * np.maximum(0.0, slow - 1.0)), ErrorRise()
    assert sum(detector.alarm(error) for error in errors) <= 6
    assert any(detector.alarm(10.0 * error) for error in errors[:300])


def test_drift_is_detected_and_followed():
    X, y = drifting()
    record = prequential(OnlineSCNRegressor(random_state=0), X, y)
    alarms = record.events["row"][record.events["event"] == "alarm"]
    assert 300 < alarms[0] < 360
    assert record.errors[-100:].mean() < 0.15
    assert {"grown", "kept", "rejected"} & set(record.events["event"].tolist())
    assert abs(record.coverage() - 0.9) < 0.03


def test_parts_of_any_size_give_the_same_model():
    X, y = drifting(400)
    one = OnlineSCNRegressor(random_state=0).fit(X, y)
    other = OnlineSCNRegressor(random_state=0)
    for part in np.split(np.arange(400), [1, 3, 200, 333]):
        other.partial_fit(X[part], y[part])
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert repr(one.events_.tolist()) == repr(other.events_.tolist())
    assert one.n_rows_seen_ == other.n_rows_seen_ == 400


def test_a_row_is_predicted_the_same_alone_and_among_others():
    X, y = drifting(150)
    model = OnlineSCNRegressor(random_state=0).fit(X, np.column_stack([y, -y, y**2]))
    np.testing.assert_array_equal(model.predict(X), np.vstack([model.predict(x[np.newaxis]) for x in X]))


def test_first_rows():
    model = OnlineSCNRegressor()
    with pytest.raises(NotFittedError):
        model.predict([[1.0, 2.0]])
    model.partial_fit([[1.0, 2.0]], [3.0])
    np.testing.assert_array_equal(model.predict([[5.0, 6.0]]), [3.0])
    lower, upper = model.predict_interval([[5.0, 6.0]])
    assert (lower[0], upper[0]) == (-np.inf, np.inf)
    assert model.n_nodes_ == 0
    assert model.shares_["mean"] > 0.0


def test_bad_input_is_refused_in_one_sentence():
    X, y = drifting(40)
    model = OnlineSCNRegressor().fit(X, y)
    with pytest.raises(ValueError, match="3 features"):
        model.partial_fit(np.ones((2, 3)), [1.0, 2.0])
    with pytest.raises(ValueError, match="y has 2 outputs, but this model has learnt 1"):
        model.partial_fit(X[:3], np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"use OnlineSCNRegressor\(coverage=0.5\)"):
        model.predict_interval(X, coverage=0.5)
    with pytest.raises(ValueError, match="forgetting"):
        OnlineSCNRegressor(forgetting=0.1).fit(X, y)
    assert model.n_rows_seen_ == 40
    labels = np.where(y > 0, "up", "down")
    with pytest.raises(ValueError, match="first call of partial_fit needs classes="):
        OnlineSCNClassifier().partial_fit(X, labels)
    classifier = OnlineSCNClassifier().partial_fit(X, labels, classes=["up", "down"])
    with pytest.raises(ValueError, match="y has the class 'left', which is not among"):
        classifier.partial_fit(X[:1], ["left"])
    with pytest.raises(ValueError, match="classes must stay the same"):
        classifier.partial_fit(X[:1], ["up"], classes=["up", "left"])
    with pytest.raises(ValueError, match="only one class"):
        OnlineSCNClassifier().fit(X[:2], ["up", "up"])


def test_several_outputs():
    X, y = drifting(300)
    T = np.column_stack([y, -3 * y])
    model = OnlineSCNRegressor(random_state=0, forgetting=0.995).fit(X, T)
    assert model.predict(X[:5]).shape == (5, 2)
    assert model.predict_interval(X[:5])[0].shape == (5, 2)
    assert model.score(X[200:], T[200:]) > 0.8


def test_extreme_and_constant_values_leave_predictions_finite():
    X = np.column_stack([np.ones(120), RNG.normal(size=120)])
    model = OnlineSCNRegressor(random_state=0).fit(X, np.full(120, 7.0))
    np.testing.assert_allclose(model.predict(X[:3]), 7.0)
    model.partial_fit([[1e300, -1e300]], [7.0])
    assert np.isfinite(model.predict([[-1e300, 1e300]])).all()


def test_classes_that_change_their_places():
    X = RNG.uniform(size=(700, 2))
    inside = np.hypot(*(X - 0.5).T) < 0.4
    y = np.where(inside ^ (np.arange(700) >= 350), 3, 7)
    record = prequential(OnlineSCNClassifier(random_state=0), X, y)
    assert record.classified
    assert record.mae == np.mean(record.y_pred != y[1:])
    assert record.errors[-150:].mean() < 0.15
    with pytest.raises(ValueError, match="share of wrong"):
        _ = record.rmse
    with pytest.raises(ValueError, match="no prediction intervals"):
        record.coverage()


@pytest.mark.parametrize("rows", [1, 30, 330])
def test_a_loaded_regressor_goes_on_exactly(tmp_path, rows):
    X, y = drifting()
    model = OnlineSCNRegressor(random_state=0).fit(X[:rows], y[:rows])
    save_model(model, tmp_path / "model.scn")
    loaded = load_model(tmp_path / "model.scn")
    for each in (model, loaded):
        each.partial_fit(X[rows : rows + 100], y[rows : rows + 100])
    np.testing.assert_array_equal(model.predict(X), loaded.predict(X))
    np.testing.assert_array_equal(model.predict_interval(X), loaded.predict_interval(X))
    assert repr(model.events_.tolist()) == repr(loaded.events_.tolist())


def test_a_loaded_classifier_goes_on_exactly(tmp_path):
    X, y = drifting(200)
    labels = np.where(y > 0.5, "high", "low")
    model = OnlineSCNClassifier(random_state=0).fit(X[:100], labels[:100])
    save_model(model, tmp_path / "model.scn")
    loaded = load_model(tmp_path / "model.scn")
    for each in (model, loaded):
        each.partial_fit(X[100:], labels[100:])
    np.testing.assert_array_equal(model.predict_proba(X), loaded.predict_proba(X))


def test_prequential_refuses_what_it_cannot_do():
    X, y = drifting(20)
    for wrong in ({"first": 0}, {"first": 20}, {"chunk": 0}):
        with pytest.raises(ValueError, match="first must be at least 1"):
            prequential(OnlineSCNRegressor(), X, y, **wrong)


def test_chunks_are_predicted_before_they_are_learnt():
    X, y = drifting(60)
    record = prequential(OnlineSCNRegressor(random_state=0), X, y, chunk=10, first=5)
    model = OnlineSCNRegressor(random_state=0).fit(X[:5], y[:5])
    np.testing.assert_array_equal(record.y_pred[:10], model.predict(X[5:15]))
    assert record.rows[0] == 5
    assert len(record.n_nodes) == len(record.y_true) == 55


def test_it_works_in_river():
    X, y = drifting(150)
    model = compat.convert_sklearn_to_river(OnlineSCNRegressor(random_state=0))
    error = metrics.MAE()
    for x, t in zip(X, y, strict=True):
        row = dict(enumerate(x))
        error.update(t, model.predict_one(row))
        model.learn_one(row, t)
    ours = prequential(OnlineSCNRegressor(random_state=0), X, y)
    # Before the first row, river predicts 0.
    np.testing.assert_allclose(error.get(), (ours.errors.sum() + abs(y[0])) / 150)
    labels = [bool(t > 0.5) for t in y]
    classifier = compat.convert_sklearn_to_river(OnlineSCNClassifier(random_state=0), classes=[False, True])
    for x, label in zip(X, labels, strict=True):
        classifier.learn_one(dict(enumerate(x)), label)
    predicted = [classifier.predict_one(dict(enumerate(x))) for x in X[100:]]
    assert np.mean(np.equal(predicted, labels[100:])) > 0.8


def test_memory_stays_the_same():
    model = OnlineSCNRegressor(random_state=0, window=100, max_nodes=5)
    X, y = drifting(1500)
    model.fit(X[:1000], y[:1000])
    save = len(model.learner_.last_inputs), [array.nbytes for array in model.learner_.recent._arrays]
    model.partial_fit(X[1000:], y[1000:])
    assert save == (len(model.learner_.last_inputs), [array.nbytes for array in model.learner_.recent._arrays])
    assert save[0] <= 100


def test_clones_have_the_same_parameters():
    model = OnlineSCNRegressor(forgetting=0.99, coverage=0.8)
    assert clone(model).get_params() == model.get_params()
