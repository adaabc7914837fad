"""What skl2onnx asks for: the shapes of the outputs of each estimator, and its operators."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from skscn import estimators
from skscn.estimators import SCNClassifier, SCNEnsembleClassifier, SCNEnsembleRegressor
from skscn.estimators.networks import filling_of, is_multilabel
from skscn.extras import optional
from skscn.network import Network
from skscn.onnx._classes import class_outputs, class_probabilities
from skscn.onnx._graph import PURPOSE, GraphBuilder
from skscn.onnx._networks import filled_rows, hidden_columns, network_outputs, scaled_rows, weighted_sum
from skscn.tables.filling import Filling


class HiddenLayer(TransformerMixin, BaseEstimator):
    """A network used as a transformer, in a Pipeline before the last step."""

    def __init__(self, network: Network):
        self.network = network


class FilledIn(TransformerMixin, BaseEstimator):
    """What fills in missing numbers, as a step."""

    def __init__(self, filling: Filling):
        self.filling = filling

    @property
    def n_features_in_(self) -> int:
        return self.filling.n_features


def register_converters() -> None:
    """Register the estimators with skl2onnx, whose own ``to_onnx`` then exports pipelines that end with one.

    For classifiers pass ``options={"zipmap": False}``, since ZipMap supports single precision only. skl2onnx treats a
    network before the last step as one that predicts; :func:`~skscn.onnx.to_onnx` exports it as a transformer.
    """
    update = optional("skl2onnx", PURPOSE).update_registered_converter
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
    update(HiddenLayer, "SkscnHiddenLayer", _hidden_shapes, _convert_hidden)
    update(FilledIn, "SkscnFilledIn", _filled_shapes, _convert_filling)


def _hidden_shapes(operator: Any) -> None:
    types = optional("skl2onnx.common.data_types", PURPOSE)
    nodes = operator.raw_operator.network.n_nodes
    operator.outputs[0].type = types.DoubleTensorType([operator.inputs[0].get_first_dimension(), nodes])


def _filled_shapes(operator: Any) -> None:
    types = optional("skl2onnx.common.data_types", PURPOSE)
    width = operator.raw_operator.filling.width
    operator.outputs[0].type = types.DoubleTensorType([operator.inputs[0].get_first_dimension(), width])


def _regressor_shapes(operator: Any) -> None:
    types = optional("skl2onnx.common.data_types", PURPOSE)
    model = operator.raw_operator
    network = model.members_[0].network_ if isinstance(model, SCNEnsembleRegressor) else model.network_
    operator.outputs[0].type = types.DoubleTensorType([operator.inputs[0].get_first_dimension(), network.n_outputs])


def _classifier_shapes(operator: Any) -> None:
    types = optional("skl2onnx.common.data_types", PURPOSE)
    classes, rows = operator.raw_operator.classes_, operator.inputs[0].get_first_dimension()
    texts = classes.dtype.kind in "UO"
    shape = [rows, len(classes)] if _has_labels(operator.raw_operator) else [rows]
    operator.outputs[0].type = (types.StringTensorType if texts else types.Int64TensorType)(shape)
    operator.outputs[1].type = types.DoubleTensorType([rows, len(classes)])


def _convert_hidden(scope: Any, operator: Any, container: Any) -> None:
    graph, network = GraphBuilder(scope, container), operator.raw_operator.network
    x = graph("Cast", operator.inputs[0].full_name, to=graph.double)
    graph.name(hidden_columns(graph, scaled_rows(graph, x, network.inputs), network), operator.outputs[0])


def _convert_filling(scope: Any, operator: Any, container: Any) -> None:
    graph = GraphBuilder(scope, container)
    x = graph("Cast", operator.inputs[0].full_name, to=graph.double)
    graph.name(filled_rows(graph, x, operator.raw_operator.filling), operator.outputs[0])


def _rows(graph: GraphBuilder, operator: Any) -> str:
    """The rows that the networks of an estimator see."""
    x, model = graph("Cast", operator.inputs[0].full_name, to=graph.double), operator.raw_operator
    if model.encoder_ is not None and model.encoder_.table is not None:
        raise ValueError("skl2onnx cannot export a model that was fitted on a table; use skscn.onnx.to_onnx.")
    filling = filling_of(model)
    return x if filling is None else filled_rows(graph, x, filling)


def _convert_regressor(scope: Any, operator: Any, container: Any) -> None:
    graph, model = GraphBuilder(scope, container), operator.raw_operator
    x = _rows(graph, operator)
    if isinstance(model, SCNEnsembleRegressor):
        predictions = weighted_sum(
            graph, x, model, lambda member, columns: network_outputs(graph, columns, member.network_)
        )
    else:
        predictions = network_outputs(graph, x, model.network_)
    graph.name(predictions, operator.outputs[0])


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    graph, model = GraphBuilder(scope, container), operator.raw_operator
    x = _rows(graph, operator)
    if isinstance(model, SCNEnsembleClassifier):
        probabilities = decision = _ensemble_probabilities(graph, x, model)
    else:
        decision = class_outputs(graph, x, model)
        probabilities = class_probabilities(graph, decision, model)
    if _has_labels(model):
        chosen = graph("Cast", graph("Greater", probabilities, graph.constant(0.5)), to=graph.integer)
        graph.name(chosen, operator.outputs[0])
        graph.name(probabilities, operator.outputs[1])
        return
    winners = graph("ArgMax", decision, axis=1, keepdims=0)
    graph.name(graph("Gather", graph.constant(_labels(model.classes_)), winners, axis=0), operator.outputs[0])
    graph.name(probabilities, operator.outputs[1])


def _ensemble_probabilities(graph: GraphBuilder, x: str, model: SCNEnsembleClassifier) -> str:
    """The members' probabilities combined, as in the ensemble."""

    def probabilities(member: SCNClassifier, columns: str) -> str:
        return class_probabilities(graph, class_outputs(graph, columns, member), member)

    if model.members_[0].calibration_ is not None:
        return weighted_sum(graph, x, model, probabilities)
    logarithms = weighted_sum(graph, x, model, lambda member, columns: graph("Log", probabilities(member, columns)))
    if not _has_labels(model):
        return graph("Softmax", logarithms, axis=1)

    def opposite(member: SCNClassifier, columns: str) -> str:
        return graph("Log", graph("Sub", graph.constant(1.0), probabilities(member, columns)))

    return graph("Sigmoid", graph("Sub", logarithms, weighted_sum(graph, x, model, opposite)))


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
