"""What the estimators share: parameters, hidden outputs and what a fit leaves behind."""

import os
from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skscn.activations import ACTIVATIONS, Activation
from skscn.configuration import Configuration
from skscn.estimators._early_stopping import CRITERIA
from skscn.estimators._holding_out import HELD_OUT
from skscn.estimators._importances import feature_importances, sampled, why_none
from skscn.estimators._inputs import read_rows
from skscn.estimators._lazily import lazily
from skscn.estimators._typing import ActivationLike, Auto, CategoricalFeatures, HeldOut, MatrixLike, PathLike, Seed
from skscn.estimators.calibration import is_averaged
from skscn.estimators.callbacks import CallbackSupportMixin
from skscn.estimators.data import TrainingData
from skscn.estimators.training import Training
from skscn.network import Network
from skscn.scaling import SCALINGS
from skscn.tables.filling import medians_of
from skscn.tables.row_encoder import RowEncoder


class GrowingNetwork(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, BaseEstimator, ABC):
    """Base of the estimators.

    A subclass lists all its parameters in ``__init__``, and defines how nodes are searched for
    (:meth:`_configuration`). What its parameters mean is resolved by :class:`~skscn.estimators.recipe.Recipe`.
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

    def _learn_importances(self, data: TrainingData) -> None:
        """Set what a few rows tell: the importances of the inputs, and their medians, for later missing values."""
        sample = data.take(sampled(data.shape[0]))
        self._feature_importances = feature_importances(self.network_, sample)
        needed = data.encoder is None and not is_averaged()
        self._medians = medians_of(sample.X) if needed and isinstance(sample.X, np.ndarray) else None

    def _learnt(self, training: Training, seed: int) -> dict[str, Any]:
        """What an estimator that stopped now would have learnt."""
        network, history = training.network(), training.history
        return {
            "network_": network,
            "history_": history,
            "n_nodes_": network.n_nodes,
            "n_iter_": len(history),
            "_seed": seed,
        }
