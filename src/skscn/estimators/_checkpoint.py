"""Checkpoints: what a growing network needs to continue after its process has died, in one file.

The file contains the nodes in their order, the history, the seed, the parameters and a fingerprint of the data. Since
the state of a network depends only on its nodes, adding them again leads to the same final network, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skscn.estimators._early_stopping import Standing
from skscn.estimators.checkpoint_file import CheckpointFile, opened_file
from skscn.estimators.history import history_columns, history_of
from skscn.estimators.training import BeforePolishing, Training
from skscn.layers import Layer, Nodes

if TYPE_CHECKING:
    from skscn.estimators.growing import GrowingNetwork

# What is kept of nodes.
_ARRAYS, _PREVIOUS = ("weights", "biases", "scopes"), "previous_{}_"
# What was known when all nodes were last polished, and the best nodes before that.
_POLISHED, _BEST = "polished_standing", "best_"


@dataclass(frozen=True)
class Saved:
    """The nodes of a growing network, its history, its seed, and the blocks of nodes of the round before, if any.

    Also what was known when all nodes were last polished, if they were.
    """

    nodes: Nodes
    history: np.ndarray
    seed: int
    previous: tuple[Nodes, ...]
    polished: BeforePolishing | None


@dataclass(frozen=True)
class Checkpoint:
    """A growing network in a file."""

    file: CheckpointFile

    def load(self, layer: Layer) -> Saved | None:
        """The saved state, its nodes in this layer; None if there is no file yet."""
        read = self.file.read()
        if read is None:
            return None
        about, arrays = read
        with self.file.complete():
            previous = tuple(_nodes_of(layer, arrays, _PREVIOUS.format(number)) for number in range(about["previous"]))
            polished = _polished_of(layer, arrays) if _POLISHED in arrays else None
            return Saved(_nodes_of(layer, arrays), history_of(arrays), int(about["seed"]), previous, polished)

    def note(self, training: Training, seed: int) -> None:
        """Save, unless that was done only recently."""
        if self.file.is_due:
            self.save(training, seed)

    def save(self, training: Training, seed: int) -> None:
        """Replace the file by one with all nodes so far."""
        arrays = {**_arrays_of(training.grown), **history_columns(training.history)}
        for number, block in enumerate(training.earlier.blocks):
            arrays |= _arrays_of(block, _PREVIOUS.format(number))
        if training.polished is not None:
            arrays |= _arrays_of_polished(training.polished)
        self.file.write({"seed": seed, "previous": len(training.earlier.blocks)}, arrays)


def _arrays_of(nodes: Nodes, prefix: str = "") -> dict[str, np.ndarray]:
    return {f"{prefix}{name}": getattr(nodes, name) for name in _ARRAYS}


def _arrays_of_polished(polished: BeforePolishing) -> dict[str, np.ndarray]:
    standing = polished.standing
    numbers = np.array([standing.best, standing.best_nodes, standing.reference, standing.waited])
    best = {} if polished.best is None else _arrays_of(polished.best, _BEST)
    return {_POLISHED: numbers, **best}


def _polished_of(layer: Layer, arrays: Mapping[str, np.ndarray]) -> BeforePolishing:
    best_value, nodes, reference, waited = arrays[_POLISHED].tolist()
    best = _nodes_of(layer, arrays, _BEST) if f"{_BEST}biases" in arrays else None
    return BeforePolishing(Standing(best_value, int(nodes), reference, int(waited)), best)


def _nodes_of(layer: Layer, arrays: Mapping[str, np.ndarray], prefix: str = "") -> Nodes:
    return Nodes.of(layer, *(arrays[f"{prefix}{name}"] for name in _ARRAYS))


@contextmanager
def opened_checkpoint(estimator: GrowingNetwork, fingerprint: Callable[[], str]) -> Iterator[Checkpoint | None]:
    """The checkpoint of an estimator that is about to be fitted on rows with some fingerprint, if it has one."""
    with opened_file(estimator, fingerprint) as file:
        yield None if file is None else Checkpoint(file)
