"""Training rows in memory."""

from __future__ import annotations

from typing import final

import numpy as np
from scipy import sparse

from skscn.kernels import Inputs, Matrix, scaled, with_one
from skscn.layers import Layer
from skscn.rows._local import LocalBackend
from skscn.rows._rows import Rows
from skscn.rows._shard import PANEL, Gathered, Storage
from skscn.scaling import InputScaling

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
    """
    residual = targets.copy() if sample_weight is None else targets * np.sqrt(sample_weight)[:, np.newaxis]
    storage = memory_storage(X, scaling, residual, X.shape[0])
    shape = (*X.shape, targets.shape[1])
    return Rows(LocalBackend(storage, shape, sample_weight=sample_weight, n_jobs=n_jobs), layer)


def memory_storage(
    X: Matrix, scaling: InputScaling, residual: np.ndarray, n_rows: int, *, small: int = _SMALL, panel: int = PANEL
) -> Storage:
    """Arrays: inputs as given, and the first residual, which the storage then owns.

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
        self._residual, self._panel = residual, panel
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

    def gather(self, rows: np.ndarray, size: int) -> Gathered:
        x = scaled(self._X[rows], self._scaling) if self._scaled is None else self._scaled[rows, :-1]
        basis = np.vstack([np.zeros((0, len(rows))), *self.basis(rows, size)])
        return Gathered(x, self._residual[rows], basis)
