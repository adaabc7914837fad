"""What the estimators share: parameters, and how ``fit`` grows a network from validated rows."""

from abc import ABC, abstractmethod
from collections.abc import Generator
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from skscn.activations import ACTIVATIONS, Activation, resolve_activation
from skscn.configuration import Configuration
from skscn.estimators._callbacks import CallbackSupportMixin
from skscn.estimators._early_stopping import split_rows
from skscn.estimators._training import Parts, Training, TrainingData
from skscn.growth import Step
from skscn.network import Network
from skscn.output_weights import OutputWeights
from skscn.progress import Progress
from skscn.scaling import SCALINGS, scale_inputs, scale_targets


class GrowingNetwork(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, BaseEstimator, ABC):
    """Base of the estimators: validates, resolves names to parts, scales, and follows the steps of growth.

    A subclass says how nodes are searched (:meth:`_configuration`) and how output weights are evaluated
    (:meth:`_output_weights`), and lists all its parameters in ``__init__``.
    """

    _parameter_constraints: dict = {
        "max_nodes": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "activation": [StrOptions(set(ACTIVATIONS)), Activation, callable],
        "scaling": [StrOptions({name for name in SCALINGS if name is not None}), None],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    # A parameter of those that can add several nodes at a time.
    nodes_per_step = 1

    def __init__(
        self,
        *,
        max_nodes,
        tol,
        activation,
        scaling,
        early_stopping,
        validation_fraction,
        n_iter_no_change,
        warm_start,
        n_jobs,
        random_state,
        verbose,
    ):
        self.max_nodes = max_nodes
        self.tol = tol
        self.activation = activation
        self.scaling = scaling
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _configuration(self) -> Configuration:
        """How nodes are searched."""

    @abstractmethod
    def _output_weights(self, n_outputs: int) -> OutputWeights:
        """How output weights are evaluated."""

    def transform(self, X):
        """Give the output of each hidden node for each row: random features that were selected for the target.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        H : ndarray of shape (n_samples, n_nodes_)
        """
        X = self._validated(X)
        return self.network_.hidden(X)

    @property
    def _n_features_out(self) -> int:
        return self.n_nodes_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validated(self, X):
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)

    def _fit_network(self, data: TrainingData, y: np.ndarray, single_output: bool) -> None:
        """Grow a network on the rows, whose targets are y as the user knows them, and set the fitted attributes."""
        configuration = self._configuration()
        continued = self._is_continued(data)
        if not continued:
            self._seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        train, held_out = data, None
        if self.early_stopping:
            train, held_out = map(
                data.take, split_rows(len(data.targets), self.validation_fraction, data.labels, self._seed)
            )
        training = Training(
            train,
            held_out,
            self._parts(train, self.network_ if continued else None, single_output),
            self._output_weights(train.targets.shape[1]),
            patience=self.n_iter_no_change,
            n_jobs=self.n_jobs,
        )
        with training.rows:
            if continued:
                training.resume(self.network_, self.history_, self.nodes_per_step)
            steps = training.steps(
                configuration,
                max_nodes=self.max_nodes,
                tol=self.tol,
                nodes_per_step=self.nodes_per_step,
                seed=self._seed,
            )
            reason = self._follow(steps, training, data, y)
            for name, value in {**self._fitted_attributes(training), "stop_reason_": reason}.items():
                setattr(self, name, value)

    def _follow(self, steps: Generator[Step, None, str], training: Training, data: TrainingData, y: np.ndarray) -> str:
        """Take every step, showing progress and calling back; return why growth ended."""
        progress = Progress(type(self).__name__, self.max_nodes, self.verbose)
        context = self._init_callback_context(max_subtasks=self.max_nodes)
        state = {"estimator": self, "X": data.X, "y": y, "metadata": {"sample_weight": data.sample_weight}}
        context.call_on_fit_task_begin(**state)
        reason = None
        while reason is None:
            try:
                progress.update(next(steps))
            except StopIteration as end:
                reason = end.value
                break
            task = context.subcontext(task_name="step").call_on_fit_task_begin(**state)
            if task.call_on_fit_task_end(**state, reconstruction_attributes=lambda: self._fitted_attributes(training)):
                reason = "callback"
        progress.close(training.output_weights.nodes, reason)
        context.call_on_fit_task_end(**state, reconstruction_attributes=lambda: self._fitted_attributes(training))
        return reason

    def _fitted_attributes(self, training: Training) -> dict:
        """What an estimator that stopped at this moment would have learnt."""
        network, history = training.network(), training.history
        return {"network_": network, "history_": history, "n_nodes_": network.n_nodes, "n_iter_": len(history)}

    def _parts(self, data: TrainingData, earlier: Network | None, single_output: bool) -> Parts:
        """Activation and scalings; those of the network that is continued, if any."""
        if earlier is not None:
            return Parts(earlier.activation, earlier.inputs, earlier.outputs, single_output)
        return Parts(
            resolve_activation(self.activation),
            scale_inputs(self.scaling, data.X),
            scale_targets(self.scaling, data.targets),
            single_output,
        )

    def _is_continued(self, data: TrainingData) -> bool:
        """Whether this fit goes on with the network of the one before; refuses what cannot go on."""
        if not (self.warm_start and hasattr(self, "network_")):
            return False
        network = self.network_
        grown = (network.n_features, network.n_outputs, network.activation.name)
        if grown != (data.X.shape[1], data.targets.shape[1], resolve_activation(self.activation).name):
            raise ValueError(
                "warm_start=True continues a network with the same number of inputs and outputs and the same "
                "activation; use warm_start=False to start anew."
            )
        if self.max_nodes < network.n_nodes:
            raise ValueError(
                f"max_nodes={self.max_nodes} is below the {network.n_nodes} nodes that warm_start=True continues from; "
                "give at least as many, or warm_start=False."
            )
        return True


def positive_rows(X, y: np.ndarray, sample_weight) -> tuple:
    """X, y and the weights of those rows that count: those of positive weight.

    Weights of 1 and more may be numbers of equal rows and are taken as such; others are scaled to a mean of 1.
    """
    if sample_weight is None:
        return X, y, None
    sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
    largest = sample_weight.max()
    if (sample_weight < 0).any() or not 0 < largest < np.finfo(np.float64).max / len(sample_weight):
        raise ValueError("sample_weight must hold numbers of at least 0, not all of them 0, with a finite sum.")
    rows = sample_weight > 0
    if not rows.all():
        X, y, sample_weight = X[rows], y[rows], sample_weight[rows]
    return X, y, sample_weight if sample_weight.min() >= 1 else sample_weight / sample_weight.mean()
