"""Ensembles in a model file: their members, and the intervals of regressors."""

from __future__ import annotations

from typing import Any

import numpy as np

from skscn.estimators import SCNEnsembleClassifier, SCNEnsembleRegressor
from skscn.estimators.ensemble.out_of_bag import Conformal, LocalScale
from skscn.persistence._base import Field, Sizes, UnusableError
from skscn.persistence._composed import Added, OneOf, Optional, Record, Several
from skscn.persistence._estimator import FittedEstimator
from skscn.persistence._fields import Array, Scalar
from skscn.persistence._network_estimators import CLASSIFIERS, REGRESSORS
from skscn.persistence._row_encoders import ROWS, numbers_of
from skscn.persistence._values import Labels


def _members(networks: dict[str, Field]) -> dict[str, Field]:
    return {
        **ROWS,
        "n_features_in_": Scalar(1, 2**53, whole=True),
        "members_": Several(OneOf("members", networks), apart=True),
        "features_": Several(Array(np.int64, "f", lowest=0), apart=True),
        "weights_": Array(np.float64, "k", lowest=0.0, highest=1.0 + 1e-9),
        "out_of_bag_": Array(np.bool_, "kn"),
        "oob_score_": Scalar(nan=True),
        # Version 0.1 did not count them.
        "n_rows_seen_": Added(Scalar(0, 2**53, whole=True), 0),
        "_weight_unit": Added(Scalar(np.finfo(float).tiny), 1.0),
    }


_CONFORMAL = Record(
    Conformal,
    scale=Record(
        LocalScale,
        networks=Several(OneOf("networks", {"SCNRegressor": REGRESSORS["SCNRegressor"]}), apart=True),
        units=Array(np.float64, "m", lowest=0.0),
        largest=Array(np.float64, "m", lowest=0.0),
        share=Array(np.float64, "m", lowest=0.0),
        constant=Array(np.float64, "m", lowest=0.0),
    ),
    scores=Array(np.float64, "rm", lowest=0.0),
    sample_weight=Array(np.float64, "r", lowest=0.0),
    above=Added(Optional(Array(np.bool_, "rm")), None),
)


def _check_members(estimator: Any, sizes: Sizes) -> dict[str, Any]:
    """Each member has columns of the model, and all have the same outputs."""
    members, n_features = estimator.members_, estimator.n_features_in_
    if not len(members) == len(estimator.features_) == sizes["k"] > 0:
        raise UnusableError("there are different numbers of members, columns and weights")
    if sizes.get("d", n_features) != n_features:
        raise UnusableError(f"there are {sizes['d']} names or medians for {n_features} inputs")
    width = numbers_of(estimator, n_features)
    for member, features in zip(members, estimator.features_, strict=True):
        rising = len(features) == member.n_features_in_ and (np.diff(features) > 0).all()
        if not rising or features[-1] >= width:
            raise UnusableError("the columns of a member are not columns of the model")
    if len({(member.network_.n_outputs, member.network_.single_output) for member in members}) > 1:
        raise UnusableError("the members have different outputs")
    return {}


def _check_regressors(estimator: SCNEnsembleRegressor, sizes: Sizes) -> dict[str, Any]:
    network = estimator.members_[0].network_ if estimator.members_ else None
    outputs = (sizes["m"], estimator.oob_prediction_.ndim == 1)
    if network is not None and (network.n_outputs, network.single_output) != outputs:
        raise UnusableError("the members have different outputs than the model")
    if estimator._conformal is not None:
        _check_conformal(estimator._conformal, (numbers_of(estimator, estimator.n_features_in_), sizes["m"], False))
    return _check_members(estimator, sizes)


def _check_conformal(conformal: Conformal, expected: tuple[int, int, bool]) -> None:
    if not conformal.sample_weight.sum() > 0.0:
        raise UnusableError("intervals have no rows of any weight")
    networks = [learnt.network_ for learnt in conformal.scale.networks]
    if any((network.n_features, network.n_outputs, network.single_output) != expected for network in networks):
        raise UnusableError("a network for intervals has different inputs or outputs than the model")


def _check_classifiers(estimator: SCNEnsembleClassifier, sizes: Sizes) -> dict[str, Any]:
    if not all(np.array_equal(member.classes_, estimator.classes_) for member in estimator.members_):
        raise UnusableError("the members have different classes than the model")
    return _check_members(estimator, sizes)


ENSEMBLES: dict[str, Field] = {
    "SCNEnsembleRegressor": FittedEstimator(
        SCNEnsembleRegressor,
        {
            **_members(REGRESSORS),
            "oob_prediction_": Array(np.float64, "nm", finite=False, flat=True),
            "_conformal": Optional(_CONFORMAL),
        },
        _check_regressors,
    ),
    "SCNEnsembleClassifier": FittedEstimator(
        SCNEnsembleClassifier,
        {
            **_members(CLASSIFIERS),
            "classes_": Labels(),
            "oob_decision_function_": Array(np.float64, "nc", finite=False),
        },
        _check_classifiers,
    ),
}
