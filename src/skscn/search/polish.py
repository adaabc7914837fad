"""Levenberg–Marquardt steps on several nodes together, with all output weights eliminated (variable projection).

With Q an orthonormal basis of the other columns, e the residual that they leave, and V the part of the new columns
that is orthogonal to Q, the error after re-evaluating all output weights is ‖e‖² − ‖C⁻ᵀVᵀe‖², where VᵀV = CᵀC. The
Gauss–Newton matrix of Kaufman (1975) needs only the derivative of the columns, projected on what is orthogonal to all
of them. With several outputs it is the same matrix for each, times products of output weights. It only says where to go
next, so that a slice of the rows is enough for it; the gradient and the error are those of all rows.

Arrays have one row per column of the network, so that the loops over the rows of the sample are long.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dposv, dpotrf, dtrtri

from skscn.nodes import Layer

# At most this number of the weights of a node are improved, the largest ones. With more inputs, a node keeps to those
# it was drawn with until it is known which inputs matter; irrelevant ones would do harm.
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


def orthonormal(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An orthonormal basis of the space of some vectors, the rows of an array, and their coordinates, a column each.

    The vectors are independent up to rounding, as those of a basis are on a sample of its rows.
    """
    gram = (vectors @ vectors.T).astype(np.float64)
    limits = np.finfo(vectors.dtype)
    gram.flat[:: len(gram) + 1] += 100.0 * limits.eps * np.trace(gram) / max(len(gram), 1) + limits.tiny
    coordinates, inverse = cholesky(gram) if len(gram) else (gram, gram)
    return inverse.T.astype(vectors.dtype) @ vectors, coordinates


def largest(weights: np.ndarray, allowed: np.ndarray, most: int) -> np.ndarray:
    """Of the weights (b, d) of each node that are ``allowed``, at most this number, the largest ones."""
    order = np.argsort(-np.where(allowed, np.abs(weights), -1.0), axis=1, kind="stable")
    found = np.zeros_like(allowed)
    np.put_along_axis(found, order[:, :most], True, axis=1)
    return found & allowed


def weights_to_improve(points: np.ndarray, allowed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of nodes with weights and biases of shape (b, d + 1), the inputs (b, p) whose weights are improved.

    Also whether each of these weights, and the bias, really is, shape (b, p + 1): the largest of those that are
    ``allowed``, of shape (b, d).
    """
    count = min(int(np.count_nonzero(allowed, axis=1).max()), MANY_INPUTS)
    sizes = np.where(allowed, np.abs(points[:, :-1]), -1.0)
    used = np.sort(np.argsort(-sizes, axis=1, kind="stable")[:, :count], axis=1)
    there = np.take_along_axis(allowed, used, axis=1)
    return used, np.hstack([there, np.ones((len(points), 1), dtype=bool)])


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
    few : int
        How many rows, the first ones, the Gauss–Newton matrix is formed on.
    basis_of_few : ndarray of shape (k, few)
        The basis on these rows, orthonormal there.
    """

    layer: Layer
    X: np.ndarray
    sqrt_weight: np.ndarray | None
    basis: np.ndarray
    residual: np.ndarray
    weight_decay: float
    floor: float
    longest: float
    damping: float
    few: int
    penalty: float = field(init=False)
    centre: np.ndarray = field(init=False)
    centred: np.ndarray = field(init=False)
    basis_of_few: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        X, centre = self.X, self.X.mean(axis=0, dtype=np.float64)
        centred = np.empty((X.shape[1] + 1, len(X)), X.dtype)
        np.subtract(X.T, centre[:, np.newaxis], out=centred[:-1], casting="same_kind")
        centred[-1] = 1.0
        penalty = self.weight_decay * float(np.einsum("ij,ij->", self.residual, self.residual, dtype=np.float64))
        basis = self.basis if self.few == len(X) else orthonormal(self.basis[:, : self.few])[0]
        vars(self).update(penalty=penalty, centre=centre, centred=centred, basis_of_few=basis)

    def move(self, points: np.ndarray, move: np.ndarray, used: np.ndarray) -> np.ndarray:
        """The points after a move, in which biases are those of centred inputs."""
        move = move.reshape(len(points), -1)
        move = move / np.maximum(np.abs(move).max(axis=1, keepdims=True) / self.longest, 1.0)
        move[:, -1] -= (move[:, :-1] * self.centre[used]).sum(axis=1)
        if used.shape[1] == len(self.centre):
            return points + move
        moved = points.copy()
        np.put_along_axis(moved, used, np.take_along_axis(points, used, axis=1) + move[:, :-1], axis=1)
        moved[:, -1] += move[:, -1]
        return moved


class _Together:
    """Nodes at some weights and biases, of shape (b, d + 1), with the output weights that they have together."""

    def __init__(self, problem: LocalProblem, points: np.ndarray):
        self.problem, self.points = problem, points
        # g′ and h, each of shape (b, n), and V.
        slope, h = (a.T for a in problem.layer.slope_and_value(problem.X, points[:, :-1].T, points[:, -1]))
        if problem.sqrt_weight is not None:
            slope, h = slope * problem.sqrt_weight, h * problem.sqrt_weight
        v = h - (h @ problem.basis.T) @ problem.basis
        gram = (v @ v.T).astype(np.float64)
        gram.flat[:: len(gram) + 1] *= 1.0 + _SHIFT
        gram.flat[:: len(gram) + 1] += problem.floor
        _, inverse = cholesky(gram)
        self.slope = slope
        along = inverse.T @ (v @ problem.residual.T).astype(np.float64)
        self.output_weights = inverse @ along
        self.loss = problem.penalty * float((points[:, :-1] ** 2).sum()) - float((along**2).sum())
        self.directions: np.ndarray = inverse.T.astype(v.dtype) @ v
        self.residual = problem.residual - self.output_weights.T.astype(v.dtype) @ v

    def normal_equations(self, used: np.ndarray, there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The Gauss–Newton matrix and minus the gradient, with respect to the weights of used inputs, and biases."""
        problem, beta, (count, inputs), few = self.problem, self.output_weights, used.shape, self.problem.few
        x, basis, directions = problem.centred[:, :few], problem.basis_of_few, self.directions[:, :few]
        if few < len(problem.X):
            directions = orthonormal(directions - (directions @ basis.T) @ basis)[0]
        if inputs < len(x) - 1:
            x = x[np.column_stack([used, np.full(count, len(x) - 1)])]
        # Of the columns with respect to these weights and the biases.
        derivatives = (self.slope[:, np.newaxis, :few] * x).reshape(-1, few)
        gram = derivatives @ derivatives.T
        for vectors in (basis, directions):
            known = derivatives @ vectors.T
            gram -= known @ known.T
        matrix = gram.astype(np.float64) * (len(problem.X) / few)
        # Of each output, weighted by how much a node contributes to it.
        matrix.reshape(count, inputs + 1, count, inputs + 1)[:] *= (beta @ beta.T)[:, None, :, None]
        left = beta.astype(self.residual.dtype) @ self.residual
        left *= self.slope
        gradient, points = (left @ problem.centred.T).astype(np.float64), self.points[:, :-1]
        if not there.all():
            matrix *= np.logical_and.outer(there.ravel(), there.ravel())
        if inputs < points.shape[1] or not there.all():
            gradient = np.column_stack([np.take_along_axis(gradient, used, axis=1), gradient[:, -1]]) * there
            points = np.take_along_axis(points, used, axis=1) * there[:, :-1]
        gradient[:, :-1] -= problem.penalty * points
        matrix.reshape(-1)[:: len(matrix) + 1].reshape(count, -1)[:, :-1] += problem.penalty
        return matrix, gradient.ravel()


def improve_together(problem: LocalProblem, points: np.ndarray, steps: int, allowed: np.ndarray) -> np.ndarray:
    """Weights and biases of nodes, one node per row, after some steps; they do not increase the error.

    Weights change where they are ``allowed`` to, shape (b, d).
    """
    try:
        state, damping = _Together(problem, points.copy()), problem.damping
    except LinAlgError:
        return points.copy()
    equations, (used, there) = None, weights_to_improve(points, allowed)
    for _ in range(steps):
        matrix, gradient = equations = state.normal_equations(used, there) if equations is None else equations
        sizes, damped = matrix.diagonal(), matrix.copy()
        damped.flat[:: len(damped) + 1] += damping * (sizes + _SHARE * sizes.mean()) + _FLAT
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
