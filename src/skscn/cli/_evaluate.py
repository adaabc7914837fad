"""``skscn evaluate``: how good a model is on a table that has the target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from skscn.cli._arguments import open_data
from skscn.cli._models import Model, encoded_batches, open_model
from skscn.cli._networks import estimates
from skscn.cli._scores import (
    TITLES,
    Baseline,
    RareClass,
    baseline_score,
    classification_scores,
    regression_scores,
    true_class_shares,
)
from skscn.cli._seen import RowSketch, seen_sentence
from skscn.cli._verdict import compared, unconfirmed, unconfirmed_sentence
from skscn.cli._voice import Voice, short
from skscn.fitted_loss import loss_of
from skscn.following import is_recurrent
from skscn.tables import OutsideColumn, TableFile, Target, outside_sentences
from skscn.words import count, quoted, shortened


class Compared:
    """Predictions for the rows of a table that have a target, gathered some rows at a time."""

    def __init__(self, model: Model, file: TableFile, target: Target):
        encoder = model.columns(file, without=(target.name,))
        self.sketch, self.missing = RowSketch(), 0
        self.uses_past = model.lags is not None or is_recurrent(model.estimator)
        truths, predictions, probabilities = [], [], []
        outside, self.loss = encoder.looking_outside(), loss_of(model.estimator)
        for batch in encoded_batches(model, file, encoder, {target.name: target.read_type}):
            y, present = target.values(batch.table.column(target.name))
            self.missing += len(present) - len(y)
            if not len(y):
                continue
            X = batch.X[present]
            outside.add(X, batch.table.filter(present))
            self.sketch.add(X, y)
            truths.append(y)
            predictions.append(batch.predict(present))
            if model.is_classifier:
                probabilities.append(batch.predict_proba(present))
        if not truths:
            raise ValueError(f"{file.label} has no row with a value of {quoted(target.name)} to compare with.")
        self.outside: list[OutsideColumn] = outside.found()
        self.filled_in = outside.missing_sentences()
        self.y, predicted = np.concatenate(truths), np.concatenate(predictions)
        self.rare = RareClass.of(self.y, model.estimator) if model.is_classifier else None
        if model.is_classifier:
            shares, classes = np.concatenate(probabilities), model.estimator.classes_
            self.scores = classification_scores(self.y, predicted, true_class_shares(self.y, classes, shares))
            self.scores |= {} if self.rare is None else self.rare.scores(self.y, predicted, classes, shares)
        else:
            self.scores = regression_scores(self.y, predicted, self.loss)
        self.persistence = _persistence(model, self.y)


def _persistence(model: Model, y: np.ndarray) -> dict[str, float] | None:
    """How good it is to predict the last known target, for a model that is told; None for other models."""
    # Rows of several series are not those before each other.
    if not getattr(model.estimator, "feedback", False) or len(y) < 3 or model.group is not None:
        return None
    # Nothing is known before the first row.
    return regression_scores(y[1:], y[:-1])


def run_evaluate(model_path: Path, data: Path, target_name: str | None, voice: Voice) -> None:
    """Predict every row that has a target, some at a time, and compare."""
    model, file = open_model(model_path), open_data(data)
    target = model.find_target(target_name, file)
    found = Compared(model, file, target)
    baseline = Baseline.of(found.y, "classification" if model.is_classifier else "regression", loss=found.loss)
    known = baseline.scores(found.y, found.rare)
    better, verdict = compared(found.scores, known, baseline.words, found.rare)
    share = found.sketch.share_in(model.notes.get("sketch"))
    notes = [*model.remarks, *_notes(found, share, target, file.label)]
    tested = unconfirmed(found.scores, model.notes.get("tested"))
    doubt = None if tested is None else unconfirmed_sentence(*tested, found.scores[tested[0]], bool(found.outside))
    voice.notes(notes)
    facts = {
        **{"model": str(model_path), "data": str(data), "target": target.name, "rows": len(found.y)},
        **found.scores,
        "baseline": known,
        **({} if found.persistence is None else {"persistence": found.persistence}),
        "better_than_baseline": better,
        "verdict": verdict,
        "share_trained_on": share,
        "test_confirmed": None if not model.notes.get("tested") else doubt is None,
        "outside": [column.to_json() for column in found.outside],
        "notes": [*notes, *([doubt] if doubt else [])],
    }
    lines = [("Rows", f"{len(found.y):,}"), *estimates(model.estimator)]
    lines += [
        (TITLES[name], f"{short(value)}{baseline_score(name, known[name], baseline.words)}")
        for name, value in found.scores.items()
        if not np.isnan(value)
    ]
    if found.rare is not None:
        lines.append(found.rare.line(found.scores["rare_recall"]))
    if found.persistence is not None:
        lines.append(("Persistence", f"RMSE {short(found.persistence['rmse'])} of predicting the last known value"))
    voice.result(facts, [*lines, ("Verdict", verdict), *([("Tests", doubt)] if doubt else [])])


def _notes(found: Compared, share: float | None, target: Target, label: str) -> list[str]:
    """What is good to know about the rows."""
    seen: list[Any] = [seen_sentence(share, label)]
    without = f"{count(found.missing, 'row')} without a value of {shortened(target.name)}"
    left_out = f"Used as earlier rows only: {without}." if found.uses_past else f"Left out: {without}."
    left_out_rows = [left_out] if found.missing else []
    return [*left_out_rows, *found.filled_in, *filter(None, seen), *outside_sentences(found.outside)]
