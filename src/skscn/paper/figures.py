"""The paper's figures, drawn from trials (1, 2 and 4) or from one network each (3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from skscn.estimators.base import NetworkRegressor
from skscn.files import replacing
from skscn.paper.reported import METHODS, TABLE1
from skscn.paper.tables import NODES, curve_unit
from skscn.paper.trials import FIRST_SEARCH, Results, Trial, Unit, split
from skscn.plot import FitDisplay
from skscn.plot.style import logarithmic_axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The header and the rows of a CSV file.
Rows: TypeAlias = tuple[Iterable[Any], Iterable[Iterable[Any]]]


@dataclass(frozen=True)
class Experiment:
    """An experiment whose result is a figure: the trials that it needs, and what is made of their results.

    Attributes
    ----------
    title, caption : str
    units : list of Unit
    draw : callable
        Results -> the figure.
    rows : callable or None
        Results -> the numbers of the figure for a CSV file.
    findings : callable or None
        Results -> what the figure shows, in sentences.
    """

    title: str
    caption: str
    units: list[Unit]
    draw: Callable[[Results], Figure]
    rows: Callable[[Results], Rows] | None = None
    findings: Callable[[Results], list[str]] | None = None


# ---- Figures 1, 2 and 4: errors against nodes

_COLOURS = {"MQ": "#6b7280", "IRVFL": "#a16207", "SC-I": "#2563eb", "SC-II": "#059669", "SC-III": "#c2410c"}
_ACTIVATIONS = ("sigmoid", "gaussian", "sine", "cosine", "tanh")
_NODES_OF_FIGURE_4 = 100


def _draw_methods(data: str, results: Results) -> Figure:
    curves = {method: results(curve_unit(data, method)) for method in METHODS}
    styles = {method: {"color": _COLOURS[method]} for method in METHODS}
    return draw_curves(curves, styles, NODES[data], logarithmic=True)


def _activation_units() -> dict[tuple[str, str], Unit]:
    """(method, activation) -> the trials on DB 1."""
    return {
        (method, activation): Unit("DB1", method, _NODES_OF_FIGURE_4, (("activation", activation),))
        for method in ("SC-I", "IRVFL")
        for activation in _ACTIVATIONS
    }


def _draw_activations(results: Results) -> Figure:
    curves, styles = {}, {}
    for (method, activation), unit in _activation_units().items():
        label = f"{method}, {activation}"
        curves[label] = results(unit)
        line = "-" if method == "SC-I" else ":"
        styles[label] = {"color": f"C{_ACTIVATIONS.index(activation)}", "linestyle": line}
    return draw_curves(curves, styles, _NODES_OF_FIGURE_4, logarithmic=False)


def draw_curves(
    curves: dict[str, list[Trial]], styles: dict[str, dict[str, Any]], nodes: int, *, logarithmic: bool
) -> Figure:
    """Mean training and test error against nodes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.4), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for ax, part in zip(axes, ("train", "test"), strict=True):
        for label, trials in curves.items():
            ax.plot(np.arange(1, nodes + 1), mean_curve(trials, part, nodes), label=label, **styles[label])
        ax.set(title=part, xlabel="nodes")
        if logarithmic:
            logarithmic_axis(ax)
        ax.grid(alpha=0.25)
    axes[0].set_ylabel("RMSE")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    return figure


def mean_curve(trials: list[Trial], part: str, nodes: int) -> np.ndarray:
    """Mean error after each node; a network that ended early contributes its last error."""
    return np.asarray(np.mean([[trial.at(part, L) for L in range(1, nodes + 1)] for trial in trials], axis=0))


# ---- Figure 3: DB 1 approximated by six networks of 100 nodes, or fewer if growth ends earlier

PANELS = {
    **{f"IRVFL, λ = {scope}": Unit("DB1", "IRVFL", 100, (("scope", scope),)) for scope in (1, 100, 200)},
    "SC-I": Unit("DB1", "SC-I", 100),
    "SC-II, K = 15": Unit("DB1", "SC-II", 100),
    "SC-III": Unit("DB1", "SC-III", 100),
}


def grow_panel(title: str, seed: int, data_seed: int, search: str = FIRST_SEARCH) -> NetworkRegressor:
    """The network of one panel of Figure 3."""
    X, _, y, _ = split("DB1", data_seed)
    model: NetworkRegressor = PANELS[title].searched(search).estimator(seed).fit(X, y)
    return model


# Rows of Table 1 -> panel, and its columns.
_ROWS = {"IRVFL": "IRVFL, λ = 1", "SC-I": "SC-I", "SC-II": "SC-II, K = 15", "SC-III": "SC-III"}
_COLUMNS = [(part, nodes) for part in ("train", "test") for nodes in (25, 50)]


def errors_of_panels(models: dict[str, NetworkRegressor], seed: int) -> list[tuple[str, str]]:
    """Lines of a method and its errors, each with the paper's mean (Table 1) in brackets."""

    def short(error: float) -> str:
        return f"{error:.4f}".removeprefix("0")

    _, X_test, _, y_test = split("DB1", seed)
    lines = [("algorithm", "".join(f"{f'{part}, L = {nodes}':>16}" for part, nodes in _COLUMNS))]
    for method, title in _ROWS.items():
        trial = Trial.of(models[title], X_test, y_test)
        errors = [(trial.at(*column), TABLE1[method, *column].mean) for column in _COLUMNS]
        lines.append((method, "".join(f"{f'{short(ours)} ({short(papers)})':>16}" for ours, papers in errors)))
    return lines


def draw_approximations(models: dict[str, NetworkRegressor]) -> Figure:
    """Figure 3: each network over the test inputs, with the target."""
    from matplotlib.figure import Figure

    # The test inputs are a grid, whatever the seed.
    _, X, _, y = split("DB1", 0)
    figure = Figure(figsize=(12, 6), layout="constrained")
    axes = figure.subplots(2, 3, sharex=True, sharey=True)
    for ax, (title, model) in zip(axes.flat, models.items(), strict=True):
        title = f"{title} ({model.n_nodes_} nodes)"
        FitDisplay.from_estimator(model, X, y, ax=ax, title=title, show_nodes=False)
        ax.label_outer()
    axes[0, 0].legend(frameon=False)
    return figure


def _draw_panels(results: Results) -> Figure:
    data_seed, search = results.store.data_seed, results.search
    return draw_approximations({title: grow_panel(title, 0, data_seed, search) for title in PANELS})


# ---- all of them

FIGURES = {
    "figure1": Experiment(
        "Figure 1",
        "Mean RMSE against nodes of MQ, IRVFL, SC-I, SC-II and SC-III on DB 1: training and test. "
        "A network that finds no further node keeps its error.",
        [curve_unit("DB1", method) for method in METHODS],
        partial(_draw_methods, "DB1"),
    ),
    "figure2": Experiment(
        "Figure 2",
        "Mean RMSE against nodes of MQ, IRVFL, SC-I, SC-II and SC-III on DB 2: training and test.",
        [curve_unit("DB2", method) for method in METHODS],
        partial(_draw_methods, "DB2"),
    ),
    "figure3": Experiment(
        "Figure 3",
        "DB 1 approximated by IRVFL with λ = 1, 100 and 200, and by SC-I, SC-II and SC-III: target and network.",
        [],
        _draw_panels,
    ),
    "figure4": Experiment(
        "Figure 4",
        "Mean RMSE against nodes of SC-I and IRVFL with five activations on DB 1: training and test.",
        list(_activation_units().values()),
        _draw_activations,
    ),
}


def save(figure: Figure, path: Path) -> None:
    """Write ``path``.svg and ``path``.png, the same bytes for the same figure."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "skscn"}), replacing(path.with_suffix(".svg")) as file:
        figure.savefig(file, format="svg", metadata={"Date": None})
    with replacing(path.with_suffix(".png")) as file:
        figure.savefig(file, format="png", dpi=110)
