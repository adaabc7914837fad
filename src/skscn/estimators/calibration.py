"""From least-squares outputs to class probabilities.

Trained on class indicators, the outputs f_k(x) estimate P(k|x), but may be negative and over- or underconfident.
Probabilities are p_k ∝ s(f_k)^γ with a smooth floor s(f) = (f + √(f² + 4ε²))/2, possibly mixed with equal
probabilities. The ranking of the classes does not change.

γ and ε minimise the log loss of the leave-one-out outputs, which growth provides at no extra cost. If those are all
correct, the minimum is at a γ that makes every probability 0 or 1, and even if they are not, they are optimistic,
because the nodes were selected on all rows. The correction for that depends on how the network is used:

- one network on its own learns from smoothed labels, as in Platt scaling: with n rows and K classes a row counts as
  one of its own class with weight n/(n + K), and otherwise as a draw from the class frequencies. No probability then
  gains from being far below 1/(n + K);
- networks that are averaged disagree where they are uncertain, so each of them learns from the unsmoothed labels; its
  probabilities are mixed with equal ones, with a share that increases with the number of nodes per row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from skscn.kernels import blocks

_FLOORS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
_LARGEST_EXPONENT = 30.0
# Number of rows that is enough to choose two numbers.
ENOUGH_ROWS = 10_000


@dataclass(frozen=True)
class Calibration:
    """γ, ε and the share of equal probabilities in the map from outputs to probabilities."""

    exponent: float
    floor: float
    equal_share: float

    def probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """Probabilities of shape (n, classes) for outputs of that shape."""
        probabilities = np.empty(outputs.shape)
        for rows in blocks(*outputs.shape):
            powers = softmax(self.exponent * _log_floored(outputs[rows], self.floor), axis=1)
            probabilities[rows] = (1.0 - self.equal_share) * powers + self.equal_share / outputs.shape[1]
        return probabilities


_averaged: ContextVar[bool] = ContextVar("averaged", default=False)


@contextmanager
def averaged() -> Iterator[None]:
    """Calibrate networks that are fitted within this context for the average of their probabilities."""
    token = _averaged.set(True)
    try:
        yield
    finally:
        _averaged.reset(token)


def is_averaged() -> bool:
    """Whether networks that are fitted now will be averaged, so that their held-out rows have to stay unseen."""
    return _averaged.get()


def calibrate(
    outputs: np.ndarray, labels: np.ndarray, sample_weight: np.ndarray | None, *, weight: float, n_nodes: int
) -> Calibration:
    """The calibration with the lowest log loss for leave-one-out outputs (n, classes) and indices of the true classes.

    Parameters
    ----------
    outputs, labels, sample_weight
        Of the training rows, or of some of them.
    weight : float
        Of all training rows.
    n_nodes : int
        Number of nodes of the network.
    """
    classes = outputs.shape[1]
    indicators = np.eye(classes)[labels]
    if _averaged.get():
        smoothing, equal_share = 0.0, min(1.0, n_nodes / weight) ** 2 / 2
    else:
        smoothing, equal_share = classes / (weight + classes), 0.0
    frequencies = np.average(indicators, axis=0, weights=sample_weight)
    targets = (1.0 - smoothing) * indicators + smoothing * frequencies
    _, exponent, floor = min(_fit_exponent(outputs, targets, sample_weight, floor) for floor in _FLOORS)
    return Calibration(exponent, floor, equal_share)


def _fit_exponent(
    outputs: np.ndarray, targets: np.ndarray, sample_weight: np.ndarray | None, floor: float
) -> tuple[float, float, float]:
    logarithms = _log_floored(outputs, floor)

    def log_loss(exponent: float) -> float:
        losses = -(targets * log_softmax(exponent * logarithms, axis=1)).sum(axis=1)
        return float(np.average(losses, weights=sample_weight))

    # The log loss is convex in the exponent, so a bounded search finds its minimum.
    found = minimize_scalar(log_loss, bounds=(0.0, _LARGEST_EXPONENT), method="bounded")
    return float(found.fun), float(found.x), floor


def _log_floored(outputs: np.ndarray, floor: float) -> np.ndarray:
    """log s(f); for f < 0 the sum f + √(f² + 4ε²) cancels, so the equal 4ε²/(√(f² + 4ε²) + |f|) is used."""
    outputs = np.clip(outputs.astype(np.float64), -1e300, 1e300)
    positive = np.log(np.hypot(outputs, 2.0 * floor) + np.abs(outputs))
    logarithms: np.ndarray = np.where(outputs > 0.0, positive - np.log(2.0), np.log(2.0 * floor**2) - positive)
    return logarithms
