"""What the algorithm needs from the place where the rows are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from skscn.rows._stretches import Share
from skscn.rows.operations import Answer, Operation, Selection


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
        """Run an operation on all stretches and add up its shares, in the tree of ``_stretches.py``."""

    @abstractmethod
    def select(self, selection: Selection[Answer], rows: np.ndarray) -> Answer:
        """The answer of a selection for the rows with these numbers."""

    def resources(self) -> AbstractContextManager[object]:
        """What only growth needs, such as threads; results are the same without it."""
        return nullcontext()
