"""The algorithm that all backends share: what is sent from the rows to the driver, and what is decided there.

A backend defines how an :class:`~skscn.rows.Operation` is run on all its stretches and summed; the sums are
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

# The largest component along the basis that an orthogonalised column may still have, relative to its remainder.
_ORTHOGONAL = 1e-13


class StretchedRows(Rows):
    """N training rows, processed in stretches. A context manager, within which BLAS is limited to one thread.

    Parameters
    ----------
    shape : tuple of int
        N, d and m.
    layer : Layer
        The layer of the nodes to be added.
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
        """Run an operation on all stretches and sum what it returns."""

    @abstractmethod
    def sample(self, rows: np.ndarray) -> Sample:
        """The rows with these numbers, in the form that searches on a sample need."""

    def __enter__(self) -> Self:
        # With more threads BLAS would sum in a different order, here and in the search.
        self._resources.enter_context(threadpool_limits(limits=1, user_api="blas"))
        return self

    def __exit__(self, *exception) -> None:
        """Release what only growth needs."""
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
        """Row sums of T candidates on the rows with these numbers."""

    def slopes(self, node: Nodes) -> Slopes:
        """How the row sums of one candidate change with its weights and bias."""
        return self.total(Slope(node))

    def open(self, nodes: Nodes) -> Columns:
        """Form the columns of nodes and make them orthogonal to the basis.

        Gram–Schmidt is repeated where the first pass left more than rounding error, and "twice is enough" (Giraud,
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
        """Remove basis vectors from the columns; return VᵀV, Vᵀe and the remaining projection of V on the basis."""
        sums = self.total(Deflate(self.basis_size, projection))
        k, m = sums.shape[1], self.n_outputs
        return sums[:k], sums[k : k + m].T, sums[k + m :]

    def join(self, transform: np.ndarray, coefficients: np.ndarray, *, keep: bool) -> None:
        """Subtract D C from the residual, with the directions D = V @ transform, added to the basis if ``keep``."""
        self.residual_squares = self.total(Join(self.basis_size, transform, coefficients, keep))
        self.basis_size += keep * len(coefficients)

    def rotate(self, rotation: np.ndarray) -> None:
        """Replace the basis Q by Q @ rotation, for a rotation with orthonormal columns."""
        self.total(Rotate(self.basis_size, rotation))
        self.basis_size = rotation.shape[1]

    def leave_one_out(
        self, rows: np.ndarray, smoother: np.ndarray | None = None, coefficients: np.ndarray | None = None
    ) -> np.ndarray:
        """Leave-one-out residuals of the rows with these numbers, for fixed nodes.

        e_i / (1 − ℓ_i), with the leverage ℓ_i = Σ_j q_ij² of row i in the basis: exact where the basis holds all nodes
        (SC-III). A row of weight p counts as p rows, of which one is left out, or the row if p < 1. A model that fits
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
