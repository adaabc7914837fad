"""``skscn demo``: Table 1 and Figure 3 of the paper, once."""

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.utils import Bunch

from skscn.datasets import make_db1
from skscn.estimators import SCNRegressor
from skscn.experiments.paper import TABLE1
from skscn.plot import FitDisplay

_NODES = 100
_STAGES = (25, 50)
_SCOPES = (100, 150, 200)
# Panels of Figure 3: title -> parameters of the network.
_PANELS: dict[str, dict[str, Any]] = {
    **{
        f"IRVFL, λ = {scope}": {"algorithm": "SC-I", "configuration": "free", "scopes": (scope,)}
        for scope in (1, 100, 200)
    },
    "SC-I": {"algorithm": "SC-I", "scopes": _SCOPES},
    "SC-II, K = 15": {"algorithm": "SC-II", "scopes": _SCOPES},
    "SC-III": {"algorithm": "SC-III", "scopes": _SCOPES},
}
# Rows of Table 1 -> panel.
_ROWS = {"IRVFL": "IRVFL, λ = 1", "SC-I": "SC-I", "SC-II": "SC-II, K = 15", "SC-III": "SC-III"}


def run_demo(out: Path, seed: int) -> None:
    """Grow the six networks, print errors beside the paper's, and write the picture to ``out``."""
    db1 = make_db1(random_state=seed)
    models = _grow(db1, seed)
    console = Console()
    console.print(_table(models, db1))
    _draw(models, db1, out)
    console.print(f"Curves: {out.resolve()}", soft_wrap=True)


def _grow(db1: Bunch, seed: int) -> dict[str, SCNRegressor]:
    models = {}
    columns = (TextColumn("{task.description:14}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=len(_PANELS))
        for title, parameters in _PANELS.items():
            progress.update(task, description=title)
            models[title] = SCNRegressor(max_nodes=_NODES, random_state=seed, **parameters).fit(db1.data, db1.target)
            progress.advance(task)
    return models


def _table(models: dict[str, SCNRegressor], db1: Bunch) -> Table:
    table = Table(title="RMSE on DB 1, one network each; in brackets the paper's mean of 100 (Table 1)")
    table.add_column("algorithm")
    for part in ("train", "test"):
        for stage in _STAGES:
            table.add_column(f"{part}, L = {stage}", justify="right", no_wrap=True)
    for method, title in _ROWS.items():
        errors = {
            "train": _staged_rmse(models[title], db1.data, db1.target),
            "test": _staged_rmse(models[title], db1.test_data, db1.test_target),
        }
        cells = [
            f"{_short(errors[part][min(stage, len(errors[part])) - 1])} ({_short(TABLE1[method, part, stage].mean)})"
            for part in errors
            for stage in _STAGES
        ]
        table.add_row(method, *cells)
    return table


def _short(error: float) -> str:
    return f"{error:.4f}".removeprefix("0")


def _staged_rmse(model: SCNRegressor, X: np.ndarray, y: np.ndarray) -> list[float]:
    """RMSE after each node, on the scale [0, 1] of the paper."""
    span = model.network_.outputs.scale[0]
    return [float(np.sqrt(np.mean((prediction - y) ** 2)) / span) for prediction in model.staged_predict(X)]


def _draw(models: dict[str, SCNRegressor], db1: Bunch, out: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6), layout="constrained")
    axes = figure.subplots(2, 3, sharex=True, sharey=True)
    for ax, (title, model) in zip(axes.flat, models.items(), strict=True):
        FitDisplay.from_estimator(
            model, db1.test_data, db1.test_target, ax=ax, title=f"{title} ({model.n_nodes_} nodes)"
        )
        ax.label_outer()
    axes[0, 0].legend(frameon=False)
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110)
