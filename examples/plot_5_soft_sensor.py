"""
A soft sensor
=============

A soft sensor predicts a quantity that is slow or expensive to measure from quantities that are cheap to measure. Here
the composition of a product, which a laboratory measures, is predicted from a feed rate, a temperature and a reflux
ratio. The plant is simulated, so the example needs no file and the true behaviour is known.
"""

# %%
# A plant with a memory
# ---------------------
# The product responds to its inputs late and slowly: after a dead time of eight samples, and then gradually. A
# disturbance that nobody measures drifts along with it.

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import lfilter
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, TimeSeriesSplit, cross_val_score

from skscn import SCNEnsembleRegressor, SCNRegressor

N_SAMPLES, DEAD_TIME = 1500, 8
rng = np.random.default_rng(0)


def wander(memory):
    """A signal that varies slowly around zero, with standard deviation one."""
    noise = rng.normal(size=N_SAMPLES) * np.sqrt(1 - memory**2)
    return lfilter([1.0], [1.0, -memory], noise)


feed, temperature, reflux = wander(0.95), wander(0.95), wander(0.9)
drive = np.tanh(feed - temperature) + 0.3 * reflux * temperature
response = lfilter([0.25], [1.0, -0.75], np.concatenate([np.zeros(DEAD_TIME), drive[:-DEAD_TIME]]))
composition = response + 0.1 * wander(0.98) + 0.02 * rng.normal(size=N_SAMPLES)

# %%
# Rows with a past
# ----------------
# A row holds the inputs now and at earlier samples. How far back to look is the most important choice: it has to cover
# the dead time and the response.

inputs = np.column_stack([feed, temperature, reflux])


def with_past(inputs, lags):
    """One row per sample: the inputs at each of these lags. The first rows, which have no past, are left out."""
    return np.hstack([inputs[max(LAGS) - lag : len(inputs) - lag] for lag in lags])


LAGS = (0, 4, 8, 10, 12, 16)
X, y = with_past(inputs, LAGS), composition[max(LAGS) :]
now = with_past(inputs, (0,))

# %%
# Testing on what comes later
# ---------------------------
# A sensor is used on samples that come after those it was trained on, so it is tested on the last third. The same holds
# for cross-validation: :class:`~sklearn.model_selection.TimeSeriesSplit` trains on the past only. Shuffled folds put
# neighbours of every test row into the training set, which makes the error look smaller than it is. Later folds err on
# the safe side, because the first of them have few rows to train on.

train, test = np.split(np.arange(len(y)), [2 * len(y) // 3])
model = SCNRegressor(random_state=0)
r2 = {
    "inputs now, last third": model.fit(now[train], y[train]).score(now[test], y[test]),
    "with lags, last third": model.fit(X[train], y[train]).score(X[test], y[test]),
}
for name, folds in {
    "shuffled folds": KFold(5, shuffle=True, random_state=0),
    "later folds": TimeSeriesSplit(5),
}.items():
    r2[f"with lags, {name}"] = cross_val_score(model, X[train], y[train], cv=folds).mean()
for name, score in r2.items():
    print(f"{name:26} R² {score:.2f}")

# %%
# How sure it is
# --------------
# The intervals of an ensemble come from its errors on out-of-bag rows, whose neighbours in time were used for training.
# In a process that drifts such intervals are too narrow. The remedy is a stretch of time that was not used for
# training: by what factor do the intervals have to be widened to cover 90 % of it? That helps as far as later samples
# resemble this stretch; nothing guarantees that they do.

fitting, calibration = np.split(train, [3 * len(train) // 4])
sensor = SCNEnsembleRegressor(n_members=5, random_state=0).fit(X[fitting], y[fitting])


def misses(rows):
    """How far the targets are from the middle of the 90 % intervals, in units of half their width."""
    lower, upper = sensor.predict_interval(X[rows], coverage=0.9)
    return np.abs(y[rows] - (lower + upper) / 2) / ((upper - lower) / 2)


factor = np.quantile(misses(calibration), 0.9, method="higher")
covered = {"as they are": np.mean(misses(test) <= 1), f"widened by {factor:.2f}": np.mean(misses(test) <= factor)}
for name, share in covered.items():
    print(f"90 % intervals, {name}: {share:.0%} of the last third is inside")
print(f"R² of the ensemble on the last third: {r2_score(y[test], sensor.predict(X[test])):.2f}")

# %%
shown = test[:250]
lower, upper = sensor.predict_interval(X[shown], coverage=0.9)
middle, half = (lower + upper) / 2, factor * (upper - lower) / 2
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.fill_between(shown, middle - half, middle + half, color="#c2410c", alpha=0.2, linewidth=0, label="90 % interval")
ax.plot(shown, sensor.predict(X[shown]), color="#c2410c", label="soft sensor")
ax.plot(shown, y[shown], ".", color="0.3", markersize=4, label="measured")
ax.set(xlabel="sample", ylabel="composition")
ax.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.15), frameon=False)
plt.show()
