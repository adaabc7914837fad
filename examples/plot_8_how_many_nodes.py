"""
How many nodes
==============

Without a stopping rule, a growing network overfits a noisy target. Growth can be stopped by held-out rows, generalised
cross-validation, or an information criterion. Regularised output weights help too, but less.
"""

# %%
# Overfitting
# -----------
# More than a quarter of the variance of this target is noise. Without early stopping the training error keeps falling,
# while the error on unseen rows rises. The better the search, the sooner this happens: the default search also finds
# nodes that fit the noise.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from skscn import SCNRegressor

X, y = make_friedman1(400, noise=3.0, random_state=0)
X_test, y_test = make_friedman1(2000, noise=0.0, random_state=1)


def rmse(predicted):
    """On unseen rows, against the target without its noise."""
    return np.sqrt(np.mean((predicted - y_test) ** 2))


figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, configuration in zip(axes, ("polished", "ladder"), strict=True):
    for alpha in (0.0, "gcv", 10.0):
        model = SCNRegressor(configuration=configuration, alpha=alpha, early_stopping=False, random_state=0).fit(X, y)
        ax.plot([rmse(predicted) for predicted in model.staged_predict(X_test)], label=f"alpha={alpha!r}")
    ax.set(title=f'configuration="{configuration}"', xlabel="nodes", ylim=(0, 5))
axes[0].set(ylabel="RMSE on unseen rows")
axes[1].legend()

# %%
# Ridge shrinks the output weights. With α chosen by generalised cross-validation, it helps when hidden columns are
# nearly dependent, as with the paper's search. It does not take into account that the nodes were selected on the same
# rows, so it does not replace early stopping.
#
# Stopping
# --------
# ``early_stopping`` selects the criterion; the nodes up to its best value are kept.

names = {"no stopping": False, "held-out rows": "validation", "GCV": "gcv", "AIC": "aic", "BIC": "bic"}
errors = []
for name, criterion in names.items():
    model = SCNRegressor(early_stopping=criterion, random_state=0).fit(X, y)
    errors.append(rmse(model.predict(X_test)))
    print(f"{name:14} {model.n_nodes_:3} nodes, test RMSE {errors[-1]:.2f}, {model.stop_reason_}")
figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.barh(list(names), errors, color="#c2410c")
ax.invert_yaxis()
ax.set(xlabel="RMSE on unseen rows")
plt.show()
