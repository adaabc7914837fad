"""Rows on one machine, whose stretches are divided among threads, and their storage in memory."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import final

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse

from skscn.kernels import Inputs, Matrix, scaled, with_one
from skscn.nodes import Layer
from skscn.rows._rows import Rows
from skscn.rows.operations import (
    PANEL,
    STRETCH,
    Answer,
    Backend,
    Gathered,
    Operation,
    Selection,
    Shard,
    Share,
    Storage,
    stretches,
    total,
)
from skscn.scaling import InputScaling


@final
class LocalBackend(Backend):
    """N training rows in a storage.

    Parameters
    ----------
    storage : Storage
        With the first residual e_0, the scaled targets times √p.
    shape : tuple of int
        N, d and m.
    sample_weight : ndarray of shape (N,) or None
        Positive weights p: ⟨a, b⟩ = Σ p a b.
    n_jobs : int or None
        Threads, within the context; each has at least one stretch of the largest length.
    stretch : int
        The largest number of rows in a stretch; on it depends in which order sums are added up.
    """

    def __init__(
        self,
        storage: Storage,
        shape: tuple[int, int, int],
        *,
        sample_weight: np.ndarray | None = None,
        n_jobs: int | None = None,
        stretch: int = STRETCH,
    ):
        self.storage, self.shape = storage, shape
        self._shard = Shard(storage, sample_weight)
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
        """Run an operation on all stretches, divided among the threads, and add up its shares."""
        shard = self._shard
        operation.prepare(shard)
        if self._executor is None:
            return total([operation(shard, rows) for rows in self._stretches])
        # Each thread gets consecutive stretches: submitting them one by one would take longer than most kernels.
        size = -(-len(self._stretches) // self._threads)
        runs = [self._stretches[start : start + size] for start in range(0, len(self._stretches), size)]
        shares = self._executor.map(lambda run: [operation(shard, rows) for rows in run], runs)
        return total([share for run in shares for share in run])

    def restart(self) -> None:
        """Return the one shard to its first residual."""
        self.storage.restart()

    def select(self, selection: Selection[Answer], rows: np.ndarray) -> Answer:
        """The answer of a selection, from the one shard."""
        return selection(self._shard, rows)


# Training rows in memory.


# Inputs of up to this size are kept scaled; larger ones are scaled again in every pass, which saves memory.
_SMALL = 4_000_000


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
        Positive weights p.
    n_jobs : int or None
        Threads.
    together : bool
        Whether the supervisory inequality is for the sum over the outputs.
    """
    residual = targets if sample_weight is None else targets * np.sqrt(sample_weight)[:, np.newaxis]
    storage = memory_storage(X, scaling, residual, X.shape[0])
    shape = (*X.shape, targets.shape[1])
    return Rows(LocalBackend(storage, shape, sample_weight=sample_weight, n_jobs=n_jobs), layer, together=together)


def memory_storage(
    X: Matrix, scaling: InputScaling, residual: np.ndarray, n_rows: int, *, small: int = _SMALL, panel: int = PANEL
) -> Storage:
    """Arrays: inputs as given, and the first residual, which the storage does not change.

    They may be part of ``n_rows`` rows; if these have at most ``small`` inputs in all, the inputs are kept scaled. The
    basis is allocated and multiplied ``panel`` vectors at a time.
    """
    is_small = n_rows * X.shape[1] <= small and not sparse.issparse(X)
    return _MemoryStorage(X, scaling, residual, with_one(scaled(X, scaling)) if is_small else None, panel)


@final
class _MemoryStorage(Storage):
    def __init__(
        self, X: Matrix, scaling: InputScaling, residual: np.ndarray, scaled_inputs: np.ndarray | None, panel: int
    ):
        self._X, self._scaling, self._scaled = X, scaling, scaled_inputs
        self._first, self._residual, self._panel = residual, residual.copy(), panel
        self._columns = np.empty((0, len(residual)))
        self._panels: list[np.ndarray] = []

    def inputs(self, rows: slice) -> Inputs:
        if self._scaled is not None:
            return Inputs(self._scaled[rows], None)
        return Inputs(self._X[rows], self._scaling)

    def residual(self, rows: slice) -> np.ndarray:
        return self._residual[rows]

    def set_residual(self, rows: slice, values: np.ndarray) -> None:
        self._residual[rows] = values

    def columns(self, rows: slice) -> np.ndarray:
        return self._columns[:, rows]

    def set_columns(self, rows: slice, values: np.ndarray) -> None:
        self._columns[:, rows] = values

    def basis(self, rows: slice | np.ndarray, size: int) -> list[np.ndarray]:
        full, rest = divmod(size, self._panel)
        panels = [panel[:, rows] for panel in self._panels[:full]]
        return [*panels, self._panels[full][:rest, rows]] if rest else panels

    def set_directions(self, rows: slice, place: int, values: np.ndarray) -> None:
        for number, vector in enumerate(values, start=place):
            self._panels[number // self._panel][number % self._panel, rows] = vector

    def reserve(self, basis: int, columns: int) -> None:
        while basis > self._panel * len(self._panels):
            self._panels.append(np.empty((self._panel, len(self._residual))))
        if columns != len(self._columns):
            self._columns = np.empty((columns, len(self._residual)))

    def restart(self) -> None:
        self._residual[:] = self._first

    def gather(self, rows: np.ndarray, size: int) -> Gathered:
        x = scaled(self._X[rows], self._scaling) if self._scaled is None else self._scaled[rows, :-1]
        basis = np.vstack([np.zeros((0, len(rows))), *self.basis(rows, size)])
        return Gathered(x, self._residual[rows], basis)
