"""Layers on top of each other: what the nodes of the next one see, and whether it is worth keeping.

Every layer is grown like the first one, on the residual that the layers below leave. A further layer is begun only if
the last one was worth it, so that a network whose error on unseen rows does not gain from depth has one layer.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

import numpy as np

from skscn.estimators.training import Training
from skscn.growth import Step, StopReason
from skscn.layers import Deep, Layer, Nodes, readout

# What the nodes of a further layer see: the inputs and all columns below; those of the last layer; or the inputs and
# the outputs of the network below.
SEEN = ("all", "previous", "output")
# "auto" tries these, and held-out rows choose.
_TRIED = ("all", "output")
# By how much the error on held-out rows, or the criterion, must be lower with another layer.
_LEAST_GAIN = 0.03
# A layer that is not watched ends when this number of nodes has reduced the error by less than this share.
_STALLED_NODES, _STALLED_GAIN = 5, 1e-3


def forms(inputs: str, *, watched: bool) -> tuple[str, ...]:
    """The forms of a further layer that are grown, of which one is kept; without a watch there is no choice."""
    if inputs != "auto":
        return (inputs,)
    return _TRIED if watched else _TRIED[:1]


def next_layer(training: Training, inputs: str) -> tuple[Layer, tuple[Nodes, ...]]:
    """The layer on top of a network in training, and the finished layers below it."""
    top = training.frame.layer.top if isinstance(training.frame.layer, Deep) else training.frame.layer
    # As they will be in files, whose last bits depend on the memory order of arrays.
    own = replace(training.best, weights=np.ascontiguousarray(training.best.weights))
    below = (*training.frame.below, own)
    if inputs == "previous":
        return Deep(top, (own,), with_inputs=False), below
    if inputs == "output":
        return Deep(top, (readout(*training.readout(below)),), with_inputs=True), below
    return Deep(top, below, with_inputs=True), below


def is_worth_it(deeper: float | None, before: float | None) -> bool:
    """Whether a further layer has reduced the error by enough; always, if that is not known."""
    return deeper is None or before is None or deeper < (1.0 - _LEAST_GAIN) * before


def until_stalled(steps: Generator[Step, None, StopReason]) -> Generator[Step, None, StopReason]:
    """The steps of a layer that is not the last one, until they gain almost nothing: its rank is exhausted."""
    taken: list[Step] = []
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            reason: StopReason = end.value
            return reason
        taken.append(step)
        yield step
        before = [old.train_rmse for old in taken if old.nodes <= step.nodes - _STALLED_NODES]
        if before and step.train_rmse > (1.0 - _STALLED_GAIN) * before[-1]:
            return StopReason.NO_CANDIDATE
