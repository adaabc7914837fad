"""
Regression on a table
=====================

An SCN is a scikit-learn estimator, so it works in pipelines, cross-validation and hyperparameter search like any other.
"""

# %%
# Cross-validation
# ----------------
# The table has 442 patients and ten measurements; the target is the progression of a disease after one year.

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.metrics import PredictionErrorDisplay
from sklearn.model_selection import cross_val_predict, cross_val_score

from skscn import SCNEnsembleRegressor, SCNRegressor

X, y = load_diabetes(return_X_y=True)
learners = {
    "SCN": SCNRegressor(random_state=0),
    "SCN, three members": SCNEnsembleRegressor(n_members=3, random_state=0),
    "boosting": GradientBoostingRegressor(random_state=0),
}
scores = {name: cross_val_score(learner, X, y, cv=5) for name, learner in learners.items()}
for name, score in scores.items():
    print(f"{name:18} R² {score.mean():.3f} ± {score.std():.3f}")

# %%
figure, ax = plt.subplots(figsize=(7, 2.4), layout="constrained")
ax.boxplot(list(scores.values()), orientation="horizontal", tick_labels=list(scores))
ax.set(xlabel="R² of five folds")

# %%
# Predicted against true
# ----------------------
# Each prediction comes from a network that was not trained on that row.

predicted = cross_val_predict(SCNRegressor(random_state=0), X, y, cv=5)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for ax, kind in zip(axes, ("actual_vs_predicted", "residual_vs_predicted"), strict=True):
    PredictionErrorDisplay.from_predictions(y, predicted, kind=kind, ax=ax, scatter_kwargs={"alpha": 0.4})
plt.show()
