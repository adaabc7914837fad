"""Rows for early stopping that fit was given: of their own, or whole groups of the training rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skscn import (
    DeepSCNRegressor,
    IRVFLRegressor,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
    load_model,
    save_model,
)
from skscn.fit.data import ArrayData, Split, fold_numbers, split_rows

RNG = np.random.default_rng(3)
X = RNG.uniform(-1, 1, size=(400, 3))
Y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=400)
LABELS = np.where(Y > 0.3, "high", np.where(Y < -0.3, "low", "middle"))
GROUPS = np.repeat(np.arange(40), 10)
FAST = {"max_nodes": 12, "random_state": 0}
X_TRAIN, X_VAL, Y_TRAIN, Y_VAL, LABELS_TRAIN, LABELS_VAL = train_test_split(X, Y, LABELS, random_state=0)


@pytest.mark.parametrize("loss", ["squared", "huber", "quantile"])
def test_given_rows_choose_the_nodes_and_are_not_trained_on(loss):
    model = SCNRegressor(loss=loss, **FAST).fit(X_TRAIN, Y_TRAIN, X_val=X_VAL, y_val=Y_VAL)
    assert model.held_out_.size == 0
    assert model.n_rows_seen_ == len(X_TRAIN)
    assert np.isfinite(model.history_["validation_rmse"]).all()
    # Their targets multiplied by a number would show in the output weights.
    other = SCNRegressor(loss=loss, **FAST).fit(X_TRAIN, Y_TRAIN, X_val=X_VAL, y_val=100 * Y_VAL)
    assert np.abs(other.predict(X_VAL)).max() < 3 * np.abs(Y).max()


def test_given_rows_decide_on_the_number_of_nodes():
    settings = {"alpha": 0.0, "random_state": 0, "max_nodes": 60}
    useful = SCNRegressor(**settings).fit(X_TRAIN, Y_TRAIN, X_val=X_VAL, y_val=Y_VAL)
    noise = np.random.default_rng(0).permutation(Y_VAL)
    useless = SCNRegressor(**settings).fit(X_TRAIN, Y_TRAIN, X_val=X_VAL, y_val=noise)
    assert useless.n_nodes_ < useful.n_nodes_


def test_output_weights_are_those_of_the_training_rows():
    model = SCNRegressor(alpha=0.0, **FAST).fit(X_TRAIN, Y_TRAIN, X_val=X_VAL, y_val=Y_VAL)
    network = model.network_
    assert network.factor.weight == pytest.approx(len(X_TRAIN))


@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 3, len(Y_VAL))])
def test_weights_of_given_rows_are_relative(weights):
    fits = [
        SCNRegressor(**FAST).fit(X_TRAIN, Y_TRAIN, X_val=X_VAL, y_val=Y_VAL, sample_weight_val=w)
        for w in (weights, None if weights is None else 7 * weights)
    ]
    np.testing.assert_allclose(fits[0].predict(X), fits[1].predict(X), rtol=1e-9)


def test_classes_and_their_weights():
    model = SCNClassifier(class_weight="balanced", **FAST)
    model.fit(X_TRAIN, LABELS_TRAIN, X_val=X_VAL[:5], y_val=LABELS_VAL[:5])
    assert model.held_out_.size == 0
    assert model.score(X_VAL, LABELS_VAL) > 0.6
    with pytest.raises(ValueError, match="not among the classes of the model: huge"):
        model.fit(X_TRAIN, LABELS_TRAIN, X_val=X_VAL[:2], y_val=["low", "huge"])


@pytest.mark.parametrize("estimator", [SCNRegressor(**FAST), DeepSCNRegressor(**FAST)])
def test_whole_groups_are_held_out(estimator):
    model = estimator.fit(X, Y, groups=GROUPS)
    held_out = np.isin(np.arange(len(X)), model.held_out_)
    by_group = held_out.reshape(40, 10)
    assert (by_group.all(axis=1) | ~by_group.any(axis=1)).all()
    assert 0.05 < held_out.mean() < 0.25


def test_groups_of_rows_of_weight_0_are_not_held_out():
    weights = np.where(GROUPS < 20, 0.0, 1.0)
    model = SCNRegressor(**FAST).fit(X, Y, sample_weight=weights, groups=GROUPS)
    assert (GROUPS[model.held_out_] >= 20).all()


def test_training_keeps_all_classes():
    labels = np.array([0] * 50 + [1] * 50)
    groups = np.array([0] * 50 + [1] * 10 + [2] * 40)
    for seed in range(10):
        training, held_out = split_rows(100, 0.1, labels, seed, groups=groups)
        assert set(labels[training]) == {0, 1}
        assert len(set(groups[held_out]) & set(groups[training])) == 0


def test_unequal_groups_are_held_out_by_their_rows():
    groups = np.repeat(np.arange(30), np.arange(1, 31))
    for seed in range(10):
        _, held_out = split_rows(len(groups), 0.2, None, seed, groups=groups)
        assert 0.15 * len(groups) < len(held_out) < 0.35 * len(groups)


def test_few_large_groups():
    groups = np.repeat([0, 1], [30, 70])
    assert set(groups[split_rows(100, 0.1, None, 0, groups=groups)[1]]) == {0}


def test_folds_do_not_divide_groups_and_have_equal_shares_of_classes():
    labels = RNG.integers(0, 3, size=400)
    folds = fold_numbers(400, 3, labels, 0)
    for counts in (np.bincount(folds), *(np.bincount(folds[labels == label]) for label in range(3))):
        assert np.ptp(counts) <= 1
    folds = fold_numbers(400, 3, labels, 0, GROUPS)
    assert (np.ptp(folds.reshape(40, 10), axis=1) == 0).all()
    assert set(folds) == {0, 1, 2}


def test_folds_are_disjoint_and_what_remains_has_their_classes():
    labels = np.array(["common"] * 97 + ["rare"] * 3)
    held_out = ArrayData.regression(X[:5], Y[:5], None)
    for groups, count in ((None, 3), (np.repeat([0, 1], 50), 1), (np.zeros(100, dtype=int), 0)):
        split = Split(ArrayData.classification(X[:100], labels, None), held_out, groups)
        folds = split.folds(3, seed=0)
        assert len(folds) == count
        for rest, fold in folds:
            np.testing.assert_array_equal(np.sort(np.append(rest, fold)), np.arange(100))
            assert set(labels[fold]) <= set(labels[rest])


def test_members_of_an_ensemble_hold_out_whole_groups():
    model = SCNEnsembleRegressor(SCNRegressor(early_stopping=True, **FAST), n_members=3, random_state=0)
    model.fit(X, Y, groups=GROUPS)
    by_group = model.out_of_bag_.reshape(3, 40, 10)
    assert (by_group.all(axis=2) | ~by_group.any(axis=2)).all()
    assert by_group.any(axis=(1, 2)).all()
    assert np.isfinite(model.oob_score_)


def test_equal_rows_of_different_groups_stay_apart():
    twice = np.concatenate([X, X])
    groups = np.concatenate([GROUPS, 100 + GROUPS])
    model = SCNEnsembleRegressor(SCNRegressor(early_stopping=True, **FAST), n_members=2, random_state=0)
    model.fit(twice, np.concatenate([Y, Y]), groups=groups)
    assert (model.out_of_bag_[:, :400] != model.out_of_bag_[:, 400:]).any()


def test_given_rows_are_out_of_bag_for_an_ensemble():
    member = SCNRegressor(early_stopping=True, **FAST)
    model = SCNEnsembleRegressor(member, n_members=3, random_state=0)
    model.fit(X_TRAIN, Y_TRAIN, X_val=X_VAL, y_val=Y_VAL)
    assert not model.out_of_bag_.any()
    assert model.out_of_bag_.shape == (3, len(X_TRAIN))
    assert model.oob_score_ == pytest.approx(r2_score(Y_VAL, model.predict(X_VAL)))
    lower, upper = model.predict_interval(X_VAL, 0.8)
    assert ((lower <= Y_VAL) & (upper >= Y_VAL)).mean() == pytest.approx(0.8, abs=0.1)


def test_given_rows_are_out_of_bag_for_an_ensemble_of_classifiers():
    model = SCNEnsembleClassifier(SCNClassifier(early_stopping=True, **FAST), n_members=2, random_state=0)
    model.fit(X_TRAIN, LABELS_TRAIN, X_val=X_VAL, y_val=LABELS_VAL)
    assert model.oob_score_ == pytest.approx(accuracy_score(LABELS_VAL, model.predict(X_VAL)))
    with pytest.raises(ValueError, match="not among the classes"):
        model.fit(X_TRAIN, LABELS_TRAIN, X_val=X_VAL[:1], y_val=["huge"])


def test_files_give_the_same_network(tmp_path):
    header = "a,b,c,y"
    for name, rows, y in (("train.csv", X_TRAIN, Y_TRAIN), ("val.csv", X_VAL, Y_VAL)):
        np.savetxt(tmp_path / name, np.column_stack([rows, y]), delimiter=",", header=header, comments="", fmt="%.17g")
    model = SCNRegressor(**FAST).fit(tmp_path / "train.csv", "y", X_val=tmp_path / "val.csv", y_val="y")
    arrays = SCNRegressor(**FAST).fit(X_TRAIN, Y_TRAIN, X_val=X_VAL, y_val=Y_VAL)
    np.testing.assert_array_equal(model.network_.output_weights, arrays.network_.output_weights)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.savetxt(tmp_path / "other.csv", np.column_stack([X_VAL, Y_VAL]), delimiter=",", header="b,a,c,y", comments="")
    with pytest.raises(ValueError, match="X_val must have the columns"):
        model.fit(tmp_path / "train.csv", "y", X_val=tmp_path / "other.csv", y_val="y")


def test_a_checkpoint_is_of_its_held_out_rows(tmp_path):
    model = SCNRegressor(checkpoint=tmp_path / "fit.ckpt", warm_start=True, **FAST).fit(X, Y, groups=GROUPS)
    model.set_params(max_nodes=20, checkpoint=None).fit(X, Y, groups=GROUPS)
    with pytest.raises(ValueError, match="these rows are different"):
        model.fit(X, Y, groups=GROUPS // 2)


def test_a_model_file(tmp_path):
    model = SCNEnsembleRegressor(SCNRegressor(early_stopping=True, **FAST), n_members=2, random_state=0)
    model.fit(X_TRAIN, Y_TRAIN, X_val=X_VAL, y_val=Y_VAL)
    save_model(model, tmp_path / "model.scn")
    np.testing.assert_array_equal(load_model(tmp_path / "model.scn").predict(X_VAL), model.predict(X_VAL))


@pytest.mark.parametrize(
    ("parameters", "arguments", "message"),
    [
        ({}, {"X_val": X_VAL}, "belong together"),
        ({}, {"y_val": Y_VAL}, "belong together"),
        ({}, {"sample_weight_val": Y_VAL}, "weights of X_val"),
        ({}, {"X_val": X_VAL, "y_val": Y_VAL, "groups": GROUPS}, "give one of the two"),
        ({}, {"X_val": X_VAL[:, :2], "y_val": Y_VAL}, "2 features"),
        ({}, {"X_val": X_VAL, "y_val": np.column_stack([Y_VAL, Y_VAL])}, "as many columns as y"),
        ({}, {"groups": GROUPS[:10]}, "one value for each row; got 10 for 400 rows"),
        ({}, {"groups": np.zeros(400)}, "at least two different values"),
        ({"early_stopping": False}, {"groups": GROUPS}, "use early_stopping=True"),
        (
            {"early_stopping": "gcv"},
            {"X_val": X_VAL, "y_val": Y_VAL},
            "grown with early_stopping='gcv'; use early_stopping=True",
        ),
        ({"configuration": "ladder"}, {"groups": GROUPS}, "use early_stopping=True"),
        ({"validation": "last"}, {"groups": GROUPS}, "use one of the two"),
    ],
)
def test_what_does_not_go_together(parameters, arguments, message):
    with pytest.raises(ValueError, match=message):
        SCNRegressor(**parameters, **FAST).fit(X, Y, **arguments)


def test_ensembles_refuse_groups_that_a_bootstrap_would_mix():
    with pytest.raises(ValueError, match="use bootstrap=False"):
        SCNEnsembleRegressor(n_members=2, bootstrap=True).fit(X, Y, groups=GROUPS)
    with pytest.raises(ValueError, match="as many columns as y"):
        SCNEnsembleRegressor(n_members=2).fit(X, Y, X_val=X, y_val=np.column_stack([Y, Y]))


def test_baselines_too():
    model = IRVFLRegressor(early_stopping=True, max_nodes=20, random_state=0).fit(X, Y, groups=GROUPS)
    assert len(set(GROUPS[model.held_out_])) * 10 == len(model.held_out_)


def test_groups_reach_a_network_in_a_pipeline():
    with config_context(enable_metadata_routing=True):
        network = SCNRegressor(**FAST).set_fit_request(groups=True)
        model = make_pipeline(StandardScaler(), network).fit(X, Y, groups=GROUPS)
    assert len(set(GROUPS[model[-1].held_out_])) * 10 == len(model[-1].held_out_)


@pytest.mark.parametrize(
    "estimator",
    [
        SCNRegressor(**FAST),
        SCNEnsembleRegressor(SCNRegressor(early_stopping=True, **FAST), n_members=2, random_state=0),
    ],
)
def test_given_rows_of_a_table_are_encoded_as_the_training_rows(estimator):
    table = pd.DataFrame(X, columns=list("abc")).assign(kind=np.where(X[:, 0] > 0, "up", "down"))
    table.loc[::7, "b"] = np.nan
    model = clone(estimator).fit(table[:300], Y[:300], X_val=table[300:], y_val=Y[300:])
    assert model.score(table[300:], Y[300:]) > 0.5
    unseen = table[300:].assign(kind="sideways")
    assert np.isfinite(clone(estimator).fit(table[:300], Y[:300], X_val=unseen, y_val=Y[300:]).predict(unseen)).all()


def test_given_rows_may_have_missing_values_where_training_rows_have_none():
    held_out = X_VAL.copy()
    held_out[::3, 1] = np.nan
    model = SCNRegressor(**FAST).fit(X_TRAIN, Y_TRAIN, X_val=held_out, y_val=Y_VAL)
    filled = np.where(np.isnan(held_out), np.median(X_TRAIN, axis=0), held_out)
    same = SCNRegressor(**FAST).fit(X_TRAIN, Y_TRAIN, X_val=filled, y_val=Y_VAL)
    np.testing.assert_allclose(model.predict(X), same.predict(X), rtol=1e-9)
