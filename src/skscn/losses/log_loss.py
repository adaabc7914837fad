"""Classes: the likelihood of a softmax of the outputs, or of one logistic function each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.special import expit

from skscn.layers import Code, Graph
from skscn.losses._base import StatisticsOf
from skscn.losses._penalised import Penalised

# λ: no output weight to speak of, to hardly any penalty, whatever the number of rows.
# Curvatures are at least this, so that the working targets of rows that are certain stay finite.
_SMALLEST_CURVATURE = 1e-6
_PENALTIES = 10.0 ** np.array([2.5, 1.5, 0.5, -0.5, -1.5])


@dataclass(frozen=True)
class LogLoss(Penalised):
    """Nodes are grown by least squares on class indicators; the output weights maximise the penalised likelihood.

    Attributes
    ----------
    exclusive : bool
        Whether a row belongs to exactly one class, so that probabilities are a softmax; with False each output is the
        logit of a label of its own. A single output is a logit in any case.
    smallest : float
        What probabilities are at least: 1/n², for n training rows, which cannot tell a smaller one.
    """

    classifies: ClassVar[bool] = True
    regresses: ClassVar[bool] = False
    together: ClassVar[bool] = True
    tries_sizes: ClassVar[bool] = True
    quadratic: ClassVar[bool] = True
    factor_if_averaged: ClassVar[float] = 10.0**-0.5
    share_held_out: ClassVar[float] = 0.2
    patience: ClassVar[float] = 2.0
    exclusive: bool = True
    smallest: float = 0.0

    def adapted(self, statistics_of: StatisticsOf) -> Self:
        """With the smallest probability that the rows can tell."""
        weight = statistics_of(_targets).below(np.full((1, 1), np.inf))[0, 0]
        return replace(self, smallest=float(1.0 / max(weight, 2.0) ** 2))

    def working(self, y: np.ndarray, f: np.ndarray | None) -> tuple[np.ndarray, None]:
        """Indicators."""
        return y, None

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Minus the logarithm of the probability of a row's classes."""
        return self.smooth(y, f)[0]

    def bounding(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """The outputs themselves."""
        return f

    def penalties(self, weight: float) -> np.ndarray:
        """The same for any number of rows."""
        return _PENALTIES

    def curvature(self) -> float:
        """The largest of a logistic function; a softmax has at most twice as much."""
        return 0.25

    def curvatures(self, f: np.ndarray) -> np.ndarray:
        """Those of logistic functions; a softmax of m outputs has the same sum in the m − 1 directions that matter."""
        p, m = self.smooth(np.zeros_like(f), f)[1], f.shape[1]
        curvatures: np.ndarray = p * (1.0 - p) * (m / (m - 1) if self._has_softmax(f) else 1.0)
        return curvatures.clip(_SMALLEST_CURVATURE)

    def _has_softmax(self, f: np.ndarray) -> bool:
        return self.exclusive and f.shape[1] > 1

    def smooth(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The log loss, and probabilities minus indicators."""
        if not self._has_softmax(f):
            return (np.logaddexp(0.0, f) - y * f).sum(axis=1), expit(f) - y
        shifted = f - f.max(axis=1, keepdims=True)
        powers = np.exp(shifted)
        totals = powers.sum(axis=1)
        powers /= totals[:, np.newaxis]
        return np.log(totals) - np.einsum("ij,ij->i", y, shifted), powers - y

    def mean(self, f: np.ndarray) -> np.ndarray:
        """Probabilities, of the second class if there is one output."""
        softmax = self._has_softmax(f)
        probabilities = self.smooth(np.zeros_like(f), f)[1] if softmax else expit(f)
        share, count = self._share(f.shape[1] if softmax else 2)
        floored: np.ndarray = (1.0 - share) * probabilities + share / count
        return floored

    def _share(self, count: int) -> tuple[float, int]:
        """The share of equal probabilities that is mixed in, and the number of classes."""
        return min(1.0, count * self.smallest), count

    def operators(self, graph: Graph, f: str, n_outputs: int) -> str:
        """Probabilities."""
        softmax = self.exclusive and n_outputs > 1
        share, count = self._share(n_outputs if softmax else 2)
        own = graph("Softmax", f, axis=1) if softmax else graph("Sigmoid", f)
        return graph("Add", graph("Mul", own, graph.constant(1.0 - share)), graph.constant(share / count))

    def c_function(self, code: Code, n_outputs: int) -> str:
        """Probabilities."""
        softmax = self.exclusive and n_outputs > 1
        share, count = self._share(n_outputs if softmax else 2)
        first = f"{code.softmax()}(f, {n_outputs});\n" if softmax else ""
        own = "f[i]" if softmax else f"{code.logistic()}(f[i])"
        mixed = f"{code.number(1.0 - share)} * {own} + {code.number(share / count)}"
        body = f"{first}for (int i = 0; i < {n_outputs}; i++) f[i] = {mixed};"
        return code.function("mean", "void", "real *f", body)


def _targets(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    return y[:, :1]
