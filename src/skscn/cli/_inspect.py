"""``skscn inspect``: what is in a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from skscn.cli._groups import named
from skscn.cli._lags import added_columns, lag_lines
from skscn.cli._models import Model, notes_to_save, open_model
from skscn.cli._networks import describe_networks, estimates
from skscn.cli._scores import TITLES
from skscn.cli._voice import Voice, short, size
from skscn.estimators.networks import grown_networks, growth_of, layer_sizes
from skscn.following import is_recurrent
from skscn.growth import StopReason
from skscn.persistence import describe_model
from skscn.tables import TableEncoder
from skscn.words import count, listed, quoted


def run_inspect(path: Path, voice: Voice) -> None:
    """Describe a model file."""
    model = open_model(path)
    description = describe_model(path)
    scopes = np.concatenate([_kept_scopes(network) for network in grown_networks(model.estimator)])
    facts = {
        **description,
        # The sketch of the training rows is for evaluate, not for people.
        "notes": notes_to_save(
            {name: note for name, note in model.notes.items() if name != "sketch"}, model.user_notes
        ),
        "target": model.target.name if model.target else None,
        "scopes": {"smallest": scopes.min(), "median": np.median(scopes), "largest": scopes.max()}
        if len(scopes)
        else None,
        "layers": [layer_sizes(network) for network in grown_networks(model.estimator)],
        "stopped": [network.stop_reason_ for network in grown_networks(model.estimator)],
        "columns": _columns(model),
        "lags": None if model.lags is None else added_columns(model.lags, model.encoder),
    }
    voice.result(facts, _lines(model, description, scopes))


def _columns(model: Model) -> dict[str, str] | None:
    if isinstance(model.encoder, TableEncoder):
        return {column.name: column.kind for column in model.encoder.columns_}
    return dict.fromkeys(model.encoder.read_types, "number") if model.encoder else None


def _kept_scopes(network: BaseEstimator) -> np.ndarray:
    """λ of the nodes of a recurrent network, or of the steps whose nodes early stopping has kept."""
    if is_recurrent(network):
        scopes: np.ndarray = network.reservoir_.nodes.scopes
        # Products have none.
        return scopes[scopes > 0.0]
    return np.asarray(growth_of(network).kept_steps["scope"])


def _lines(model: Model, description: dict[str, Any], scopes: np.ndarray) -> list[tuple[str, str]]:
    notes, columns = model.notes, _columns(model)
    reasons = {network.stop_reason_ for network in grown_networks(model.estimator)}
    if notes.get("interrupted"):
        reasons = reasons - {StopReason.CALLBACK} | {"Ctrl-C"}
    lines = [
        ("File", f"{model.path} ({size(description['bytes'])})"),
        ("Model", f"{type(model.estimator).__name__}: {describe_networks(model.estimator)}"),
        *estimates(model.estimator),
        ("Growth ended by", listed(sorted(reasons))),
    ]
    if is_recurrent(model.estimator):
        bound = model.estimator.reservoir_.echo_state_bound
        own = f"at most {bound:.3g}" if bound else "none"
        lines.append(("Echo state", f"the initial state is forgotten; feedback of a node to itself: {own}"))
    if len(scopes):
        lines.append(("Scopes", f"{scopes.min():.3g} to {scopes.max():.3g}, median {np.median(scopes):.3g}"))
    if model.target:
        lines.append(("Target", f"{model.target.name} ({model.target.task})"))
    if model.is_classifier:
        lines.append(("Classes", listed(map(str, model.estimator.classes_))))
    if columns:
        lines.append(("Columns", listed(f"{name} ({kind})" for name, kind in columns.items())))
    lines += lag_lines(model.lags, model.encoder)
    if "data" in notes:
        lines.append(("Trained on", f"{notes['data']}, {count(notes['rows'], 'row')}, {notes['fitted']}"))
    for update in notes.get("updated_with", []):
        lines.append(("Updated with", f"{update['data']}, {count(update['rows'], 'row')}"))
    if model.user_notes:
        lines.append(("Notes", listed(f"{name}: {value}" for name, value in model.user_notes.items())))
    if model.group is not None:
        lines.append(("Series", f"told apart by {quoted(model.group)}: {named(model.labels)}"))
    lines += [(TITLES[name], f"{short(value['mean'])} when tested") for name, value in _tested(notes)]
    lines.append(
        ("Parameters", listed(f"{name}={value}" for name, value in _chosen(model).items()) or "all at their defaults")
    )
    lines.append(("Versions", listed(f"{name} {version}" for name, version in description["versions"].items())))
    return lines


def _tested(notes: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The scores of the tests; those that were not defined are null."""
    scores = (notes.get("tested") or {}).items()
    return [(name, value) for name, value in scores if name in TITLES and value["mean"] is not None]


def _chosen(model: Model) -> dict[str, Any]:
    """Parameters that are not at their default; of an ensemble and of its members."""
    estimator = model.estimator[-1] if isinstance(model.estimator, Pipeline) else model.estimator
    chosen = _changed(estimator, type(estimator)())
    member = chosen.pop("estimator", None)
    if member is None:
        return chosen
    default = estimator._default_estimator()
    # Members of another class, such as deep ones, have defaults of their own.
    return {**chosen, **_changed(member, default if isinstance(default, type(member)) else type(member)())}


def _changed(estimator: BaseEstimator, default: BaseEstimator) -> dict[str, Any]:
    defaults = default.get_params(deep=False)
    given = estimator.get_params(deep=False)
    return {name: value for name, value in given.items() if repr(value) != repr(defaults[name])}
