"""The algorithm on the rows: what is asked of them, and what the driver decides from their sums.

It is the same for all backends, which run an :class:`~skscn.rows.Operation` on all stretches and add up its shares; the
sums are the same, bit for bit, wherever the rows are. The backend of rows on this machine is here, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np
from joblib import effective_n_jobs

from skscn.nodes import Layer, Matrix, Nodes
from skscn.rows.operations import (
    STRETCH,
    Answer,
    Deflate,
    Gather,
    Join,
    MemoryStorage,
    Open,
    Operation,
    Rotate,
    Sample,
    Score,
    ScoreSample,
    Selection,
    Share,
    Slope,
    SquareResidual,
    Storage,
    Weigh,
    stretches,
)
from skscn.scaling import InputScaling
from skscn.supervision import SampledSums, Slopes, Sums
from skscn.threads import single_threaded

# The largest component along the basis that an orthogonalised column may still have, relative to its remainder.
_ORTHOGONAL = 1e-13
# Rows that tell how large columns of unbounded activations are.
_ROWS_FOR_SCALES = 500


class Backend(ABC):
    """Runs operations on N rows, wherever they are.

    Attributes
    ----------
    shape : tuple of int
        N, d and m.
    """

    shape: tuple[int, int, int]

    @abstractmethod
    def total(self, operation: Operation[Share]) -> Share:
        """Run an operation on all stretches and add up its shares, in a binary tree over the stretches."""

    @abstractmethod
    def select(self, selection: Selection[Answer], rows: np.ndarray) -> Answer:
        """The answer of a selection for the rows with these numbers."""

    @abstractmethod
    def restart(self) -> None:
        """Return all rows to their first residual, with an empty basis."""

    def resources(self) -> AbstractContextManager[object]:
        """What only growth needs, such as threads; results are the same without it."""
        return nullcontext()


@final
class LocalBackend(Backend):
    """N training rows on this machine, whose stretches are divided among threads.

    Parameters
    ----------
    storage : Storage
        With the first residual e_0, the scaled targets times √p.
    shape : tuple of int
        N, d and m.
    n_jobs : int or None
        Threads, within the context; each has at least one stretch of the largest length.
    stretch : int
        The largest number of rows in a stretch; on it depends in which order sums are added up.
    """

    def __init__(
        self, storage: Storage, shape: tuple[int, int, int], *, n_jobs: int | None = None, stretch: int = STRETCH
    ):
        self.storage, self.shape = storage, shape
        self._stretches = stretches(shape[0], stretch)
        self._threads = max(1, min(effective_n_jobs(n_jobs), shape[0] // stretch))
        self._executor: ThreadPoolExecutor | None = None

    @contextmanager
    def resources(self) -> Iterator[None]:
        """Threads, if there are rows for several."""
        with ThreadPoolExecutor(self._threads) if self._threads > 1 else nullcontext() as self._executor:
            try:
                yield
            finally:
                self._executor = None

    def total(self, operation: Operation[Share]) -> Share:
        """Run an operation on all stretches, divided among the threads, and add up neighbouring shares."""
        storage = self.storage
        operation.prepare(storage)
        if self._executor is None:
            shares: list[Any] = [operation(storage, rows) for rows in self._stretches]
        else:
            # Each thread gets consecutive stretches: submitting them one by one would take longer than most operations.
            size = -(-len(self._stretches) // self._threads)
            runs = [self._stretches[start : start + size] for start in range(0, len(self._stretches), size)]
            found = self._executor.map(lambda run: [operation(storage, rows) for rows in run], runs)
            shares = [share for run in found for share in run]
        while len(shares) > 1:
            last = shares[len(shares) // 2 * 2 :]
            shares = [a + b for a, b in zip(shares[::2], shares[1::2], strict=False)] + last
        share: Share = shares[0]
        return share

    def select(self, selection: Selection[Answer], rows: np.ndarray) -> Answer:
        """The answer of a selection, from the storage."""
        return selection(self.storage, rows)

    def restart(self) -> None:
        """Return to the first residual."""
        self.storage.restart()


def memory_rows(
    X: Matrix,
    targets: np.ndarray,
    *,
    layer: Layer,
    scaling: InputScaling,
    sample_weight: np.ndarray | None = None,
    n_jobs: int | None = None,
    together: bool = False,
) -> Rows:
    """N training rows as arrays.

    Parameters
    ----------
    X : array or sparse matrix of shape (N, d)
        Inputs as given.
    targets : ndarray of shape (N, m)
        Scaled targets, the first residual e_0.
    layer, scaling : the layer of the nodes, and the scaling of the inputs
    sample_weight : ndarray of shape (N,) or None
        Positive weights p: ⟨a, b⟩ = Σ p a b.
    n_jobs : int or None
        Threads.
    together : bool
        Whether the supervisory inequality is for the sum over the outputs.
    """
    residual = targets if sample_weight is None else targets * np.sqrt(sample_weight)[:, np.newaxis]
    storage = MemoryStorage(X, scaling, residual, sample_weight)
    return Rows(LocalBackend(storage, (*X.shape, targets.shape[1]), n_jobs=n_jobs), layer, together=together)


@dataclass(frozen=True)
class OpenColumns:
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


@final
class Rows:
    """N training rows, their residual e, and an orthonormal basis Q of hidden columns; only row sums leave.

    A context manager, within which the backend may use threads and BLAS is limited to one.

    Parameters
    ----------
    backend : Backend
        Where the rows are. At first the residual is the scaled targets, and the basis is empty.
    layer : Layer
        The layer of the nodes to be added.
    together : bool
        Whether the supervisory inequality is for the sum over the outputs rather than for each of them.

    Attributes
    ----------
    n_rows, n_features, n_outputs : int
        N, d and m.
    weight : float
        The sum of the sample weights; N without them.
    residual_squares : ndarray of shape (m,)
        ‖e_q‖².
    basis_size : int
        Vectors in the basis.
    """

    def __init__(self, backend: Backend, layer: Layer, *, together: bool = False):
        self.backend, self.layer, self.together = backend, layer, together
        self.n_rows, self.n_features, self.n_outputs = backend.shape
        self.weight = backend.total(Weigh())
        self.residual_squares = backend.total(SquareResidual())
        self.basis_size = 0
        self._open = ExitStack()
        # A layer, and the features and weights of some rows for it.
        self._some: tuple[Layer, np.ndarray, np.ndarray | None] | None = None

    def __enter__(self) -> Self:
        # In the search as well, which is not the backend's.
        self._open.enter_context(single_threaded())
        self._open.enter_context(self.backend.resources())
        return self

    def __exit__(self, *exception: object) -> None:
        """Release what only growth needs."""
        self._open.close()

    def restart(self) -> None:
        """Return to the scaled targets as the residual, and to an empty basis."""
        self.backend.restart()
        self.residual_squares = self.backend.total(SquareResidual())
        self.basis_size = 0

    @property
    def rmse(self) -> float:
        """Root mean squared residual over rows and outputs."""
        return float(np.sqrt(self.residual_squares.sum() / (self.weight * self.n_outputs)))

    def nodes(self, weights: np.ndarray, biases: np.ndarray, scopes: np.ndarray | float = np.nan) -> Nodes:
        """Nodes of the layer that grows, with these weights (d, k) and biases (k,)."""
        return Nodes(self.layer, weights, biases, scopes)

    def sums(self, nodes: Nodes, *, complete: bool = False, precision: type = np.float64) -> Sums:
        """Row sums of T candidates against the residual, on all rows.

        Quartics and the Gram matrix are included if they are to be ``complete``. Hidden outputs in np.float32 are fast
        and sufficient to rank candidates; acceptance uses np.float64.
        """
        return self.backend.total(Score(nodes, complete, precision))

    def sampled_sums(self, rows: np.ndarray, nodes: Nodes, *, precision: type) -> SampledSums:
        """Row sums of T candidates on the rows with these numbers."""
        return self.backend.select(ScoreSample(nodes, precision), rows)

    def sample(self, rows: np.ndarray) -> Sample:
        """The rows with these numbers, in the form that searches on a sample need."""
        return self.backend.select(Gather(self.basis_size), rows)

    def scales(self, nodes: Nodes) -> float | np.ndarray:
        """The size that the columns of nodes have where they are active: a bound, or from some of the rows."""
        layer = nodes.layer
        if np.isfinite(layer.bound):
            return layer.bound
        if self._some is None or self._some[0] is not layer:
            sample = self.sample(np.unique(np.linspace(0, self.n_rows - 1, _ROWS_FOR_SCALES).astype(int)))
            weights = None if sample.sqrt_weight is None or not sample.sqrt_weight.any() else sample.sqrt_weight**2
            self._some = layer, layer.features(sample.X), weights
        return layer.scales(self._some[1], nodes, self._some[2])

    def slopes(self, node: Nodes) -> Slopes:
        """How the row sums of one candidate change with its weights and bias."""
        return self.backend.total(Slope(node))

    def open(self, nodes: Nodes, absent: np.ndarray | None = None) -> OpenColumns:
        """Form the columns of nodes and make them orthogonal to the basis.

        They stay open until others are opened; neither the residual nor the basis changes. Gram–Schmidt is repeated
        where the first pass left more than rounding error, and "twice is enough" (Giraud, Langou and Rozložník, 2005).
        Where the basis is orthonormal only with further rows, in which the columns are 0, ``absent`` is the product QᵀQ
        of these rows; their part of VᵀV is included.
        """
        start = self.backend.total(Open(self.basis_size, nodes))
        m, k = self.n_outputs, start.shape[1]
        sums, projection = Sums(start[:m], start[m], start[m + 1]), start[m + 2 :]
        to_remove = projection
        for is_last in (False, True):
            left = self.backend.total(Deflate(self.basis_size, to_remove))
            gram, inner, shared = left[:k], left[k : k + m].T, left[k + m :]
            if absent is not None:
                gram, shared = gram + projection.T @ absent @ projection, shared - absent @ projection
            if is_last or not (np.linalg.norm(shared, axis=0) > _ORTHOGONAL * np.sqrt(gram.diagonal())).any():
                break
            projection, to_remove = projection + shared, shared
        return OpenColumns(sums, projection, gram, inner)

    def join(self, transform: np.ndarray, coefficients: np.ndarray, *, keep: bool) -> None:
        """Add the open columns: subtract D C from the residual, with the directions D = V @ transform.

        C, the ``coefficients``, has shape (k, m). With ``keep`` the directions, which must then be orthonormal, with
        further rows if there are some, are added to the basis.
        """
        self.residual_squares = self.backend.total(Join(self.basis_size, transform, coefficients, keep))
        self.basis_size += keep * len(coefficients)

    def rotate(self, rotation: np.ndarray) -> None:
        """Replace the basis Q by Q @ rotation, for a rotation with orthonormal columns."""
        self.backend.total(Rotate(self.basis_size, rotation))
        self.basis_size = rotation.shape[1]

    def leave_one_out(
        self, rows: np.ndarray, smoother: np.ndarray | None = None, coefficients: np.ndarray | None = None
    ) -> np.ndarray:
        """Leave-one-out residuals of the rows with these numbers, for fixed nodes.

        e_i / (1 − ℓ_i), with the leverage ℓ_i = Σ_j q_ij² of row i in the basis: exact where the basis holds all nodes
        (SC-III). A row of weight p counts as p rows, of which one is left out, or the row if p < 1. A model with a
        smoother M and coefficients C, which fits Q M C instead of Q C, has the leverages Σ_jk q_ij M_jk q_ik.
        """
        sample = self.sample(rows)
        residual, basis = sample.residual, sample.basis
        if smoother is None or coefficients is None:
            leverage = np.einsum("ki,ki->i", basis, basis)
        else:
            leverage = np.einsum("ki,ki->i", basis, smoother @ basis)
            residual = residual + basis.T @ (coefficients - smoother @ coefficients)
        if sample.sqrt_weight is not None:
            leverage = leverage / np.maximum(sample.sqrt_weight**2, 1.0)
            residual = residual / sample.sqrt_weight[:, np.newaxis]
        left_out: np.ndarray = residual / np.maximum(1.0 - leverage, 1e-10).reshape(-1, 1)
        return left_out
