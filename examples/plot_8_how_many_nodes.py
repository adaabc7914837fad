"""
How many nodes
==============

Growth can go on until a noisy target is learnt by heart. What ends it in time: rows held out, generalised
cross-validation, or an information criterion. Regularised output weights help too, but less.
"""

# %%
# Learning noise
# --------------
# More than a quarter of the variance of this target is noise. Without early stopping the training error falls for ever,
# and the error on unseen rows rises, the sooner the stronger the search: the default finds nodes for the noise as well.

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
# Ridge shrinks output weights. With α chosen by generalised cross-validation it helps where hidden columns are nearly
# dependent, as those of the paper's search are. It takes nodes as given, and does not know that they were searched for
# on the same rows; so it does not replace a decision about their number.
#
# Stopping
# --------
# ``early_stopping`` names what decides; the nodes up to its best are kept.

names = {"no stopping": False, "rows held out": "validation", "GCV": "gcv", "AIC": "aic", "BIC": "bic"}
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
