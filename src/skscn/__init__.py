"""Stochastic Configuration Networks for Python."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skscn.activations import ACTIVATIONS, Activation
    from skscn.estimators import (
        DeepSCNClassifier,
        DeepSCNRegressor,
        IRVFLRegressor,
        ModifiedQuickpropRegressor,
        SCNClassifier,
        SCNEnsembleClassifier,
        SCNEnsembleRegressor,
        SCNRegressor,
    )
    from skscn.judging import Assessment, assess
    from skscn.network import Network
    from skscn.online import OnlineSCNClassifier, OnlineSCNRegressor
    from skscn.persistence import ModelFileError, describe_model
    from skscn.recurrent import RecurrentSCNEnsembleRegressor, RecurrentSCNRegressor
    from skscn.rows import Chunks
    from skscn.table_model import TableModel, load_model, save_model

__version__ = "0.3.0"

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "Assessment",
    "Chunks",
    "DeepSCNClassifier",
    "DeepSCNRegressor",
    "IRVFLRegressor",
    "ModelFileError",
    "ModifiedQuickpropRegressor",
    "Network",
    "OnlineSCNClassifier",
    "OnlineSCNRegressor",
    "RecurrentSCNEnsembleRegressor",
    "RecurrentSCNRegressor",
    "SCNClassifier",
    "SCNEnsembleClassifier",
    "SCNEnsembleRegressor",
    "SCNRegressor",
    "TableModel",
    "__version__",
    "assess",
    "describe_model",
    "load_model",
    "save_model",
]

# Where each name is defined; it is imported when it is first used, so that importing skscn costs next to nothing.
_HOMES = {
    "ACTIVATIONS": "skscn.activations",
    "Activation": "skscn.activations",
    "Assessment": "skscn.judging",
    "Chunks": "skscn.rows",
    "DeepSCNClassifier": "skscn.estimators",
    "DeepSCNRegressor": "skscn.estimators",
    "IRVFLRegressor": "skscn.estimators",
    "ModelFileError": "skscn.persistence",
    "ModifiedQuickpropRegressor": "skscn.estimators",
    "Network": "skscn.network",
    "RecurrentSCNEnsembleRegressor": "skscn.recurrent",
    "OnlineSCNClassifier": "skscn.online",
    "OnlineSCNRegressor": "skscn.online",
    "RecurrentSCNRegressor": "skscn.recurrent",
    "SCNClassifier": "skscn.estimators",
    "SCNEnsembleClassifier": "skscn.estimators",
    "SCNEnsembleRegressor": "skscn.estimators",
    "SCNRegressor": "skscn.estimators",
    "TableModel": "skscn.table_model",
    "assess": "skscn.judging",
    "describe_model": "skscn.persistence",
    "load_model": "skscn.table_model",
    "save_model": "skscn.table_model",
}


_MODULES = (
    "activations",
    "datasets",
    "estimators",
    "export",
    "growth",
    "judging",
    "kernels",
    "network",
    "online",
    "onnx",
    "nodes",
    "output_weights",
    "persistence",
    "plot",
    "progress",
    "recurrent",
    "report",
    "rows",
    "scaling",
    "search",
    "series",
    "supervision",
    "table_model",
    "tables",
)


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"skscn.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'skscn' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
