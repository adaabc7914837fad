"""Errors on later rows: output weights from the rows so far are tried on the rows that follow, block after block.

These forward-chained folds are few, and neighbouring rows are alike, so that the smallest error is often the smallest
by chance. Of all numbers of columns and penalties whose errors are not clearly larger, the one with the fewest
effective degrees of freedom is chosen (the rule of one standard error).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.linalg import lstsq, svd, svdvals

from skscn.factor import Factor

# α per row, relative to columns of variance 1.
PENALTIES = (0.0, *np.geomspace(1e-15, 10.0, 17).tolist())

# Output weights (penalties, size, m) of the first ``size`` columns from a factor, for each penalty.
Solve: TypeAlias = Callable[[Factor, int, Sequence[float]], np.ndarray]


@dataclass(frozen=True)
class LaterChoice:
    """How many columns and which penalty, and the smallest error on later rows, which a simpler choice may exceed."""

    columns: int
    alpha: float
    error: float


def leading(factor: Factor, size: int) -> Factor:
    """The factor of the first columns."""
    left = factor.residual_squares + (factor.coefficients[size:] ** 2).sum(axis=0)
    return Factor(factor.triangle[:size, :size], factor.coefficients[:size], left, factor.weight, factor.linear)


def standardised(factor: Factor) -> tuple[Factor, np.ndarray]:
    """The factor for columns whose variance on its rows is 1, and what each column is divided by."""
    inner = factor.triangle[1:, 1:]
    units = np.append(1.0, np.sqrt((inner**2).sum(axis=0) / factor.weight))
    units[units == 0.0] = 1.0
    scaled = Factor(factor.triangle / units, factor.coefficients, factor.residual_squares, factor.weight, factor.linear)
    return scaled, units


def solutions(factor: Factor, size: int, penalties: Sequence[float]) -> np.ndarray:
    """Output weights of the first ``size`` columns for each penalty, shape (penalties, size, m)."""
    scaled, units = standardised(factor)
    triangle, coefficients = scaled.triangle[:size, :size], scaled.coefficients[:size]
    left, singular, right = svd(triangle[1:, 1:], full_matrices=False)
    turned = left.T @ coefficients[1:]
    weights = []
    for penalty in penalties:
        kept = np.divide(singular, singular**2 + penalty * factor.weight, where=singular > 0.0, out=0.0 * singular)
        inner = right.T @ (kept[:, np.newaxis] * turned)
        first = (coefficients[0] - triangle[0, 1:] @ inner) / triangle[0, 0]
        weights.append(np.vstack([first, inner]) / units[:size, np.newaxis])
    return np.array(weights)


def windowed_solutions(factor: Factor, size: int, linear: int, window: int) -> np.ndarray:
    """Output weights (size, m) of Algorithm SC-II, with R and C in place of the columns and targets.

    The first ``linear`` columns are solved for together; each column after them is then solved for with those before
    it that are within the window, and the others stay as they are.
    """
    triangle, left = factor.triangle[:size, :size], factor.coefficients[:size].copy()
    weights = np.zeros_like(left)
    for end in range(min(linear, size), size + 1):
        part = slice(0 if end <= linear else max(linear, end - window), end)
        change = lstsq(triangle[:end, part], left[:end])[0]
        weights[part] += change
        left[:end] -= triangle[:end, part] @ change
    return weights


def freedom(factor: Factor, size: int, penalties: Sequence[float]) -> np.ndarray:
    """Effective degrees of freedom of the first ``size`` columns for each penalty: the trace of the hat matrix."""
    singular = svdvals(standardised(factor)[0].triangle[1:size, 1:size]) if size > 1 else np.empty(0)
    squares = singular[singular > 0.0, np.newaxis] ** 2
    return np.asarray(1.0 + (squares / (squares + np.array(penalties) * factor.weight)).sum(axis=0))


def block_errors(
    factor: Factor,
    columns: np.ndarray,
    targets: np.ndarray,
    blocks: Sequence[np.ndarray],
    sizes: Sequence[int],
    penalties: Sequence[float] = PENALTIES,
    solve: Solve = solutions,
) -> np.ndarray:
    """Mean squared errors (blocks, sizes, penalties), each with weights from the rows before the block."""
    squares = np.empty((len(blocks), len(sizes), len(penalties)))
    for number, block in enumerate(blocks):
        H, T = columns[block], targets[block]
        for place, size in enumerate(sizes):
            outputs = np.tensordot(H[:, :size], solve(factor, size, penalties), axes=(1, 1))
            squares[number, place] = ((outputs - T[:, np.newaxis]) ** 2).mean(axis=(0, 2))
        if number < len(blocks) - 1:
            factor = factor.with_rows(H, T)
    return squares


def later_errors(
    factor: Factor,
    columns: np.ndarray,
    targets: np.ndarray,
    blocks: Sequence[np.ndarray],
    sizes: Sequence[int],
    penalties: Sequence[float] = PENALTIES,
    solve: Solve = solutions,
) -> np.ndarray:
    """Root mean squared errors (sizes, penalties) over all blocks, each with weights from the rows before it."""
    squares = block_errors(factor, columns, targets, blocks, sizes, penalties, solve)
    return np.asarray(np.sqrt(np.average(squares, axis=0, weights=[len(block) for block in blocks])))


def simplest_choice(
    squares: np.ndarray, counts: Sequence[int], degrees: np.ndarray, sizes: Sequence[int], penalties: Sequence[float]
) -> LaterChoice:
    """The fewest degrees of freedom whose error is not larger than the smallest by more than one standard error.

    ``squares`` are mean squared errors (blocks, sizes, penalties) of blocks with these numbers of rows, ``degrees``
    the degrees of freedom (sizes, penalties). The standard error is that of the differences between two candidates,
    block by block.
    """
    means = np.average(squares, axis=0, weights=counts)
    candidates, smallest = squares.reshape(len(squares), -1), int(np.argmin(means))
    excess = (candidates - candidates[:, [smallest]]).reshape(squares.shape)
    average = means - means.min()
    spread = np.average((excess - average) ** 2, axis=0, weights=counts)
    allowed = np.sqrt(spread / max(len(squares) - 1, 1))
    size, penalty = np.unravel_index(np.argmin(np.where(average <= allowed, degrees, np.inf)), means.shape)
    return LaterChoice(sizes[int(size)], penalties[int(penalty)], float(np.sqrt(means.min())))


def later_residuals(
    factor: Factor,
    columns: np.ndarray,
    targets: np.ndarray,
    blocks: Sequence[np.ndarray],
    choice: LaterChoice,
    solve: Solve = solutions,
) -> np.ndarray:
    """Residuals of all blocks, one after the other, with weights from the rows before the first of them, (rows, m).

    What is predicted later is as far from the training rows as these are; weights that learn from the blocks in between
    would promise too much where the process drifts.
    """
    (weights,) = solve(factor, choice.columns, [choice.alpha])
    rows = np.concatenate(blocks)
    return np.asarray(targets[rows] - columns[rows, : choice.columns] @ weights)
