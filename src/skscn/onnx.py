"""Models as ONNX graphs, in double precision: scaling, network, bounds, and for classifiers labels and probabilities.

The converters are those of skl2onnx, so whole pipelines export as well. Graphs use operators that onnxruntime has in
float64 on processors.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skscn import __version__, estimators
from skscn.activations import ACTIVATIONS, Activation
from skscn.estimators import SCNClassifier, SCNEnsembleClassifier, SCNEnsembleRegressor
from skscn.estimators.calibration import Calibration
from skscn.estimators.growing import GrowingNetwork
from skscn.estimators.networks import is_multilabel, parts_of
from skscn.extras import optional
from skscn.files import replace_file
from skscn.network import Network
from skscn.recurrent import RecurrentSCNRegressor
from skscn.recurrent.step import step_graph, step_state
from skscn.scaling import QuantileScaling
from skscn.tables import TableEncoder, prepend_table
from skscn.tables.filling import Filling

__all__ = ["register_converters", "step_state", "to_onnx"]

_PURPOSE = "ONNX"
_LARGEST = np.finfo(np.float64).max
# Since this version ReduceSum accepts its axes as an input.
_OLDEST_OPSET = 13


def to_onnx(model: BaseEstimator, path: str | os.PathLike[str] | None = None, target_opset: int | None = None) -> Any:
    """Convert a fitted model to an ONNX graph that makes the same predictions.

    The input of the graph is ``X``, float64 of shape (rows, inputs). A regressor has the output ``variable`` of shape
    (rows, outputs); a classifier has ``label`` and ``probabilities``, of shape (rows, labels) both if there are several
    labels. There are no intervals or staged predictions.
    If a :class:`~skscn.tables.TableEncoder` is the first step, or the model was fitted on a table with columns that are
    encoded, each column of the table is an input of the graph, as described in
    :func:`~skscn.tables.prepend_table`. Missing numbers are filled in by the graph if training rows had some.

    A :class:`~skscn.RecurrentSCNRegressor` becomes the graph of one step, to be run row by row. Its inputs are ``X``, a
    row for each of one or several sequences side by side, and ``state``; its outputs are ``variable``, the predictions,
    and ``next_state``, the ``state`` of the next row. :func:`step_state` returns the first one. If the model was fitted
    with ``feedback=True``, there is also an input ``y_before``, the target of the row before, NaN where it is not
    known, and an output ``forecast``, the prediction within the limits of the model: used as the next ``y_before``, it
    gives what :meth:`~skscn.RecurrentSCNRegressor.forecast` does.

    Parameters
    ----------
    model : fitted scikit-scn estimator, or Pipeline that ends with one
        Other steps may be those that skl2onnx supports, networks as transformers, and a TableEncoder at the beginning;
        before a recurrent network, only the latter.
    path : path-like, default=None
        Where to write the graph; None means that it is only returned.
    target_opset : int, default=None
        Version of ONNX's operators, 13 or later; None means the newest that skl2onnx knows, and 13 for a step.

    Returns
    -------
    graph : onnx.ModelProto

    Raises
    ------
    ValueError
        If a part of the model has no counterpart in ONNX.

    Examples
    --------
    >>> import onnxruntime
    >>> from sklearn.datasets import load_diabetes
    >>> from skscn import SCNRegressor
    >>> from skscn.onnx import to_onnx
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SCNRegressor(max_nodes=10, random_state=0).fit(X, y)
    >>> session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    >>> predictions = session.run(["variable"], {"X": X})[0][:, 0]
    >>> bool(abs(predictions - model.predict(X)).max() < 1e-9 * abs(y).max())
    True
    """
    model = _unfolded(model)
    if isinstance(model, Pipeline) and len(model) > 1 and isinstance(model[0], TableEncoder):
        rest = model[1:] if len(model) > 2 else model[-1]
        graph = prepend_table(to_onnx(rest, target_opset=target_opset), model[0])
        return _written(graph, path)
    *before, last = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    if not isinstance(last, RecurrentSCNRegressor) and type(last).__name__ not in estimators.__all__:
        raise ValueError(f"{type(last).__name__} is not a scikit-scn estimator; skl2onnx.to_onnx may support it.")
    if target_opset is not None and target_opset < _OLDEST_OPSET:
        raise ValueError(f"The graph needs target_opset={_OLDEST_OPSET} or later; got {target_opset}.")
    check_is_fitted(last)
    if isinstance(last, RecurrentSCNRegressor):
        return _written(_signed(_step_after(before, last, target_opset)), path)
    return _written(_signed(_converted(model, before, last, target_opset)), path)


def _step_after(before: list[BaseEstimator], last: RecurrentSCNRegressor, target_opset: int | None) -> Any:
    if before:
        raise ValueError(
            f"A step of a recurrent network cannot be exported after {type(before[-1]).__name__}; export the last step "
            "alone, to_onnx(pipeline[-1]), and apply the other steps before the graph."
        )
    return step_graph(last, target_opset)


def _converted(model: BaseEstimator, before: list[BaseEstimator], last: Any, target_opset: int | None) -> Any:
    register_converters()
    skl2onnx = optional("skl2onnx", _PURPOSE)
    types = optional("skl2onnx.common.data_types", _PURPOSE)
    exceptions = optional("skl2onnx.common.exceptions", _PURPOSE)
    try:
        return skl2onnx.to_onnx(
            _with_hidden_layers(model),
            name=type(last).__name__,
            initial_types=[("X", types.DoubleTensorType([None, model.n_features_in_]))],
            options={id(last): {"zipmap": False}} if hasattr(last, "classes_") else None,
            target_opset=target_opset,
        )
    except (exceptions.MissingConverter, exceptions.MissingShapeCalculator) as error:
        raise ValueError(
            f"skl2onnx has no counterpart for one of the steps {', '.join(type(step).__name__ for step in before)}; "
            "export the last step alone, to_onnx(pipeline[-1]), and apply the other steps before the graph."
        ) from error


def _signed(graph: Any) -> Any:
    graph.producer_name, graph.producer_version = "scikit-scn", __version__
    return graph


def _written(graph: Any, path: str | os.PathLike[str] | None) -> Any:
    if path is not None:
        replace_file(Path(path), graph.SerializeToString())
    return graph


class _HiddenLayer(TransformerMixin, BaseEstimator):
    """A network used as a transformer, in a Pipeline before the last step."""

    def __init__(self, network: Network):
        self.network = network


class _FilledIn(TransformerMixin, BaseEstimator):
    """What fills in missing numbers, as a step."""

    def __init__(self, filling: Filling):
        self.filling = filling

    @property
    def n_features_in_(self) -> int:
        return self.filling.n_features


def _unfolded(model: BaseEstimator) -> BaseEstimator:
    """The model with what estimators do before their networks as steps of a Pipeline."""
    steps = model.steps if isinstance(model, Pipeline) else [("model", model)]
    parts = [(name, _as_step(part)) for name, step in steps for part in parts_of(step)]
    if len(parts) == len(steps):
        return model
    return Pipeline([(f"{name} {number}", part) for number, (name, part) in enumerate(parts)])


def _as_step(part: Any) -> Any:
    return _FilledIn(part) if isinstance(part, Filling) else part


def _with_hidden_layers(model: BaseEstimator) -> BaseEstimator:
    """A Pipeline whose networks before the last step are marked as transformers; other models unchanged."""
    if not isinstance(model, Pipeline):
        return model
    *before, last = model.steps
    hidden = [
        (name, _HiddenLayer(step.network_) if isinstance(step, GrowingNetwork) else step) for name, step in before
    ]
    return Pipeline([*hidden, last])


def register_converters() -> None:
    """Register the estimators with skl2onnx, whose own ``to_onnx`` then exports pipelines that end with one.

    For classifiers pass ``options={"zipmap": False}``, since ZipMap supports single precision only. skl2onnx treats a
    network before the last step as one that predicts; :func:`to_onnx` exports it as a transformer.
    """
    update = optional("skl2onnx", _PURPOSE).update_registered_converter
    for name in estimators.__all__:
        cls = getattr(estimators, name)
        is_classifier = hasattr(cls, "predict_proba")
        update(
            cls,
            f"Skscn{name}",
            _classifier_shapes if is_classifier else _regressor_shapes,
            _convert_classifier if is_classifier else _convert_regressor,
            options={"zipmap": [True, False, "columns"]} if is_classifier else None,
        )
    update(_HiddenLayer, "SkscnHiddenLayer", _hidden_shapes, _convert_hidden)
    update(_FilledIn, "SkscnFilledIn", _filled_shapes, _convert_filling)


def _hidden_shapes(operator: Any) -> None:
    types = optional("skl2onnx.common.data_types", _PURPOSE)
    nodes = operator.raw_operator.network.n_nodes
    operator.outputs[0].type = types.DoubleTensorType([operator.inputs[0].get_first_dimension(), nodes])


def _filled_shapes(operator: Any) -> None:
    types = optional("skl2onnx.common.data_types", _PURPOSE)
    width = operator.raw_operator.filling.width
    operator.outputs[0].type = types.DoubleTensorType([operator.inputs[0].get_first_dimension(), width])


def _regressor_shapes(operator: Any) -> None:
    types = optional("skl2onnx.common.data_types", _PURPOSE)
    model = operator.raw_operator
    network = model.members_[0].network_ if isinstance(model, SCNEnsembleRegressor) else model.network_
    operator.outputs[0].type = types.DoubleTensorType([operator.inputs[0].get_first_dimension(), network.n_outputs])


def _classifier_shapes(operator: Any) -> None:
    types = optional("skl2onnx.common.data_types", _PURPOSE)
    classes, rows = operator.raw_operator.classes_, operator.inputs[0].get_first_dimension()
    texts = classes.dtype.kind in "UO"
    shape = [rows, len(classes)] if _has_labels(operator.raw_operator) else [rows]
    operator.outputs[0].type = (types.StringTensorType if texts else types.Int64TensorType)(shape)
    operator.outputs[1].type = types.DoubleTensorType([rows, len(classes)])


def _convert_hidden(scope: Any, operator: Any, container: Any) -> None:
    graph, network = _GraphBuilder(scope, container), operator.raw_operator.network
    x = graph("Cast", operator.inputs[0].full_name, to=graph.double)
    graph.name(_hidden(graph, _scaled(graph, x, network), network), operator.outputs[0])


def _convert_filling(scope: Any, operator: Any, container: Any) -> None:
    graph = _GraphBuilder(scope, container)
    x = graph("Cast", operator.inputs[0].full_name, to=graph.double)
    graph.name(_filled(graph, x, operator.raw_operator.filling), operator.outputs[0])


def _rows(graph: _GraphBuilder, operator: Any) -> str:
    """The rows that the networks of an estimator see."""
    x, encoder = graph("Cast", operator.inputs[0].full_name, to=graph.double), operator.raw_operator.encoder_
    if encoder is not None and encoder.table is not None:
        raise ValueError("skl2onnx cannot export a model that was fitted on a table; use skscn.onnx.to_onnx.")
    return x if encoder is None else _filled(graph, x, encoder.filling)


def _filled(graph: _GraphBuilder, x: str, filling: Filling) -> str:
    """Rows without missing numbers, and the marks; what is filled in is computed for all columns of all rows."""
    missing, width = graph("IsNaN", x), filling.n_features
    filled = graph("Where", missing, graph.constant(filling.medians), x)
    if len(filling.slopes):
        scores = _quantiles(graph, filled, filling.scores)
        # Other columns have the median.
        constant = filling.scores.transform(filling.medians[np.newaxis])[0]
        for some, constants in zip(filling.slopes, filling.intercepts, strict=True):
            slopes, intercepts = np.zeros((width, width)), constant.copy()
            slopes[:, filling.columns], intercepts[filling.columns] = some, constants
            found = graph("Add", graph("MatMul", scores, graph.constant(slopes)), graph.constant(intercepts))
            scores = graph("Where", missing, found, scores)
        filled = graph("Where", missing, _quantiles(graph, scores, filling.values), x)
    if not len(filling.marked):
        return filled
    marks = graph("Gather", missing, graph.constant(filling.marked.astype(np.int64)), axis=1)
    return graph("Concat", filled, graph("Cast", marks, to=graph.double), axis=1)


def _convert_regressor(scope: Any, operator: Any, container: Any) -> None:
    graph, model = _GraphBuilder(scope, container), operator.raw_operator
    x = _rows(graph, operator)
    if isinstance(model, SCNEnsembleRegressor):
        predictions = _weighted(graph, x, model, lambda member, columns: _network(graph, columns, member.network_))
    else:
        predictions = _network(graph, x, model.network_)
    graph.name(predictions, operator.outputs[0])


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    graph, model = _GraphBuilder(scope, container), operator.raw_operator
    x = _rows(graph, operator)
    if isinstance(model, SCNEnsembleClassifier):
        probabilities = decision = _ensemble_probabilities(graph, x, model)
    else:
        decision = _class_outputs(graph, x, model)
        probabilities = _probabilities(graph, decision, model)
    if _has_labels(model):
        chosen = graph("Cast", graph("Greater", probabilities, graph.constant(0.5)), to=graph.integer)
        graph.name(chosen, operator.outputs[0])
        graph.name(probabilities, operator.outputs[1])
        return
    winners = graph("ArgMax", decision, axis=1, keepdims=0)
    graph.name(graph("Gather", graph.constant(_labels(model.classes_)), winners, axis=0), operator.outputs[0])
    graph.name(probabilities, operator.outputs[1])


def _ensemble_probabilities(graph: _GraphBuilder, x: str, model: SCNEnsembleClassifier) -> str:
    """The members' probabilities combined, as in the ensemble."""

    def probabilities(member: SCNClassifier, columns: str) -> str:
        return _probabilities(graph, _class_outputs(graph, columns, member), member)

    if model.members_[0].calibration_ is not None:
        return _weighted(graph, x, model, probabilities)
    logarithms = _weighted(graph, x, model, lambda member, columns: graph("Log", probabilities(member, columns)))
    if not _has_labels(model):
        return graph("Softmax", logarithms, axis=1)

    def opposite(member: SCNClassifier, columns: str) -> str:
        return graph("Log", graph("Sub", graph.constant(1.0), probabilities(member, columns)))

    return graph("Sigmoid", graph("Sub", logarithms, _weighted(graph, x, model, opposite)))


def _has_labels(model: SCNClassifier | SCNEnsembleClassifier) -> bool:
    """Whether it has several labels that do not exclude each other."""
    return is_multilabel(model.members_[0] if isinstance(model, SCNEnsembleClassifier) else model)


def _labels(classes: np.ndarray) -> np.ndarray:
    """Labels as strings or integers; ONNX has no others."""
    if classes.dtype.kind in "UO":
        return classes.astype(object)
    if not np.array_equal(classes, classes.astype(np.int64)):
        raise ValueError(f"Labels in ONNX are strings or 64-bit integers; these are {classes}.")
    return classes.astype(np.int64)


class _GraphBuilder:
    """Adds operators to a graph of skl2onnx; each call returns the name of the operator's output."""

    def __init__(self, scope: Any, container: Any):
        self.scope, self.container = scope, container
        types = optional("onnx", _PURPOSE).TensorProto
        self.double, self.integer = types.DOUBLE, types.INT64

    def __call__(self, kind: str, *inputs: str, **attributes: Any) -> str:
        output: str = self.scope.get_unique_variable_name(kind.lower())
        name = self.scope.get_unique_operator_name(kind)
        self.container.add_node(kind, list(inputs), [output], name=name, **attributes)
        return output

    def constant(self, value: Any) -> str:
        """A constant; numbers are in double precision unless they are integers."""
        value = np.asarray(value)
        value = value if value.dtype.kind in "iO" else value.astype(np.float64)
        name: str = self.scope.get_unique_variable_name("constant")
        tensor = optional("onnx.numpy_helper", _PURPOSE).from_array(
            np.ascontiguousarray(value).reshape(value.shape), name
        )
        self.container.initializers.append(tensor)
        return name

    def name(self, output: str, variable: Any) -> None:
        """Make an output one of the model's outputs."""
        self.container.add_node(
            "Identity", [output], [variable.full_name], name=self.scope.get_unique_operator_name("Identity")
        )

    def activation(self, activation: Activation, z: str) -> str:
        """A registered activation function."""
        if activation.name not in _ACTIVATIONS or activation != ACTIVATIONS.get(activation.name):
            known = ", ".join(_ACTIVATIONS)
            raise ValueError(f"The activation {activation.name!r} has no counterpart in ONNX; use one of {known}.")
        return _ACTIVATIONS[activation.name](self, z)

    def clip(self, x: str, low: Any, high: Any) -> str:
        """Clip between limits that broadcast."""
        return self("Min", self("Max", x, self.constant(low)), self.constant(high))


def _weighted(graph: _GraphBuilder, x: str, model: Any, response: Callable[[Any, str], str]) -> str:
    """The weighted sum of the members' responses."""
    shares = []
    for member, features, weight in zip(model.members_, model.features_, model.weights_, strict=True):
        columns = graph("Gather", x, graph.constant(features.astype(np.int64)), axis=1)
        shares.append(graph("Mul", response(member, columns), graph.constant(weight)))
    return shares[0] if len(shares) == 1 else graph("Sum", *shares)


def _network(graph: _GraphBuilder, x: str, network: Network) -> str:
    """Predictions of shape (rows, outputs)."""
    x = _scaled(graph, x, network)
    straight = graph("MatMul", x, graph.constant(network.linear.direct_weights))
    outputs = graph("Add", straight, graph.constant(network.linear.intercept))
    if network.n_nodes:
        hidden = _hidden(graph, x, network)
        outputs = graph("Add", outputs, graph("MatMul", hidden, graph.constant(network.output_weights)))
    if network.bounds is not None:
        outputs = graph.clip(outputs, *network.bounds)
    unscaled = graph("Mul", outputs, graph.constant(network.outputs.scale))
    unscaled = graph.clip(graph("Add", unscaled, graph.constant(network.outputs.offset)), -_LARGEST, _LARGEST)
    return network.loss.operators(graph, unscaled, network.n_outputs)


def _hidden(graph: _GraphBuilder, x: str, network: Network) -> str:
    """The output of each node for scaled rows."""
    columns = [block.nodes.layer.operators(graph, x, block.nodes) for block in network.layers]
    return columns[0] if len(columns) == 1 else graph("Concat", *columns, axis=1)


def _scaled(graph: _GraphBuilder, x: str, network: Network) -> str:
    scaling = network.inputs
    if isinstance(scaling, QuantileScaling):
        return _quantiles(graph, x, scaling)
    moved = graph("Sub", x, graph.constant(scaling.offset))
    return graph.clip(graph("Div", moved, graph.constant(scaling.scale)), scaling.low, scaling.high)


def _quantiles(graph: _GraphBuilder, x: str, scaling: QuantileScaling) -> str:
    """Linear interpolation between knots: the first share plus the part of each following rise that lies before x."""
    knots, shares = scaling.knots.T.astype(np.float64), scaling.shares.T
    widths = np.diff(knots, axis=1)
    # Where a knot occurs twice there is no rise between the two.
    widths = np.where(widths > 0.0, widths, np.inf)
    beside = graph("Unsqueeze", x, graph.constant(np.array([2])))
    passed = graph("Div", graph("Sub", beside, graph.constant(knots[:, :-1])), graph.constant(widths))
    rises = graph("Mul", graph.clip(passed, 0.0, 1.0), graph.constant(np.diff(shares, axis=1)))
    return graph(
        "Add", graph("ReduceSum", rises, graph.constant(np.array([2])), keepdims=0), graph.constant(shares[:, 0])
    )


def _class_outputs(graph: _GraphBuilder, x: str, model: SCNClassifier) -> str:
    """A column for each class; a network for two classes has one for the second."""
    outputs = _network(graph, x, model.network_)
    if not model.network_.single_output:
        return outputs
    return graph("Concat", graph("Sub", graph.constant(1.0), outputs), outputs, axis=1)


def _probabilities(graph: _GraphBuilder, outputs: str, model: SCNClassifier) -> str:
    """Probabilities, computed as in :class:`~skscn.estimators.calibration.Calibration`."""
    calibration, count = model.calibration_, len(model.classes_)
    if calibration is None:
        return outputs
    powers = graph("Mul", _log_floored(graph, outputs, calibration), graph.constant(calibration.exponent))
    own = graph("Mul", graph("Softmax", powers, axis=1), graph.constant(1.0 - calibration.equal_share))
    return graph("Add", own, graph.constant(calibration.equal_share / count))


def _log_floored(graph: _GraphBuilder, outputs: str, calibration: Calibration) -> str:
    floor = graph.constant(2.0 * calibration.floor)
    size = graph("Abs", graph.clip(outputs, -1e300, 1e300))
    # √(f² + 4ε²) without squares that overflow.
    larger, smaller = graph("Max", size, floor), graph("Min", size, floor)
    ratio = graph("Div", smaller, larger)
    root = graph("Sqrt", graph("Add", graph("Mul", ratio, ratio), graph.constant(1.0)))
    positive = graph("Log", graph("Add", graph("Mul", larger, root), size))
    above = graph("Sub", positive, graph.constant(np.log(2.0)))
    below = graph("Sub", graph.constant(np.log(2.0 * calibration.floor**2)), positive)
    return graph("Where", graph("Greater", outputs, graph.constant(0.0)), above, below)


def _gaussian(graph: _GraphBuilder, z: str) -> str:
    z = graph.clip(z, -40.0, 40.0)
    return graph("Exp", graph("Neg", graph("Mul", z, z)))


def _cosine(graph: _GraphBuilder, z: str) -> str:
    # Older versions of ONNX Runtime have no cosine in double precision.
    return graph("Sin", graph("Add", z, graph.constant(np.pi / 2.0)))


def _operator(kind: str) -> Callable[[_GraphBuilder, str], str]:
    return lambda graph, z: graph(kind, z)


# For each registered activation, its operators.
_ACTIVATIONS: dict[str, Callable[[_GraphBuilder, str], str]] = {
    "sigmoid": _operator("Sigmoid"),
    "tanh": _operator("Tanh"),
    "gaussian": _gaussian,
    "sine": _operator("Sin"),
    "cosine": _cosine,
    "relu": _operator("Relu"),
}
