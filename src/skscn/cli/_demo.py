"""``skscn demo``: Table 1 and Figure 3 of the paper, once."""

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.utils import Bunch

from skscn.cli.console import check_output, progress_bar
from skscn.datasets import make_db1
from skscn.estimators.base import NetworkRegressor
from skscn.experiments.figures import PANELS, draw_approximations, grow_panel
from skscn.experiments.paper import TABLE1
from skscn.extras import optional
from skscn.files import make_folder, replacing

_STAGES = (25, 50)
_ENDINGS = (".png", ".svg", ".pdf", ".jpg", ".webp")
# Rows of Table 1 -> panel.
_ROWS = {"IRVFL": "IRVFL, λ = 1", "SC-I": "SC-I", "SC-II": "SC-II, K = 15", "SC-III": "SC-III"}


def run_demo(out: Path, seed: int) -> None:
    """Grow the six networks, print their errors next to the paper's, and write the picture to ``out``."""
    optional("matplotlib.figure", "The demo")
    make_folder(out.parent)
    check_output(out, [], _ENDINGS)
    db1 = make_db1(random_state=seed)
    models = _grow(db1, seed)
    console = Console()
    console.print(_table(models, db1))
    with replacing(out) as file:
        draw_approximations(models, db1).savefig(file, format=out.suffix[1:].lower(), dpi=110)
    console.print(f"Curves: {out.resolve()}", soft_wrap=True)


def _grow(db1: Bunch, seed: int) -> dict[str, NetworkRegressor]:
    models = {}
    with progress_bar() as progress:
        task = progress.add_task("", total=len(PANELS))
        for title in PANELS:
            progress.update(task, description=title)
            models[title] = grow_panel(title, db1, seed)
            progress.advance(task)
    return models


def _table(models: dict[str, NetworkRegressor], db1: Bunch) -> Table:
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


def _staged_rmse(model: NetworkRegressor, X: np.ndarray, y: np.ndarray) -> list[float]:
    """RMSE after each node, on the scale [0, 1] of the paper."""
    span = model.network_.outputs.scale[0]
    return [float(np.sqrt(np.mean((prediction - y) ** 2)) / span) for prediction in model.staged_predict(X)]
