"""Further rows for a fitted model: it learns from them, unless it is worse for it."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from skscn.fit.updating import target_gate, why_not
from skscn.fitted_loss import loss_of
from skscn.following import is_recurrent, predict_stretches, stretches
from skscn.judging.scores import TITLES, classification_scores, regression_scores, true_class_shares
from skscn.judging.sketch import NOTABLE, RowSketch
from skscn.plausibility import TargetGate
from skscn.table_model.arriving import FollowingBatch, SupervisedReader, TargetRows
from skscn.table_model.rows import row_weights
from skscn.table_model.series import labels_of
from skscn.tables import TableEncoder, TableFile, Target
from skscn.tables.columns import Number
from skscn.words import count, short, shortened

if TYPE_CHECKING:
    from skscn.table_model.model import TableModel

# New rows are learnt in this number of parts at most, each of at least this number of rows, to see whether that helps.
_PARTS, _FEWEST = 10, 20
# An error that is larger by this share, and by this number of standard errors, is called worse; less may be chance.
_WORSE, _SURE = 0.01, 2.0
ONLY_INPUTS = "Targets are used as inputs of later rows only; output weights are not updated"
FAR_OUTSIDE = "The target is far outside the range of earlier ones, and its error far larger than recent ones"


@dataclass(frozen=True)
class Update:
    """What came of learning from further rows.

    Attributes
    ----------
    n_rows : int
        How many rows were learnt.
    n_set_aside : int
        How many were not, because their targets are not plausible.
    before, after : dict of str to float
        Scores on these rows before learning them, and on the same rows after.
    learning : dict
        Scores on later parts, before learning them, of the model that learns part by part and of the unchanged one.
    worse : bool
        Whether the model became worse.
    notes : list of str
    """

    n_rows: int
    n_set_aside: int
    before: dict[str, float]
    after: dict[str, float]
    learning: dict[str, Any]
    worse: bool
    notes: list[str] = field(default_factory=list)

    def lines(self) -> list[tuple[str, str]]:
        """Lines of a heading and a text, for people."""
        scores = [
            (
                TITLES[name],
                f"{short(score)} before learning these rows, {short(self.after[name])} on the same rows after",
            )
            for name, score in self.before.items()
            if not np.isnan(score)
        ]
        return [("Rows", f"{self.n_rows:,}"), *scores]

    def __str__(self) -> str:
        return "\n".join([*(f"{heading}: {text}" for heading, text in self.lines()), *self.notes])

    def to_json(self) -> dict[str, Any]:
        """Plain values, which JSON can hold."""
        scores = {"before": self.before, "after": self.after, "while_learning": self.learning}
        return {"rows": self.n_rows, "set_aside": self.n_set_aside, **scores, "notes": self.notes}


@dataclass(frozen=True)
class NewRows:
    """Encoded rows with their targets; those of a recurrent network include rows without one, whose target is NaN."""

    X: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray | None
    groups: np.ndarray | None = None

    def take(self, rows: Any) -> NewRows:
        """Some of the rows."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return NewRows(self.X[rows], self.y[rows], weight, None if self.groups is None else self.groups[rows])

    def parts(self) -> Iterator[slice]:
        """Consecutive rows, in their order."""
        number = min(_PARTS, max(1, len(self.y) // _FEWEST))
        ends = np.linspace(0, len(self.y), number + 1).round().astype(int).tolist()
        return (slice(start, stop) for start, stop in pairwise(ends))

    def teach(self, estimator: Any) -> None:
        """Let a model learn from the rows, which follow those that it has learnt from."""
        if is_recurrent(estimator):
            estimator.partial_fit(self.X if self.X.shape[1] else None, self.y, self.groups)
        else:
            estimator.partial_fit(self.X, self.y, sample_weight=self.sample_weight)

    def answers(self, estimator: Any) -> tuple[np.ndarray, ...]:
        """Predictions, and probabilities of classes."""
        if is_recurrent(estimator):
            parts = stretches(estimator, self.groups, len(self.X), "end")
            return (predict_stretches(estimator, self.X, self.y, parts),)
        if hasattr(estimator, "predict_proba"):
            probabilities = estimator.predict_proba(self.X)
            return estimator.classes_[probabilities.argmax(axis=1)], probabilities
        return (estimator.predict(self.X),)


def update(model: TableModel, file: TableFile, *, weight: str | None = None, force: bool = False) -> Update:
    """Let a model learn from the rows of a table; ValueError if it becomes worse, unless that is accepted."""
    updated, found = learn(model, file, weight=weight)
    if found.worse and not force:
        raise ValueError(
            f"{model.subject} was left as it is, because learning from these rows makes it worse; check them, or use "
            "force=True."
        )
    model.__dict__.update(updated.__dict__)
    return found


def learn(
    model: TableModel, file: TableFile, *, target: str | None = None, weight: str | None = None
) -> tuple[TableModel, Update]:
    """A model that has learnt from the rows of a table, and what came of it; the given one stays as it is."""
    check_updatable(model)
    learnt, column = deepcopy(model), model.find_target(target, file)
    notes: list[str] = []
    gate = gate_of(model)
    rows, reader = _read(learnt, file, column, weight, notes)
    plausible, n_set_aside = _plausible(learnt, rows, gate, notes)
    before, after, learning = _learn_in_parts(learnt, plausible)
    notes += [*_about_unlike(before), *_about_learning(learning), *_about_repeats(model, reader.sketch)]
    sketch = RowSketch.continued(model.sketch_)
    known = plausible.take(~_unknown(plausible.y))
    learnt.target_, learnt.clock_, learnt.lags_, learnt.gate_ = column, reader.clock, reader.lags or model.lags_, gate
    learnt.sketch_ = model.sketch_ if sketch is None else sketch.add(known.X, known.y).to_json()
    learnt.note_update(file.label, len(known.y))
    return learnt, Update(len(known.y), n_set_aside, before, after, learning, learning["worse"], notes)


def why_not_updatable(model: TableModel) -> str | None:
    """Why models of this kind and loss cannot learn from further rows; None if they can."""
    if not hasattr(model.estimator_, "partial_fit"):
        return (
            f"{model.subject} is a {type(model.estimator_).__name__}, which cannot be updated; networks, ensembles and "
            "recurrent networks can."
        )
    loss = loss_of(model.estimator_)
    return None if loss is None else why_not(loss)


def check_updatable(model: TableModel) -> None:
    """Raise ValueError for a model of a kind or loss that cannot learn from further rows; others say so themselves."""
    refusal = why_not_updatable(model)
    if refusal is not None:
        raise ValueError(refusal)


def _read(
    model: TableModel, file: TableFile, target: Target, weight: str | None, notes: list[str]
) -> tuple[NewRows, SupervisedReader]:
    """The rows to learn from, and what has read them."""
    weights = {} if weight is None else {file.find(weight): Number(weight, np.nan, False).read_type}
    reader, found, begun = (
        SupervisedReader(model, file, target, weights, whole=is_recurrent(model.estimator_)),
        list[NewRows](),
        set[Any](),
    )
    for part in reader.parts():
        found.append(_new_rows(model, part, weight))
        if isinstance(model.encoder_, TableEncoder):
            # Predictions for rows like these will no longer be outside the range of training.
            model.encoder_.widen(model.encoder_.transform(part.batch.table)[part.present])
        if isinstance(part.batch, FollowingBatch):
            for rows in part.batch.parts:
                if rows.label not in begun and rows.state is None:
                    _begin_cold(model.estimator_, rows.label)
                begun.add(rows.label)
    if reader.missing and not is_recurrent(model.estimator_):
        notes.append(f"Left out: {count(reader.missing, 'row')} without a value of {shortened(target.name)}.")
    notes[:0] = reader.remarks
    notes += reader.notes()[len(reader.remarks) :]
    columns: list[tuple[Any, ...]] = [(rows.X, rows.y, rows.sample_weight, rows.groups) for rows in found]
    X, y, given, groups = (None if parts[0] is None else np.concatenate(parts) for parts in zip(*columns, strict=True))
    assert X is not None, "the reader raises an error if there are no rows"
    assert y is not None, "rows have targets"
    return NewRows(X, y, given, groups), reader


def _new_rows(model: TableModel, part: TargetRows, weight: str | None) -> NewRows:
    """The rows of a batch to learn from; of a recurrent network all of them."""
    batch, present = part.batch, part.present
    if not is_recurrent(model.estimator_):
        return NewRows(batch.X[present], part.y, None if weight is None else row_weights(weight, batch.table)[present])
    targets = np.full(len(present), np.nan)
    targets[present] = part.y
    return NewRows(batch.X, targets, None, None if model.group_ is None else labels_of(model.group_, batch.table))


def _begin_cold(estimator: Any, label: Any) -> None:
    """Let rows of a series begin from a cold state, because they do not follow the training rows."""
    key = label if label is not None else next(iter(estimator.states_))
    estimator.states_ = {**estimator.states_, key: estimator.reservoir_.cold_state()}


def gate_of(model: TableModel) -> TargetGate | None:
    """A copy of what decides which targets are plausible; None for classes."""
    if model.gate_ is not None:
        return deepcopy(model.gate_)
    if is_recurrent(model.estimator_):
        stream = model.estimator_.stream(None, learning=None)
        return stream.gate.in_units(stream.reservoir.outputs.scale, stream.reservoir.outputs.offset)
    network = getattr(getattr(model.estimator_, "members_", [model.estimator_])[0], "network_", None)
    return None if network is None or model.is_classifier else target_gate(network)


def _unknown(y: np.ndarray) -> np.ndarray:
    """Which targets are not known."""
    return np.isnan(y) if y.dtype.kind == "f" else np.zeros(len(y), dtype=bool)


def _plausible(model: TableModel, rows: NewRows, gate: TargetGate | None, notes: list[str]) -> tuple[NewRows, int]:
    """The rows to learn from, and how many are set aside, which is noted."""
    if gate is None:
        return rows, 0
    predictions, unknown = rows.answers(model.estimator_)[0], _unknown(rows.y)
    pairs = zip(rows.y.reshape(len(rows.y), -1), predictions.reshape(len(rows.y), -1), strict=True)
    kept = np.array([missing or gate.admits(*pair) for missing, pair in zip(unknown, pairs, strict=True)])
    if kept.all():
        return rows, 0
    aside = rows.y[~kept]
    sentence = f"{FAR_OUTSIDE} in {count(len(aside), 'row')}, such as {short(aside[0])}"
    if not (kept & ~unknown).any():
        raise ValueError(
            f"{sentence}, and there are no others; check that the target means the same, in the same unit."
        )
    notes.append(f"Set aside: {sentence}. Such rows are learnt if they go on.")
    if is_recurrent(model.estimator_):
        return replace(rows, y=np.where(kept, rows.y, np.nan)), len(aside)
    return rows.take(kept), len(aside)


def _learn_in_parts(model: TableModel, rows: NewRows) -> tuple[dict[str, float], dict[str, float], dict[str, Any]]:
    """Let a model learn; scores on the new rows before and after, and while learning part by part."""
    estimator, unchanged = model.estimator_, deepcopy(model.estimator_)
    answers, unlearnt = rows.answers(unchanged), []
    for number, part in enumerate(rows.parts()):
        some = rows.take(part)
        if number:
            unlearnt.append((part, some.answers(estimator)))
        some.teach(estimator)
    learning: dict[str, Any] = {"rows": 0, "updated": None, "unchanged": None, "worse": False}
    if unlearnt:
        y = rows.y[unlearnt[0][0].start :]
        updated = tuple(np.concatenate(some) for some in zip(*(found for _, found in unlearnt), strict=True))
        before = tuple(some[-len(y) :] for some in answers)
        learning = {
            "rows": int((~_unknown(y)).sum()),
            "updated": _scores(estimator, y, updated),
            "unchanged": _scores(unchanged, y, before),
            "worse": _is_worse(*(_losses(unchanged, y, some) for some in (updated, before))),
        }
    # The rows of a recurrent network are run through again from where they began.
    again = estimator if not is_recurrent(estimator) else _rewound(estimator, unchanged)
    return _scores(unchanged, rows.y, answers), _scores(estimator, rows.y, rows.answers(again)), learning


def _rewound(estimator: Any, before: Any) -> Any:
    """A recurrent network in the states in which another one is."""
    rewound = deepcopy(estimator)
    rewound.states_ = before.states_
    return rewound


def _scores(estimator: Any, y: np.ndarray, answers: tuple[np.ndarray, ...]) -> dict[str, float]:
    if len(answers) == 2:
        return classification_scores(y, answers[0], true_class_shares(y, estimator.classes_, answers[1]))
    known = ~_unknown(y)
    return regression_scores(y[known], answers[0][known])


def _losses(estimator: Any, y: np.ndarray, answers: tuple[np.ndarray, ...]) -> np.ndarray:
    """The log loss or the squared error of each row that has a target."""
    if len(answers) == 2:
        return np.asarray(-np.log(true_class_shares(y, estimator.classes_, answers[1]).clip(np.finfo(float).eps)))
    return np.asarray((y - answers[0])[~_unknown(y)] ** 2)


def _is_worse(updated: np.ndarray, unchanged: np.ndarray) -> bool:
    """Whether losses of a model that learns part by part are larger, by more than chance explains."""
    more = updated - unchanged
    doubt = _SURE * more.std() / np.sqrt(len(more))
    return bool(more.mean() > max(_WORSE * unchanged.mean(), doubt))


def _about_learning(learning: dict[str, Any]) -> list[str]:
    if not learning["rows"]:
        return [f"Fewer than {2 * _FEWEST} rows do not show whether learning from them makes the model better."]
    name = "log_loss" if "log_loss" in learning["updated"] else "rmse"
    updated, unchanged = short(learning["updated"][name]), short(learning["unchanged"][name])
    return [
        f"Learning part by part, {TITLES[name]} {updated} on the {count(learning['rows'], 'row')} of later parts, "
        f"before learning them; the unchanged model has {unchanged} there."
    ]


def _about_unlike(before: dict[str, float]) -> list[str]:
    """A note on rows for which the model was no good, such as those whose target is in another unit."""
    if not before.get("r2", 0.0) < 0.0:
        return []
    return [
        f"The model predicted these rows worse than their mean would (R² {short(before['r2'])}) before learning them; "
        "check that the target means the same, in the same unit, as in training."
    ]


def _about_repeats(model: TableModel, sketch: RowSketch) -> list[str]:
    share = sketch.share_in(model.sketch_)
    if share is None or share < NOTABLE:
        return []
    return [f"About {100 * share:.0f} % of these rows were learnt before; from now on they count twice."]
