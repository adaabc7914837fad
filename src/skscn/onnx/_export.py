"""A fitted model, or a pipeline that ends with one, as a graph."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skscn import __version__, estimators
from skscn.estimators.base import GrowingNetwork
from skscn.estimators.networks import parts_of
from skscn.extras import optional
from skscn.files import replace_file
from skscn.onnx._converters import FilledIn, HiddenLayer, register_converters
from skscn.onnx._graph import PURPOSE
from skscn.onnx._lags import prepend_lags
from skscn.recurrent.predicting import ReservoirRegressor
from skscn.recurrent.reservoir import ReservoirState
from skscn.recurrent.step import flat_state, step_graph
from skscn.series import Lags
from skscn.series.line import LagLine
from skscn.table_model import TableModel
from skscn.tables import TableEncoder, prepend_table
from skscn.tables.filling import Filling

# Since this version ReduceSum accepts its axes as an input.
_OLDEST_OPSET = 13


def to_onnx(model: BaseEstimator, path: str | os.PathLike[str] | None = None, target_opset: int | None = None) -> Any:
    """Convert a fitted model to an ONNX graph that makes the same predictions.

    The input of the graph is ``X``, float64 of shape (rows, inputs). A regressor has the output ``variable`` of shape
    (rows, outputs); a classifier has ``label`` and ``probabilities``, of shape (rows, labels) both if there are several
    labels. There are no intervals or staged predictions.
    If a :class:`~skscn.tables.TableEncoder` is the first step, or the model was fitted on a table with columns that are
    encoded, each column of the table is an input of the graph, as described in
    :func:`~skscn.tables.prepend_table`. Missing numbers, NaN, are filled in by the graph as by ``predict``.

    A recurrent network, or a model with :class:`~skscn.series.Lags`, becomes the graph of one step, to be run row by
    row. Its inputs are ``X``, a row for each of one or several sequences side by side, and ``state``; one more output,
    ``next_state``, is the ``state`` of the next row. :func:`~skscn.onnx.step_state` returns the first one.
    If a recurrent network was fitted with ``feedback=True``, there is also an input ``y_before``, the target of the row
    before, NaN where it is not known, and an output ``forecast``, the prediction within the limits of the model: used
    as the next ``y_before``, it gives what :meth:`~skscn.RecurrentSCNRegressor.forecast` does. If lags use earlier
    targets, there is an input ``y_known``, the target of the row ``delay`` rows before, NaN where it is not known.

    Parameters
    ----------
    model : fitted TableModel or scikit-scn estimator, or Pipeline that ends with one
        Other steps may be those that skl2onnx supports, networks as transformers, and at the beginning a TableEncoder,
        Lags or both; before a recurrent network, only a TableEncoder. The output ``variable`` of a TableModel is within
        its bounds.
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
    if isinstance(model, TableModel):
        graph = to_onnx(model.pipeline(), target_opset=target_opset)
        return _written(graph if model.bounds_ is None else _bounded(graph, model.bounds_), path)
    model = _unfolded(model)
    *before, last = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    prepend: dict[type, Callable[[Any, Any], Any]] = {TableEncoder: prepend_table, Lags: prepend_lags}
    if isinstance(last, ReservoirRegressor):
        del prepend[Lags]
    if before and type(before[0]) in prepend:
        rest = model[1:] if len(before) > 1 else last
        graph = prepend[type(before[0])](to_onnx(rest, target_opset=target_opset), before[0])
        return _written(graph, path)
    if not isinstance(last, ReservoirRegressor) and type(last).__name__ not in estimators.__all__:
        raise ValueError(f"{type(last).__name__} is not a scikit-scn estimator; skl2onnx.to_onnx may support it.")
    if target_opset is not None and target_opset < _OLDEST_OPSET:
        raise ValueError(f"The graph needs target_opset={_OLDEST_OPSET} or later; got {target_opset}.")
    check_is_fitted(last)
    if isinstance(last, ReservoirRegressor):
        return _written(_signed(_step_after(before, last, target_opset)), path)
    return _written(_signed(_converted(model, before, last, target_opset)), path)


def _step_after(before: list[BaseEstimator], last: ReservoirRegressor, target_opset: int | None) -> Any:
    if before:
        raise ValueError(
            f"A step of a recurrent network cannot be exported after {type(before[-1]).__name__}; export the last step "
            "alone, to_onnx(pipeline[-1]), and apply the other steps before the graph."
        )
    return step_graph(last, target_opset)


def _converted(model: BaseEstimator, before: list[BaseEstimator], last: Any, target_opset: int | None) -> Any:
    register_converters()
    skl2onnx = optional("skl2onnx", PURPOSE)
    types = optional("skl2onnx.common.data_types", PURPOSE)
    exceptions = optional("skl2onnx.common.exceptions", PURPOSE)
    try:
        return skl2onnx.to_onnx(
            _with_hidden_layers(model),
            name=type(last).__name__,
            initial_types=[("X", types.DoubleTensorType([None, model.n_features_in_]))],
            options={id(last): {"zipmap": False}} if hasattr(last, "classes_") else None,
            target_opset=target_opset,
        )
    except (exceptions.MissingConverter, exceptions.MissingShapeCalculator) as error:
        steps = ", ".join(type(step).__name__ for step in before if not isinstance(step, FilledIn))
        raise ValueError(
            f"skl2onnx has no counterpart for one of the steps {steps}; "
            "export the last step alone, to_onnx(pipeline[-1]), and apply the other steps before the graph."
        ) from error


def _bounded(graph: Any, bounds: tuple[float, float]) -> Any:
    """Let the predictions of a graph be within bounds."""
    helper, numpy_helper = optional("onnx.helper", PURPOSE), optional("onnx.numpy_helper", PURPOSE)
    for node in graph.graph.node:
        for place, name in enumerate(node.output):
            node.output[place] = "bounds/before" if name == "variable" else name
    ends = [numpy_helper.from_array(np.array(end), f"bounds/{end}") for end in bounds]
    graph.graph.initializer.extend(ends)
    graph.graph.node.extend(
        [
            helper.make_node("Max", ["bounds/before", ends[0].name], ["bounds/above"]),
            helper.make_node("Min", ["bounds/above", ends[1].name], ["variable"]),
        ]
    )
    return graph


def step_state(model: Any, state: Any = None, sequences: int = 1) -> np.ndarray:
    """The state before the first row, as the graph of a step takes it.

    Parameters
    ----------
    model : TableModel or Pipeline with Lags or a recurrent network, or a fitted recurrent network
    state : "end", None, label or ReservoirState, default=None
        None for a cold start, where nothing is known of earlier rows. "end" for the end of training; of a model with
        several series, the label of one of them.
    sequences : int, default=1
        How many sequences the graph is to follow side by side; all of them start here.

    Returns
    -------
    state : ndarray of shape (sequences, size)
        NaN for what is not known. Of a recurrent network: the delay line without the present row, the latest row first;
        the nodes; and with ``feedback=True`` the last output, all of them scaled. Of lags: earlier inputs and targets.
    """
    steps = model.steps if isinstance(model, Pipeline | TableModel) else [("model", model)]
    for _, step in steps:
        if isinstance(step, Lags):
            line = LagLine(step)
            start = line.cold if state is None else line.ends[None if state == "end" else state]
            return np.tile(start, (sequences, 1))
    last = steps[-1][1]
    named = not (state is None or state == "end" or isinstance(state, ReservoirState))
    stream = last.stream(last.states_[state] if named else state, learning=None)
    return np.tile(flat_state(last.reservoir_, stream.state), (sequences, 1))


def _signed(graph: Any) -> Any:
    graph.producer_name, graph.producer_version = "scikit-scn", __version__
    return graph


def _written(graph: Any, path: str | os.PathLike[str] | None) -> Any:
    if path is not None:
        replace_file(Path(path), graph.SerializeToString())
    return graph


def _unfolded(model: BaseEstimator) -> BaseEstimator:
    """The model with what estimators do before their networks as steps of a Pipeline."""
    steps = model.steps if isinstance(model, Pipeline) else [("model", model)]
    parts = [(name, _as_step(part)) for name, step in steps for part in parts_of(step)]
    if len(parts) == len(steps):
        return model
    return Pipeline([(f"{name} {number}", part) for number, (name, part) in enumerate(parts)])


def _as_step(part: Any) -> Any:
    return FilledIn(part) if isinstance(part, Filling) else part


def _with_hidden_layers(model: BaseEstimator) -> BaseEstimator:
    """A Pipeline whose networks before the last step are marked as transformers; other models unchanged."""
    if not isinstance(model, Pipeline):
        return model
    *before, last = model.steps
    hidden = [(name, HiddenLayer(step.network_) if isinstance(step, GrowingNetwork) else step) for name, step in before]
    return Pipeline([*hidden, last])
