"""onnxruntime agrees with predict and predict_proba."""

import sys

import numpy as np
import onnx
import onnxruntime
import pytest
import skl2onnx
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import skscn
from skscn import (
    ACTIVATIONS,
    Activation,
    IRVFLRegressor,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
    estimators,
)
from skscn.onnx import register_converters, to_onnx
from skscn.onnx._graph import OPERATORS
from skscn.output_weights import ALGORITHMS
from skscn.scaling import SCALINGS

RNG = np.random.default_rng(5)
X = RNG.uniform(size=(120, 4))
# A constant column, and one that is mostly one value.
X[:, 2] = 0.25
X[:100, 3] = 0.5
Y = 10.0 * np.sin(6 * X[:, 0]) + X[:, 1]
OUTPUTS = np.column_stack([Y, X[:, 1] ** 2])
LABELS = (3 * X[:, 0]).astype(int)
# Rows of training, beyond them, and far beyond them.
ROWS = np.vstack([X, RNG.uniform(-1.0, 2.0, (60, 4)), [[1e12] * 4, [-1e300] * 4]])
SMALL = {"max_nodes": 8, "max_candidates": 20, "random_state": 0}


def run(graph, rows=ROWS):
    onnx.checker.check_model(graph, full_check=True)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": rows}), strict=True))


def agree(model, rows=ROWS):
    found = run(to_onnx(model), rows)
    predictions = model.predict(rows)
    if not hasattr(model, "predict_proba"):
        assert list(found) == ["variable"]
        assert found["variable"].shape == predictions.reshape(len(rows), -1).shape
        size = np.abs(predictions).max()
        np.testing.assert_allclose(found["variable"].reshape(predictions.shape), predictions, atol=1e-9 * size, rtol=0)
        return
    assert list(found) == ["label", "probabilities"]
    np.testing.assert_array_equal(found["label"], predictions)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), atol=1e-9, rtol=0)


def made(name, activation):
    """A small estimator of a class, whatever its parameters are called."""
    cls = getattr(estimators, name)
    if "Ensemble" in name:
        member = (SCNClassifier if "Classifier" in name else SCNRegressor)(**SMALL, activation=activation)
        return cls(member, n_members=2, max_features=0.7, combination="nonnegative", bootstrap=True, random_state=0)
    return cls(max_nodes=4, random_state=0, activation=activation)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("name", estimators.__all__)
def test_every_estimator_with_every_activation(name, activation):
    # Far out, a wave turns the last bits of its argument into first digits.
    agree(made(name, activation).fit(X, LABELS), ROWS[:-2] if activation in ("sine", "cosine") else ROWS)


def test_every_activation_has_its_operators():
    assert OPERATORS.keys() == ACTIVATIONS.keys()


@pytest.mark.parametrize("y", [Y, OUTPUTS, Y[:, np.newaxis]], ids=["one", "two", "a column"])
@pytest.mark.parametrize("scaling", SCALINGS)
def test_every_scaling(scaling, y):
    agree(SCNRegressor(**SMALL, scaling=scaling).fit(X, y))


@pytest.mark.parametrize("configuration", ["polished", "ladder"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_with_and_without_bounds_and_direct_links(algorithm, configuration):
    agree(SCNRegressor(**SMALL, algorithm=algorithm, configuration=configuration).fit(X, OUTPUTS))


@pytest.mark.parametrize(
    "labels",
    [LABELS, LABELS > 0, LABELS + 5.0, np.array(["b", "ä", "c"])[LABELS], np.array(["y", "n"], object)[LABELS % 2]],
    ids=["ints", "booleans", "floats", "texts", "objects"],
)
@pytest.mark.parametrize("ensemble", [False, True])
def test_every_kind_of_label(labels, ensemble):
    model = SCNClassifier(**SMALL)
    agree((SCNEnsembleClassifier(model, n_members=2, random_state=0) if ensemble else model).fit(X, labels))


def test_a_network_without_nodes():
    model = SCNRegressor(**SMALL).fit(X, X[:, 0])
    constant = SCNRegressor(**SMALL, configuration="ladder").fit(X, np.full(len(X), 3.0))
    assert model.n_nodes_ == constant.n_nodes_ == 0
    agree(model)
    agree(constant)


def test_an_ensemble_of_several_outputs():
    agree(SCNEnsembleRegressor(SCNRegressor(**SMALL), n_members=3, max_features=0.5, random_state=0).fit(X, OUTPUTS))


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), PCA(3), SCNRegressor(**SMALL)),
        make_pipeline(StandardScaler(), SCNClassifier(**SMALL)),
        Pipeline([("features", IRVFLRegressor(max_nodes=5, random_state=0)), ("scn", SCNRegressor(**SMALL))]),
    ],
    ids=["regressor", "classifier", "hidden layer"],
)
def test_pipelines(model):
    agree(model.fit(X, LABELS))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_skl2onnx_itself_exports_a_pipeline(dtype):
    register_converters()
    model = make_pipeline(StandardScaler(), SCNRegressor(**SMALL)).fit(X, Y)
    found = run(skl2onnx.to_onnx(model, X.astype(dtype)[:1]), X.astype(dtype))["variable"]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found[:, 0], model.predict(X), rtol=1e-9 if dtype == np.float64 else 1e-3, atol=1e-2)


def test_skl2onnx_itself_fills_in_missing_numbers():
    register_converters()
    model, rows = SCNRegressor(**SMALL).fit(X, Y), np.where(RNG.random(X.shape) < 0.2, np.nan, X)
    found = run(skl2onnx.to_onnx(model, X[:1]), rows)
    np.testing.assert_allclose(found["variable"][:, 0], model.predict(rows), atol=1e-9, rtol=0)


def test_the_graph_says_who_made_it_and_goes_to_a_file(tmp_path):
    graph = to_onnx(SCNRegressor(**SMALL).fit(X, Y), tmp_path / "model.onnx", target_opset=15)
    assert (graph.producer_name, graph.producer_version) == ("scikit-scn", skscn.__version__)
    assert graph.graph.name == "SCNRegressor"
    assert graph.opset_import[0].version <= 15
    assert onnx.load(tmp_path / "model.onnx") == graph


class Unknown(StandardScaler):
    """Another class is another thing to skl2onnx."""


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (SCNRegressor(**SMALL, activation=np.arctan).fit(X, Y), "'arctan' has no counterpart in ONNX"),
        (SCNRegressor(**SMALL, activation=Activation("tanh", np.cbrt)).fit(X, Y), "'tanh' has no counterpart"),
        (SCNClassifier(**SMALL).fit(X, LABELS.astype(np.uint64) + np.uint64(2**63)), "64-bit integers"),
        (LinearRegression().fit(X, Y), "LinearRegression is not a scikit-scn estimator"),
        (TransformedTargetRegressor(SCNRegressor(**SMALL)).fit(X, Y), "is not a scikit-scn estimator"),
        (make_pipeline(Unknown(), SCNRegressor(**SMALL)).fit(X, Y), "one of the steps Unknown; export the last"),
    ],
)
def test_what_cannot_be_exported(model, reason):
    with pytest.raises(ValueError, match=reason):
        to_onnx(model)


def test_operators_of_older_and_newer_versions():
    model = SCNClassifier(**SMALL, scaling="quantile", activation="gaussian").fit(X, LABELS)
    for opset in (13, 17):
        graph = to_onnx(model, target_opset=opset)
        assert graph.opset_import[0].version <= opset
        np.testing.assert_allclose(run(graph)["probabilities"], model.predict_proba(ROWS), atol=1e-9)
    with pytest.raises(ValueError, match="needs target_opset=13 or later; got 12"):
        to_onnx(model, target_opset=12)


def test_a_model_that_is_not_fitted():
    with pytest.raises(NotFittedError):
        to_onnx(SCNRegressor())


def test_skl2onnx_is_asked_for(monkeypatch):
    model = SCNRegressor(**SMALL).fit(X, Y)
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r'ONNX needs skl2onnx: pip install "scikit-scn\[onnx\]"'):
        to_onnx(model)
