"""The paper's figures, drawn from trials (1, 2 and 4) or from one network each (3)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import Bunch

from skscn.estimators import IRVFLRegressor, SCNRegressor
from skscn.estimators.base import NetworkRegressor
from skscn.experiments.paper import METHODS
from skscn.experiments.tables import NODES, Results, curve_unit
from skscn.experiments.trials import FIRST_SEARCH, Trial, Unit, scopes
from skscn.files import replacing
from skscn.plot import FitDisplay
from skscn.plot.style import logarithmic_axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ACTIVATIONS_OF_FIGURE_4 = ("sigmoid", "gaussian", "sine", "cosine", "tanh")
_NODES_OF_FIGURE_4 = 100
_COLOURS = {"MQ": "#6b7280", "IRVFL": "#a16207", "SC-I": "#2563eb", "SC-II": "#059669", "SC-III": "#c2410c"}
CAPTIONS = {
    "figure1": "Mean RMSE against nodes of MQ, IRVFL, SC-I, SC-II and SC-III on DB 1: training and test. "
    "A network that finds no further node keeps its error.",
    "figure2": "Mean RMSE against nodes of MQ, IRVFL, SC-I, SC-II and SC-III on DB 2: training and test.",
    "figure3": "DB 1 approximated by IRVFL with λ = 1, 100 and 200, and by SC-I, SC-II and SC-III: target and network.",
    "figure4": "Mean RMSE against nodes of SC-I and IRVFL with five activations on DB 1: training and test.",
}
# Panels of Figure 3: title -> scope of IRVFL, or algorithm.
_SCOPES_OF_IRVFL = {f"IRVFL, λ = {scope}": scope for scope in (1, 100, 200)}
_ALGORITHMS = {"SC-I": "SC-I", "SC-II, K = 15": "SC-II", "SC-III": "SC-III"}
PANELS = (*_SCOPES_OF_IRVFL, *_ALGORITHMS)


def activation_unit(method: str, activation: str) -> Unit:
    """The trials of one method with one activation on DB 1, for Figure 4."""
    return Unit("DB1", method, _NODES_OF_FIGURE_4, (("activation", activation),))


def figure_units(figure: int) -> list[Unit]:
    """The trials that a figure needs."""
    if figure in (1, 2):
        return [curve_unit(f"DB{figure}", method) for method in METHODS]
    if figure == 4:
        return [activation_unit(m, activation) for m in ("SC-I", "IRVFL") for activation in ACTIVATIONS_OF_FIGURE_4]
    return []


def draw_figure(figure: int, results: Results, db1: Bunch, seed: int, search: str) -> Figure:
    """Draw a figure, of networks that were grown with this reading of the paper's search."""
    if figure == 3:
        return draw_approximations({title: grow_panel(title, db1, seed, search) for title in PANELS}, db1)
    if figure == 4:
        curves = {(f"{unit.method}, {dict(unit.parameters)['activation']}"): results(unit) for unit in figure_units(4)}
        styles = {
            label: {
                "color": f"C{ACTIVATIONS_OF_FIGURE_4.index(label.split(', ')[1])}",
                "linestyle": "-" if label.startswith("SC-I") else ":",
            }
            for label in curves
        }
        return draw_curves(curves, styles, _NODES_OF_FIGURE_4, logarithmic=False)
    curves = {method: results(curve_unit(f"DB{figure}", method)) for method in METHODS}
    styles = {method: {"color": _COLOURS[method]} for method in METHODS}
    return draw_curves(curves, styles, NODES[f"DB{figure}"], logarithmic=True)


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


def grow_panel(title: str, db1: Bunch, seed: int, search: str = FIRST_SEARCH) -> NetworkRegressor:
    """The network of one panel of Figure 3: 100 nodes, or fewer if growth ends earlier."""
    common: dict[str, Any] = {"max_nodes": 100, "random_state": seed}
    model: NetworkRegressor
    if title in _ALGORITHMS:
        common |= {"configuration": search, "scopes": scopes(search, "DB1")}
        model = SCNRegressor(algorithm=_ALGORITHMS[title], **common)
    else:
        model = IRVFLRegressor(scope=_SCOPES_OF_IRVFL[title], **common)
    model.fit(db1.data, db1.target)
    return model


def draw_approximations(models: dict[str, NetworkRegressor], db1: Bunch) -> Figure:
    """Figure 3: each network over the test inputs, with the target."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6), layout="constrained")
    axes = figure.subplots(2, 3, sharex=True, sharey=True)
    for ax, (title, model) in zip(axes.flat, models.items(), strict=True):
        title = f"{title} ({model.n_nodes_} nodes)"
        FitDisplay.from_estimator(model, db1.test_data, db1.test_target, ax=ax, title=title, show_nodes=False)
        ax.label_outer()
    axes[0, 0].legend(frameon=False)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write ``path``.svg and ``path``.png, the same bytes for the same figure."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "skscn"}), replacing(path.with_suffix(".svg")) as file:
        figure.savefig(file, format="svg", metadata={"Date": None})
    with replacing(path.with_suffix(".png")) as file:
        figure.savefig(file, format="png", dpi=110)
