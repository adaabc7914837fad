"""What ensembles of regressors and classifiers share: parameters, growth of the members and their combination."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils import Tags, check_scalar
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from skscn.checks import fit_context, is_dask
from skscn.declarations import Estimator, attribute, parameter
from skscn.estimators.base import GrowingNetwork, network_attributes
from skscn.estimators.ensemble.compact import imitate
from skscn.estimators.ensemble.members import (
    DistinctRows,
    MemberPlan,
    Workers,
    bootstrap_counts,
    check_weights,
    distinct_rows,
    grow_member,
    member_seeds,
    member_tasks,
    resolve_members,
    select_columns,
)
from skscn.estimators.ensemble.out_of_bag import OutOfBag, nonnegative_weights
from skscn.estimators.parameters import (
    AT_LEAST_1,
    CategoricalFeatures,
    HeldOut,
    MatrixLike,
    NetworkParameters,
    Seed,
)
from skscn.fit.data import HELD_OUT, NO_VALIDATION_ROWS, ValidationArguments
from skscn.fit.plan import signs_of
from skscn.fit.validation import check_validation_arguments, group_numbers, read_further, read_rows, read_training
from skscn.growth import StopReason
from skscn.jumps import Jumps
from skscn.network import feature_importances, sampled
from skscn.rows import Chunks
from skscn.scaling import medians_of
from skscn.tables.row_encoder import RowEncoder

GET_OUT_OF_BAG_ROWS = "use bootstrap=True or an estimator with early_stopping=True, and more rows or members"
# With validation="last" a member holds out between half and one and a half times its validation_fraction.
_SHARES_HELD_OUT = (0.5, 1.5)


class EnsembleHoldOut(NamedTuple):
    """What ``fit`` was given for early stopping of the members: groups of the rows, or further rows with weights."""

    groups: np.ndarray | None = None
    rows: tuple[Any, np.ndarray, np.ndarray] | None = None


class BaseEnsemble(Estimator, ABC):
    """Parameters, growth of the members and their combination.

    Attributes
    ----------
    members_ : list of estimators
        The networks. Unless validation="last" they were grown on the distinct rows in a different order, so use
        `out_of_bag_` rather than their `held_out_`.
    features_ : list of ndarray of int
        The columns of each member, as they are encoded.
    weights_ : ndarray of shape (n_members,)
        The weights of the members; their sum is 1.
    feature_importances_ : ndarray of shape (n_features,)
        The weighted mean of the members' importances, which are 0 for columns that a member does not have. Their sum is
        1. If members have none, an AttributeError says why.
    out_of_bag_ : ndarray of bool, shape (n_members, n_samples)
        Which rows each member has not seen.
    n_rows_seen_ : int
        Number of rows of positive weight that `fit` and `partial_fit` were given.
    encoder_ : RowEncoder or None
        What turns rows into the numbers that the members see, as in :class:`SCNRegressor`.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X has them.
    """

    estimator: GrowingNetwork | None = parameter(
        default=None,
        constraint=[GrowingNetwork, None],
        text="""network or None
        The base estimator. Its `random_state` and `n_jobs` are ignored. If there are too few rows to hold any out, a
        member is grown without early stopping.""",
    )
    n_members: int | Literal["auto"] = parameter(
        default="auto",
        constraint=[AT_LEAST_1, StrOptions({"auto"})],
        text="""int or "auto"
        Number of networks. "auto" is 20 below 300 rows, 10 below 1,000 (of classes 10,000), 6 below 100,000, and 5
        beyond: the more rows, the less networks differ, and the more a further one costs.""",
    )
    bootstrap: bool = parameter(
        default=False,
        constraint=["boolean"],
        text="""bool
        Whether each member is grown on a bootstrap sample: n_samples rows drawn with replacement, within each class if
        there are classes, so that every member is trained on every class.""",
    )
    max_features: float = parameter(
        default=1.0,
        constraint=[Interval(Real, 0, 1, closed="right")],
        text="""float
        Share of the columns that each member gets, drawn without replacement; at least one column.""",
    )
    combination: Literal["average", "nonnegative"] = parameter(
        default="average",
        constraint=[StrOptions({"average", "nonnegative"})],
        text="""{"average", "nonnegative"}
        How members are weighted: equally, or by nonnegative weights with sum 1 that minimise the squared error on
        out-of-bag rows, of classes the Brier score of the arithmetic mean of their probabilities.""",
    )
    validation: HeldOut = parameter(
        default="random",
        constraint=[StrOptions(set(HELD_OUT))],
        text="""{"random", "last"}
        Which rows the early stopping of the members holds out. "last" is for rows in order of time: each member is
        grown on the rows up to a different time, between half and one and a half times `validation_fraction` before
        the end, and only later rows are out of bag. So `oob_score_`, `combination` and prediction intervals are based
        on rows later than those that a member was trained on. In the end, older rows count for less in output weights
        where that predicts later training rows better, in regression under squared error.""",
    )
    categorical_features: CategoricalFeatures = parameter(
        default="from_dtype",
        constraint=NetworkParameters._parameter_constraints["categorical_features"],
        text="""\
        "from_dtype", list of str or int, mask, or None
        Which columns hold categories, as in :class:`SCNRegressor`. Tables are encoded, and missing numbers filled in,
        once for all members, whose own parameter is ignored.""",
    )
    n_jobs: int | None = parameter(
        default=None,
        constraint=[None, Integral],
        text="""int or None
        Threads or, in long fits, processes that grow members; None means 1, −1 all processors. The ensemble does not
        depend on it.""",
    )
    random_state: Seed = parameter(
        default=None,
        constraint=["random_state"],
        text="""int, RandomState instance or None
        Seed of the draws; pass an int for reproducible results.""",
    )
    verbose: int = parameter(
        default=0,
        constraint=["verbose"],
        text="""int
        1 or more shows how many members are finished.""",
    )

    # What is required of targets.
    _checks: ClassVar[dict[str, Any]]
    # One of this number of members maps its inputs to quantiles, so that members differ more.
    _quantiles_every: ClassVar[float] = np.inf
    members_: list[GrowingNetwork] = attribute()
    features_: list[np.ndarray] = attribute()
    weights_: np.ndarray = attribute()
    out_of_bag_: np.ndarray = attribute()
    oob_score_: float = attribute()
    n_rows_seen_: int = attribute()
    encoder_: RowEncoder | None = attribute(None)
    # The medians of inputs none of which was missing in training.
    _medians: np.ndarray | None = attribute(None)
    # The given weight that counts as 1.
    _weight_unit: float = attribute(1.0)
    # The training rows as members see them, and their weights; None in a model that was pickled or saved.
    _training: tuple[Any, np.ndarray] | None = attribute(None)

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
        return importances if self.encoder_ is None else self.encoder_.sum_by_column(importances)

    # Members check their own parameters.
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: MatrixLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Grow the members on rows X and targets y.

        Parameters
        ----------
        X : array-like, DataFrame, Arrow table or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Numbers for a regressor. For a classifier labels, or an indicator, 0 or 1, for each of several labels that a
            row may have.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; rows of weight 0 are ignored.
        X_val, y_val : as X and y, default=None
            Rows for early stopping, which no member is trained on. They are out of bag for all members, so
            `oob_score_` and prediction intervals are computed from them. By default each member holds out rows of its
            own.
        sample_weight_val : array-like of shape (n_val_samples,), default=None
            Their weights.
        groups : array-like of shape (n_samples,), default=None
            Members hold out whole groups of rows with the same value, for rows of which new groups are to be
            predicted, such as patients, machines or batches.

        Returns
        -------
        self
        """
        return self._grow("fit", X, y, sample_weight, ValidationArguments(X_val, y_val, sample_weight_val, groups))

    @abstractmethod
    def _default_estimator(self, n_rows: int | None = None) -> GrowingNetwork:
        """The default member, on this number of rows if it is known."""

    @abstractmethod
    def _number_targets(self, y: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
        """Targets that were given, as numbers, which are equal where targets are; ValueError if they cannot be used."""

    @abstractmethod
    def _targets(self, data: DistinctRows) -> tuple[np.ndarray, np.ndarray]:
        """What the members' predictions are compared with, and the stratum of each row, in which bootstraps draw."""

    @abstractmethod
    def _score(self, data: DistinctRows, out_of_bag: OutOfBag) -> None:
        """Set what is learnt from out-of-bag rows."""

    def _grow(
        self,
        method: str,
        X: MatrixLike,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        given: ValidationArguments = NO_VALIDATION_ROWS,
    ) -> Self:
        """Grow the members by this method, ``fit`` or ``partial_fit``, weight them, and set all attributes."""
        _refuse_chunks(X)
        rows, outputs, self.encoder_ = read_training(self, X, y, sample_weight, **self._checks)
        plain = self.encoder_ is None and isinstance(rows, np.ndarray)
        self._medians = medians_of(rows[sampled(len(rows))]) if plain else None
        weights, self._weight_unit = check_weights(sample_weight, rows)
        held_out = self._read_held_out(given, outputs)
        numbers = self._number_targets(outputs, weights)
        if self.validation == "last":
            data = DistinctRows(rows, outputs, weights, np.arange(len(outputs)), held_out.groups)
        else:
            data = distinct_rows(rows, outputs, numbers, weights, held_out.groups)
        if held_out.rows is not None:
            data = data.with_held_out(*held_out.rows)
        targets, strata = self._targets(data)
        estimator = self._template(len(outputs))
        n_members = resolve_members(self.n_members, len(outputs), classes=is_classifier(self))
        jumps = self._found_jumps(estimator, data)
        seeds = member_seeds(self.random_state, n_members)
        plans = [self._plan(*each, data, strata, jumps) for each in enumerate(seeds)]
        tasks = member_tasks(grow_member, [(estimator, data, plan, method) for plan in plans])
        grown = self._workers(targets.size * n_members).grow(tasks, n_members)
        predictions = np.stack([member.predictions for member in grown]).astype(np.float64)
        unseen = np.stack([member.unseen for member in grown])
        out_of_bag = OutOfBag(predictions.reshape(len(grown), *targets.shape), unseen, targets, data.sample_weight)
        self.members_ = [member.network for member in grown]
        self.features_ = [plans[member.number].features for member in grown]
        self.weights_ = self._combination_weights(self._ordinary(out_of_bag, data))
        self.out_of_bag_ = unseen[:, data.inverse]
        self.n_rows_seen_ = int(np.count_nonzero(data.sample_weight[data.inverse]))
        self._training = data.X, data.sample_weight
        self._score(data, out_of_bag)
        return self

    def _read_held_out(self, given: ValidationArguments, y: np.ndarray) -> EnsembleHoldOut:
        """What ``fit`` was given for early stopping of the members, for training rows with targets y."""
        check_validation_arguments(given)
        if given.groups is not None:
            if self.bootstrap:
                raise ValueError(
                    "groups keep whole groups out of bag, and bootstrap=True draws single rows; use bootstrap=False."
                )
            return EnsembleHoldOut(groups=group_numbers(given.groups, len(y)))
        if given.X_val is None:
            return EnsembleHoldOut()
        _refuse_chunks(given.X_val)
        X, targets = read_further(self, *given[:3], **self._checks)
        sample_weight, _ = check_weights(given.sample_weight_val, X)
        if targets.size != len(targets) * (y.size // len(y)):
            raise ValueError("y_val must have as many columns as y.")
        return EnsembleHoldOut(rows=(X, targets.reshape(-1, *y.shape[1:]), sample_weight))

    def _template(self, n_rows: int) -> GrowingNetwork:
        """The member to clone, with the ensemble's way of holding out rows."""
        estimator = self._default_estimator(n_rows) if self.estimator is None else self.estimator
        if estimator.validation != "random" and estimator.validation != self.validation:
            raise ValueError(
                f"The members of this ensemble have validation={estimator.validation!r}; give it to the ensemble as "
                f"well: {type(self).__name__}(estimator, validation={estimator.validation!r})."
            )
        # Members get rows that are encoded.
        template: GrowingNetwork = clone(estimator).set_params(validation=self.validation, categorical_features=None)
        if template.monotone is not None:
            names, encoder = getattr(self, "feature_names_in_", None), self.encoder_
            width = self.n_features_in_ if encoder is None else encoder.width
            template.set_params(monotone=signs_of(template.monotone, width, names, encoder))
        return template

    def _found_jumps(self, estimator: GrowingNetwork, data: DistinctRows) -> Jumps | None:
        """The jumps of the function, which are found once for all members; None if each is to find its own."""
        return None

    def _plan(self, number: int, seed: int, data: DistinctRows, strata: np.ndarray, jumps: Jumps | None) -> MemberPlan:
        """A member's own draws. They depend only on its seed, so the first members do not depend on n_members."""
        rng = np.random.default_rng(seed)
        n_features = data.X.shape[1]
        size = max(1, round(self.max_features * n_features))
        features = np.sort(rng.choice(n_features, size, replace=False))
        drawn = (data.sample_weight > 0) & (np.arange(len(data.y)) < data.n_training)
        counts = bootstrap_counts(strata, drawn, rng) if self.bootstrap else None
        # Windows of different lengths give residuals at different distances from the training rows.
        stretch = rng.uniform(*_SHARES_HELD_OUT) if self.validation == "last" else 1.0
        own_jumps = None if jumps is None else jumps.among(features)
        # Quantiles do not extrapolate, as rows in order of time may need.
        by_quantiles = self.validation == "random" and number % self._quantiles_every == self._quantiles_every - 1
        return MemberPlan(number, seed, features, counts, stretch, by_quantiles, own_jumps)

    def _workers(self, n_targets: int) -> Workers:
        return Workers(self.n_jobs, self.verbose, n_targets)

    def _ordinary(self, out_of_bag: OutOfBag, data: DistinctRows) -> OutOfBag:
        """The out-of-bag rows, each with what it counts for if some look like outliers."""
        return out_of_bag

    def _combination_weights(self, out_of_bag: OutOfBag) -> np.ndarray:
        n_members = len(out_of_bag.predictions)
        equal = np.full(n_members, 1.0 / n_members)
        if self.combination == "average":
            return equal
        if not out_of_bag.rows.size:
            raise ValueError(
                'combination="nonnegative" weights the members by their errors on out-of-bag rows, but there are none; '
                f'{GET_OUT_OF_BAG_ROWS}, or combination="average".'
            )
        return nonnegative_weights(out_of_bag.errors(), equal)

    def _learn_on(self, X: MatrixLike, y: ArrayLike | None, sample_weight: ArrayLike | None) -> Self:
        """Let further rows join every member; if they are refused, nothing changes."""
        _refuse_chunks(X)
        X, y = read_further(self, X, y, sample_weight, **self._checks)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64) / self._weight_unit
        members = [copy(member) for member in self.members_]
        for member, features in zip(members, self.features_, strict=True):
            member.partial_fit(select_columns(X, features), y, sample_weight=weights)
        self.members_ = members
        self.n_rows_seen_ += int(np.count_nonzero(weights))
        return self

    def compact(self, max_nodes: int = 200, X: MatrixLike | None = None) -> GrowingNetwork:
        """Return one network that imitates the ensemble, for fast predictions and small devices.

        Its nodes are chosen among those of the members, one by one, such that together they reproduce the outputs of
        the ensemble on at most 5000 of the training rows, and then polished. Fewer than 25 rows for each node are
        completed by points between neighbouring rows, for which the ensemble predicts as well. Output weights are those
        of least squares, regularised by generalised cross-validation. The network predicts, is saved and is exported
        like any other, but further rows cannot join it, and it has no prediction intervals.

        Parameters
        ----------
        max_nodes : int, default=200
            The largest number of nodes.
        X : array-like, DataFrame, Arrow table or sparse matrix of shape (n_samples, n_features), default=None
            Rows on which to imitate the ensemble. By default the training rows, which a model keeps until it is
            saved or pickled.

        Returns
        -------
        model : estimator of the kind of the members
            Fitted. Errors in its `history_` are differences from the ensemble's outputs.
        """
        check_is_fitted(self, "members_")
        check_scalar(max_nodes, "max_nodes", Integral, min_val=1)
        if X is not None:
            rows = read_rows(self, X)
            weights = np.ones(rows.shape[0])
        elif self._training is not None:
            rows, weights = self._training
        else:
            raise ValueError("A model from a file has no training rows: give compact rows like those, as X.")
        networks = [member.network_ for member in self.members_]
        network, history = imitate(networks, self.features_, self.weights_, rows, weights, max_nodes)
        parameters = {"max_nodes": max_nodes, "categorical_features": self.categorical_features, "checkpoint": None}
        model = self._template(self.n_rows_seen_).set_params(**parameters)
        shared = ("n_features_in_", "feature_names_in_", "_medians", "n_rows_seen_", "_weight_unit")
        few = sampled(rows.shape[0])
        learnt = {name: vars(self)[name] for name in shared if name in vars(self)}
        learnt |= network_attributes(network, history, self.encoder_, np.zeros(0, dtype=int), seed=0) | {
            "stop_reason_": str(StopReason.MAX_NODES),
            "_fingerprint": None,
            "_feature_importances": feature_importances(network, rows[few], weights[few]),
        }
        for name, value in learnt.items():
            setattr(model, name, value)
        return model

    def __getstate__(self) -> Any:
        """What was learnt, without the training rows."""
        return {name: value for name, value in super().__getstate__().items() if name != "_training"}

    def _responses(self, X: Any) -> np.ndarray:
        """The predictions of each member for validated rows: shape (n_members, n_samples, ...)."""
        X = X if sparse.issparse(X) else np.asfortranarray(X)
        pairs = zip(self.members_, self.features_, strict=True)
        return np.stack([member._response(select_columns(X, features)) for member, features in pairs])


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
