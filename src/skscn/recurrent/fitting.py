"""A fit: pilots choose the style, later rows the number of nodes and the penalty; then all rows are used.

One-step models are grown again on all rows. Models whose outputs come back keep the nodes that later free runs have
proved, with output weights from all rows, and are checked to stay within their limits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from skscn.factor import Factor
from skscn.growth import StopReason
from skscn.recurrent.choosing import (
    BLOCKS,
    SHARE,
    Effort,
    best_styles,
    free_errors,
    free_origins,
    full_weights,
    grow,
    held_outputs,
    judge,
    limits,
)
from skscn.recurrent.drawing import Style
from skscn.recurrent.free_runs import Starts, free_run
from skscn.recurrent.growing import AcceptedNodes, Growing
from skscn.recurrent.later import LaterChoice, later_errors, later_residuals, leading, solutions
from skscn.recurrent.nodes import RecurrentNodes
from skscn.recurrent.sequences import Sequences

# Penalties with which the error on later rows is followed during growth.
_FOLLOWED = (0.0, 1e-12, 1e-8, 1e-4)
# Free runs from the end of training must stay within their limits for this number of rows.
_STABLE = 2000
# Intervals are computed from at most this many residuals, and this many free runs.
_RESIDUALS, _FREE_RUNS = 1000, 40


@dataclass(frozen=True)
class Notice:
    """One step of growth, for histories and progress."""

    round: int
    nodes: int
    accepted: AcceptedNodes
    train_rmse: float
    validation_rmse: float


@dataclass(frozen=True, eq=False)
class FittedReservoir:
    """What a fit has found.

    Attributes
    ----------
    style : Style
    nodes : RecurrentNodes
    output_weights : ndarray of shape (1 + p + L, m)
    kept : ndarray of int
        Which of these columns the factor has.
    factor : Factor
        Of all scored rows.
    alpha : float
        The penalty per row.
    states : ndarray of shape (n, L)
        States on all rows.
    residuals : ndarray of shape (r, m)
        Sorted absolute residuals on later rows, scaled.
    spread : ndarray of shape (h, m, r)
        Sorted absolute errors of free runs by their horizon; empty without feedback.
    reason : StopReason
    """

    style: Style
    nodes: RecurrentNodes
    output_weights: np.ndarray
    kept: np.ndarray
    factor: Factor
    alpha: float
    states: np.ndarray
    residuals: np.ndarray
    spread: np.ndarray
    reason: StopReason


@dataclass(frozen=True, eq=False)
class _Finalist:
    """A network of full size, grown on the first part of time."""

    style: Style
    growing: Growing
    choice: LaterChoice
    exhausted: bool


def fit_reservoir(
    sequences: Sequences, effort: Effort, patience: int, seed: int, notify: Callable[[Notice], bool]
) -> FittedReservoir:
    """Fit a reservoir to scaled sequences; ``notify`` is told about every step and returns whether to stop."""
    rng = np.random.default_rng(seed)
    styles = best_styles(sequences, effort, rng)
    finalists = [
        _finalist(sequences, style, effort, rng, _Follower(sequences, patience, notify, number))
        for number, style in enumerate(styles, start=1)
    ]
    best = min(finalists, key=lambda finalist: finalist.choice.error)
    finish = _refitted if sequences.fed_back else _regrown
    return finish(sequences, best, effort, rng, lambda notice: notify(replace(notice, round=1 + len(styles))))


def _finalist(
    sequences: Sequences, style: Style, effort: Effort, rng: np.random.Generator, follower: _Follower
) -> _Finalist:
    growing, exhausted = grow(sequences, style, effort, rng, SHARE, follower)
    return _Finalist(style, growing, judge(sequences, growing), exhausted)


class _Follower:
    """Follows growth by the error on later rows; says when to stop."""

    def __init__(self, sequences: Sequences, patience: int, notify: Callable[[Notice], bool], number: int):
        self.number, self.targets, self.blocks = number, sequences.targets, sequences.blocks(SHARE, BLOCKS)
        self.patience, self.notify = patience, notify
        self._best, self._best_nodes = np.inf, 0

    def __call__(self, growing: Growing, accepted: AcceptedNodes) -> bool:
        sizes = [growing.size]
        error = later_errors(growing.factor(), growing.columns, self.targets, self.blocks, sizes, _FOLLOWED).min()
        if error < self._best:
            self._best, self._best_nodes = float(error), len(growing.nodes)
        stop = self.notify(Notice(self.number, len(growing.nodes), accepted, growing.rmse, float(error)))
        return stop or len(growing.nodes) - self._best_nodes >= self.patience


def _regrown(
    sequences: Sequences, best: _Finalist, effort: Effort, rng: np.random.Generator, notify: Callable[[Notice], bool]
) -> FittedReservoir:
    """The same style, number of nodes and penalty on all rows."""
    wanted = best.choice.columns - best.growing.linear

    def follow(growing: Growing, accepted: AcceptedNodes) -> bool:
        return notify(Notice(0, len(growing.nodes), accepted, growing.rmse, np.nan))

    growing, exhausted = grow(sequences, best.style, replace(effort, nodes=wanted), rng, notify=follow)
    factor = _joined(sequences, best.growing, best.choice.columns)
    # Draws differ: the nodes that explain all rows better are kept.
    if growing.size < best.choice.columns or factor.residual_squares.sum() < growing.factor().residual_squares.sum():
        growing, exhausted = best.growing, best.exhausted
    else:
        factor = growing.factor()
    size = len(factor.triangle)
    (weights,) = solutions(factor, size, [best.choice.alpha])
    return FittedReservoir(
        best.style,
        growing.nodes.take(slice(size - growing.linear)),
        full_weights(growing, weights),
        growing.kept[:size],
        factor,
        best.choice.alpha,
        growing.states[:, : size - growing.linear],
        _sorted_residuals(sequences, best),
        np.empty((0, sequences.targets.shape[1], 0)),
        _reason(best, wanted, effort, exhausted),
    )


def _joined(sequences: Sequences, growing: Growing, size: int) -> Factor:
    """The factor of all rows, of the first columns of a network that was grown on the first part of time."""
    first = leading(growing.factor(), size)
    for block in sequences.blocks(SHARE, BLOCKS):
        first = first.with_rows(growing.columns[block, :size], sequences.targets[block])
    return first


def _refitted(
    sequences: Sequences, best: _Finalist, effort: Effort, rng: np.random.Generator, notify: Callable[[Notice], bool]
) -> FittedReservoir:
    """The nodes that free runs have chosen, with output weights from all rows."""
    growing, size = best.growing, best.choice.columns
    factor = growing.factor()
    before = full_weights(growing, solutions(factor, size, [best.choice.alpha]))
    spread = _sorted_spread(sequences, growing, solutions(factor, size, [best.choice.alpha]))
    factor = _joined(sequences, growing, size)
    penalties = best.choice.alpha * 100.0 ** np.arange(4)
    tried = [*full_weights(growing, solutions(factor, size, penalties.tolist())), before[0]]
    nodes = growing.nodes.take(slice(size - growing.linear))
    stable = [weights for weights in tried if _stays(sequences, growing, nodes, weights)]
    return FittedReservoir(
        best.style,
        nodes,
        stable[0] if stable else tried[-1],
        growing.kept[:size],
        factor,
        best.choice.alpha,
        growing.states[:, : len(nodes)],
        _sorted_residuals(sequences, best),
        spread,
        _reason(best, len(nodes), effort, best.exhausted),
    )


def _stays(sequences: Sequences, growing: Growing, nodes: RecurrentNodes, weights: np.ndarray) -> bool:
    """Whether a free run from the end of training, with the last inputs again and again, stays within its limits."""
    last, m = len(sequences.u) - 1, sequences.targets.shape[1]
    starts = Starts(growing.course.z[[last]], growing.states[[last], : len(nodes)], held_outputs(sequences)[[last]])
    n_inputs = sequences.u.shape[1] - m
    inputs = np.resize(sequences.u[:, :n_inputs], (1, _STABLE, n_inputs)) if n_inputs else None
    low, high = limits(sequences.targets)
    course = free_run(nodes, starts, weights[np.newaxis], (low, high), _STABLE, inputs)
    return bool(((course > low) & (course < high)).all())


def _sorted_residuals(sequences: Sequences, best: _Finalist) -> np.ndarray:
    growing, blocks = best.growing, sequences.blocks(SHARE, BLOCKS)
    residuals = later_residuals(growing.factor(), growing.columns, sequences.targets, blocks, best.choice)
    return _thinned(np.sort(np.abs(residuals), axis=0), _RESIDUALS)


def _thinned(values: np.ndarray, most: int) -> np.ndarray:
    """At most ``most`` rows, evenly spread, with the first and the last."""
    if len(values) <= most:
        return values
    return np.asarray(values[np.linspace(0, len(values) - 1, most).astype(int)])


def _sorted_spread(sequences: Sequences, growing: Growing, weights: np.ndarray) -> np.ndarray:
    origins, steps = free_origins(sequences, _FREE_RUNS)
    squares = free_errors(sequences, growing, weights, origins, steps)[:, :, 0]
    return np.sort(np.sqrt(squares).transpose(0, 2, 1), axis=2)


def _reason(best: _Finalist, nodes: int, effort: Effort, exhausted: bool) -> StopReason:
    if nodes < len(best.growing.nodes):
        return StopReason.EARLY_STOPPING
    if nodes >= effort.nodes:
        return StopReason.MAX_NODES
    if best.growing.rmse <= effort.tol:
        return StopReason.TOL
    return StopReason.NO_CANDIDATE if exhausted else StopReason.EARLY_STOPPING
