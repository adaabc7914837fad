"""What the networks share: fit, hidden outputs, importances, what a fit leaves behind; the base of the regressors."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial, wraps
from itertools import pairwise
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, MultiOutputMixin, RegressorMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from skscn.checks import Method, fit_context, is_dask
from skscn.declarations import attribute
from skscn.estimators.parameters import MatrixLike, NetworkParameters, TrainingRows
from skscn.fit.data import NO_VALIDATION_ROWS, ValidationArguments
from skscn.fit.plan import Recipe
from skscn.fit.trainer import GrowingLayer, fit_network
from skscn.fit.updating import check_can_learn_on, learn_on
from skscn.fit.validation import held_out_data, read_rows, training_data
from skscn.jumps import Jumps
from skscn.network import Network, why_none
from skscn.progress import CallbackSupportMixin
from skscn.rows.partitions import mapped
from skscn.search import Configuration, resolve_configuration
from skscn.tables.row_encoder import RowEncoder


def lazily(method: Method) -> Method:
    """Make a method that returns arrays for rows return Dask arrays for Dask collections, partition by partition."""

    @wraps(method)
    def of_any_rows(self: Any, X: Any, *arguments: Any, **named: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *arguments, **named)
        check_is_fitted(self)
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has shape {X.shape}, but the model expects {self.n_features_in_} features.")
        few = np.zeros((1, self.n_features_in_))
        if getattr(self, "feature_names_in_", None) is not None and hasattr(X, "_meta_nonempty"):
            few = X._meta_nonempty
        return mapped(partial(_call, method.__name__, arguments, named), self, X, few)

    return cast(Method, of_any_rows)


def _call(name: str, arguments: tuple[Any, ...], named: dict[str, Any], model: Any, rows: Any) -> Any:
    return getattr(model, name)(rows, *arguments, **named)


class GrowingNetwork(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, NetworkParameters, ABC):
    """Base of the networks; :class:`~skscn.fit.plan.Recipe` resolves what their parameters mean.

    Attributes
    ----------
    network_ : Network
        The trained network, which can predict without the estimator.
    history_ : structured ndarray
        One row per step: nodes, scope, contraction, slack, train_rmse, validation_rmse, candidates, seconds, round.
        Errors are in units of the target (of indicators 0 and 1 for classes), those of several outputs averaged; under
        a loss other than squared error, of the working targets and weights of the round, of which some losses need
        several. If a step adds several nodes, scope and contraction are the largest among them, and slack is the
        smallest.
    stop_reason_ : {"tol", "max_nodes", "no candidate", "early stopping", "callback"}
        Why growth ended.
    held_out_ : ndarray of int
        The rows that early stopping held out; empty without it. Losses other than squared error use them too in the
        end, for the output weights, unless the network is a member of an ensemble.
    feature_importances_ : ndarray of shape (n_features,)
        How strongly the outputs depend on each input: the squared gradient on average over the training rows (at most
        2000 of them), in units of the standard deviation of the input, summed over the outputs as they are scaled.
        Their sum is 1; of a column that is encoded as several inputs, it is the sum of theirs. If there are none, for
        instance because the derivative of a custom activation is not known, an AttributeError says why.
    n_nodes_ : int
        Number of hidden nodes.
    n_iter_ : int
        Number of steps taken.
    n_rows_seen_ : int
        Number of rows of positive weight that `fit` and `partial_fit` were given; 0 if a file of version 0.1 does not
        say.
    encoder_ : RowEncoder or None
        What turns rows into the numbers that the network sees: it encodes tables and fills in missing numbers. None if
        the training rows were numbers and none was missing. Missing values of later rows are then replaced by the
        median.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X has them.

    References
    ----------
    D. Wang and M. Li, "Stochastic Configuration Networks: Fundamentals and Algorithms", IEEE Transactions on
    Cybernetics 47 (10), 2017, 3466-3479.
    """

    network_: Network = attribute()
    history_: np.ndarray = attribute()
    stop_reason_: str = attribute()
    held_out_: np.ndarray = attribute()
    n_nodes_: int = attribute()
    n_iter_: int = attribute()
    n_rows_seen_: int = attribute()
    encoder_: RowEncoder | None = attribute(None)
    _seed: int = attribute()
    # The given weight that counts as 1, of the first rows and of all that follow.
    _weight_unit: float = attribute(1.0)
    # Whether an ensemble grows it, to average it with others; its held-out rows then stay unseen.
    _averaged: bool = attribute(False)
    # The jumps that an ensemble has found for its members; None to find them.
    _jumps: Jumps | None = attribute(None)
    # Of the rows that it was grown on, if it is known.
    _fingerprint: str | None = attribute(None)
    # The medians of inputs none of which was missing in training.
    _medians: np.ndarray | None = attribute(None)
    # Of the network's inputs; None if they cannot be computed, or were not.
    _feature_importances: np.ndarray | None = attribute(None)

    def _configuration(self) -> Configuration:
        """How nodes are searched for."""
        for name in ("scopes", "contractions"):
            numbers = np.asarray(getattr(self, name))
            if numbers.ndim != 1 or numbers.size == 0 or numbers.dtype.kind not in "iuf":
                raise ValueError(f"{name} must be a sequence of at least one number; got {getattr(self, name)!r}.")
        scopes, contractions = tuple(map(float, self.scopes)), tuple(map(float, self.contractions))
        if not all(0.0 < scope <= 1e6 for scope in scopes):
            raise ValueError(
                f"scopes must be numbers above 0 and up to 1e6, for example (1, 5, 15); got {self.scopes}."
            )
        if not (all(a < b for a, b in pairwise(contractions)) and all(0.0 < r < 1.0 for r in contractions)):
            raise ValueError(
                "contractions must increase and lie between 0 and 1, both excluded, for example (0.9, 0.99, 0.999); "
                f"got {self.contractions}."
            )
        return resolve_configuration(
            self.configuration, scopes=scopes, contractions=contractions, max_candidates=self.max_candidates
        )

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
        X : array-like, DataFrame, Arrow table, sparse matrix, path, Chunks, Sites, or Dask array or dataframe
            Of shape (n_samples, n_features). Columns of text, categories and dates are encoded, and missing numbers
            filled in; see `encoder_`. A path of a Parquet, CSV, TSV or Arrow file, or of a folder of them, is read
            chunk by chunk; so are :class:`~skscn.Chunks`. If they do not fit in memory they are kept in temporary
            files. Dask collections stay on their workers, and rows of :class:`~skscn.rows.Sites` at their owners.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Numbers for a regressor. For a classifier labels, or an indicator, 0 or 1, for each of several labels that a
            row may have. The name of the target column, or a list of names, with a path or a Dask dataframe; nothing
            with Chunks.
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
        return self._grow(
            Recipe.of(self), X, y, sample_weight, ValidationArguments(X_val, y_val, sample_weight_val, groups)
        )

    @abstractmethod
    def _response(self, X: Any) -> np.ndarray:
        """What ensembles combine, for validated rows."""

    @abstractmethod
    def _grow(
        self,
        recipe: Recipe,
        X: Any,
        y: Any,
        sample_weight: Any,
        validation: ValidationArguments = NO_VALIDATION_ROWS,
        *,
        updatable: bool = False,
    ) -> Self:
        """Grow a network, which further rows can join if it is ``updatable``, and set the fitted attributes."""

    def is_continued(self) -> bool:
        """Whether the next fit continues the network of the previous one."""
        return self.warm_start and hasattr(self, "network_")

    @lazily
    def transform(self, X: MatrixLike) -> np.ndarray:
        """Return the output of each hidden node for each row: random features selected for the target.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n_samples, n_features)

        Returns
        -------
        H : ndarray of shape (n_samples, n_nodes)
        """
        rows = read_rows(self, X)
        return self.network_.hidden(rows)

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of each input in the mean squared gradient of the outputs."""
        check_is_fitted(self, "network_")
        if self._feature_importances is None:
            raise AttributeError(why_none(self.network_))
        importances = self._feature_importances
        return importances if self.encoder_ is None else self.encoder_.sum_by_column(importances)

    @property
    def _n_features_out(self) -> int:
        return self.n_nodes_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.input_tags.categorical = self.categorical_features is not None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _fitted_attributes(self, layer: GrowingLayer) -> dict[str, Any]:
        """The fitted attributes of an estimator that stopped now."""
        fit = layer.fit
        held_out = fit.rows.held_out.numbers if fit.hold_out.rows is None else np.zeros(0, dtype=int)
        return network_attributes(layer.network(), layer.history, fit.data.encoder, held_out, fit.start.seed)


def network_attributes(
    network: Network, history: np.ndarray, encoder: RowEncoder | None, held_out: np.ndarray, seed: int
) -> dict[str, Any]:
    """The fitted attributes that follow from a network and its history."""
    return {
        "network_": network,
        "history_": history,
        "n_nodes_": network.n_nodes,
        "n_iter_": len(history),
        "encoder_": encoder,
        "held_out_": held_out,
        "_seed": seed,
    }


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
        validation: ValidationArguments = NO_VALIDATION_ROWS,
        *,
        updatable: bool = False,
    ) -> Self:
        checks: dict[str, Any] = {"multi_output": True, "y_numeric": True}
        with training_data(self, "regression", X, y, sample_weight, **checks) as data:
            hold_out = held_out_data(self, "regression", validation, data, **checks)
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
        return self._response(read_rows(self, X))

    def _response(self, X: Any) -> np.ndarray:
        """The predictions for validated rows."""
        return self.network_.predict(X, self.n_jobs)

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
