"""Rows in one place; a :class:`Storage` determines how they are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from skscn.kernels import Inputs

# Number of basis vectors that are allocated and multiplied at a time.
PANEL = 16


class Gathered(NamedTuple):
    """Some rows from anywhere: scaled inputs (n, d), residual (n, m), basis (k, n)."""

    X: np.ndarray
    residual: np.ndarray
    basis: np.ndarray


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

    @classmethod
    def joined(cls, samples: Sequence[Sample]) -> Sample:
        """All of them together, one after the other."""
        roots = [sample.roots for sample in samples if sample.roots is not None]
        return cls.of(
            np.concatenate([sample.X for sample in samples]),
            np.concatenate([sample.residual for sample in samples]),
            np.concatenate([sample.basis.T for sample in samples], axis=1),
            np.concatenate(roots) if roots else None,
        )

    def take(self, order: np.ndarray) -> Sample:
        """Its rows in this order."""
        roots = None if self.roots is None else self.roots[order]
        return self.of(self.X[order], self.residual[order], self.basis.T[:, order], roots)


class Storage(ABC):
    """Keeps inputs, residual, basis and the open columns; read and written stretch by stretch.

    Arrays that were read may be changed in place; a change takes effect only when it is written.
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
        """The open columns on a stretch, shape (k, n)."""

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
        """The rows with these numbers, with the first ``size`` basis vectors."""

    @abstractmethod
    def reserve(self, basis: int, columns: int) -> None:
        """Reserve space for this number of basis vectors and of open columns."""


class Shard:
    """Rows in a storage, with their weights p.

    Residual and columns are multiplied by √p, which turns weighted inner products into plain ones. They are processed
    by an :class:`~skscn.rows.Operation`.
    """

    def __init__(self, storage: Storage, sample_weight: np.ndarray | None):
        self.storage, self.sample_weight = storage, sample_weight
        self.roots = None if sample_weight is None else np.sqrt(sample_weight)
        # What the nodes of a layer that carries know of the stretches before.
        self.memory: Any = None

    def roots_of(self, rows: slice | np.ndarray) -> np.ndarray | None:
        """√p of some rows."""
        return None if self.roots is None else self.roots[rows]
