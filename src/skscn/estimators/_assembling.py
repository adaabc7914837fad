"""A network made of its nodes and their output weights, and what surrounds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from skscn.estimators.data import TrainingData
from skscn.factor import Factor
from skscn.layers import Layer, Nodes
from skscn.losses import Loss
from skscn.network import LinearColumns, Network, WeightedNodes
from skscn.output_weights import Solution
from skscn.scaling import InputScaling, Scaling
from skscn.updating import MARGIN


@dataclass(frozen=True)
class Frame:
    """What surrounds the nodes of a network, or of one of its layers.

    Attributes
    ----------
    layer : Layer
        The layer that grows.
    loss : Loss
    inputs, outputs : scalings
    linear : Nodes
        Intercept and direct links.
    bounded, single_output, single_precision : bool
        As in the network.
    below : tuple of Nodes
        The layers below, which are finished.
    """

    layer: Layer
    loss: Loss
    inputs: InputScaling
    outputs: Scaling
    linear: Nodes
    bounded: bool
    single_output: bool
    single_precision: bool
    below: tuple[Nodes, ...] = ()


def assembled(
    frame: Frame, loss: Loss, linear: Nodes, blocks: Sequence[Nodes], solution: Solution, factor: Factor | None
) -> Network:
    """A network, without bounds."""
    # Products with arrays in another memory order differ in their last bits, and copies in files are contiguous.
    contiguous = np.ascontiguousarray
    beta = contiguous(solution.output_weights)
    nodes = [replace(block, weights=contiguous(block.weights)) for block in (linear, *blocks)]
    first, *others = np.split(beta, np.cumsum([len(block) for block in nodes])[:-1])
    return Network(
        linear=LinearColumns(nodes[0], first),
        layers=tuple(WeightedNodes(*pair) for pair in zip(nodes[1:], others, strict=True)),
        inputs=frame.inputs,
        outputs=frame.outputs,
        loss=loss,
        bounds=None,
        directions=solution.directions,
        coefficients=contiguous(solution.coefficients),
        factor=factor,
        single_output=frame.single_output,
        single_precision=frame.single_precision,
    )


def bounds(network: Network, data: TrainingData) -> tuple[np.ndarray, np.ndarray]:
    """The range of the training targets, or of what the loss has instead, scaled and extended by a margin."""
    loss = network.loss
    model = None if loss.settling is None else network
    low, high = network.outputs.transform(np.stack(data.statistics_of(model)(loss.bounding).range()))
    margin = MARGIN * (high - low)
    return low - margin, high + margin
