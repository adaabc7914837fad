"""The algorithm that all backends share: what crosses from the rows to the driver, and what it decides there.

A backend says how an :class:`~skscn.rows.Operation` is done on all its stretches and added up; the sums are
the same, bit for bit, wherever the rows are.
"""

from __future__ import annotations

from abc import abstractmethod
from contextlib import ExitStack
from typing import Any, Self

import numpy as np
from threadpoolctl import threadpool_limits

from skscn.layers import Layer, Nodes
from skscn.rows._base import Columns, Rows, Sample
from skscn.rows.operations import Deflate, Join, Open, Operation, Rotate, Score, Slope, SquareResidual, Weigh
from skscn.supervision import SampledSums, Slopes, Sums

# What a column may still share with the basis after it was made orthogonal, relative to what is left of it.
_ORTHOGONAL = 1e-13


class StretchedRows(Rows):
    """N training rows, walked in stretches. A context, within which BLAS is held to one thread.

    Parameters
    ----------
    shape : tuple of int
        N, d and m.
    layer : Layer
        That of the nodes to come.
    """

    def __init__(self, shape: tuple[int, int, int], layer: Layer):
        self.n_rows, self.n_features, self.n_outputs = shape
        self.layer = layer
        self.basis_size = 0
        self._resources = ExitStack()

    def _begin_fit(self) -> None:
        """Look at the rows for the first time."""
        self.weight = self.total(Weigh())
        self.residual_squares = self.total(SquareResidual())

    @abstractmethod
    def total(self, operation: Operation) -> Any:
        """Do an operation on all stretches, and add up what it returns."""

    @abstractmethod
    def sample(self, rows: np.ndarray) -> Sample:
        """The named rows as the driver needs them, to search on a few."""

    def __enter__(self) -> Self:
        # With more threads BLAS adds up in another order, here and in the search.
        self._resources.enter_context(threadpool_limits(limits=1, user_api="blas"))
        return self

    def __exit__(self, *exception) -> None:
        """Let go of what only growth needs."""
        self._resources.close()

    @property
    def rmse(self) -> float:
        """Root mean squared residual over rows and outputs."""
        return float(np.sqrt(self.residual_squares.sum() / (self.weight * self.n_outputs)))

    def nodes(self, weights: np.ndarray, biases: np.ndarray, scopes: np.ndarray | float = np.nan) -> Nodes:
        """Nodes of the layer that grows, with these weights (d, k) and biases (k,)."""
        return Nodes.of(self.layer, weights, biases, scopes)

    def sums(self, nodes: Nodes, *, complete: bool = False, precision: type = np.float64) -> Sums:
        """Row sums of T candidates against the residual, on all rows."""
        return self.total(Score(nodes, complete, precision))

    @abstractmethod
    def sampled_sums(self, rows: np.ndarray, nodes: Nodes, *, precision: type) -> SampledSums:
        """Row sums of T candidates on the named rows."""

    def slopes(self, node: Nodes) -> Slopes:
        """How the row sums of one candidate change with its weights and bias."""
        return self.total(Slope(node))

    def open(self, nodes: Nodes) -> Columns:
        """Form the columns of nodes and make them orthogonal to the basis.

        Gram–Schmidt is done again where the first time left more than rounding error, and "twice is enough" (Giraud,
        Langou and Rozložník, 2005).
        """
        m = self.n_outputs
        start = self.total(Open(self.basis_size, nodes))
        sums, projection = Sums(start[:m], start[m], start[m + 1]), start[m + 2 :]
        gram, inner, shared = self._deflated(projection)
        if (np.linalg.norm(shared, axis=0) > _ORTHOGONAL * np.sqrt(gram.diagonal())).any():
            projection = projection + shared
            gram, inner, _ = self._deflated(shared)
        return Columns(sums, projection, gram, inner)

    def _deflated(self, projection: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Take basis vectors out of the columns; return VᵀV, Vᵀe and what V still shares with the basis."""
        sums = self.total(Deflate(self.basis_size, projection))
        k, m = sums.shape[1], self.n_outputs
        return sums[:k], sums[k : k + m].T, sums[k + m :]

    def join(self, transform: np.ndarray, coefficients: np.ndarray, *, keep: bool) -> None:
        """Take D C out of the residual, with the directions D = V @ transform, which join the basis if ``keep``."""
        self.residual_squares = self.total(Join(self.basis_size, transform, coefficients, keep))
        self.basis_size += keep * len(coefficients)

    def rotate(self, rotation: np.ndarray) -> None:
        """Replace the basis Q by Q @ rotation, for a rotation with orthonormal columns."""
        self.total(Rotate(self.basis_size, rotation))
        self.basis_size = rotation.shape[1]

    def leave_one_out(
        self, rows: np.ndarray, smoother: np.ndarray | None = None, coefficients: np.ndarray | None = None
    ) -> np.ndarray:
        """By how much the model would miss the named training rows had it not seen them, the nodes being given.

        e_i / (1 − ℓ_i), with the leverage ℓ_i = Σ_j q_ij² of row i in the basis: exact where the basis holds all nodes
        (SC-III). A row of weight p counts as p rows, of which one is left out, or all of it if p < 1. A model that fits
        Q M C instead of Q C has the leverages Σ_jk q_ij M_jk q_ik.
        """
        sample = self.sample(rows)
        residual, basis, roots = sample.residual, sample.basis.T, sample.roots
        if smoother is None or coefficients is None:
            leverage = np.einsum("ki,ki->i", basis, basis)
        else:
            leverage = np.einsum("ki,ki->i", basis, smoother @ basis)
            residual = residual + basis.T @ (coefficients - smoother @ coefficients)
        if roots is not None:
            leverage = leverage / np.maximum(roots**2, 1.0)
            residual = residual / roots[:, np.newaxis]
        return residual / np.maximum(1.0 - leverage, 1e-10).reshape(-1, 1)
