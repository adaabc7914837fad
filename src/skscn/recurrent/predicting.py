"""The base of estimators with a reservoir, of one network or of several: predictions, forecasts, intervals, streams."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, MultiOutputMixin, RegressorMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skscn.checks import fit_context
from skscn.declarations import Estimator, attribute, constant, parameter
from skscn.estimators.parameters import AT_LEAST_1, Seed
from skscn.progress import Callbacks, CallbackSupportMixin
from skscn.recurrent.free_runs import Starts, free_run
from skscn.recurrent.inputs import Given, given
from skscn.recurrent.learners import Learning, first_errors, steered_widths
from skscn.recurrent.nodes import ReservoirConfig
from skscn.recurrent.reservoir import Reservoir, ReservoirState
from skscn.recurrent.sequences import Prepared
from skscn.recurrent.spreads import quantile, widening
from skscn.recurrent.stream import RecurrentStream


class ReservoirRegressor(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    MultiOutputMixin,
    RegressorMixin,
    Estimator,
    ABC,
):
    """Base of the estimators that have a reservoir.

    Attributes
    ----------
    reservoir_ : Reservoir
        The trained reservoir; that of an ensemble has the nodes of all members.
    states_ : dict
        Its state at the end of training for each sequence, by the label of the group; 0 if there was one sequence.
    n_nodes_ : int
        L, the number of nodes; of an ensemble, that of all members.
    n_rows_seen_ : int
        Rows of ``fit`` and of all calls of ``partial_fit``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If X was a table with such names.
    """

    n_estimators: int = constant()
    max_nodes: int = parameter(
        default=100,
        constraint=[AT_LEAST_1],
        text="""int
        L_max, the largest number of nodes.""",
    )
    _: KW_ONLY
    feedback: bool = parameter(
        default=False,
        constraint=["boolean"],
        text="""bool
        Whether the output of the row before is an input. Nodes are then chosen by free runs, and :meth:`forecast` lets
        predictions come back.""",
    )
    washout: int | Literal["auto"] = parameter(
        default="auto",
        constraint=[StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        text="""int or "auto"
        The first rows of each sequence, which drive the state and are not scored. "auto" is 100, or a quarter of the
        shortest sequence if that is less.""",
    )
    max_candidates: int = parameter(
        default=1000,
        constraint=[Interval(Integral, 2, None, closed="left")],
        text="""int
        T_max, the candidates of a step.""",
    )
    nodes_per_step: int = parameter(
        default=10,
        constraint=[AT_LEAST_1],
        text="""int
        Nodes to add in one step, from the same candidates.""",
    )
    algorithm: Literal["SC-II", "SC-III"] = parameter(
        default="SC-III",
        constraint=[StrOptions({"SC-II", "SC-III"})],
        text="""{"SC-II", "SC-III"}
        Which output weights are evaluated again after each node: those within a sliding window of nodes, or all.""",
    )
    window: int = parameter(
        default=15,
        constraint=[AT_LEAST_1],
        text="""int
        K, the number of nodes whose output weights SC-II evaluates again.""",
    )
    tol: float = parameter(
        default=1e-10,
        constraint=[Interval(Real, 0, None, closed="left")],
        text="""float
        ε: growth ends when the training RMSE of the standardised target is at most this.""",
    )
    n_iter_no_change: int = parameter(
        default=50,
        constraint=[AT_LEAST_1],
        text="""int
        Nodes without improvement on later rows after which growth ends.""",
    )
    checkpoint: str | os.PathLike[str] | None = parameter(
        default=None,
        constraint=[None, str, os.PathLike],
        text="""path or None
        A file in which the fit is saved about once a second. ``fit`` with the same path, rows and parameters continues
        from there, for instance after a crash, and ends with the same reservoir.""",
    )
    n_jobs: int | None = constant()
    random_state: Seed = parameter(
        default=None,
        constraint=["random_state"],
        text="""int, RandomState or None
        Determines the draws.""",
    )
    verbose: int = parameter(
        default=0,
        constraint=["verbose"],
        text="""int
        1 shows the progress of growth, 2 every step.""",
    )

    reservoir_: Reservoir = attribute()
    states_: dict[Hashable, ReservoirState] = attribute()
    n_nodes_: int = attribute()
    n_rows_seen_: int = attribute()
    # Sorted absolute errors: on later rows (r, m), and of free runs by their horizon (h, m, r), empty without feedback.
    _residuals: np.ndarray = attribute()
    _spread: np.ndarray = attribute()
    # What nodes were drawn from; None in a model that was loaded.
    _configs: Sequence[ReservoirConfig] | None = attribute(default=None)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, groups: ArrayLike | None = None, like: ReservoirRegressor | None = None) -> Self:
        """Grow on rows in order of time.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or list of such arrays
            A list has one table for each sequence. None with ``feedback=True`` for no inputs but earlier targets.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or list of such arrays
            Targets. A row with a target that is NaN drives the state and is not scored.
        groups : array-like of shape (n_samples,), default=None
            The label of the sequence that each row belongs to; None for one sequence.
        like : fitted estimator of the same class, default=None
            Its delay line, scopes and kinds of nodes are used. None, or a model that was saved and loaded, lets pilot
            networks choose them.

        Returns
        -------
        self
        """
        rows = given(self, X, y, groups, reset=True, supervised=True)
        data = Prepared.of(rows, feedback=self.feedback, washout=self.washout)
        callbacks = Callbacks(self, rows.X, rows.target, {}, self._most_steps)
        learnt = self._learn(data, None if like is None else like._configs, callbacks)
        self.__dict__.update(learnt)
        callbacks.end(lambda: learnt)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, groups: ArrayLike | None = None) -> Self:
        """Learn from rows that follow those seen so far.

        The first call is :meth:`fit`. Further rows drive the state on, from the end of the same group, and join those
        that output weights are evaluated on: these are then the weights of least squares, with the penalty that ``fit``
        has chosen, over all rows seen, or those of SC-II on all these rows. Nodes and the widths of intervals stay as
        they are. With ``feedback=True``, free runs are not tested again.

        Parameters
        ----------
        X, y, groups
            As in :meth:`fit`.

        Returns
        -------
        self
        """
        if not hasattr(self, "reservoir_"):
            self.fit(X, y, groups)
            return self
        self._follow(given(self, X, y, groups, reset=False, supervised=True))
        return self

    def _follow(self, rows: Given) -> None:
        """Drive the state on by rows with targets, and learn from them."""
        assert rows.y is not None
        reservoir = self.reservoir_.widen(rows.y)
        columns, after = driven(reservoir, rows, [self._start(label, "end", 1) for label in rows.labels])
        learnt = self._learn_further(rows, reservoir, columns)
        states = {**self.states_, **dict(zip(rows.labels, after, strict=True))}
        self.__dict__.update(learnt, states_=states, n_rows_seen_=self.n_rows_seen_ + len(rows.X))

    @property
    @abstractmethod
    def _most_steps(self) -> int:
        """Of a fit, as callbacks count them."""

    @abstractmethod
    def _learn(self, data: Prepared, configs: Sequence[ReservoirConfig] | None, callbacks: Callbacks) -> dict[str, Any]:
        """Grow on these rows, with configurations that pilot networks choose if there are none; the attributes."""

    @abstractmethod
    def _learn_further(self, rows: Given, reservoir: Reservoir, columns: np.ndarray) -> dict[str, Any]:
        """What changes if rows join that drive the reservoir; ``columns`` are [1, z, s] of these rows."""

    @property
    def state_(self) -> ReservoirState:
        """The state at the end of training, of a model with one sequence."""
        check_is_fitted(self, "reservoir_")
        if len(self.states_) > 1:
            raise ValueError("There are several sequences; states_ has the state of each of them.")
        return next(iter(self.states_.values()))

    def predict(
        self,
        X: Any,
        groups: ArrayLike | None = None,
        *,
        y: Any = None,
        state: ReservoirState | Literal["end"] | None = None,
    ) -> Any:
        """Predict the targets of rows in order of time.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or list of such arrays
        groups : array-like of shape (n_samples,), default=None
            The label of the sequence that each row belongs to.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or list of such arrays, default=None
            With ``feedback=True``, the targets that become known after each row; NaN if they do not. Without them,
            predictions come back as inputs.
        state : ReservoirState, "end" or None, default=None
            The state before the first row; "end" is that of the same group at the end of training. By default the
            start is cold: the state is 0, and the inputs have always been what they are in the first row.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs), or list of such arrays
        """
        rows, outputs = self._outputs_of(X, y, groups, state)
        return rows.as_given(self.reservoir_.shaped(outputs))

    def predict_interval(
        self,
        X: Any,
        groups: ArrayLike | None = None,
        *,
        y: Any = None,
        delay: int | None = None,
        state: ReservoirState | Literal["end"] | None = None,
        coverage: float = 0.9,
    ) -> tuple[Any, Any]:
        """Lower and upper limits of intervals that are meant to contain a share ``coverage`` of the targets.

        Without ``delay``, they are as wide as errors on training rows that follow those that output weights were
        evaluated on: the first 40, 55 or 70 % of time, whichever gives the widest. Where the process drifts further
        than it did then, they contain less: without labels, no width can be right. With ``delay``, each known target
        steers the width of the intervals after it (adaptive conformal inference), so that over many rows the share of
        targets that they contain is right even then.

        Parameters
        ----------
        X, groups, state
            As in :meth:`predict`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or list of such arrays, default=None
            Targets, NaN where they do not become known.
        delay : int, default=None
            How many rows later the targets become known: the one of a row steers the width from ``delay + 1`` rows
            later on. Predictions do not change; :meth:`stream` has predictions that learn as well. None if targets do
            not steer the width.
        coverage : float, default=0.9

        Returns
        -------
        low, high : as in :meth:`predict`
        """
        rows, outputs = self._outputs_of(X, y, groups, state)
        width = (
            quantile(self._residuals.T, coverage) if delay is None else self._steered(rows, outputs, delay, coverage)
        )
        shaped = self.reservoir_.shaped
        return rows.as_given(shaped(outputs - width)), rows.as_given(shaped(outputs + width))

    def _steered(self, rows: Given, outputs: np.ndarray, delay: int, coverage: float) -> np.ndarray:
        """Half the widths (n, m) of intervals that follow late targets."""
        if rows.y is None or delay != int(delay) or delay < 0 or (delay > 0 and self.reservoir_.fed_back):
            raise ValueError(
                f"delay={delay} must be a whole number from 0, with targets y that become known that late; models with "
                "feedback use them at once, so that it must be 0."
            )
        scaling, first = self.reservoir_.outputs, first_errors(self._residuals)
        errors = np.abs((rows.y - scaling.offset) / scaling.scale - outputs)
        return np.vstack([steered_widths(errors[part], first, coverage, int(delay)) for part in rows.segments])

    def transform(self, X: Any, groups: ArrayLike | None = None) -> Any:
        """Return the states of all nodes on rows in order of time, from a cold start.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or list of such arrays
        groups : array-like of shape (n_samples,), default=None

        Returns
        -------
        states : ndarray of shape (n_samples, n_nodes), or list of such arrays
        """
        rows, columns = self._columns_of(X, None, groups, None)
        return rows.as_given(columns[:, columns.shape[1] - self.n_nodes_ :])

    def draw_seed(self) -> int:
        """The seed of a fit."""
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    @property
    def _n_features_out(self) -> int:
        return self.n_nodes_

    def _outputs_of(
        self, X: Any, y: Any, groups: ArrayLike | None, state: ReservoirState | Literal["end"] | None
    ) -> tuple[Given, np.ndarray]:
        rows, columns = self._columns_of(X, y, groups, state)
        return rows, self.reservoir_.clip_outputs(columns @ self.reservoir_.output_weights)

    def _columns_of(
        self, X: Any, y: Any, groups: ArrayLike | None, state: ReservoirState | Literal["end"] | None
    ) -> tuple[Given, np.ndarray]:
        check_is_fitted(self, "reservoir_")
        rows = given(self, X, y, groups, reset=False)
        starts = [self._start(label, state, len(rows.segments)) for label in rows.labels]
        return rows, driven(self.reservoir_, rows, starts)[0]

    def _start(
        self, label: Hashable, state: ReservoirState | Literal["end"] | None, count: int
    ) -> ReservoirState | None:
        """The state before the first row of a sequence."""
        if isinstance(state, str) and state == "end":
            if label not in self.states_:
                known = ", ".join(map(repr, list(self.states_)[:5]))
                raise ValueError(
                    f"Group {label!r} was not in training, which had {known}; it has no state to go on from."
                )
            return self.states_[label]
        if state is None or isinstance(state, ReservoirState):
            if state is not None and count > 1:
                raise ValueError('One state is for one sequence; use state="end" or predict one sequence at a time.')
            if state is not None:
                self.reservoir_.check_state(state)
            return state
        raise ValueError(f'state must be a ReservoirState, "end" or None; got {state!r}.')

    def stream(
        self,
        state: ReservoirState | Literal["end"] | None = "end",
        *,
        learning: Learning = "blend",
        rate: float = 0.5,
        forgetting: float = 0.99,
        coverage: float = 0.9,
    ) -> RecurrentStream:
        """Return an object that takes one row at a time, and learns on line.

        Parameters
        ----------
        state : ReservoirState, "end" or None, default="end"
            The state before the next row; "end" is that at the end of training, None a cold start.
        learning : {"blend", "projection", "rls"} or None, default="blend"
            How targets change predictions: by the projection algorithm, by recursive least squares, or by an average of
            both, of offsets that follow the errors, and of the latest known target, in which each counts by how well it
            has predicted recently.
        rate : float, default=0.5
            The step of the projection algorithm.
        forgetting : float, default=0.99
            The weight that recursive least squares leaves to earlier rows with each new one.
        coverage : float, default=0.9
            The share of targets that the intervals of the stream are to contain.

        Returns
        -------
        stream : RecurrentStream
        """
        check_is_fitted(self, "reservoir_")
        start = self.state_ if isinstance(state, str) and state == "end" else self._start(0, state, 1)
        start = self.reservoir_.cold_state() if start is None else start
        errors = first_errors(self._residuals)
        return RecurrentStream(self.reservoir_, start, learning, rate, forgetting, coverage, errors)

    def forecast(
        self, steps: int, X: Any = None, *, state: ReservoirState | None = None, group: Hashable = None
    ) -> np.ndarray:
        """Forecast the rows that follow: each prediction comes back as an input of the next row.

        Parameters
        ----------
        steps : int
            How many rows.
        X : array-like of shape (steps, n_features), default=None
            The inputs of these rows; None in models without inputs.
        state : ReservoirState, default=None
            Where to start; by default at the end of training.
        group : default=None
            The label of the sequence to continue, of a model with several.

        Returns
        -------
        y : ndarray of shape (steps,) or (steps, n_outputs)
        """
        return self.reservoir_.shaped(self._free(steps, X, state, group))

    def forecast_interval(
        self,
        steps: int,
        X: Any = None,
        *,
        state: ReservoirState | None = None,
        group: Hashable = None,
        coverage: float = 0.9,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper limits of intervals that contain a share ``coverage`` of the targets to come.

        Their width comes from free runs on the last part of time, and does not decrease with the horizon; beyond the
        longest of these runs it stays as it is. The other parameters are those of :meth:`forecast`.
        """
        outputs = self._free(steps, X, state, group)
        widths = widening(self._spread, coverage)
        widths = widths[np.minimum(np.arange(len(outputs)), len(widths) - 1)]
        return self.reservoir_.shaped(outputs - widths), self.reservoir_.shaped(outputs + widths)

    def _free(self, steps: Any, X: Any, state: ReservoirState | None, group: Hashable) -> np.ndarray:
        """Scaled outputs (steps, m) of a free run."""
        check_is_fitted(self, "reservoir_")
        reservoir = self.reservoir_
        if not reservoir.fed_back:
            raise ValueError("forecast needs a model whose outputs come back as inputs; fit one with feedback=True.")
        if not isinstance(steps, int | float | np.integer) or not np.isfinite(steps) or steps < 1 or steps % 1:
            raise ValueError(f"steps must be a whole number above 0; got {steps!r}.")
        count = int(steps)
        inputs = self._inputs_ahead(count, X)
        start = state if state is not None else self.state_ if group is None else self._start(group, "end", 1)
        if not isinstance(start, ReservoirState):
            raise ValueError(f"state must be a ReservoirState or None; got {start!r}.")
        reservoir.check_state(start)
        line = np.zeros((reservoir.length, reservoir.n_driving)) if start.line is None else start.line
        # The place of the row to come, which is dropped, follows the earlier rows.
        z = np.concatenate([line[::-1].ravel(), np.zeros(reservoir.n_driving)])[np.newaxis]
        starts = Starts(z, start.nodes[np.newaxis], start.output[np.newaxis])
        between, weights = (reservoir.low, reservoir.high), reservoir.output_weights[np.newaxis]
        return free_run(reservoir.nodes, starts, weights, between, count, inputs)[:, 0]

    def _inputs_ahead(self, steps: int, X: Any) -> np.ndarray | None:
        """Scaled inputs (1, steps, d) of the rows that follow, or None."""
        if X is None:
            if self.n_features_in_:
                raise ValueError(
                    f"The model has {self.n_features_in_} inputs; give their values in the {steps} rows that follow."
                )
            return None
        rows = given(self, X, None, None, reset=False).X
        if len(rows) != steps:
            raise ValueError(f"X has {len(rows)} rows for steps={steps}.")
        return self.reservoir_.scale_inputs(rows)[np.newaxis]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


def driven(
    reservoir: Reservoir, rows: Given, starts: list[ReservoirState | None]
) -> tuple[np.ndarray, list[ReservoirState]]:
    """[1, z, s] for all rows, and the state after each sequence, from the state before each of them."""
    known = None if rows.y is None else reservoir.clip_outputs(reservoir.outputs.transform(rows.y))
    parts, after = [], []
    for start, part in zip(starts, rows.segments, strict=True):
        columns, state = reservoir.columns(rows.X[part], None if known is None else known[part], start)
        parts.append(columns)
        after.append(state)
    return np.vstack(parts), after
