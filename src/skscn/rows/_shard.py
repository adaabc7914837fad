"""What is done with rows that are in one place, stretch by stretch; where they are kept is a :class:`Storage`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from skscn import kernels
from skscn.activations import IDENTITY, Activation
from skscn.kernels import Inputs
from skscn.supervision import SampledSums, Slopes, Sums

# Basis vectors that are allocated and multiplied with at a time.
PANEL = 16


class Gathered(NamedTuple):
    """Some rows from anywhere: scaled inputs (n, d), residual (n, m), basis (k, n)."""

    X: np.ndarray
    residual: np.ndarray
    basis: np.ndarray


class Storage(ABC):
    """Where inputs, residual, basis and the columns at work are kept; read and written by stretches.

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


class Shard:
    """Rows in a storage, with their weights p.

    Residual and columns carry √p, which turns weighted inner products into plain ones. Most methods do one stretch and
    return its share of a row sum; ``size`` is the number of basis vectors.
    """

    def __init__(self, storage: Storage, activation: Activation, sample_weight: np.ndarray | None):
        self.storage, self.activation = storage, activation
        self.sample_weight = sample_weight
        self.roots = None if sample_weight is None else np.sqrt(sample_weight)

    def roots_of(self, rows: slice | np.ndarray) -> np.ndarray | None:
        """√p of some rows."""
        return None if self.roots is None else self.roots[rows]

    def gathered(self, rows: np.ndarray, size: int) -> tuple:
        """The named rows: scaled inputs, residual, basis (size, n), and √p."""
        return *self.storage.gather(rows, size), self.roots_of(rows)

    def prepare(self, method: str, *arguments) -> None:
        """Make room for what a method will write; to be called once before it is done on all stretches."""
        if method == "begin":
            size, _, biases, _ = arguments
            self.storage.reserve(size, len(biases))
        elif method == "take_out":
            size, _, coefficients, keep = arguments
            self.storage.reserve(size + keep * len(coefficients), len(coefficients))

    def weight(self, rows: slice) -> float:
        """The sum of the weights; the number of rows without them."""
        return float(rows.stop - rows.start if self.sample_weight is None else self.sample_weight[rows].sum())

    def residual_squares(self, rows: slice) -> np.ndarray:
        """‖e_q‖²."""
        return _squares(self.storage.residual(rows))

    def sums(self, rows: slice, weights: np.ndarray, biases: np.ndarray, complete: bool, precision: type) -> Sums:
        """Row sums of candidates."""
        return kernels.candidate_sums(
            self.storage.inputs(rows),
            self.storage.residual(rows),
            self.roots_of(rows),
            weights,
            biases,
            self.activation,
            complete=complete,
            precision=precision,
        )

    def sampled_sums(self, rows: np.ndarray, weights: np.ndarray, biases: np.ndarray, precision: type) -> SampledSums:
        """Row sums of candidates on the named rows."""
        x, residual, _ = self.storage.gather(rows, 0)
        roots = self.roots_of(rows)
        sums = kernels.candidate_sums(
            Inputs(kernels.with_one(x), None),
            residual,
            roots,
            weights,
            biases,
            self.activation,
            complete=False,
            precision=precision,
        )
        p = np.ones(len(rows)) if roots is None else roots**2
        return SampledSums(sums, float((residual**2).sum()), float(p.sum()), float((p**2).sum()))

    def slopes(self, rows: slice, weight: np.ndarray, bias: float) -> Slopes:
        """How the row sums of one candidate change."""
        inputs, residual = self.storage.inputs(rows), self.storage.residual(rows)
        return kernels.candidate_slopes(inputs, residual, self.roots_of(rows), weight, bias, self.activation)

    def begin(self, rows: slice, size: int, weights: np.ndarray, biases: np.ndarray, linear: bool) -> np.ndarray:
        """Write new columns; return ⟨e, h⟩, ‖h‖², Σ h⁴ and the projection on the basis of each."""
        activation, roots = IDENTITY if linear else self.activation, self.roots_of(rows)
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
                *(panel @ h.T for panel in self.storage.basis(rows, size)),
            ]
        )

    def deflate(self, rows: slice, size: int, projection: np.ndarray) -> np.ndarray:
        """Take basis vectors out of the columns; return VᵀV, eᵀV and what V still shares with the basis."""
        v, panels, start = self.storage.columns(rows), self.storage.basis(rows, size), 0
        for panel in panels:
            v -= projection[start : start + len(panel)].T @ panel
            start += len(panel)
        self.storage.set_columns(rows, v)
        return np.vstack([v @ v.T, self.storage.residual(rows).T @ v.T, *(panel @ v.T for panel in panels)])

    def take_out(
        self, rows: slice, size: int, transform: np.ndarray, coefficients: np.ndarray, keep: bool
    ) -> np.ndarray:
        """Take the open columns' part out of the residual, and keep their directions; return ‖e_q‖²."""
        directions, residual = transform.T @ self.storage.columns(rows), self.storage.residual(rows)
        residual -= directions.T @ coefficients
        self.storage.set_residual(rows, residual)
        if keep:
            self.storage.set_directions(rows, size, directions)
        return _squares(residual)

    def rotate(self, rows: slice, size: int, rotation: np.ndarray) -> int:
        """Replace the basis Q by Q @ rotation."""
        panels = self.storage.basis(rows, size)
        if panels:
            self.storage.set_directions(rows, 0, rotation.T @ np.concatenate(panels))
        return 0


def _squares(columns: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", columns, columns)
