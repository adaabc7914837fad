"""
A plant that drifts, with late lab samples
==========================================

A soft sensor on a plant rarely stays as good as it was on the day it was trained: catalysts age, feeds change. What
keeps it useful are the samples that the laboratory goes on measuring, even if their results come late. Here, a
recurrent network predicts every row, learns from every sixth, whose result is known five rows later, and adapts its
intervals.
"""

# %%
# A plant with lags, drift and lab samples
# ----------------------------------------
# The product answers eight rows after the feed, through two tanks. What nobody measures wanders slowly. In training,
# targets are known in every sixth row, and missing (NaN) in the others, which only drive the state.

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import lfilter

from skscn import RecurrentSCNRegressor

N_TRAIN, N_LATER, EVERY, LATE = 2400, 1200, 6, 5
n_rows = N_TRAIN + N_LATER
rng = np.random.default_rng(3)
feed, steam, reflux = lfilter([np.sqrt(1 - 0.95**2)], [1, -0.95], rng.normal(size=(3, n_rows)))
tanks = lfilter([0.05], [1, -1.6, 0.65], np.tanh(np.roll(feed, 8)) * (1 + 0.5 * np.roll(steam, 4)))
drift = np.cumsum(0.015 * rng.normal(size=n_rows))
quality = 2 * tanks + 0.2 * reflux + drift
X, sampled = np.column_stack([feed, steam, reflux]), np.full(n_rows, np.nan)
sampled[::EVERY] = quality[::EVERY] + 0.03 * rng.normal(size=len(quality[::EVERY]))

network = RecurrentSCNRegressor(max_nodes=30, max_candidates=200, random_state=0)
network.fit(X[:N_TRAIN], sampled[:N_TRAIN])
print(f"{network.n_nodes_} nodes, a delay line of {network.reservoir_.length} rows")

# %%
# Learning from late samples
# --------------------------
# A stream takes one row at a time. After each prediction, the result of the sample taken five rows ago arrives, if
# there was one: ``learn_one`` with ``delay=5``. By default, several ways of learning run side by side, from a simple
# correction of the offset to recursive least squares, and the prediction is their average, weighted by how well each
# predicted recently.

later = np.arange(N_TRAIN, n_rows)
stream, said = network.stream(coverage=0.9), []
for row in later:
    said.append((stream.predict_one(X[row]), *stream.interval()))
    if row - LATE >= N_TRAIN:
        stream.learn_one(X[row], sampled[row - LATE], delay=LATE)
learning, low, high = np.array(said).T

fixed = network.predict(X[later], state="end")
fixed_low, fixed_high = network.predict_interval(X[later], state="end", coverage=0.9)
known = np.maximum.accumulate(np.where(np.isnan(sampled), -1, np.arange(n_rows)))
last = sampled[known[later - LATE - 1]]
rmse = {
    name: np.sqrt(np.mean((values - quality[later]) ** 2))
    for name, values in {"last sample": last, "without learning": fixed, "with learning": learning}.items()
}
for name, value in rmse.items():
    print(f"{name:17} RMSE {value:.3f}")

# %%
# Intervals that follow
# ---------------------
# Without labels, the intervals can only be as wide as the errors on the last part of the training rows, and no width is
# right once the plant has drifted further. Those of the stream grow after each sample outside and shrink a little after
# each one inside, so that about 90 % of the samples lie within, wherever the plant goes.

tested = ~np.isnan(sampled[later])
covered = {
    name: np.mean((lower <= sampled[later])[tested] & (sampled[later] <= upper)[tested])
    for name, (lower, upper) in {"fixed": (fixed_low, fixed_high), "stream": (low, high)}.items()
}
for name, share in covered.items():
    print(f"90 % intervals, {name}: {share:.0%} of the samples are inside")

# %%
shown = slice(-500, None)
figure, axes = plt.subplots(2, 1, figsize=(7, 5), sharex=True, sharey=True, layout="constrained")
for ax, title, values, lower, upper in (
    (axes[0], "trained once", fixed, fixed_low, fixed_high),
    (axes[1], "learning from late samples", learning, low, high),
):
    rows = later[shown]
    ax.fill_between(rows, lower[shown], upper[shown], color="#c2410c", alpha=0.25, linewidth=0, label="90 % interval")
    ax.plot(rows, values[shown], color="#c2410c", linewidth=1, label="prediction")
    ax.plot(rows, sampled[rows], ".", color="0.2", markersize=4, label="lab sample")
    ax.set_title(title, loc="left", fontsize=10)
    ax.set(ylabel="quality")
axes[1].set(xlabel="row")
figure.legend(*axes[0].get_legend_handles_labels(), ncols=3, loc="outside upper center", frameon=False)
plt.show()
