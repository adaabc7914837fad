"""How often and how narrowly the intervals of SCNEnsembleRegressor hold unseen targets, beside intervals of one width.

usage: ./run bench intervals [--data DIR] [--splits 3] [--coverage 0.9]

DIR is that of ./run bench accuracy. An interval of one width is the prediction plus and minus the conformal quantile of
the absolute out-of-bag residuals.
"""

import argparse
import os
from pathlib import Path

import numpy as np
from accuracy_parts.sets import DATA_VARIABLE, DataSet, load_sets

from skscn import SCNEnsembleRegressor
from skscn.cli._progress import progress_bar


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = os.environ.get(DATA_VARIABLE)
    parser.add_argument("--data", type=Path, default=Path(folder) if folder else None)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--coverage", type=float, default=0.9)
    options = parser.parse_args()
    sets, found = load_sets("regression", options.data), {}
    with progress_bar() as progress:
        task = progress.add_task("intervals", total=len(sets) * options.splits)
        for data in sets:
            turns = []
            for split in range(options.splits):
                turns.append(measure(data, split, options.coverage))
                progress.advance(task)
            found[data.name] = np.mean(turns, axis=0)
    print(f"{'':20s}  coverage  of one width  width relative to one width")
    for name, (covered, width, within, constant) in found.items():
        print(f"{name:20s}  {covered:8.3f}  {within:12.3f}  {width / constant:.3f}")
    means = np.array(list(found.values()))
    ratio = np.exp(np.log(means[:, 1] / means[:, 3]).mean())
    print(f"{'mean':20s}  {means[:, 0].mean():8.3f}  {means[:, 2].mean():12.3f}  {ratio:.3f}")


if __name__ == "__main__":
    main()
