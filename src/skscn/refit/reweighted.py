"""Minimising a loss by weighted least squares, again and again (iteratively reweighted least squares)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from skscn.factor import Factor
from skscn.losses import Loss
from skscn.output_weights import Solution, solved
from skscn.refit.penalised import Columns, Stretch
from skscn.rows import Operation, Storage
from skscn.scaling import Scaling

# The largest number of passes in which a loss is minimised by reweighting, and the change of the outputs, relative to
# the residual, with which it ends.
_PASSES, _CONVERGED = 20, 1e-3
# How often a step that increases the loss is halved.
_HALVINGS = 5


@dataclass(frozen=True)
class WorkingSums:
    """Row sums of weighted least squares on working targets z with weights c, in the basis Q.

    Attributes
    ----------
    gram, inner : ndarray of shape (k, k) and (k, m)
        QᵀcQ and Qᵀcz.
    squares : ndarray of shape (m,)
        zᵀcz.
    weight : float
        The sum of the weights.
    value : float
        The loss at the coefficients that were sent.
    """

    gram: np.ndarray
    inner: np.ndarray
    squares: np.ndarray
    weight: float
    value: float

    def __add__(self, other: WorkingSums) -> WorkingSums:
        """The sums over two sets of rows together."""
        return WorkingSums(
            self.gram + other.gram,
            self.inner + other.inner,
            self.squares + other.squares,
            self.weight + other.weight,
            self.value + other.value,
        )

    def factor(self, triangle: np.ndarray, linear: int) -> Factor:
        """The factor of the weighted problem for the columns QR."""
        # Weights that are almost 0 wherever a column is not leave a matrix that is singular up to rounding.
        shift = 1e-14 * (np.trace(self.gram) + 1e-300) * np.eye(len(self.gram))
        lower = cholesky(self.gram + shift, lower=True)
        coefficients = solve_triangular(lower, self.inner, lower=True)
        left = np.maximum(self.squares - np.einsum("ij,ij->j", coefficients, coefficients), 0.0)
        return Factor(np.triu(lower.T @ triangle), coefficients, left, self.weight, linear)


@dataclass(frozen=True)
class Reweigh(Operation[WorkingSums]):
    """The row sums of the weighted least squares that follow from a loss at scaled outputs QA."""

    coefficients: np.ndarray
    outputs: Scaling
    loss: Loss

    def __call__(self, storage: Storage, rows: slice) -> WorkingSums:
        """For the rows of one stretch."""
        stretch = Stretch.of(storage, rows, self.coefficients, self.outputs)
        z, c = self.loss.working(stretch.y, stretch.f)
        p, t = stretch.weights, self.outputs.transform(z)
        c = np.ones(len(p)) if c is None else c
        q = np.concatenate([np.zeros((0, len(p))), *stretch.basis])
        weighted = q * c
        value = float(p @ self.loss.value(stretch.y, stretch.f))
        return WorkingSums(weighted @ q.T, weighted @ (stretch.roots * t), (c * p) @ t**2, float(c @ p), value)


class Reweighting:
    """The output weights of fixed nodes while losses are minimised, one after the other.

    Parameters
    ----------
    columns : Columns
    alpha : float or "gcv"
        The ridge of each weighted problem.

    Attributes
    ----------
    coefficients : ndarray of shape (k, m)
        A; at first f is the offset of the scaling.
    factor : Factor
        Of the last weighted problem.
    """

    def __init__(self, columns: Columns, alpha: float | str):
        self.columns, self.alpha = columns, alpha
        self.coefficients = columns.nothing
        size, n_outputs = self.coefficients.shape
        self.factor = Factor.empty(size, n_outputs, len(columns.linear))
        self._chosen, self._halved = 0.0, False

    def minimise(self, loss: Loss) -> None:
        """Minimise a loss from the present output weights; "gcv" chooses α in the first pass."""
        columns, rows = self.columns, self.columns.rows
        value, step, halvings = np.inf, columns.nothing, 0
        for number in range(_PASSES):
            sums = rows.backend.total(Reweigh(self.coefficients, columns.outputs, loss))
            if sums.value > value and halvings < _HALVINGS:
                step, halvings = step / 2.0, halvings + 1
                self.coefficients = self.coefficients - step
                continue
            value, halvings = sums.value, 0
            self.factor = sums.factor(columns.triangle, len(columns.linear))
            if number == 0:
                self._chosen = self.factor.cross_validated() if self.alpha == "gcv" else float(self.alpha)
            step = columns.triangle @ self.factor.output_weights(self._chosen) - self.coefficients
            self.coefficients = self.coefficients + step
            left = self.factor.residual_squares.sum() / self.factor.weight
            if (step**2).sum() / rows.weight <= _CONVERGED**2 * left:
                break
        self._halved = halvings > 0

    def solution(self) -> Solution:
        """The output weights of the last weighted problem, and those of every smaller network with the same weights."""
        # A step that was still being halved is not that of the weighted problem.
        return self.columns.solution(self.coefficients) if self._halved else solved(self.factor, self._chosen)
