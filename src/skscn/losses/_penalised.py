"""What losses have in common whose output weights are settled by their gradient, under a ridge."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from skscn.losses._base import Loss


@dataclass(frozen=True)
class Penalised(Loss):
    """A convex loss whose output weights minimise Σ p ℓ(y, f) + ½ λ ‖γ‖², for fixed nodes.

    γ are the output weights of columns scaled to variance 1; the intercept is free. Which λ are good is decided by the
    loss on held-out rows.
    """

    settling: ClassVar[str] = "penalised"
    staged: ClassVar[bool] = False
    # Whether networks without nodes, with those that early stopping would keep, and with all nodes that were grown are
    # candidates; otherwise only the one that early stopping would keep.
    tries_sizes: ClassVar[bool] = False
    # Whether it is smoothed, as far as the residuals allow.
    smoothed: ClassVar[bool] = False
    # Whether it has :meth:`curvatures`, so that further rows can join a fitted network.
    quadratic: ClassVar[bool] = False
    # The factor of the penalty of networks that will be averaged, which reduces their variance as well.
    factor_if_averaged: ClassVar[float] = 1.0

    def variants(self) -> tuple[Self, ...]:
        """Forms of the loss to be tried, each with all penalties."""
        return (self,)

    def narrowed(self, deviations: np.ndarray) -> Self:
        """The loss smoothed for residuals with these mean absolute deviations from their mean, one for each output."""
        return self

    @abstractmethod
    def penalties(self, weight: float) -> np.ndarray:
        """λ from strong to weak, for rows of this total weight."""

    @abstractmethod
    def curvature(self) -> float:
        """A typical second derivative."""

    def curvatures(self, f: np.ndarray) -> np.ndarray:
        """The positive second derivative of the loss of each row with respect to each output, shape (n, m)."""
        raise NotImplementedError(f"{type(self).__name__} has no quadratic approximation.")

    @abstractmethod
    def smooth(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The loss of each row, smoothed if need be, shape (n,), and its derivative with respect to f, shape (n, m)."""

    def unit(self) -> float:
        """A typical loss of a row, in which progress is measured; 1 for log-likelihoods."""
        return 1.0

    def dispersion(self, value: float) -> float:
        """What the loss is divided by to be a log-likelihood, if the best candidate has this mean loss."""
        return 1.0
