"""
A function with two spikes
==========================

The paper's first data set, DB 1, is a function of one input: a hill with two narrow spikes. It looks easy but is
not: random nodes that are drawn without supervision hardly ever have their transition where a spike is.
"""

# %%
# A network that builds itself
# ----------------------------
# The defaults need no tuning. The network adds nodes as long as this reduces the error on held-out rows.

import matplotlib.pyplot as plt

from skscn import IRVFLRegressor, SCNRegressor
from skscn.datasets import make_db1
from skscn.plot import ConvergenceDisplay, FitDisplay, ScopeDisplay

db1 = make_db1(random_state=0)
model = SCNRegressor(random_state=0).fit(db1.data, db1.target)
print(f"{model.n_nodes_} nodes, stopped by: {model.stop_reason_}")
print(f"R² on 300 unseen rows: {model.score(db1.test_data, db1.test_target):.5f}")

# %%
# For comparison, here is a network of a hundred freely drawn nodes: an incremental RVFL network, the paper's baseline.
# By Theorem 4 such a network need not approximate its target, however large it grows.

free = IRVFLRegressor(max_nodes=100, random_state=0).fit(db1.data, db1.target)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
for ax, (title, network) in zip(
    axes, {"100 free random nodes": free, f"SCN, {model.n_nodes_} nodes": model}.items(), strict=True
):
    FitDisplay.from_estimator(network, db1.test_data, db1.test_target, ax=ax, title=title)
axes[0].legend()

# %%
# How it grew
# -----------
# ``history_`` has one row for each step. Errors are in units of the target. The scope shows how steep the
# accepted nodes are: steep ones for the spikes, gentle ones for the hill.

figure, (errors, scopes) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
ConvergenceDisplay.from_estimator(model, ax=errors)
ScopeDisplay.from_estimator(model, ax=scopes)
plt.show()
