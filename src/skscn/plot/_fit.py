"""A function of one input and what a network makes of it, as in Figure 3 of the paper."""

from __future__ import annotations

import numpy as np


class FitDisplay:
    """The target and its approximation over one input.

    Parameters
    ----------
    x : ndarray of shape (n,)
        The input.
    y_true, y_pred : ndarray of shape (n,)
        Target and prediction.

    Attributes
    ----------
    ax_ : matplotlib Axes
    lines_ : list of matplotlib artists
        The target's line and the prediction's.
    """

    def __init__(self, x: np.ndarray, y_true: np.ndarray, y_pred: np.ndarray):
        order = np.argsort(x, kind="stable")
        self.x, self.y_true, self.y_pred = x[order], y_true[order], y_pred[order]

    @classmethod
    def from_estimator(cls, estimator, X, y, *, ax=None, title: str | None = None) -> FitDisplay:
        """Draw what a fitted estimator of one input predicts for the rows X, beside their targets y."""
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != 1:
            raise ValueError(f"FitDisplay draws functions of one input; X has shape {X.shape}.")
        return cls(X[:, 0], np.asarray(y), estimator.predict(X)).plot(ax=ax, title=title)

    def plot(self, *, ax=None, title: str | None = None) -> FitDisplay:
        """Draw on ``ax``, or on new axes."""
        from matplotlib import pyplot as plt

        if ax is None:
            _, ax = plt.subplots()
        (target,) = ax.plot(self.x, self.y_true, color="0.55", linewidth=3.0, label="target")
        (prediction,) = ax.plot(self.x, self.y_pred, color="#c2410c", linewidth=1.2, label="network")
        ax.set(title=title, xlabel="x", ylabel="f(x)")
        self.ax_, self.lines_ = ax, [target, prediction]
        return self
