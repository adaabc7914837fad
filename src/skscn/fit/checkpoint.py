"""Checkpoints: what a growing network needs to continue after its process has died, in one file.

The file contains the nodes in their order, the history, the seed, the parameters and a fingerprint of the data. Since
the state of a network depends only on its nodes, adding them again leads to the same final network, bit for bit.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from skscn.activations import Activation
from skscn.archive import Header, Kind, read_archive, read_header, write_archive
from skscn.files import check_writable
from skscn.growth import HISTORY, BeforePolishing, history_columns, history_of
from skscn.locks import locked
from skscn.nodes import Layer, Nodes
from skscn.search import Configuration
from skscn.stopping import BestSoFar

# Seconds between two writes.
_EVERY = 1.0
# Parameters that do not affect what is learnt.
_FREE = {"n_jobs", "verbose", "warm_start", "checkpoint", "random_state"}


class CheckpointError(ValueError):
    """A checkpoint that is damaged, in use, or belongs to other data or parameters."""


_KIND = Kind("checkpoint", 4, CheckpointError, "give another path, or delete it to start again")


class CheckpointFile:
    """A file in which a fit is kept.

    Parameters
    ----------
    path : path-like
    origin : dict of str to str
        What the fit depends on; a checkpoint with a different origin is rejected.
    """

    def __init__(self, path: str | os.PathLike[str], origin: dict[str, str]):
        self.path, self.origin = Path(path), origin
        # A file that is not a checkpoint must not be overwritten, even if nothing is read from it.
        if self.path.exists():
            read_header(self.path, _KIND)
        self._written, self._warned = monotonic(), False

    def read(self) -> tuple[Header, dict[str, np.ndarray]] | None:
        """The header and the arrays; None if there is no file yet."""
        if not self.path.exists():
            return None
        about, arrays = read_archive(self.path, _KIND)
        with self.complete():
            self._check_origin(about["origin"])
        return about, arrays

    @contextmanager
    def complete(self) -> Iterator[None]:
        """Whatever turns out to be missing from the file within the context means that it is damaged."""
        try:
            yield
        except (KeyError, AttributeError, TypeError) as error:
            raise _KIND.refusal(self.path, "is damaged (something is missing)") from error

    def _check_origin(self, origin: dict[str, str]) -> None:
        names = sorted({*origin, *self.origin} - {"data"})
        differences = [
            f"{name}={origin.get(name, 'nothing')} there and {self.origin.get(name, 'nothing')} here"
            for name in names
            if origin.get(name) != self.origin.get(name)
        ]
        if origin.get("data") != self.origin["data"]:
            differences.append("the training rows are different")
        if differences:
            raise CheckpointError(
                f"{self.path} is the checkpoint of another fit: {'; '.join(differences)}. Give another path, or delete "
                "the file to start again."
            )

    @property
    def is_due(self) -> bool:
        """Whether it was last written some time ago."""
        return monotonic() - self._written >= _EVERY

    def write(self, about: Mapping[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Replace the file; a reader sees either the old one or the new one."""
        try:
            write_archive(self.path, _KIND, {"origin": self.origin, **about}, arrays)
        except OSError as error:
            # The fit itself needs no file, but a crash would lose what was done so far.
            if not self._warned:
                self._warned = True
                warnings.warn(
                    f"The checkpoint {error} The fit continues without it, and tries again from time to time.",
                    RuntimeWarning,
                    stacklevel=2,
                )
        self._written = monotonic()


@contextmanager
def open_checkpoint(estimator: BaseEstimator, fingerprint: Callable[[], str]) -> Iterator[CheckpointFile | None]:
    """The checkpoint of an estimator that is about to be fitted on rows with some fingerprint, if it has one.

    Whether it can be written is tested before the fit; other fits cannot use it for as long as it is open.
    """
    if estimator.checkpoint is None:
        yield None
        return
    path = Path(estimator.checkpoint).expanduser()
    check_writable(path)
    in_use = CheckpointError(
        f"{path} is the checkpoint of another fit that is still running; wait for it, or give another path."
    )
    with locked(path, in_use):
        yield CheckpointFile(path, {**_origin(estimator), "data": fingerprint()})


def _origin(estimator: BaseEstimator) -> dict[str, str]:
    """What a fit depends on besides the rows."""
    parameters = {
        name: _description(value) for name, value in estimator.get_params(deep=False).items() if name not in _FREE
    }
    if isinstance(estimator.random_state, int | np.integer):
        parameters["random_state"] = repr(int(estimator.random_state))
    return {"estimator": type(estimator).__name__, **parameters}


def _description(value: object) -> str:
    """A string that is the same in another process: without the memory addresses of functions and objects."""
    if isinstance(value, Activation):
        return f"Activation({value.name!r}, {value.bound!r}, {_description(value.value)})"
    if isinstance(value, Configuration) or hasattr(value, "slack"):
        return f"{type(value).__name__}({sorted(vars(value).items())})"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


# What is kept of nodes.
_ARRAYS, _PREVIOUS = ("weights", "biases", "scopes"), "previous_{}_"
# What was known when all nodes were last polished, and the best nodes before that.
_POLISHED, _BEST = "polished_standing", "best_"


class Saved(NamedTuple):
    """Where growth begins or continues.

    Attributes
    ----------
    seed : int
        Of all draws.
    nodes : Nodes or None
        Those that were grown; None before growth.
    history : ndarray
        Includes earlier rounds.
    previous : tuple of Nodes
        The blocks of nodes of the round before, if the loss refits their output weights.
    polished : BeforePolishing or None
        What was known when all nodes were last polished, if it is known.
    """

    seed: int
    nodes: Nodes | None = None
    history: np.ndarray = np.empty(0, HISTORY)
    previous: tuple[Nodes, ...] = ()
    polished: BeforePolishing | None = None


def write_checkpoint(file: CheckpointFile, saved: Saved) -> None:
    """Replace the file by one with the nodes of a growing network, and what else it needs to continue."""
    assert saved.nodes is not None
    arrays = {**_arrays_of(saved.nodes), **history_columns(saved.history)}
    for number, block in enumerate(saved.previous):
        arrays |= _arrays_of(block, _PREVIOUS.format(number))
    if saved.polished is not None:
        standing, best = saved.polished.standing, saved.polished.best
        arrays[_POLISHED] = np.array([standing.best, standing.best_nodes, standing.reference, standing.waited])
        arrays |= {} if best is None else _arrays_of(best, _BEST)
    file.write({"seed": saved.seed, "previous": len(saved.previous)}, arrays)


def read_checkpoint(file: CheckpointFile, layer: Layer) -> Saved | None:
    """What was written, its nodes in this layer; None if there is no file yet."""
    read = file.read()
    if read is None:
        return None
    about, arrays = read
    with file.complete():
        previous = tuple(_nodes_of(layer, arrays, _PREVIOUS.format(number)) for number in range(about["previous"]))
        polished = None
        if _POLISHED in arrays:
            best_value, nodes, reference, waited = arrays[_POLISHED].tolist()
            best = _nodes_of(layer, arrays, _BEST) if f"{_BEST}biases" in arrays else None
            polished = BeforePolishing(BestSoFar(best_value, int(nodes), reference, int(waited)), best)
        return Saved(int(about["seed"]), _nodes_of(layer, arrays), history_of(arrays), previous, polished)


def _arrays_of(nodes: Nodes, prefix: str = "") -> dict[str, np.ndarray]:
    return {f"{prefix}{name}": getattr(nodes, name) for name in _ARRAYS}


def _nodes_of(layer: Layer, arrays: Mapping[str, np.ndarray], prefix: str = "") -> Nodes:
    return Nodes(layer, *(arrays[f"{prefix}{name}"] for name in _ARRAYS))
