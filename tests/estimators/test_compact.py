"""A small network that imitates an ensemble."""

import pickle

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss

from skscn import (
    DeepSCNRegressor,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
    load_model,
    save_model,
)
from skscn.estimators.ensemble.compact import _with_points_between
from skscn.export import to_c
from skscn.onnx import to_onnx
from skscn.scaling import WithJumps, WithQuantiles, scale_inputs

X, y = make_friedman1(400, n_features=6, noise=0.5, random_state=0)
iris, species = load_iris(return_X_y=True)
SMALL = {"max_nodes": 15, "early_stopping": True, "validation_fraction": 0.2}
VARIED = {"bootstrap": True, "max_features": 0.7, "combination": "nonnegative"}


def regressor(parameters=None, **others):
    estimator = SCNRegressor(**{**SMALL, **(parameters or {})})
    return SCNEnsembleRegressor(estimator, **{"n_members": 4, "random_state": 0, **others})


def classifier(parameters=None, **others):
    estimator = SCNClassifier(**{**SMALL, **(parameters or {})})
    return SCNEnsembleClassifier(estimator, **{"n_members": 4, "random_state": 0, **others})


@pytest.fixture(scope="module")
def fitted():
    return regressor().fit(X[:300], y[:300])


@pytest.mark.parametrize(("parameters", "tolerance"), [({"scaling": "robust"}, 0.02), ({}, 0.06)])
def test_with_all_nodes_of_the_members_it_is_the_ensemble(parameters, tolerance):
    # By default the third member has quantiles as inputs, of other rows than the compact model.
    fitted = regressor(parameters).fit(X[:300], y[:300])
    model = fitted.compact(max_nodes=sum(member.n_nodes_ for member in fitted.members_))
    assert isinstance(model, SCNRegressor)
    np.testing.assert_allclose(model.predict(X[300:]), fitted.predict(X[300:]), atol=tolerance * y.std())
    assert isinstance(model.network_.inputs, WithQuantiles) == (not parameters)


def test_more_nodes_imitate_better(fitted):
    few, more = fitted.compact(max_nodes=5), fitted.compact(max_nodes=20)
    assert (few.n_nodes_, more.n_nodes_) == (5, 20)
    rows = X[300:]
    errors = [np.mean((model.predict(rows) - fitted.predict(rows)) ** 2) for model in (few, more)]
    assert errors[1] < 0.8 * errors[0] < 0.01 * y.var()
    errors = more.history_["train_rmse"]
    assert (np.diff(errors) <= 0.0).all()


def test_the_history_ends_with_the_error_of_the_polished_nodes():
    rng = np.random.default_rng(0)
    rows = rng.random((600, 3))
    targets = np.sin(9.0 * rows[:, 0] * rows[:, 1]) + rows[:, 2]
    model = regressor({"max_nodes": 30}).fit(rows, targets)
    compact = model.compact(max_nodes=20)
    # There are enough rows for these nodes, so no points are added.
    difference = np.sqrt(np.mean((compact.predict(rows) - model.predict(rows)) ** 2))
    history = compact.history_
    assert history["train_rmse"][-1] == pytest.approx(difference, rel=0.01)
    assert list(history["polished"]) == [False] * 19 + [True]
    # Forward selection alone leaves much more with as many nodes.
    assert history["train_rmse"][-1] < 0.7 * history["train_rmse"][-2]


def test_points_are_added_between_neighbouring_rows_of_weight():
    rng = np.random.default_rng(0)
    # Two clusters, and one row far from both that does not count.
    rows = np.vstack([rng.random((10, 2)), 10.0 + rng.random((10, 2)), [[5.0, 5.0]]])
    weights = np.repeat([1.0, 2.0, 0.0], [10, 10, 1])
    found, counted = _with_points_between(rows, weights, scale_inputs("minmax", rows), 100)
    np.testing.assert_array_equal(found[:21], rows)
    assert len(found) == 101
    added = found[21:]
    first, second = (added < 1.0).all(axis=1), (added > 10.0).all(axis=1)
    assert (first | second).all()
    assert first.any()
    np.testing.assert_array_equal(counted[21:], np.where(first, 1.0, 2.0))
    for given in (sparse.csr_array(rows), rows[:1]):
        same, _ = _with_points_between(given, weights[: given.shape[0]], scale_inputs("minmax", rows), 100)
        assert same.shape == given.shape


@pytest.mark.parametrize("scaling", ["minmax", "quantile", "standard", None])
@pytest.mark.parametrize("others", [{}, VARIED], ids=["plain", "varied"])
def test_members_with_other_scalings_and_columns(scaling, others):
    rows = np.column_stack([X, np.full(len(X), 3.0)])
    model = regressor({"scaling": scaling}, **others).fit(rows, y)
    found = model.compact(60).predict(rows)
    assert np.sqrt(np.mean((found - model.predict(rows)) ** 2)) < 0.05 * y.std()


def test_several_outputs_weights_and_sparse_rows():
    targets, weights = np.column_stack([y, X[:, 0] - 2.0]), np.where(np.arange(len(y)) % 3, 1.0, 0.0)
    model = regressor().fit(sparse.csr_array(X), targets, sample_weight=weights)
    found = model.compact(60).predict(X)
    assert found.shape == targets.shape
    np.testing.assert_allclose(found, model.predict(X), atol=0.3 * targets.std(axis=0).max())


def test_bounds_and_links_of_the_loss_are_kept():
    counts = np.random.default_rng(0).poisson(np.exp(y / 8.0))
    model = regressor({"loss": "poisson"}).fit(X, counts)
    compact = model.compact(40)
    assert (compact.predict(10.0 * X) >= 0.0).all()
    np.testing.assert_allclose(compact.predict(X), model.predict(X), rtol=0.3)
    assert (regressor().fit(X, np.abs(y)).compact(40).predict(10.0 * X) >= 0.0).all()


def test_members_under_another_loss():
    model = regressor({"loss": "welsch"}).fit(X, y)
    compact = model.compact(60)
    assert np.sqrt(np.mean((compact.predict(X) - model.predict(X)) ** 2)) < 0.05 * y.std()


@pytest.mark.parametrize("two", [False, True], ids=["three classes", "two classes"])
def test_classes(two, tmp_path):
    labels = np.array(["a", "b", "c"])[np.minimum(species, 1) if two else species]
    model = classifier().fit(iris, labels)
    compact = model.compact(40)
    assert isinstance(compact, SCNClassifier)
    save_model(compact, tmp_path / "model.skscn")
    np.testing.assert_array_equal(load_model(tmp_path / "model.skscn").predict(iris), compact.predict(iris))
    assert "double" in to_c(compact)
    assert to_onnx(compact).graph.node
    np.testing.assert_array_equal(compact.classes_, model.classes_)
    assert log_loss(labels, compact.predict_proba(iris)) < log_loss(labels, model.predict_proba(iris)) + 0.02
    assert np.mean(compact.predict(iris) == model.predict(iris)) > 0.97


def test_several_labels():
    labels = np.column_stack([species == 0, species < 2]).astype(int)
    model = classifier().fit(iris, labels)
    compact = model.compact(40)
    assert np.mean(compact.predict(iris) == model.predict(iris)) > 0.97
    assert compact.predict_proba(iris).shape == (len(iris), 2)


def test_it_encodes_tables_is_saved_and_exported(tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0.5, "high", "low"), "c": X[:, 2]})
    frame.loc[::7, "c"] = np.nan
    model = regressor().fit(frame, y)
    compact = model.compact(30)
    assert list(compact.feature_names_in_) == ["a", "b", "c"]
    assert compact.feature_importances_.shape == (3,)
    assert compact.n_rows_seen_ == len(y)
    save_model(compact, tmp_path / "model.skscn")
    np.testing.assert_array_equal(load_model(tmp_path / "model.skscn").predict(frame), compact.predict(frame))
    assert "double" in to_c(compact)
    assert to_onnx(compact).graph.node


def test_quantiles_and_jumps_in_files_and_graphs(tmp_path):
    rows = np.random.default_rng(0).uniform(size=(4000, 4)) ** 3
    model = regressor({}).fit(rows, 3.0 * (rows[:, 0] > 0.2) + np.log(rows[:, 1] + 0.01))
    compact = model.compact(30)
    inputs = compact.network_.inputs
    assert (type(inputs), type(inputs.scaling)) == (WithQuantiles, WithJumps)
    assert np.sqrt(np.mean((compact.predict(rows) - model.predict(rows)) ** 2)) < 0.05
    save_model(compact, tmp_path / "model.skscn")
    np.testing.assert_array_equal(load_model(tmp_path / "model.skscn").predict(rows), compact.predict(rows))
    session = onnxruntime.InferenceSession(to_onnx(compact).SerializeToString())
    np.testing.assert_allclose(session.run(None, {"X": rows})[0][:, 0], compact.predict(rows), atol=1e-8)
    assert compact.feature_importances_.argmax() < 2


def test_a_model_that_was_pickled_needs_rows(fitted):
    copied = pickle.loads(pickle.dumps(fitted))
    with pytest.raises(ValueError, match="give compact rows like those"):
        copied.compact()
    again = copied.compact(20, X=X[:300])
    assert ((again.predict(X) - fitted.compact(20).predict(X)) ** 2).mean() < (0.1 * y.std()) ** 2


def test_further_rows_cannot_join(fitted):
    with pytest.raises(ValueError, match="fitted once more"):
        fitted.compact(20).partial_fit(X, y)


def test_what_is_refused(fitted):
    with pytest.raises(NotFittedError):
        regressor().compact()
    with pytest.raises(ValueError, match="max_nodes == 0, must be >= 1"):
        fitted.compact(0)
    with pytest.raises(ValueError, match='loss="log_loss"'):
        classifier({"loss": "squared"}).fit(iris, species).compact()
    rows = np.random.default_rng(0).random((600, 1))
    wave = 1 - abs(1 - 2 * (1 - abs(1 - 2 * (1 - abs(1 - 2 * rows[:, 0])))))
    deep = DeepSCNRegressor(max_nodes=40, max_layers=2, inputs="all", early_stopping=False)
    with pytest.raises(ValueError, match="one layer of dense nodes"):
        SCNEnsembleRegressor(deep, n_members=1, random_state=0).fit(rows, wave).compact()
