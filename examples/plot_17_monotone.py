"""
Signs that are known
====================

An engineer often knows the sign of a gain: more steam, more product. ``monotone`` makes every prediction respect it,
and partial effects show what a model has learnt, where the data are, and of which inputs it is certain.
"""

# %%
# Few rows, much noise
# --------------------
# The yield rises with the flow of steam, up to a point, and falls with the pressure; the recipe matters too.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skscn import TableModel
from skscn.plot import EffectDisplay


def rows(n_rows, seed, noise):
    """A table of runs of a plant."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"steam": rng.uniform(1, 9, n_rows), "pressure": rng.gamma(3, 1, n_rows)})
    table["speed"], table["recipe"] = rng.uniform(0, 1, n_rows), rng.choice(["old", "new"], n_rows)
    gain = np.tanh(table["steam"] / 3) - 0.1 * table["pressure"]
    table["yield"] = gain + 0.2 * np.sin(6 * table["speed"]) + 0.1 * (table["recipe"] == "new")
    table["yield"] += noise * rng.normal(size=n_rows)
    return table


train, test = rows(200, seed=0, noise=0.25), rows(5000, seed=1, noise=0.0)
signs = {"steam": 1, "pressure": -1}
models = {
    "free": TableModel("yield", estimator="network", folds=0).fit(train),
    "monotone": TableModel("yield", estimator="network", folds=0, monotone=signs).fit(train),
}
for name, model in models.items():
    print(f"{name}: RMSE {np.sqrt(np.mean((model.predict(test) - test['yield']) ** 2)):.3f}")

# %%
# What they have learnt
# ---------------------
# Above the free model, below the monotone one. The free model predicts less where there is much steam, which is noise;
# the monotone one cannot, and its bands, the spread of single rows, are narrower. Grey bars are a histogram of the
# rows.

figure, axes = plt.subplots(2, 3, figsize=(11, 6.5), layout="constrained")
for model, line in zip(models.values(), axes, strict=True):
    for feature, ax in zip(["steam", "pressure", "recipe"], line, strict=True):
        EffectDisplay.from_estimator(model, train, feature, ax=ax)

# %%
# Two inputs together
# -------------------
# Filled contours show two inputs at once; the points are the rows.

EffectDisplay.from_estimator(models["monotone"], train, ["steam", "speed"])
plt.show()
