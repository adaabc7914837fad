"""One member of an ensemble: what it draws, and its growth on the rows and columns that it has drawn."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from skscn.estimators.calibration import averaged
from skscn.estimators.ensemble._distinct_rows import DistinctRows
from skscn.estimators.growing import GrowingNetwork
from skscn.estimators.recipe import Recipe
from skscn.progress import Listener, current_listener, listening
from skscn.threads import single_threaded


@dataclass(frozen=True)
class MemberPlan:
    """What makes a member differ.

    Its number, its seed, its columns, how often each row was drawn, if any were, and the factor of validation_fraction.
    """

    number: int
    seed: int
    features: np.ndarray
    counts: np.ndarray | None
    stretch: float


class GrownMember(NamedTuple):
    """A member with its number, its predictions for all rows, and which of them it has not seen."""

    number: int
    network: GrowingNetwork
    predictions: np.ndarray
    unseen: np.ndarray


def bootstrap_counts(strata: np.ndarray, has_weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How often each row is drawn in a bootstrap sample within each stratum, of the rows that have weight."""
    counts = np.zeros(len(strata))
    for stratum in np.unique(strata[has_weight]):
        rows = np.flatnonzero(has_weight & (strata == stratum))
        counts += np.bincount(rng.choice(rows, len(rows)), minlength=len(strata))
    return counts


def grow_member(
    estimator: GrowingNetwork,
    data: DistinctRows,
    plan: MemberPlan,
    response: str,
    method: str,
    elsewhere: Listener | None,
) -> GrownMember:
    """Grow a member, by its ``fit`` or ``partial_fit``, and let its method ``response`` predict all rows."""
    training = slice(data.n_training)
    weights = data.sample_weight[training] * (1.0 if plan.counts is None else plan.counts[training])
    member = _member(estimator, plan, int(np.count_nonzero(weights)))
    X = select_columns(data.X, plan.features)
    # Sums in BLAS depend on the number of threads, which may be larger in a worker process than here.
    with single_threaded(), listening(current_listener() or elsewhere), averaged():
        different = bool(np.ptp(weights))
        given = weights if different else None
        getattr(member, method)(X[training], data.y[training], sample_weight=given, **_held_out(data, X))
        predictions = getattr(member, response)(X)
    if not different:
        # What a row without a weight of its own counted for.
        member._weight_unit = float(weights[0])
    unseen = np.append(_unseen(member, weights), np.ones(data.n_held_out, dtype=bool))
    return GrownMember(plan.number, member, predictions, unseen)


def _held_out(data: DistinctRows, X: Any) -> dict[str, Any]:
    """What ``fit`` is told about held-out rows, with a member's columns of all rows."""
    if data.n_held_out:
        rows = slice(data.n_training, None)
        return {"X_val": X[rows], "y_val": data.y[rows], "sample_weight_val": data.sample_weight[rows]}
    return {} if data.groups is None else {"groups": data.groups}


def _member(estimator: GrowingNetwork, plan: MemberPlan, n_rows: int) -> Any:
    """The member with the parameters of its plan; n_rows is the number of rows that it is grown on."""
    member = clone(estimator).set_params(random_state=plan.seed, n_jobs=1)
    if member.checkpoint is not None:
        # Each member has its own file.
        member.set_params(checkpoint=f"{os.fspath(member.checkpoint)}-{plan.seed}")
    # At most halfway from the requested share to all rows.
    member._validate_params()
    share = Recipe.of(member).validation_fraction
    member.set_params(validation_fraction=min(plan.stretch * share, 0.5 + 0.5 * share))
    holds_out = member.early_stopping in (True, "validation")
    if holds_out and max(1, round(member.validation_fraction * n_rows)) >= n_rows:
        member.set_params(early_stopping=False)
    return member


def _unseen(member: GrowingNetwork, weights: np.ndarray) -> np.ndarray:
    """Which rows are out of bag: those that the member was not grown on; in a series, only those that are later."""
    unseen = np.asarray(weights == 0)
    unseen[member.held_out_] = True
    if member.validation == "last":
        unseen[: np.flatnonzero(~unseen)[-1]] = False
    return unseen


def select_columns(X: Any, features: np.ndarray) -> Any:
    """These columns of validated rows; X itself if they are all of them."""
    return X if len(features) == X.shape[1] else X[:, features]
