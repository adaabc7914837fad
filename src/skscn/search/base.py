"""The contract between a search and the constructive loop: a strategy proposes, growth decides."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from skscn.factor import Factor
from skscn.nodes import Layer, Nodes
from skscn.rows import Rows


@dataclass(frozen=True)
class Proposal:
    """A short list of candidate nodes.

    Attributes
    ----------
    nodes : Nodes
        The candidates.
    contractions : tuple of float
        r, increasing: each candidate must satisfy the supervisory inequality with one of them; with 1 all do.
    candidates : int
        How many candidates have been drawn for this step so far.
    """

    nodes: Nodes
    contractions: tuple[float, ...]
    candidates: int

    def __len__(self) -> int:
        return len(self.nodes)

    def take(self, chosen: np.ndarray) -> "Proposal":
        """Some of them, in this order."""
        return replace(self, nodes=self.nodes.take(chosen))


# What a strategy yields, and what is sent back after each: how many candidates were accepted.
Proposals = Generator[Proposal, int, None]


@dataclass(frozen=True)
class StepSchedule:
    """How many nodes a step adds.

    Attributes
    ----------
    least : int
        In a small network, and in any if ``share`` is 0.
    share : float
        Of the nodes that a larger network has.
    most : int or None
        In a network of any size.
    """

    least: int
    share: float = 0.0
    most: int | None = None

    def after(self, nodes: int) -> int:
        """How many nodes to add to this number of nodes."""
        wanted = max(self.least, int(self.share * nodes))
        return wanted if self.most is None else min(wanted, self.most)


class Configuration(ABC):
    """A strategy for Phase 1.

    Parameters
    ----------
    scopes : sequence of float
        Υ, the λ's: weights and biases are drawn from [−λ, λ]. Strategies without supervision use the first.
    contractions : sequence of float
        r, increasing; for strategies with supervision.
    max_candidates : int
        T_max, draws in each scope; where there is no choice among draws, how often to try again.
    """

    # The values for this strategy where an estimator's parameter is "auto"; these are the paper's choices.
    scaling: str | None = "minmax"
    # Whether jumps of the function along single inputs become inputs.
    finds_jumps = False
    direct_link = False
    early_stopping = False
    alpha: float | str = 0.0
    # What it needs: the derivative of nodes with respect to their weights.
    needs_derivative = False
    # Whether predictions are kept near the range of the training targets.
    bounded = False
    # Whether it draws candidates by how much the network so far depends on each feature.
    guided = False

    def __init__(
        self,
        scopes: Sequence[float],
        contractions: Sequence[float] = (0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999),
        max_candidates: int = 200,
    ):
        self.scopes = tuple(scopes)
        self.contractions = tuple(contractions)
        self.max_candidates = max_candidates

    def opened(self, rows: Rows) -> Self:
        """The strategy for a network that grows on these rows, of which it may keep what it has read."""
        return self

    def informed(self, contraction: float, relevance: np.ndarray | None) -> Self:
        """The strategy for the next step.

        Parameters
        ----------
        contraction : float
            r with which the last node was accepted; 0 if there is none.
        relevance : ndarray of shape (d,) or None
            How much the network so far depends on each feature, relative to the one it depends on most; None if that is
            not known, or the strategy is not ``guided``.
        """
        return self

    def degrees_per_node(self, n_features: int) -> float:
        """Degrees of freedom of a node: one for its output weight, and one for having been chosen among many."""
        return 2.0

    def pace(self, layer: Layer, weight: float) -> StepSchedule:
        """How many nodes steps add, in a layer and on rows of this total weight."""
        return StepSchedule(1)

    def is_due(self, before: int, nodes: int, last: int, gain: float) -> bool:
        """Whether all nodes are to be polished after a step from ``before`` to ``nodes`` nodes.

        The last time was with ``last`` nodes, 0 if there was none, and removed the share ``gain`` of the error.
        """
        return False

    def polish(self, rows: Rows, nodes: Nodes, factor: Factor, gain: float, rng: np.random.Generator) -> Nodes | None:
        """All nodes of a network polished, with R and C of its columns; None where the strategy cannot do that.

        The last time removed the share ``gain`` of the error.
        """
        return None

    @abstractmethod
    def propose(self, rows: Rows, node: int, rng: np.random.Generator, count: int) -> Proposals:
        """Short lists for node L = ``node`` and the ``count`` − 1 after it, the most promising first.

        A generator: after each list ``yield`` says how many of its candidates were accepted. It is not resumed once the
        step is complete.
        """


def draw(rows: Rows, scope: float, count: int, rng: np.random.Generator) -> Nodes:
    """Step 5 of Algorithm SC-I: nodes with weights and biases uniform in [−λ, λ]."""
    weights = rng.uniform(-scope, scope, (rows.layer.width(rows.n_features), count))
    return Nodes(rows.layer, weights, rng.uniform(-scope, scope, count), scope)


# The strategies by name, which the package fills in.
CONFIGURATIONS: dict[str, type[Configuration]] = {}


def resolve_configuration(
    configuration: str | Configuration,
    *,
    scopes: tuple[float, ...],
    contractions: tuple[float, ...],
    max_candidates: int,
) -> Configuration:
    """The strategy with this registered name, created with these settings; an instance is used as it is."""
    if isinstance(configuration, str):
        return CONFIGURATIONS[configuration](scopes, contractions, max_candidates)
    return configuration
