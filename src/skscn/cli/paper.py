"""The commands about the paper: ``demo``, Table 1 and Figure 3 once, and ``reproduce``, all tables and figures."""

from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from skscn.cli.console import check_files, progress_bar
from skscn.estimators.base import NetworkRegressor
from skscn.extras import optional
from skscn.files import make_folder, replacing
from skscn.paper.figures import PANELS, draw_approximations, grow_panel
from skscn.paper.reported import TABLE1
from skscn.paper.reproduce import Reproduction
from skscn.paper.trials import Trial, split

_ENDINGS = (".png", ".svg", ".pdf", ".jpg", ".webp")
# Rows of Table 1 -> panel.
_ROWS = {"IRVFL": "IRVFL, λ = 1", "SC-I": "SC-I", "SC-II": "SC-II, K = 15", "SC-III": "SC-III"}
_COLUMNS = [(part, nodes) for part in ("train", "test") for nodes in (25, 50)]


def run_demo(out: Path, seed: int) -> None:
    """Grow the six networks, print their errors next to the paper's, and write the picture to ``out``."""
    optional("matplotlib.figure", "The demo")
    make_folder(out.parent)
    check_files(out, [], _ENDINGS)
    models = {}
    with progress_bar() as progress:
        task = progress.add_task("", total=len(PANELS))
        for title in PANELS:
            progress.update(task, description=title)
            models[title] = grow_panel(title, seed, data_seed=seed)
            progress.advance(task)
    console = Console()
    console.print(_table(models, seed))
    with replacing(out) as file:
        draw_approximations(models).savefig(file, format=out.suffix[1:].lower(), dpi=110)
    console.print(f"Curves: {out.resolve()}", soft_wrap=True)


def _table(models: dict[str, NetworkRegressor], seed: int) -> Table:
    table = Table(title="RMSE on DB 1, one network each; in brackets the paper's mean of 100 (Table 1)")
    table.add_column("algorithm")
    for part, nodes in _COLUMNS:
        table.add_column(f"{part}, L = {nodes}", justify="right", no_wrap=True)
    _, X_test, _, y_test = split("DB1", seed)
    for method, title in _ROWS.items():
        trial = Trial.of(models[title], X_test, y_test)
        errors = [(trial.at(*column), TABLE1[method, *column].mean) for column in _COLUMNS]
        table.add_row(method, *(f"{_short(ours)} ({_short(papers)})" for ours, papers in errors))
    return table


def _short(error: float) -> str:
    return f"{error:.4f}".removeprefix("0")


def run_reproduce(
    targets: list[str], trials: int, jobs: int, out: Path, seed: int, method: str | None, search: str
) -> None:
    """Run the trials that are missing, then write everything."""
    reproduction = Reproduction(targets, out, trials, seed, method, search)
    try:
        if missing := len(reproduction.missing()):
            units, total = reproduction.run(jobs), len(reproduction.units) * trials
            with progress_bar() as progress:
                bar = progress.add_task("trials", total=total, completed=total - missing)
                for unit in units:
                    progress.update(bar, description=f"{unit.data} {unit.method}", advance=1)
        written = reproduction.write()
    except KeyboardInterrupt as interrupt:
        Console(stderr=True).print(
            f"Interrupted. The trials completed so far are in {out}; the same command continues from there."
        )
        raise typer.Exit(130) from interrupt
    for path in written:
        typer.echo(path)
