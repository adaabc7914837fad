"""Estimators of one network in a model file: regressors and the classifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from skscn.estimators import (
    DeepSCNClassifier,
    DeepSCNRegressor,
    IRVFLRegressor,
    ModifiedQuickpropRegressor,
    SCNClassifier,
    SCNRegressor,
)
from skscn.estimators.classifier import Calibration
from skscn.estimators.networks import is_multilabel
from skscn.persistence._base import Field, Sizes, UnusableError
from skscn.persistence._composed import Added, Optional, Record
from skscn.persistence._estimator import FittedEstimator
from skscn.persistence._fields import Array, Scalar
from skscn.persistence._network import GROWN
from skscn.persistence._row_encoders import numbers_of
from skscn.persistence._values import Labels


def _derived(estimator: Any, sizes: Sizes) -> dict[str, Any]:
    network, history = estimator.network_, _in_units(estimator)
    if network.n_nodes > sum(history["nodes"][history["round"] == number].max() for number in set(history["round"])):
        raise UnusableError("a network has more nodes than its history")
    importances = estimator._feature_importances
    if importances is not None and abs(importances.sum() - 1.0) > 1e-9:
        raise UnusableError("the sum of feature importances is not 1")
    n_columns = network.n_features if estimator.encoder_ is None else estimator.encoder_.n_columns
    if numbers_of(estimator, n_columns) != network.n_features:
        raise UnusableError("rows are encoded as more or fewer numbers than the network has inputs")
    return {
        "history_": history,
        "n_nodes_": network.n_nodes,
        "n_iter_": len(history),
        "n_features_in_": n_columns,
    }


def _in_units(estimator: Any) -> np.ndarray:
    """The history, with errors in units of the target.

    In version 0.1, which did not count rows, they were those of the scaled target; of several outputs they stay so.
    """
    history, scale = estimator.history_, estimator.network_.outputs.scale
    if not estimator.n_rows_seen_ and len(scale) == 1:
        for name in ("train_rmse", "validation_rmse"):
            with np.errstate(over="ignore"):
                history[name] *= scale[0]
            if np.isinf(history[name]).any():
                raise UnusableError("an error in the history of a network is too large for a number")
    return np.asarray(history)


def _derived_of_classifier(estimator: SCNClassifier, sizes: Sizes) -> dict[str, Any]:
    network, count = estimator.network_, len(estimator.classes_)
    if is_multilabel(estimator) and not network.single_output and network.n_outputs == count:
        return _derived(estimator, sizes)
    if network.single_output != (count == 2) or network.n_outputs != (1 if count == 2 else count):
        raise UnusableError(f"a network for {count} classes has {network.n_outputs} outputs")
    return _derived(estimator, sizes)


_CALIBRATION = Record(Calibration, exponent=Scalar(0.0), floor=Scalar(1e-6, 1e6), equal_share=Scalar(0.0, 1.0))

REGRESSORS: dict[str, Field] = {
    cls.__name__: FittedEstimator(cls, GROWN, _derived)
    for cls in (SCNRegressor, DeepSCNRegressor, IRVFLRegressor, ModifiedQuickpropRegressor)
}
CLASSIFIERS: dict[str, Field] = {
    cls.__name__: FittedEstimator(
        cls,
        {
            **GROWN,
            "classes_": Labels(),
            "calibration_": Optional(_CALIBRATION),
            "_class_factors": Added(Optional(Array(np.float64, "c", lowest=0.0)), None),
        },
        _derived_of_classifier,
    )
    for cls in (SCNClassifier, DeepSCNClassifier)
}
