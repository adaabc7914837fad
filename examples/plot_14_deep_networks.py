"""
Deep networks
=============

A second layer sees what the first one has computed. That helps with functions that are built in steps, and hardly ever
with tables; held-out rows decide.
"""

# %%
# A product of sines
# ------------------
# A network with one layer has to build the product from bumps in six dimensions. Further layers that see the output of
# the network below only have to correct it.

import matplotlib.pyplot as plt
import numpy as np

from skscn import DeepSCNRegressor, SCNRegressor

rng = np.random.default_rng(0)
X, X_test = rng.uniform(size=(800, 6)), rng.uniform(size=(1000, 6))
y, y_test = (np.prod(np.sin(np.pi * rows), axis=1) for rows in (X, X_test))


def rmse(predicted):
    """On unseen rows."""
    return np.sqrt(np.mean((predicted - y_test) ** 2))


settings = {"max_nodes": 60, "early_stopping": False, "random_state": 0}
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for layers in (1, 2, 4):
    model = DeepSCNRegressor(max_layers=layers, inputs="output", **settings).fit(X, y)
    label = "1 layer" if layers == 1 else f"{layers} layers"
    ax.plot(range(1, 61), [rmse(stage) for stage in model.staged_predict(X_test)], label=label)
ax.set(xlabel="nodes", ylabel="RMSE on unseen rows", ylim=(0, 0.12))
ax.legend()

# %%
# All layers are linked to the output, and a layer continues on the residual that the one below has left, so the
# training error decreases where a layer begins as well.
#
# What held-out rows choose
# -------------------------
# By default each further layer is grown in two forms, also on top of a thin first layer. Layers are kept if they are
# clearly better on held-out rows. For a smooth function with noise they are not, and the network is that of one layer.

noisy = np.sin(3 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=len(X))
for name, target in (("product of sines", y), ("smooth, with noise", noisy)):
    model = DeepSCNRegressor(max_layers=2, nodes_per_layer=30, random_state=0).fit(X, target)
    single = SCNRegressor(max_nodes=30, random_state=0).fit(X, target)
    same = np.array_equal(model.predict(X_test), single.predict(X_test))
    print(f"{name}: layers of {[layer.size for layer in model.network_.layers]} nodes, one layer's network: {same}")
plt.show()
