"""What the estimators share: parameters, and how ``fit`` grows a network from validated rows."""

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from numbers import Integral, Real
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from skscn.activations import ACTIVATIONS, Activation, check_activation, resolve_activation
from skscn.configuration import Configuration
from skscn.estimators._callbacks import CallbackSupportMixin
from skscn.estimators._checkpoint import Checkpoint, opened_checkpoint
from skscn.estimators._early_stopping import (
    CRITERIA,
    HELD_OUT,
    INFORMATION,
    Criterion,
    Validation,
    Watch,
    split_rows,
)
from skscn.estimators._inputs import naming_encoder
from skscn.estimators._lazily import lazily
from skscn.estimators.data import ArrayData, TrainingData
from skscn.estimators.training import Parts, Training
from skscn.growth import Step
from skscn.layers import IDENTITY, Dense, Nodes
from skscn.output_weights import OutputWeights
from skscn.progress import Progress, current_listener
from skscn.rows import Chunks, ScratchInputs, is_dask, opened
from skscn.rows.collections import Collections, read_collections
from skscn.rows.masked import refuse_masked
from skscn.scaling import SCALINGS

# Fewer rows are not split for early stopping unless the user asks for it.
_ENOUGH_TO_HOLD_OUT = 100
# From this number of rows on, "auto" saves memory: no rows are held out at random, and there are no direct links.
MANY_ROWS = 100_000


class GrowingNetwork(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CallbackSupportMixin, BaseEstimator, ABC):
    """Base of the estimators: validates, resolves names to parts, scales, and follows the steps of growth.

    A subclass defines how nodes are searched for (:meth:`_configuration`) and how output weights are evaluated
    (:meth:`_output_weights`), and lists all its parameters in ``__init__``.
    """

    _parameter_constraints: dict = {
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
    # A parameter of estimators that can add several nodes at a time.
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
        validation,
        n_iter_no_change,
        warm_start,
        checkpoint,
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
        self.validation = validation
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _setting(self, name: str):
        """A parameter's value; for "auto", the one that the configuration uses."""
        value = getattr(self, name)
        return getattr(self._configuration(), name) if isinstance(value, str) and value == "auto" else value

    def _criterion(self, data: TrainingData) -> str | None:
        """What early stopping monitors: one of CRITERIA, or None without early stopping.

        With few rows none can be spared, and many rows are hardly overfitted; "auto" then uses generalised
        cross-validation. Rows in order of time are correlated and count for fewer, so the last of many are held out,
        unless they are on a cluster.
        """
        asked = self._setting("early_stopping")
        if asked and self.early_stopping == "auto":
            # Weights with mean 1 sum to the number of rows up to rounding.
            most = np.inf if self.validation == "last" and isinstance(data, ArrayData) else MANY_ROWS
            return "validation" if _ENOUGH_TO_HOLD_OUT <= np.rint(data.weight) <= most else "gcv"
        return {True: "validation", False: None}.get(asked, asked)

    def _share_held_out(self, data: TrainingData) -> float:
        """Share of the rows to hold out; above MANY_ROWS, "auto" keeps the number of rows constant, to save memory."""
        most = MANY_ROWS if self.early_stopping == "auto" else np.inf
        return self.validation_fraction * min(1.0, most / data.shape[0])

    def _watch(self, criterion: str | None, held_out: ArrayData, parts: Parts) -> Watch | None:
        if criterion is None:
            return None
        if criterion in INFORMATION:
            degrees_per_node = self._configuration().degrees_per_node(held_out.shape[1])
            return Criterion(self.n_iter_no_change, degrees_per_node, INFORMATION[criterion])
        return Validation(
            self.n_iter_no_change,
            held_out.X,
            parts.outputs.transform(held_out.targets),
            held_out.sample_weight,
            parts.inputs,
        )

    def _linear_columns(self, n_rows: int, n_features: int) -> Nodes:
        """Intercept and direct links; none by default."""
        return Nodes.none(IDENTITY, n_features)

    @abstractmethod
    def _configuration(self) -> Configuration:
        """How nodes are searched for."""

    @abstractmethod
    def _output_weights(self, n_outputs: int) -> OutputWeights:
        """How output weights are evaluated."""

    @lazily
    def transform(self, X):
        """Return the output of each hidden node for each row: random features selected for the target.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n_samples, n_features)

        Returns
        -------
        H : ndarray of shape (n_samples, n_nodes)
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
        check_is_fitted(self, "network_")
        refuse_masked(X=X)
        with naming_encoder():
            return validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)

    def _validated_training(self, X, y, **checks) -> tuple:
        """X and y for a fit; data that cannot be fitted are rejected before anything changes."""
        self._configuration()
        check_activation(resolve_activation(self.activation))
        reset = not self._is_continued()
        with naming_encoder():
            return validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], reset=reset, **checks)

    @contextmanager
    def _opened(self, X, y, sample_weight, **checks) -> Iterator[tuple]:
        """Validated X, y and weights: arrays as they are, files and chunks for as long as they are open.

        Rows of Dask collections stay where they are.
        """
        if is_dask(X):
            collections = read_collections(X, y, sample_weight)
            self._validated_collections(collections, **checks)
            yield collections
            return
        if isinstance(X, str | Path):
            X, y = Chunks(X, y), None
        if not isinstance(X, Chunks):
            refuse_masked(X=X, y=y, sample_weight=sample_weight)
            yield *self._validated_training(X, y, **checks), sample_weight
            return
        if y is not None or sample_weight is not None:
            raise TypeError("Chunks contain their own targets and weights; call fit(chunks).")
        # In addition to the inputs: the basis (nodes and links), the residual and the open column.
        with opened(X, columns=self.max_nodes + X.n_features + 3) as rows:
            yield *self._validated_chunks(X, rows.X, rows.y, **checks), rows.sample_weight

    def _validated_chunks(self, chunks: Chunks, X, y: np.ndarray, **checks) -> tuple:
        """As :meth:`_validated_training`; inputs in files were checked as they were read."""
        names = chunks.feature_names
        self._check_names(names)
        if not checks.get("multi_output") and y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if isinstance(X, ScratchInputs):
            # A few rows represent all: their number of inputs and the type of their targets.
            few = min(len(y), 2)
            self._validated_training(X[:few], y[:few], **checks)
            y = y.astype(np.float64) if checks.get("y_numeric") and y.dtype.kind in "biu" else y
        else:
            X, y = self._validated_training(X, y, **checks)
        if names is not None:
            self.feature_names_in_ = names
        return X, y

    def _validated_collections(self, collections: Collections, **checks) -> None:
        """As :meth:`_validated_training`; the rows were checked as they were read, and two others represent them."""
        self._check_names(collections.names)
        self._validated_training(np.zeros((2, collections.n_features)), np.arange(2.0), **checks)
        if collections.names is not None:
            self.feature_names_in_ = collections.names

    def _check_names(self, names: np.ndarray | None) -> None:
        """Reject columns other than those of a network that is continued, and forget their names for now.

        Arrays have no names, for which scikit-learn would warn.
        """
        known = self.__dict__.pop("feature_names_in_", None)
        if self._is_continued() and known is not None and (names is None or not np.array_equal(names, known)):
            self.__dict__["feature_names_in_"] = known
            raise ValueError(
                f"warm_start=True continues a network on the columns {list(known)} in this order; got "
                f"{None if names is None else list(names)}."
            )

    def _training_data(self, rows: tuple, kind: str) -> TrainingData:
        """Opened rows for "regression" or "classification"."""
        if not isinstance(rows, Collections):
            return getattr(ArrayData, kind)(*rows)
        from skscn.estimators._dask_data import DaskData

        return getattr(DaskData, kind)(rows)

    def _is_continued(self) -> bool:
        """Whether this fit continues the network of the previous one."""
        return self.warm_start and hasattr(self, "network_")

    def _fit_network(self, data: TrainingData) -> None:
        """Grow a network on the rows, and set the fitted attributes."""
        with opened_checkpoint(self, data) as checkpoint:
            self._fit_and_save(data, checkpoint)

    def _fit_and_save(self, data: TrainingData, checkpoint: Checkpoint | None) -> None:
        continued = self._is_continued()
        if continued:
            self._check_continued(data)
            seed = self._seed
        else:
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        saved = None if checkpoint is None or continued else checkpoint.load()
        if saved is not None:
            seed = saved.seed
        criterion = self._criterion(data)
        train, validation_rows = data, np.zeros(0, dtype=int)
        if criterion == "validation":
            training_rows, validation_rows = split_rows(
                data.shape[0], self._share_held_out(data), data.labels(), seed, self.validation
            )
            train = data.keep(training_rows)
        held_out, parts = data.take(validation_rows), self._parts(train)
        watch = self._watch(criterion, held_out, parts)
        training = Training(train, parts, self._output_weights, watch, self.n_jobs)
        with training:
            if continued:
                training.resume(self.network_.nodes, self.history_, self.nodes_per_step)
            elif saved is not None:
                nodes = Nodes.of(parts.layer, saved.weights, saved.biases)
                training.resume(nodes, saved.history, self.nodes_per_step)
            steps = training.steps(
                self._configuration(),
                max_nodes=self.max_nodes,
                tol=self.tol,
                nodes_per_step=self.nodes_per_step,
                seed=seed,
            )
            reason = self._follow(steps, training, data, seed, checkpoint)
            fitted = {
                **self._fitted_attributes(training, seed),
                "stop_reason_": reason,
                "held_out_": held_out.numbers,
            }
        for name, value in fitted.items():
            setattr(self, name, value)
        if reason == "no candidate" and not self.n_iter_ and not self.network_.linear.direct_weights.any():
            warnings.warn(
                "No candidate passed the supervisory inequality and its guards, so the network has no nodes and "
                "predicts a constant; try more rows, other scopes, more max_candidates, or contractions closer to 1.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _follow(
        self,
        steps: Generator[Step, None, str],
        training: Training,
        data: TrainingData,
        seed: int,
        checkpoint: Checkpoint | None,
    ) -> str:
        """Run every step, with progress, checkpoints and callbacks; return why growth ended."""
        progress, listener = Progress(type(self).__name__, self.max_nodes, self.verbose), current_listener()
        context = self._init_callback_context(max_subtasks=self.max_nodes)
        state = {"estimator": self, "X": data.X, "y": data.y, "metadata": {"sample_weight": data.sample_weight}}
        learnt = partial(self._fitted_attributes, training, seed)
        context.call_on_fit_task_begin(**state)
        reason = None
        while reason is None:
            try:
                step = next(steps)
            except StopIteration as end:
                reason = end.value
                break
            progress.update(step)
            if checkpoint is not None:
                checkpoint.note(training, seed)
            task = context.subcontext(task_name="step").call_on_fit_task_begin(**state)
            if task.call_on_fit_task_end(**state, reconstruction_attributes=learnt):
                reason = "callback"
            if listener is not None and listener.step(step, self.max_nodes):
                reason = "callback"
        if checkpoint is not None:
            checkpoint.save(training, seed)
        progress.close(training.output_weights.nodes, reason)
        context.call_on_fit_task_end(**state, reconstruction_attributes=learnt)
        return reason

    def _fitted_attributes(self, training: Training, seed: int) -> dict:
        """What an estimator that stopped now would have learnt."""
        network, history = training.network(), training.history
        return {
            "network_": network,
            "history_": history,
            "n_nodes_": network.n_nodes,
            "n_iter_": len(history),
            "_seed": seed,
        }

    def _parts(self, data: TrainingData) -> Parts:
        """The parts of the network; as far as possible those of the network that is continued, if any."""
        if self._is_continued():
            earlier = self.network_
            layer, inputs, outputs = earlier.layer, earlier.inputs, earlier.outputs
        else:
            layer, scaling = Dense(resolve_activation(self.activation)), self._setting("scaling")
            inputs, outputs = data.scale_inputs(scaling), data.scale_targets(scaling)
        return Parts(
            layer,
            inputs,
            outputs,
            self._linear_columns(*data.shape),
            bounded=self._configuration().bounded,
            single_output=data.single_output,
            single_precision=data.single_precision,
        )

    def _check_continued(self, data: TrainingData) -> None:
        """Reject what cannot be continued."""
        network = self.network_
        grown = (network.n_outputs, network.activation, network.inputs.name)
        if grown != (data.n_outputs, resolve_activation(self.activation), self._setting("scaling")):
            raise ValueError(
                "warm_start=True continues a network with the same number of outputs, the same activation and the same "
                "scaling (which may depend on the configuration); use warm_start=False to start again."
            )
        if self.max_nodes < network.n_nodes:
            raise ValueError(
                f"max_nodes={self.max_nodes} is below the {network.n_nodes} nodes that warm_start=True continues from; "
                "increase max_nodes, or use warm_start=False."
            )
