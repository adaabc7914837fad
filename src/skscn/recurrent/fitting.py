"""A recurrent fit: pilots choose the style, later rows the number of nodes and the penalty; then all rows are used.

One-step models are grown again on all rows. Models whose outputs come back keep the nodes that later free runs have
proved, with output weights from all rows, and are checked to stay within their limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from skscn.factor import Factor
from skscn.fit.checkpoint import CheckpointFile
from skscn.growth import HISTORY, Step, StopReason
from skscn.nodes import IDENTITY, Nodes
from skscn.progress import Callbacks, Progress, current_listener, round_of
from skscn.recurrent.choosing import (
    BLOCKS,
    SHARE,
    Effort,
    best_styles,
    full_weights,
    grow,
    held_outputs,
    judge,
    pilots_for,
)
from skscn.recurrent.free_runs import Starts, free_run
from skscn.recurrent.growing import AcceptedNodes, Growing
from skscn.recurrent.later import LaterChoice, freedom, later_errors, leading
from skscn.recurrent.nodes import RecurrentNodes, Style
from skscn.recurrent.reservoir import limits
from skscn.recurrent.sequences import Sequences

# The steps of a network; the last one is None if no candidate passed.
Steps = list[AcceptedNodes | None]
_TERMS = ("contraction", "slack", "candidates", "seconds")


class Journal:
    """The journal of one fit.

    Parameters
    ----------
    file : CheckpointFile or None
        Where it is kept; what is there already will be repeated.
    draw_seed : callable
        Returns the seed of a fit that begins.

    Attributes
    ----------
    seed : int
    rng : Generator
        Of all draws.
    repeats : bool
        Whether the last step, or pilot network, was a repetition.
    """

    def __init__(self, file: CheckpointFile | None, draw_seed: Callable[[], int]):
        self._file, self.repeats = file, False
        self._errors: list[float] = []
        self._networks: list[Steps] = []
        # Where the fit is.
        self._pilot, self._network, self._step, self._suspended = 0, -1, 0, False
        read = None if file is None else file.read()
        if file is None or read is None:
            self.seed = draw_seed()
            self.rng = np.random.default_rng(self.seed)
            return
        about, arrays = read
        with file.complete():
            self.seed = int(about["seed"])
            self.rng = np.random.default_rng(self.seed)
            self._errors = arrays["errors"].tolist()
            self._networks = [_steps_of(arrays, f"{number}_") for number in range(about["networks"])]
            # Nothing is drawn while steps are repeated.
            self.rng.bit_generator.state = about["generator"]

    def pilot(self, error: Callable[[], float]) -> float:
        """The error of the next pilot network, which ``error`` computes."""
        self.repeats = self._pilot < len(self._errors)
        if not self.repeats:
            self._errors.append(error())
            self._note()
        self._pilot += 1
        return self._errors[self._pilot - 1]

    def suspend(self) -> None:
        """What follows is not what the fit would have done, and is not noted."""
        self._suspended = True

    def begin_network(self) -> None:
        """Another network grows."""
        self._network, self._step = self._network + 1, 0
        if self._network == len(self._networks):
            self._networks.append([])

    def step(self, growing: Growing, rng: np.random.Generator, count: int) -> AcceptedNodes | None:
        """The next step of this network."""
        if self._suspended:
            return growing.step(rng, count)
        steps = self._networks[self._network]
        self.repeats = self._step < len(steps)
        if not self.repeats:
            steps.append(growing.step(rng, count))
            self._note()
        accepted = steps[self._step]
        if self.repeats and accepted is not None:
            growing.repeat(accepted.nodes)
        self._step += 1
        return accepted

    def _note(self) -> None:
        if self._file is not None and self._file.is_due:
            self.save()

    def save(self) -> None:
        """Write the file, if there is one."""
        if self._file is None or self._suspended:
            return
        arrays = {"errors": np.array(self._errors)}
        for number, steps in enumerate(self._networks):
            arrays |= {f"{number}_{name}": values for name, values in _arrays_of(steps).items()}
        about = {"seed": self.seed, "networks": len(self._networks), "generator": self.rng.bit_generator.state}
        self._file.write(about, arrays)


def _arrays_of(steps: Sequence[AcceptedNodes | None]) -> dict[str, np.ndarray]:
    passed = [step for step in steps if step is not None]
    counts = np.array([0 if step is None else len(step.nodes) for step in steps], dtype=np.int64)
    terms = np.array([[float(getattr(step, name)) for name in _TERMS] for step in passed]).reshape(-1, len(_TERMS))
    if not passed:
        return {"counts": counts, "terms": terms}
    nodes = RecurrentNodes.joined([step.nodes for step in passed])
    return {"counts": counts, "terms": terms, **{field.name: getattr(nodes, field.name) for field in fields(nodes)}}


def _steps_of(arrays: Mapping[str, np.ndarray], prefix: str) -> Steps:
    counts, terms = arrays[f"{prefix}counts"], iter(arrays[f"{prefix}terms"].tolist())
    if not counts.any():
        return [None] * len(counts)
    nodes = RecurrentNodes(*(arrays[f"{prefix}{field.name}"] for field in fields(RecurrentNodes)))
    steps: Steps = []
    for count, end in zip(counts.tolist(), np.cumsum(counts).tolist(), strict=True):
        if not count:
            steps.append(None)
            continue
        contraction, slack, candidates, seconds = next(terms)
        steps.append(AcceptedNodes(nodes.take(slice(end - count, end)), contraction, slack, int(candidates), seconds))
    return steps


# Following a fit step by step: history, progress, callbacks and listeners, each of which only reads the steps.


@dataclass(frozen=True, eq=False)
class Notice:
    """One step of growth: the network after it, what was accepted, its error on later rows, and the penalty for it."""

    growing: Growing
    accepted: AcceptedNodes
    validation_rmse: float
    alpha: float

    def step(self, unit: float) -> Step:
        """The step as that of any other network, with errors in this unit."""
        nodes, accepted = self.accepted.nodes, self.accepted
        return Step(
            Nodes.of(IDENTITY, nodes.weights, nodes.biases, nodes.scopes),
            len(self.growing.nodes),
            float(nodes.scopes.max()),
            accepted.contraction,
            accepted.slack,
            unit * self.growing.rmse,
            accepted.candidates,
            accepted.seconds,
            unit * self.validation_rmse,
        )


class Audience:
    """Whoever follows a fit; each of them can end it.

    Parameters
    ----------
    name : str
        What is fitted.
    max_nodes, verbose : int
    unit : float
        How large a scaled error of 1 is.
    callbacks : Callbacks or None
    learnt : callable
        Returns what an estimator that stopped after a step would have learnt.
    """

    def __init__(
        self,
        name: str,
        max_nodes: int,
        verbose: int,
        unit: float,
        callbacks: Callbacks | None,
        learnt: Callable[[Notice], dict[str, Any]],
    ):
        self._name, self._max_nodes, self._verbose, self._unit = name, max_nodes, verbose, unit
        self._callbacks, self._learnt = callbacks, learnt
        self._progress = Progress(name, max_nodes, verbose)
        self._rows: list[tuple[Any, ...]] = []
        self._round, self._pilots, self._ends = 0, 0, False

    @property
    def stopped(self) -> bool:
        """Whether the fit is to end."""
        listener = current_listener()
        self._ends = self._ends or (listener is not None and listener.stopped())
        return self._ends

    def begin_pilots(self, most: int) -> None:
        """Pilot networks are about to grow, at most this many."""
        self._progress, self._pilots = Progress(f"{self._name}, pilot networks", most, self._verbose), 0

    def pilot(self, style: Style, error: float, *, repeated: bool) -> None:
        """Show the error of a pilot network on later rows, unless it has been shown before."""
        self._pilots += 1
        if not repeated:
            shown = f"{self._pilots}/{self._progress.total}: {style}, validation {self._unit * error:.5g}"
            self._progress.show(self._pilots, shown)

    def end_pilots(self, styles: Sequence[Style]) -> None:
        """Show what the pilot networks have chosen."""
        self._progress.end(f"chose {'; '.join(map(str, styles))}")

    def begin_round(self, number: int, most: int) -> None:
        """Another network grows."""
        self._round, listener = number, current_listener()
        self._progress = Progress(f"{self._name}, {round_of(number, most)}", self._max_nodes, self._verbose)
        if listener is not None:
            listener.begin_round(number, most)

    def notify(self, notice: Notice, *, repeated: bool) -> bool:
        """Take note of a step; return whether to stop. Steps that are repeated have been shown before."""
        step = notice.step(self._unit)
        values = {**vars(step), "round": self._round}
        self._rows.append(tuple(values[name] for name in HISTORY.names or ()))
        if repeated:
            return False
        self._progress.update(step)
        if self._callbacks is not None:
            self._ends |= self._callbacks.stop_after_step(lambda: self._learnt(notice))
        listener = current_listener()
        if listener is not None:
            self._ends |= listener.step(step, self._max_nodes)
        return self._ends

    def end(self, nodes: int, reason: str) -> None:
        """Show how the fit ended."""
        self._progress.end(f"stopped at {nodes} nodes: {reason}")

    def history(self) -> np.ndarray:
        """The steps as a table."""
        return np.array(self._rows, dtype=HISTORY)


# A fit: pilots choose the style, later rows the number of nodes and the penalty; then all rows are used.
#
# One-step models are grown again on all rows. Models whose outputs come back keep the nodes that later free runs have
# proved, with output weights from all rows, and are checked to stay within their limits.


# Penalties with which the error on later rows is followed during growth.
_FOLLOWED = (0.0, 1e-12, 1e-8, 1e-4)
# Shares of time after which intervals look at errors. Weights of the rows before need this many rows for each degree of
# freedom, or their errors say more about too few rows than about later ones.
_FOLDS, _ROWS_PER_FREEDOM = (0.4, 0.55, SHARE), 2.0
# Free runs from the end of training must stay within their limits for this number of rows.
_STABLE = 2000


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
    residuals : dict of float to ndarray of shape (r, m)
        By shares of time: on the rows after that share, in order of time, scaled, with weights from the rows before.
    early_weights : ndarray of shape (1 + p + L, m) or None
        Of models whose outputs come back: output weights of the same nodes from the first part of time.
    reason : StopReason
    """

    style: Style
    nodes: RecurrentNodes
    output_weights: np.ndarray
    kept: np.ndarray
    factor: Factor
    alpha: float
    residuals: dict[float, np.ndarray]
    early_weights: np.ndarray | None
    reason: StopReason


@dataclass(frozen=True, eq=False)
class _Finalist:
    """A network of full size, grown on the first part of time."""

    style: Style
    growing: Growing
    choice: LaterChoice
    exhausted: bool


def choose_styles(sequences: Sequences, effort: Effort, journal: Journal, audience: Audience) -> list[Style]:
    """Styles to compare in networks of full size; once the fit is to end, pilots are left out."""

    def pilot(style: Style, error: Callable[[], float]) -> float:
        if audience.stopped:
            journal.suspend()
            return np.inf
        found = journal.pilot(error)
        audience.pilot(style, found, repeated=journal.repeats)
        return found

    audience.begin_pilots(pilots_for(sequences))
    styles = best_styles(sequences, effort, journal.rng, pilot)
    audience.end_pilots(styles)
    return styles


def fit_reservoir(
    sequences: Sequences, styles: Sequence[Style], effort: Effort, patience: int, journal: Journal, audience: Audience
) -> FittedReservoir:
    """Fit a reservoir of the best of these styles to scaled sequences.

    When someone in the audience asks to stop, the network so far is kept.
    """
    most = len(styles) + (0 if sequences.fed_back else 1)
    finalists: list[_Finalist] = []
    for number, style in enumerate(styles, start=1):
        if finalists and audience.stopped:
            break
        audience.begin_round(number, most)
        journal.begin_network()
        follower = _Follower(sequences, patience, journal, audience)
        growing, exhausted = grow(sequences, style, effort, journal.rng, SHARE, follower, journal.step)
        finalists.append(_Finalist(style, growing, judge(sequences, growing), exhausted))
    best = min(finalists, key=lambda finalist: finalist.choice.error)
    if sequences.fed_back:
        return _refitted(sequences, best, effort, stopped=audience.stopped)
    return _regrown(sequences, best, effort, journal, audience, most)


class _Follower:
    """Follows growth by the error on later rows; says when to stop."""

    def __init__(self, sequences: Sequences, patience: int, journal: Journal, audience: Audience):
        self.targets, self.blocks = sequences.targets, sequences.blocks(SHARE, BLOCKS)
        self.patience, self.journal, self.audience = patience, journal, audience
        self._best, self._best_nodes = np.inf, 0

    def __call__(self, growing: Growing, accepted: AcceptedNodes) -> bool:
        sizes = [growing.size]
        (errors,) = later_errors(
            growing.factor(), growing.columns, self.targets, self.blocks, sizes, _FOLLOWED, growing.solutions
        )
        error, alpha = float(errors.min()), _FOLLOWED[int(errors.argmin())]
        if error < self._best:
            self._best, self._best_nodes = error, len(growing.nodes)
        stop = self.audience.notify(Notice(growing, accepted, error, alpha), repeated=self.journal.repeats)
        return stop or len(growing.nodes) - self._best_nodes >= self.patience


def _regrown(
    sequences: Sequences, best: _Finalist, effort: Effort, journal: Journal, audience: Audience, number: int
) -> FittedReservoir:
    """The same style, number of nodes and penalty on all rows, in the last round, unless the fit is to end."""
    columns, alpha = best.choice.columns, best.choice.alpha
    wanted = columns - best.growing.linear

    def follow(growing: Growing, accepted: AcceptedNodes) -> bool:
        return audience.notify(Notice(growing, accepted, np.nan, alpha), repeated=journal.repeats)

    growing, exhausted, factor = best.growing, best.exhausted, _joined(sequences, best.growing, columns)
    if not audience.stopped:
        audience.begin_round(number, number)
        journal.begin_network()
        same = replace(effort, nodes=wanted)
        again, ended = grow(sequences, best.style, same, journal.rng, notify=follow, step=journal.step)
        # Draws differ: new nodes are kept if they explain all rows better, under the same penalty, and predict later
        # rows, which they have seen, as well as those that had not seen them.
        explains = again.size >= columns and _squares(again, again.factor(), alpha) <= _squares(growing, factor, alpha)
        if explains and _later_error(sequences, again, columns, alpha) <= best.choice.error:
            growing, exhausted, factor = again, ended, again.factor()
    size = len(factor.triangle)
    (weights,) = growing.solutions(factor, size, [alpha])
    return FittedReservoir(
        best.style,
        growing.nodes.take(slice(size - growing.linear)),
        full_weights(growing, weights),
        growing.kept[:size],
        factor,
        alpha,
        _later_residuals(sequences, best.growing, best.choice),
        None,
        StopReason.CALLBACK if audience.stopped else _reason(best, wanted, effort, exhausted),
    )


def _squares(growing: Growing, factor: Factor, alpha: float) -> float:
    """The squared error on all rows of a factor, with output weights under a penalty."""
    (weights,) = growing.solutions(factor, len(factor.triangle), [alpha])
    left = factor.coefficients - factor.triangle @ weights
    return float(factor.residual_squares.sum() + (left**2).sum())


def _later_error(sequences: Sequences, growing: Growing, size: int, alpha: float) -> float:
    """The error on later rows of the first columns of a network that was grown on all rows, by weights from before."""
    factor, blocks = _factor_before(sequences, growing, size, SHARE), sequences.blocks(SHARE, BLOCKS)
    columns = growing.columns[:, :size]
    errors = later_errors(factor, columns, sequences.targets, blocks, [size], [alpha], growing.solutions)
    return float(errors[0, 0])


def _factor_before(sequences: Sequences, growing: Growing, size: int, share: float) -> Factor:
    """The factor of the first columns on the rows before a share of time."""
    rows = sequences.scored(0.0, share)
    empty = Factor.empty(size, sequences.targets.shape[1], 1)
    return empty.with_rows(growing.columns[rows, :size], sequences.targets[rows])


def _joined(sequences: Sequences, growing: Growing, size: int) -> Factor:
    """The factor of all rows, of the first columns of a network that was grown on the first part of time."""
    first = leading(growing.factor(), size)
    for block in sequences.blocks(SHARE, BLOCKS):
        first = first.with_rows(growing.columns[block, :size], sequences.targets[block])
    return first


def _refitted(sequences: Sequences, best: _Finalist, effort: Effort, *, stopped: bool) -> FittedReservoir:
    """The nodes that free runs have chosen, with output weights from all rows, under the best penalty that is stable.

    Weights from the first part of time, which free runs have tested, are kept if none is.
    """
    growing, size = best.growing, best.choice.columns
    factor, nodes = _joined(sequences, growing, size), growing.nodes.take(slice(size - growing.linear))
    alphas = [best.choice.alpha, *best.choice.others]
    tried = full_weights(growing, growing.solutions(factor, size, alphas))
    stable = (place for place, weights in enumerate(tried) if _stays(sequences, growing, nodes, weights))
    place = next(stable, None)
    alpha = best.choice.alpha if place is None else alphas[place]
    (before,) = full_weights(growing, growing.solutions(growing.factor(), size, [alpha]))
    return FittedReservoir(
        best.style,
        nodes,
        before if place is None else tried[place],
        growing.kept[:size],
        factor,
        alpha,
        _later_residuals(sequences, growing, replace(best.choice, alpha=alpha)),
        before,
        StopReason.CALLBACK if stopped else _reason(best, len(nodes), effort, best.exhausted),
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


def _later_residuals(sequences: Sequences, growing: Growing, choice: LaterChoice) -> dict[float, np.ndarray]:
    """Residuals on all rows after some shares of time, with weights from the rows before, where these are enough.

    What is predicted later is as far from the training rows as these are; weights that learn from rows in between would
    promise too much where the process drifts.
    """
    found, size = {}, choice.columns
    for share in _FOLDS:
        before, rows = _factor_before(sequences, growing, size, share), sequences.scored(share)
        if share == SHARE or before.weight > _ROWS_PER_FREEDOM * freedom(before, choice.alpha):
            (weights,) = growing.solutions(before, size, [choice.alpha])
            found[share] = sequences.targets[rows] - growing.columns[rows, :size] @ weights
    return found


def _reason(best: _Finalist, nodes: int, effort: Effort, exhausted: bool) -> StopReason:
    if nodes < len(best.growing.nodes):
        return StopReason.EARLY_STOPPING
    if nodes >= effort.nodes:
        return StopReason.MAX_NODES
    if best.growing.rmse <= effort.tol:
        return StopReason.TOL
    return StopReason.NO_CANDIDATE if exhausted else StopReason.EARLY_STOPPING
