"""What kind of nodes, how many of them and which penalty: the choices that later rows make.

A network is grown on the first part of time and judged on the rest of it: by the errors of one step, block after block
(:mod:`skscn.recurrent.later`), or by free runs if outputs come back as inputs. Short pilot networks choose the length
of the delay line and the style of the nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TypeAlias

import numpy as np

from skscn.recurrent.free_runs import Starts, free_run
from skscn.recurrent.growing import AcceptedNodes, Growing
from skscn.recurrent.later import LaterChoice, best_choice, later_errors
from skscn.recurrent.nodes import Style
from skscn.recurrent.reservoir import limits
from skscn.recurrent.sequences import Sequences

# The first part of time, on which networks are grown to be judged, and in how many blocks the rest is.
SHARE, BLOCKS = 0.7, 3
# Lengths of the delay line, and scopes, to choose from.
LENGTHS = (0, 2, 4, 7, 10, 14, 20, 28, 40)
LARGE, SMALL = (0.1, 10.0), (0.003, 1.0)
# A delay line has at most this many columns, and at most one for this number of scored rows.
_WIDEST, _ROWS_PER_COLUMN = 320, 5
# Rows, candidates and nodes of pilot networks: many short ones, and fewer longer ones.
_PILOT_ROWS, _PILOT_POOL, _SHORT, _LONG = 3000, 200, 15, 30
# Free runs: how many, how long, with which penalties.
_RUNS, _STEPS, _FREE_PENALTIES = 10, 400, (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)
# The error, in standard deviations of the target, from which on a free run has left the true course.
_LOST = 0.5

# Is given the style of a pilot network and what computes its error, and returns that error.
Pilot: TypeAlias = Callable[[Style, Callable[[], float]], float]
# How many lengths of the delay line the longer pilot networks try, and in which kinds of nodes.
_LENGTHS_KEPT, _KINDS = 3, tuple(product((LARGE, SMALL), (False, True), (False, True)))
# The kinds in which short pilot networks compare all lengths.
_TWO_KINDS = ((LARGE, False), (SMALL, True))


@dataclass(frozen=True)
class Effort:
    """How a network is grown: its most nodes, candidates of a step, nodes of a step, when to stop, SC-II's window."""

    nodes: int
    pool: int
    per_step: int
    contractions: tuple[float, ...]
    tol: float
    window: int | None = None


def grow(
    sequences: Sequences,
    style: Style,
    effort: Effort,
    rng: np.random.Generator,
    share: float = 1.0,
    notify: Callable[[Growing, AcceptedNodes], bool] = lambda growing, accepted: False,
    step: Callable[[Growing, np.random.Generator, int], AcceptedNodes | None] = Growing.step,
) -> tuple[Growing, bool]:
    """Grow a network step by step; return it, and whether growth ended because no candidate passed."""
    course = sequences.course(style.length, share)
    growing = Growing(course, style, effort.contractions, effort.pool, effort.nodes, effort.window)
    while len(growing.nodes) < effort.nodes and growing.rmse > effort.tol:
        accepted = step(growing, rng, min(effort.per_step, effort.nodes - len(growing.nodes)))
        if accepted is None:
            return growing, True
        if notify(growing, accepted):
            break
    return growing, False


def judge(sequences: Sequences, growing: Growing) -> LaterChoice:
    """The number of columns and the penalty that later rows choose."""
    if sequences.fed_back:
        return _by_free_runs(sequences, growing)
    sizes = _sizes(growing, 5)
    blocks = sequences.blocks(SHARE, BLOCKS)
    errors = later_errors(growing.factor(), growing.columns, sequences.targets, blocks, sizes, solve=growing.solutions)
    return best_choice(errors, sizes)


def _sizes(growing: Growing, every: int) -> list[int]:
    return sorted({*range(growing.linear, growing.size, every), growing.size})


def _by_free_runs(sequences: Sequences, growing: Growing) -> LaterChoice:
    origins, steps = free_origins(sequences)
    sizes = _sizes(growing, max(5, len(growing.nodes) // 3))
    variants = [(size, penalty) for size in sizes for penalty in _FREE_PENALTIES]
    weights = np.zeros((len(variants), growing.size, sequences.targets.shape[1]))
    for place, size in enumerate(sizes):
        rows = slice(place * len(_FREE_PENALTIES), (place + 1) * len(_FREE_PENALTIES))
        weights[rows, :size] = growing.solutions(growing.factor(), size, _FREE_PENALTIES)
    squares = free_errors(sequences, growing, weights, origins, steps)
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


def free_origins(sequences: Sequences, runs: int = _RUNS) -> tuple[np.ndarray, int]:
    """Rows in the last part of time from which free runs start, evenly spread, and how long these are."""
    longest = max(segment.stop - segment.start for segment in sequences.segments)
    steps = int(np.clip((1.0 - SHARE) * longest / 2, 1, _STEPS))
    ends = np.empty(len(sequences.u), int)
    for segment in sequences.segments:
        ends[segment] = segment.stop
    rows = sequences.scored(SHARE)
    rows = rows[rows + steps < ends[rows]]
    return rows[np.unique(np.linspace(0, len(rows) - 1, runs).astype(int))], steps


def free_errors(
    sequences: Sequences, growing: Growing, weights: np.ndarray, origins: np.ndarray, steps: int
) -> np.ndarray:
    """Squared errors (steps, origins, variants, m) of free runs with each of these output weights; NaN if unknown."""
    m, variants = sequences.targets.shape[1], len(weights)
    weights = np.pad(weights, ((0, 0), (0, growing.size - weights.shape[1]), (0, 0)))
    ahead = origins[:, np.newaxis] + np.arange(1, steps + 1)
    n_inputs = sequences.u.shape[1] - m
    inputs = sequences.u[ahead, :n_inputs] if n_inputs else None
    starts = Starts(growing.course.z[origins], growing.states[origins], held_outputs(sequences)[origins])
    course = free_run(
        growing.nodes,
        starts.repeated(variants),
        np.tile(full_weights(growing, weights), (len(origins), 1, 1)),
        limits(sequences.targets),
        steps,
        None if inputs is None else np.repeat(inputs, variants, axis=0),
    )
    truth = sequences.targets[ahead].transpose(1, 0, 2)[:, :, np.newaxis]
    return np.asarray((course.reshape(steps, len(origins), variants, m) - truth) ** 2)


def held_outputs(sequences: Sequences) -> np.ndarray:
    """The known output of each row, or the last one known before."""
    m = sequences.targets.shape[1]
    outputs = np.empty_like(sequences.targets)
    outputs[:-1] = sequences.u[1:, -m:]
    for segment in sequences.segments:
        last = sequences.targets[segment.stop - 1]
        outputs[segment.stop - 1] = np.where(np.isnan(last), sequences.u[segment.stop - 1, -m:], last)
    return outputs


def full_weights(growing: Growing, weights: np.ndarray) -> np.ndarray:
    """Output weights (…, columns of the basis, m) for all columns [1, z, s], 0 for those left out."""
    width, linear = growing.course.z.shape[1], growing.linear
    full = np.zeros((*weights.shape[:-2], 1 + width + weights.shape[-2] - linear, weights.shape[-1]))
    full[..., growing.kept[: weights.shape[-2]], :] = weights
    return full


def lengths_for(sequences: Sequences) -> list[int]:
    """Lengths of the delay line that the number of rows allows."""
    widest = min(_WIDEST, len(sequences.scored(0.0, SHARE)) // _ROWS_PER_COLUMN)
    shortest = min(segment.stop - segment.start for segment in sequences.segments)
    return [
        length
        for length in LENGTHS
        if length == 0 or ((length + 1) * sequences.u.shape[1] <= widest and length < shortest)
    ]


def pilots_for(sequences: Sequences) -> int:
    """How many pilot networks choose the styles."""
    lengths = len(lengths_for(sequences.last(_PILOT_ROWS)))
    return len(_TWO_KINDS) * lengths + len(_KINDS) * min(_LENGTHS_KEPT, lengths)


def best_styles(
    sequences: Sequences,
    effort: Effort,
    rng: np.random.Generator,
    pilot: Pilot = lambda style, error: error(),
) -> list[Style]:
    """The styles whose pilot networks have the smallest errors on later rows: three, with and without recurrence.

    Recurrence may pay only in larger networks, so it is not decided by pilots. ``pilot`` is asked for the error of each
    pilot network, and may know it already.
    """
    some = sequences.last(_PILOT_ROWS)
    short = replace(effort, nodes=min(_SHORT, effort.nodes), pool=min(_PILOT_POOL, effort.pool), per_step=5)
    long = replace(short, nodes=min(_LONG, effort.nodes))
    two = [Style(length, *kind) for length in lengths_for(some) for kind in _TWO_KINDS]
    kept = list(dict.fromkeys(style.length for style in _sorted(some, short, rng, two, pilot)))[:_LENGTHS_KEPT]
    styles = _sorted(some, long, rng, [Style(length, *kind) for length in kept for kind in _KINDS], pilot)
    ahead = [next(style for style in styles if style.recurrent == recurrent) for recurrent in (True, False)]
    return [*ahead, next(style for style in styles if style not in ahead)]


def _sorted(
    sequences: Sequences, effort: Effort, rng: np.random.Generator, styles: Sequence[Style], pilot: Pilot
) -> list[Style]:
    """Styles by the errors on later rows of a network of each."""

    def error(style: Style) -> float:
        return judge(sequences, grow(sequences, style, effort, rng, SHARE)[0]).error

    errors = [pilot(style, partial(error, style)) for style in styles]
    return [styles[place] for place in np.argsort(errors, kind="stable")]
