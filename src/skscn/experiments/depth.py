"""Error against nodes for networks of one to five layers, on DB 1 and on a function that depth should help."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from skscn.experiments.tables import Results
from skscn.experiments.trials import Unit
from skscn.files import replacing_text
from skscn.plot.style import logarithmic_axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Depth"
CAPTION = (
    "Mean test RMSE against nodes of networks with one to five layers, with the default search: layers of equal size "
    'that see the columns of the layer before ("previous", as published) or the inputs and the output of the network '
    'below ("output"), on DB 1 and on the product of six sines.'
)
_NODES, _SETS, _SEEN, _DEPTHS = 60, ("DB1", "sines"), ("previous", "output"), range(1, 6)


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
    return Unit(data, "SC-III", _NODES, tuple(parameters.items()))


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
            ax.plot(range(1, _NODES + 1), _curve(results, data, inputs, layers), label=label, color=colour)
        ax.set(title=f'{data}, inputs="{inputs}"', xlabel="nodes", ylabel="test RMSE")
        logarithmic_axis(ax)
        ax.grid(alpha=0.25)
        ax.legend(frameon=False, fontsize="small")
    return figure


def write_depths(results: Results, path: Path) -> None:
    """Write the mean test errors after every ten nodes as a table."""
    at = range(10, _NODES + 1, 10)
    with replacing_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["data", "inputs", "layers", *at])
        for data, inputs, layers in product(_SETS, _SEEN, _DEPTHS):
            curve = _curve(results, data, inputs, layers)
            writer.writerow([data, inputs, layers, *(f"{curve[nodes - 1]:.6g}" for nodes in at)])


def depth_findings(results: Results) -> list[str]:
    """What follows from the figure, in sentences."""
    sentences = []
    for data, inputs in product(_SETS, _SEEN):
        errors = {layers: float(_curve(results, data, inputs, layers)[-1]) for layers in _DEPTHS}
        others = ", ".join(f"{layers}: {error / errors[1]:.2f}" for layers, error in errors.items() if layers > 1)
        sentences.append(
            f'{data}, inputs="{inputs}": with {_NODES} nodes one layer has a test RMSE of {errors[1]:.5f}; more '
            f"layers, in multiples of that, {others}."
        )
    return sentences


def _curve(results: Results, data: str, inputs: str, layers: int) -> np.ndarray:
    """The test error after each node: the geometric mean over trials, which a few bad ones do not dominate."""
    trials = results(depth_unit(data, inputs, layers))
    errors = [[trial.at("test", nodes) for nodes in range(1, _NODES + 1)] for trial in trials]
    return np.asarray(np.exp(np.log(errors).mean(axis=0)))
