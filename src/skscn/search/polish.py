"""Levenberg–Marquardt steps on several nodes together, with all output weights eliminated (variable projection).

With Q an orthonormal basis of the other columns, e the residual that they leave, and V the part of the new columns
that is orthogonal to Q, the error after re-evaluating all output weights is ‖e‖² − ‖C⁻ᵀVᵀe‖², where VᵀV = CᵀC. The
Gauss–Newton matrix of Kaufman (1975) needs only the derivative of the columns, projected on what is orthogonal to all
of them. With several outputs it is the same matrix for each, times products of output weights.

Arrays have one row per column of the network, so that the loops over the rows of the sample are long.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dposv, dpotrf, dtrtri

from skscn.nodes import Layer

# With more inputs than this, a node keeps to those it was drawn with, and only this number of its weights, the largest
# ones, are improved. Irrelevant inputs would otherwise do harm.
MANY_INPUTS = 32
# The factors by which damping is changed after a step that reduces the error and after one that does not. A share of
# the mean of the matrix's diagonal is added to it, for weights that do not matter.
_BETTER, _WORSE, _SHARE = 0.2, 8.0, 1e-3
_SMALLEST_DAMPING, _FLAT = 1e-6, 1e-12
# The relative shift of VᵀV that keeps it positive definite in single precision.
_SHIFT = 1e-6


def cholesky(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """C, upper triangular, with matrix = CᵀC, and its inverse; LinAlgError if the matrix is not positive definite."""
    factor, failed = dpotrf(matrix, lower=0, clean=1)
    if failed:
        raise LinAlgError
    inverse, failed = dtrtri(factor, lower=0)
    if failed:
        raise LinAlgError
    return factor, inverse


def weights_to_improve(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of nodes with weights and biases of shape (b, d + 1), the inputs (b, p) whose weights are improved.

    Also whether each of these weights, and the bias, really is, shape (b, p + 1): of many inputs, those a node has.
    """
    count, inputs = len(points), points.shape[1] - 1
    bias = np.ones((count, 1), dtype=bool)
    if inputs <= MANY_INPUTS:
        return np.broadcast_to(np.arange(inputs), (count, inputs)), np.broadcast_to(bias, points.shape)
    largest = np.argpartition(-np.abs(points[:, :-1]), MANY_INPUTS, axis=1)[:, :MANY_INPUTS]
    used = np.sort(largest, axis=1)
    return used, np.hstack([np.take_along_axis(points, used, axis=1) != 0.0, bias])


@dataclass(frozen=True)
class LocalProblem:
    """The rows on which nodes are improved, and what is there already.

    Attributes
    ----------
    layer : Layer
    X : ndarray of shape (n, d)
        Features; a view of an array of shape (d, n).
    sqrt_weight : ndarray of shape (n,) or None
        Square roots of the weights of the rows.
    basis : ndarray of shape (k, n)
        Q.
    residual : ndarray of shape (m, n)
        e, orthogonal to the basis.
    weight_decay : float
        The penalty of squared weights, relative to the squared residual.
    floor : float
        A squared norm below which a column is almost 0.
    longest : float
        The largest change of a weight in one step.
    damping : float
        Of the first step.
    penalty : float
        The penalty of squared weights itself.
    centre : ndarray of shape (d,)
        The mean of the features.
    centred : ndarray of shape (d + 1, n)
        Features minus their mean above a row of ones: weights and biases then depend less on each other.
    """

    layer: Layer
    X: np.ndarray
    sqrt_weight: np.ndarray | None
    basis: np.ndarray
    residual: np.ndarray
    weight_decay: float
    floor: float
    longest: float
    damping: float = 1.0
    penalty: float = field(init=False)
    centre: np.ndarray = field(init=False)
    centred: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        X, centre = self.X, self.X.mean(axis=0, dtype=np.float64)
        centred = np.empty((X.shape[1] + 1, len(X)), X.dtype)
        np.subtract(X.T, centre[:, np.newaxis], out=centred[:-1], casting="same_kind")
        centred[-1] = 1.0
        penalty = self.weight_decay * float(np.einsum("ij,ij->", self.residual, self.residual, dtype=np.float64))
        vars(self).update(penalty=penalty, centre=centre, centred=centred)

    def slopes_and_new_parts(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """g′ and V, each of shape (b, n), of nodes with these weights and biases."""
        slope, h = (a.T for a in self.layer.slope_and_value(self.X, points[:, :-1].T, points[:, -1]))
        if self.sqrt_weight is not None:
            slope, h = slope * self.sqrt_weight, h * self.sqrt_weight
        return slope, h - (h @ self.basis.T) @ self.basis

    def derivatives(self, slope: np.ndarray, used: np.ndarray) -> np.ndarray:
        """Of the columns with respect to the weights of used inputs and the biases, shape (b, p + 1, n)."""
        inputs = len(self.centred) - 1
        all_used = used.shape[1] == inputs
        x = self.centred if all_used else self.centred[np.column_stack([used, np.full(len(used), inputs)])]
        return slope[:, np.newaxis] * x

    def move(self, points: np.ndarray, move: np.ndarray, used: np.ndarray) -> np.ndarray:
        """The points after a move, in which biases are those of centred inputs."""
        move = move.reshape(len(points), -1)
        move = move / np.maximum(np.abs(move).max(axis=1, keepdims=True) / self.longest, 1.0)
        moved = points.copy()
        np.put_along_axis(moved, used, np.take_along_axis(points, used, axis=1) + move[:, :-1], axis=1)
        moved[:, -1] += move[:, -1] - np.einsum("bp,bp->b", move[:, :-1], self.centre[used])
        return moved


class _Together:
    """Nodes at some weights and biases, of shape (b, d + 1), with the output weights that they have together."""

    def __init__(self, problem: LocalProblem, points: np.ndarray):
        self.problem, self.points = problem, points
        self.slope, v = problem.slopes_and_new_parts(points)
        gram = (v @ v.T).astype(np.float64)
        gram[np.diag_indices_from(gram)] += _SHIFT * gram.diagonal() + problem.floor
        _, inverse = cholesky(gram)
        along = inverse.T @ (v @ problem.residual.T).astype(np.float64)
        self.output_weights = inverse @ along
        self.loss = problem.penalty * float((points[:, :-1] ** 2).sum()) - float((along**2).sum())
        self.directions: np.ndarray = inverse.T.astype(v.dtype) @ v
        self.residual = problem.residual - self.output_weights.T.astype(v.dtype) @ v

    def normal_equations(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The Gauss–Newton matrix and minus the gradient, with respect to weights of used inputs, and biases; these."""
        problem, beta, (used, there) = self.problem, self.output_weights, weights_to_improve(self.points)
        (count, inputs), n = used.shape, len(problem.X)
        derivatives = problem.derivatives(self.slope, used).reshape(-1, n)
        known = derivatives @ np.concatenate([problem.basis, self.directions]).T
        gram = (derivatives @ derivatives.T - known @ known.T).astype(np.float64)
        products = np.repeat(np.repeat(beta @ beta.T, inputs + 1, axis=0), inputs + 1, axis=1)
        # Of each output, weighted by how much a node contributes to it.
        left = beta.astype(self.residual.dtype) @ self.residual
        gradient = np.einsum("bpn,bn->bp", derivatives.reshape(count, -1, n), left).astype(np.float64)
        gradient[:, :-1] -= problem.penalty * np.take_along_axis(self.points, used, axis=1)
        matrix = gram * products * np.logical_and.outer(there.ravel(), there.ravel())
        penalties = np.full((count, inputs + 1), problem.penalty)
        penalties[:, -1] = 0.0
        matrix[np.diag_indices_from(matrix)] += penalties.ravel()
        return matrix, (gradient * there).ravel(), used


def improve_together(problem: LocalProblem, points: np.ndarray, steps: int) -> np.ndarray:
    """Weights and biases of nodes, one node per row, after some steps; they do not increase the error."""
    try:
        state, damping = _Together(problem, points.copy()), problem.damping
    except LinAlgError:
        return points.copy()
    equations = None
    for _ in range(steps):
        matrix, gradient, used = equations = state.normal_equations() if equations is None else equations
        diagonal, damped = matrix.diagonal(), matrix.copy()
        damped[np.diag_indices_from(damped)] += damping * (diagonal + _SHARE * diagonal.mean()) + _FLAT
        _, move, failed = dposv(damped, gradient)
        try:
            tried = None if failed else _Together(problem, problem.move(state.points, move, used))
        except LinAlgError:
            tried = None
        if tried is not None and tried.loss < state.loss:
            state, equations, damping = tried, None, max(_BETTER * damping, _SMALLEST_DAMPING)
        else:
            damping *= _WORSE
    return state.points


class _Alone:
    """Candidates at some weights and biases, each as if it were the only one to join the network."""

    arrays = ("points", "slope", "new", "squares", "output_weights", "losses")

    def __init__(self, problem: LocalProblem, points: np.ndarray):
        self.problem, self.points = problem, points
        slope, self.new = problem.slopes_and_new_parts(points)
        # To be changed below; a layer may return what is read-only.
        self.slope = np.require(slope, requirements="W")
        self.squares = np.einsum("ij,ij->i", self.new, self.new).astype(np.float64) + problem.floor + _FLAT
        along = (self.new @ problem.residual.T).astype(np.float64)
        self.output_weights = along / self.squares[:, np.newaxis]
        self.losses = problem.penalty * (points[:, :-1] ** 2).sum(axis=1) - (along * self.output_weights).sum(axis=1)

    def normal_equations(self, used: np.ndarray, there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each candidate, the Gauss–Newton matrix and minus the gradient."""
        problem, (count, inputs), dtype = self.problem, used.shape, self.new.dtype
        derivatives = problem.derivatives(self.slope, used)
        known = (derivatives.reshape(-1, len(problem.X)) @ problem.basis.T).reshape(count, inputs + 1, -1)
        own = (derivatives @ self.new[:, :, np.newaxis]).astype(np.float64) / np.sqrt(self.squares)[:, None, None]
        gram = (derivatives @ derivatives.transpose(0, 2, 1) - known @ known.transpose(0, 2, 1)).astype(np.float64)
        gram -= own @ own.transpose(0, 2, 1)
        sizes = (self.output_weights**2).sum(axis=1)
        left = self.output_weights.astype(dtype) @ problem.residual
        left -= sizes.astype(dtype)[:, np.newaxis] * self.new
        gradients = (derivatives @ left[:, :, np.newaxis])[:, :, 0].astype(np.float64)
        gradients[:, :-1] -= problem.penalty * np.take_along_axis(self.points, used, axis=1)
        gram *= sizes[:, np.newaxis, np.newaxis]
        gram *= there[:, :, np.newaxis] & there[:, np.newaxis]
        diagonal = np.arange(inputs)
        gram[:, diagonal, diagonal] += problem.penalty
        return gram, gradients * there


def improve_alone(problem: LocalProblem, points: np.ndarray, steps: int) -> np.ndarray:
    """As :func:`improve_together`, for candidates of which each is improved as if it were the only one."""
    state, damping = _Alone(problem, points.copy()), np.full(len(points), problem.damping)
    used, there = weights_to_improve(points)
    for _ in range(steps):
        matrices, gradients = state.normal_equations(used, there)
        diagonals = np.einsum("bii->bi", matrices)
        extra = damping[:, np.newaxis] * (diagonals + _SHARE * diagonals.mean(axis=1, keepdims=True)) + _FLAT
        matrices = matrices + extra[:, :, np.newaxis] * np.eye(extra.shape[1])
        moves = np.linalg.solve(matrices, gradients[:, :, np.newaxis])[:, :, 0]
        tried = _Alone(problem, problem.move(state.points, moves, used))
        better = tried.losses < state.losses
        damping = np.where(better, np.maximum(_BETTER * damping, _SMALLEST_DAMPING), _WORSE * damping)
        if better.all():
            state = tried
        else:
            # Nothing has to be evaluated again.
            for name in _Alone.arrays:
                getattr(state, name)[better] = getattr(tried, name)[better]
    return state.points
