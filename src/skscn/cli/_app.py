"""The commands; each imports what it needs when it runs, so that help comes at once."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    name="skscn", help="Stochastic Configuration Networks.", no_args_is_help=True, pretty_exceptions_enable=False
)


@app.callback()
def program() -> None:
    """Stochastic Configuration Networks."""


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
