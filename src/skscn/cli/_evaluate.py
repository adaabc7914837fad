"""``skscn evaluate``: how good a model is on a table that has the target."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from skscn.cli._models import encoded_batches, open_data, open_model
from skscn.cli._scores import TITLES, Baseline, beside, classification_scores, regression_scores, true_class_shares
from skscn.cli._voice import Voice, count, short
from skscn.words import quoted, shortened


def run_evaluate(model_path: Path, data: Path, target_name: str | None, voice: Voice) -> None:
    """Predict every row that has a target, some at a time, and compare."""
    model, file = open_model(model_path), open_data(data)
    target = model.find_target(target_name, file)
    encoder = model.columns(file, without=(target.name,))
    task = "classification" if model.is_classifier else "regression"
    truths, predictions, shares, missing = [], [], [], 0
    for X, table in encoded_batches(model, file, encoder, {target.name: target.read_type}):
        y, present = target.values(table.column(target.name))
        missing += len(present) - len(y)
        if not len(y):
            continue
        truths.append(y)
        predictions.append(model.estimator.predict(X[present]))
        if model.is_classifier:
            probabilities = model.estimator.predict_proba(X[present])
            shares.append(true_class_shares(y, model.estimator.classes_, probabilities))
    if not truths:
        raise ValueError(f"{file.label} has no row with a value of {quoted(target.name)} to compare with.")
    if missing:
        voice.note(f"- Left out: {count(missing, 'row')} without a value of {shortened(target.name)}.")
    y, predicted = np.concatenate(truths), np.concatenate(predictions)
    scores = (
        classification_scores(y, predicted, np.concatenate(shares))
        if model.is_classifier
        else regression_scores(y, predicted)
    )
    baseline = Baseline.of(y, task)
    known = baseline.scores(y)
    facts = {"model": str(model_path), "data": str(data), "target": target.name, "rows": len(y), **scores}
    lines = [("Rows", f"{len(y):,}")]
    lines += [
        (TITLES[name], f"{short(value)}{beside(name, known[name], baseline.words)}") for name, value in scores.items()
    ]
    voice.result({**facts, "baseline": known}, lines)
