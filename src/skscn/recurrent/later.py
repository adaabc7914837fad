"""Errors on later rows: output weights from the rows so far are tried on the rows that follow, block after block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.linalg import lstsq, svd

from skscn.factor import Factor

# α per row, relative to columns of variance 1.
PENALTIES = (0.0, *np.geomspace(1e-15, 1.0, 16).tolist())

# Output weights (penalties, size, m) of the first ``size`` columns from a factor, for each penalty.
Solve: TypeAlias = Callable[[Factor, int, Sequence[float]], np.ndarray]


@dataclass(frozen=True)
class LaterChoice:
    """How many columns and which penalty, and their error on later rows.

    ``others`` are the other penalties for as many columns, by their error.
    """

    columns: int
    alpha: float
    error: float
    others: tuple[float, ...] = ()


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
    squares, count = np.zeros((len(sizes), len(penalties))), 0
    for number, block in enumerate(blocks):
        H, T = columns[block], targets[block]
        for place, size in enumerate(sizes):
            outputs = np.tensordot(H[:, :size], solve(factor, size, penalties), axes=(1, 1))
            squares[place] += ((outputs - T[:, np.newaxis]) ** 2).mean(axis=2).sum(axis=0)
        count += len(block)
        if number < len(blocks) - 1:
            factor = factor.with_rows(H, T)
    return np.asarray(np.sqrt(squares / count))


def best_choice(errors: np.ndarray, sizes: Sequence[int], penalties: Sequence[float] = PENALTIES) -> LaterChoice:
    """The smallest error."""
    size, penalty = np.unravel_index(np.argmin(errors), errors.shape)
    return LaterChoice(sizes[int(size)], penalties[int(penalty)], float(errors.min()))


def freedom(factor: Factor, alpha: float) -> float:
    """The degrees of freedom of output weights under a penalty."""
    scaled, _ = standardised(factor)
    squares = svd(scaled.triangle[1:, 1:], compute_uv=False) ** 2
    return 1.0 + float((squares[squares > 0.0] / (squares[squares > 0.0] + alpha * factor.weight)).sum())
