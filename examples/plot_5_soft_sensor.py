"""
A soft sensor
=============

A soft sensor predicts a quantity that is slow or expensive to measure from quantities that are cheap. Here it is the
butane in the bottom of a debutanizer column, from seven temperatures, pressures and flows. The file
``regression/debutanizer.csv`` is looked for in the folder that the environment variable ``SKSCN_BENCH_DATA`` names;
without it scikit-learn's diabetes table takes its place: a diagnosis from ten cheap measurements.
"""

# %%
# Rows
# ----
# A process has a memory, and the laboratory needs time. So a row holds the cheap measurements of now and of some
# samples ago, and what the analyser said earlier: its newest result is eight samples old. Rows of patients have no
# order, and need none of that.

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score

from skscn import SCNEnsembleRegressor

INPUT_LAGS, RESULT_LAGS = (0, 4, 8), (8, 10, 12)


def with_past(inputs, results):
    """Rows of inputs and results of earlier samples, and the results to predict."""
    first = max(INPUT_LAGS + RESULT_LAGS)
    lagged = [(inputs, lag) for lag in INPUT_LAGS] + [(results, lag) for lag in RESULT_LAGS]
    return np.hstack([values[first - lag : len(values) - lag] for values, lag in lagged]), results[first:, 0]


path = Path(os.environ.get("SKSCN_BENCH_DATA", "")) / "regression" / "debutanizer.csv"
if path.is_file():
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    X, y = with_past(table[:, :-1], table[:, -1:])
else:
    X, y = load_diabetes(return_X_y=True)
# Time goes on: the past is for training, what follows for calibration, the rest is unseen.
train, calibration, test = np.split(np.arange(len(y)), [round(0.6 * len(y)), round(0.75 * len(y))])
print(f"{len(y)} rows of {X.shape[1]} inputs; the last {len(test)} are unseen")

# %%
# The sensor
# ----------

sensor = SCNEnsembleRegressor(n_members=5, random_state=0).fit(X[train], y[train])
predicted = sensor.predict(X[test])
print(f"R² of the sensor on unseen rows: {r2_score(y[test], predicted):.3f}")
print(f"R² of its first member alone:    {r2_score(y[test], sensor.members_[0].predict(X[test])):.3f}")

# %%
# How sure it is
# --------------
# Intervals come from rows that a member has not seen. In a series the neighbours of such a row, which are much like it,
# were seen, and the process drifts; so these intervals are too narrow. The remedy is a stretch of time that nobody was
# trained on: by how much must intervals be widened there to hold 90 % of it?


def interval(rows, widened=1.0):
    """The interval of 90 % and whether it holds the target."""
    lower, upper = sensor.predict_interval(X[rows], coverage=0.9)
    middle, half = (upper + lower) / 2, widened * (upper - lower) / 2
    return middle - half, middle + half, np.abs(y[rows] - middle) / half


*_, misses = interval(calibration)
widened = np.sort(misses)[int(np.ceil(0.9 * (len(misses) + 1))) - 1]
lower, upper, misses = interval(test, widened)
print(f"widened {widened:.2f} times, the interval holds {np.mean(misses <= 1):.0%} of the unseen targets")
print(f"as it was, it holds {np.mean(misses <= 1 / widened):.0%}")

# %%
shown = slice(0, 250)
figure, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
ax.fill_between(test[shown], lower[shown], upper[shown], color="#c2410c", alpha=0.2, linewidth=0, label="90 % interval")
ax.plot(test[shown], predicted[shown], color="#c2410c", label="soft sensor")
ax.plot(test[shown], y[test][shown], ".", color="0.3", markersize=4, label="measured")
ax.set(xlabel="sample", ylabel="target")
ax.legend()
plt.show()
