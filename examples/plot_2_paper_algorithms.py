"""
The paper's three algorithms
============================

SC-I evaluates only the output weight of the new node, SC-II those in a window of the newest nodes, SC-III all of them.
This is a small version of Figure 1 of the paper: one network of each kind on DB 1, with the paper's own search and
scaling, and the paper's two baselines: an incremental RVFL network, whose nodes are not supervised, and Modified
Quickprop, which improves one random node at a time by its gradient.
"""

# %%
# Growing them
# ------------
# ``configuration="ladder"`` is the search of the paper: scopes increase, and for each of them one pool of candidates is
# judged with increasing contractions. Parameters that are "auto", such as scaling, early stopping and direct links,
# follow the configuration.

import matplotlib.pyplot as plt
import numpy as np

from skscn import IRVFLRegressor, ModifiedQuickpropRegressor, SCNRegressor
from skscn.datasets import make_db1

db1 = make_db1(random_state=0)
settings = {"configuration": "ladder", "scopes": (100, 150, 200), "max_nodes": 50, "random_state": 0}
models = {
    "IRVFL": IRVFLRegressor(max_nodes=50, random_state=0),
    "MQ": ModifiedQuickpropRegressor(max_nodes=50, random_state=0),
    "SC-I": SCNRegressor(algorithm="SC-I", **settings),
    "SC-II, K = 15": SCNRegressor(algorithm="SC-II", window=15, **settings),
    "SC-III": SCNRegressor(algorithm="SC-III", **settings),
}
for model in models.values():
    model.fit(db1.data, db1.target)

# %%
# Errors after each node
# ----------------------
# ``staged_predict`` returns the predictions of the first 1, 2, … nodes in one pass. Errors are divided by the range of
# the target, as in the paper.

span = np.ptp(db1.target)
figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for name, model in models.items():
    rmse = [np.sqrt(np.mean((y - db1.test_target) ** 2)) / span for y in model.staged_predict(db1.test_data)]
    ax.plot(np.arange(1, len(rmse) + 1), rmse, label=name)
    print(f"{name:14} test RMSE {rmse[-1]:.4f} with {len(rmse)} nodes")
ax.set(xlabel="nodes", ylabel="test RMSE", yscale="log")
ax.yaxis.set_major_formatter("{x:g}")
ax.legend()

# %%
# The inequality, node by node
# ----------------------------
# Every node satisfies the supervisory inequality with some contraction r, so it reduces the squared error to at most
# (r + μ_L) times what it was. The figure shows this bound and the actual ratio.

history = models["SC-III"].history_
squares = history["train_rmse"] ** 2
r, L = history["contraction"][1:], history["nodes"][1:]
promised, happened = r + (1 - r) / (L + 1), squares[1:] / squares[:-1]
assert (happened <= promised).all()
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.plot(L, promised, drawstyle="steps-mid", label="bound: r + μ_L")
ax.plot(L, happened, ".", label="actual ratio")
ax.set(xlabel="node L", ylabel="‖e_L‖² / ‖e_{L−1}‖²")
ax.legend()
plt.show()
