"""What ensembles of regressors and classifiers share: parameters, growth of the members and their combination.

Members are grown on the distinct rows, each with the sum of its weights. So a weight of 2 is the row twice, the order
of the rows does not matter, and a member is never grown on a copy of a row that is out of bag for it. Where rows repeat
more than ten times on average, new rows are copies of old ones too, and all rows are kept.

With validation="last" rows are in order of time and are not merged. Each member is grown on rows up to a different
time, and only later rows are out of bag.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from skscn.estimators.base import GrowingNetwork
from skscn.estimators.ensemble.intervals import OutOfBag, mean_and_spread, nonnegative_weights
from skscn.estimators.ensemble.members import (
    DistinctRows,
    MemberPlan,
    Processes,
    bootstrap_counts,
    checked_weights,
    distinct_rows,
    grow_member,
    select_columns,
)
from skscn.estimators.parameters import CategoricalFeatures, HeldOut, MatrixLike, Seed
from skscn.fit.data import HELD_OUT, Asked
from skscn.fit.validation import check_asked, group_numbers, read_further, read_rows, read_training
from skscn.progress import current_listener
from skscn.rows import Chunks, is_dask
from skscn.sensitivity import sampled
from skscn.tables.filling import medians_of
from skscn.tables.row_encoder import RowEncoder

GET_OUT_OF_BAG_ROWS = "use bootstrap=True or an estimator with early_stopping=True, and more rows or members"
# With validation="last" a member holds out between half and one and a half times its validation_fraction.
_SHARES_HELD_OUT = (0.5, 1.5)


class EnsembleHoldOut(NamedTuple):
    """What ``fit`` was given for early stopping of the members: groups of the rows, or further rows with weights."""

    groups: np.ndarray | None = None
    rows: tuple[Any, np.ndarray, np.ndarray] | None = None


class BaseEnsemble(BaseEstimator, ABC):
    """Parameters, growth of the members and their combination."""

    _parameter_constraints: dict[str, list[Any]] = {
        "n_members": [Interval(Integral, 1, None, closed="left")],
        "bootstrap": ["boolean"],
        "max_features": [Interval(Real, 0, 1, closed="right")],
        "combination": [StrOptions({"average", "nonnegative"})],
        "validation": [StrOptions(set(HELD_OUT))],
        "categorical_features": GrowingNetwork._parameter_constraints["categorical_features"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    # What the ensemble combines: the name of the members' method.
    _response: str
    members_: list[GrowingNetwork]
    features_: list[np.ndarray]
    weights_: np.ndarray
    out_of_bag_: np.ndarray
    n_rows_seen_: int
    # What turns the user's rows into numbers; None if they are numbers, none of which was missing in training.
    encoder_: RowEncoder | None = None
    # The medians of inputs none of which was missing in training.
    _medians: np.ndarray | None = None
    # The given weight that counts as 1.
    _weight_unit: float = 1.0

    def __init__(
        self,
        estimator: GrowingNetwork | None = None,
        n_members: int = 10,
        bootstrap: bool = False,
        max_features: float = 1.0,
        combination: Literal["average", "nonnegative"] = "average",
        validation: HeldOut = "random",
        categorical_features: CategoricalFeatures = "from_dtype",
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        self.estimator = estimator
        self.n_members = n_members
        self.bootstrap = bootstrap
        self.max_features = max_features
        self.combination = combination
        self.validation = validation
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.input_tags.categorical = self.categorical_features is not None
        return tags

    @property
    def feature_importances_(self) -> np.ndarray:
        """The weighted mean of the members' importances; inputs that a member does not have count 0 there."""
        check_is_fitted(self, "members_")
        importances = np.zeros(self.n_features_in_ if self.encoder_ is None else self.encoder_.width)
        for member, features, weight in zip(self.members_, self.features_, self.weights_, strict=True):
            importances[features] += weight * member.feature_importances_
        importances /= importances.sum()
        return importances if self.encoder_ is None else self.encoder_.summed(importances)

    @abstractmethod
    def _default_estimator(self) -> GrowingNetwork:
        """The default member."""

    def _grow(self, data: DistinctRows, targets: np.ndarray, strata: np.ndarray, method: str) -> OutOfBag:
        """Grow and weight the members, and set the common attributes; targets and strata are of the distinct rows.

        Members are grown by this method, ``fit`` or ``partial_fit``.
        """
        estimator = self._template()
        rng = check_random_state(self.random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=self.n_members)
        plans = [self._plan(number, int(seed), data, strata) for number, seed in enumerate(seeds)]
        listener = current_listener()
        elsewhere = None if listener is None else listener.elsewhere()
        tasks = (delayed(grow_member)(estimator, data, plan, self._response, method, elsewhere) for plan in plans)
        grown = self._processes.grow(tasks, self.n_members)
        predictions = np.stack([member.predictions for member in grown]).astype(np.float64)
        out_of_bag = OutOfBag(
            predictions.reshape(len(grown), *targets.shape),
            np.stack([member.unseen for member in grown]),
            targets,
            data.sample_weight,
        )
        self.members_ = [member.network for member in grown]
        self.features_ = [plans[member.number].features for member in grown]
        self.weights_ = self._combination_weights(self._ordinary(out_of_bag, data))
        self.out_of_bag_ = out_of_bag.unseen[:, data.inverse]
        self.n_rows_seen_ = int(np.count_nonzero(data.sample_weight[data.inverse]))
        return out_of_bag

    def _ordinary(self, out_of_bag: OutOfBag, data: DistinctRows) -> OutOfBag:
        """The out-of-bag rows, each with what it counts for if some look like outliers."""
        return out_of_bag

    @property
    def _processes(self) -> Processes:
        return Processes(self.n_jobs, self.verbose)

    def _template(self) -> GrowingNetwork:
        """The member to clone, with the ensemble's way of holding out rows."""
        estimator = self._default_estimator() if self.estimator is None else self.estimator
        if estimator.validation != "random" and estimator.validation != self.validation:
            raise ValueError(
                f"The members of this ensemble have validation={estimator.validation!r}; give it to the ensemble as "
                f"well: {type(self).__name__}(estimator, validation={estimator.validation!r})."
            )
        # Members get rows that are encoded.
        template: GrowingNetwork = clone(estimator).set_params(validation=self.validation, categorical_features=None)
        return template

    def _rows(
        self, X: Any, y: np.ndarray, numbers: np.ndarray, sample_weight: np.ndarray, held_out: EnsembleHoldOut
    ) -> DistinctRows:
        """The rows to grow members on: each distinct row once, or all rows if their order matters."""
        if self.validation == "last":
            data = DistinctRows(X, y, sample_weight, np.arange(len(y)), held_out.groups)
        else:
            data = distinct_rows(X, y, numbers, sample_weight, held_out.groups)
        return data if held_out.rows is None else data.with_held_out(*held_out.rows)

    def _plan(self, number: int, seed: int, data: DistinctRows, strata: np.ndarray) -> MemberPlan:
        """A member's own draws. They depend only on its seed, so the first members do not depend on n_members."""
        rng = np.random.default_rng(seed)
        n_features = data.X.shape[1]
        size = max(1, round(self.max_features * n_features))
        features = np.sort(rng.choice(n_features, size, replace=False))
        drawn = (data.sample_weight > 0) & (np.arange(len(data.y)) < data.n_training)
        counts = bootstrap_counts(strata, drawn, rng) if self.bootstrap else None
        # Windows of different lengths give residuals at different distances from the training rows.
        stretch = rng.uniform(*_SHARES_HELD_OUT) if self.validation == "last" else 1.0
        return MemberPlan(number, seed, features, counts, stretch)

    def _combination_weights(self, out_of_bag: OutOfBag) -> np.ndarray:
        n_members = len(out_of_bag.predictions)
        equal = np.full(n_members, 1.0 / n_members)
        if self.combination == "average":
            return equal
        if not out_of_bag.rows.size:
            raise ValueError(
                'combination="nonnegative" weights the members by their errors on out-of-bag rows, and there are none; '
                f'{GET_OUT_OF_BAG_ROWS}, or combination="average".'
            )
        return nonnegative_weights(out_of_bag.errors(), equal)

    def _validated_training(
        self, X: MatrixLike, y: ArrayLike | None, sample_weight: ArrayLike | None, **checks: Any
    ) -> tuple[Any, np.ndarray, np.ndarray, float]:
        """Training rows as an array or a sparse matrix, targets, weights and their unit."""
        _refuse_chunks(X)
        X, y, self.encoder_ = read_training(self, X, y, sample_weight, **checks)
        plain = self.encoder_ is None and isinstance(X, np.ndarray)
        self._medians = medians_of(X[sampled(len(X))]) if plain else None
        return X, np.asarray(y), *checked_weights(sample_weight, X)

    def _validated_held_out(self, asked: Asked, y: np.ndarray, **checks: Any) -> EnsembleHoldOut:
        """What ``fit`` was given for early stopping of the members, for training rows with targets y."""
        check_asked(asked)
        if asked.groups is not None:
            if self.bootstrap:
                raise ValueError(
                    "groups keep whole groups out of bag, and bootstrap=True draws single rows; use bootstrap=False."
                )
            return EnsembleHoldOut(groups=group_numbers(asked.groups, len(y)))
        if asked.X_val is None:
            return EnsembleHoldOut()
        _refuse_chunks(asked.X_val)
        X, targets = read_further(self, *asked[:3], **checks)
        sample_weight, _ = checked_weights(asked.sample_weight_val, X)
        if targets.size != len(targets) * (y.size // len(y)):
            raise ValueError("y_val must have as many columns as y.")
        return EnsembleHoldOut(rows=(X, targets.reshape(-1, *y.shape[1:]), sample_weight))

    def _learn_on(self, X: MatrixLike, y: ArrayLike | None, sample_weight: ArrayLike | None, **checks: Any) -> None:
        """Let further rows join every member; if they are refused, nothing changes."""
        _refuse_chunks(X)
        X, y = read_further(self, X, y, sample_weight, **checks)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64) / self._weight_unit
        members = [copy(member) for member in self.members_]
        for member, features in zip(members, self.features_, strict=True):
            member.partial_fit(select_columns(X, features), y, sample_weight=weights)
        self.members_ = members
        self.n_rows_seen_ += int(np.count_nonzero(weights))

    def _validated_rows(self, X: MatrixLike) -> Any:
        """The rows to predict, as an array or a sparse matrix."""
        check_is_fitted(self, "members_")
        return read_rows(self, X)

    def _mean_and_spread(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Weighted mean and standard deviation of the members' predictions for validated rows."""
        return mean_and_spread(self._responses(X), self.weights_)

    def _responses(self, X: Any) -> np.ndarray:
        """The predictions of each member for validated rows: shape (n_members, n_samples, ...)."""
        return np.stack(
            [
                getattr(member, self._response)(select_columns(X, features))
                for member, features in zip(self.members_, self.features_, strict=True)
            ]
        )


def _refuse_chunks(X: object) -> None:
    """Raise TypeError for rows that are not in memory."""
    if isinstance(X, Chunks | str | Path):
        raise TypeError(
            "Ensembles are grown on rows in memory: read them first, or give files and chunks to SCNRegressor or "
            "SCNClassifier."
        )
    if is_dask(X):
        raise TypeError(
            "Ensembles are grown on rows in memory: compute() them first, and grow the members over the cluster with "
            'joblib.parallel_config(backend="dask"); or give Dask collections to SCNRegressor or SCNClassifier.'
        )
