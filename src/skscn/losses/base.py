"""What a loss is: rounds of weighted least squares; squared error is one round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self, TypeAlias

import numpy as np

from skscn.nodes import Code, Graph
from skscn.scaling import Scaling, Statistics

# A function of targets y and outputs f, both of shape (n, m), row by row; functions that can be sent to other machines.
RowFunction: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]
# Statistics of such a function over all rows, at the outputs of a model.
StatisticsOf: TypeAlias = Callable[[RowFunction], Statistics]


class Loss(ABC):
    """A loss that is minimised by rounds of weighted least squares.

    In each round a network is grown on working targets z, row i having c_i times its weight. After it, the output
    weights of its nodes may be *refitted*: evaluated again under the loss itself, for fixed nodes. Then z and c follow
    from the outputs f of that network, and the next round begins again with these. Fields of a subclass, a dataclass,
    are its parameters, which model files contain: numbers, strings and tuples of numbers.
    """

    # Whether working targets and weights are always those of the rows themselves.
    plain: ClassVar[bool] = False
    # The largest number of rounds; they end earlier once the loss changes by less than this share of it.
    rounds: ClassVar[int] = 1
    hardly: ClassVar[float] = 1e-3
    # How output weights are refitted after growth: "reweighted" solves weighted least squares on z and c, again and
    # again; "penalised" minimises the loss, smoothed and with a ridge that held-out rows choose, by its gradient; None
    # leaves those of growth.
    refit: ClassVar[str | None] = None
    # The share of the rows that validation_fraction="auto" holds out for early stopping, and how many times
    # n_iter_no_change it waits, in the last round and in earlier ones.
    share_held_out: ClassVar[float] = 0.1
    patience: ClassVar[float] = 1.0
    earlier_patience: ClassVar[float] = 1.0
    # Whether it is for class indicators, and whether for numbers.
    classifies: ClassVar[bool] = False
    regresses: ClassVar[bool] = True
    # Whether it has :meth:`row_weights`.
    weighs: ClassVar[bool] = False
    # Whether several outputs can be learnt together.
    several_outputs: ClassVar[bool] = True
    # Whether the supervisory inequality is for the sum over the outputs rather than for each of them.
    together: ClassVar[bool] = False
    # Whether the network with fewer nodes, under this loss, follows from the finished one.
    staged: ClassVar[bool] = True
    # Whether what is predicted is another function of the outputs than these themselves: whether it has :meth:`mean`.
    has_link: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.has_link = cls.mean is not Loss.mean

    @classmethod
    def of(cls, quantile: float) -> Self:
        """The loss that an estimator with this parameter uses."""
        return cls()

    def reason_to_refuse(self, statistics_of: StatisticsOf) -> str | None:
        """Why it cannot be used for targets y with these statistics, at f = 0, and what would work; None if it can."""
        return None

    def scaling(self, statistics_of: StatisticsOf) -> Scaling | None:
        """How outputs are scaled, from statistics at f = 0; its offset is the constant output that a fit begins with.

        None for the scaling that the estimator has for its targets; f is then None before the first round.
        """
        return None

    def in_round(self, number: int) -> Loss:
        """The loss of a round, the first being number 1; a simpler one may begin.

        Number 0 is the loss that the working targets and weights of the first round follow from, at a constant output.
        """
        return self

    def stages(self) -> tuple[Loss, ...]:
        """The losses under which the output weights are refitted, one after the other."""
        return (self,)

    def is_finished(self, statistics_of: StatisticsOf) -> bool:
        """Whether a network with these statistics needs no further round."""
        return False

    def adapted(self, statistics_of: StatisticsOf) -> Self:
        """The loss with what it needs to know of all rows, such as the scale of the residuals."""
        return self

    @abstractmethod
    def working(self, y: np.ndarray, f: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
        """Working targets z of shape (n, m), and positive weights c of shape (n,), or None if all are 1.

        Each row by itself: on a cluster the rows of each partition are given separately.

        Parameters
        ----------
        y : ndarray of shape (n, m)
            Targets.
        f : ndarray of shape (n, m) or None
            Outputs of the network of the last round; None before the first round.
        """

    def damped(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Working targets and weights by which a ridge is chosen, if others tell better how noisy the rows are."""
        return self.working(y, f)

    @abstractmethod
    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """The loss of each row, shape (n,)."""

    def row_weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """What each row counts for, shape (n,): 1 for an ordinary row, near 0 for an outlier."""
        raise NotImplementedError(f"{type(self).__name__} does not weigh rows.")

    def bounding(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Values whose range over the training rows limits the outputs, if they are limited; shape (n, m)."""
        return y

    def mean(self, f: np.ndarray) -> np.ndarray:
        """What is predicted for outputs f: the inverse of the link; f itself if there is none."""
        return f

    def operators(self, graph: Graph, f: str, n_outputs: int) -> str:
        """:meth:`mean` in an ONNX graph."""
        if self.has_link:
            raise ValueError(f"What the loss {type(self).__name__} predicts has no counterpart in ONNX.")
        return f

    def c_function(self, code: Code, n_outputs: int) -> str | None:
        """:meth:`mean` in C, the name of a function ``void (real *f)`` that works in place; None if it is f itself."""
        if self.has_link:
            raise ValueError(f"What the loss {type(self).__name__} predicts has no counterpart in C.")
        return None


# What losses have in common whose output weights are refitted by their gradient, under a ridge.


@dataclass(frozen=True)
class Penalised(Loss):
    """A convex loss whose output weights minimise Σ p ℓ(y, f) + ½ λ ‖γ‖², for fixed nodes.

    γ are the output weights of columns scaled to variance 1; the intercept is free. Which λ are good is decided by the
    loss on held-out rows.
    """

    refit: ClassVar[str] = "penalised"
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


# Squared error: least squares itself, in one round.


@dataclass(frozen=True)
class Squared(Loss):
    """Half the squared error, summed over the outputs."""

    plain: ClassVar[bool] = True
    classifies: ClassVar[bool] = True

    def working(self, y: np.ndarray, f: np.ndarray | None) -> tuple[np.ndarray, None]:
        """The targets themselves, all rows with their own weights."""
        return y, None

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """½‖y − f‖²."""
        losses: np.ndarray = 0.5 * ((y - f) ** 2).sum(axis=1)
        return losses


# Averages over models by their losses on held-out rows.

# The power of the likelihood in the weight of a candidate, and the weight below which it is left out.
_POWER, _SMALLEST_WEIGHT = 0.5, 1e-3


def plausible(scores: np.ndarray, weight: float, dispersion: float = 1.0) -> np.ndarray:
    """The weights of candidates with these mean losses on held-out rows of this total weight; their sum is 1.

    The candidate with the lowest held-out loss is often the best by chance. So candidates are averaged, each with a
    weight that falls off exponentially with its held-out loss: the likelihood of these rows, to the power ½.
    """
    scores = np.where(np.isfinite(scores), scores, np.inf)
    # Without any finite score all candidates are the same.
    excess = scores - scores.min() if np.isfinite(scores).any() else np.zeros_like(scores)
    weights = np.exp(-_POWER * weight * excess / dispersion)
    weights[weights < _SMALLEST_WEIGHT * weights.max()] = 0.0
    return weights / weights.sum()
