"""A fitted model in words: its networks and nodes, its columns, what it estimates, and how growth ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import Pipeline

from skscn.estimators.ensemble.members import resolve_members
from skscn.estimators.networks import grown_networks, growth_of, layer_sizes, sign_of
from skscn.fitted_loss import estimated, loss_of
from skscn.following import is_recurrent
from skscn.growth import StopReason
from skscn.judging.scores import TITLES
from skscn.losses import OUTLIER, LogLoss, Squared, name_of
from skscn.persistence import describe_model
from skscn.recurrent.predicting import ReservoirRegressor
from skscn.table_model.rows import added_columns, lag_lines
from skscn.table_model.series import named
from skscn.tables import TableEncoder
from skscn.tables.columns import Category
from skscn.words import count, listed, quoted, short, size

if TYPE_CHECKING:
    from skscn.table_model.model import TableModel

_IN_WORDS = {"number": "numbers", "boolean": "0 or 1", "date": "days since 1970-01-01", "time": "hours since midnight"}


def are_whole(estimator: Any) -> bool:
    """Whether every network has grown to its end; asked after an interrupt, which recurrent ones do not note."""
    if is_recurrent(estimator):
        return False
    networks = grown_networks(estimator)
    wanted = getattr(estimator, "n_members", 1)
    if wanted == "auto":
        wanted = resolve_members(wanted, estimator.out_of_bag_.shape[1], classes=is_classifier(estimator))
    return len(networks) == wanted and all(network.stop_reason_ != StopReason.CALLBACK for network in networks)


def describe_networks(estimator: Any) -> str:
    """How many networks and nodes a model has, in words."""
    layers = [layer_sizes(network) for network in grown_networks(estimator)]
    counts = [sum(sizes) for sizes in layers]
    if is_recurrent(estimator):
        what = "a recurrent network" if len(counts) == 1 else f"{len(counts)} recurrent networks as one,"
        return f"{what} with {count(sum(counts), 'node')}{_memory(estimator)}"
    if not any(counts):
        return (
            "a network without nodes: linear" if len(counts) == 1 else f"{len(counts)} networks without nodes: linear"
        )
    if len(counts) == 1:
        return f"a network with {count(counts[0], 'node')}{_depth(layers)}"
    nodes = f"{min(counts)} to {max(counts)} nodes" if min(counts) < max(counts) else count(counts[0], "node")
    return f"{len(counts)} networks with {nodes} each{_depth(layers)}"


def _depth(layers: list[tuple[int, ...]]) -> str:
    """The layers of networks, if one has several: their sizes, or in several networks their number."""
    fewest, most = min(map(len, layers)), max(map(len, layers))
    if most == 1:
        return ""
    if len(layers) == 1:
        return f" in {most} layers, of {listed(map(str, layers[0]))}"
    return f", in {f'{fewest} to ' if fewest < most else ''}{most} layers"


def _memory(estimator: ReservoirRegressor) -> str:
    """The memory of a recurrent network."""
    length = estimator.reservoir_.length
    line = f"a delay line of {count(length, 'row')}" if length else "no delay line"
    return f" and {line}{', with feedback' if estimator.feedback else ''}"


def estimates(estimator: Any) -> list[tuple[str, str]]:
    """The line that says what a model estimates, if it has not the default loss."""
    loss = loss_of(estimator)
    if loss is None or isinstance(loss, Squared | LogLoss):
        return []
    all_rows = "; RMSE, MAE and R² include them" if loss.weighs else ""
    return [("Estimates", f"{estimated(loss)}{all_rows} (loss {name_of(loss)})")]


def limit_reached(networks: list[Any]) -> list[str]:
    """What to say where the limit on nodes has ended growth, in at least half of the networks."""
    # Where early stopping threw most nodes away, it is not more of them that are wanted.
    ended = [
        network
        for network in networks
        if network.stop_reason_ == StopReason.MAX_NODES and 2 * network.n_nodes_ > _grown(network)
    ]
    if not ended or 2 * len(ended) < len(networks):
        return []
    most = min(map(_grown, ended))
    kept = sorted({network.n_nodes_ for network in ended})
    which = f"{kept[0]}" if len(kept) == 1 else f"{kept[0]} to {kept[-1]}"
    fewer = f", and early stopping kept {which} of these nodes" if kept[0] < most else ""
    return [
        f'Growth ended at max_nodes={most}{fewer}; more nodes may be better: parameters={{"max_nodes": {2 * most}}}.'
    ]


def _grown(network: Any) -> int:
    """How many nodes were grown: the limit, if that has ended growth."""
    return int(network.history_["nodes"][-1])


def describe_columns(encoder: TableEncoder) -> str:
    """How many columns there are, and as how many features they are encoded."""
    used, encoded = len(encoder.columns_), len(encoder.get_feature_names_out())
    if not used:
        return "no columns but the time"
    return f"{count(used, 'column')}" + (f" encoded as {count(encoded, 'feature')}" if encoded != used else "")


def describe_fit(
    model: TableModel, path: Path, seconds: float, listing: str
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """A fit whose model is in a file: facts, and lines of a heading and a text; ``listing`` shows its outliers."""
    encoder, record, assessment = model.encoder_, model.record_, model.assessment_
    outliers = []
    if (n_outliers := record["outliers"]) is not None:
        look = "looks like an outlier" if n_outliers == 1 else "look like outliers"
        found = f"{n_outliers:,} of {count(model.n_rows_, 'training row')} {look} (weight below {OUTLIER:g})"
        outliers = [("Outliers", f"{found}; to list them: {listing}" if n_outliers else found)]
    facts = {
        "model": str(path),
        "target": model.target_.name,
        "task": model.target_.task,
        "rows": model.n_rows_,
        "columns": [column.name for column in encoder.columns_],
        "estimator": type(model.estimator_).__name__,
        "loss": model.loss_,
        "counts": record.get("counts"),
        "outliers": record["outliers"],
        "nodes": [network.n_nodes_ for network in grown_networks(model.estimator_)],
        "interrupted": record["interrupted"],
        "tested": record["tested"],
        "time": encoder.time_,
        "lags": None if model.lags_ is None else added_columns(model.lags_, encoder),
        "warnings": list(map(str, assessment.cautions)),
        "cautions": [{"code": caution.code, "text": str(caution)} for caution in assessment.cautions],
        "notes": encoder.notes_,
        "seconds": round(seconds, 3),
    }
    taken = f"in {seconds:.1f} s{' including tests' if assessment.tests else ''}"
    return facts, [
        ("Model", f"{path} ({size(path.stat().st_size)}), {describe_networks(model.estimator_)}"),
        ("Trained on", f"{count(model.n_rows_, 'row')}, {describe_columns(encoder)}, {taken}"),
        *lag_lines(model.lags_, encoder),
        *estimates(model.estimator_),
        *(assessment.tests.lines() if assessment.tests else []),
        *([("Counts", record["counts"])] if record.get("counts") else []),
        *outliers,
        *(("Caution", str(caution)) for caution in assessment.cautions),
    ]


def describe_inputs(encoder: TableEncoder) -> list[str]:
    """The inputs of the ONNX graph of a model with an encoder, in words."""
    texts = [column.name for column in encoder.columns_ if isinstance(column, Category)]
    kinds = {kind: [column.name for column in encoder.columns_ if column.kind == kind] for kind in _IN_WORDS}
    lines = [f"Inputs of type float64 ({_IN_WORDS[kind]}): {listed(names)}." for kind, names in kinds.items() if names]
    lines += [f"Inputs of type string: {listed(texts)}."] if texts else []
    return [*lines, 'Each input has the shape (rows, 1); missing values are NaN, or "" for strings.']


# A model file.


def describe_file(model: TableModel, path: Path) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """What is in the file of a model: facts, and lines of a heading and a text."""
    description = describe_model(path)
    networks = grown_networks(model.estimator_)
    scopes = np.concatenate([_kept_scopes(network) for network in networks])
    record = description["notes"].get("skscn", description["notes"])
    facts = {
        **description,
        # The sketch of the training rows, and errors of the tests, are for other commands, not for people.
        "notes": {
            **model.user_notes_,
            "skscn": {name: note for name, note in record.items() if name not in ("sketch", "errors")}
            if model.record_
            else {},
        },
        "target": model.target_.name if model.target_ else None,
        "scopes": {"smallest": scopes.min(), "median": np.median(scopes), "largest": scopes.max()}
        if len(scopes)
        else None,
        "layers": [layer_sizes(network) for network in networks],
        "stopped": [network.stop_reason_ for network in networks],
        "columns": _columns(model),
        "monotone": _signs(model),
        "lags": None if model.lags_ is None else added_columns(model.lags_, model.encoder_),
    }
    return facts, _file_lines(model, description, scopes)


def _columns(model: TableModel) -> dict[str, str] | None:
    if isinstance(model.encoder_, TableEncoder):
        return {column.name: column.kind for column in model.encoder_.columns_}
    return dict.fromkeys(model.encoder_.read_types, "number") if model.encoder_ else None


def _signs(model: TableModel) -> dict[str, int]:
    """The columns that predictions are certain to increase or to decrease with, and 1 or −1."""
    groups = model.encoder_.groups_ if isinstance(model.encoder_, TableEncoder) else {}
    signs = {name: sign_of(model.estimator_, places[0]) for name, places in groups.items() if places}
    return {name: sign for name, sign in signs.items() if sign}


def _kept_scopes(network: BaseEstimator) -> np.ndarray:
    """λ of the nodes of a recurrent network, or of the steps whose nodes early stopping has kept."""
    if is_recurrent(network):
        scopes: np.ndarray = network.reservoir_.nodes.scopes
        # Products have none.
        return scopes[scopes > 0.0]
    return np.asarray(growth_of(network).kept_steps["scope"])


def _file_lines(model: TableModel, description: dict[str, Any], scopes: np.ndarray) -> list[tuple[str, str]]:
    record, columns, estimator = model.record_, _columns(model), model.estimator_
    reasons = {network.stop_reason_ for network in grown_networks(estimator)}
    if record.get("interrupted"):
        reasons = reasons - {StopReason.CALLBACK} | {"Ctrl-C"}
    lines = [
        ("File", f"{model.path_} ({size(description['bytes'])})"),
        ("Model", f"{type(estimator).__name__}: {describe_networks(estimator)}"),
        *estimates(estimator),
        ("Growth ended by", listed(sorted(reasons))),
    ]
    if is_recurrent(estimator):
        bound = estimator.reservoir_.echo_state_bound
        own = f"at most {bound:.3g}" if bound else "none"
        lines.append(("Echo state", f"the initial state is forgotten; feedback of a node to itself: {own}"))
    if len(scopes):
        lines.append(("Scopes", f"{scopes.min():.3g} to {scopes.max():.3g}, median {np.median(scopes):.3g}"))
    if model.target_:
        lines.append(("Target", f"{model.target_.name} ({model.target_.task})"))
    if model.is_classifier:
        lines.append(("Classes", listed(map(str, estimator.classes_))))
    if columns:
        lines.append(("Columns", listed(f"{name} ({kind})" for name, kind in columns.items())))
    if signs := _signs(model):
        lines.append(("Monotone", listed(f"{name}={'+' if sign > 0 else '-'}" for name, sign in signs.items())))
    lines += lag_lines(model.lags_, model.encoder_)
    lines += [] if model.every_ is None else [("Resampled", str(model.every_))]
    if "data" in record:
        lines.append(("Trained on", f"{record['data']}, {count(model.n_rows_, 'row')}, {record['fitted']}"))
    for update in record.get("updated_with", []):
        lines.append(("Updated with", f"{update['data']}, {count(update['rows'], 'row')}"))
    if model.user_notes_:
        lines.append(("Notes", listed(f"{name}: {value}" for name, value in model.user_notes_.items())))
    if model.group_ is not None:
        lines.append(("Series", f"told apart by {quoted(model.group_)}: {named(model.labels)}"))
    # Scores of the tests that were not defined are null.
    scores = ((name, value) for name, value in (record.get("tested") or {}).items() if name in TITLES)
    lines += [
        (TITLES[name], f"{short(value['mean'])} when tested") for name, value in scores if value["mean"] is not None
    ]
    chosen = listed(f"{name}={value}" for name, value in _chosen(estimator).items())
    lines.append(("Parameters", chosen or "all at their defaults"))
    lines.append(("Versions", listed(f"{name} {version}" for name, version in description["versions"].items())))
    return lines


def _chosen(estimator: Any) -> dict[str, Any]:
    """Parameters that are not at their default; of an ensemble and of its members."""
    estimator = estimator[-1] if isinstance(estimator, Pipeline) else estimator
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
