"""Coverage and width of prediction intervals, in a file."""

import csv
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class IntervalMean:
    """What was measured on one set, as means over splits.

    Attributes
    ----------
    set : str
    splits : int
    nominal : float
        The share of targets that should be inside.
    coverage, constant_coverage : float
        The share of unseen targets inside, of our intervals and of those of constant width.
    relative_width : float
        The mean width of ours over the constant one.
    """

    set: str
    splits: int
    nominal: float
    coverage: float
    constant_coverage: float
    relative_width: float


def write_intervals(means: list[IntervalMean], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(IntervalMean))
        writer.writerows([f"{v:.4g}" if isinstance(v, float) else v for v in astuple(mean)] for mean in means)


def read_intervals(path: Path) -> list[IntervalMean]:
    with path.open(newline="", encoding="utf-8") as file:
        return [
            IntervalMean(line.pop("set"), int(line.pop("splits")), **{name: float(text) for name, text in line.items()})
            for line in csv.DictReader(file)
        ]


def mean_line(means: list[IntervalMean]) -> tuple[float, float, float]:
    """Mean coverages, and the geometric mean of the widths."""
    own, constant = (np.mean([getattr(mean, name) for mean in means]) for name in ("coverage", "constant_coverage"))
    return float(own), float(constant), float(np.exp(np.mean(np.log([mean.relative_width for mean in means]))))
