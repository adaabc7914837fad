"""``skscn reproduce``: the paper's tables and figures, and the studies that it asks for."""

from pathlib import Path

import typer
from rich.console import Console

from skscn.cli.console import progress_bar
from skscn.experiments.reproduce import Reproduction
from skscn.experiments.trials import load


def run_reproduce(
    targets: list[str], trials: int, jobs: int, out: Path, seed: int, method: str | None, search: str
) -> None:
    """Run the trials that are missing, then write everything."""
    reproduction = Reproduction(targets, out, trials, seed, method, search)
    console = Console(stderr=True)
    try:
        _run_missing(reproduction, jobs)
        written = reproduction.write()
    except KeyboardInterrupt as interrupt:
        console.print(f"Interrupted. The trials completed so far are in {out}; the same command continues from there.")
        raise typer.Exit(130) from interrupt
    for path in written:
        typer.echo(path)


def _run_missing(reproduction: Reproduction, jobs: int) -> None:
    tasks = reproduction.missing()
    if not tasks:
        return
    # A data set that cannot be had is said before the first trial.
    for name in dict.fromkeys(unit.data for unit, _ in tasks):
        load(name, reproduction.seed)
    total = len(reproduction.units) * reproduction.trials
    with progress_bar() as progress:
        bar = progress.add_task("trials", total=total, completed=total - len(tasks))
        for unit in reproduction.store.run(tasks, jobs):
            progress.update(bar, description=f"{unit.data} {unit.method}", advance=1)
