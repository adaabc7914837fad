"""Recurrent networks in a model file, and streams with their state."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from skscn.adaptive_intervals import AdaptiveWidth
from skscn.factor import Factor
from skscn.persistence._base import Field, Shelf, Sizes, UnusableError, check_keys, shortened
from skscn.persistence._by_json import GATE
from skscn.persistence._composed import Added, Optional, Record, Several
from skscn.persistence._estimator import FittedEstimator
from skscn.persistence._fields import Array, Enumerated, Scalar, Triangle
from skscn.persistence._network import GROWN
from skscn.persistence._scalings import scaling
from skscn.recurrent import (
    RecurrentNodes,
    RecurrentSCNEnsembleRegressor,
    RecurrentSCNRegressor,
    RecurrentStream,
    Reservoir,
    ReservoirState,
)
from skscn.recurrent.learners import LearntWeights, Standard
from skscn.recurrent.nodes import LARGEST_FEEDBACK
from skscn.recurrent.predicting import ReservoirRegressor
from skscn.recurrent.stream import PastRows
from skscn.recursive import STREAM_MIXTURE, ExpertMixture, RecursiveWeights

# Letters of shapes: d inputs, m outputs, p columns of the delay line, L nodes, q = 1 + p + L, k columns of the factor.
_LABELS = (str, int, float, bool)

_NODES = Record(
    RecurrentNodes,
    weights=Array(np.float64, "pL"),
    biases=Array(np.float64, "L"),
    feedback=Array(np.float64, "L", lowest=-LARGEST_FEEDBACK, highest=LARGEST_FEEDBACK),
    sources=Array(np.int64, "vL", lowest=0),
    source_weights=Array(np.float64, "vL"),
    factors=Array(np.int64, "fL", lowest=-1),
    scopes=Array(np.float64, "L"),
)


def _check_reservoir(reservoir: Reservoir) -> None:
    nodes, kept = reservoir.nodes, reservoir.kept
    columns = 1 + nodes.width + len(nodes)
    if len(nodes.factors) != 2 or ((nodes.factors[0] < 0) != (nodes.factors[1] < 0)).any() or not nodes.is_triangular():
        raise UnusableError("a node of a reservoir uses a node that is not before it")
    if nodes.sources.size and nodes.sources.max() >= len(nodes):
        raise UnusableError("a node of a reservoir uses a node that does not exist")
    if nodes.width != (reservoir.length + 1) * reservoir.n_driving or len(reservoir.output_weights) != columns:
        raise UnusableError("the nodes of a reservoir do not fit its delay line or its outputs")
    if not len(kept) or kept[0] != 0 or len(np.unique(kept)) < len(kept) or kept.max() >= columns:
        raise UnusableError("the columns of a reservoir do not exist, or are there twice")
    if reservoir.input_limits is not None and len(reservoir.input_limits) != 2:
        raise UnusableError("the inputs of a reservoir have no lower and upper limits")
    if reservoir.single_output and reservoir.n_outputs != 1:
        raise UnusableError("a reservoir has several outputs where it should have one")


_RESERVOIR = Record(
    Reservoir,
    _check_reservoir,
    inputs=scaling("d"),
    outputs=scaling("m"),
    length=Scalar(0, 2**31, whole=True),
    fed_back=Enumerated(False, True),
    holds=Enumerated(False, True),
    nodes=_NODES,
    output_weights=Array(np.float64, "qm"),
    low=Array(np.float64, "m"),
    high=Array(np.float64, "m"),
    kept=Array(np.int64, "k", lowest=0),
    factor=Optional(
        Record(
            Factor,
            triangle=Triangle("k"),
            coefficients=Array(np.float64, "km"),
            residual_squares=Array(np.float64, "m", lowest=0.0),
            weight=Scalar(0.0),
            linear=Scalar(0, 2**31, whole=True),
        )
    ),
    alpha=Scalar(0.0),
    single_output=Enumerated(False, True),
    input_limits=Added(Optional(Array(np.float64, "yd")), None),
)


class _OfEstimators:
    """A reservoir, without what further rows could join if the file is to leave it out."""

    def write(self, value: Reservoir, place: str, shelf: Shelf) -> dict[str, Any]:
        written: dict[str, Any] = _RESERVOIR.write(
            value if shelf.updatable else replace(value, factor=None), place, shelf
        )
        return written

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Reservoir:
        reservoir: Reservoir = _RESERVOIR.read(stored, place, shelf, sizes)
        return reservoir


class _Origin:
    """The identity of a reservoir."""

    def write(self, value: str, place: str, shelf: Shelf) -> str:
        return value

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> str:
        if not isinstance(stored, str) or len(stored) != 64:
            raise UnusableError(f"{place} is {shortened(stored)}")
        return stored


_STATE = Record(
    ReservoirState,
    line=Optional(Array(np.float64, "lu")),
    nodes=Array(np.float64, "L"),
    output=Array(np.float64, "m"),
    origin=_Origin(),
)


class _States:
    """The states of several sequences, by their labels."""

    states = Several(_STATE)

    def write(self, value: dict[Any, ReservoirState], place: str, shelf: Shelf) -> dict[str, Any]:
        labels = list(value)
        if not all(type(label) in _LABELS for label in labels):
            raise UnusableError("the labels of groups must be numbers or strings to be kept in files")
        return {"labels": labels, "states": self.states.write(list(value.values()), place, shelf)}

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> dict[Any, ReservoirState]:
        check_keys(stored, ("labels", "states"), place)
        labels, states = stored["labels"], self.states.read(stored["states"], place, shelf, sizes)
        if not isinstance(labels, list) or not all(type(label) in _LABELS for label in labels):
            raise UnusableError(f"{place} has labels that are not numbers or strings")
        if not len(set(labels)) == len(labels) == len(states) > 0:
            raise UnusableError(f"{place} does not have one state for each label")
        return dict(zip(labels, states, strict=True))


def _check_state(reservoir: Reservoir, state: ReservoirState) -> None:
    shape = (reservoir.length, reservoir.n_driving)
    if state.origin != reservoir.origin or (state.line is not None and state.line.shape != shape):
        raise UnusableError("a state belongs to another reservoir")


def _derived(estimator: ReservoirRegressor, sizes: Sizes) -> dict[str, Any]:
    reservoir = estimator.reservoir_
    for state in estimator.states_.values():
        _check_state(reservoir, state)
    if reservoir.fed_back and not estimator._spread.size:
        raise UnusableError("a model with feedback has no free runs")
    return {"n_nodes_": reservoir.n_nodes, "n_features_in_": reservoir.n_features}


def _joined(estimator: RecurrentSCNEnsembleRegressor, sizes: Sizes) -> dict[str, Any]:
    parts = [member.reservoir_ for member in estimator.members_]
    shapes = {(part.n_features, part.n_outputs, part.fed_back) for part in [estimator.reservoir_, *parts]}
    if not parts or len(shapes) > 1 or sum(part.n_nodes for part in parts) != estimator.reservoir_.n_nodes:
        raise UnusableError("the members of an ensemble do not fit together")
    return _derived(estimator, sizes)


_ADAPTIVE = Record(
    AdaptiveWidth.restored,
    coverage=Scalar(0.0, 1.0),
    level=Array(np.float64, "m"),
    recent=Array(np.float64, "wm", lowest=0.0),
)
_LEARNT = Record(
    LearntWeights,
    weights=Array(np.float64, "bqm"),
    recursive=Optional(
        Record(
            RecursiveWeights,
            weights=Array(np.float64, "km"),
            root=Array(np.float64, "kk"),
            forgetting=Scalar(0.0, 1.0),
            stretch=Scalar(0.0),
            largest=Scalar(0.0),
        )
    ),
    mixture=Optional(
        Record(
            partial(ExpertMixture, STREAM_MIXTURE),
            corrections=Array(np.float64, "bgm"),
            losses=Array(np.float64, "em", lowest=0.0),
            rows=Scalar(0.0),
        )
    ),
    last=Array(np.float64, "m"),
    age=Scalar(-1, 2**62, whole=True),
)
# Version 0.2 had a covariance in place of its root, and the parts of a blend by their gains.
_LEARNT_0_2 = Record(
    dict,
    weights=Array(np.float64, "bqm"),
    covariance=Optional(Array(np.float64, "kk")),
    corrections=Optional(
        Record(
            dict,
            offsets=Array(np.float64, "gbm"),
            squares=Array(np.float64, "em", lowest=0.0),
            total=Scalar(0.0),
            last=Array(np.float64, "m"),
            age=Scalar(-1, 2**62, whole=True),
        )
    ),
)


class _LearntField:
    """What a stream has learnt; a dict in files of version 0.2."""

    def write(self, value: LearntWeights, place: str, shelf: Shelf) -> dict[str, Any]:
        return _LEARNT.write(value, place, shelf)

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Any:
        earlier = isinstance(stored, dict) and "covariance" in stored
        return (_LEARNT_0_2 if earlier else _LEARNT).read(stored, place, shelf, sizes)


def _learnt_of_0_2(parts: dict[str, Any]) -> dict[str, Any]:
    """The parts of a stream of version 0.2 as they are now."""
    stored, recent = parts["learnt"], parts["recent"]
    learnt = LearntWeights.beginning(parts["reservoir"], parts["learning"], parts["forgetting"])
    own = stored["corrections"]
    if (learnt.recursive is None) != (stored["covariance"] is None) or (learnt.mixture is None) != (own is None):
        raise UnusableError("What a stream has learnt does not fit its way of learning.")
    learnt.weights = stored["weights"]
    if learnt.recursive is not None:
        values, vectors = np.linalg.eigh(stored["covariance"])
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        weights = Standard(parts["reservoir"]).weights_of(learnt.weights[-1])
        learnt.recursive = RecursiveWeights(weights, root, parts["forgetting"], largest=learnt.recursive.largest)
    if own is not None:
        gains, bases = own["offsets"].shape[:2]
        order = np.append(np.arange(gains * bases).reshape(gains, bases).T, gains * bases)
        if len(own["squares"]) != len(order) or recent.parts.shape[1] != len(order):
            raise UnusableError("the parts of a blend do not fit together")
        learnt.mixture = ExpertMixture(
            STREAM_MIXTURE, own["offsets"].swapaxes(0, 1), own["squares"][order], own["total"]
        )
        learnt.last, learnt.age = own["last"], own["age"]
        recent = replace(recent, parts=recent.parts[:, order])
    return {**parts, "learnt": learnt, "recent": recent}


_RECENT = Record(
    PastRows,
    columns=Array(np.float64, "aq"),
    parts=Array(np.float64, "aem"),
    outputs=Array(np.float64, "am"),
    width=Array(np.float64, "am", finite=False, lowest=0.0),
)


def _stream(**parts: Any) -> RecurrentStream:
    reservoir = parts["reservoir"]
    _check_state(reservoir, parts["state"])
    try:
        with np.errstate(all="raise", under="ignore"):
            return RecurrentStream.restored(**(_learnt_of_0_2(parts) if isinstance(parts["learnt"], dict) else parts))
    except (ValueError, FloatingPointError, np.linalg.LinAlgError) as error:
        raise UnusableError(str(error)) from error


_RUNNING: dict[str, Field] = {
    "reservoir_": _OfEstimators(),
    "states_": _States(),
    "n_rows_seen_": Added(Scalar(0, 2**53, whole=True), 0),
    "_residuals": Array(np.float64, "rm", lowest=0.0),
    "_spread": Array(np.float64, "hms", finite=False, lowest=0.0),
}
_SINGLE = FittedEstimator(
    RecurrentSCNRegressor,
    {**_RUNNING, "history_": GROWN["history_"], "stop_reason_": GROWN["stop_reason_"]},
    _derived,
)

RECURRENT: dict[str, Field] = {
    "RecurrentSCNRegressor": _SINGLE,
    "RecurrentSCNEnsembleRegressor": FittedEstimator(
        RecurrentSCNEnsembleRegressor, {**_RUNNING, "members_": Several(_SINGLE, apart=True)}, _joined
    ),
    "RecurrentStream": Record(
        _stream,
        reservoir=_RESERVOIR,
        state=_STATE,
        learning=Enumerated("blend", "projection", "rls", None),
        rate=Scalar(0.0, 2.0),
        forgetting=Scalar(0.0, 1.0),
        adaptive=_ADAPTIVE,
        learnt=_LearntField(),
        recent=_RECENT,
        gate=Added(GATE, None),
    ),
}
