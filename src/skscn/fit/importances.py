"""Feature importances of a fitted network: mean squared gradients, in units of the spread of each input."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skscn.fit.data import ArrayData, LocalInputs
from skscn.network import Network
from skscn.nodes import scaled
from skscn.scaling import InputScaling
from skscn.sensitivity import mean_squared_gradients, shares, spreads
from skscn.threads import single_threaded

# The largest number of training rows that gradients are averaged over.
MOST_ROWS = 2000


@dataclass(frozen=True)
class _ScaledRows:
    """Rows that are scaled, and made dense, block by block."""

    X: LocalInputs
    scaling: InputScaling

    @property
    def shape(self) -> tuple[int, int]:
        """n and d."""
        n_rows, n_inputs = self.X.shape
        return n_rows, n_inputs

    def __getitem__(self, rows: slice) -> np.ndarray:
        return scaled(self.X[rows], self.scaling)


def feature_importances(network: Network, sample: ArrayData) -> np.ndarray | None:
    """The share of each input; None if gradients are not known, or not finite.

    Which rows are in the sample depends only on the number of all rows, and BLAS is limited to one thread, so the
    result does not depend on where the rows are. A gradient times the standard deviation of its input does not depend
    on the unit of the input.
    """
    if not network.has_gradients:
        return None
    linear = network.linear
    X, weights = _ScaledRows(sample.X, network.inputs), sample.sample_weight
    deep = network.deep
    first = replace(network, layers=tuple(block for block in network.layers if block not in deep))
    with single_threaded():
        squares = mean_squared_gradients(
            first.nodes,
            first.output_weights,
            linear.nodes,
            linear.output_weights,
            X,
            units=spreads(X, weights),
            sample_weight=weights,
            above=[(block.nodes, block.output_weights) for block in deep],
        )
    return shares(squares) if np.isfinite(squares).all() else None


def why_none(network: Network) -> str:
    """Why a network has no importances, and what to do about it."""
    layer = network.nodes.layer
    if network.has_gradients:
        reason = "it was saved by an earlier version, its fit has not ended, or gradients are not finite; fit it again"
    elif layer.activation is not None and layer.activation.derivative is None:
        reason = f"the derivative of the activation {layer.activation.name!r} is not known; pass an Activation with one"
    else:
        reason = f"the gradients of the layer {type(layer).__name__} are not known; use another layer"
    return f"This model has no feature_importances_: {reason}, or use sklearn.inspection.permutation_importance."


def sampled(n_rows: int) -> np.ndarray:
    """The numbers of the rows that represent all of them, in increasing order."""
    if n_rows <= MOST_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, MOST_ROWS, replace=False))
