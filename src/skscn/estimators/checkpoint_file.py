"""The file of a checkpoint: what a fit depends on, what it has done so far, and a lock while the fit is running."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from skscn.activations import Activation
from skscn.archive import Header, Kind, read_archive, read_header, write_archive
from skscn.configuration import Configuration
from skscn.files import check_writable
from skscn.locks import locked

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
            self._warn(error)
        self._written = monotonic()

    def _warn(self, error: OSError) -> None:
        """Warn once that a crash would lose what was done so far; the fit itself needs no file."""
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"The checkpoint {error} The fit continues without it, and tries again from time to time.",
                RuntimeWarning,
                stacklevel=2,
            )


@contextmanager
def opened_file(estimator: BaseEstimator, fingerprint: Callable[[], str]) -> Iterator[CheckpointFile | None]:
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
    if isinstance(value, Configuration):
        return f"{type(value).__name__}({sorted(vars(value).items())})"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
