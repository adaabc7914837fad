"""The operators that make probabilities of what a classifier's network computes."""

from __future__ import annotations

import numpy as np

from skscn.estimators import SCNClassifier
from skscn.estimators.classifier import Calibration
from skscn.onnx._graph import GraphBuilder
from skscn.onnx._networks import network_outputs


def class_outputs(graph: GraphBuilder, x: str, model: SCNClassifier) -> str:
    """A column for each class; a network for two classes has one for the second."""
    outputs = network_outputs(graph, x, model.network_)
    if not model.network_.single_output:
        return outputs
    return graph("Concat", graph("Sub", graph.constant(1.0), outputs), outputs, axis=1)


def class_probabilities(graph: GraphBuilder, outputs: str, model: SCNClassifier) -> str:
    """Probabilities, computed as in :class:`~skscn.estimators.classifier.Calibration`."""
    calibration, count = model.calibration_, len(model.classes_)
    if calibration is None:
        return outputs
    powers = graph("Mul", _log_floored(graph, outputs, calibration), graph.constant(calibration.exponent))
    own = graph("Mul", graph("Softmax", powers, axis=1), graph.constant(1.0 - calibration.equal_share))
    return graph("Add", own, graph.constant(calibration.equal_share / count))


def _log_floored(graph: GraphBuilder, outputs: str, calibration: Calibration) -> str:
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
