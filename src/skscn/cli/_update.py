"""``skscn update``: a model learns from new rows, if it is not worse for it."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy, deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from skscn.cli._arguments import open_data
from skscn.cli._clock import clock_after
from skscn.cli._groups import labels_of
from skscn.cli._models import Model, data_name, encoded_batches, notes_to_save, open_model
from skscn.cli._outputs import check_output
from skscn.cli._scores import TITLES, classification_scores, regression_scores, true_class_shares
from skscn.cli._seen import RowSketch
from skscn.cli._training_rows import row_weights
from skscn.cli._voice import Voice, short
from skscn.fit.updating import target_gate
from skscn.following import is_recurrent
from skscn.persistence import save_model
from skscn.plausibility import TargetGate
from skscn.tables import TableEncoder, TableFile, Target, outside_sentences
from skscn.tables.columns import Number
from skscn.words import count, quoted, shortened

# New rows are learnt in this number of parts at most, each of at least this number of rows, to see whether that helps.
_PARTS, _FEWEST = 10, 20
# An error that is larger by this share, and by this number of standard errors, is called worse; less may be chance.
_WORSE, _SURE = 0.01, 2.0


FAR_OUTSIDE = "The target is far outside the range of earlier ones, and its error far larger than recent ones"
# From this share of the rows on it is worth saying that they were learnt before.
_REPEATED = 0.05


@dataclass(frozen=True)
class UpdateOptions:
    """What to update, with what, and where to write it."""

    model: Path
    data: Path
    out: Path | None = None
    target: str | None = None
    weight: str | None = None
    force: bool = False


@dataclass(frozen=True)
class NewRows:
    """Encoded rows that have a target."""

    X: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray | None

    def parts(self) -> Iterator[slice]:
        """Consecutive rows, in their order."""
        number = min(_PARTS, max(1, len(self.y) // _FEWEST))
        ends = np.linspace(0, len(self.y), number + 1).round().astype(int).tolist()
        return (slice(start, stop) for start, stop in pairwise(ends))

    def learn(self, estimator: Any, rows: slice = slice(None)) -> None:
        """Let a model learn from some of them."""
        weights = None if self.sample_weight is None else self.sample_weight[rows]
        estimator.partial_fit(self.X[rows], self.y[rows], sample_weight=weights)


def run_update(options: UpdateOptions, voice: Voice) -> None:
    """Predict the new rows, learn from them, and write the model unless it is worse."""
    out = options.out or options.model
    check_output(out, [options.data])
    model, file = open_model(options.model), open_data(options.data)
    check_updatable(model)
    target = model.find_target(options.target, file)
    notes: list[str] = []
    rows, clock = _read(model, file, target, options.weight, notes)
    n_rows, gate = len(rows.y), target_gate_of(model)
    rows = _plausible(model, rows, gate, notes)
    before, after, learning, estimator = _learnt(model, rows)
    worse = learning["worse"]
    notes = [*model.remarks, *notes, *_about_unlike(before), *_about_learning(learning), *_about_repeats(model, rows)]
    written = not worse or options.force or out != options.model
    if written:
        sketch = RowSketch.continued(model.notes.get("sketch"))
        sketch = None if sketch is None else sketch.add(rows.X, rows.y)
        about = {**notes_after(model, data_name(options.data), len(rows.y), sketch), "target": target.to_json()}
        about |= {} if clock is None else {"clock": clock}
        about |= {} if gate is None else {"gate": gate.to_json()}
        save_updated(model, estimator, out, about)
    voice.notes(notes)
    voice.result(
        {
            **{"model": str(options.model), "data": str(options.data), "target": target.name, "rows": len(rows.y)},
            "set_aside": n_rows - len(rows.y),
            **{"before": before, "after": after, "while_learning": learning},
            **{"rows_seen": estimator.n_rows_seen_, "out": str(out) if written else None, "notes": notes},
        },
        [("Rows", f"{len(rows.y):,}"), *_lines(before, after), ("Written to", str(out) if written else "nothing")],
    )
    if not written:
        raise ValueError(
            f"{options.model.name} was left as it is, because learning from these rows makes it worse; check them, or "
            "write the updated model to another file with -o, or replace this one with --force."
        )


def check_updatable(model: Model) -> None:
    """Reject a model of a kind that cannot learn from further rows; others say so themselves."""
    if is_recurrent(model.estimator):
        raise ValueError(
            f"{model.path.name} is a recurrent network, whose rows follow each other; let it learn in Python, with "
            "partial_fit or stream()."
        )
    if not hasattr(model.estimator, "partial_fit"):
        raise ValueError(
            f"{model.path.name} is a {type(model.estimator).__name__}, which cannot be updated; networks and ensembles "
            "that skscn fit has written can."
        )


def _read(model: Model, file: TableFile, target: Target, weight: str | None, notes: list[str]) -> tuple[NewRows, Any]:
    """The rows that have a target, and what a model of earlier rows has to know of time after them."""
    encoder = model.columns(file, without=(target.name,))
    weights = {} if weight is None else {file.find(weight): Number(weight, np.nan, False).read_type}
    outside, clock, missing = encoder.looking_outside(), model.notes.get("clock"), 0
    parts: list[tuple[np.ndarray, ...]] = []
    for batch in encoded_batches(model, file, encoder, {target.name: target.read_type, **weights}):
        X, table = batch.X, batch.table
        y, present = target.values(table.column(target.name))
        present = np.asarray(present)
        missing += len(present) - len(y)
        outside.add(X[present], table.filter(present))
        given = np.ones(len(table)) if weight is None else row_weights(weight, table)
        parts.append((X[present], y, given[present]))
        if model.lags is not None and isinstance(encoder, TableEncoder) and encoder.time_ is not None:
            labels = None if model.group is None else labels_of(model.group, table)
            clock = clock_after(clock, encoder.row_times(table), labels)
    if not parts or not sum(len(y) for _, y, _ in parts):
        raise ValueError(f"{file.label} has no row with a value of {quoted(target.name)} to learn from.")
    if missing:
        notes.append(f"Left out: {count(missing, 'row')} without a value of {shortened(target.name)}.")
    notes += [*outside.missing_sentences(), *outside_sentences(outside.found())]
    X, y, given = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return NewRows(X, y, None if weight is None else given), clock


def target_gate_of(model: Model) -> TargetGate | None:
    """What decides which targets are plausible, as it was when the file was written; None for classes."""
    if "gate" in model.notes:
        return TargetGate.from_json(model.notes["gate"])
    network = getattr(getattr(model.estimator, "members_", [model.estimator])[0], "network_", None)
    return None if network is None or model.is_classifier else target_gate(network)


def _plausible(model: Model, rows: NewRows, gate: TargetGate | None, notes: list[str]) -> NewRows:
    """The rows to learn from; those that are set aside are noted."""
    if gate is None:
        return rows
    predictions = model.estimator.predict(rows.X)
    pairs = zip(rows.y.reshape(len(rows.y), -1), predictions.reshape(len(rows.y), -1), strict=True)
    kept = np.array([gate.admits(target, prediction) for target, prediction in pairs])
    if kept.all():
        return rows
    aside = rows.y[~kept]
    sentence = f"{FAR_OUTSIDE} in {count(len(aside), 'row')}, such as {short(aside[0])}"
    if not kept.any():
        raise ValueError(
            f"{sentence}, and there are no others; check that the target means the same, in the same unit."
        )
    notes.append(f"Set aside: {sentence}. Such rows are learnt if they go on.")
    weights = None if rows.sample_weight is None else rows.sample_weight[kept]
    return NewRows(rows.X[kept], rows.y[kept], weights)


def _learnt(model: Model, rows: NewRows) -> tuple[dict[str, float], dict[str, float], dict[str, Any], Any]:
    """Scores on the new rows before and after learning them, and while learning; and the estimator that has."""
    unchanged, estimator = model.estimator, deepcopy(model.estimator)
    answers, unlearnt = _answers(unchanged, rows.X), []
    for number, part in enumerate(rows.parts()):
        if number:
            unlearnt.append((part, _answers(estimator, rows.X[part])))
        rows.learn(estimator, part)
    learning: dict[str, Any] = {"rows": 0, "updated": None, "unchanged": None, "worse": False}
    if unlearnt:
        y = rows.y[unlearnt[0][0].start :]
        updated = tuple(np.concatenate(some) for some in zip(*(found for _, found in unlearnt), strict=True))
        before = tuple(some[-len(y) :] for some in answers)
        learning = {
            "rows": len(y),
            "updated": _scores(estimator, y, updated),
            "unchanged": _scores(unchanged, y, before),
            "worse": _is_worse(*(_losses(unchanged, y, some) for some in (updated, before))),
        }
    after = _scores(estimator, rows.y, _answers(estimator, rows.X))
    return _scores(unchanged, rows.y, answers), after, learning, estimator


def _answers(estimator: Any, X: np.ndarray) -> tuple[np.ndarray, ...]:
    """Predictions, and probabilities of classes."""
    if hasattr(estimator, "predict_proba"):
        probabilities = estimator.predict_proba(X)
        return estimator.classes_[probabilities.argmax(axis=1)], probabilities
    return (estimator.predict(X),)


def _scores(estimator: Any, y: np.ndarray, answers: tuple[np.ndarray, ...]) -> dict[str, float]:
    if len(answers) == 2:
        return classification_scores(y, answers[0], true_class_shares(y, estimator.classes_, answers[1]))
    return regression_scores(y, answers[0])


def _error(scores: dict[str, float]) -> str:
    return "log_loss" if "log_loss" in scores else "rmse"


def _losses(estimator: Any, y: np.ndarray, answers: tuple[np.ndarray, ...]) -> np.ndarray:
    """The log loss or the squared error of each row."""
    if len(answers) == 2:
        losses: np.ndarray = -np.log(true_class_shares(y, estimator.classes_, answers[1]).clip(np.finfo(float).eps))
        return losses
    return np.asarray((y - answers[0]) ** 2)


def _is_worse(updated: np.ndarray, unchanged: np.ndarray) -> bool:
    """Whether losses are larger, by more than chance explains, of a model that learns part by part."""
    more = updated - unchanged
    doubt = _SURE * more.std() / np.sqrt(len(more))
    return bool(more.mean() > max(_WORSE * unchanged.mean(), doubt))


def _about_learning(learning: dict[str, Any]) -> list[str]:
    if not learning["rows"]:
        return [f"Fewer than {2 * _FEWEST} rows do not show whether learning from them makes the model better."]
    name = _error(learning["updated"])
    updated, unchanged = short(learning["updated"][name]), short(learning["unchanged"][name])
    return [
        f"Learning part by part, {TITLES[name]} {updated} on the {count(learning['rows'], 'row')} of later parts, "
        f"before learning them; the unchanged model has {unchanged} there."
    ]


def _about_unlike(before: dict[str, float]) -> list[str]:
    """What to say of rows for which the model was no good, such as those whose target is in another unit."""
    if not before.get("r2", 0.0) < 0.0:
        return []
    return [
        f"The model predicted these rows worse than their mean would (R² {short(before['r2'])}) before learning them; "
        "check that the target means the same, in the same unit, as in training."
    ]


def _about_repeats(model: Model, rows: NewRows) -> list[str]:
    share = RowSketch().add(rows.X, rows.y).share_in(model.notes.get("sketch"))
    if share is None or share < _REPEATED:
        return []
    return [f"About {100 * share:.0f} % of these rows were learnt before; from now on they count twice."]


def _lines(before: dict[str, float], after: dict[str, float]) -> list[tuple[str, str]]:
    return [
        (TITLES[name], f"{short(before[name])} before learning these rows, {short(after[name])} on the same rows after")
        for name in before
        if not np.isnan(before[name])
    ]


def notes_after(model: Model, data: str, n_rows: int, sketch: RowSketch | None) -> dict[str, Any]:
    """The notes of a model that has learnt from further rows of a table; a sketch of all its rows recognises them."""
    return {
        **model.notes,
        "updated": datetime.now(UTC).isoformat(timespec="seconds"),
        "updated_with": [*model.notes.get("updated_with", []), {"data": data, "rows": n_rows}],
        **({} if sketch is None else {"sketch": sketch.to_json()}),
    }


def save_updated(model: Model, estimator: Any, out: Path, notes: dict[str, Any]) -> None:
    """Write a model with another estimator; the file is replaced at once, or stays what it was."""
    notes = notes_to_save(notes, model.user_notes)
    lags = model.lags
    if model.encoder is not None and not isinstance(model.encoder, TableEncoder):
        # Columns are found by name here; the model itself gets arrays, and its names are put back.
        named = copy(lags or estimator)
        named.feature_names_in_ = model.encoder.get_feature_names_out()
        lags, estimator = (None, named) if lags is None else (named, estimator)
    table = model.encoder if isinstance(model.encoder, TableEncoder) else None
    steps = [(name, step) for name, step in (("table", table), ("lags", lags)) if step is not None]
    save_model(Pipeline([*steps, ("model", estimator)]) if steps else estimator, out, notes=notes)
