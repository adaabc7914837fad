"""Regression with an ensemble, with prediction intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from skscn.adaptive_intervals import check_coverage
from skscn.checks import fit_context
from skscn.declarations import attribute, parameter
from skscn.estimators.base import GrowingNetwork, lazily
from skscn.estimators.ensemble._base import GET_OUT_OF_BAG_ROWS, BaseEnsemble
from skscn.estimators.ensemble.members import DistinctRows, select_columns
from skscn.estimators.ensemble.out_of_bag import (
    Conformal,
    OutOfBag,
    by_blocks,
    learn_conformal,
    mean_and_spread,
    positive,
    weighted_mean,
)
from skscn.estimators.parameters import MatrixLike
from skscn.estimators.regressor import IRVFLRegressor, ModifiedQuickpropRegressor, SCNRegressor
from skscn.fit.data import ArrayData
from skscn.fit.plan import FEW_ROWS, Recipe
from skscn.fit.trainer import found_jumps
from skscn.fit.validation import read_rows
from skscn.jumps import Jumps
from skscn.losses import OUTLIER


class SCNEnsembleRegressor(RegressorMixin, MultiOutputMixin, BaseEnsemble):
    """Regression with an ensemble of stochastic configuration networks, with prediction intervals.

    The members differ in their random draws, in the rows that early stopping holds out, and, optionally, in bootstrap
    rows and columns. Unless rows are in order of time, every third member has scaling="quantile" where the base
    estimator has "auto", its default configuration and squared error. Rows that a member has not seen are *out of bag*;
    predictions for them, from those members that have not seen them, are an honest estimate of the error. After these
    predictions, the output weights of a member are those of all its rows, those it has held out included, if the loss
    is squared error.

    Attributes
    ----------
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Predictions by the members that have not seen a row; NaN if all have seen it.
    oob_score_ : float
        R² of the out-of-bag predictions; NaN with fewer than two of them.
    row_weights_ : ndarray of shape (n_samples,)
        If the members have a loss that weighs rows: what each row counts for, on average over the members; 1 for an
        ordinary row, near 0 for an outlier. Outliers then set neither the weights of the members nor the intervals,
        which then hold the given share of *ordinary* rows; `oob_score_` counts all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skscn import SCNEnsembleRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SCNEnsembleRegressor(n_members=5, random_state=0).fit(X[:300], y[:300])
    >>> model.oob_score_ > 0.3
    True
    >>> lower, upper = model.predict_interval(X[300:], coverage=0.9)
    >>> bool(0.8 < ((lower <= y[300:]) & (y[300:] <= upper)).mean())
    True
    """

    estimator: SCNRegressor | IRVFLRegressor | ModifiedQuickpropRegressor | None = parameter(
        default=None,
        constraint=[SCNRegressor, IRVFLRegressor, ModifiedQuickpropRegressor, None],
        text="""SCNRegressor, IRVFLRegressor, ModifiedQuickpropRegressor or None
        The base estimator; None means ``SCNRegressor(early_stopping=True, validation_fraction=0.2)``, with a fraction
        of 0.1 below 300 rows, unless these are in order of time. Its `random_state` and `n_jobs` are ignored. If there
        are too few rows to hold any out, a member is grown without early stopping.""",
    )
    oob_prediction_: np.ndarray = attribute()
    row_weights_: np.ndarray = attribute()
    _learn_conformal: partial[Conformal | None] | None = attribute(None)
    _checks: ClassVar[dict[str, Any]] = {"multi_output": True, "y_numeric": True}
    _quantiles_every = 3

    def _default_estimator(self, n_rows: int | None = None) -> SCNRegressor:
        few = n_rows is not None and n_rows < FEW_ROWS and self.validation == "random"
        return SCNRegressor(early_stopping=True, validation_fraction=0.1 if few else 0.2)

    # Members check their own parameters.
    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(self, X: MatrixLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the members on the first rows; let further rows join all of them.

        The first call is a :meth:`fit`. Further calls add neither members nor nodes: the output weights of each member
        become those of least squares over the first rows, with bootstrap=True those that it has drawn, and all further
        rows, each of which counts once. What was
        learnt from out-of-bag rows stays that of the first call: the weights of the members, `oob_score_`, and the
        widths of intervals, which are then too wide if the error has decreased, and too narrow if the data have
        changed.

        Parameters
        ----------
        X : array-like, DataFrame, Arrow table or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in the same unit in all calls; None is 1 for each row.

        Returns
        -------
        self
        """
        if not hasattr(self, "members_"):
            return self._grow("partial_fit", X, y, sample_weight)
        return self._learn_on(X, y, sample_weight)

    def _number_targets(self, y: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
        return y

    def _targets(self, data: DistinctRows) -> tuple[np.ndarray, np.ndarray]:
        targets = np.asarray(data.y, dtype=np.float64).reshape(len(data.y), -1)
        return targets, np.zeros(len(targets), dtype=int)

    def _found_jumps(self, estimator: GrowingNetwork, data: DistinctRows) -> Jumps | None:
        # Members of ordered rows must not learn from later ones.
        if self.validation == "last":
            return None
        estimator._validate_params()
        rows = slice(data.n_training)
        return found_jumps(
            Recipe.of(estimator), ArrayData.regression(data.X[rows], data.y[rows], data.sample_weight[rows])
        )

    def _score(self, data: DistinctRows, out_of_bag: OutOfBag) -> None:
        combined = out_of_bag.combined(self.weights_)
        self.oob_prediction_ = combined[data.inverse].reshape(-1, *data.y.shape[1:])
        self.oob_score_ = _r2(out_of_bag, combined)
        ordinary = self._ordinary(out_of_bag, data)
        # Intervals are learnt when they are first needed.
        self.__dict__.pop("_conformal", None)
        workers = self._workers(out_of_bag.predictions.size)
        about = data.X, ordinary, self.weights_, self.members_, workers
        self._learn_conformal = partial(learn_conformal, *about)
        self.__dict__.pop("row_weights_", None)
        if self.members_[0].network_.loss.weighs:
            self.row_weights_ = self._member_weights(data.X, out_of_bag.targets)[data.inverse]

    def _ordinary(self, out_of_bag: OutOfBag, data: DistinctRows) -> OutOfBag:
        """Outliers neither weight the members nor set the intervals."""
        if not self.members_[0].network_.loss.weighs:
            return out_of_bag
        # Weights that fall off gradually would make the tails of ordinary residuals too light.
        ordinary = self._member_weights(data.X, out_of_bag.targets) >= OUTLIER
        weights = out_of_bag.sample_weight * (ordinary if ordinary.any() else 1.0)
        return replace(out_of_bag, sample_weight=weights)

    def _member_weights(self, X: Any, targets: np.ndarray) -> np.ndarray:
        """What rows count for, on average over the members."""
        weights = [
            member.network_.loss.row_weights(targets, member.network_.link(select_columns(X, features)))
            for member, features in zip(self.members_, self.features_, strict=True)
        ]
        return np.asarray(np.mean(weights, axis=0))

    @overload
    def predict(self, X: MatrixLike, return_std: Literal[False] = False) -> np.ndarray: ...

    @overload
    def predict(self, X: MatrixLike, return_std: Literal[True]) -> tuple[np.ndarray, np.ndarray]: ...

    @lazily
    def predict(self, X: MatrixLike, return_std: bool = False) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Predict the target of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        return_std : bool, default=False
            Whether to return the spread of the members as well.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The weighted mean of the members' predictions.
        std : ndarray of the shape of y
            Their standard deviation, if ``return_std``. It measures how much the members disagree, without the noise
            of the target; :meth:`predict_interval` includes both.
        """
        if return_std:
            mean, spread = by_blocks(read_rows(self, X), self._mean_and_spread)
            return mean, spread
        (mean,) = by_blocks(read_rows(self, X), lambda rows: (weighted_mean(self._responses(rows), self.weights_),))
        return mean

    @lazily
    def predict_interval(self, X: MatrixLike, coverage: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Predict an interval for the target of each row.

        The interval is the prediction ± q·s(x). The local scale s(x) is the size of the residual that small networks
        have learnt to expect at x, plus a share of the members' spread, plus a constant; q is the quantile of the
        absolute out-of-bag residuals over s, of the training rows, at rank ⌈(n + 1)·coverage⌉. The more coverage, the
        wider. The small networks are grown in the first call, or when the model is saved or pickled.

        If the residuals were those of a fixed model on new rows, the interval would hold the target with at least this
        probability, on average over rows like the training rows, whatever their distribution (split conformal
        prediction). Here this is approximate. An out-of-bag prediction comes from some of the members and a new one
        from all, which is corrected by the members' variance; early stopping has chosen the number of nodes on some
        of these rows, which is counted as one degree of freedom. In trials on unseen rows the mean coverage at
        90 % was 88 to 92 %, and up to 98 % for few rows with hardly any noise, where members differ more than the
        target does. With several outputs the coverage is that of each of them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        coverage : float, default=0.9
            Share of the targets that should lie within.

        Returns
        -------
        lower, upper : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Infinite where there are too few out-of-bag rows for such a coverage.
        """
        check_coverage(coverage)
        conformal = self._intervals("predict_interval")
        scale, quantile = conformal.scale, conformal.quantile(coverage)

        def interval(rows: Any) -> tuple[np.ndarray, np.ndarray]:
            mean, spread = self._mean_and_spread(rows)
            half = (quantile * scale.at(rows, spread.reshape(len(spread), -1))).reshape(mean.shape)
            return np.maximum(mean - half, self._floor(mean.ndim)), mean + half

        lower, upper = by_blocks(read_rows(self, X), interval)
        return lower, upper

    @lazily
    def predict_quantiles(self, X: MatrixLike, quantiles: Sequence[float] = (0.05, 0.5, 0.95)) -> np.ndarray:
        """Predict quantiles of the target of each row, which never cross.

        The prediction plus s(x) times a quantile of the signed out-of-bag residuals in units of s, the local scale of
        :meth:`predict_interval`. So the distribution of the target given the inputs is taken to have the same shape
        everywhere, with another location and scale; ``SCNRegressor(loss="quantile")`` learns each quantile by itself
        instead.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        quantiles : sequence of float, default=(0.05, 0.5, 0.95)
            Between 0 and 1, both excluded.

        Returns
        -------
        y : ndarray of shape (n_samples, n_quantiles) or (n_samples, n_quantiles, n_outputs)
            Infinite where there are too few out-of-bag rows for such a quantile.
        """
        shares = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if shares.ndim > 1 or not ((shares > 0.0) & (shares < 1.0)).all():
            raise ValueError(
                f"quantiles must lie between 0 and 1, both excluded, for example (0.05, 0.95); got {quantiles!r}."
            )
        conformal = self._intervals("predict_quantiles")
        if conformal.above is None:
            raise ValueError(
                "This model is of version 0.1, which kept no signs of residuals; fit it again for quantiles."
            )
        factors = np.array([conformal.residual_quantile(float(share)) for share in shares])

        def predict(rows: Any) -> tuple[np.ndarray]:
            mean, spread = self._mean_and_spread(rows)
            scale = conformal.scale.at(rows, spread.reshape(len(spread), -1))
            moves = factors * scale[:, np.newaxis]
            found = mean[:, np.newaxis] + (moves if mean.ndim == 2 else moves[:, :, 0])
            return (np.maximum(found, self._floor(mean.ndim)),)

        (found,) = by_blocks(read_rows(self, X), predict)
        return found

    def _mean_and_spread(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Weighted mean and standard deviation of the members' predictions for validated rows."""
        return mean_and_spread(self._responses(X), self.weights_)

    def _floor(self, dimensions: int) -> Any:
        """0 for outputs that no member predicts to be negative, −∞ for others."""
        never_negative = np.all([member.network_.never_negative for member in self.members_], axis=0)
        floor = np.where(never_negative, 0.0, -np.inf)
        return floor if dimensions == 2 else floor[0]

    @cached_property
    def _conformal(self) -> Conformal | None:
        """What intervals need, which is learnt here, and is an ordinary attribute from then on."""
        learn = self._learn_conformal
        # Several threads may come here; the one that has learnt leaves nothing to learn from.
        if learn is not None:
            self.__dict__["_conformal"] = learn()
            self.__dict__.pop("_learn_conformal", None)
        learnt: Conformal | None = self.__dict__["_conformal"]
        return learnt

    def __getstate__(self) -> Any:
        """What was learnt, intervals included, without the training rows."""
        if self._learn_conformal is None:
            return super().__getstate__()
        learnt = {"_conformal": self._conformal}
        return {**super().__getstate__(), **learnt}

    def _intervals(self, method: str) -> Conformal:
        check_is_fitted(self, "members_")
        if self._conformal is None:
            raise ValueError(f"{method} learns from out-of-bag rows, but there are none; {GET_OUT_OF_BAG_ROWS}.")
        return self._conformal


def _r2(out_of_bag: OutOfBag, combined: np.ndarray) -> float:
    rows = out_of_bag.rows
    if len(rows) < 2:
        return np.nan
    targets = out_of_bag.targets[rows]
    units = positive(np.abs(targets).max(axis=0))
    return float(r2_score(targets / units, combined[rows] / units, sample_weight=out_of_bag.sample_weight[rows]))
