"""What the constructive loop asks of a backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from skscn.activations import Activation
from skscn.supervision import Slopes, Sums


@dataclass(frozen=True)
class Appended:
    """What appending a hidden column h = Qr + ρq to the basis Q leaves: r, ρ and qᵀe."""

    projection: np.ndarray
    remainder: float
    coefficients: np.ndarray


@dataclass(frozen=True)
class Sample:
    """Some of the rows: scaled inputs (n, d), residual (n, m) and basis (n, k), the last two weighted by ``roots``."""

    X: np.ndarray
    residual: np.ndarray
    basis: np.ndarray
    roots: np.ndarray | None


class Rows(Protocol):
    """N training rows, their residual e, and an orthonormal basis Q of hidden columns; only row sums leave.

    Attributes
    ----------
    n_rows, n_features, n_outputs : int
        N, d and m.
    weight : float
        The sum of the sample weights; N without them.
    activation : Activation
        g of the nodes.
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
    activation: Activation
    residual_squares: np.ndarray
    basis_size: int

    @property
    def rmse(self) -> float: ...

    def sums(
        self, weights: np.ndarray, biases: np.ndarray, *, quartics: bool = False, precision: type = np.float64
    ) -> Sums:
        """Row sums of T candidates, weights of shape (d, T), against the residual, on all rows.

        Hidden outputs in np.float32 are enough to tell candidates apart, and fast; acceptance takes np.float64.
        """
        ...

    def slopes(self, weight: np.ndarray, bias: float) -> Slopes:
        """How the row sums of one candidate change with its weights and bias."""
        ...

    def append(self, weight: np.ndarray, bias: float, *, keep: bool, linear: bool = False) -> Appended | None:
        """Bring a node in: make its column orthogonal to the basis and take its part out of the residual.

        None, and nothing changes, where the column nearly depends on the basis. The new direction joins the basis if
        ``keep``. The column is wᵀx + b itself, without activation, if ``linear``.
        """
        ...

    def sample(self, rows: np.ndarray, *, basis: bool = True) -> Sample:
        """The named rows as the driver needs them to search on a few; with an empty basis if it is not wanted."""
        ...

    def rotate(self, rotation: np.ndarray) -> None:
        """Replace the basis Q by Q @ rotation, for a rotation with orthonormal columns."""
        ...

    def leave_one_out(
        self, rows: np.ndarray, smoother: np.ndarray | None = None, coefficients: np.ndarray | None = None
    ) -> np.ndarray:
        """By how much the model would miss the named training rows had it not seen them, the nodes being given.

        With a smoother M and coefficients C, of a model that fits Q M C instead of Q C.
        """
        ...
