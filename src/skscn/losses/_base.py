"""The contract between a loss and the rounds of a fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from skscn.layers import Graph


class Loss(ABC):
    """A loss that is minimised by rounds of weighted least squares.

    In each round a network is grown on working targets z, row i having c_i times its weight. After it, z and c follow
    from the outputs f of that network; the next round begins again with these. Fields of a subclass, a dataclass, are
    its parameters, which model files contain: numbers and strings.
    """

    # Whether working targets and weights are always those of the rows themselves.
    plain: ClassVar[bool] = False
    # The largest number of rounds; they end earlier once the loss hardly changes.
    rounds: ClassVar[int] = 1

    @abstractmethod
    def working(self, y: np.ndarray, f: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
        """Working targets z of shape (n, m), and positive weights c of shape (n,), or None if all are 1.

        Each row by itself: on a cluster the rows of each partition are given separately.

        Parameters
        ----------
        y : ndarray of shape (n, m)
            Targets.
        f : ndarray of shape (n, m) or None
            Outputs of the network of the last round; None before the first round.
        """

    @abstractmethod
    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """The loss of each row, shape (n,)."""

    def mean(self, f: np.ndarray) -> np.ndarray:
        """What is predicted for outputs f: the inverse of the link; f itself if there is none."""
        return f

    def operators(self, graph: Graph, f: str) -> str:
        """:meth:`mean` in an ONNX graph."""
        if type(self).mean is not Loss.mean:
            raise ValueError(f"What the loss {type(self).__name__} predicts has no counterpart in ONNX.")
        return f
