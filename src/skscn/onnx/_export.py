"""A fitted model, or a pipeline that ends with one, as a graph."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

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
from skscn.recurrent import RecurrentSCNRegressor
from skscn.recurrent.step import step_graph
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

    A :class:`~skscn.RecurrentSCNRegressor` becomes the graph of one step, to be run row by row. Its inputs are ``X``, a
    row for each of one or several sequences side by side, and ``state``; its outputs are ``variable``, the predictions,
    and ``next_state``, the ``state`` of the next row. :func:`~skscn.onnx.step_state` returns the first one. If the
    model was fitted with ``feedback=True``, there is also an input ``y_before``, the target of the row before, NaN
    where it is not known, and an output ``forecast``, the prediction within the limits of the model: used as the next
    ``y_before``, it gives what :meth:`~skscn.RecurrentSCNRegressor.forecast` does.

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
