"""Columns that are linear in the inputs, intercept and direct links: wᵀx + b itself."""

from dataclasses import dataclass

import numpy as np

from skscn.layers._base import Layer


@dataclass(frozen=True)
class Identity(Layer):
    """Nodes without activation."""

    def values(self, x: np.ndarray, folded: np.ndarray, memory: None = None) -> np.ndarray:
        """One matrix product."""
        columns: np.ndarray = x @ folded
        return columns

    def columns(self, x: np.ndarray, folded: np.ndarray, memory: None = None) -> np.ndarray:
        """The same, contiguous in this shape."""
        columns: np.ndarray = folded.T @ x.T
        return columns


IDENTITY = Identity()
