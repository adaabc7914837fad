"""The commands; each imports what it needs when it runs, so that help comes at once."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="skscn", help="Stochastic Configuration Networks.", no_args_is_help=True, pretty_exceptions_enable=False
)
_TARGETS = "table1 … table5, figure1 … figure4, all, sensitivity, activations"


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("demo.png"),
    seed: Annotated[int, typer.Option(help="Seed of the data and the nodes.")] = 0,
) -> None:
    """Approximate the paper's first data set with six networks, print their errors and draw their curves.

    Example: skscn demo --out curves.png
    """
    from skscn.cli._demo import run_demo

    run_demo(out, seed)


@app.command()
def reproduce(
    targets: Annotated[list[str], typer.Argument(help=_TARGETS, metavar="TARGET...")],
    trials: Annotated[int, typer.Option(min=1, help="Networks for each cell.")] = 100,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for all processors.")] = 2,
    out: Annotated[Path, typer.Option(help="Folder for trials and results.")] = Path("results"),
    seed: Annotated[int, typer.Option(help="Seed of data and split.")] = 0,
    method: Annotated[
        str | None, typer.Option(help="Only the cells of MQ, IRVFL, SC-I, SC-II or SC-III, as a CSV file.")
    ] = None,
) -> None:
    """Repeat experiments of the paper and show each number beside the paper's.

    Trials are kept as they come: an interrupted run goes on where it was.

    Example: skscn reproduce table1 figure3 --trials 10 --out results
    """
    from skscn.experiments.paper import METHODS
    from skscn.experiments.reproduce import NAMES

    unknown = [target for target in targets if target not in NAMES]
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)} is none of {', '.join(NAMES)}.", param_hint="TARGET")
    if method is not None and method not in METHODS:
        raise typer.BadParameter(f"{method} is none of {', '.join(METHODS)}.", param_hint="--method")
    from skscn.cli._reproduce import run_reproduce

    run_reproduce(targets, trials, jobs, out, seed, method)
