"""What the model is, how it was set up and how to use it."""

from __future__ import annotations

import inspect
import platform
import shlex
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

import skscn
from skscn.estimators.networks import grown_networks, growth_of, layer_sizes
from skscn.fitted_loss import estimated
from skscn.growth import StopReason
from skscn.losses import name_of
from skscn.recurrent.predicting import ReservoirRegressor
from skscn.report._data import ReportData
from skscn.tables.columns import RowTime
from skscn.words import count, listed, number

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from skscn.network import Network

_PACKAGES = ("numpy", "scipy", "scikit-learn")
_LONGEST_VALUE = 200
_COLUMNS_NAMED = 20
_STOPS = {
    StopReason.TOL: "the training error reached tol",
    StopReason.MAX_NODES: "max_nodes was reached",
    StopReason.NO_CANDIDATE: "no further candidate passed the supervisory inequality",
    StopReason.EARLY_STOPPING: "the error on held-out rows, or its estimate, stopped decreasing",
    StopReason.CALLBACK: "a callback stopped it",
}


def facts(data: ReportData) -> dict[str, str]:
    """What was grown, in plain words."""
    if data.followed is not None:
        return _recurrent_facts(data.followed.estimator)
    networks = data.networks
    network = networks[0].network_
    nodes = [grown.n_nodes_ for grown in networks]
    histories = [grown.history_ for grown in networks]
    undone = sum(int(steps["nodes"].max(initial=kept)) - kept for steps, kept in map(growth_of, networks))
    numbers = sum(_size(grown.network_) for grown in networks)
    return {
        "Model": type(data.estimator).__name__,
        **({"Members": f"{len(networks):,}"} if hasattr(data.estimator, "members_") else {}),
        "Nodes": number(nodes[0]) if len(nodes) == 1 else f"{min(nodes)} to {max(nodes)} in each member",
        **_layers(networks),
        **({"Nodes tried and not kept": f"{undone:,}"} if undone else {}),
        "Loss": f"{name_of(network.loss)}; predictions estimate {estimated(network.loss)}",
        "Linear part": _linear_part(network),
        "Activation": "none" if network.activation is None else network.activation.name,
        "Scaling of the inputs": str(network.inputs.name or "none"),
        "Weights and biases": f"{numbers:,}",
        "Candidates tried": f"{sum(int(history['candidates'].sum()) for history in histories):,}",
        "Training time": f"{number(sum(history['seconds'].sum() for history in histories))} s",
        "Reason for stopping": "; ".join(sorted({_STOPS[StopReason(grown.stop_reason_)] for grown in networks})),
    }


def _layers(networks: list[BaseEstimator]) -> dict[str, str]:
    """The sizes of the layers of a network, or how many layers members have, if there are several."""
    layers = [layer_sizes(network) for network in networks]
    depths = sorted({len(sizes) for sizes in layers})
    if depths == [1]:
        return {}
    members = f"{depths[0]} to {depths[-1]} in each member" if depths[1:] else f"{depths[0]} in each member"
    return {"Layers": f"{depths[0]}, of {listed(map(str, layers[0]))} nodes" if len(layers) == 1 else members}


def _recurrent_facts(estimator: ReservoirRegressor) -> dict[str, str]:
    reservoir, networks = estimator.reservoir_, grown_networks(estimator)
    tried = sum(int(network.history_["candidates"].sum()) for network in networks)
    products = int(reservoir.nodes.products.sum())
    links = len(reservoir.output_weights) - 1 - reservoir.n_nodes
    bound = reservoir.echo_state_bound
    own = f"at most {number(bound)}" if bound else "none"
    return {
        "Model": type(estimator).__name__,
        **({"Members": f"{len(networks)}, which run as one network"} if len(networks) > 1 else {}),
        "Nodes": f"{reservoir.n_nodes}{f', {products} of them products' if products else ''}",
        "Delay line": count(reservoir.length, "earlier row") if reservoir.length else "none",
        "Feedback of the output": "the target of the previous row is an input" if reservoir.fed_back else "none",
        "Linear part": f"an intercept and {count(links, 'direct link')}",
        "Echo state": f"the initial state is forgotten; feedback of a node to itself: {own}",
        "Ridge penalty": number(reservoir.alpha),
        "Candidates tried": f"{tried:,}, without those of pilot networks",
        "Reason for stopping": "; ".join(sorted({_STOPS[StopReason(grown.stop_reason_)] for grown in networks})),
    }


def _linear_part(network: Network) -> str:
    links = network.linear.size - 1
    if links > 0:
        return f"an intercept and {count(links, 'direct link')}"
    return "an intercept" if links == 0 else "none"


def _size(network: Network) -> int:
    """Weights, biases, output weights and the linear part, as they are used to predict."""
    linear = network.n_outputs * (network.n_inputs + 1) if network.linear.size else 0
    return int(
        sum(block.weights.size for block in network.layers) + network.biases.size + network.output_weights.size + linear
    )


@dataclass(frozen=True)
class Parameter:
    """A parameter of the model; default is None where it has been left alone."""

    name: str
    value: str
    changed_from: str | None


def parameters(data: ReportData) -> dict[str, list[Parameter]]:
    """Those of the model, and of the members of an ensemble."""
    estimator = data.estimator
    tables = {type(estimator).__name__: _parameters(estimator, without={"estimator"})}
    if hasattr(estimator, "members_"):
        member = estimator.members_[0]
        # Seeds and threads of a member are the ensemble's affair.
        tables[f"Each member: {type(member).__name__}"] = _parameters(member, without={"random_state", "n_jobs"})
    return tables


def _parameters(estimator: BaseEstimator, without: set[str]) -> list[Parameter]:
    defaults = {name: p.default for name, p in inspect.signature(type(estimator)).parameters.items()}
    return [
        Parameter(name, _shortened(value), None if _same(value, defaults[name]) else _shortened(defaults[name]))
        for name, value in estimator.get_params(deep=False).items()
        if name not in without
    ]


def _same(value: object, default: object) -> bool:
    return (type(value) is type(default) and value == default) or np.array_equal(np.asarray(value), np.asarray(default))


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def versions() -> dict[str, str]:
    """What the report was made with."""
    return {
        "scikit-scn": skscn.__version__,
        **{package: version(package) for package in _PACKAGES},
        "Python": platform.python_version(),
        "System": platform.platform(terse=True),
    }


def usage(data: ReportData, model_path: str, data_name: str) -> dict[str, str]:
    """How to use the model: code and commands that can be copied."""
    model, table = shlex.quote(model_path), shlex.quote(data_name)
    stem = model_path.removesuffix(".scn")
    commands = [
        f"skscn predict {model} {table} -o predictions.csv" + " --interval 0.9" * data.has_intervals,
        f"skscn evaluate {model} {table}" + " --outliers outliers.csv" * (data.row_weights is not None),
        f"skscn inspect {model}",
        *([f"skscn forecast {model} {_ahead(data)} -o forecast.csv --interval 0.9"] if _forecasts(data) else []),
    ]
    exports = [f"skscn export {model} {shlex.quote(stem + ending)}" for ending in (".onnx", ".c")]
    return {
        "From Python": _python_code(data, model_path, data_name),
        "From the command line": "\n".join(commands),
        "Without Python, as ONNX or C": "\n".join(exports),
    }


def _forecasts(data: ReportData) -> bool:
    return data.followed is not None and bool(data.followed.estimator.feedback)


def _ahead(data: ReportData) -> str:
    """How to say which rows are to be forecast."""
    timed_only = all(isinstance(source, RowTime) for source in data.sources.values())
    return "--steps 96" if timed_only and len(data.sources) == len(data.inputs) else "--inputs future.csv"


def _python_code(data: ReportData, model_path: str, data_name: str) -> str:
    if data.of_table:
        return _with_table_model(data, model_path, data_name)
    return (_on_tables if data.sources else _on_rows)(data, model_path, data_name)


def _with_table_model(data: ReportData, model_path: str, data_name: str) -> str:
    """Code for a table model, which reads files and frames itself."""
    lines = [
        "from skscn import load_model",
        "",
        f"model = load_model({model_path!r})",
        "# This can also be a pandas or Polars DataFrame:",
        f"table = {data_name!r}",
        "predictions = model.predict(table)",
    ]
    lines += ["probabilities = model.predict_proba(table)"] * data.classifies
    lines += ["lower, upper = model.predict_interval(table, coverage=0.9)"] * data.has_intervals
    return "\n".join(lines)


def _on_tables(data: ReportData, model_path: str, data_name: str) -> str:
    """Code for a model that is kept with the encoder of its table, in a pipeline."""
    more = ["predictions = model.predict(table)"]
    more += ["probabilities = model.predict_proba(table)"] * data.classifies
    encoded = "encoded = model[:-1].transform(table)"
    if data.followed is not None:
        known = f", y=table[{data.outputs[0]!r}].to_numpy()" * _forecasts(data)
        started = f'encoded{known}, state="end"'
        more = [
            "# These rows follow the training rows.",
            encoded,
            f"predictions = model[-1].predict({started})",
            f"lower, upper = model[-1].predict_interval({started}, coverage=0.9)",
        ]
    elif data.has_intervals:
        more += [encoded, "lower, upper = model[-1].predict_interval(encoded, coverage=0.9)"]
    lines = [
        "from skscn import load_model",
        "from skscn.tables import open_table",
        "",
        f"model = load_model({model_path!r})",
        "# This can also be a pandas or Polars DataFrame:",
        f"table = open_table({data_name!r}).read()",
    ]
    return "\n".join([*lines, *more])


def _on_rows(data: ReportData, model_path: str, data_name: str) -> str:
    """Code for a model of numbers."""
    more = ["probabilities = model.predict_proba(rows)"] * data.classifies + [
        "lower, upper = model.predict_interval(rows, coverage=0.9)"
    ] * data.has_intervals
    few = len(data.columns) <= _COLUMNS_NAMED
    chosen = f"[{data.columns}]" if few else f".drop(columns={data.outputs})"
    lines = [
        "import pandas",
        "from skscn import load_model",
        "",
        f"model = load_model({model_path!r})",
        f"table = pandas.read_csv({data_name!r})",
        f"rows = table{chosen}{'' if data.knows_names else '.to_numpy()'}",
        "predictions = model.predict(rows)",
    ]
    return "\n".join([*lines, *more])
