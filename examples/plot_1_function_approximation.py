"""
A function with two spikes
==========================

The paper's first data set, DB 1, is a function of one input: a hill with two narrow spikes. It looks easy and is not:
random nodes that are drawn without supervision hardly ever have a transition where a spike is.
"""

# %%
# A network that builds itself
# ----------------------------
# There is nothing to choose. The network adds nodes while that helps on rows it has held out.

import matplotlib.pyplot as plt

from skscn import IRVFLRegressor, SCNRegressor
from skscn.datasets import make_db1
from skscn.plot import ConvergenceDisplay, FitDisplay, ScopeDisplay

db1 = make_db1(random_state=0)
model = SCNRegressor(random_state=0).fit(db1.data, db1.target)
print(f"{model.n_nodes_} nodes, stopped by: {model.stop_reason_}")
print(f"R² on 300 unseen rows: {model.score(db1.test_data, db1.test_target):.5f}")

# %%
# Beside it, a hundred nodes that were drawn freely: an incremental RVFL network, the paper's baseline. Theorem 4 says
# that such a network need not approximate its target, however large it grows.

free = IRVFLRegressor(max_nodes=100, random_state=0).fit(db1.data, db1.target)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
for ax, (title, network) in zip(
    axes, {"100 free random nodes": free, f"SCN, {model.n_nodes_} nodes": model}.items(), strict=True
):
    FitDisplay.from_estimator(network, db1.test_data, db1.test_target, ax=ax, title=title)
axes[0].legend()

# %%
# How it went
# -----------
# ``history_`` has one row for each step. Errors are those of the target scaled to [0, 1]. The scope says how steep the
# nodes were that won: steep ones for the spikes, gentle ones for the hill.

figure, (errors, scopes) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
ConvergenceDisplay.from_estimator(model, ax=errors)
ScopeDisplay.from_estimator(model, ax=scopes)
plt.show()
