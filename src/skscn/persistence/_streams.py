"""Recurrent networks in a model file, and models that follow a stream, with all that they need to go on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from skscn.adaptive_intervals import RECENT, AdaptiveWidth
from skscn.nodes import Dense, Nodes
from skscn.online import (
    ErrorRise,
    EventLog,
    OnlineSCNClassifier,
    OnlineSCNRegressor,
    StreamColumns,
    StreamLearner,
    StreamModel,
)
from skscn.persistence import _fields as f
from skscn.persistence._estimators import FittedEstimator
from skscn.persistence._fields import Field, Place, Record, UnusableError, check_keys, refusals, refuse_if
from skscn.persistence._networks import GROWTH, LAYER, TINY, factor, scaling
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
from skscn.recursive import ONLINE_MIXTURE, STREAM_MIXTURE, ExpertMixture, RecursiveWeights

# Which targets of a stream are plausible.
_GATE = f.ByJson("skscn.plausibility", "TargetGate")


def _width(lowest: float, highest: float) -> Record:
    """A width of intervals that follows the errors of a stream, with limits of its coverage."""
    recent = f.Array("wm", lowest=0.0)
    return Record(AdaptiveWidth.restored, coverage=f.Scalar(lowest, highest), level="m", recent=recent)


# Letters of shapes: d inputs, m outputs, L nodes, k columns, e experts, g gains, p·q parts, t rows, w errors.


def _check_columns(columns: StreamColumns) -> None:
    nodes = columns.nodes
    fits = isinstance(nodes.layer, Dense) and nodes.layer.fits(nodes, len(columns.inputs.offset))
    refuse_if(not fits, "the nodes of a stream do not fit its inputs")


def _check_model(model: StreamModel) -> None:
    count = model.columns.count
    wrong = any(len(recursive.root) != count or recursive.turn >= count for recursive in model.sets)
    refuse_if(wrong, "the output weights of a stream do not fit its columns")


_MODEL = Record(
    StreamModel,
    _check_model,
    columns=Record(
        StreamColumns,
        _check_columns,
        inputs=scaling("d"),
        nodes=Record(Nodes, layer=LAYER, weights="dL", biases="L", scopes=f.Array("L", finite=False)),
    ),
    targets=scaling("m"),
    low="m",
    high="m",
    sets=f.Several(
        Record(
            RecursiveWeights,
            weights="km",
            root="kk",
            forgetting=f.Scalar(0.5, 1.0),
            alpha=f.Scalar(TINY),
            turn=f.COUNT,
            owed=f.Added(f.COUNT, 0),
            stretch=f.Added(f.Scalar(1.0), 1.0),
        ),
        fewest=1,
    ),
)


def _mixture(corrections: np.ndarray, losses: np.ndarray, rows: float) -> ExpertMixture:
    """A mixture; files of version 0.2 have the losses of each expert in a row."""
    wrong = losses.size != corrections.shape[0] * corrections.shape[1]
    refuse_if(wrong, "the errors of a mixture do not fit its experts")
    return ExpertMixture(ONLINE_MIXTURE, corrections, losses.reshape(-1, 1), rows)


class _LogField(Field):
    """Events, in the header."""

    kinds = f.Choice("alarm", "grown", "extended", "kept", "rejected", "set aside")
    reasons = f.Choice("warm-up", "more rows", "drift", "target", "input")
    error = f.Scalar(0.0, nan=True)
    fields: tuple[Field, ...] = (f.COUNT, kinds, reasons, f.COUNT, error, error)

    def write(self, value: EventLog, place: Place) -> list[list[Any]]:
        events = [event.tolist() for event in value.table]
        return [[None if item != item else item for item in event] for event in events]

    def read(self, stored: Any, place: Place) -> EventLog:
        events = stored if isinstance(stored, list) else [stored]
        if not all(isinstance(event, list) and len(event) == len(self.fields) for event in events):
            raise place.refusal(stored)
        columns = [zip(self.fields, event, strict=True) for event in events]
        return EventLog(tuple(each.read(item, place) for each, item in event) for event in columns)


_LEARNER = Record(
    dict,
    seed=f.SMALL,
    rows=f.INPUTS,
    attempts=f.COUNT,
    regime=f.COUNT,
    next=f.POSITIVE,
    drifted=f.FLAG,
    trial_rows=f.COUNT,
    newest=f.Scalar(0, 1, whole=True),
    set_aside=f.Added(f.COUNT, 0),
    gate=f.Added(_GATE),
    input_gate=f.Added(_GATE),
    level="m",
    units=f.Array("m", lowest=TINY),
    squares=f.Array("e", lowest=0.0),
    models=f.Several(_MODEL, apart=True),
    mixture=Record(_mixture, corrections="egm", losses=f.Array("pq", lowest=0.0), rows=f.POSITIVE),
    detector=Record(
        ErrorRise,
        rows=f.COUNT,
        mean=f.POSITIVE,
        variance=f.POSITIVE,
        excess=f.POSITIVE,
        since=f.COUNT,
        lately=f.Added(f.Scalar(), 0.0),
        variation=f.Added(f.POSITIVE, 0.0),
        compared=f.Added(f.COUNT, 0),
        inertia=f.Added(f.Scalar(1.0), 1.0),
        caution=f.Added(f.POSITIVE, 0.0),
    ),
    last_inputs="td",
    last_targets="tm",
    log=_LogField(),
)


def _derive_learner(estimator: Any, sizes: dict[str, int]) -> dict[str, Any]:
    """The learner, made of the parameters and of what was stored of it."""
    state = estimator.learner_
    settings = estimator.settings(state.pop("seed"))
    shapes = {(len(model.columns.inputs.offset), len(model.targets.offset)) for model in state["models"]}
    wrong = shapes - {(sizes["d"], sizes["m"])}
    refuse_if(wrong, "the models of a stream do not have the inputs and outputs of its rows")
    with refusals(""):
        learner = StreamLearner.restored(settings, state)
    return {"learner_": learner, "n_features_in_": sizes["d"]}


def _derive_online_regressor(estimator: OnlineSCNRegressor, sizes: dict[str, int]) -> dict[str, Any]:
    wrong = len(estimator.width_.recent) > RECENT or (estimator._single_output and sizes["m"] != 1)
    refuse_if(wrong, "a stream has several outputs where it should have one, or too many errors")
    return _derive_learner(estimator, sizes)


def _derive_online_classifier(estimator: OnlineSCNClassifier, sizes: dict[str, int]) -> dict[str, Any]:
    refuse_if(sizes["c"] != sizes["m"], "a stream does not have one output for each class")
    return _derive_learner(estimator, sizes)


# Letters of shapes: d inputs, m outputs, p columns of the delay line, L nodes, q = 1 + p + L, k columns of the factor,
# b bases, e parts of a blend, g gains, a rows whose targets are not known yet.


def _check_reservoir(reservoir: Reservoir) -> None:
    nodes, kept = reservoir.nodes, reservoir.kept
    columns, limits = 1 + nodes.width + len(nodes), reservoir.input_limits
    if len(nodes.factors) != 2 or ((nodes.factors[0] < 0) != (nodes.factors[1] < 0)).any() or not nodes.is_triangular():
        raise UnusableError("a node of a reservoir uses a node that is not before it")
    wrong = nodes.sources.size and nodes.sources.max() >= len(nodes)
    refuse_if(wrong, "a node of a reservoir uses a node that does not exist")
    wrong = nodes.width != (reservoir.length + 1) * reservoir.n_driving or len(reservoir.output_weights) != columns
    refuse_if(wrong, "the nodes of a reservoir do not fit its delay line or its outputs")
    wrong = not len(kept) or kept[0] != 0 or len(np.unique(kept)) < len(kept) or kept.max() >= columns
    refuse_if(wrong, "the columns of a reservoir do not exist, or are there twice")
    refuse_if(limits is not None and len(limits) != 2, "the inputs of a reservoir have no lower and upper limits")
    wrong = reservoir.single_output and reservoir.n_outputs != 1
    refuse_if(wrong, "a reservoir has several outputs where it should have one")


class _ReservoirField(Record):
    """A reservoir; in an estimator, without what further rows could join if the file is to leave it out."""

    def write(self, value: Reservoir, place: Place) -> dict[str, Any]:
        return super().write(value if place.store.updatable else replace(value, factor=None), place)


_RESERVOIR: dict[str, Field | str] = {
    "inputs": scaling("d"),
    "outputs": scaling("m"),
    "length": f.SMALL,
    "fed_back": f.FLAG,
    "holds": f.FLAG,
    "nodes": Record(
        RecurrentNodes,
        weights="pL",
        biases="L",
        feedback=f.Array("L", lowest=-LARGEST_FEEDBACK, highest=LARGEST_FEEDBACK),
        sources=f.Array("vL", np.int64, lowest=0),
        source_weights="vL",
        factors=f.Array("fL", np.int64, lowest=-1),
        scopes="L",
    ),
    "output_weights": "qm",
    "low": "m",
    "high": "m",
    "kept": f.Array("k", np.int64, lowest=0),
    "factor": f.Optional(factor("k")),
    "alpha": f.POSITIVE,
    "single_output": f.FLAG,
    "input_limits": f.Added(f.Array("yd")),
}
_STATE = Record(ReservoirState, line=f.Optional(f.Array("lu")), nodes="L", output="m", origin=f.Text(64))


class _StatesField(Field):
    """The states of several sequences, by their labels."""

    def write(self, value: dict[Any, ReservoirState], place: Place) -> dict[str, Any]:
        self._check(list(value), len(value), place)
        return {"labels": list(value), "states": f.Several(_STATE).write(value.values(), place)}

    def read(self, stored: Any, place: Place) -> dict[Any, ReservoirState]:
        check_keys(stored, ("labels", "states"), place)
        labels, states = stored["labels"], f.Several(_STATE).read(stored["states"], place)
        self._check(labels, len(states), place)
        return dict(zip(labels, states, strict=True))

    def _check(self, labels: Any, count: int, place: Place) -> None:
        if not isinstance(labels, list) or not all(type(label) in (str, int, float, bool) for label in labels):
            raise UnusableError(f"the labels of {place} are not numbers or strings, which alone can be kept in files")
        wrong = not len(set(labels)) == len(labels) == count > 0
        refuse_if(wrong, f"{place} does not have one state for each label")


def _check_state(reservoir: Reservoir, state: ReservoirState) -> None:
    wrong = state.line is not None and state.line.shape != (reservoir.length, reservoir.n_driving)
    refuse_if(wrong or state.origin != reservoir.origin, "a state belongs to another reservoir")


def _derive_reservoir(estimator: ReservoirRegressor, sizes: dict[str, int]) -> dict[str, Any]:
    reservoir = estimator.reservoir_
    for state in estimator.states_.values():
        _check_state(reservoir, state)
    refuse_if(reservoir.fed_back and not estimator._spread.size, "a model with feedback has no free runs")
    return {"n_nodes_": reservoir.n_nodes, "n_features_in_": reservoir.n_features}


def _derive_joint_reservoir(estimator: RecurrentSCNEnsembleRegressor, sizes: dict[str, int]) -> dict[str, Any]:
    parts = [member.reservoir_ for member in estimator.members_]
    shapes = {(part.n_features, part.n_outputs, part.fed_back) for part in [estimator.reservoir_, *parts]}
    wrong = not parts or len(shapes) > 1 or sum(part.n_nodes for part in parts) != estimator.reservoir_.n_nodes
    refuse_if(wrong, "the members of an ensemble do not fit together")
    return _derive_reservoir(estimator, sizes)


class _LearntField(Record):
    """What a stream has learnt; a dict in files of version 0.2.

    Version 0.2 had a covariance in place of its root, and the parts of a blend by their gains.
    """

    former = Record(
        dict,
        weights="bqm",
        covariance=f.Optional(f.Array("kk")),
        corrections=f.Optional(
            Record(
                dict,
                offsets="gbm",
                squares=f.Array("em", lowest=0.0),
                total=f.POSITIVE,
                last="m",
                age=f.Scalar(-1, 2**62, whole=True),
            )
        ),
    )

    def read(self, stored: Any, place: Place) -> Any:
        earlier = isinstance(stored, dict) and "covariance" in stored
        return self.former.read(stored, place) if earlier else super().read(stored, place)


_LEARNT = _LearntField(
    LearntWeights,
    weights="bqm",
    recursive=f.Optional(
        Record(
            RecursiveWeights,
            weights="km",
            root="kk",
            forgetting=f.Scalar(0.0, 1.0),
            stretch=f.POSITIVE,
            largest=f.POSITIVE,
        )
    ),
    mixture=f.Optional(
        Record(
            partial(ExpertMixture, STREAM_MIXTURE),
            corrections="bgm",
            losses=f.Array("em", lowest=0.0),
            rows=f.POSITIVE,
        )
    ),
    last="m",
    age=f.Scalar(-1, 2**62, whole=True),
)


def _upgrade_from_0_2(parts: dict[str, Any]) -> dict[str, Any]:
    """The parts of a stream of version 0.2 as they are now."""
    stored, recent = parts["learnt"], parts["recent"]
    learnt = LearntWeights.beginning(parts["reservoir"], parts["learning"], parts["forgetting"])
    covariance, own = stored["covariance"], stored["corrections"]
    wrong = (learnt.recursive is None) != (covariance is None) or (learnt.mixture is None) != (own is None)
    refuse_if(wrong, "what a stream has learnt does not fit its way of learning")
    learnt.weights = stored["weights"]
    if learnt.recursive is not None:
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        weights = Standard(parts["reservoir"]).weights_of(learnt.weights[-1])
        learnt.recursive = RecursiveWeights(weights, root, parts["forgetting"], largest=learnt.recursive.largest)
    if own is not None:
        gains, bases = own["offsets"].shape[:2]
        order = np.append(np.arange(gains * bases).reshape(gains, bases).T, gains * bases)
        wrong = len(own["squares"]) != len(order) or recent.parts.shape[1] != len(order)
        refuse_if(wrong, "the parts of a blend do not fit together")
        corrections = own["offsets"].swapaxes(0, 1)
        learnt.mixture = ExpertMixture(STREAM_MIXTURE, corrections, own["squares"][order], own["total"])
        learnt.last, learnt.age = own["last"], own["age"]
        recent = replace(recent, parts=recent.parts[:, order])
    return {**parts, "learnt": learnt, "recent": recent}


def _stream(**parts: Any) -> RecurrentStream:
    _check_state(parts["reservoir"], parts["state"])
    with refusals("", FloatingPointError, np.linalg.LinAlgError), np.errstate(all="raise", under="ignore"):
        return RecurrentStream.restored(**(_upgrade_from_0_2(parts) if isinstance(parts["learnt"], dict) else parts))


_RUNNING: dict[str, Field] = {
    "reservoir_": _ReservoirField(Reservoir, _check_reservoir, **_RESERVOIR),
    "states_": _StatesField(),
    "n_rows_seen_": f.Added(f.COUNT, 0),
    "_residuals": f.Array("rm", lowest=0.0),
    "_spread": f.Array("hms", finite=False, lowest=0.0),
}
_RECURRENT = FittedEstimator(RecurrentSCNRegressor, {**_RUNNING, **GROWTH}, _derive_reservoir)
STREAMS: dict[str, Field] = {
    "RecurrentSCNRegressor": _RECURRENT,
    "RecurrentSCNEnsembleRegressor": FittedEstimator(
        RecurrentSCNEnsembleRegressor, {**_RUNNING, "members_": f.Several(_RECURRENT)}, _derive_joint_reservoir
    ),
    "RecurrentStream": Record(
        _stream,
        reservoir=Record(Reservoir, _check_reservoir, **_RESERVOIR),
        state=_STATE,
        learning=f.Choice("blend", "projection", "rls", None),
        rate=f.Scalar(0.0, 2.0),
        forgetting=f.Scalar(0.0, 1.0),
        adaptive=_width(0.0, 1.0),
        learnt=_LEARNT,
        recent=Record(
            PastRows,
            columns="aq",
            parts="aem",
            outputs="am",
            width=f.Array("am", finite=False, lowest=0.0),
        ),
        gate=f.Added(_GATE),
    ),
    "OnlineSCNRegressor": FittedEstimator(
        OnlineSCNRegressor,
        {"learner_": _LEARNER, "width_": _width(1e-12, 1.0 - 1e-12), "_single_output": f.FLAG},
        _derive_online_regressor,
    ),
    "OnlineSCNClassifier": FittedEstimator(
        OnlineSCNClassifier, {"learner_": _LEARNER, "classes_": f.Labels()}, _derive_online_classifier
    ),
}
