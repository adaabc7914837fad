"""
Prediction intervals
====================

An ensemble estimates its errors on rows that some members were not trained on. From these errors it computes intervals
that contain approximately the requested share of unseen targets and are wide where the target is noisy.
"""

# %%
# Noise that depends on the input
# -------------------------------

import matplotlib.pyplot as plt
import numpy as np

from skscn import SCNEnsembleRegressor

rng = np.random.default_rng(0)


def measure(n):
    """A sine whose noise grows from left to right."""
    x = np.sort(rng.uniform(0, 1, n))
    return x[:, np.newaxis], np.sin(6 * x) + rng.normal(scale=0.05 + 0.5 * x**2)


X, y = measure(600)
X_test, y_test = measure(2000)
model = SCNEnsembleRegressor(random_state=0).fit(X, y)
lower, upper = model.predict_interval(X_test, coverage=0.9)

figure, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
ax.plot(X[:, 0], y, ".", color="0.6", markersize=3, label="training rows")
ax.plot(X_test[:, 0], model.predict(X_test), color="#c2410c", label="ensemble")
ax.fill_between(X_test[:, 0], lower, upper, color="#c2410c", alpha=0.2, linewidth=0, label="90 % interval")
ax.set(xlabel="x", ylabel="y")
ax.legend()

# %%
# Coverage
# --------
# How many of 2000 unseen targets are inside the intervals?

wanted = np.array([0.5, 0.7, 0.8, 0.9, 0.95, 0.99])
covered = []
for coverage in wanted:
    low, high = model.predict_interval(X_test, coverage=coverage)
    covered.append(np.mean((low <= y_test) & (y_test <= high)))
    print(f"requested {coverage:.0%}: {covered[-1]:.1%} inside, mean width {np.mean(high - low):.2f}")

figure, ax = plt.subplots(figsize=(4.4, 3.6), layout="constrained")
ax.plot([0.5, 1], [0.5, 1], color="0.6", linestyle=":")
ax.plot(wanted, covered, "o-", color="#c2410c")
ax.set(xlabel="requested coverage", ylabel="share of unseen targets inside")
plt.show()
