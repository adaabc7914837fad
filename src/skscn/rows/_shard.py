"""Rows that are in one place: how they are kept is a :class:`Storage`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from skscn.kernels import Inputs

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

    Residual and columns carry √p, which turns weighted inner products into plain ones. What is done with them is an
    :class:`~skscn.rows.Operation`.
    """

    def __init__(self, storage: Storage, sample_weight: np.ndarray | None):
        self.storage, self.sample_weight = storage, sample_weight
        self.roots = None if sample_weight is None else np.sqrt(sample_weight)

    def roots_of(self, rows: slice | np.ndarray) -> np.ndarray | None:
        """√p of some rows."""
        return None if self.roots is None else self.roots[rows]
