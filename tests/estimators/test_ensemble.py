import os
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, cross_validate, train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.parallel import delayed

from skscn import IRVFLRegressor, SCNClassifier, SCNEnsembleClassifier, SCNEnsembleRegressor, SCNRegressor
from skscn.estimators.ensemble.members import Workers, resolve_members

X, y = make_friedman1(300, n_features=6, noise=0.5, random_state=0)
iris, species = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
STOPPING = {"early_stopping": True, "validation_fraction": 0.2}
SMALL = {"max_nodes": 15, "max_candidates": 30, **STOPPING}
# The paper's search, which is quick and stays as it is.
LADDER = {"configuration": "ladder", "direct_link": False, "scaling": "minmax", "n_iter_no_change": 10}
VARIED = {"bootstrap": True, "max_features": 0.7, "combination": "nonnegative"}


def regressor(n_members=4, **parameters):
    return SCNEnsembleRegressor(SCNRegressor(**SMALL, **LADDER), n_members, **{"random_state": 0, **parameters})


def classifier(n_members=4, **parameters):
    return SCNEnsembleClassifier(SCNClassifier(**SMALL, **LADDER), n_members, **{"random_state": 0, **parameters})


def hetero(n_rows, seed):
    """Rows whose noise grows with the first column."""
    rng = np.random.default_rng(seed)
    rows = rng.random((n_rows, 3))
    return rows, np.sin(6 * rows[:, 0]) + rows[:, 1] + (0.05 + rows[:, 0] ** 2) * rng.normal(size=n_rows)


@pytest.mark.slow
@parametrize_with_checks(
    [
        SCNEnsembleRegressor(estimator=SCNRegressor(**SMALL, **LADDER), n_members=3),
        SCNEnsembleClassifier(estimator=SCNClassifier(**SMALL, **LADDER), n_members=3),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_the_default_member_stops_early():
    model = SCNEnsembleRegressor(n_members=1, random_state=0).fit(X, y)
    assert model.members_[0].get_params() == {
        **SCNRegressor(**STOPPING).get_params(),
        "random_state": model.members_[0].random_state,
        "n_jobs": 1,
        # Members get rows that are encoded.
        "categorical_features": None,
    }
    member = SCNEnsembleClassifier(n_members=1).fit(iris, species).members_[0]
    assert isinstance(member, SCNClassifier)
    assert member.early_stopping
    assert member.validation_fraction == 0.2


@pytest.mark.parametrize("parameters", [{}, VARIED], ids=["plain", "varied"])
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_the_ensemble_does_not_depend_on_n_jobs(backend, parameters):
    one = regressor(**parameters).fit(X, y)
    with parallel_config(backend):
        two = regressor(n_jobs=2, **parameters).fit(X, y)
    np.testing.assert_array_equal(one.oob_prediction_, two.oob_prediction_)
    np.testing.assert_array_equal(one.weights_, two.weights_)
    np.testing.assert_array_equal(one.predict_interval(X), two.predict_interval(X))


def test_intervals_are_learnt_when_they_are_first_needed():
    first, second = regressor().fit(X, y), regressor().fit(X, y)
    assert "_conformal" not in vars(first)
    copied = pickle.loads(pickle.dumps(second))
    assert not {"_learn_conformal", "_training"} & vars(copied).keys()
    np.testing.assert_array_equal(first.predict_interval(X), copied.predict_interval(X))
    # They are learnt once.
    assert "_learn_conformal" not in vars(first)
    assert "_conformal" not in vars(first.fit(X, y))


@pytest.mark.slow
def test_short_fits_use_threads_and_long_ones_processes():
    short, long = Workers(2, 0, 1000), Workers(2, 0, 10**6)
    assert {*short.run([delayed(os.getpid)()] * 2)} == {os.getpid()}
    assert os.getpid() not in long.run([delayed(os.getpid)()] * 2)
    assert [workers.are_processes for workers in (short, long, Workers(1, 0, 10**6))] == [False, True, False]


@pytest.mark.slow
def test_the_classifier_does_not_depend_on_n_jobs():
    one, two = (classifier(n_jobs=n_jobs, **VARIED).fit(iris, species) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.oob_decision_function_, two.oob_decision_function_)
    np.testing.assert_array_equal(one.predict_proba(iris), two.predict_proba(iris))


def test_the_first_members_do_not_depend_on_how_many_there_are():
    few, many = regressor(2, bootstrap=True, max_features=0.5).fit(X, y), regressor(3, bootstrap=True, max_features=0.5)
    many.fit(X, y)
    for one, other in zip(few.members_, many.members_, strict=False):
        np.testing.assert_array_equal(one.network_.weights, other.network_.weights)


def test_equal_weights_give_the_mean_of_the_members():
    model = regressor().fit(X, y)
    members = np.array([member.predict(X) for member in model.members_])
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, members.mean(axis=0))
    np.testing.assert_allclose(std, members.std(axis=0))
    np.testing.assert_array_equal(mean, model.predict(X))
    np.testing.assert_array_equal(model.weights_, 0.25)


def test_probabilities_are_the_geometric_mean_of_the_members():
    model = classifier().fit(iris, species)
    share = 1 / len(model.members_)
    powers = np.prod([member.predict_proba(iris) ** share for member in model.members_], axis=0)
    np.testing.assert_allclose(model.predict_proba(iris), powers / powers.sum(axis=1, keepdims=True))


def test_calibrated_probabilities_are_averaged_as_they_are():
    model = classifier()
    model.set_params(estimator__loss="squared").fit(iris, species)
    members = [member.predict_proba(iris) for member in model.members_]
    np.testing.assert_allclose(model.predict_proba(iris), np.mean(members, axis=0))


@pytest.mark.parametrize("parameters", [{}, {"bootstrap": True}], ids=["held out", "bootstrap"])
def test_out_of_bag_predictions_use_only_members_that_did_not_see_the_row(parameters, monkeypatch):
    # Members as they were when they predicted these rows.
    monkeypatch.setattr(SCNRegressor, "partial_fit", lambda member, *_, **__: member)
    model = regressor(**parameters).fit(X, y)
    unseen = model.out_of_bag_
    by_hand = np.where(unseen, [member.predict(X) for member in model.members_], np.nan)
    seen_by_all = ~unseen.any(axis=0)
    np.testing.assert_allclose(model.oob_prediction_[~seen_by_all], np.nanmean(by_hand[:, ~seen_by_all], axis=0))
    np.testing.assert_array_equal(np.isnan(model.oob_prediction_), seen_by_all)
    assert seen_by_all.any()
    assert model.oob_score_ == pytest.approx(r2_score(y[~seen_by_all], model.oob_prediction_[~seen_by_all]))


@pytest.mark.parametrize("bootstrap", [False, True])
def test_nodes_of_members_are_those_of_rows_they_have_seen_and_output_weights_those_of_all_rows(bootstrap):
    """Grown by hand on the rows it has seen, without early stopping, a member finds the same nodes."""
    model = SCNEnsembleRegressor(SCNRegressor(**SMALL, **LADDER), 3, bootstrap=bootstrap, random_state=0).fit(X, y)
    for member, unseen in zip(model.members_, model.out_of_bag_, strict=True):
        assert unseen.mean() == pytest.approx(1 - 0.632 * 0.8 if bootstrap else 0.2, abs=0.07)
        if not bootstrap:
            by_hand = clone(member).set_params(early_stopping=False, max_nodes=member.n_nodes_)
            by_hand.fit(X[~unseen], y[~unseen])
            np.testing.assert_allclose(by_hand.network_.weights, member.network_.weights, rtol=1e-9)
            by_hand.partial_fit(X[unseen], y[unseen])
            np.testing.assert_allclose(by_hand.predict(X), member.predict(X), rtol=1e-6)


@pytest.mark.parametrize("labels", [species, np.minimum(species, 1), np.column_stack([species == 0, species < 2])])
def test_output_weights_of_classes_are_those_of_all_rows(labels):
    """Out-of-bag probabilities are from before, and likelier ones are those of the present output weights."""
    labels = np.asarray(labels, dtype=int)
    model = classifier(n_members=1).fit(iris, labels)
    (member,), (unseen,) = model.members_, model.out_of_bag_
    # Two rows are the same.
    assert member.n_rows_seen_ == len(iris) - 1
    wanted = labels[unseen] if labels.ndim == 2 else np.eye(len(model.classes_))[labels[unseen]]
    before, now = (
        np.mean((p[unseen] - wanted) ** 2) for p in (model.oob_decision_function_, model.predict_proba(iris))
    )
    assert now < before


def test_output_weights_of_calibrated_classes_stay_those_of_the_rows_seen():
    model = SCNEnsembleClassifier(SCNClassifier(**SMALL, **LADDER, loss="squared"), 1, random_state=0)
    unseen = model.fit(iris, species).out_of_bag_[0]
    np.testing.assert_allclose(model.predict_proba(iris)[unseen], model.oob_decision_function_[unseen], rtol=1e-9)


def test_members_of_few_rows_hold_out_fewer_and_average_over_numbers_of_nodes():
    few, more = (SCNEnsembleRegressor(n_members=2, random_state=0).fit(X[:n], y[:n]) for n in (299, 300))
    assert [model.out_of_bag_.mean() for model in (few, more)] == pytest.approx([0.1, 0.2], abs=0.01)
    assert few.members_[0].network_.shares is not None
    assert more.members_[0].network_.shares is None
    ordered = SCNEnsembleRegressor(n_members=1, validation="last", random_state=0).fit(X[:200], y[:200])
    assert ordered.members_[0].validation_fraction >= 0.1
    given = SCNEnsembleRegressor(SCNRegressor(early_stopping=True, validation_fraction=0.2), 2, random_state=0)
    assert given.fit(X[:200], y[:200]).out_of_bag_.mean() == pytest.approx(0.2)


def test_twins_of_out_of_bag_rows_are_out_of_bag():
    model = regressor(bootstrap=True).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    np.testing.assert_array_equal(model.out_of_bag_[:, :300], model.out_of_bag_[:, 300:])
    np.testing.assert_array_equal(model.oob_prediction_[:300], model.oob_prediction_[300:])


@pytest.mark.parametrize("parameters", [{}, VARIED], ids=["plain", "varied"])
def test_weights_count_rows_in_any_order(parameters):
    counts = np.random.default_rng(0).integers(0, 4, size=300)
    order = np.random.default_rng(1).permutation(300)
    weighted = regressor(**parameters).fit(X[order], y[order], sample_weight=counts[order])
    repeated = regressor(**parameters).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.predict_interval(X), repeated.predict_interval(X), rtol=1e-6)
    assert weighted.oob_score_ == pytest.approx(repeated.oob_score_)
    assert weighted.out_of_bag_[:, counts[order] == 0].all()


@pytest.mark.parametrize("binary", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_few_kinds_of_rows_that_come_often_are_learnt_from(binary):
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2, size=(300, 1)).astype(float)
    labels = (rng.random(300) < np.where(rows[:, 0] > 0, 0.8, 0.3)).astype(int)
    model = SCNEnsembleClassifier(n_members=3, random_state=0).fit(binary(rows), labels)
    frequencies = [labels[rows[:, 0] == value].mean() for value in (0.0, 1.0)]
    ends = np.array([[0.0], [1.0]])
    np.testing.assert_allclose(model.predict_proba(ends)[:, 1], frequencies, atol=0.1)
    assert model.out_of_bag_.shape == (3, 300)
    assert model.oob_score_ > 0.65
    order = rng.permutation(300)
    again = clone(model).fit(binary(rows[order]), labels[order])
    np.testing.assert_array_equal(model.predict_proba(ends), again.predict_proba(ends))
    assert model.oob_score_ == again.oob_score_


@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_the_unit_of_the_weights_does_not_matter(weight):
    weighted = regressor(**VARIED).fit(X, y, sample_weight=np.full(300, weight))
    np.testing.assert_allclose(weighted.predict_interval(X), regressor(**VARIED).fit(X, y).predict_interval(X))


@pytest.mark.parametrize("bootstrap", [False, True])
def test_nonnegative_weights_sum_to_one_and_do_not_raise_the_out_of_bag_error(bootstrap):
    equal, weighed = (
        regressor(6, bootstrap=bootstrap, max_features=0.5, combination=combination).fit(X, y)
        for combination in ("average", "nonnegative")
    )
    assert (weighed.weights_ >= 0).all()
    assert weighed.weights_.sum() == pytest.approx(1)
    assert np.nanmean((y - weighed.oob_prediction_) ** 2) < np.nanmean((y - equal.oob_prediction_) ** 2)
    members = [m.predict(X[:, f]) for m, f in zip(weighed.members_, weighed.features_, strict=True)]
    np.testing.assert_allclose(weighed.predict(X), weighed.weights_ @ members)


def test_nonnegative_weights_of_a_classifier():
    equal, weighed = (
        classifier(6, max_features=0.25, combination=combination).fit(iris, species)
        for combination in ("average", "nonnegative")
    )
    rows = equal.out_of_bag_.any(axis=0)
    indicators = np.eye(3)[species[rows]]
    brier = [((model.oob_decision_function_[rows] - indicators) ** 2).mean() for model in (weighed, equal)]
    assert brier[0] < brier[1]
    assert weighed.weights_.sum() == pytest.approx(1)


def test_an_ensemble_is_better_than_its_members():
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    model = regressor(8).fit(X_train, y_train)
    assert model.score(X_test, y_test) > np.mean([member.score(X_test, y_test) for member in model.members_])


def coverage_and_width(model, rows, target, coverage=0.9):
    lower, upper = model.predict_interval(rows, coverage)
    return ((lower <= target) & (target <= upper)).mean(), (upper - lower).mean()


@pytest.mark.slow
def test_intervals_hold_the_promised_share_of_unseen_rows():
    coverages = []
    for seed in range(6):
        rows, target = make_friedman1(2600, n_features=6, noise=1.0, random_state=seed)
        estimator = SCNRegressor(max_nodes=40, max_candidates=40, **STOPPING, **LADDER)
        model = SCNEnsembleRegressor(estimator, random_state=seed).fit(rows[:600], target[:600])
        coverages.append(coverage_and_width(model, rows[600:], target[600:])[0])
    assert min(coverages) > 0.86
    assert max(coverages) < 0.95
    assert 0.88 < np.mean(coverages) < 0.92


@pytest.mark.parametrize("parameters", [{}, {"bootstrap": True, "combination": "nonnegative"}], ids=["plain", "varied"])
def test_intervals_are_narrower_than_constant_ones_where_noise_varies(parameters):
    rows, target = hetero(800, seed=0)
    unseen, truth = hetero(4000, seed=1)
    model = regressor(8, **parameters).fit(rows, target)
    covered, width = coverage_and_width(model, unseen, truth)
    assert 0.87 < covered < 0.93
    errors = np.abs(truth - model.predict(unseen))
    constant = 2 * np.quantile(errors, covered)
    assert width < 0.9 * constant
    lower, upper = model.predict_interval(unseen)
    noisy, quiet = unseen[:, 0] > 0.8, unseen[:, 0] < 0.3
    assert (upper - lower)[noisy].mean() > 1.8 * (upper - lower)[quiet].mean()
    within = (lower <= truth) & (truth <= upper)
    assert within[noisy].mean() > (errors <= constant / 2)[noisy].mean() + 0.05


def test_intervals_nest():
    model = regressor().fit(X, y)
    (low, high), (lower, higher) = model.predict_interval(X, 0.5), model.predict_interval(X, 0.9)
    assert (lower < low).all()
    assert (high < higher).all()
    np.testing.assert_allclose((low + high) / 2, model.predict(X))


def test_intervals_of_more_coverage_than_rows_can_tell_are_infinite():
    model = regressor().fit(X[:20], y[:20])
    assert np.isfinite(model.predict_interval(X, 0.5)).all()
    lower, upper = model.predict_interval(X, 0.99)
    np.testing.assert_array_equal(lower, -np.inf)
    np.testing.assert_array_equal(upper, np.inf)


def test_without_out_of_bag_rows_a_sentence_says_what_to_do():
    estimator = SCNRegressor(max_nodes=5, early_stopping=False)
    model = SCNEnsembleRegressor(estimator, n_members=2).fit(X, y)
    assert np.isnan(model.oob_score_)
    assert np.isnan(model.oob_prediction_).all()
    with pytest.raises(
        ValueError, match="out-of-bag rows, but there are none; use bootstrap=True or an estimator with"
    ):
        model.predict_interval(X)
    with pytest.raises(ValueError, match='there are none; use bootstrap=True .* or combination="average"'):
        SCNEnsembleRegressor(estimator, n_members=2, combination="nonnegative").fit(X, y)


def test_many_outputs():
    Y = np.column_stack([y, 1000 * X[:, 0], -y])
    model = regressor(**VARIED).fit(X, Y)
    mean, std = model.predict(X, return_std=True)
    lower, upper = model.predict_interval(X)
    assert mean.shape == std.shape == lower.shape == upper.shape == model.oob_prediction_.shape == (300, 3)
    covered = ((lower <= Y) & (upper >= Y)).mean(axis=0)
    assert (covered > 0.85).all()
    assert model.score(X, Y) > 0.4


def test_members_get_their_share_of_the_columns():
    model = regressor(6, max_features=0.5).fit(X, y)
    assert {len(features) for features in model.features_} == {3}
    assert all(len(set(features)) == 3 for features in model.features_)
    assert len({tuple(features) for features in model.features_}) > 1
    assert [len(features) for features in regressor(1, max_features=0.01).fit(X, y).features_] == [1]


def test_sparse_rows_give_the_ensemble_of_dense_rows():
    rows = X * (np.random.default_rng(0).random(X.shape) < 0.4)
    scattered = sparse.csr_array(rows)
    dense, other = regressor(**VARIED).fit(rows, y), regressor(**VARIED).fit(scattered, y)
    np.testing.assert_allclose(dense.predict_interval(rows), other.predict_interval(scattered), rtol=1e-6)
    dense, other = classifier(**VARIED).fit(iris, species), classifier(**VARIED).fit(sparse.csc_matrix(iris), species)
    np.testing.assert_allclose(dense.predict_proba(iris), other.predict_proba(sparse.csc_matrix(iris)), rtol=1e-6)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_with_names(frame):
    names = [f"sensor {i}" for i in range(6)]
    table = frame(dict(zip(names, X.T, strict=True)))
    model = regressor(max_features=0.5).fit(table, y)
    assert model.feature_names_in_.tolist() == names
    plain = regressor(max_features=0.5).fit(X, y)
    np.testing.assert_allclose(model.predict_interval(table), plain.predict_interval(X), rtol=1e-6)


def test_single_precision_stays_single():
    model = regressor().fit(X.astype(np.float32), y.astype(np.float32))
    assert model.predict(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(model.oob_score_, regressor().fit(X, y).oob_score_, atol=0.1)


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_huge_and_tiny_values_work(size):
    model = regressor(combination="nonnegative").fit(X * size, y * size)
    assert 0.4 < model.oob_score_ < 1
    lower, upper = model.predict_interval(X * size)
    assert 0.8 < ((lower <= y * size) & (y * size <= upper)).mean() < 0.99


def test_classes_as_text():
    model = classifier(bootstrap=True).fit(iris, NAMES[species])
    assert model.classes_.tolist() == NAMES.tolist()
    predicted = model.predict(iris)
    assert (predicted == NAMES[species]).mean() > 0.9
    np.testing.assert_array_equal(NAMES[model.decision_function(iris).argmax(axis=1)], predicted)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(iris)), model.predict_proba(iris))
    rows = model.out_of_bag_.any(axis=0)
    oob = NAMES[model.oob_decision_function_[rows].argmax(axis=1)]
    assert model.oob_score_ == pytest.approx(accuracy_score(NAMES[species][rows], oob))
    assert np.isnan(model.oob_decision_function_[~rows]).all()


def test_two_classes_have_one_decision():
    model = classifier().fit(iris, species == 1)
    probabilities = model.predict_proba(iris)
    np.testing.assert_array_equal(model.decision_function(iris) > 0, model.predict(iris))
    np.testing.assert_allclose(1 / (1 + np.exp(-model.decision_function(iris))), probabilities[:, 1])


def test_every_member_knows_every_class_however_rare():
    labels = species.copy()
    labels[:2] = 7
    model = classifier(8, bootstrap=True).fit(iris, labels)
    assert all(member.classes_.tolist() == [0, 1, 2, 7] for member in model.members_)
    assert model.predict_proba(iris).shape == (150, 4)


def test_a_class_of_weight_0_is_none():
    model = classifier().fit(iris, species, sample_weight=(species > 0).astype(float))
    assert model.classes_.tolist() == [1, 2]
    assert model.oob_decision_function_.shape == (150, 2)
    assert model.oob_score_ > 0.8


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="at least two classes; y has only one class: 1"):
        classifier().fit(iris, np.ones(150, dtype=int))


@pytest.mark.parametrize("n_rows", [1, 2, 3])
@pytest.mark.parametrize("bootstrap", [False, True])
def test_very_few_rows(n_rows, bootstrap):
    model = regressor(bootstrap=bootstrap).fit(X[:n_rows], y[:n_rows])
    assert np.isfinite(model.predict(X)).all()


def test_two_rows_of_two_classes():
    assert np.isfinite(classifier().fit(iris[[0, 149]], [0, 1]).predict_proba(iris)).all()


def test_a_constant_target():
    model = regressor(bootstrap=True, combination="nonnegative").fit(X, np.ones(300))
    np.testing.assert_allclose(model.predict_interval(X), 1.0)


def test_members_of_other_kinds():
    model = SCNEnsembleRegressor(IRVFLRegressor(max_nodes=20), n_members=3, bootstrap=True, random_state=0).fit(X, y)
    assert all(isinstance(member, IRVFLRegressor) for member in model.members_)
    assert np.isfinite(model.predict_interval(X)).all()


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_members": 0}, r"'n_members' parameter .* must be an int in the range \[1, inf"),
        ({"max_features": 0.0}, r"'max_features' parameter .* in the range \(0"),
        ({"max_features": 3}, "'max_features' parameter"),
        ({"bootstrap": "yes"}, "'bootstrap' parameter"),
        ({"combination": "mean"}, "'combination' parameter .* among .*'nonnegative'"),
        ({"random_state": "seed"}, "'random_state' parameter"),
        ({"n_jobs": 1.5}, "'n_jobs' parameter"),
        ({"estimator": "SCN"}, "'estimator' parameter .* must be an instance of .*SCN"),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [regressor, classifier])
def test_bad_parameters_are_named(make, parameters, sentence):
    with pytest.raises(ValueError, match=sentence):
        make().set_params(**parameters).fit(iris, species)


def test_bad_parameters_of_members_are_named():
    with pytest.raises(ValueError, match="'max_nodes' parameter of SCNRegressor"):
        regressor().set_params(estimator__max_nodes=0).fit(X, y)


def test_an_impossible_coverage_is_refused():
    model = regressor(1).fit(X, y)
    for coverage in (0, 1, 90, np.nan):
        with pytest.raises(ValueError, match="coverage must be between 0 and 1, both excluded, for example 0.9"):
            model.predict_interval(X, coverage)


@pytest.mark.parametrize("weights", [np.zeros(300), -np.ones(300), np.full(300, np.nan)])
def test_impossible_weights_are_refused(weights):
    with pytest.raises(ValueError, match="(?i)sample.weight"):
        regressor().fit(X, y, sample_weight=weights)


def test_predicting_before_fitting():
    for method in ("predict", "predict_interval"):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(regressor(), method)(X)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        classifier().decision_function(X)


def test_metadata_routing_carries_weights():
    weights = np.tile([1.0, 1.0, 0.0], 100)
    with config_context(enable_metadata_routing=True):
        model = regressor(2).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scores = cross_validate(model, X, y, params={"sample_weight": weights}, cv=2, error_score="raise")
    assert len(scores["test_score"]) == 2
    part = regressor(2).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_allclose(regressor(2).fit(X, y, sample_weight=weights).predict(X), part.predict(X))


def test_grid_search_reaches_the_members():
    search = GridSearchCV(regressor(2), {"estimator__max_nodes": [1, 15]}, cv=2).fit(X, y)
    assert search.best_params_ == {"estimator__max_nodes": 15}
    assert clone(search.best_estimator_).get_params().keys() == search.best_estimator_.get_params().keys()


def test_verbose_shows_members(capfd):
    regressor(2, verbose=1).fit(X, y)
    captured = capfd.readouterr()
    assert "2 out of   2" in captured.out + captured.err


def test_members_keep_twice_the_nodes_with_which_each_is_best():
    rng = np.random.default_rng(0)
    inputs = rng.uniform(size=(400, 3))
    target = np.sin(5 * inputs[:, 0] * inputs[:, 1]) + 0.3 * rng.normal(size=400)
    ensemble = SCNEnsembleRegressor(n_members=3, random_state=0).fit(inputs, target)
    for member in ensemble.members_:
        history = member.history_
        best = history["nodes"][np.argmin(history["validation_rmse"])]
        assert member.n_nodes_ == min(2 * best, history["nodes"][-1])


@pytest.mark.parametrize(
    ("n_rows", "expected"), [(299, 20), (300, 10), (999, 10), (1_000, 6), (10_000, 6), (99_999, 6), (100_000, 5)]
)
def test_how_many_members_depends_on_the_number_of_rows(n_rows, expected):
    assert resolve_members("auto", n_rows, classes=False) == expected
    assert resolve_members("auto", n_rows, classes=True) == (10 if 1_000 <= n_rows < 10_000 else expected)
    assert resolve_members(3, n_rows, classes=False) == 3


def test_the_number_of_members_is_chosen_by_default():
    X = np.random.default_rng(0).uniform(size=(1200, 2))
    member = SCNRegressor(max_nodes=2, configuration="ladder")
    assert len(SCNEnsembleRegressor(member, random_state=0).fit(X, X[:, 0]).members_) == 6
    assert len(SCNEnsembleRegressor(member, random_state=0).fit(X[:200], X[:200, 0]).members_) == 20
