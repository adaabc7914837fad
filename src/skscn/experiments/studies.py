"""Two studies that the paper's conclusion asks for: sensitivity to the parameters, and a guideline for activations."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skscn.activations import ACTIVATIONS
from skscn.experiments.tables import Results
from skscn.experiments.trials import ALL_SCOPES, Unit
from skscn.files import replacing_text
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
SYMBOLS = {"max_candidates": "T_max", "scopes": "Υ", "contractions": "r", "window": "K"}
_SETS_OF_SENSITIVITY = ("DB1", "DB2", "DB3")
_SETS_OF_ACTIVATIONS = ("DB1", "DB2", "DB3", "DB4")


@dataclass(frozen=True)
class Setting:
    """One setting of a study and the results of its trials: mean errors after 50 nodes, and nodes to ε = 0.05."""

    study: str
    data: str
    parameter: str
    value: str
    train: float
    test: float
    test_std: float
    nodes: float | None
    reached: int
    trials: int


def sensitivity_units() -> dict[tuple[str, str, str], Unit]:
    """(data set, parameter, label) -> the unit to run."""
    return {
        (data, parameter, label): Unit(data, method, _NODES, ((parameter, value),))
        for data in _SETS_OF_SENSITIVITY
        for parameter, (method, values) in _VARIED.items()
        for label, value in values.items()
    }


def activation_units() -> dict[tuple[str, str, str], Unit]:
    """(data set, "activation", name) -> the unit to run."""
    return {
        (data, "activation", name): Unit(data, "SC-III", _NODES, (("activation", name),))
        for data in _SETS_OF_ACTIVATIONS
        for name in ACTIVATIONS
    }


STUDIES = {"sensitivity": sensitivity_units, "activations": activation_units}


def study_settings(study: str, results: Results) -> list[Setting]:
    """The results of the trials of a study, setting by setting."""
    settings = []
    for (data, parameter, label), unit in STUDIES[study]().items():
        trials = results(unit)
        reached = [nodes for trial in trials if (nodes := trial.reached()) is not None]
        tests = [trial.at("test", _NODES) for trial in trials]
        settings.append(
            Setting(
                study,
                data,
                parameter,
                label,
                train=float(np.mean([trial.at("train", _NODES) for trial in trials])),
                test=float(np.mean(tests)),
                test_std=float(np.std(tests)),
                nodes=float(np.mean(reached)) if reached else None,
                reached=len(reached),
                trials=len(trials),
            )
        )
    return settings


def write_study(settings: list[Setting], path: Path) -> None:
    """Write a study as a table of numbers."""
    with replacing_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["data", "parameter", "value", "train", "test", "test_std", "nodes", "reached", "trials"])
        for s in settings:
            numbers = [f"{n:.6g}" for n in (s.train, s.test, s.test_std)]
            nodes = "" if s.nodes is None else f"{s.nodes:.6g}"
            writer.writerow([s.data, s.parameter, s.value, *numbers, nodes, s.reached, s.trials])


def read_study(study: str, path: Path) -> list[Setting]:
    """The settings that ``write_study`` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        return [_read_setting(study, row) for row in csv.DictReader(file)]


def _read_setting(study: str, row: dict[str, str]) -> Setting:
    train, test, test_std = (float(row[name]) for name in ("train", "test", "test_std"))
    nodes = float(row["nodes"]) if row["nodes"] else None
    counts = int(row["reached"]), int(row["trials"])
    return Setting(study, row["data"], row["parameter"], row["value"], train, test, test_std, nodes, *counts)


def draw_study(settings: list[Setting]) -> Figure:
    """Test error for each setting, a panel for each parameter or, for activations, each data set."""
    from matplotlib.figure import Figure

    by_data = settings[0].study == "activations"
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
        ax.set(title=panel if by_data else f"{panel} ({SYMBOLS[panel]})", ylabel="test RMSE, 50 nodes")
        logarithmic_axis(ax)
        ax.tick_params(axis="x", rotation=30)
        ax.grid(alpha=0.25)
        if not by_data:
            ax.legend(frameon=False, fontsize="small")
    return figure


def findings(settings: list[Setting]) -> list[str]:
    """What follows from a study, in sentences."""
    return _activation_guideline(settings) if settings[0].study == "activations" else _sensitivity_summary(settings)


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
