"""The network of some nodes under a loss that evaluates their output weights again: what a round of a fit ends with.

It depends on the rows and the nodes only, so a fit that continues from a checkpoint gets the same network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skscn.estimators.data import TrainingData
from skscn.estimators.training import Frame, assembled, bounds
from skscn.layers import Nodes
from skscn.losses import Loss
from skscn.network import Network
from skscn.output_weights import Solution
from skscn.scaling import Scaling
from skscn.settling import Settling


@dataclass(frozen=True)
class Settlement:
    """The training rows with their own targets, and what surrounds the nodes.

    Attributes
    ----------
    data : TrainingData
    frame : Frame
    alpha : float or "gcv"
        Regularisation of the output weights.
    n_jobs : int or None
    """

    data: TrainingData
    frame: Frame
    alpha: float | str
    n_jobs: int | None

    def network(self, blocks: Sequence[Nodes], loss: Loss) -> Network:
        """The network of these blocks of nodes under a loss; nodes that depend on others before them are left out."""
        frame, count = self.frame, self.data.n_outputs
        unscaled = Scaling(None, np.zeros(count), np.ones(count), -np.inf, np.inf)
        with self.data.open_rows(unscaled, layer=frame.layer, scaling=frame.inputs, n_jobs=self.n_jobs) as rows:
            settling = Settling(rows, frame.outputs, frame.linear, blocks)
            for stage in loss.stages():
                loss = self._adapted(stage, settling)
                settling.reweight(loss, self.alpha)
            loss = self._adapted(loss, settling)
            network = self._network(settling, loss, settling.solution())
            return replace(network, bounds=bounds(network, self.data)) if frame.bounded else network

    def _adapted(self, loss: Loss, settling: Settling) -> Loss:
        """The loss with what it needs to know of the rows, at the present output weights."""
        return loss.adapted(self.data.statistics_of(self._network(settling, loss, settling.present())))

    def _network(self, settling: Settling, loss: Loss, solution: Solution) -> Network:
        return assembled(self.frame, loss, settling.linear, settling.blocks, solution, settling.factor)
