"""Ensembles of recurrent networks, and several reservoirs as one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr
from sklearn.utils._param_validation import Interval
from sklearn.utils.parallel import delayed

from skscn.checks import fit_context
from skscn.estimators.ensemble.members import Processes
from skscn.factor import Factor
from skscn.fit.checkpoint import open_checkpoint
from skscn.progress import Callbacks, CallbackSupportMixin, Listener, current_listener, listening
from skscn.recurrent.estimator import RecurrentSCNRegressor, with_rows
from skscn.recurrent.fitting import FittedReservoir, ReplayLog, ReservoirFit
from skscn.recurrent.inputs import given
from skscn.recurrent.nodes import RecurrentNodes, ReservoirConfig
from skscn.recurrent.predicting import ReservoirRegressor, driven
from skscn.recurrent.sequences import Prepared
from skscn.recurrent.spreads import free_spread, widest_sizes
from skscn.threads import single_threaded

# Columns that depend on those before, up to this share of their size, are left out of the factor.
_DEPENDENT = 1e-7


def joined_nodes(blocks: Sequence[RecurrentNodes]) -> RecurrentNodes:
    """The nodes of several reservoirs, one block after the other."""
    width, before, placed = max(nodes.width for nodes in blocks), 0, []
    for nodes in blocks:
        inner = nodes.factors - nodes.width
        placed.append(
            replace(
                nodes,
                weights=np.pad(nodes.weights, ((0, width - nodes.width), (0, 0))),
                sources=nodes.sources + before,
                factors=np.where(inner >= 0, inner + width + before, nodes.factors),
            )
        )
        before += len(nodes)
    return RecurrentNodes.joined(placed)


def joined_weights(blocks: Sequence[RecurrentNodes], weights: Sequence[np.ndarray]) -> np.ndarray:
    """Output weights (1 + p + L, m) of the joined nodes, from those of each reservoir."""
    width = max(nodes.width for nodes in blocks)
    linear = np.zeros((1 + width, weights[0].shape[1]))
    inner = []
    for nodes, own in zip(blocks, weights, strict=True):
        linear[: 1 + nodes.width] += own[: 1 + nodes.width]
        inner.append(own[1 + nodes.width :])
    return np.vstack([linear, *inner]) / len(blocks)


def factor_of(columns: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, Factor]:
    """The columns that do not depend on the others, of which the first is constant, and their factor."""
    whole = Factor.empty(columns.shape[1], targets.shape[1], linear=1).with_rows(columns, targets)
    inner = whole.triangle[1:, 1:]
    units = np.sqrt((inner**2).sum(axis=0))
    varying = np.flatnonzero(units > _DEPENDENT * np.sqrt((whole.triangle[:, 1:] ** 2).sum(axis=0)))
    if not len(varying):
        kept = np.zeros(1, dtype=np.int64)
    else:
        triangle, order = qr(inner[:, varying] / units[varying], mode="r", pivoting=True)
        rank = int((np.abs(triangle.diagonal()) > _DEPENDENT).sum())
        kept = np.append(0, 1 + np.sort(varying[order[:rank]]))
    return kept, Factor.empty(len(kept), targets.shape[1], linear=1).with_rows(columns[:, kept], targets)


# An ensemble of recurrent networks, which runs as one reservoir.


# Parameters that are not those of the members.
_OWN = {"n_estimators", "n_jobs", "checkpoint", "random_state", "verbose"}


class GrownReservoir(NamedTuple):
    """A member with its number, and what its fit has found."""

    number: int
    network: RecurrentSCNRegressor
    fitted: FittedReservoir


class RecurrentSCNEnsembleRegressor(CallbackSupportMixin, ReservoirRegressor):
    """The mean of several recurrent stochastic configuration networks.

    Pilot networks choose configurations once, for all members. Each member has its own draws, compares a network of
    each configuration on later rows, and keeps the best. The members run as one reservoir, ``reservoir_``: where
    outputs come back as inputs, it is their mean that comes back to all of them.

    Parameters
    ----------
    n_estimators : int, default=5
        The number of members.
    max_nodes : int, default=100
        L_max, the largest number of nodes of a member.
    feedback : bool, default=False
        Whether the output of the row before is an input.
    washout : int or "auto", default="auto"
        The first rows of each sequence, which drive the state and are not scored.
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
        A file in which the choice of styles is saved; each member has another one in the same folder, whose name ends
        with its seed. ``fit`` with the same path, rows and parameters continues from there.
    n_jobs : int or None, default=None
        Processes; None means 1, −1 all processors. The ensemble does not depend on it.
    random_state : int, RandomState or None, default=None
        Determines the draws.
    verbose : int, default=0
        1 shows the pilot networks, and how many members are finished; 2 every pilot network.

    Attributes
    ----------
    members_ : list of RecurrentSCNRegressor
        The members.
    reservoir_ : Reservoir
        All of them as one.
    states_ : dict
        Its state at the end of training, by the label of the group; 0 if there was one sequence.
    n_nodes_ : int
        The number of nodes of all members.
    n_rows_seen_ : int
        Rows of ``fit`` and of all calls of ``partial_fit``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If X was a table with such names.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn import RecurrentSCNEnsembleRegressor
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, size=(600, 1))
    >>> y = np.sin(3 * np.convolve(x[:, 0], [0.0, 0.3, 0.7])[:600]) + 0.1 * rng.normal(size=600)
    >>> model = RecurrentSCNEnsembleRegressor(3, max_nodes=20, max_candidates=100, random_state=0)
    >>> model = model.fit(x[:400], y[:400])
    >>> members = [member.predict(x[400:], state="end") for member in model.members_]
    >>> bool(np.allclose(model.predict(x[400:], state="end"), np.mean(members, axis=0)))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        **RecurrentSCNRegressor._parameter_constraints,
        "n_jobs": [None, Integral],
    }

    members_: list[RecurrentSCNRegressor]
    n_rows_seen_: int

    def __init__(
        self,
        n_estimators: int = 5,
        *,
        max_nodes: int = 100,
        feedback: bool = False,
        washout: int | Literal["auto"] = "auto",
        max_candidates: int = 1000,
        nodes_per_step: int = 10,
        algorithm: Literal["SC-II", "SC-III"] = "SC-III",
        window: int = 15,
        tol: float = 1e-10,
        n_iter_no_change: int = 50,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.n_estimators = n_estimators
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
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, groups: ArrayLike | None = None) -> Self:
        """Grow the members on rows in order of time.

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
        # Each member is a step.
        callbacks = Callbacks(self, rows.X, rows.target, {}, self.n_estimators)
        with single_threaded(), open_checkpoint(self, data.fingerprint) as file:
            members = self._grown(data, ReplayLog(file, self.draw_seed), callbacks)
        learnt = _learnt(data, members)
        for name, value in learnt.items():
            setattr(self, name, value)
        callbacks.end(lambda: learnt)
        return self

    def _grown(self, data: Prepared, log: ReplayLog, callbacks: Callbacks) -> list[GrownReservoir]:
        template = RecurrentSCNRegressor(
            **{name: value for name, value in self.get_params().items() if name not in _OWN}
        )
        configs = ReservoirFit(type(self).__name__, data, template.budget(), log, self.verbose).choose_configs()
        log.save()
        seeds = np.random.RandomState(log.seed).randint(np.iinfo(np.int32).max, size=self.n_estimators)
        listener = current_listener()
        elsewhere = None if listener is None else listener.elsewhere()
        tasks = (
            delayed(_grow)(self._member(template, int(seed)), data, configs, number, elsewhere)
            for number, seed in enumerate(seeds)
        )
        finished: list[GrownReservoir] = []

        def stop_after(member: GrownReservoir) -> bool:
            finished.append(member)
            return callbacks.stop_after_step(lambda: _learnt(data, finished), "member")

        return Processes(self.n_jobs, self.verbose).grow(tasks, self.n_estimators, stop_after)

    def _member(self, template: RecurrentSCNRegressor, seed: int) -> RecurrentSCNRegressor:
        # Each member has its own file.
        file = None if self.checkpoint is None else f"{os.fspath(self.checkpoint)}-{seed}"
        return RecurrentSCNRegressor(**{**template.get_params(), "random_state": seed, "checkpoint": file})

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, groups: ArrayLike | None = None) -> Self:
        """Learn from rows that follow those seen so far, as :meth:`RecurrentSCNRegressor.partial_fit` of all members.

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
        members = [copy(member).partial_fit(X, y, groups) for member in self.members_]
        weights = _mean(members, [member.reservoir_.output_weights for member in members])
        self.members_ = members
        self.reservoir_ = replace(with_rows(reservoir, rows, columns), output_weights=weights)
        self.states_ = {**self.states_, **dict(zip(rows.labels, after, strict=True))}
        self.n_rows_seen_ += len(rows.X)
        return self


def _learnt(data: Prepared, members: Sequence[GrownReservoir]) -> dict[str, Any]:
    """The attributes of an ensemble of these members."""
    networks = [member.network for member in members]
    parts = [network.reservoir_ for network in networks]
    nodes = joined_nodes([part.nodes for part in parts])
    weights = _mean(networks, [part.output_weights for part in parts])
    empty = Factor.empty(0, data.sequences.targets.shape[1])
    alpha = max(part.alpha for part in parts)
    reservoir = data.reservoir(max(part.length for part in parts), nodes, weights, np.zeros(0, int), empty, alpha)
    columns, after = driven(reservoir, data.rows, [None] * len(data.rows.segments))
    scored = data.sequences.scored()
    kept, factor = factor_of(columns[scored], data.sequences.targets[scored])
    spread = np.empty((0, reservoir.n_outputs, 0))
    early = [member.fitted.early_weights for member in members if member.fitted.early_weights is not None]
    if early:
        spread = free_spread(data.sequences, nodes, columns, _mean(networks, early))
    return {
        "members_": networks,
        "reservoir_": replace(reservoir, kept=kept, factor=factor),
        "states_": dict(zip(data.rows.labels, after, strict=True)),
        "n_nodes_": len(nodes),
        "n_rows_seen_": len(data.rows.X),
        "_residuals": widest_sizes(_mean_residuals([member.fitted.residuals for member in members])),
        "_spread": spread,
    }


def _mean_residuals(residuals: Sequence[dict[float, np.ndarray]]) -> list[np.ndarray]:
    """Residuals of the mean of members, after the shares of time that all of them have."""
    shares = set.intersection(*(set(folds) for folds in residuals))
    return [np.mean([folds[share] for folds in residuals], axis=0) for share in sorted(shares)]


def _mean(members: Sequence[RecurrentSCNRegressor], weights: Sequence[np.ndarray]) -> np.ndarray:
    """Output weights of the joined nodes, from those of each member."""
    return joined_weights([member.reservoir_.nodes for member in members], weights)


def _grow(
    member: RecurrentSCNRegressor,
    data: Prepared,
    configs: Sequence[ReservoirConfig],
    number: int,
    elsewhere: Listener | None,
) -> GrownReservoir:
    """Grow a member, in this process or in another one."""
    with listening(current_listener() or elsewhere):
        return GrownReservoir(number, member, member.grow(data, configs, None))
