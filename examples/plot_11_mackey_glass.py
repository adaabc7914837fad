"""
A chaotic series
================

The Mackey–Glass equation is a common test of models with a memory: its future depends on what it was 17 units of time
ago. A recurrent network is given the present value only, row by row, and has to remember the rest. The past that it
uses is not specified; short pilot networks choose it.
"""

# %%
# The series
# ----------
# dy/dt = 0.2 y(t − 17)/(1 + y(t − 17)¹⁰) − 0.1 y(t), one value for each unit of time.

import matplotlib.pyplot as plt
import numpy as np

from skscn import RecurrentSCNRegressor

N_TRAIN, FINE, DELAY = 1000, 10, 17


def mackey_glass(count, dropped=500):
    """Small Euler steps are accurate enough for a picture; the first values are left out."""
    y = [1.2] * (DELAY * FINE + 1)
    for _ in range((count + dropped) * FINE):
        late = y[-1 - DELAY * FINE]
        y.append(y[-1] + (0.2 * late / (1 + late**10) - 0.1 * y[-1]) / FINE)
    return np.array(y[-count * FINE :: FINE])


y = mackey_glass(N_TRAIN + 800)

# %%
# One step and six steps ahead
# ----------------------------
# The input of row n is y(n), the target y(n + 1) or y(n + 6). Both networks are trained on the first 1000 rows and
# continue from there: ``state="end"`` is the state of the reservoir after the last training row. The error is divided
# by the standard deviation of the series.

errors = {}
for ahead in (1, 6):
    X, target = y[:-ahead, np.newaxis], y[ahead:]
    network = RecurrentSCNRegressor(max_nodes=30, max_candidates=100, random_state=0)
    network.fit(X[:N_TRAIN], target[:N_TRAIN])
    residuals = network.predict(X[N_TRAIN:], state="end") - target[N_TRAIN:]
    errors[ahead] = np.sqrt(np.mean(residuals**2)) / y.std()
    memory = f"{network.n_nodes_} nodes and a delay line of {network.reservoir_.length} rows"
    print(f"{ahead} ahead: an error of {errors[ahead]:.1e} standard deviations, with {memory}")

# %%
# A free run
# ----------
# With ``feedback=True``, the last output is an input. A forecast lets predictions come back, so that nothing but the
# training rows is known. The series is chaotic: small errors grow until the forecast has lost its way, which a network
# of a dozen nodes shows sooner than a larger one would. The intervals come from free runs on the last part of the
# training rows. They widen in the same manner, up to the length of these runs, here 150 rows, and promise nothing
# beyond it.

free = RecurrentSCNRegressor(max_nodes=12, feedback=True, max_candidates=100, random_state=0).fit(None, y[:N_TRAIN])
steps = np.arange(N_TRAIN, N_TRAIN + 400)
forecast = free.forecast(len(steps))
lower, upper = free.forecast_interval(len(steps), coverage=0.9)
far = np.abs(forecast - y[steps]) > 0.4 * y.std()
valid = int(far.argmax()) if far.any() else len(steps)
print(f"The forecast stays within 0.4 standard deviations of the series for {valid} of {len(steps)} steps.")

# %%
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.fill_between(steps, lower, upper, color="#c2410c", alpha=0.2, linewidth=0, label="90 % interval")
ax.plot(np.arange(N_TRAIN - 100, N_TRAIN + 400), y[N_TRAIN - 100 : N_TRAIN + 400], color="0.3", label="series")
ax.plot(steps, forecast, color="#c2410c", label="forecast")
ax.axvline(N_TRAIN, color="0.6", linestyle=":", linewidth=1)
ax.set(xlabel="time", ylabel="y")
ax.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.15), frameon=False)
plt.show()
