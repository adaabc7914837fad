"""Models in files: safetensors with a JSON header, read without executing anything in the file.

A file contains the arrays of a model and, in the header, its class, parameters, names of the inputs and classes, the
versions it was written with, and a checksum over everything. Nothing in a file is trusted: see
:mod:`skscn.archive` for the file, ``_fields.py`` for the grammar of its contents, and ``_pipelines.py`` for the
classes that a model may consist of.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator

from skscn import __version__
from skscn.activations import Activation, Function
from skscn.archive import Kind, read_archive, read_header, write_archive
from skscn.persistence._fields import ArrayStore, UnusableError
from skscn.persistence._networks import describe_network
from skscn.persistence._pipelines import read_model, write_model
from skscn.recurrent import RecurrentStream

__all__ = ["ModelFileError", "describe_model", "load_model", "save_model"]


class ModelFileError(ValueError):
    """Raised for a file that is not a model, is damaged or cannot be trusted, and for a model that cannot be saved."""


_KIND = Kind("model", 2, ModelFileError, "give a file made by skscn fit or save_model")


def save_model(
    model: BaseEstimator | RecurrentStream,
    path: str | os.PathLike[str],
    notes: Mapping[str, Any] | None = None,
    *,
    updatable: bool = True,
) -> None:
    """Write a fitted estimator, a stream with its state, or a Pipeline of supported parts, to a file.

    Supported are the estimators of skscn, ``TableEncoder``, ``Lags`` with the last rows it has seen, and scikit-learn's
    ``StandardScaler``, ``MinMaxScaler``, ``MaxAbsScaler``, ``RobustScaler``, ``SimpleImputer``, ``OneHotEncoder``,
    ``ColumnTransformer`` and ``Pipeline``.

    The loaded model makes the same predictions, bit for bit, and can be fitted further with ``warm_start`` and updated
    with ``partial_fit``. Callbacks,
    metadata requests and ``set_output`` are not saved. The file is replaced atomically: a reader sees the old one or
    the new one.

    Parameters
    ----------
    model : fitted scikit-scn estimator, RecurrentStream, or Pipeline
    path : path-like
        By convention its name ends with ``.scn``.
    notes : mapping, default=None
        Additional information to save in the header as JSON, for instance where the data came from. The notes of the
        program, ``skscn fit``, are under the key ``"skscn"``; do not use it for others.
    updatable : bool, default=True
        Whether the file contains what ``partial_fit`` needs, which grows with the square of the number of nodes. Online
        estimators and streams always contain it.

    Raises
    ------
    ModelFileError
        If the model is not fitted, or has parts that cannot be saved safely.
    OSError
        If the file cannot be written; it names the file and the reason.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_diabetes
    >>> from skscn import SCNRegressor, load_model, save_model
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SCNRegressor(max_nodes=10, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, pathlib.Path(folder) / "model.scn")
    ...     loaded = load_model(pathlib.Path(folder) / "model.scn")
    >>> bool((loaded.predict(X) == model.predict(X)).all())
    True
    """
    store = ArrayStore(updatable=updatable)
    try:
        about = _as_json({"versions": _versions(), "notes": dict(notes or {}), "model": write_model(model, store)})
        # Make sure that what is written can be read.
        read_model(about["model"], ArrayStore(dict(store.arrays), _AnyActivation()))
    except UnusableError as error:
        raise ModelFileError(f"{type(model).__name__} cannot be saved: {error}.") from error
    write_archive(Path(path), _KIND, about, store.arrays)


def _as_json(about: dict[str, Any]) -> dict[str, Any]:
    try:
        written: dict[str, Any] = json.loads(json.dumps(about, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise UnusableError(f"its notes, or one of its parts, cannot be written as JSON: {error}") from error
    return written


def load_model(path: str | os.PathLike[str], activations: Mapping[str, Activation | Function] | None = None) -> Any:
    """Read a model that :func:`save_model` has written.

    Nothing in the file is executed, and memory use is limited by the size of the file, whoever wrote it. Before fitting
    somebody else's model further, set its ``checkpoint`` to None or to a path of your own.

    Parameters
    ----------
    path : path-like
    activations : mapping of str to callable or Activation, default=None
        Custom activations that the model was fitted with, by their names.

    Returns
    -------
    model : estimator or Pipeline

    Raises
    ------
    ModelFileError
        If the file is not a model in a format that this version can read.
    """
    path = Path(path)
    about, arrays = read_archive(path, _KIND)
    try:
        return read_model(about.get("model"), ArrayStore(arrays, activations or {}))
    except UnusableError as error:
        raise ModelFileError(f"{path} cannot be used: {error}.") from error


def describe_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Describe a model from the header of its file, without loading the model.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    description : dict
        ``format``; ``versions`` of skscn, numpy and scikit-learn that wrote the file; its ``bytes``; ``notes``;
        ``class``; ``steps``, the names and classes of a Pipeline's steps; of the estimator, a Pipeline's last step,
        ``parameters``, ``n_features``, ``feature_names`` or None, ``classes`` or None, and ``nodes``, a list with one
        number for each network.

    Raises
    ------
    ModelFileError
        As for :func:`load_model`, as far as the header shows.
    """
    path = Path(path)
    about = read_header(path, _KIND)
    model: Any = about.get("model")
    try:
        steps = model["steps"] if model["class"] == "Pipeline" else []
        last = steps[-1][1] if steps else model
        return {
            "format": about["format"],
            "versions": dict(about["versions"]),
            "notes": dict(about["notes"]),
            "bytes": path.stat().st_size,
            "class": model["class"],
            "steps": [(name, step if isinstance(step, str) else step["class"]) for name, step in steps],
            **_description(last),
        }
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ModelFileError(f"{path} cannot be used: its header has an unexpected structure.") from error


def _description(estimator: dict[str, Any]) -> dict[str, Any]:
    """The description of an estimator, as it is written; empty for other parts."""
    if "fitted" not in estimator:
        return dict.fromkeys(("parameters", "n_features", "feature_names", "classes", "nodes"))
    fitted = estimator["fitted"]
    members = [member["fitted"] for member in fitted.get("members_", [estimator])]
    if "reservoir_" in fitted:
        n_features = fitted["reservoir_"]["inputs"]["offset"][0]
        nodes = [member["reservoir_"]["nodes"]["biases"][0] for member in members]
    elif "learner_" in fitted:
        n_features = fitted["learner_"]["last_inputs"][1]
        nodes = [model["columns"]["nodes"]["biases"][0] for model in fitted["learner_"]["models"][1:]]
    else:
        shapes = [describe_network(member["network_"]) for member in members]
        encoder, nodes = fitted.get("encoder_"), [count for _, count in shapes]
        n_features = fitted.get("n_features_in_", shapes[0][0]) if encoder is None else encoder["n_columns"]
    return {
        "parameters": estimator["parameters"],
        "n_features": n_features,
        "feature_names": fitted["feature_names_in_"],
        "classes": fitted["classes_"]["values"] if "classes_" in fitted else None,
        "nodes": nodes,
    }


def _versions() -> dict[str, str]:
    return {"skscn": __version__, "numpy": np.__version__, "scikit-learn": sklearn.__version__}


class _AnyActivation(dict[str, Activation | Function]):
    """Placeholder for activations that will be given when the file is loaded."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Function:
        return np.tanh
