"""Parts of one's own: a class of at most 40 lines and one line in a registry, and everything else works with it.

The classes are what somebody who adds a part would write in a file of its own. Each is fitted, predicted with, saved
and loaded; on Dask it works as well, or is refused in one sentence.
"""

import inspect
from dataclasses import dataclass
from typing import ClassVar

import dask.array as da
import numpy as np
import onnxruntime
import pytest

from skscn import SCNClassifier, SCNEnsembleRegressor, SCNRegressor, load_model, save_model
from skscn.activations import ACTIVATIONS
from skscn.losses import LOSSES, Loss, Squared
from skscn.nodes import LAYERS, Dense, Layer, Nodes
from skscn.onnx import to_onnx
from skscn.output_weights import ALGORITHMS, OutputWeights
from skscn.persistence import ModelFileError
from skscn.progress import Listener, listening
from skscn.rows import Operation
from skscn.search import CONFIGURATIONS, Ladder
from skscn.supervision import SUPERVISIONS, Supervision


@dataclass(frozen=True)
class Radial(Layer):
    """Nodes h(x) = exp(−‖b(x − w)‖²): bumps around w."""

    bound: ClassVar[float] = 1.0

    def values(self, x, folded):
        """Distances by one matrix product."""
        centres, widths = folded[:-1], folded[-1]
        X = x[:, :-1]
        distances = (X**2).sum(axis=1, keepdims=True) - 2 * X @ centres + (centres**2).sum(axis=0)
        return np.exp(-(widths**2) * np.maximum(distances, 0))

    def operators(self, graph, x, nodes):
        """The same in ONNX."""
        centres = graph.constant(nodes.weights)
        squares = graph("ReduceSum", graph("Mul", x, x), graph.constant(np.array([1])), keepdims=1)
        products = graph("Mul", graph("MatMul", x, centres), graph.constant(2.0))
        offsets = graph.constant((nodes.weights**2).sum(axis=0))
        distances = graph("Add", graph("Sub", squares, products), offsets)
        distances = graph("Max", distances, graph.constant(0.0))
        return graph("Exp", graph("Mul", distances, graph.constant(-(nodes.biases**2))))


@dataclass(frozen=True)
class Upper(Layer):
    """Nodes h(x) = tanh(wᵀz + b), where z are the columns of the nodes of a layer below."""

    bound: ClassVar[float] = 1.0
    below: ClassVar[Nodes]

    def width(self, n_inputs):
        """A weight for each node below."""
        return len(self.below)

    def features(self, X):
        """What nodes see."""
        return self.below.layer.hidden(X, self.below)

    def hidden(self, X, nodes):
        """From features."""
        return np.tanh(X @ nodes.weights.astype(X.dtype) + nodes.biases.astype(X.dtype))

    def values(self, x, folded):
        """From inputs."""
        return np.tanh(self.features(x[:, :-1]) @ folded[:-1] + folded[-1])


@dataclass(frozen=True)
class Absolute(Loss):
    """The absolute error, by iteratively reweighted least squares."""

    rounds: ClassVar[int] = 6
    smallest: float = 0.02

    def working(self, y, f):
        """Rows far away count less, each in proportion to 1/|y − f|."""
        if f is None:
            return y, None
        return y, self.smallest / np.maximum(self.value(y, f), self.smallest)

    def value(self, y, f):
        """|y − f|, summed over the outputs."""
        return np.abs(y - f).sum(axis=1)


class Tumbling(OutputWeights):
    """Evaluates the nodes of a window together; when it is full, a new one begins."""

    takes_blocks: ClassVar[bool] = False
    # The window is for nodes.
    keeps_linear: ClassVar[bool] = False

    def join(self, rows, block):
        """Add a node; leave the weights of a full window as they are."""
        super().join(rows, block)
        if len(self.factor) >= self.window:
            self._forget(rows)


@dataclass(frozen=True)
class Centre(Operation):
    """Σ e² x and Σ e²: where the squared error is."""

    def __call__(self, storage, rows):
        squares = (storage.residual[rows] ** 2).sum(axis=1)
        return squares @ storage.inputs.block(rows)


class Centred(Ladder):
    """The paper's search, with transitions through the centre of the error."""

    def propose(self, rows, node, rng, count):
        """One pool a scope, placed by one more pass over the rows."""
        total = rows.backend.total(Centre())
        centre = total[:-1] / total[-1]
        for scope in self.scopes:
            weights = rng.uniform(-scope, scope, (rows.n_features, self.max_candidates))
            pool = rows.nodes(weights, -centre @ weights, scope)
            yield from self._propose_from(rows, pool, node, count, self.max_candidates, self.contractions)


class Share(Supervision):
    """Node L must remove at least 1/1000L of the squared error of every output."""

    def slack(self, sums, residual_squares, contraction, node):
        """Without r."""
        return sums.decreases - 0.001 / node * residual_squares


RNG = np.random.default_rng(0)
X = RNG.uniform(size=(400, 2))
Y = np.sin(4 * X[:, 0]) * X[:, 1] + 0.02 * RNG.normal(size=400)
SMALL = {"max_nodes": 15, "max_candidates": 50, "random_state": 0}
Upper.below = Nodes(Dense(ACTIVATIONS["tanh"]), RNG.uniform(-3, 3, (2, 12)), RNG.uniform(-3, 3, 12))
REGISTERED = {
    "radial layer": (LAYERS, "radial", Radial, {"layer": "radial", "configuration": "ladder"}),
    "radial layer, default search": (LAYERS, "radial", Radial, {"layer": "radial"}),
    "layer on a layer": (LAYERS, "upper", Upper, {"layer": "upper", "configuration": "ladder", "scopes": (1, 5)}),
    "layer on a layer, default search": (LAYERS, "upper", Upper, {"layer": "upper"}),
    "loss": (LOSSES, "l1", Absolute, {"loss": "l1"}),
    "update rule": (ALGORITHMS, "SC-tumbling", Tumbling, {"algorithm": "SC-tumbling", "window": 4}),
    "row operation": (CONFIGURATIONS, "centred", Centred, {"configuration": "centred", "scopes": (1, 5, 20)}),
    "inequality": (SUPERVISIONS, "share", Share, {"supervision": "share"}),
}


@pytest.fixture(params=REGISTERED)
def parameters(request, monkeypatch):
    """One line in a registry."""
    registry, name, part, parameters = REGISTERED[request.param]
    monkeypatch.setitem(registry, name, part)
    return {**SMALL, **parameters}


@pytest.mark.parametrize("part", [Radial, Upper, Absolute, Tumbling, Centre, Centred, Share])
def test_a_part_is_short(part):
    assert len(inspect.getsource(part).splitlines()) <= 40


def test_it_is_fitted_predicted_with_saved_and_loaded(parameters, tmp_path):
    model = SCNRegressor(**parameters).fit(X, Y)
    assert model.n_nodes_ > 3
    within_rounds = np.diff(model.history_["round"]) == 0
    assert (np.diff(model.history_["train_rmse"])[within_rounds] < 0).all()
    assert (model.history_["slack"] >= 0).all()
    assert np.mean((model.predict(X) - Y) ** 2) < 0.5 * np.var(Y)
    save_model(model, tmp_path / "model.scn")
    loaded = load_model(tmp_path / "model.scn")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.get_params() == model.get_params()
    last = list(model.staged_predict(X))[-1]
    np.testing.assert_allclose(last, model.predict(X), atol=1e-9)


def test_ensembles_have_it_too(parameters):
    ensemble = SCNEnsembleRegressor(SCNRegressor(**parameters), n_members=2, random_state=0).fit(X, Y)
    assert np.mean((ensemble.predict(X) - Y) ** 2) < 0.5 * np.var(Y)


def test_dask_has_it_too(parameters):
    rows, target = da.from_array(X, chunks=(150, 2)), da.from_array(Y, chunks=150)
    model = SCNRegressor(**parameters).fit(rows, target)
    np.testing.assert_array_equal(model.predict(X), SCNRegressor(**parameters).fit(X, Y).predict(X))


def test_files_have_it_too(parameters, tmp_path):
    np.savetxt(tmp_path / "rows.csv", np.column_stack([X, Y]), delimiter=",", header="a,b,y", comments="", fmt="%.17g")
    network = SCNRegressor(**parameters).fit(tmp_path / "rows.csv", "y").network_
    np.testing.assert_array_equal(network.predict(X), SCNRegressor(**parameters).fit(X, Y).predict(X))


@pytest.mark.parametrize("search", ["ladder", "polished"])
def test_the_layer_writes_its_own_onnx_operators(search, monkeypatch):
    monkeypatch.setitem(LAYERS, "radial", Radial)
    model = SCNRegressor(layer="radial", configuration=search, **SMALL).fit(X, Y)
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    (found,) = session.run(None, {"X": X})
    np.testing.assert_allclose(found[:, 0], model.predict(X), atol=1e-9)


def test_a_layer_without_operators_is_refused_by_onnx(monkeypatch):
    monkeypatch.setitem(LAYERS, "upper", Upper)
    model = SCNRegressor(layer="upper", configuration="ladder", **SMALL).fit(X, Y)
    with pytest.raises(ValueError, match="layer Upper have no counterpart in ONNX"):
        to_onnx(model)


def test_a_loss_makes_the_fit_robust(monkeypatch):
    monkeypatch.setitem(LOSSES, "l1", Absolute)
    wrong = Y.copy()
    wrong[RNG.choice(400, 40, replace=False)] += 10
    squared, absolute = (SCNRegressor(loss=loss, **SMALL).fit(X, wrong) for loss in ("squared", "l1"))
    errors = [
        np.sqrt(np.mean((model.predict(X) - np.sin(4 * X[:, 0]) * X[:, 1]) ** 2)) for model in (squared, absolute)
    ]
    assert errors[1] < 0.3 * errors[0]


@dataclass(frozen=True)
class Logarithm(Loss):
    """Squared error of log y, in one round; predicts exp f."""

    def working(self, y, f):
        return np.log(y), None

    def value(self, y, f):
        return ((np.log(y) - f) ** 2).sum(axis=1)

    def mean(self, f):
        return np.exp(f)


def test_a_loss_with_a_link_is_the_same_on_dask_and_refused_by_onnx(monkeypatch):
    monkeypatch.setitem(LOSSES, "log", Logarithm)
    positive = np.exp(Y)
    model = SCNRegressor(loss="log", **SMALL).fit(X, positive)
    assert model.score(X, positive) > 0.9
    rows, target = da.from_array(X, chunks=(150, 2)), da.from_array(positive, chunks=150)
    np.testing.assert_array_equal(SCNRegressor(loss="log", **SMALL).fit(rows, target).predict(X), model.predict(X))
    with pytest.raises(ValueError, match="What the loss Logarithm predicts has no counterpart in ONNX"):
        to_onnx(model)


def test_what_a_loss_cannot_be_combined_with(monkeypatch):
    monkeypatch.setitem(LOSSES, "l1", Absolute)
    with pytest.raises(ValueError, match="is for regression; use loss='squared' or loss='log_loss' for classes"):
        SCNClassifier(loss="l1").fit(X, Y > 0)


def test_weights_of_a_loss_must_be_positive(monkeypatch):
    monkeypatch.setattr(Absolute, "working", lambda self, y, f: (y, np.zeros(len(y))))
    monkeypatch.setitem(LOSSES, "l1", Absolute)
    with pytest.raises(ValueError, match="working weights of a loss must be positive and finite"):
        SCNRegressor(loss="l1").fit(X, Y)


def test_a_fit_that_is_stopped_begins_no_further_round(monkeypatch):
    monkeypatch.setitem(LOSSES, "l1", Absolute)

    class Stop(Listener):
        steps = 0

        def step(self, step, max_nodes):
            self.steps += 1
            return True

    listener = Stop()
    with listening(listener):
        model = SCNRegressor(loss="l1", **SMALL).fit(X, Y)
    assert (listener.steps, model.stop_reason_) == (1, "callback")


@dataclass(frozen=True)
class Picky(Squared):
    """A loss with a field that cannot be kept in files."""

    rate: float | None = None


def test_a_field_that_files_cannot_contain_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(LOSSES, "picky", Picky)
    model = SCNRegressor(loss="picky", **SMALL).fit(X, Y)
    with pytest.raises(ModelFileError, match="a field of type .* cannot be kept in files"):
        save_model(model, tmp_path / "model.scn")
