"""
A stream that drifts
====================

A plant changes, and a model that was right becomes wrong. :class:`~skscn.OnlineSCNRegressor` learns every row as it
comes, notices when its errors rise, and grows new nodes on the rows since then.
"""

# %%
# Two changes
# -----------
# The outlet temperature of a heat exchanger, from flow, hot and cold inlet temperature. After 700 rows the exchanger is
# fouled, after 1400 rows it is cleaned. The inputs say nothing about it.

import matplotlib.pyplot as plt
import numpy as np

from skscn import OnlineSCNClassifier, OnlineSCNRegressor, SCNRegressor
from skscn.online import prequential
from skscn.plot import StreamDisplay

rng = np.random.default_rng(0)
n_rows = 2100
flow, hot, cold = rng.uniform(1, 4, n_rows), rng.uniform(70, 90, n_rows), rng.uniform(10, 20, n_rows)
conductance = np.repeat([4.0, 1.5, 4.0], 700)
outlet = hot - (1 - np.exp(-conductance / flow)) * (hot - cold)
X, y = np.column_stack([flow, hot, cold]), outlet + 0.5 * rng.normal(size=n_rows)

# %%
# Every row is predicted before it is learnt. Orange lines are alarms of the drift detector.

record = prequential(OnlineSCNRegressor(random_state=0), X, y)
StreamDisplay(record, window=100).plot()
plt.show()

# %%
# What happened, and why
# ----------------------
# A new network is on probation beside the present one. When the next one is grown, the one that was worse in the
# meantime has to go.

for event in record.events[-8:]:
    print(f"row {event['row']:5d}  {event['event']:9s} {event['reason']:10s} {event['n_nodes']:3d} nodes")

# %%
# A model that is fitted once is right until the first change, and so are its intervals. Those of the stream are steered
# by their own misses.

fixed = SCNRegressor(random_state=0).fit(X[:300], y[:300])
errors = np.abs(fixed.predict(X) - y)
width = np.quantile(errors[300:700], 0.9)
for name, rows in {"before": slice(300, 700), "fouled": slice(700, 1400), "cleaned": slice(1400, 2100)}.items():
    after = slice(rows.start - 1, rows.stop - 1)
    print(
        f"{name:8s} error {errors[rows].mean():.2f} and {record.errors[after].mean():.2f}, "
        f"coverage {np.mean(errors[rows] <= width):.0%} and {record.hits[after].mean():.0%}"
    )

# %%
# Classes
# -------
# Whether the outlet is too hot, predicted in the same way.

classes = prequential(OnlineSCNClassifier(random_state=0), X, outlet > 55.0)
shares = np.convolve(classes.errors == 0, np.ones(100) / 100, mode="valid")
figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.plot(np.arange(len(shares)) + 100, shares)
ax.set(xlabel="row", ylabel="right, of the last 100")
plt.show()
