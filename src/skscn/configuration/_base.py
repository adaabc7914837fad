"""The contract between a strategy and the constructive loop."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from skscn.rows import Rows


@dataclass(frozen=True)
class Proposal:
    """A short list of candidate nodes.

    Attributes
    ----------
    weights : ndarray of shape (d, s)
    biases : ndarray of shape (s,)
    scopes : ndarray of shape (s,)
        λ, the scopes from which they were drawn.
    contractions : tuple of float
        r, increasing: each candidate must satisfy the supervisory inequality with one of them; with 1 all do.
    candidates : int
        How many candidates have been drawn for this step so far.
    """

    weights: np.ndarray
    biases: np.ndarray
    scopes: np.ndarray
    contractions: tuple[float, ...]
    candidates: int

    def __len__(self) -> int:
        return len(self.biases)

    def take(self, chosen: np.ndarray) -> "Proposal":
        """Some of them, in this order."""
        return replace(self, weights=self.weights[:, chosen], biases=self.biases[chosen], scopes=self.scopes[chosen])


class Configuration(ABC):
    """A strategy for Phase 1.

    Parameters
    ----------
    scopes : sequence of float
        Υ, the λ's: weights and biases are drawn from [−λ, λ]. Strategies without supervision use the first.
    contractions : sequence of float
        r, rising; for strategies with supervision.
    max_candidates : int
        T_max, draws in each scope; where there is no choice among draws, how often to try again.
    """

    # What goes with the strategy where an estimator's parameter is "auto"; these are the paper's choices.
    scaling: str | None = "minmax"
    direct_link = False
    early_stopping = False
    alpha: float | str = 0.0
    # Whether predictions are kept near the range of the training targets.
    bounded = False

    def __init__(
        self,
        scopes: Sequence[float],
        contractions: Sequence[float] = (0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999),
        max_candidates: int = 200,
    ):
        self.scopes = tuple(scopes)
        self.contractions = tuple(contractions)
        self.max_candidates = max_candidates

    def degrees_per_node(self, n_features: int) -> float:
        """Degrees of freedom of a node: one for its output weight, and one for having been chosen among many."""
        return 2.0

    @abstractmethod
    def propose(self, rows: Rows, node: int, rng: np.random.Generator, count: int) -> Iterator[Proposal]:
        """Short lists for node L = ``node`` and the ``count`` − 1 after it, until one of them is accepted."""


def draw(n_features: int, scope: float, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Step 5 of Algorithm SC-I: weights (d, count) and biases (count,) uniform in [−λ, λ]."""
    return rng.uniform(-scope, scope, (n_features, count)), rng.uniform(-scope, scope, count)
