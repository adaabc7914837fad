"""Regression with growing networks: stochastic configuration networks and the two baselines of the paper."""

from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval

from skscn.estimators.base import CONTRACTIONS, SCOPES, BaseSCN, GrowingNetwork, lazily
from skscn.estimators.parameters import (
    ActivationLike,
    Auto,
    CategoricalFeatures,
    Criterion,
    HeldOut,
    MatrixLike,
    PathLike,
    ScalingName,
    Seed,
    TrainingRows,
    document,
)
from skscn.fit.data import NOTHING_ASKED, Asked
from skscn.fit.plan import Recipe
from skscn.fit.trainer import fit_network
from skscn.fit.updating import check_can_learn_on, learn_on
from skscn.fit.validation import held_out_data, training_data
from skscn.fit_context import fit_context
from skscn.search import Configuration, Free, Quickprop


class NetworkRegressor(RegressorMixin, MultiOutputMixin, GrowingNetwork):
    """Base of the regressors."""

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: TrainingRows,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: TrainingRows | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Grow a network on rows X and targets y.

        Parameters
        ----------
        X : array-like, DataFrame, Arrow table, sparse matrix, path, Chunks, or Dask array or dataframe
            Of shape (n_samples, n_features). Columns of text, categories and dates are encoded, and missing numbers
            filled in; see `encoder_`. A path of a Parquet, CSV, TSV or Arrow file, or of a folder of them, is read
            chunk by chunk; so are
            :class:`~skscn.Chunks`. If they do not fit in memory they are kept in temporary files. Dask collections
            stay on their workers.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The name of the target column, or a list of names, with a path or a Dask dataframe; nothing with Chunks.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; rows of weight 0 are ignored. With a Dask dataframe it can be the name of a column.
        X_val, y_val : as X and y, default=None
            Rows for early stopping, which the network is not trained on. By default a part of the training rows is held
            out, and used for the final output weights.
        sample_weight_val : array-like of shape (n_val_samples,), default=None
            Their weights.
        groups : array-like of shape (n_samples,), default=None
            Early stopping holds out whole groups of rows with the same value, for rows of which new groups are to be
            predicted, such as patients, machines or batches.

        Returns
        -------
        self
        """
        asked = Asked(X_val, y_val, sample_weight_val, groups)
        return self._grown(Recipe.of(self), X, y, sample_weight, asked)

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
            return self._grown(recipe, X, y, sample_weight, updatable=True)
        learn_on(self, X, y, sample_weight, _numbers, multi_output=True, y_numeric=True)
        return self

    def _grown(
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
        rows = self._validated(X)
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
        rows = self._validated(X)
        yield from self.network_.staged_predict(rows)


def _numbers(y: np.ndarray) -> tuple[np.ndarray, None]:
    """Targets of shape (n, m)."""
    return np.asarray(y, dtype=np.float64).reshape(len(y), -1), None


@document(
    summary="Regression with a stochastic configuration network.",
    story="""
A network with one hidden layer that is built node by node: random hidden nodes are drawn from small and large scopes,
the best one that satisfies a supervisory inequality is added, so that the error provably decreases, and the output
weights are re-evaluated.
""",
    attributes="""
row_weights_ : ndarray of shape (n_samples,)
    With a loss that weighs rows ("huber", "welsch", "bisquare", "kde"): what each training row counted for, 1 for an
    ordinary row, near 0 for an outlier, and 0 for a row of sample weight 0. Model files do not contain them.
""",
    examples="""
>>> from sklearn.datasets import load_diabetes
>>> from sklearn.model_selection import train_test_split
>>> from skscn import SCNRegressor
>>> X, y = load_diabetes(return_X_y=True)
>>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
>>> model = SCNRegressor(random_state=0).fit(X_train, y_train)
>>> model.score(X_test, y_test) > 0.2
True
""",
)
class SCNRegressor(NetworkRegressor, BaseSCN):
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseSCN._parameter_constraints,
        "quantile": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        algorithm: str = "SC-III",
        max_nodes: int | Auto = "auto",
        tol: float = 1e-4,
        max_candidates: int = 200,
        scopes: Sequence[float] = SCOPES,
        contractions: Sequence[float] = CONTRACTIONS,
        window: int = 15,
        nodes_per_step: int | Auto = "auto",
        configuration: str | Configuration = "polished",
        direct_link: bool | Auto = "auto",
        alpha: float | Literal["auto", "gcv"] = "auto",
        loss: str = "squared",
        quantile: float = 0.5,
        layer: str = "dense",
        activation: ActivationLike = "sigmoid",
        categorical_features: CategoricalFeatures = "from_dtype",
        scaling: ScalingName | Auto = "auto",
        early_stopping: Criterion | Auto = "auto",
        validation_fraction: float | Auto = "auto",
        validation: HeldOut = "random",
        n_iter_no_change: int = 25,
        warm_start: bool = False,
        checkpoint: PathLike | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        super().__init__(
            algorithm=algorithm,
            max_nodes=max_nodes,
            tol=tol,
            max_candidates=max_candidates,
            scopes=scopes,
            contractions=contractions,
            window=window,
            nodes_per_step=nodes_per_step,
            configuration=configuration,
            direct_link=direct_link,
            alpha=alpha,
            loss=loss,
            layer=layer,
            activation=activation,
            categorical_features=categorical_features,
            scaling=scaling,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            validation=validation,
            n_iter_no_change=n_iter_no_change,
            warm_start=warm_start,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.quantile = quantile


@document(
    summary="Regression with an incremental random vector functional-link network: the baseline IRVFL of the paper.",
    story="""
Every node is one random draw from a fixed scope, and only its own output weight is evaluated. Without supervision
such a network need not approximate its target, however large it grows (Theorem 4).
""",
    examples="""
>>> from skscn import IRVFLRegressor, SCNRegressor
>>> from skscn.datasets import make_db1
>>> db1 = make_db1(random_state=0)
>>> free = IRVFLRegressor(max_nodes=50, random_state=0).fit(db1.data, db1.target)
>>> supervised = SCNRegressor(max_nodes=50, random_state=0).fit(db1.data, db1.target)
>>> free.score(db1.test_data, db1.test_target) < 0.1 < 0.9 < supervised.score(db1.test_data, db1.test_target)
True
""",
)
class IRVFLRegressor(NetworkRegressor):
    _implied: ClassVar[dict[str, Any]] = {**GrowingNetwork._implied, "algorithm": "SC-I"}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GrowingNetwork._parameter_constraints,
        "scope": [Interval(Real, 0, 1e6, closed="right")],
    }

    def __init__(
        self,
        max_nodes: int = 100,
        tol: float = 1e-4,
        scope: float = 1.0,
        activation: ActivationLike = "sigmoid",
        categorical_features: CategoricalFeatures = "from_dtype",
        scaling: ScalingName = "minmax",
        early_stopping: Criterion = False,
        validation_fraction: float = 0.1,
        validation: HeldOut = "random",
        n_iter_no_change: int = 10,
        warm_start: bool = False,
        checkpoint: PathLike | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        super().__init__(
            max_nodes=max_nodes,
            tol=tol,
            activation=activation,
            categorical_features=categorical_features,
            scaling=scaling,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            validation=validation,
            n_iter_no_change=n_iter_no_change,
            warm_start=warm_start,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.scope = scope

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # This baseline is meant to show how badly it learns.
        tags.regressor_tags.poor_score = True
        return tags

    def _configuration(self) -> Configuration:
        return Free((self.scope,))


@document(
    summary="Regression with a constructive network trained by quickprop: the baseline MQ of the paper.",
    story="""
The weights and bias of each node are found by quickprop ascent on ⟨e, h⟩²/‖h‖² from one random start, as in Kwok and
Yeung's constructive networks (IEEE Transactions on Neural Networks 8 (5), 1997, 1131-1148); then all output weights are
solved for by least squares.
""",
    examples="""
>>> from skscn import ModifiedQuickpropRegressor
>>> from skscn.datasets import make_db1
>>> db1 = make_db1(random_state=0)
>>> model = ModifiedQuickpropRegressor(max_nodes=10, random_state=0).fit(db1.data, db1.target)
>>> model.score(db1.test_data, db1.test_target) > 0.5
True
""",
)
class ModifiedQuickpropRegressor(NetworkRegressor):
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GrowingNetwork._parameter_constraints,
        "scope": [Interval(Real, 0, 1e6, closed="right")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        max_nodes: int = 100,
        tol: float = 1e-4,
        scope: float = 1.0,
        learning_rate: float = 0.05,
        max_iter: int = 200,
        patience: int = 8,
        activation: ActivationLike = "sigmoid",
        categorical_features: CategoricalFeatures = "from_dtype",
        scaling: ScalingName = "minmax",
        early_stopping: Criterion = False,
        validation_fraction: float = 0.1,
        validation: HeldOut = "random",
        n_iter_no_change: int = 10,
        warm_start: bool = False,
        checkpoint: PathLike | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        super().__init__(
            max_nodes=max_nodes,
            tol=tol,
            activation=activation,
            categorical_features=categorical_features,
            scaling=scaling,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            validation=validation,
            n_iter_no_change=n_iter_no_change,
            warm_start=warm_start,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.scope = scope
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.patience = patience

    def _configuration(self) -> Configuration:
        return Quickprop(
            (self.scope,), learning_rate=self.learning_rate, max_iter=self.max_iter, patience=self.patience
        )
