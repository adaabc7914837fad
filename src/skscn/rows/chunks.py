"""Training rows that do not fit in memory: inputs, residual and basis in temporary files, read stretch by stretch.

The source is read once. Afterwards every pass reads plain numbers from scratch files, in the stretches and in the order
used for rows in memory, so the network is the same. Only the target and the weight of each row stay in memory.
"""

from __future__ import annotations

from typing import final

import numpy as np

from skscn.kernels import Inputs, scaled
from skscn.layers import Layer
from skscn.rows._local import LocalBackend
from skscn.rows._rows import Rows
from skscn.rows._shard import PANEL, Gathered, Storage
from skscn.rows._stretches import stretch_length, stretches
from skscn.rows.scratch_inputs import ScratchInputs, grouped
from skscn.scaling import InputScaling


def chunk_rows(
    X: ScratchInputs,
    targets: np.ndarray,
    *,
    layer: Layer,
    scaling: InputScaling,
    sample_weight: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> Rows:
    """N training rows whose inputs, residual and basis are in files; the parameters are those of ``memory_rows``."""
    storage = _ScratchStorage(X, scaling, targets.shape[1])
    for rows in stretches(len(targets)):
        roots = 1.0 if sample_weight is None else np.sqrt(sample_weight[rows])[:, np.newaxis]
        storage.set_residual(rows, targets[rows] * roots)
    shape = (*X.shape, targets.shape[1])
    return Rows(LocalBackend(storage, shape, sample_weight=sample_weight, n_jobs=n_jobs), layer)


@final
class _ScratchStorage(Storage):
    def __init__(self, X: ScratchInputs, scaling: InputScaling, n_outputs: int):
        n_rows, _ = X.shape
        self._X, self._scaling = X, scaling
        self._n_outputs, self._length = n_outputs, stretch_length(n_rows)
        self._residual = X.scratch.array(n_rows, n_outputs)
        self._columns, self._count = X.scratch.panels(n_rows), 0
        self._basis = X.scratch.panels(n_rows)

    def inputs(self, rows: slice) -> Inputs:
        return Inputs(self._X[rows], self._scaling)

    def residual(self, rows: slice) -> np.ndarray:
        return self._residual.read(rows)

    def set_residual(self, rows: slice, values: np.ndarray) -> None:
        self._residual.write(rows, values)

    def columns(self, rows: slice) -> np.ndarray:
        return self._columns.read(rows.start // self._length, self._count)

    def set_columns(self, rows: slice, values: np.ndarray) -> None:
        self._columns.write(rows.start // self._length, 0, values)

    def basis(self, rows: slice, size: int) -> list[np.ndarray]:
        # The same panels as for rows in memory, so that sums are added in the same order.
        vectors = self._basis.read(rows.start // self._length, size)
        return [vectors[start : start + PANEL] for start in range(0, size, PANEL)]

    def set_directions(self, rows: slice, place: int, values: np.ndarray) -> None:
        self._basis.write(rows.start // self._length, place, values)

    def reserve(self, basis: int, columns: int) -> None:
        """Files grow as they are written."""
        self._count = columns

    def gather(self, rows: np.ndarray, size: int) -> Gathered:
        x, residual = self._X._gathered(rows), np.empty((len(rows), self._n_outputs))
        basis = np.empty((size, len(rows)))
        for places, numbers, stretch in grouped(rows, self._X.shape[0]):
            residual[places] = self._residual.read(stretch)[numbers]
            if size:
                basis[:, places] = self._basis.read(stretch.start // self._length, size)[:, numbers]
        return Gathered(scaled(x, self._scaling), residual, basis)
