"""Recurrent nodes: what a node of a reservoir computes from the delay line, from earlier nodes and from itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

# The largest feedback of a node to itself. tanh has slope 1 at most, so what two initial states differ by shrinks by
# this factor with each row.
LARGEST_FEEDBACK = 0.95
# How many earlier nodes a node hears, at most.
SOURCES = 4


@dataclass(frozen=True, eq=False)
class RecurrentNodes:
    """Nodes s(n) = tanh(wᵀz(n) + b + Σ_k v_k s_k(n−1) + a s(n−1)), and products of two columns of [z(n), s(n−1)].

    A node hears only nodes that were there before it: the matrix of all feedback weights is lower triangular.

    Attributes
    ----------
    weights : ndarray of shape (p, k)
        w, for the delay line z.
    biases : ndarray of shape (k,)
        b.
    feedback : ndarray of shape (k,)
        a, of each node to itself; its absolute value is at most 0.95, the echo-state condition.
    sources : ndarray of shape (SOURCES, k)
        The earlier nodes that each node hears, and ...
    source_weights : ndarray of shape (SOURCES, k)
        ... v; 0 where there is none.
    factors : ndarray of shape (2, k)
        The two columns that a product node multiplies; −1 in other nodes.
    scopes : ndarray of shape (k,)
        λ, the scopes that they were drawn from.
    """

    weights: np.ndarray
    biases: np.ndarray
    feedback: np.ndarray
    sources: np.ndarray
    source_weights: np.ndarray
    factors: np.ndarray
    scopes: np.ndarray

    def __len__(self) -> int:
        return len(self.biases)

    @classmethod
    def empty(cls, width: int, count: int = 0) -> RecurrentNodes:
        """Nodes that hear nothing, for a delay line of this width."""
        return cls(
            np.zeros((width, count)),
            np.zeros(count),
            np.zeros(count),
            np.zeros((SOURCES, count), np.int64),
            np.zeros((SOURCES, count)),
            np.full((2, count), -1),
            np.zeros(count),
        )

    @classmethod
    def joined(cls, blocks: Sequence[RecurrentNodes]) -> RecurrentNodes:
        """Several blocks as one."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(block, name) for block in blocks], axis=-1) for name in names))

    def take(self, which: np.ndarray | slice) -> RecurrentNodes:
        """Some of the nodes."""
        return RecurrentNodes(*(getattr(self, field.name)[..., which] for field in fields(self)))

    @property
    def width(self) -> int:
        """p, the width of the delay line."""
        return len(self.weights)

    @property
    def products(self) -> np.ndarray:
        """Which nodes are products."""
        return np.asarray(self.factors[0] >= 0)

    def heard(self) -> np.ndarray:
        """Feedback weights as a matrix (L, k): what each node hears of all nodes one row before, itself included."""
        matrix = np.diag(self.feedback)
        np.add.at(matrix, (self.sources, np.arange(len(self))), self.source_weights)
        return matrix

    def has_echo_state(self) -> np.ndarray:
        """Whether each node satisfies the echo-state condition."""
        return np.asarray(np.abs(self.feedback) <= LARGEST_FEEDBACK)

    def is_triangular(self) -> bool:
        """Whether every node hears only nodes before it."""
        here = np.arange(len(self))
        heard = np.where(self.source_weights != 0.0, self.sources, -1)
        return bool((heard < here).all() and (self.factors < self.width + here).all() and (self.sources >= 0).all())
