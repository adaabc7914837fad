"""Studies that the paper's conclusion asks for: sensitivity to parameters, a guideline for activations, and depth."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skscn.activations import ACTIVATIONS
from skscn.paper.figures import Experiment, Rows
from skscn.paper.tables import read_rows
from skscn.paper.trials import ALL_SCOPES, Results, Unit
from skscn.plot.style import logarithmic_axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NODES = 50
_CONTRACTIONS = (0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)
# Parameter -> (method, {label: value}), varied one at a time.
_VARIED: dict[str, tuple[str, dict[str, Any]]] = {
    "max_candidates": ("SC-III", {str(count): count for count in (10, 25, 50, 100, 200, 400)}),
    "scopes": ("SC-III", {**{f"{{{scope}}}": (scope,) for scope in ALL_SCOPES}, "all": ALL_SCOPES}),
    "contractions": (
        "SC-III",
        {**{f"{{{r}}}": (r,) for r in _CONTRACTIONS}, "all": _CONTRACTIONS},
    ),
    "window": ("SC-II", {str(window): window for window in (2, 5, 10, 15, 25, 50)}),
}
_SYMBOLS = {"max_candidates": "T_max", "scopes": "Υ", "contractions": "r", "window": "K"}
# Study -> (data set, parameter, label) -> the unit to run.
STUDIES: dict[str, dict[tuple[str, str, str], Unit]] = {
    "sensitivity": {
        (data, parameter, label): Unit(data, method, _NODES, ((parameter, value),))
        for data in ("DB1", "DB2", "DB3")
        for parameter, (method, values) in _VARIED.items()
        for label, value in values.items()
    },
    "activations": {
        (data, "activation", name): Unit(data, "SC-III", _NODES, (("activation", name),))
        for data in ("DB1", "DB2", "DB3", "DB4")
        for name in ACTIVATIONS
    },
}


@dataclass(frozen=True)
class Setting:
    """One setting of a study and the results of its trials: mean errors after 50 nodes, and nodes to ε = 0.05."""

    data: str
    parameter: str
    value: str
    train: float
    test: float
    test_std: float
    nodes: float | None
    reached: int
    trials: int


def study_settings(study: str, results: Results) -> list[Setting]:
    """The results of the trials of a study, setting by setting."""
    settings = []
    for key, unit in STUDIES[study].items():
        trials = results(unit)
        reached = [nodes for trial in trials if (nodes := trial.reached()) is not None]
        tests = [trial.at("test", _NODES) for trial in trials]
        settings.append(
            Setting(
                *key,
                train=float(np.mean([trial.at("train", _NODES) for trial in trials])),
                test=float(np.mean(tests)),
                test_std=float(np.std(tests)),
                nodes=float(np.mean(reached)) if reached else None,
                reached=len(reached),
                trials=len(trials),
            )
        )
    return settings


def study_rows(settings: list[Setting]) -> Rows:
    """A study as a table of numbers."""
    return [field.name for field in fields(Setting)], map(astuple, settings)


def read_study(path: Path) -> list[Setting]:
    """The settings in a file of ``study_rows``."""
    return [
        Setting(
            row["data"],
            row["parameter"],
            row["value"],
            train=float(row["train"]),
            test=float(row["test"]),
            test_std=float(row["test_std"]),
            nodes=float(row["nodes"]) if row["nodes"] else None,
            reached=int(row["reached"]),
            trials=int(row["trials"]),
        )
        for row in read_rows(path)
    ]


def _is_about_activations(settings: list[Setting]) -> bool:
    return settings[0].parameter == "activation"


def draw_study(settings: list[Setting]) -> Figure:
    """Test error for each setting, a panel for each parameter or, for activations, each data set."""
    from matplotlib.figure import Figure

    by_data = _is_about_activations(settings)
    panels = dict.fromkeys(s.data if by_data else s.parameter for s in settings)
    figure = Figure(figsize=(11, 7), layout="constrained")
    axes = figure.subplots(2, 2)
    for ax, panel in zip(axes.flat, panels, strict=True):
        chosen = [s for s in settings if panel in (s.data, s.parameter)]
        for data in dict.fromkeys(s.data for s in chosen):
            line = [s for s in chosen if s.data == data]
            ax.errorbar(
                [s.value for s in line],
                [s.test for s in line],
                yerr=[s.test_std for s in line],
                label=data,
                marker="o",
                linestyle="none" if by_data else "-",
            )
        ax.set(title=panel if by_data else f"{panel} ({_SYMBOLS[panel]})", ylabel="test RMSE, 50 nodes")
        logarithmic_axis(ax)
        ax.tick_params(axis="x", rotation=30)
        ax.grid(alpha=0.25)
        if not by_data:
            ax.legend(frameon=False, fontsize="small")
    return figure


def findings(settings: list[Setting]) -> list[str]:
    """What a study shows, in sentences."""
    return _activation_guideline(settings) if _is_about_activations(settings) else _sensitivity_summary(settings)


def _sensitivity_summary(settings: list[Setting]) -> list[str]:
    sentences = []
    for parameter in dict.fromkeys(s.parameter for s in settings):
        for data in dict.fromkeys(s.data for s in settings):
            chosen = [s for s in settings if (s.parameter, s.data) == (parameter, data)]
            best, worst = min(chosen, key=lambda s: s.test), max(chosen, key=lambda s: s.test)
            sentences.append(
                f"{parameter} on {data}: best {best.value} (test RMSE {best.test:.4f}), worst {worst.value} "
                f"({worst.test:.4f}), a factor of {worst.test / best.test:.1f}."
            )
    return sentences


def _activation_guideline(settings: list[Setting]) -> list[str]:
    sentences, ranks = [], dict.fromkeys(ACTIVATIONS, 0.0)
    sets = list(dict.fromkeys(s.data for s in settings))
    for data in sets:
        order = sorted((s for s in settings if s.data == data), key=lambda s: s.test)
        sentences.append(
            f"{data}: " + ", ".join(f"{s.value} {s.test:.4f}" for s in order) + " (test RMSE, best first)."
        )
        for rank, setting in enumerate(order, start=1):
            ranks[setting.value] += rank / len(sets)
    best = sorted(ranks, key=lambda name: ranks[name])
    sentences.append(
        "Mean rank over these sets: " + ", ".join(f"{name} {ranks[name]:.1f}" for name in best) + ". "
        f"Start with {best[0]}; try {best[1]} next."
    )
    return sentences


# ---- error against nodes for networks of one to five layers, on DB 1 and on a function that depth should help

_NODES_OF_DEPTH, _SETS, _SEEN, _DEPTHS = 60, ("DB1", "sines"), ("previous", "output"), range(1, 6)


def depth_unit(data: str, inputs: str, layers: int) -> Unit:
    """Networks with this number of layers; those with one layer do not depend on what others would see."""
    parameters = {
        "configuration": "polished",
        "scaling": "robust",
        "early_stopping": False,
        "nodes_per_step": 1,
        "max_layers": layers,
        "inputs": "previous" if layers == 1 else inputs,
    }
    return Unit(data, "SC-III", _NODES_OF_DEPTH, tuple(parameters.items()))


def depth_units() -> list[Unit]:
    """All trials of the figure."""
    return list(dict.fromkeys(depth_unit(*each) for each in product(_SETS, _SEEN, _DEPTHS)))


def draw_depths(results: Results) -> Figure:
    """A panel for each data set and what layers see, with a curve for each number of layers."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7), layout="constrained")
    for ax, (data, inputs) in zip(figure.subplots(2, 2).flat, product(_SETS, _SEEN), strict=True):
        for layers in _DEPTHS:
            label = f"{layers} layer{'s' if layers > 1 else ''}"
            colour = colormaps["viridis"](0.85 * (layers - 1) / (len(_DEPTHS) - 1))
            ax.plot(range(1, _NODES_OF_DEPTH + 1), _curve(results, data, inputs, layers), label=label, color=colour)
        ax.set(title=f'{data}, inputs="{inputs}"', xlabel="nodes", ylabel="test RMSE")
        logarithmic_axis(ax)
        ax.grid(alpha=0.25)
        ax.legend(frameon=False, fontsize="small")
    return figure


def depth_rows(results: Results) -> Rows:
    """The mean test errors after every ten nodes as a table."""
    at = range(10, _NODES_OF_DEPTH + 1, 10)
    rows = []
    for data, inputs, layers in product(_SETS, _SEEN, _DEPTHS):
        curve = _curve(results, data, inputs, layers)
        rows.append([data, inputs, layers, *(float(curve[nodes - 1]) for nodes in at)])
    return ["data", "inputs", "layers", *at], rows


def depth_findings(results: Results) -> list[str]:
    """What the figure shows, in sentences."""
    sentences = []
    for data, inputs in product(_SETS, _SEEN):
        errors = {layers: float(_curve(results, data, inputs, layers)[-1]) for layers in _DEPTHS}
        others = ", ".join(f"{layers}: {error / errors[1]:.2f}" for layers, error in errors.items() if layers > 1)
        sentences.append(
            f'{data}, inputs="{inputs}": with {_NODES_OF_DEPTH} nodes one layer has a test RMSE of {errors[1]:.5f}; '
            f"more layers, in multiples of that, {others}."
        )
    return sentences


def _curve(results: Results, data: str, inputs: str, layers: int) -> np.ndarray:
    """The test error after each node: the geometric mean over trials, which a few bad ones do not dominate."""
    trials = results(depth_unit(data, inputs, layers))
    errors = [[trial.at("test", nodes) for nodes in range(1, _NODES_OF_DEPTH + 1)] for trial in trials]
    return np.asarray(np.exp(np.log(errors).mean(axis=0)))


def _study(name: str) -> Experiment:
    settings = partial(study_settings, name)
    return Experiment(
        name.capitalize(),
        f"Test RMSE of SC-III (SC-II for the window) after 50 nodes, mean and deviation: {name}.",
        list(STUDIES[name].values()),
        draw=lambda results: draw_study(settings(results)),
        rows=lambda results: study_rows(settings(results)),
        findings=lambda results: findings(settings(results)),
    )


EXPERIMENTS = {
    **{name: _study(name) for name in STUDIES},
    "deep": Experiment(
        "Depth",
        "Mean test RMSE against nodes of networks with one to five layers, with the default search: layers of equal "
        'size that see the columns of the layer before ("previous", as published) or the inputs and the output of the '
        'network below ("output"), on DB 1 and on the product of six sines.',
        depth_units(),
        draw_depths,
        depth_rows,
        depth_findings,
    ),
}
