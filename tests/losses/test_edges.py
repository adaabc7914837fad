"""Losses on data and with settings at the edge of what they are made for."""

import numpy as np
import onnxruntime
import pytest
from sklearn.datasets import make_multilabel_classification

from skscn import SCNClassifier, SCNEnsembleClassifier, SCNEnsembleRegressor, SCNRegressor, load_model, save_model
from skscn.losses import KernelDensity
from skscn.onnx import to_onnx
from skscn.progress import Listener, listening
from skscn.scaling import ArrayStatistics

RNG = np.random.default_rng(8)
SMALL = {"max_nodes": 10, "max_candidates": 30, "n_iter_no_change": 5, "random_state": 0}
LOSSES_OF_NUMBERS = ["huber", "welsch", "bisquare", "kde", "absolute", "quantile", "poisson"]


@pytest.mark.parametrize("loss", LOSSES_OF_NUMBERS)
def test_more_inputs_than_rows(loss):
    X = RNG.normal(size=(110, 150))
    y = np.exp(0.3 * X[:, 0])
    assert np.isfinite(SCNRegressor(loss=loss, **SMALL).fit(X, y).predict(X)).all()


def test_more_inputs_than_rows_with_classes():
    X = RNG.normal(size=(110, 150))
    model = SCNClassifier(**SMALL).fit(X, X[:, 0] > 0)
    assert model.score(X, X[:, 0] > 0) > 0.8


@pytest.mark.parametrize("loss", ["welsch", "poisson", "quantile"])
def test_a_category_that_only_a_held_out_row_has(loss):
    """Its indicator depends on the others in the training rows only."""
    groups = RNG.integers(0, 3, 200)
    model = SCNRegressor(loss=loss, **SMALL)
    held_out = model.fit(np.eye(4)[groups], groups + 1.0).held_out_
    groups[held_out[0]] = 3
    y = groups + 1.0 + 0.1 * RNG.normal(size=200)
    assert np.isfinite(model.fit(np.eye(4)[groups], y).predict(np.eye(4))).all()


@pytest.mark.slow
@pytest.mark.parametrize("rows", [3, 5, 12, 30])
@pytest.mark.parametrize("loss", LOSSES_OF_NUMBERS)
def test_few_rows(loss, rows):
    X = RNG.uniform(size=(rows, 2))
    for early_stopping in ("auto", True):
        model = SCNRegressor(loss=loss, early_stopping=early_stopping, **SMALL).fit(X, X[:, 0] + 1.0)
        assert np.isfinite(model.predict(X)).all()


def test_events_in_the_held_out_rows_only():
    X = np.linspace(0, 1, 200)[:, np.newaxis]
    y = np.where(np.arange(200) >= 190, 1.0, 0.0)
    predicted = SCNRegressor(loss="poisson", early_stopping=True, validation="last", **SMALL).fit(X, y).predict(X)
    assert (predicted >= 0).all()


def test_the_unit_of_a_rate_does_not_matter():
    X = RNG.uniform(size=(400, 2))
    y = RNG.poisson(np.exp(2 * X[:, 0])).astype(float)
    one = SCNRegressor(loss="poisson", **SMALL).fit(X, y).predict(X)
    for factor in (1e-6, 1e6):
        other = SCNRegressor(loss="poisson", **SMALL).fit(X, factor * y).predict(X)
        np.testing.assert_allclose(other / factor, one, rtol=0.01)


@pytest.mark.parametrize("loss", ["welsch", "quantile", "absolute"])
def test_the_unit_of_the_target_does_not_matter(loss):
    X = RNG.uniform(size=(400, 2))
    y = np.sin(5 * X[:, 0]) + 0.1 * RNG.normal(size=400)
    one = SCNRegressor(loss=loss, **SMALL).fit(X, y).predict(X)
    for factor in (1e-9, 1e9):
        other = SCNRegressor(loss=loss, **SMALL).fit(X, factor * y).predict(X)
        np.testing.assert_allclose(other / factor, one, atol=0.02)


def test_a_model_with_class_weights_is_stored(tmp_path):
    X = RNG.uniform(size=(200, 2))
    for labels, weight in ((X[:, 0] > 0.8, {False: 1.0, True: 4.0}), ((X[:, 0] > 0.8).astype(int), {1: 4})):
        model = SCNClassifier(class_weight=weight, **SMALL).fit(X, labels)
        save_model(model, tmp_path / "model.scn")
        loaded = load_model(tmp_path / "model.scn")
        assert loaded.class_weight == weight
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_onnx_of_several_labels():
    X, y = make_multilabel_classification(200, n_features=5, n_classes=3, random_state=0)
    ensemble = SCNEnsembleClassifier(SCNClassifier(early_stopping=True, **SMALL), n_members=2, random_state=0)
    for model in (SCNClassifier(**SMALL), ensemble):
        model.fit(X, y)
        session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
        labels, probabilities = session.run(["label", "probabilities"], {"X": X})
        np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-9)
        np.testing.assert_array_equal(labels, model.predict(X))


def test_probabilities_of_float32_rows_are_never_0():
    X = np.vstack([RNG.normal(size=(3000, 2)) - 20, RNG.normal(size=(3000, 2)) + 20]).astype(np.float32)
    model = SCNClassifier(**SMALL).fit(X, np.repeat([0, 1], 3000))
    assert model.predict_proba(X).min() > 1e-8
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_another_loss_is_not_continued():
    X = RNG.uniform(size=(200, 2))
    model = SCNRegressor(loss="welsch", warm_start=True, **SMALL).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="the same number of outputs, layer, activation, loss and scaling"):
        model.set_params(loss="quantile").fit(X, X[:, 0])


def test_a_fit_that_is_stopped_has_the_loss_that_was_wanted():
    class Stop(Listener):
        def step(self, step, max_nodes):
            return step.nodes == 3

    X = RNG.uniform(size=(300, 2))
    y = np.sin(5 * X[:, 0])
    y[::10] += 10
    with listening(Stop()):
        model = SCNRegressor(loss="kde", **SMALL).fit(X, y)
    assert isinstance(model.network_.loss, KernelDensity)
    assert (model.stop_reason_, model.n_nodes_ <= 3) == ("callback", True)


@pytest.mark.parametrize("parameters", [{"loss": "foo"}, {"algorithm": "SC-IV"}])
def test_unknown_names_in_ensembles_are_explained(parameters):
    with pytest.raises(ValueError, match="parameter of SCNRegressor must be a str among"):
        SCNEnsembleRegressor(SCNRegressor(**parameters)).fit(RNG.uniform(size=(50, 2)), np.arange(50.0))


def test_a_density_without_any_residual_nearby():
    far = np.full((50, 1), 100.0)
    loss = KernelDensity().adapted(lambda function: ArrayStatistics(function(far, np.zeros_like(far))))
    assert np.isfinite(loss.row_weights(far, np.zeros_like(far))).all()
