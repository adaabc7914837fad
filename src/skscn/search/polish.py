"""Levenberg–Marquardt steps on several nodes together, with all output weights eliminated (variable projection).

With Q an orthonormal basis of the other columns, e the residual that they leave, and V the part of the new columns
that is orthogonal to Q, the error after re-evaluating all output weights is ‖e‖² − ‖C⁻ᵀVᵀe‖², where VᵀV = CᵀC. The
Gauss–Newton matrix of Kaufman (1975) needs only the derivative of the columns, projected on what is orthogonal to all
of them. With several outputs it is the same matrix for each, times products of output weights.

Arrays have one row per column of the network, so that the loops over the rows of the sample are long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dposv, dpotrf, dtrtri

from skscn.nodes import Layer


def cholesky(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """C, upper triangular, with matrix = CᵀC, and its inverse; LinAlgError if the matrix is not positive definite."""
    factor, failed = dpotrf(matrix, lower=0, clean=1)
    if failed:
        raise LinAlgError
    inverse, failed = dtrtri(factor, lower=0)
    if failed:
        raise LinAlgError
    return factor, inverse


def solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The solution of a positive definite system; LinAlgError if it is not."""
    _, solution, failed = dposv(matrix, right)
    if failed:
        raise LinAlgError
    return np.asarray(solution)


# Levenberg–Marquardt steps on several nodes together, with all output weights eliminated (variable projection).
#
# With Q an orthonormal basis of the other columns, e the residual that they leave, and V the part of the new columns
# that is orthogonal to Q, the error after re-evaluating all output weights is ‖e‖² − ‖C⁻ᵀVᵀe‖², where VᵀV = CᵀC. The
# Gauss–Newton matrix of Kaufman (1975) needs only the derivative of the columns, projected on what is orthogonal to
# all of them. With several outputs it is the same matrix for each, times products of output weights.
#
# Arrays have one row per column of the network, so that the loops over the rows of the sample are long.


# With more inputs than this, a node keeps to those it was drawn with, and only this number of its weights, the largest
# ones, are improved. Irrelevant inputs would otherwise do harm.
MANY_INPUTS = 32
# The factors by which damping is changed after a step that reduces the error and after one that does not. A share of
# the mean of the matrix's diagonal is added to it, for weights that do not matter.
_BETTER, _WORSE, _SHARE = 0.2, 8.0, 1e-3
_SMALLEST_DAMPING, _FLAT = 1e-6, 1e-12
# The relative shift of VᵀV that keeps it positive definite in single precision.
_SHIFT = 1e-6


@dataclass(frozen=True)
class Place:
    """The rows on which nodes are improved, and what is there already.

    Attributes
    ----------
    layer : Layer
    X : ndarray of shape (n, d)
        Features; a view of an array of shape (d, n).
    roots : ndarray of shape (n,) or None
        Square roots of the weights of the rows.
    basis : ndarray of shape (k, n)
        Q.
    residual : ndarray of shape (m, n)
        e, orthogonal to the basis.
    pull : float
        How strongly weights are drawn towards 0, relative to the squared residual.
    floor : float
        A squared norm below which a column is almost 0.
    longest : float
        The largest change of a weight in one step.
    damping : float
        Of the first step.
    """

    layer: Layer
    X: np.ndarray
    roots: np.ndarray | None
    basis: np.ndarray
    residual: np.ndarray
    pull: float
    floor: float
    longest: float
    damping: float = 1.0

    def slopes_and_new_parts(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """g′ and V, each of shape (b, n), of nodes with these weights and biases."""
        slope, h = (a.T for a in self.layer.slope_and_value(self.X, points[:, :-1].T, points[:, -1]))
        if self.roots is not None:
            slope, h = slope * self.roots, h * self.roots
        return slope, new_part(h, self.basis)


def new_part(h: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """V: columns of shape (b, n) without their projection on the basis."""
    v: np.ndarray = h - (h @ basis.T) @ basis
    return v


class _State:
    """The nodes at some weights and biases, of shape (b, d + 1), with their output weights."""

    def __init__(self, place: Place, points: np.ndarray, pull: float):
        self.points = points
        self.slope, v = place.slopes_and_new_parts(points)
        gram = (v @ v.T).astype(np.float64)
        gram[np.diag_indices_from(gram)] += _SHIFT * gram.diagonal() + place.floor
        _, inverse = cholesky(gram)
        along = inverse.T @ (v @ place.residual.T).astype(np.float64)
        self.output_weights = inverse @ along
        self.loss = pull * float((points[:, :-1] ** 2).sum()) - float((along**2).sum())
        self.directions: np.ndarray = inverse.T.astype(v.dtype) @ v
        self.residual = place.residual - self.output_weights.T.astype(v.dtype) @ v


def improved(place: Place, points: np.ndarray, steps: int) -> np.ndarray:
    """Weights and biases of nodes, one node per row, after some steps; they do not increase the error."""
    points, centre, pull = points.copy(), place.X.mean(axis=0, dtype=np.float64), _absolute_pull(place)
    centred = _centred(place.X, centre)
    try:
        state, damping = _State(place, points, pull), place.damping
    except LinAlgError:
        return points
    matrix = gradient = None
    for _ in range(steps):
        if matrix is None or gradient is None:
            used = _largest(state.points[:, :-1])
            matrix, gradient = _normal_equations(place, state, used, centred, pull)
        try:
            move = _move(matrix, gradient, damping)
            tried = _State(place, _moved(state.points, move, used, centre, place.longest), pull)
        except LinAlgError:
            damping *= _WORSE
            continue
        if tried.loss < state.loss:
            state, matrix, damping = tried, None, max(_BETTER * damping, _SMALLEST_DAMPING)
        else:
            damping *= _WORSE
    return state.points


class _Alone:
    """Candidates at some weights and biases, each as if it were the only one to join the network."""

    def __init__(self, place: Place, points: np.ndarray, pull: float):
        self.points = points
        self.slope, self.new = place.slopes_and_new_parts(points)
        self.squares = np.einsum("ij,ij->i", self.new, self.new).astype(np.float64) + place.floor + _FLAT
        along = (self.new @ place.residual.T).astype(np.float64)
        self.output_weights = along / self.squares[:, np.newaxis]
        self.losses = pull * (points[:, :-1] ** 2).sum(axis=1) - (along * self.output_weights).sum(axis=1)

    def normal_equations(
        self, place: Place, centred: np.ndarray, used: np.ndarray, pull: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """For each candidate, the Gauss–Newton matrix and minus the gradient."""
        (count, inputs), n = used.shape, centred.shape[1]
        x = centred if inputs == len(centred) - 1 else centred[_with_bias(used, len(centred) - 1)]
        derivatives = self.slope[:, np.newaxis] * x
        known = (derivatives.reshape(-1, n) @ place.basis.T).reshape(count, inputs + 1, -1)
        own = (derivatives @ self.new[:, :, np.newaxis]).astype(np.float64) / np.sqrt(self.squares)[:, None, None]
        gram = (derivatives @ derivatives.transpose(0, 2, 1) - known @ known.transpose(0, 2, 1)).astype(np.float64)
        gram -= own @ own.transpose(0, 2, 1)
        sizes = (self.output_weights**2).sum(axis=1)
        left = self.output_weights.astype(self.new.dtype) @ place.residual
        left -= sizes.astype(self.new.dtype)[:, np.newaxis] * self.new
        gradients = (derivatives @ left[:, :, np.newaxis])[:, :, 0].astype(np.float64)
        gradients[:, :-1] -= pull * np.take_along_axis(self.points, used, axis=1)
        gram *= sizes[:, np.newaxis, np.newaxis]
        there = _there(self.points, used)
        gram *= there[:, :, np.newaxis] & there[:, np.newaxis]
        gradients *= there
        diagonal = np.arange(inputs)
        gram[:, diagonal, diagonal] += pull
        return gram, gradients


def improved_alone(place: Place, points: np.ndarray, steps: int) -> np.ndarray:
    """As :func:`improved`, for candidates of which each is improved as if it were the only one."""
    centre, pull = place.X.mean(axis=0, dtype=np.float64), _absolute_pull(place)
    centred = _centred(place.X, centre)
    state, damping = _Alone(place, points.copy(), pull), np.full(len(points), place.damping)
    used = _largest(points[:, :-1])
    for number in range(steps):
        matrices, gradients = state.normal_equations(place, centred, used, pull)
        diagonals = np.einsum("bii->bi", matrices)
        extra = damping[:, np.newaxis] * (diagonals + _SHARE * diagonals.mean(axis=1, keepdims=True)) + _FLAT
        matrices = matrices + extra[:, :, np.newaxis] * np.eye(extra.shape[1])
        moves = np.linalg.solve(matrices, gradients[:, :, np.newaxis])[:, :, 0]
        tried = _Alone(place, _moved(state.points, moves, used, centre, place.longest), pull)
        better = tried.losses < state.losses
        damping = np.where(better, np.maximum(_BETTER * damping, _SMALLEST_DAMPING), _WORSE * damping)
        if better.all():
            state = tried
        elif better.any() and number < steps - 1:
            state = _Alone(place, np.where(better[:, np.newaxis], tried.points, state.points), pull)
        else:
            state.points = np.where(better[:, np.newaxis], tried.points, state.points)
    return state.points


def _absolute_pull(place: Place) -> float:
    return place.pull * float(np.einsum("ij,ij->", place.residual, place.residual, dtype=np.float64))


def _centred(X: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Centred inputs above a row of ones, shape (d + 1, n); weights and biases then depend less on each other."""
    centred = np.empty((X.shape[1] + 1, len(X)), X.dtype)
    np.subtract(X.T, centre[:, np.newaxis], out=centred[:-1], casting="same_kind")
    centred[-1] = 1.0
    return centred


def _there(points: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Which of these weights are improved, and biases: if there are many inputs, those that are not 0."""
    few = points.shape[1] - 1 <= MANY_INPUTS
    weights = (np.take_along_axis(points, used, axis=1) != 0.0) | few
    return np.column_stack([weights, np.ones(len(points), dtype=bool)])


def improvable(weights: np.ndarray) -> int:
    """How many weights and biases of nodes, one node per row, can be improved."""
    there = _there(np.column_stack([weights, np.zeros(len(weights))]), _largest(weights))
    return int(np.count_nonzero(there))


def _with_bias(used: np.ndarray, place: int) -> np.ndarray:
    return np.column_stack([used, np.full(len(used), place)])


def _largest(weights: np.ndarray) -> np.ndarray:
    """The inputs whose weights are improved, shape (b, p)."""
    inputs = weights.shape[1]
    if inputs <= MANY_INPUTS:
        return np.broadcast_to(np.arange(inputs), weights.shape)
    return np.sort(np.argpartition(-np.abs(weights), MANY_INPUTS, axis=1)[:, :MANY_INPUTS], axis=1)


def _normal_equations(
    place: Place, state: _State, used: np.ndarray, centred: np.ndarray, pull: float
) -> tuple[np.ndarray, np.ndarray]:
    """The Gauss–Newton matrix and minus the gradient with respect to the weights that are improved, and biases."""
    (count, inputs), n = used.shape, centred.shape[1]
    x = centred if inputs == len(centred) - 1 else centred[_with_bias(used, len(centred) - 1)]
    derivatives = (state.slope[:, np.newaxis] * x).reshape(-1, n)
    known = derivatives @ np.concatenate([place.basis, state.directions]).T
    gram = (derivatives @ derivatives.T - known @ known.T).astype(np.float64)
    beta = state.output_weights
    products = np.repeat(np.repeat(beta @ beta.T, inputs + 1, axis=0), inputs + 1, axis=1)
    # Of each output, weighted by how much a node contributes to it.
    left = beta.astype(state.residual.dtype) @ state.residual
    gradient = np.einsum("bpn,bn->bp", derivatives.reshape(count, -1, n), left).astype(np.float64)
    gradient[:, :-1] -= pull * np.take_along_axis(state.points, used, axis=1)
    there = _there(state.points, used)
    matrix = gram * products * np.logical_and.outer(there.ravel(), there.ravel())
    gradient *= there
    pulls = np.full((count, inputs + 1), pull)
    pulls[:, -1] = 0.0
    matrix[np.diag_indices_from(matrix)] += pulls.ravel()
    return matrix, gradient.ravel()


def _move(matrix: np.ndarray, gradient: np.ndarray, damping: float) -> np.ndarray:
    diagonal = matrix.diagonal()
    damped = matrix.copy()
    damped[np.diag_indices_from(damped)] += damping * (diagonal + _SHARE * diagonal.mean()) + _FLAT
    return solved(damped, gradient)


def _moved(points: np.ndarray, move: np.ndarray, used: np.ndarray, centre: np.ndarray, longest: float) -> np.ndarray:
    """The points after a move, in which biases are those of centred inputs."""
    move = move.reshape(len(points), -1)
    move = move / np.maximum(np.abs(move).max(axis=1, keepdims=True) / longest, 1.0)
    moved = points.copy()
    weights = np.take_along_axis(points, used, axis=1) + move[:, :-1]
    np.put_along_axis(moved, used, weights, axis=1)
    moved[:, -1] += move[:, -1] - np.einsum("bp,bp->b", move[:, :-1], centre[used])
    return moved
