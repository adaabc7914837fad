"""The interface that the constructive loop needs from a backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from skscn.layers import Layer, Nodes
from skscn.supervision import SampledSums, Slopes, Sums


@dataclass(frozen=True)
class Columns:
    """New columns H = QP + V on all rows, with V orthogonal to the basis Q.

    Attributes
    ----------
    sums : Sums
        Row sums of H against the residual, with quartics.
    projection : ndarray of shape (b, k)
        P.
    gram : ndarray of shape (k, k)
        VᵀV.
    inner : ndarray of shape (k, m)
        Vᵀe.
    """

    sums: Sums
    projection: np.ndarray
    gram: np.ndarray
    inner: np.ndarray


@dataclass(frozen=True)
class Sample:
    """Some of the rows: scaled inputs (n, d), residual (n, m) and basis (n, k), the last two weighted by ``roots``."""

    X: np.ndarray
    residual: np.ndarray
    basis: np.ndarray
    roots: np.ndarray | None

    @classmethod
    def of(cls, X: np.ndarray, residual: np.ndarray, vectors: np.ndarray, roots: np.ndarray | None) -> Sample:
        """From basis vectors (k, n), always in the same memory layout, on which the last bits of products depend."""
        contiguous = np.ascontiguousarray
        return cls(contiguous(X), contiguous(residual), contiguous(vectors).T, roots)


class Rows(Protocol):
    """N training rows, their residual e, and an orthonormal basis Q of hidden columns; only row sums leave.

    Attributes
    ----------
    n_rows, n_features, n_outputs : int
        N, d and m.
    weight : float
        The sum of the sample weights; N without them.
    layer : Layer
        The layer of the nodes to be added.
    residual_squares : ndarray of shape (m,)
        ‖e_q‖².
    basis_size : int
        Vectors in the basis.
    rmse : float
        Root mean squared residual over rows and outputs.
    """

    n_rows: int
    n_features: int
    n_outputs: int
    weight: float
    layer: Layer
    residual_squares: np.ndarray
    basis_size: int

    @property
    def rmse(self) -> float: ...

    def nodes(self, weights: np.ndarray, biases: np.ndarray, scopes: np.ndarray | float = np.nan) -> Nodes:
        """Nodes of the layer that grows, with these weights (d, k) and biases (k,)."""
        ...

    def sums(self, nodes: Nodes, *, complete: bool = False, precision: type = np.float64) -> Sums:
        """Row sums of T candidates against the residual, on all rows.

        Quartics and the Gram matrix are included if they are to be ``complete``. Hidden outputs in np.float32 are fast
        and sufficient to rank candidates; acceptance uses np.float64.
        """
        ...

    def sampled_sums(self, rows: np.ndarray, nodes: Nodes, *, precision: type) -> SampledSums:
        """Row sums of T candidates on the rows with these numbers."""
        ...

    def slopes(self, node: Nodes) -> Slopes:
        """How the row sums of one candidate change with its weights and bias."""
        ...

    def open(self, nodes: Nodes) -> Columns:
        """Form the columns of nodes and make them orthogonal to the basis.

        They stay open until others are opened; neither the residual nor the basis changes.
        """
        ...

    def join(self, transform: np.ndarray, coefficients: np.ndarray, *, keep: bool) -> None:
        """Add the open columns: subtract D C from the residual, with the directions D = V @ transform.

        C, the ``coefficients``, has shape (k, m). With ``keep`` the directions, which must then be orthonormal, are
        added to the basis.
        """
        ...

    def sample(self, rows: np.ndarray) -> Sample:
        """The rows with these numbers, in the form that searches on a sample need."""
        ...

    def rotate(self, rotation: np.ndarray) -> None:
        """Replace the basis Q by Q @ rotation, for a rotation with orthonormal columns."""
        ...

    def leave_one_out(
        self, rows: np.ndarray, smoother: np.ndarray | None = None, coefficients: np.ndarray | None = None
    ) -> np.ndarray:
        """Leave-one-out residuals of the rows with these numbers, for fixed nodes.

        With a smoother M and coefficients C, those of a model that fits Q M C instead of Q C.
        """
        ...
