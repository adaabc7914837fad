"""What later rows choose: how many nodes, and which penalty.

A network is grown on the first part of time and judged on the rest of it: by the errors of one step, block after block,
each with output weights from the rows before; or by free runs if outputs come back as inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from skscn.nodes import Nodes
from skscn.output_weights import OutputWeights
from skscn.recurrent.free_runs import Starts, free_run
from skscn.recurrent.growing import GrowingReservoir
from skscn.recurrent.reservoir import limits
from skscn.recurrent.sequences import BLOCKS, SHARE, Sequences
from skscn.rows import Rows
from skscn.stopping import BestNodes

# α per row, relative to columns of variance 1.
PENALTIES = (0.0, *np.geomspace(1e-15, 1.0, 16).tolist())
# How many times the error of a rival with as many nodes means that the rival is out of reach, by the number of nodes.
_RACE, _TOLERANCE = (10, 20, 30, 60), (3.0, 2.0, 1.5, 1.0)
# Free runs: how many, how long, with which penalties.
_RUNS, _STEPS, _FREE_PENALTIES = 10, 400, (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
# ... and how long for pilot networks.
_PILOT_STEPS = 100
# The error, in standard deviations of the target, from which on a free run has left the true course.
_LOST = 0.5


@dataclass(frozen=True)
class LaterChoice:
    """How many columns and which penalty, and their error on later rows.

    ``others`` are the other penalties for as many columns, by their error.
    """

    columns: int
    alpha: float
    error: float
    others: tuple[float, ...] = ()


def later_errors(
    growing: GrowingReservoir, size: int, penalties: Sequence[float] = PENALTIES, count: int = BLOCKS
) -> np.ndarray:
    """Root mean squared errors of the first columns, for each penalty, over blocks of later rows.

    The weights for a block come from the rows before it.
    """
    sequences, columns = growing.sequences, growing.columns[:, :size]
    targets, blocks = sequences.targets, sequences.blocks(SHARE, count)
    factor, squares = growing.factor(SHARE).leading(size), np.zeros(len(penalties))
    for number, block in enumerate(blocks):
        if number:
            factor = factor.joined(columns[blocks[number - 1]], targets[blocks[number - 1]])
        outputs = np.tensordot(columns[block], growing.weights(factor, penalties), axes=(1, 1))
        squares += ((outputs - targets[block, np.newaxis]) ** 2).mean(axis=2).sum(axis=0)
    return np.asarray(np.sqrt(squares / sum(map(len, blocks))))


class LaterRows(BestNodes):
    """Stops growth by the error on later rows, and chooses the number of columns and the penalty by it.

    Parameters
    ----------
    patience : int
        Nodes without improvement.
    growing : GrowingReservoir
    unit : float
        How large a scaled error of 1 is.
    rival : LaterRows or None
        Of another network; growth ends where this one is clearly worse than the other was with as many nodes, and
        after half the patience if it is worse than the other is.

    Attributes
    ----------
    choices : list of LaterChoice
        The best penalties for the networks so far.
    """

    def __init__(self, patience: int, growing: GrowingReservoir, unit: float, rival: LaterRows | None = None):
        super().__init__(patience)
        self.growing, self.unit, self.rival, self.choices = growing, unit, rival, list[LaterChoice]()

    @property
    def exhausted(self) -> bool:
        """Whether the error has not improved for ``patience`` nodes, or the rival is out of reach."""
        return super().exhausted or self._is_behind

    @property
    def _is_behind(self) -> bool:
        if self.rival is None or self.growing.sequences.fed_back:
            return False
        nodes, linear = self.growing.output_weights.nodes, self.rival.growing.linear
        then = min(choice.error for choice in self.rival.choices if choice.columns - linear <= nodes)
        tolerance = float(np.interp(nodes, _RACE, _TOLERANCE, left=np.inf))
        waits = self.standing.waited >= self.patience // 2 and self.standing.best >= self.rival.standing.best
        return waits or self.standing.best > tolerance * then

    def _add(self, nodes: Nodes) -> None:
        """The course has their states."""

    def _forget(self) -> None:
        """There is nothing to forget."""

    def _judge(self, output_weights: OutputWeights, rows: Rows) -> tuple[float, float]:
        self.choices.append(_by_one_step(self.growing))
        error = self.choices[-1].error
        return error, self.unit * error

    def choose(self) -> LaterChoice:
        """The number of columns and the penalty that later rows choose."""
        growing = self.growing
        if growing.sequences.fed_back:
            every = max(5, growing.output_weights.nodes // 3)
            return _by_free_runs(growing, sorted({*range(growing.linear, growing.size, every), growing.size}))
        return min(self.choices, key=lambda choice: choice.error)


def pilot_error(growing: GrowingReservoir) -> float:
    """The error of a pilot network on later rows, all of them predicted from the rows before, with the best penalty."""
    if growing.sequences.fed_back:
        return _by_free_runs(growing, [growing.size], _PILOT_STEPS).error
    return float(later_errors(growing, growing.size, count=1).min())


def _by_one_step(growing: GrowingReservoir) -> LaterChoice:
    errors = later_errors(growing, growing.size)
    return LaterChoice(growing.size, PENALTIES[int(errors.argmin())], float(errors.min()))


def _by_free_runs(growing: GrowingReservoir, sizes: Sequence[int], longest: int | None = None) -> LaterChoice:
    variants = [(size, penalty) for size in sizes for penalty in _FREE_PENALTIES]
    weights = np.zeros((len(sizes), len(_FREE_PENALTIES), growing.size, growing.rows.n_outputs))
    for place, path in enumerate(growing.paths(growing.factor(SHARE), sizes, _FREE_PENALTIES)):
        weights[place, :, : sizes[place]] = path
    squares = free_errors(growing, weights.reshape(-1, *weights.shape[2:]), longest)
    known = ~np.isnan(squares)
    errors = np.where(known, squares, 0.0).sum(axis=(1, 3)) / np.maximum(known.sum(axis=(1, 3)), 1)
    # The logarithm tells small errors apart as well as large ones. Beyond _LOST it hardly changes: most horizons of a
    # chaotic course are beyond what can be predicted, and runs that settle at the mean are closest there, however wrong
    # their first steps are.
    scores = 0.25 * np.log((errors**2 + 1e-48) / (errors**2 + _LOST**4)).mean(axis=0)
    best = int(scores.argmin())
    size, alpha = variants[best]
    others = [variants[place][1] for place in scores.argsort(kind="stable") if variants[place][0] == size]
    return LaterChoice(size, alpha, float(np.exp(scores[best])), tuple(others[1:]))


def free_errors(growing: GrowingReservoir, weights: np.ndarray, longest: int | None = None) -> np.ndarray:
    """Squared errors (steps, origins, variants, m) of free runs with each of these output weights; NaN if unknown."""
    sequences, variants = growing.sequences, len(weights)
    origins, steps = free_origins(sequences)
    steps = steps if longest is None else min(steps, longest)
    ahead = origins[:, np.newaxis] + np.arange(1, steps + 1)
    m = sequences.targets.shape[1]
    n_inputs = sequences.u.shape[1] - m
    states = growing.course.states[origins, : growing.output_weights.nodes]
    starts = Starts(growing.course.z[origins], states, sequences.outputs[origins])
    course = free_run(
        growing.nodes,
        starts.repeated(variants),
        np.tile(growing.full(weights), (len(origins), 1, 1)),
        limits(sequences.targets),
        steps,
        np.repeat(sequences.u[ahead, :n_inputs], variants, axis=0) if n_inputs else None,
    )
    truth = sequences.targets[ahead].transpose(1, 0, 2)[:, :, np.newaxis]
    return np.asarray((course.reshape(steps, len(origins), variants, m) - truth) ** 2)


def free_origins(sequences: Sequences, runs: int | None = None) -> tuple[np.ndarray, int]:
    """Rows in the last part of time from which free runs start, evenly spread, and how long these are."""
    longest = max(segment.stop - segment.start for segment in sequences.segments)
    steps = int(np.clip((1.0 - SHARE) * longest / 2, 1, _STEPS))
    ends = np.empty(len(sequences.u), int)
    for segment in sequences.segments:
        ends[segment] = segment.stop
    rows = sequences.scored(SHARE)
    rows = rows[rows + steps < ends[rows]]
    return rows[np.unique(np.linspace(0, len(rows) - 1, _RUNS if runs is None else runs).astype(int))], steps
