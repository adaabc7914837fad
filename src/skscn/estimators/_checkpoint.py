"""Checkpoints: what a growing network needs to go on after its process has died, in one file.

The file holds the nodes in their order, the history, the seed, the parameters and a fingerprint of the data. Since the
state of a network depends on its nodes alone, taking them in again leads to the same final network, bit for bit.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from skscn.activations import Activation
from skscn.configuration import Configuration
from skscn.estimators._data import TrainingData
from skscn.estimators._training import HISTORY, Training
from skscn.files import replace_file

_FORMAT = 1
# Seconds between two writes.
_EVERY = 1.0
# Parameters on which the network does not depend.
_FREE = {"n_jobs", "verbose", "warm_start", "checkpoint", "random_state"}


class CheckpointError(ValueError):
    """A checkpoint that is damaged, or of other data or parameters."""


@dataclass(frozen=True)
class Saved:
    """The nodes of a network in the making, its history, and its seed."""

    weights: np.ndarray
    biases: np.ndarray
    history: np.ndarray
    seed: int


class Checkpoint:
    """A file that a growing network is kept in.

    Parameters
    ----------
    path : path-like
    origin : dict of str to str
        What the network comes from; a checkpoint of another origin is refused.
    """

    def __init__(self, path: str | os.PathLike, origin: dict[str, str]):
        self.path, self.origin = Path(path).expanduser(), origin
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"checkpoint={str(path)!r}: there is no folder {self.path.parent}; make it first.")
        self._written = monotonic()

    @classmethod
    def of(cls, estimator, data: TrainingData) -> Checkpoint:
        """The checkpoint of an estimator that is about to be fitted on these rows."""
        parameters = {
            name: _description(value) for name, value in estimator.get_params(deep=False).items() if name not in _FREE
        }
        if isinstance(estimator.random_state, int | np.integer):
            parameters["random_state"] = repr(int(estimator.random_state))
        return cls(
            estimator.checkpoint,
            {"estimator": type(estimator).__name__, **parameters, "data": data.fingerprint()},
        )

    def load(self) -> Saved | None:
        """What was saved, or None where there is no file yet."""
        if not self.path.exists():
            return None
        try:
            with safe_open(self.path, framework="numpy") as file:
                header = (file.metadata() or {}).get("skscn")
                names = file.keys()
                arrays = {name: file.get_tensor(name) for name in names}
        except (SafetensorError, OSError) as error:
            raise self._damaged(str(error)) from error
        if header is None:
            raise CheckpointError(f"{self.path} is not a checkpoint of skscn; give another path, or delete it.")
        return self._checked(header, arrays)

    def _checked(self, header: str, arrays: dict[str, np.ndarray]) -> Saved:
        try:
            about = json.loads(header)
            checksum, version = about.pop("checksum"), about["format"]
            origin, seed = about["origin"], about["seed"]
        except (ValueError, KeyError, AttributeError) as error:
            raise self._damaged("its header cannot be read") from error
        if version != _FORMAT:
            raise CheckpointError(f"{self.path} has format {version}; this version of skscn reads format {_FORMAT}.")
        if checksum != _checksum(about, arrays):
            raise self._damaged("its checksum is wrong")
        self._check_origin(origin)
        columns = {name: arrays[f"history.{name}"] for name in HISTORY.names or ()}
        history = np.empty(len(columns["nodes"]), HISTORY)
        for name, column in columns.items():
            history[name] = column
        return Saved(arrays["weights"], arrays["biases"], history, int(seed))

    def _check_origin(self, origin: dict[str, str]) -> None:
        names = sorted({*origin, *self.origin} - {"data"})
        differences = [
            f"{name}={origin.get(name, 'nothing')} there and {self.origin.get(name, 'nothing')} here"
            for name in names
            if origin.get(name) != self.origin.get(name)
        ]
        if origin.get("data") != self.origin["data"]:
            differences.append("the training rows are others")
        if differences:
            raise CheckpointError(
                f"{self.path} is the checkpoint of another fit: {'; '.join(differences)}. Give another path, or delete "
                "the file to start anew."
            )

    def _damaged(self, reason: str) -> CheckpointError:
        return CheckpointError(f"{self.path} is damaged ({reason}); delete it to start anew.")

    def note(self, training: Training, seed: int) -> None:
        """Save, unless that was done a moment ago."""
        if monotonic() - self._written >= _EVERY:
            self.save(training, seed)

    def save(self, training: Training, seed: int) -> None:
        """Replace the file by one with all nodes so far; a reader sees either the old one or the new one."""
        history = training.history
        weights, biases = training.grown
        arrays = {
            "weights": np.ascontiguousarray(weights),
            "biases": np.ascontiguousarray(biases),
            **{f"history.{name}": np.ascontiguousarray(history[name]) for name in HISTORY.names or ()},
        }
        about = {"format": _FORMAT, "origin": self.origin, "seed": seed}
        content = save(arrays, {"skscn": json.dumps({**about, "checksum": _checksum(about, arrays)})})
        replace_file(self.path, content)
        self._written = monotonic()


def _description(value) -> str:
    """A text that is the same in another process: without addresses, which texts of functions and objects hold."""
    if isinstance(value, Activation):
        return f"Activation({value.name!r}, {value.bound!r}, {_description(value.value)})"
    if isinstance(value, Configuration):
        return f"{type(value).__name__}({sorted(vars(value).items())})"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def _checksum(about: dict, arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        digest.update(f"{name}{arrays[name].shape}{arrays[name].dtype}".encode())
        digest.update(arrays[name].tobytes())
    return digest.hexdigest()
