"""
Bad laboratory samples
======================

The targets of a soft sensor come from a laboratory, and some of them are wrong: samples are mixed up, contaminated, or
entered with a wrong decimal place. Least squares follows such rows. Losses that weigh rows do not, and their weights
tell which samples to look at.
"""

# %%
# A plant, and its laboratory
# ---------------------------
# The plant is that of the example :ref:`sphx_glr_gallery_plot_5_soft_sensor.py`, without the drifting disturbance. In
# the first two thirds of the samples, about 8 % of the laboratory values are wrong, most of them too high. The last
# third is the test set, and its values are right, so that errors are those of the sensor and not of the laboratory.

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import lfilter

from skscn import SCNRegressor

N_SAMPLES, DEAD_TIME, SHARE_BAD = 1500, 8, 0.08
rng = np.random.default_rng(0)


def wander(memory):
    """A signal that varies slowly around zero, with standard deviation one."""
    noise = rng.normal(size=N_SAMPLES) * np.sqrt(1 - memory**2)
    return lfilter([1.0], [1.0, -memory], noise)


feed, temperature, reflux = wander(0.95), wander(0.95), wander(0.9)
drive = np.tanh(feed - temperature) + 0.3 * reflux * temperature
response = lfilter([0.25], [1.0, -0.75], np.concatenate([np.zeros(DEAD_TIME), drive[:-DEAD_TIME]]))
composition = response + 0.05 * rng.normal(size=N_SAMPLES)

LAGS = (0, 4, 8, 10, 12, 16)
inputs = np.column_stack([feed, temperature, reflux])
X = np.hstack([inputs[max(LAGS) - lag : N_SAMPLES - lag] for lag in LAGS])
y = composition[max(LAGS) :]
train, test = np.split(np.arange(len(y)), [2 * len(y) // 3])

bad = rng.random(len(train)) < SHARE_BAD
measured = y[train].copy()
measured[bad] += rng.choice([1, 1, 1, -1], bad.sum()) * rng.uniform(0.3, 2.5, bad.sum())

# %%
# Squared error against Welsch's loss
# -----------------------------------
# For comparison, the last line is least squares without the bad samples, which nobody could remove in practice.

models = {
    loss: SCNRegressor(loss=loss, random_state=0).fit(X[train], measured) for loss in ("squared", "huber", "welsch")
}
models["squared, bad samples removed"] = SCNRegressor(random_state=0).fit(X[train][~bad], measured[~bad])
rmse = {name: np.sqrt(np.mean((y[test] - model.predict(X[test])) ** 2)) for name, model in models.items()}
for name, error in rmse.items():
    print(f"{name:29} test RMSE {error:.3f}")

# %%
# Which samples were bad
# ----------------------
# ``row_weights_`` has one weight per training row: 1 for a residual of zero, near 0 for an outlier. A weight below 0.2
# is the limit that ``skscn evaluate --outliers`` uses too; for Welsch's loss that is a residual beyond 3.8 times the
# scale. Errors of the laboratory that are hardly larger than its noise cannot be told from noise, and are not found.

weights = models["welsch"].row_weights_
suspect = weights < 0.2
found, false_alarms = int((suspect & bad).sum()), int((suspect & ~bad).sum())
print(f"bad samples found: {found} of {bad.sum()} ({found / bad.sum():.0%})")
print(f"false alarms: {false_alarms} of {(~bad).sum()} good samples")

# %%
shown = slice(700, 900)
missed, sample = bad & ~suspect, np.arange(len(train))
figure, axes = plt.subplots(2, 1, figsize=(7, 5.2), sharex=True, layout="constrained", height_ratios=(2, 1))
axes[0].plot(sample[shown], models["squared"].predict(X[train][shown]), color="#0072b2", lw=1, label="squared")
axes[0].plot(sample[shown], models["welsch"].predict(X[train][shown]), color="#d55e00", label="welsch")
for rows, colour, marker, label in (
    (~bad, "0.5", ".", "good sample"),
    (bad & suspect, "#d55e00", "x", "bad, found"),
    (missed, "#cc79a7", "s", "bad, not found"),
):
    chosen = sample[shown][rows[shown]]
    axes[0].plot(chosen, measured[chosen], marker, color=colour, markersize=5, label=label)
    axes[1].plot(chosen, weights[chosen], marker, color=colour, markersize=5)
axes[1].axhline(0.2, color="0.6", linewidth=0.8, linestyle="--")
axes[0].set(ylabel="composition")
axes[1].set(xlabel="sample", ylabel="row weight", ylim=(-0.05, 1.05))
axes[0].legend(ncols=5, loc="upper center", bbox_to_anchor=(0.5, 1.2), frameon=False)
plt.show()

# %%
# Not every outlier is an error
# -----------------------------
# A weight says that a row does not fit the other rows. The reason may be a regime that the plant is rarely in, and
# that the inputs tell apart only just: such rows would be rejected too, and the sensor would be wrong in that regime.
# Look at suspect rows before trusting the result, above all if they are close to each other in time or in the inputs.
