"""Regression of sequences: a reservoir that grows under the supervisory inequality."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from skscn.checks import fit_context
from skscn.fit.checkpoint import open_checkpoint
from skscn.progress import Callbacks, CallbackSupportMixin
from skscn.recurrent.fitting import FittedReservoir, GrowthBudget, ReplayLog, ReservoirFit
from skscn.recurrent.growing import weights_of
from skscn.recurrent.inputs import Given, given
from skscn.recurrent.nodes import ReservoirConfig
from skscn.recurrent.predicting import ReservoirRegressor, driven
from skscn.recurrent.reservoir import Reservoir
from skscn.recurrent.sequences import Prepared
from skscn.recurrent.spreads import free_spread, widest_sizes
from skscn.threads import single_threaded


class RecurrentSCNRegressor(CallbackSupportMixin, ReservoirRegressor):
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
    algorithm : {"SC-II", "SC-III"}, default="SC-III"
        Which output weights are evaluated again after each node: those within a sliding window of nodes, or all.
    window : int, default=15
        K, the number of nodes whose output weights SC-II evaluates again.
    tol : float, default=1e-10
        ε: growth ends when the training RMSE of the standardised target is at most this.
    n_iter_no_change : int, default=50
        Nodes without improvement on later rows after which growth ends.
    checkpoint : path or None, default=None
        A file in which the fit is saved about once a second. ``fit`` with the same path, rows and parameters continues
        from there, for instance after a crash, and ends with the same reservoir.
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
        the final one (round 4). Errors are in units of the target; with several outputs, of the scaled targets.
    stop_reason_ : {"tol", "max_nodes", "no candidate", "early stopping", "callback"}
        Why growth ended.
    n_rows_seen_ : int
        Rows of ``fit`` and of all calls of ``partial_fit``.
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
        "algorithm": [StrOptions({"SC-II", "SC-III"})],
        "window": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "checkpoint": [None, str, os.PathLike],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    history_: np.ndarray
    stop_reason_: str
    n_rows_seen_: int

    def __init__(
        self,
        max_nodes: int = 100,
        *,
        feedback: bool = False,
        washout: int | Literal["auto"] = "auto",
        max_candidates: int = 1000,
        nodes_per_step: int = 10,
        algorithm: Literal["SC-II", "SC-III"] = "SC-III",
        window: int = 15,
        tol: float = 1e-10,
        n_iter_no_change: int = 50,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.max_nodes = max_nodes
        self.feedback = feedback
        self.washout = washout
        self.max_candidates = max_candidates
        self.nodes_per_step = nodes_per_step
        self.algorithm = algorithm
        self.window = window
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
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
        rows = given(self, X, y, groups, reset=True, supervised=True)
        data = Prepared.of(rows, feedback=self.feedback, washout=self.washout)
        # Three networks are compared, and one may be grown on all rows.
        callbacks = Callbacks(self, rows.X, rows.target, {}, 4 * self.max_nodes)
        self.grow(data, None, callbacks)
        callbacks.end(lambda: {name: value for name, value in vars(self).items() if name in _LEARNT})
        return self

    def grow(
        self, data: Prepared, configs: Sequence[ReservoirConfig] | None, callbacks: Callbacks | None
    ) -> FittedReservoir:
        """Fit to prepared rows, with the best of these configurations; None lets pilot networks choose them."""
        with single_threaded(), open_checkpoint(self, data.fingerprint) as file:
            log = ReplayLog(file, self.draw_seed)
            learnt = partial(learnt_attributes, data)
            fit = ReservoirFit(type(self).__name__, data, self.budget(), log, self.verbose, callbacks, learnt)
            fitted = fit.run(fit.choose_configs() if configs is None else configs)
            log.save()
        for name, value in learnt(fitted).items():
            setattr(self, name, value)
        self.history_, self.stop_reason_ = fit.history, str(fit.reason)
        return fitted

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
        rows = given(self, X, y, groups, reset=False, supervised=True)
        assert rows.y is not None
        reservoir = self.reservoir_.widen(rows.y)
        columns, after = driven(reservoir, rows, [self._start(label, "end", 1) for label in rows.labels])
        self.reservoir_ = with_rows(reservoir, rows, columns, self.window if self.algorithm == "SC-II" else None)
        self.states_ = {**self.states_, **dict(zip(rows.labels, after, strict=True))}
        self.n_rows_seen_ += len(rows.X)
        return self

    def budget(self) -> GrowthBudget:
        """How networks are grown."""
        return GrowthBudget(
            self.max_nodes,
            self.max_candidates,
            self.nodes_per_step,
            self.tol,
            self.n_iter_no_change,
            self.algorithm,
            self.window,
        )


# What callbacks are given of a fitted estimator.
_LEARNT = ("reservoir_", "states_", "n_nodes_", "history_", "stop_reason_", "n_rows_seen_", "_residuals", "_spread")


def learnt_attributes(data: Prepared, fitted: FittedReservoir) -> dict[str, Any]:
    """The attributes of a fitted estimator."""
    reservoir = data.reservoir(
        fitted.config.length, fitted.nodes, fitted.output_weights, fitted.kept, fitted.factor, fitted.alpha
    )
    columns, after = driven(reservoir, data.rows, [None] * len(data.rows.segments))
    spread = np.empty((0, reservoir.n_outputs, 0))
    if fitted.early_weights is not None:
        spread = free_spread(data.sequences, reservoir.nodes, columns, fitted.early_weights)
    return {
        "reservoir_": reservoir,
        "states_": dict(zip(data.rows.labels, after, strict=True)),
        "n_nodes_": reservoir.n_nodes,
        "n_rows_seen_": len(data.rows.X),
        "_residuals": widest_sizes(fitted.residuals.values()),
        "_spread": spread,
    }


def with_rows(reservoir: Reservoir, rows: Given, columns: np.ndarray, window: int | None = None) -> Reservoir:
    """The reservoir with output weights from further rows as well; ``columns`` are [1, z, s] of these rows."""
    assert rows.y is not None
    known = ~np.isnan(rows.y).any(axis=1)
    if not known.any():
        return reservoir
    kept, targets = reservoir.kept, (rows.y[known] - reservoir.outputs.offset) / reservoir.outputs.scale
    factor = reservoir.joinable.with_rows(columns[known][:, kept], targets)
    weights = np.zeros_like(reservoir.output_weights)
    linear = int((kept <= reservoir.nodes.width).sum())
    (weights[kept],) = weights_of(factor, [reservoir.alpha], window, linear)
    return replace(reservoir, output_weights=weights, factor=factor)
