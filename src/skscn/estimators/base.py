"""What the estimators share: parameters, hidden outputs and what a fit leaves behind."""

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import partial, wraps
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skscn.activations import ACTIVATIONS, Activation
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
)
from skscn.fit.data import HELD_OUT
from skscn.fit.trainer import GrowingLayer
from skscn.fit.validation import read_rows
from skscn.fit_context import Method
from skscn.losses import LOSSES
from skscn.network import Network
from skscn.nodes import LAYERS
from skscn.output_weights import ALGORITHMS
from skscn.progress import CallbackSupportMixin
from skscn.rows import is_dask
from skscn.rows.partitions import mapped
from skscn.scaling import SCALINGS
from skscn.search import CONFIGURATIONS, Configuration, resolve_configuration
from skscn.sensitivity import why_none
from skscn.stopping import CRITERIA
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
        return mapped(partial(_called, method.__name__, arguments, named), self, X, few)

    return cast(Method, of_any_rows)


def _called(name: str, arguments: tuple[Any, ...], named: dict[str, Any], model: Any, rows: Any) -> Any:
    return getattr(model, name)(rows, *arguments, **named)


# What the estimators share: parameters, hidden outputs and what a fit leaves behind.


class GrowingNetwork(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, BaseEstimator, ABC):
    """Base of the estimators.

    A subclass lists all its parameters in ``__init__``, and defines how nodes are searched for
    (:meth:`_configuration`). What its parameters mean is resolved by :class:`~skscn.fit.plan.Recipe`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "categorical_features": [None, StrOptions({"from_dtype"}), "array-like"],
        "max_nodes": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "activation": [StrOptions(set(ACTIVATIONS)), Activation, callable],
        "scaling": [StrOptions({name for name in SCALINGS if name is not None}), None],
        "early_stopping": ["boolean", StrOptions(set(CRITERIA))],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "validation": [StrOptions(set(HELD_OUT))],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "checkpoint": [None, str, os.PathLike],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    # The values of parameters that only some estimators have, for the others.
    _implied: ClassVar[dict[str, Any]] = {
        "algorithm": "SC-III",
        "window": 1,
        "nodes_per_step": 1,
        "layer": "dense",
        "loss": "squared",
        "quantile": 0.5,
        "direct_link": False,
        "alpha": 0.0,
        "max_layers": 1,
        "nodes_per_layer": "auto",
        "inputs": "auto",
    }

    network_: Network
    history_: np.ndarray
    n_nodes_: int
    n_iter_: int
    stop_reason_: str
    n_rows_seen_: int
    _seed: int
    # The given weight that counts as 1, of the first rows and of all that follow.
    _weight_unit: float = 1.0
    # Whether an ensemble grows it, to average it with others; its held-out rows then stay unseen.
    _averaged: bool = False
    # Of the rows that it was grown on, if it is known.
    _fingerprint: str | None = None
    # What turns the user's rows into numbers; None if they are numbers, none of which was missing in training.
    encoder_: RowEncoder | None = None
    # The medians of inputs none of which was missing in training.
    _medians: np.ndarray | None = None
    # Of the network's inputs; None if they cannot be computed, or were not.
    _feature_importances: np.ndarray | None = None

    def __init__(
        self,
        *,
        max_nodes: int | Auto,
        tol: float,
        activation: ActivationLike,
        categorical_features: CategoricalFeatures,
        scaling: str | None,
        early_stopping: bool | str,
        validation_fraction: float | Auto,
        validation: HeldOut,
        n_iter_no_change: int,
        warm_start: bool,
        checkpoint: PathLike | None,
        n_jobs: int | None,
        random_state: Seed,
        verbose: int,
    ):
        self.max_nodes = max_nodes
        self.tol = tol
        self.activation = activation
        self.categorical_features = categorical_features
        self.scaling = scaling
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.validation = validation
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _configuration(self) -> Configuration:
        """How nodes are searched for."""

    def parameter(self, name: str) -> Any:
        """The value of a parameter, or what it is implied to be in estimators that do not have it."""
        return getattr(self, name) if hasattr(self, name) else self._implied[name]

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
        return self.network_.hidden(self._validated(X))

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of each input in the mean squared gradient of the outputs."""
        check_is_fitted(self, "network_")
        if self._feature_importances is None:
            raise AttributeError(why_none(self.network_))
        importances = self._feature_importances
        return importances if self.encoder_ is None else self.encoder_.summed(importances)

    @property
    def _n_features_out(self) -> int:
        return self.n_nodes_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.input_tags.categorical = self.categorical_features is not None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validated(self, X: MatrixLike) -> Any:
        check_is_fitted(self, "network_")
        return read_rows(self, X)

    def _learnt(self, layer: GrowingLayer, seed: int) -> dict[str, Any]:
        """The fitted attributes of an estimator that stopped now."""
        network, history = layer.network(), layer.history
        return {
            "network_": network,
            "history_": history,
            "n_nodes_": network.n_nodes,
            "n_iter_": len(history),
            "_seed": seed,
        }


# The parameters that make a growing network a stochastic configuration network.


# Υ and r, as in the paper.
SCOPES = (1, 5, 15, 30, 50, 100, 150, 200)
CONTRACTIONS = (0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)


class BaseSCN(GrowingNetwork):
    """Base of :class:`SCNRegressor` and :class:`SCNClassifier`."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GrowingNetwork._parameter_constraints,
        # Views of the registries, so that a part can be registered later.
        "algorithm": [StrOptions(ALGORITHMS.keys())],
        "layer": [StrOptions(LAYERS.keys())],
        "loss": [StrOptions(LOSSES.keys())],
        "max_candidates": [Interval(Integral, 1, None, closed="left")],
        "scopes": ["array-like"],
        "contractions": ["array-like"],
        "window": [Interval(Integral, 1, None, closed="left")],
        "max_nodes": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "nodes_per_step": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "configuration": [StrOptions(CONFIGURATIONS.keys()), Configuration],
        "direct_link": ["boolean", StrOptions({"auto"})],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto", "gcv"})],
        "scaling": [StrOptions({"auto", *(name for name in SCALINGS if name is not None)}), None],
        "early_stopping": ["boolean", StrOptions({"auto", *CRITERIA})],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        *,
        algorithm: str,
        max_nodes: int | Auto,
        tol: float,
        max_candidates: int,
        scopes: Sequence[float],
        contractions: Sequence[float],
        window: int,
        nodes_per_step: int | Auto,
        configuration: str | Configuration,
        direct_link: bool | Auto,
        alpha: float | Literal["auto", "gcv"],
        loss: str,
        layer: str,
        activation: ActivationLike,
        categorical_features: CategoricalFeatures,
        scaling: ScalingName | Auto,
        early_stopping: Criterion | Auto,
        validation_fraction: float | Auto,
        validation: HeldOut,
        n_iter_no_change: int,
        warm_start: bool,
        checkpoint: PathLike | None,
        n_jobs: int | None,
        random_state: Seed,
        verbose: int,
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
        self.algorithm = algorithm
        self.max_candidates = max_candidates
        self.scopes = scopes
        self.contractions = contractions
        self.window = window
        self.nodes_per_step = nodes_per_step
        self.configuration = configuration
        self.direct_link = direct_link
        self.alpha = alpha
        self.loss = loss
        self.layer = layer

    def _configuration(self) -> Configuration:
        scopes, contractions = _numbers("scopes", self.scopes), _numbers("contractions", self.contractions)
        if not all(0.0 < scope <= 1e6 for scope in scopes):
            raise ValueError(
                f"scopes must be numbers above 0 and up to 1e6, for example (1, 5, 15); got {self.scopes}."
            )
        rising = all(a < b for a, b in pairwise(contractions))
        if not (rising and all(0.0 < r < 1.0 for r in contractions)):
            raise ValueError(
                "contractions must increase and lie between 0 and 1, both excluded, for example (0.9, 0.99, 0.999); "
                f"got {self.contractions}."
            )
        return resolve_configuration(
            self.configuration, scopes=scopes, contractions=contractions, max_candidates=self.max_candidates
        )


def _numbers(name: str, values: object) -> tuple[float, ...]:
    """A parameter that is a sequence of numbers, as a tuple."""
    numbers = np.asarray(values)
    if numbers.ndim != 1 or numbers.size == 0 or numbers.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be a sequence of at least one number; got {values!r}.")
    return tuple(float(number) for number in numbers)
