"""Regression with one network: stochastic configuration, and the paper's two baselines."""

from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from skscn.checks import fit_context
from skscn.declarations import attribute, constant, parameter
from skscn.estimators.base import GrowingNetwork, lazily
from skscn.estimators.parameters import AT_LEAST_1, Criterion, MatrixLike, ScalingName, TrainingRows
from skscn.fit.data import NOTHING_ASKED, Asked
from skscn.fit.plan import Recipe
from skscn.fit.trainer import fit_network
from skscn.fit.updating import check_can_learn_on, learn_on
from skscn.fit.validation import held_out_data, read_rows, training_data
from skscn.losses import LOSSES
from skscn.search import Configuration, Free, Quickprop


class NetworkRegressor(RegressorMixin, MultiOutputMixin, GrowingNetwork):
    """Base of the regressors."""

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: TrainingRows, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Grow a network on the first rows; let further rows join it.

        The first call is a :meth:`fit`. Further calls add no nodes: the output weights become those of least squares
        over all rows seen, with the ridge of the first call. An average over numbers of nodes stays one, with the
        shares that it had. Neither the order of the rows nor the size of the parts matters.
        It can follow :meth:`fit` as well. Algorithms that leave older output weights as they are evaluate all of them
        once rows join.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), path or Chunks
            Files and chunks are read block by block. The first call accepts Dask collections as well.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            As in :meth:`fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in the same unit in all calls; None is 1 for each row.

        Returns
        -------
        self
        """
        if not hasattr(self, "network_"):
            recipe = Recipe.of(self)
            check_can_learn_on(recipe)
            return self._grow(recipe, X, y, sample_weight, updatable=True)
        learn_on(self, X, y, sample_weight, _numbers, multi_output=True, y_numeric=True)
        return self

    def _grow(
        self,
        recipe: Recipe,
        X: Any,
        y: Any,
        sample_weight: Any,
        asked: Asked = NOTHING_ASKED,
        *,
        updatable: bool = False,
    ) -> Self:
        checks: dict[str, Any] = {"multi_output": True, "y_numeric": True}
        with training_data(self, "regression", X, y, sample_weight, **checks) as data:
            hold_out = held_out_data(self, "regression", asked, data, **checks)
            fit_network(self, recipe, data, hold_out, updatable=updatable)
        return self

    @lazily
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the target of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        rows = read_rows(self, X)
        return self.network_.predict(rows, self.n_jobs)

    def staged_predict(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """Yield the predictions after each node, in one pass over the rows.

        With a loss that weighs rows, each row counts at every stage for what it does in the finished network, whose
        average over numbers of nodes is built up, nodes of earlier rounds first. Losses other than these and squared
        error have no staged predictions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Yields
        ------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        rows = read_rows(self, X)
        yield from self.network_.staged_predict(rows)


def _numbers(y: np.ndarray) -> tuple[np.ndarray, None]:
    """Targets of shape (n, m)."""
    return np.asarray(y, dtype=np.float64).reshape(len(y), -1), None


class SCNRegressor(NetworkRegressor):
    """Regression with a stochastic configuration network.

    A network with one hidden layer that is built node by node: random hidden nodes are drawn from small and large
    scopes, the best one that satisfies a supervisory inequality is added, so that the error provably decreases, and the
    output weights are re-evaluated.

    Attributes
    ----------
    row_weights_ : ndarray of shape (n_samples,)
        With a loss that weighs rows ("huber", "welsch", "bisquare", "kde"): what each training row counted for, 1 for
        an ordinary row, near 0 for an outlier, and 0 for a row of sample weight 0. Model files do not contain them.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import train_test_split
    >>> from skscn import SCNRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = SCNRegressor(random_state=0).fit(X_train, y_train)
    >>> model.score(X_test, y_test) > 0.2
    True
    """

    loss: str = parameter(
        default="squared",
        constraint=[StrOptions(LOSSES.keys())],
        text="""{"squared", "huber", "welsch", "bisquare", "kde", "absolute", "quantile", "poisson"}
        What is minimised. "huber" limits the influence of outliers, "welsch", "bisquare" and "kde" reject them; see
        `row_weights_`. "absolute" estimates the median, "quantile" another `quantile`, and "poisson" the mean of
        counts or rates, through a log link, with the exposure as sample weight.""",
    )
    quantile: float = parameter(
        default=0.5,
        constraint=[Interval(Real, 0, 1, closed="neither")],
        text="""float
        The quantile that loss="quantile" estimates, between 0 and 1.""",
    )
    row_weights_: np.ndarray = attribute()


class UnsupervisedRegressor(NetworkRegressor):
    """Base of the two baselines of the paper, whose nodes satisfy no inequality."""

    max_nodes: int = parameter(default=100)
    scope: float = parameter(
        default=1.0,
        constraint=[Interval(Real, 0, 1e6, closed="right")],
        text="""float
        λ: weights and biases are drawn uniformly from [−λ, λ].""",
    )
    algorithm: str = constant("SC-III")
    max_candidates: int = constant(1)
    scopes: Sequence[float] = constant(())
    contractions: Sequence[float] = constant(())
    window: int = constant(1)
    nodes_per_step: int = constant(1)
    configuration: str = constant("free")
    direct_link: bool = constant(False)
    alpha: float = constant(0.0)
    layer: str = constant("dense")
    scaling: ScalingName = parameter(default="minmax")
    early_stopping: Criterion = parameter(default=False)
    validation_fraction: float = parameter(default=0.1)
    n_iter_no_change: int = parameter(default=10)


class IRVFLRegressor(UnsupervisedRegressor):
    """Regression with an incremental random vector functional-link network: the baseline IRVFL of the paper.

    Every node is one random draw from a fixed scope, and only its own output weight is evaluated. Without supervision
    such a network need not approximate its target, however large it grows (Theorem 4).

    Examples
    --------
    >>> from skscn import IRVFLRegressor, SCNRegressor
    >>> from skscn.datasets import make_db1
    >>> db1 = make_db1(random_state=0)
    >>> free = IRVFLRegressor(max_nodes=50, random_state=0).fit(db1.data, db1.target)
    >>> supervised = SCNRegressor(max_nodes=50, random_state=0).fit(db1.data, db1.target)
    >>> free.score(db1.test_data, db1.test_target) < 0.1 < 0.9 < supervised.score(db1.test_data, db1.test_target)
    True
    """

    algorithm: str = constant("SC-I")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # This baseline is meant to show how badly it learns.
        tags.regressor_tags.poor_score = True
        return tags

    def _configuration(self) -> Configuration:
        return Free((self.scope,))


class ModifiedQuickpropRegressor(UnsupervisedRegressor):
    """Regression with a constructive network trained by quickprop: the baseline MQ of the paper.

    The weights and bias of each node are found by quickprop ascent on ⟨e, h⟩²/‖h‖² from one random start, as in Kwok
    and Yeung's constructive networks (IEEE Transactions on Neural Networks 8 (5), 1997, 1131-1148); then all output
    weights are solved for by least squares.

    Examples
    --------
    >>> from skscn import ModifiedQuickpropRegressor
    >>> from skscn.datasets import make_db1
    >>> db1 = make_db1(random_state=0)
    >>> model = ModifiedQuickpropRegressor(max_nodes=10, random_state=0).fit(db1.data, db1.target)
    >>> model.score(db1.test_data, db1.test_target) > 0.5
    True
    """

    configuration: str = constant("quickprop")
    learning_rate: float = parameter(
        default=0.05,
        constraint=[Interval(Real, 0, None, closed="neither")],
        text="""float
        Factor of the gradient step of quickprop.""",
    )
    max_iter: int = parameter(
        default=200,
        constraint=[AT_LEAST_1],
        text="""int
        The largest number of quickprop iterations for a node.""",
    )
    patience: int = parameter(
        default=8,
        constraint=[AT_LEAST_1],
        text="""int
        Iterations without progress before a node is finished.""",
    )

    def _configuration(self) -> Configuration:
        return Quickprop(
            (self.scope,), learning_rate=self.learning_rate, max_iter=self.max_iter, patience=self.patience
        )
