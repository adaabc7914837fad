"""Coverage and width of the intervals of SCNEnsembleRegressor, compared with intervals of one width.

usage: ./run bench intervals [--data DIR] [--splits 3] [--coverage 0.9] [--out FILE.csv]

DIR is that of ./run bench accuracy. An interval of one width is the prediction plus and minus the conformal quantile of
the absolute out-of-bag residuals. Figures of docs/accuracy_intervals.csv are in docs/accuracy.md.
"""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from accuracy_parts.interval_tables import IntervalMean, mean_line, write_intervals
from accuracy_parts.sets import DATA_VARIABLE, DataSet, load_sets

from skscn import SCNEnsembleRegressor
from skscn.cli.console import progress_bar


def measure(data: DataSet, split: int, coverage: float) -> tuple[float, float, float, float]:
    """Share of the targets within, and mean width, of our intervals and of those of one width."""
    X, X_test, y, y_test = data.split(split)
    model = SCNEnsembleRegressor(random_state=split).fit(X, y)
    lower, upper = model.predict_interval(X_test, coverage)
    residuals = np.sort(np.abs(model.oob_prediction_ - y))
    residuals = residuals[np.isfinite(residuals)]
    rank = min(int(np.ceil((len(residuals) + 1) * coverage)), len(residuals)) - 1
    within = np.abs(model.predict(X_test) - y_test) <= residuals[rank]
    ours = (lower <= y_test) & (y_test <= upper)
    return ours.mean(), (upper - lower).mean(), within.mean(), 2.0 * residuals[rank]


def mean_of(data: DataSet, splits: int, coverage: float, advance: Callable[[], None]) -> IntervalMean:
    """The means over the splits of a set."""
    turns = []
    for split in range(splits):
        turns.append(measure(data, split, coverage))
        advance()
    covered, width, within, constant = (float(value) for value in np.mean(turns, axis=0))
    return IntervalMean(data.name, splits, coverage, covered, within, width / constant)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = os.environ.get(DATA_VARIABLE)
    parser.add_argument("--data", type=Path, default=Path(folder) if folder else None)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--coverage", type=float, default=0.9)
    parser.add_argument("--out", type=Path, help="write the means to this CSV file")
    options = parser.parse_args()
    sets = load_sets("regression", options.data)
    with progress_bar() as progress:
        task = progress.add_task("intervals", total=len(sets) * options.splits)
        found = [mean_of(data, options.splits, options.coverage, lambda: progress.advance(task)) for data in sets]
    print(f"{'':20s}  coverage  of one width  width relative to one width")
    lines = [(mean.set, mean.coverage, mean.constant_coverage, mean.relative_width) for mean in found]
    for name, covered, within, width in [*lines, ("mean", *mean_line(found))]:
        print(f"{name:20s}  {covered:8.3f}  {within:12.3f}  {width:.3f}")
    if options.out is not None:
        write_intervals(found, options.out)
        print(options.out)


if __name__ == "__main__":
    main()
