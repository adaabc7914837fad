"""
Classification
==============

The nodes of a classifier are grown by least squares on class indicators. Its output weights then maximise the
likelihood of the classes, with a penalty that is averaged over several values according to their log loss on held-out
rows.
"""

# %%
# A curved boundary
# -----------------

import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from skscn import DeepSCNClassifier, SCNClassifier, SCNEnsembleClassifier

X, y = make_moons(400, noise=0.25, random_state=0)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
for ax, (title, model) in zip(
    axes,
    {
        "One network": SCNClassifier(random_state=0),
        "Ten networks": SCNEnsembleClassifier(random_state=0),
        "Two layers": DeepSCNClassifier(max_layers=2, max_nodes=40, early_stopping=False, random_state=0),
    }.items(),
    strict=True,
):
    model.fit(X, y)
    DecisionBoundaryDisplay.from_estimator(
        model, X, response_method="predict_proba", plot_method="pcolormesh", cmap="RdBu", ax=ax, vmin=0, vmax=1
    )
    ax.scatter(*X.T, c=y, cmap="RdBu", edgecolor="white", s=18)
    ax.set(title=title)

# %%
# Probabilities on unseen rows
# ----------------------------
# Of all rows with a predicted probability of 0.8, about 80 % should belong to that class.

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
model = SCNEnsembleClassifier(random_state=0).fit(X_train, y_train)
probabilities = model.predict_proba(X_test)
print(f"accuracy {model.score(X_test, y_test):.3f}, log loss {log_loss(y_test, probabilities):.3f}")
print(f"out-of-bag accuracy, without any test rows: {model.oob_score_:.3f}")
figure, ax = plt.subplots(figsize=(5, 3.8), layout="constrained")
CalibrationDisplay.from_predictions(y_test, probabilities[:, 1], n_bins=5, strategy="quantile", ax=ax, name="SCN")
plt.show()
