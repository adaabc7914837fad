"""``skscn reproduce``: the paper's tables and figures, and the studies that it asks for."""

from pathlib import Path

import typer
from rich.console import Console

from skscn.cli.console import progress_bar
from skscn.paper.reproduce import Reproduction


def run_reproduce(
    targets: list[str], trials: int, jobs: int, out: Path, seed: int, method: str | None, search: str
) -> None:
    """Run the trials that are missing, then write everything."""
    reproduction = Reproduction(targets, out, trials, seed, method, search)
    try:
        if missing := len(reproduction.missing()):
            total = len(reproduction.units) * trials
            with progress_bar() as progress:
                bar = progress.add_task("trials", total=total, completed=total - missing)
                for unit in reproduction.run(jobs):
                    progress.update(bar, description=f"{unit.data} {unit.method}", advance=1)
        written = reproduction.write()
    except KeyboardInterrupt as interrupt:
        Console(stderr=True).print(
            f"Interrupted. The trials completed so far are in {out}; the same command continues from there."
        )
        raise typer.Exit(130) from interrupt
    for path in written:
        typer.echo(path)
