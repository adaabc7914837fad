"""Networks that follow a stream in a model file, with all that they need to go on as if they had never stopped."""

from __future__ import annotations

from typing import Any

import numpy as np

from skscn.adaptive_intervals import RECENT, AdaptiveWidth
from skscn.nodes import LAYERS, Dense, Nodes
from skscn.online import (
    ErrorRise,
    EventLog,
    OnlineSCNClassifier,
    OnlineSCNRegressor,
    StreamColumns,
    StreamLearner,
    StreamModel,
)
from skscn.persistence._base import Field, Shelf, Sizes, UnusableError, shortened
from skscn.persistence._by_json import GATE
from skscn.persistence._composed import Added, Record, Several
from skscn.persistence._estimator import FittedEstimator
from skscn.persistence._fields import Array, Enumerated, Scalar
from skscn.persistence._registered import Registered
from skscn.persistence._scalings import scaling
from skscn.persistence._values import Labels
from skscn.recursive import ONLINE_MIXTURE, ExpertMixture, RecursiveWeights

# Letters of shapes: d inputs, m outputs, L nodes, k columns, e experts, g gains, p·q parts, t rows, r errors.
_COUNT = Scalar(0, 2**53, whole=True)
_EVENTS = ("alarm", "grown", "extended", "kept", "rejected", "set aside")
_REASONS = ("warm-up", "more rows", "drift", "target", "input")


def _check_columns(columns: StreamColumns) -> None:
    nodes = columns.nodes
    if not isinstance(nodes.layer, Dense) or not nodes.layer.fits(nodes, len(columns.inputs.offset)):
        raise UnusableError("the nodes of a stream do not fit its inputs")


def _check_model(model: StreamModel) -> None:
    count = model.columns.count
    if any(len(recursive.root) != count for recursive in model.sets):
        raise UnusableError("the output weights of a stream do not fit its columns")
    if any(recursive.turn >= count for recursive in model.sets):
        raise UnusableError("the output weights of a stream have more columns than nodes")


_COLUMNS = Record(
    StreamColumns,
    _check_columns,
    inputs=scaling("d"),
    nodes=Record(
        Nodes,
        layer=Registered("layers", LAYERS),
        weights=Array(np.float64, "dL"),
        biases=Array(np.float64, "L"),
        scopes=Array(np.float64, "L", finite=False),
    ),
)
_MODEL = Record(
    StreamModel,
    _check_model,
    columns=_COLUMNS,
    targets=scaling("m"),
    low=Array(np.float64, "m"),
    high=Array(np.float64, "m"),
    sets=Several(
        Record(
            RecursiveWeights,
            weights=Array(np.float64, "km"),
            root=Array(np.float64, "kk"),
            forgetting=Scalar(0.5, 1.0),
            alpha=Scalar(np.finfo(np.float64).tiny),
            turn=_COUNT,
            owed=Added(_COUNT, 0),
            stretch=Added(Scalar(1.0), 1.0),
        ),
        fewest=1,
    ),
)


def _mixture(corrections: np.ndarray, losses: np.ndarray, rows: float) -> ExpertMixture:
    """A mixture; files of version 0.2 have the losses of each expert in a row."""
    if losses.size != corrections.shape[0] * corrections.shape[1]:
        raise UnusableError("the errors of a mixture do not fit its experts")
    return ExpertMixture(ONLINE_MIXTURE, corrections, losses.reshape(-1, 1), rows)


class _Log:
    """Events, in the header."""

    def write(self, value: EventLog, place: str, shelf: Shelf) -> list[list[Any]]:
        return [
            [None if isinstance(item, float) and np.isnan(item) else item for item in event.tolist()]
            for event in value.table
        ]

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> EventLog:
        if not isinstance(stored, list):
            raise UnusableError(f"{place} is {shortened(stored)}")
        return EventLog(self._event(item, place) for item in stored)

    def _event(self, stored: Any, place: str) -> Any:
        if not isinstance(stored, list) or len(stored) != 6:
            raise UnusableError(f"{place} is {shortened(stored)}")
        error = Scalar(0.0, nan=True)
        fields: list[Field] = [_COUNT, Enumerated(*_EVENTS), Enumerated(*_REASONS), _COUNT, error, error]
        return tuple(field.read(item, place, Shelf(), {}) for field, item in zip(fields, stored, strict=True))


_LEARNER = Record(
    dict,
    seed=Scalar(0, 2**31, whole=True),
    rows=Scalar(1, 2**53, whole=True),
    attempts=_COUNT,
    regime=_COUNT,
    next=Scalar(0.0),
    drifted=Enumerated(False, True),
    trial_rows=_COUNT,
    newest=Scalar(0, 1, whole=True),
    set_aside=Added(_COUNT, 0),
    gate=Added(GATE, None),
    input_gate=Added(GATE, None),
    level=Array(np.float64, "m"),
    units=Array(np.float64, "m", lowest=np.finfo(np.float64).tiny),
    squares=Array(np.float64, "e", lowest=0.0),
    models=Several(_MODEL, apart=True),
    mixture=Record(
        _mixture,
        corrections=Array(np.float64, "egm"),
        losses=Array(np.float64, "pq", lowest=0.0),
        rows=Scalar(0.0),
    ),
    detector=Record(
        ErrorRise,
        rows=_COUNT,
        mean=Scalar(0.0),
        variance=Scalar(0.0),
        excess=Scalar(0.0),
        since=_COUNT,
        lately=Added(Scalar(), 0.0),
        variation=Added(Scalar(0.0), 0.0),
        compared=Added(_COUNT, 0),
        inertia=Added(Scalar(1.0), 1.0),
        caution=Added(Scalar(0.0), 0.0),
    ),
    last_inputs=Array(np.float64, "td"),
    last_targets=Array(np.float64, "tm"),
    log=_Log(),
)
_WIDTH = Record(
    AdaptiveWidth.restored,
    coverage=Scalar(1e-12, 1.0 - 1e-12),
    level=Array(np.float64, "m"),
    recent=Array(np.float64, "rm", lowest=0.0),
)


def _derived(estimator: Any, sizes: Sizes) -> dict[str, Any]:
    """The learner, made of the parameters and of what was stored of it."""
    state = estimator.learner_
    settings = estimator.settings(state.pop("seed"))
    width, outputs = state["last_inputs"].shape[1], len(state["level"])
    shapes = {(len(model.columns.inputs.offset), len(model.targets.offset)) for model in state["models"]}
    if shapes - {(width, outputs)}:
        raise UnusableError("the models of a stream do not have the inputs and outputs of its rows")
    try:
        learner = StreamLearner.restored(settings, state)
    except ValueError as error:
        raise UnusableError(str(error)) from error
    return {"learner_": learner, "n_features_in_": width}


def _derived_of_regressor(estimator: OnlineSCNRegressor, sizes: Sizes) -> dict[str, Any]:
    if len(estimator.width_.recent) > RECENT or (estimator._single_output and sizes["m"] != 1):
        raise UnusableError("a stream has several outputs where it should have one, or too many errors")
    return _derived(estimator, sizes)


def _derived_of_classifier(estimator: OnlineSCNClassifier, sizes: Sizes) -> dict[str, Any]:
    if len(estimator.classes_) != sizes["m"]:
        raise UnusableError("a stream does not have one output for each class")
    return _derived(estimator, sizes)


ONLINE: dict[str, Field] = {
    "OnlineSCNRegressor": FittedEstimator(
        OnlineSCNRegressor,
        {"learner_": _LEARNER, "width_": _WIDTH, "_single_output": Enumerated(False, True)},
        _derived_of_regressor,
    ),
    "OnlineSCNClassifier": FittedEstimator(
        OnlineSCNClassifier, {"learner_": _LEARNER, "classes_": Labels()}, _derived_of_classifier
    ),
}
