"""What backends on one machine share: rows walked in stretches of fixed length.

Threads take stretches, and sums are added in the order of the rows, so a result depends neither on the number of
threads nor on where the rows are kept. Where they are kept is a :class:`Storage`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import reduce
from itertools import chain
from operator import add
from typing import NamedTuple, Self, TypeVar

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import threadpool_limits

from skscn import kernels
from skscn.activations import IDENTITY, Activation
from skscn.kernels import Inputs
from skscn.rows._base import Columns, Rows, Sample
from skscn.supervision import Slopes, Sums

# Rows in a stretch, at most: enough for a call to cost little beside its work.
STRETCH = 16384
# Beyond so many stretches their number is a multiple of it, so that threads have equal shares.
_SHARES = 8
# Basis vectors that are allocated and multiplied with at a time.
PANEL = 16
# What a column may still share with the basis after it was made orthogonal, relative to what is left of it.
_ORTHOGONAL = 1e-13

Result = TypeVar("Result")
Summable = TypeVar("Summable", float, np.ndarray, Sums, Slopes)


class Gathered(NamedTuple):
    """Some rows from anywhere: scaled inputs (n, d), residual (n, m), basis (k, n)."""

    X: np.ndarray
    residual: np.ndarray
    basis: np.ndarray


class Storage(ABC):
    """Where rows, residual, basis and the column at work are kept; read and written by stretches.

    What is read may be changed in place, and counts as changed only when it is written.
    """

    @abstractmethod
    def inputs(self, rows: slice) -> Inputs:
        """Inputs of a stretch."""

    @abstractmethod
    def residual(self, rows: slice) -> np.ndarray:
        """e of a stretch, shape (n, m)."""

    @abstractmethod
    def set_residual(self, rows: slice, values: np.ndarray) -> None: ...

    @abstractmethod
    def columns(self, rows: slice) -> np.ndarray:
        """The columns at work on a stretch, shape (k, n)."""

    @abstractmethod
    def set_columns(self, rows: slice, values: np.ndarray) -> None: ...

    @abstractmethod
    def basis(self, rows: slice, size: int) -> list[np.ndarray]:
        """The first ``size`` basis vectors on a stretch, in panels of shape (vectors, n)."""

    @abstractmethod
    def set_directions(self, rows: slice, place: int, values: np.ndarray) -> None:
        """Write basis vectors, shape (k, n), from number ``place`` on."""

    @abstractmethod
    def gather(self, rows: np.ndarray, size: int) -> Gathered:
        """The named rows with the first ``size`` basis vectors."""

    @abstractmethod
    def reserve(self, basis: int, columns: int) -> None:
        """Make room for that many basis vectors, and for that many columns at work."""


class StretchedRows(Rows):
    """N training rows in a storage.

    Parameters
    ----------
    storage : Storage
        With the scaled targets, the first residual e_0.
    shape : tuple of int
        N, d and m.
    activation : Activation
        g of the nodes.
    sample_weight : ndarray of shape (N,) or None
        Positive weights p: ⟨a, b⟩ = Σ p a b. Residual and columns carry √p, which turns them into plain products.
    n_jobs : int or None
        Threads. Use the rows as a context manager; BLAS is held to one thread inside.
    """

    def __init__(
        self,
        storage: Storage,
        shape: tuple[int, int, int],
        *,
        activation: Activation,
        sample_weight: np.ndarray | None,
        n_jobs: int | None,
    ):
        self.storage, self.activation = storage, activation
        self.n_rows, self.n_features, self.n_outputs = shape
        self.weight = float(self.n_rows if sample_weight is None else sample_weight.sum())
        self._roots = None if sample_weight is None else np.sqrt(sample_weight)
        self.basis_size = 0
        self._stretches = stretches(self.n_rows)
        self._threads = min(effective_n_jobs(n_jobs), len(self._stretches))
        self._executor: ThreadPoolExecutor | None = None
        self._resources = ExitStack()
        self.residual_squares = self._sum(lambda rows: _squares(self.storage.residual(rows)))

    def __enter__(self) -> Self:
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

    def sums(
        self, weights: np.ndarray, biases: np.ndarray, *, complete: bool = False, precision: type = np.float64
    ) -> Sums:
        """Row sums of T candidates, weights of shape (d, T), against the residual, on all rows."""
        return self._sum(
            lambda rows: kernels.candidate_sums(
                self.storage.inputs(rows),
                self.storage.residual(rows),
                self._roots_of(rows),
                weights,
                biases,
                self.activation,
                complete=complete,
                precision=precision,
            )
        )

    def slopes(self, weight: np.ndarray, bias: float) -> Slopes:
        """How the row sums of one candidate change with its weights and bias."""
        return self._sum(
            lambda rows: kernels.candidate_slopes(
                self.storage.inputs(rows),
                self.storage.residual(rows),
                self._roots_of(rows),
                weight,
                bias,
                self.activation,
            )
        )

    def open(self, weights: np.ndarray, biases: np.ndarray, *, linear: bool = False) -> Columns:
        """Form the columns of k nodes, weights of shape (d, k), and make them orthogonal to the basis.

        Gram–Schmidt is done again where the first time left more than rounding error, and "twice is enough" (Giraud,
        Langou and Rozložník, 2005).
        """
        activation, m = IDENTITY if linear else self.activation, self.n_outputs
        self.storage.reserve(self.basis_size, len(biases))
        start = self._sum(lambda rows: self._begin(rows, weights, biases, activation))
        sums, projection = Sums(start[:m], start[m], start[m + 1]), start[m + 2 :]
        gram, inner, shared = self._deflated(projection)
        if (np.linalg.norm(shared, axis=0) > _ORTHOGONAL * np.sqrt(gram.diagonal())).any():
            projection = projection + shared
            gram, inner, _ = self._deflated(shared)
        return Columns(sums, projection, gram, inner)

    def join(self, transform: np.ndarray, coefficients: np.ndarray, *, keep: bool) -> None:
        """Take D C out of the residual, with the directions D = V @ transform, which join the basis if ``keep``."""
        size = self.basis_size + keep * len(coefficients)
        self.storage.reserve(size, len(coefficients))
        self.residual_squares = self._sum(lambda rows: self._take_out(rows, transform, coefficients, keep))
        self.basis_size = size

    def rotate(self, rotation: np.ndarray) -> None:
        """Replace the basis Q by Q @ rotation, for a rotation with orthonormal columns."""
        for _ in self._each(lambda rows: self._rotate(rows, rotation)):
            pass
        self.basis_size = rotation.shape[1]

    def sample(self, rows: np.ndarray, *, basis: bool = True) -> Sample:
        """The named rows as the driver needs them to search on a few; with an empty basis if it is not wanted."""
        some = self.storage.gather(rows, self.basis_size if basis else 0)
        roots = None if self._roots is None else self._roots[rows]
        return Sample(some.X, some.residual, some.basis.T, roots)

    def leave_one_out(
        self, rows: np.ndarray, smoother: np.ndarray | None = None, coefficients: np.ndarray | None = None
    ) -> np.ndarray:
        """By how much the model would miss the named training rows had it not seen them, the nodes being given.

        e_i / (1 − ℓ_i), with the leverage ℓ_i = Σ_j q_ij² of row i in the basis: exact where the basis holds all nodes
        (SC-III). A row of weight p counts as p rows, of which one is left out, or all of it if p < 1. A model that fits
        Q M C instead of Q C has the leverages Σ_jk q_ij M_jk q_ik.
        """
        _, residual, basis = self.storage.gather(rows, self.basis_size)
        if smoother is None or coefficients is None:
            leverage = np.einsum("ki,ki->i", basis, basis)
        else:
            leverage = np.einsum("ki,ki->i", basis, smoother @ basis)
            residual = residual + basis.T @ (coefficients - smoother @ coefficients)
        if self._roots is not None:
            leverage = leverage / np.maximum(self._roots[rows] ** 2, 1.0)
            residual = residual / self._roots[rows, np.newaxis]
        return residual / np.maximum(1.0 - leverage, 1e-10).reshape(-1, 1)

    def _each(self, kernel: Callable[[slice], Result]) -> Iterator[Result]:
        """Do a kernel on every stretch; results come in the order of the rows."""
        if self._executor is None:
            return map(kernel, self._stretches)
        # Each thread takes one run of stretches: to hand them over one by one would take longer than most kernels do.
        size = -(-len(self._stretches) // self._threads)
        runs = [self._stretches[start : start + size] for start in range(0, len(self._stretches), size)]
        return chain.from_iterable(self._executor.map(lambda run: [kernel(rows) for rows in run], runs))

    def _sum(self, kernel: Callable[[slice], Summable]) -> Summable:
        return reduce(add, self._each(kernel))

    def _roots_of(self, rows: slice) -> np.ndarray | None:
        return None if self._roots is None else self._roots[rows]

    def _basis(self, rows: slice) -> list[np.ndarray]:
        return self.storage.basis(rows, self.basis_size)

    def _begin(self, rows: slice, weights: np.ndarray, biases: np.ndarray, activation: Activation) -> np.ndarray:
        """Write new columns; return ⟨e, h⟩, ‖h‖², Σ h⁴ and the projection on the basis of each."""
        roots = self._roots_of(rows)
        h = kernels.columns(self.storage.inputs(rows), rows.stop - rows.start, roots, weights, biases, activation)
        self.storage.set_columns(rows, h)
        squares = h * h
        # Columns carry √p, so that a row of weight 2 counts as two rows; Σ p h⁴ takes one √p out of each pair.
        bare = squares if roots is None else (h / roots) ** 2
        return np.vstack(
            [
                self.storage.residual(rows).T @ h.T,
                squares.sum(axis=1),
                np.einsum("ki,ki->k", squares, bare),
                *(panel @ h.T for panel in self._basis(rows)),
            ]
        )

    def _deflated(self, projection: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Take basis vectors out of the columns; return VᵀV, Vᵀe and what V still shares with the basis."""
        sums = self._sum(lambda rows: self._deflate(rows, projection))
        k, m = sums.shape[1], self.n_outputs
        return sums[:k], sums[k : k + m].T, sums[k + m :]

    def _deflate(self, rows: slice, projection: np.ndarray) -> np.ndarray:
        v, panels, start = self.storage.columns(rows), self._basis(rows), 0
        for panel in panels:
            v -= projection[start : start + len(panel)].T @ panel
            start += len(panel)
        self.storage.set_columns(rows, v)
        return np.vstack([v @ v.T, self.storage.residual(rows).T @ v.T, *(panel @ v.T for panel in panels)])

    def _take_out(self, rows: slice, transform: np.ndarray, coefficients: np.ndarray, keep: bool) -> np.ndarray:
        directions, residual = transform.T @ self.storage.columns(rows), self.storage.residual(rows)
        residual -= directions.T @ coefficients
        self.storage.set_residual(rows, residual)
        if keep:
            self.storage.set_directions(rows, self.basis_size, directions)
        return _squares(residual)

    def _rotate(self, rows: slice, rotation: np.ndarray) -> None:
        panels = self._basis(rows)
        if panels:
            self.storage.set_directions(rows, 0, rotation.T @ np.concatenate(panels))


def stretch_length(n_rows: int) -> int:
    """Rows in a stretch; it depends on nothing but their number."""
    count = max(1, -(-n_rows // STRETCH))
    if count > _SHARES // 2:
        count = _SHARES * -(-count // _SHARES)
    return max(1, -(-n_rows // count))


def stretches(n_rows: int) -> list[slice]:
    """All rows, stretch by stretch."""
    length = stretch_length(n_rows)
    return [slice(start, min(start + length, n_rows)) for start in range(0, n_rows, length)]


def _squares(columns: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", columns, columns)
