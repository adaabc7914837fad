"""Training rows in memory.

Rows are walked in stretches of fixed length; threads take stretches, and sums are added in the order of the rows, so a
result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import reduce
from operator import add
from typing import TypeVar

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import threadpool_limits

from skscn import kernels
from skscn.activations import IDENTITY, Activation
from skscn.rows._base import Appended, Rows, Sample
from skscn.scaling import InputScaling
from skscn.supervision import SMALLEST_REMAINDER, Slopes, Sums

_STRETCH = 4096
# Basis vectors allocated at a time; memory is touched only as they are written.
_PANEL = 16

Result = TypeVar("Result")
Summable = TypeVar("Summable", float, np.ndarray, Sums, Slopes)


class MemoryRows(Rows):
    """N training rows as arrays.

    Parameters
    ----------
    X : array or sparse matrix of shape (N, d)
        Inputs as given; they are scaled block by block.
    targets : ndarray of shape (N, m)
        Scaled targets, the first residual e_0.
    activation, scaling : the nodes' g and the scaling of the inputs.
    sample_weight : ndarray of shape (N,) or None
        Positive weights p: ⟨a, b⟩ = Σ p a b.
    n_jobs : int or None
        Threads. Use the rows as a context manager; BLAS is held to one thread inside.
    """

    def __init__(
        self,
        X,
        targets: np.ndarray,
        *,
        activation: Activation,
        scaling: InputScaling,
        sample_weight: np.ndarray | None = None,
        n_jobs: int | None = None,
    ):
        self.X, self.targets, self.activation, self.scaling = X, targets, activation, scaling
        self.n_rows, self.n_features = X.shape
        self.n_outputs = targets.shape[1]
        self.weight = float(self.n_rows if sample_weight is None else sample_weight.sum())
        self._roots = None if sample_weight is None else np.sqrt(sample_weight)
        # Residual and columns carry √p, which turns weighted inner products into plain ones.
        self._residual = targets.copy() if self._roots is None else targets * self._roots[:, np.newaxis]
        self._column = np.empty(self.n_rows)
        self._panels: list[np.ndarray] = []
        self.basis_size = 0
        self._stretches = [
            slice(start, min(start + _STRETCH, self.n_rows)) for start in range(0, self.n_rows, _STRETCH)
        ]
        self._threads = min(effective_n_jobs(n_jobs), len(self._stretches))
        self._executor: ThreadPoolExecutor | None = None
        self._resources = ExitStack()
        self.residual_squares = self._sum(self._squares_of_residual)

    def __enter__(self) -> MemoryRows:
        self._resources.enter_context(threadpool_limits(limits=1, user_api="blas"))
        if self._threads > 1:
            self._executor = self._resources.enter_context(ThreadPoolExecutor(self._threads))
        return self

    def __exit__(self, *exception) -> None:
        self._executor = None
        self._resources.close()

    @property
    def rmse(self) -> float:
        """Root mean squared residual over rows and outputs."""
        return float(np.sqrt(self.residual_squares.sum() / (self.weight * self.n_outputs)))

    def sums(self, weights: np.ndarray, biases: np.ndarray, *, quartics: bool = False) -> Sums:
        """Row sums of T candidates, weights of shape (d, T), against the residual, in float64 on all rows."""
        return self._sum(
            lambda rows: kernels.candidate_sums(
                self.X[rows],
                self._residual[rows],
                None if self._roots is None else self._roots[rows],
                weights,
                biases,
                self.activation,
                self.scaling,
                quartics,
            )
        )

    def slopes(self, weight: np.ndarray, bias: float) -> Slopes:
        """How the row sums of one candidate change with its weights and bias."""
        return self._sum(
            lambda rows: kernels.candidate_slopes(
                self.X[rows],
                self._residual[rows],
                None if self._roots is None else self._roots[rows],
                weight,
                bias,
                self.activation,
                self.scaling,
            )
        )

    def append(self, weight: np.ndarray, bias: float, *, keep: bool, linear: bool = False) -> Appended | None:
        """Bring a node in: make its column orthogonal to the basis and take its part out of the residual.

        Gram–Schmidt is done twice, which keeps the basis orthonormal to rounding error (Giraud, Langou and Rozložník,
        2005: "twice is enough"). None, and nothing changes, where the column nearly depends on the basis.

        Parameters
        ----------
        weight, bias
            The node's w and b.
        keep : bool
            Whether the new direction joins the basis.
        linear : bool
            Whether the column is wᵀx + b itself, without activation.
        """
        size, v, activation = self.basis_size, self._column, IDENTITY if linear else self.activation
        norm = np.sqrt(self._sum(lambda rows: self._write_column(rows, weight, bias, activation)))
        projection = np.zeros(size)
        if size:
            projection += self._sum(lambda rows: self._project(rows, v[rows]))
            correction = self._sum(lambda rows: self._project(rows, self._deflate(rows, projection)))
            projection += correction
            self._map(lambda rows: self._deflate(rows, correction))
        remainder = float(np.sqrt(self._sum(lambda rows: v[rows] @ v[rows])))
        if not remainder > SMALLEST_REMAINDER * norm:
            return None
        coefficients = self._sum(lambda rows: v[rows] @ self._residual[rows]) / remainder
        if keep:
            self._reserve()
        self.residual_squares = self._sum(lambda rows: self._take_out(rows, remainder, coefficients, keep))
        self.basis_size += keep
        return Appended(projection, remainder, coefficients)

    def rotate(self, rotation: np.ndarray) -> None:
        """Replace the basis Q by Q @ rotation, for a rotation with orthonormal columns."""
        self._map(lambda rows: self._rotate(rows, rotation))
        self.basis_size = rotation.shape[1]

    def sample(self, rows: np.ndarray) -> Sample:
        """The named rows as the driver needs them to search on a few."""
        basis = np.vstack([np.zeros((0, len(rows))), *self._basis(rows)]).T
        roots = None if self._roots is None else self._roots[rows]
        return Sample(kernels.scaled(self.X[rows], self.scaling), self._residual[rows], basis, roots)

    def leave_one_out(
        self, rows: np.ndarray, smoother: np.ndarray | None = None, coefficients: np.ndarray | None = None
    ) -> np.ndarray:
        """Outputs that the model would give to the named training rows had it not seen them, the nodes being given.

        e_i / (1 − ℓ_i), with the leverage ℓ_i = Σ_j q_ij² of row i in the basis: exact where the basis holds all nodes
        (SC-III). A row of weight p counts as p rows, of which one is left out, or all of it if p < 1. A model that fits
        Q M C instead of Q C has the leverages Σ_jk q_ij M_jk q_ik.
        """
        basis = np.vstack([np.zeros((0, len(rows))), *self._basis(rows)])
        residual = self._residual[rows]
        if smoother is None or coefficients is None:
            leverage = np.einsum("ki,ki->i", basis, basis)
        else:
            leverage = np.einsum("ki,ki->i", basis, smoother @ basis)
            residual = residual + basis.T @ (coefficients - smoother @ coefficients)
        if self._roots is not None:
            leverage = leverage / np.maximum(self._roots[rows] ** 2, 1.0)
            residual = residual / self._roots[rows, np.newaxis]
        return self.targets[rows] - residual / np.maximum(1.0 - leverage, 1e-10).reshape(-1, 1)

    def _map(self, kernel: Callable[[slice], Result]) -> list[Result]:
        mapper = map if self._executor is None else self._executor.map
        return list(mapper(kernel, self._stretches))

    def _sum(self, kernel: Callable[[slice], Summable]) -> Summable:
        return reduce(add, self._map(kernel))

    def _squares_of_residual(self, rows: slice) -> np.ndarray:
        return np.einsum("ij,ij->j", self._residual[rows], self._residual[rows])

    def _write_column(self, rows: slice, weight: np.ndarray, bias: float, activation: Activation) -> float:
        roots = None if self._roots is None else self._roots[rows]
        return kernels.column(self.X[rows], roots, weight, bias, activation, self.scaling, out=self._column[rows])

    def _basis(self, rows: slice | np.ndarray) -> list[np.ndarray]:
        """The basis on these rows, panel by panel, each of shape (vectors, rows)."""
        full, rest = divmod(self.basis_size, _PANEL)
        panels = [panel[:, rows] for panel in self._panels[:full]]
        return [*panels, self._panels[full][:rest, rows]] if rest else panels

    def _project(self, rows: slice, v: np.ndarray) -> np.ndarray:
        return np.concatenate([panel @ v for panel in self._basis(rows)])

    def _deflate(self, rows: slice, projection: np.ndarray) -> np.ndarray:
        v, start = self._column[rows], 0
        for panel in self._basis(rows):
            v -= projection[start : start + len(panel)] @ panel
            start += len(panel)
        return v

    def _reserve(self) -> None:
        if self.basis_size == _PANEL * len(self._panels):
            self._panels.append(np.empty((_PANEL, self.n_rows)))

    def _take_out(self, rows: slice, remainder: float, coefficients: np.ndarray, keep: bool) -> np.ndarray:
        q, residual = self._column[rows] / remainder, self._residual[rows]
        residual -= np.multiply.outer(q, coefficients)
        if keep:
            panel, place = divmod(self.basis_size, _PANEL)
            self._panels[panel][place, rows] = q
        return self._squares_of_residual(rows)

    def _rotate(self, rows: slice, rotation: np.ndarray) -> None:
        rotated = rotation.T @ np.concatenate(self._basis(rows))
        for start in range(0, len(rotated), _PANEL):
            part = rotated[start : start + _PANEL]
            self._panels[start // _PANEL][: len(part), rows] = part
