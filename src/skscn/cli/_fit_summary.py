"""What ``skscn fit`` says at its end: facts for programs, lines for people."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from skscn.cli._fitted import Fitted
from skscn.cli._lags import added_columns, lag_lines
from skscn.cli._networks import describe_networks, estimates
from skscn.cli._voice import size
from skscn.estimators.networks import grown_networks
from skscn.losses import OUTLIER
from skscn.tables import TableEncoder
from skscn.words import count


def summarise(fitted: Fitted, seconds: float, data: Path) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The facts, and the lines of a heading and a text; ``data`` is the file with the training rows."""
    target, validated = fitted.target, fitted.validated
    facts = {
        "model": str(fitted.path),
        "target": target.name,
        "task": target.task,
        "rows": fitted.n_rows,
        "columns": [column.name for column in fitted.encoder.columns_],
        "estimator": type(fitted.estimator).__name__,
        "loss": fitted.loss,
        "counts": fitted.counts,
        "outliers": fitted.n_outliers,
        "nodes": [network.n_nodes_ for network in grown_networks(fitted.estimator)],
        "interrupted": fitted.interrupted,
        "tested": validated.facts() if validated else None,
        "time": fitted.encoder.time_,
        "lags": None if fitted.lags is None else added_columns(fitted.lags, fitted.encoder),
        "warnings": fitted.warnings,
        "notes": fitted.encoder.notes_,
        "seconds": round(seconds, 3),
    }
    time_taken = f"in {seconds:.1f} s{' including tests' if validated else ''}"
    lines = [
        ("Model", f"{fitted.path} ({size(fitted.path.stat().st_size)}), {describe_networks(fitted.estimator)}"),
        ("Trained on", f"{count(fitted.n_rows, 'row')}, {describe_columns(fitted.encoder)}, {time_taken}"),
        *lag_lines(fitted.lags, fitted.encoder),
        *estimates(fitted.estimator),
        *(validated.lines() if validated else []),
        *([("Counts", fitted.counts)] if fitted.counts else []),
        *_outliers(fitted, data),
        *(("Caution", text) for text in fitted.warnings),
    ]
    return facts, lines


def _outliers(fitted: Fitted, data: Path) -> list[tuple[str, str]]:
    """How many training rows look like outliers, and how to list them."""
    if fitted.n_outliers is None:
        return []
    look = "looks like an outlier" if fitted.n_outliers == 1 else "look like outliers"
    found = f"{fitted.n_outliers:,} of {count(fitted.n_rows, 'training row')} {look} (weight below {OUTLIER:g})"
    listing = f"; to list them: skscn outliers {shlex.quote(str(fitted.path))} {shlex.quote(str(data))}"
    return [("Outliers", found + (listing if fitted.n_outliers else ""))]


def describe_columns(encoder: TableEncoder) -> str:
    """How many columns there are, and as how many features they are encoded."""
    used, encoded = len(encoder.columns_), len(encoder.get_feature_names_out())
    if not used:
        return "no columns but the time"
    return f"{count(used, 'column')}" + (f" encoded as {count(encoded, 'feature')}" if encoded != used else "")
