"""Regression of sequences: a reservoir that grows under the supervisory inequality."""

from __future__ import annotations

from collections.abc import Hashable
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skscn.adaptive_intervals import check_coverage
from skscn.estimators.training import HISTORY
from skscn.growth import Step
from skscn.layers import IDENTITY, Nodes
from skscn.progress import Progress, current_listener
from skscn.recurrent.choosing import BLOCKS, SHARE, Effort, limits
from skscn.recurrent.fitting import FittedReservoir, Notice, fit_reservoir
from skscn.recurrent.free_runs import Starts, free_run
from skscn.recurrent.inputs import Given, given
from skscn.recurrent.learners import Learning
from skscn.recurrent.reservoir import Reservoir, ReservoirState, held
from skscn.recurrent.sequences import Sequences
from skscn.recurrent.steering import first_errors, steered_widths
from skscn.recurrent.stream import RecurrentStream
from skscn.scaling import Scaling, scale_inputs

# r, each closer to 1: how little a node may reduce the error.
CONTRACTIONS = (0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999)
# The washout if it is not given: this many rows, or a quarter of the shortest sequence.
_WASHOUT = 100
# Scored rows that a fit needs: for growth, and for the blocks of later rows that judge it.
_FEWEST = 20


class RecurrentSCNRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """A recurrent stochastic configuration network: regression and forecasts of rows in order of time.

    A reservoir of nodes s(n) = tanh(wᵀz(n) + b + Σ_k v_k s_k(n−1) + a s(n−1)) grows under the supervisory inequality.
    z(n) is a delay line of the inputs. A node hears only nodes that were there before it, so that adding one leaves the
    states of the others unchanged, and ``|a| ≤ 0.95``, which gives the reservoir the echo state property: it forgets
    its initial state, whatever the inputs. Short pilot networks choose the length of the delay line, the scopes of the
    weights, whether nodes hear other nodes, and whether products of columns are nodes as well; the error on the last
    part of time chooses the number of nodes and the ridge penalty. See :doc:`/mathematics`.

    Parameters
    ----------
    max_nodes : int, default=100
        L_max, the largest number of nodes.
    feedback : bool, default=False
        Whether the output of the row before is an input. Its nodes are chosen by free runs, and :meth:`forecast` lets
        its predictions come back.
    washout : int or "auto", default="auto"
        The first rows of each sequence, which drive the state and are not scored. "auto" is 100, or a quarter of the
        shortest sequence if that is less.
    max_candidates : int, default=1000
        T_max, the candidates of a step.
    nodes_per_step : int, default=10
        Nodes to add in one step, from the same candidates.
    tol : float, default=1e-10
        ε: growth ends when the training RMSE of the standardised target is at most this.
    n_iter_no_change : int, default=50
        Nodes without improvement on later rows after which growth ends.
    random_state : int, RandomState or None, default=None
        Determines the draws.
    verbose : int, default=0
        1 shows the progress of growth, 2 every step.

    Attributes
    ----------
    reservoir_ : Reservoir
        The trained reservoir.
    states_ : dict
        The state of each sequence at the end of training, by the label of its group; 0 if there was one sequence.
    n_nodes_ : int
        L, the number of nodes.
    history_ : ndarray with fields
        The steps of growth: of the networks that were judged on later rows (rounds 1 to 3) and, without feedback, of
        the final one (round 4).
    stop_reason_ : str
        Why growth ended.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If X was a table with such names.

    Examples
    --------
    An output that depends on earlier inputs:

    >>> import numpy as np
    >>> from skscn import RecurrentSCNRegressor
    >>> x = np.random.default_rng(0).uniform(size=(600, 1))
    >>> y = np.convolve(x[:, 0], [0.0, 0.3, 0.5, 0.2])[:600] ** 2
    >>> model = RecurrentSCNRegressor(max_nodes=20, max_candidates=200, random_state=0).fit(x[:500], y[:500])
    >>> bool(np.allclose(model.predict(x)[10:], y[10:]))
    True
    >>> stream = model.stream()
    >>> bool(abs(stream.predict_one(x[500]) - y[500]) < 0.05)
    True

    A forecast, from earlier values alone:

    >>> wave = np.sin(np.arange(400) / 5)
    >>> model = RecurrentSCNRegressor(max_nodes=10, feedback=True, max_candidates=100, random_state=0)
    >>> forecast = model.fit(None, wave[:300]).forecast(100)
    >>> bool(np.abs(forecast - wave[300:]).max() < 0.1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "max_nodes": [Interval(Integral, 1, None, closed="left")],
        "feedback": ["boolean"],
        "washout": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "max_candidates": [Interval(Integral, 2, None, closed="left")],
        "nodes_per_step": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    reservoir_: Reservoir
    states_: dict[Hashable, ReservoirState]
    history_: np.ndarray
    n_nodes_: int
    stop_reason_: str
    _residuals: np.ndarray
    _spread: np.ndarray

    def __init__(
        self,
        max_nodes: int = 100,
        *,
        feedback: bool = False,
        washout: int | Literal["auto"] = "auto",
        max_candidates: int = 1000,
        nodes_per_step: int = 10,
        tol: float = 1e-10,
        n_iter_no_change: int = 50,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.max_nodes = max_nodes
        self.feedback = feedback
        self.washout = washout
        self.max_candidates = max_candidates
        self.nodes_per_step = nodes_per_step
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, groups: ArrayLike | None = None) -> Self:
        """Grow a reservoir on rows in order of time.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or list of such arrays
            A list has one table for each sequence. None with ``feedback=True`` for no inputs but earlier targets.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or list of such arrays
            Targets. A row with a target that is NaN drives the state and is not scored.
        groups : array-like of shape (n_samples,), default=None
            The label of the sequence that each row belongs to; None for one sequence.

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError("This RecurrentSCNRegressor estimator requires y to be passed, but the target y is None.")
        rows = given(self, X, y, groups, reset=True)
        assert rows.y is not None
        inputs, outputs = _input_scaling(rows.X), _output_scaling(rows.y)
        sequences = self._sequences(rows, inputs.transform(rows.X), (rows.y - outputs.offset) / outputs.scale)
        effort = Effort(self.max_nodes, self.max_candidates, self.nodes_per_step, CONTRACTIONS, self.tol)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        follower = _Notices(type(self).__name__, self.max_nodes, self.verbose)
        fitted = fit_reservoir(sequences, effort, self.n_iter_no_change, seed, follower.notify)
        self._learn(rows, sequences, inputs, outputs, fitted)
        self.history_, self.stop_reason_ = follower.history(), str(fitted.reason)
        follower.progress.close(self.n_nodes_, self.stop_reason_)
        return self

    def _sequences(self, rows: Given, x: np.ndarray, targets: np.ndarray) -> Sequences:
        shortest = min(segment.stop - segment.start for segment in rows.segments)
        washout = min(_WASHOUT, shortest // 4) if self.washout == "auto" else int(self.washout)
        for label, segment in zip(rows.labels, rows.segments, strict=True):
            length = segment.stop - segment.start
            if length <= washout:
                raise ValueError(
                    f"Sequence {label!r} has {length} rows, not more than washout={washout}; use a smaller one."
                )
            if np.isnan(targets[segment]).any(axis=1).all():
                raise ValueError(f"Sequence {label!r} has no row with a known target.")
        u = x
        if self.feedback:
            came = np.vstack([_came_back(targets[segment]) for segment in rows.segments])
            u = np.hstack([x, came])
        sequences = Sequences(u, targets, rows.segments, washout, self.feedback)
        judged, grown = sequences.blocks(SHARE, BLOCKS), sequences.scored(0.0, SHARE)
        if len(sequences.scored()) < _FEWEST or not judged or len(grown) < _FEWEST // 2:
            raise ValueError(
                f"n_samples={len(u)} with {len(sequences.scored())} known targets after the washout is too few; at "
                f"least {_FEWEST} are needed, in the first and in the last part of time."
            )
        return sequences

    def _learn(
        self, rows: Given, sequences: Sequences, inputs: Scaling, outputs: Scaling, fitted: FittedReservoir
    ) -> None:
        low, high = limits(sequences.targets)
        self.reservoir_ = Reservoir(
            inputs,
            outputs,
            fitted.style.length,
            bool(self.feedback),
            bool(np.isnan(sequences.targets).any()),
            fitted.nodes,
            fitted.output_weights,
            low,
            high,
            fitted.kept,
            fitted.factor,
            fitted.alpha,
            rows.single_output,
        )
        self.n_nodes_, self._residuals, self._spread = len(fitted.nodes), fitted.residuals, fitted.spread
        known = sequences.targets if self.feedback else None
        self.states_ = {
            label: self.reservoir_.columns(rows.X[part], None if known is None else known[part])[1]
            for label, part in zip(rows.labels, rows.segments, strict=True)
        }

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

        Without ``delay``, they are as wide as the errors on the last part of time of a network that was trained on the
        first part. Where the process drifts further than it did then, they contain less: without labels, no width can
        be right. With ``delay``, each known target steers the width of the intervals after it (adaptive conformal
        inference), so that over many rows the share of targets that they contain is right even then.

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
        check_coverage(coverage)
        rows, outputs = self._outputs_of(X, y, groups, state)
        width = (
            _quantile(self._residuals.T, coverage) if delay is None else self._steered(rows, outputs, delay, coverage)
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

    def _outputs_of(
        self, X: Any, y: Any, groups: ArrayLike | None, state: ReservoirState | Literal["end"] | None
    ) -> tuple[Given, np.ndarray]:
        rows, columns = self._columns_of(X, y, groups, state)
        return rows, columns @ self.reservoir_.output_weights

    def _columns_of(
        self, X: Any, y: Any, groups: ArrayLike | None, state: ReservoirState | Literal["end"] | None
    ) -> tuple[Given, np.ndarray]:
        check_is_fitted(self, "reservoir_")
        rows = given(self, X, y, groups, reset=False)
        known = None if rows.y is None else (rows.y - self.reservoir_.outputs.offset) / self.reservoir_.outputs.scale
        parts = []
        for label, part in zip(rows.labels, rows.segments, strict=True):
            start = self._start(label, state, len(rows.segments))
            parts.append(self.reservoir_.columns(rows.X[part], None if known is None else known[part], start)[0])
        return rows, np.vstack(parts)

    def _start(
        self, label: Hashable, state: ReservoirState | Literal["end"] | None, count: int
    ) -> ReservoirState | None:
        """The state before the first row of a sequence."""
        if state == "end":
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
        start = self.state_ if state == "end" else self._start(0, state, 1)
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
        check_coverage(coverage)
        outputs = self._free(steps, X, state, group)
        widths = np.maximum.accumulate(_quantile(self._spread, coverage), axis=0)
        widths = widths[np.minimum(np.arange(steps), len(widths) - 1)]
        return self.reservoir_.shaped(outputs - widths), self.reservoir_.shaped(outputs + widths)

    def _free(self, steps: int, X: Any, state: ReservoirState | None, group: Hashable) -> np.ndarray:
        """Scaled outputs (steps, m) of a free run."""
        check_is_fitted(self, "reservoir_")
        reservoir = self.reservoir_
        if not reservoir.fed_back:
            raise ValueError("forecast needs a model whose outputs come back as inputs; fit one with feedback=True.")
        if steps < 1 or steps != int(steps):
            raise ValueError(f"steps must be a whole number above 0; got {steps}.")
        inputs = self._inputs_ahead(int(steps), X)
        start = state if state is not None else self.state_ if group is None else self._start(group, "end", 1)
        assert start is not None
        reservoir.check_state(start)
        line = np.zeros((reservoir.length, reservoir.n_driving)) if start.line is None else start.line
        # The place of the row to come, which is dropped, follows the earlier rows.
        z = np.concatenate([line[::-1].ravel(), np.zeros(reservoir.n_driving)])[np.newaxis]
        starts = Starts(z, start.nodes[np.newaxis], start.output[np.newaxis])
        between = (reservoir.low, reservoir.high)
        return free_run(reservoir.nodes, starts, reservoir.output_weights[np.newaxis], between, int(steps), inputs)[
            :, 0
        ]

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
        return self.reservoir_.inputs.transform(rows)[np.newaxis]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # A prediction depends on the rows before.
        tags.non_deterministic = False
        return tags


class _Notices:
    """Collects the steps of a fit, shows them and passes them on."""

    def __init__(self, label: str, max_nodes: int, verbose: int):
        self.progress, self.max_nodes = Progress(label, max_nodes, verbose), max_nodes
        self._rows: list[tuple[Any, ...]] = []

    def notify(self, notice: Notice) -> bool:
        """Take note of a step; return whether a listener asks to stop."""
        accepted = notice.accepted
        step = Step(
            Nodes.of(IDENTITY, accepted.nodes.weights, accepted.nodes.biases, accepted.nodes.scopes),
            notice.nodes,
            float(accepted.nodes.scopes.max()),
            accepted.contraction,
            accepted.slack,
            notice.train_rmse,
            accepted.candidates,
            accepted.seconds,
            notice.validation_rmse,
        )
        values = {**vars(step), "round": notice.round}
        self._rows.append(tuple(values[name] for name in HISTORY.names or ()))
        self.progress.update(step)
        listener = current_listener()
        return listener is not None and listener.step(step, self.max_nodes)

    def history(self) -> np.ndarray:
        """The steps as a table."""
        return np.array(self._rows, dtype=HISTORY)


def _input_scaling(X: np.ndarray) -> Scaling:
    """To mean 0 and standard deviation 1."""
    if not X.shape[1]:
        return Scaling.centred(np.zeros(0), np.ones(0))
    scaling = scale_inputs("standard", X)
    assert isinstance(scaling, Scaling)
    return scaling


def _output_scaling(y: np.ndarray) -> Scaling:
    deviation = np.nanstd(y, axis=0)
    return Scaling.centred(np.nanmean(y, axis=0), np.where(deviation > 0.0, deviation, 1.0))


def _came_back(targets: np.ndarray) -> np.ndarray:
    """The target of the row before, or the last one known; 0, the mean, before the first."""
    return held(np.vstack([np.zeros(targets.shape[1]), targets[:-1]]))


def _quantile(errors: np.ndarray, coverage: float) -> np.ndarray:
    """The error at the rank that split conformal intervals need, of sorted errors (…, r); unknown ones are last."""
    known = (~np.isnan(errors)).sum(axis=-1)
    ranks = np.clip(np.ceil(coverage * (known + 1)).astype(int), 1, np.maximum(known, 1)) - 1
    return np.take_along_axis(errors, ranks[..., np.newaxis], axis=-1)[..., 0]
