"""Refit: the output weights of fixed nodes are evaluated under a loss, from row sums in a basis of their columns.

With H = QR the columns of linear part and nodes on all rows, and Q orthonormal, the scaled outputs are QA, for
coefficients A = Rβ. Each iteration is one pass over the rows, which sends A and returns sums of the size of the basis.
Since Q is orthonormal, these sums are well conditioned, however close to each other the columns are.

    Columns          the columns of fixed nodes on open rows, and R
    HeldOut          held-out rows in the same basis, and averages over what they find plausible
    Reweighting      iteratively reweighted least squares
    solve_path       a convex loss with a ridge, for several penalties
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, qr, solve_triangular
from scipy.optimize import minimize

from skscn.factor import Factor
from skscn.losses import Loss, Penalised, plausible
from skscn.nodes import Inputs, Matrix, Nodes
from skscn.output_weights import Admission, LeastSquares, Solution, solved
from skscn.rows import Operation, Rows, Storage
from skscn.scaling import InputScaling, Scaling

# From this number of outputs on, the panels of a basis are put together: one large product is faster than many small
# ones. For few outputs, to copy the basis would take longer than to multiply it.
_MANY_OUTPUTS = 4


class Stretch(NamedTuple):
    """The rows of one stretch: basis, in panels, √p as a column, targets, and outputs at some coefficients.

    Targets and outputs are contiguous by columns: there are fewer classes than rows.
    """

    basis: list[np.ndarray]
    roots: np.ndarray
    y: np.ndarray
    f: np.ndarray

    @classmethod
    def of(cls, storage: Storage, rows: slice, coefficients: np.ndarray, outputs: Scaling) -> Stretch:
        """The residual of these rows is the target itself."""
        residual, roots = storage.residual[rows], storage.sqrt_weight_of(rows)
        basis, start = storage.basis(rows, len(coefficients)), 0
        if residual.shape[1] >= _MANY_OUTPUTS and basis:
            basis = [np.concatenate(basis)]
        scaled = np.zeros(residual.shape[::-1])
        for panel in basis:
            scaled += np.ascontiguousarray(coefficients[start : start + len(panel)].T) @ panel
            start += len(panel)
        unit = np.ones((len(residual), 1)) if roots is None else roots[:, np.newaxis]
        return cls(basis, unit, np.divide(residual, unit, order="F"), outputs.inverse_transform(scaled.T / unit))

    @property
    def weights(self) -> np.ndarray:
        """p."""
        weights: np.ndarray = self.roots[:, 0] ** 2
        return weights


class ColumnBasis(LeastSquares):
    """An orthonormal basis of columns; the residual is left as it is."""

    def _join(self, rows: Rows, block: Admission) -> None:
        block.coefficients.fill(0.0)
        super()._join(rows, block)


class Columns:
    """The columns of fixed nodes on open rows whose residual is the target.

    Parameters
    ----------
    rows : Rows
        Open, with an empty basis.
    outputs : Scaling
        Of the outputs f.
    linear : Nodes
    blocks : sequence of Nodes
        The nodes, one block after the other. Those that depend on others before them are left out.

    Attributes
    ----------
    triangle : ndarray of shape (k, k)
        R.
    numbers : ndarray of shape (k,)
        Which of the given columns these are: linear ones first, then those of the nodes. The order may be another one,
        since a column that adds little to others on these rows comes after them.
    """

    def __init__(self, rows: Rows, outputs: Scaling, linear: Nodes, blocks: Sequence[Nodes]):
        basis = ColumnBasis(rows.n_outputs)
        self.rows, self.outputs = rows, outputs
        kept = [basis.append_linear(rows, linear), *(basis.append_independent(rows, nodes) for nodes in blocks)]
        given = [linear, *blocks]
        self.linear, *self.blocks = (nodes.take(some) for nodes, some in zip(given, kept, strict=True))
        starts = np.cumsum([0, *map(len, given)])[:-1]
        self.numbers = np.concatenate([start + some for start, some in zip(starts, kept, strict=True)])
        self.triangle = basis.factor

    def first(self, size: int) -> Columns:
        """The first columns only, at least the linear ones."""
        fewer = copy(self)
        fewer.triangle, fewer.numbers = self.triangle[:size, :size], self.numbers[:size]
        ends = np.cumsum([len(self.linear), *(len(nodes) for nodes in self.blocks)])
        counts = np.clip(size - ends[:-1], 0, np.diff(ends))
        fewer.blocks = [nodes.take(slice(count)) for nodes, count in zip(self.blocks, counts, strict=True)]
        return fewer

    @property
    def nothing(self) -> np.ndarray:
        """The coefficients with which f is the offset of the scaling, of shape (k, m)."""
        return np.zeros((len(self.triangle), self.rows.n_outputs))

    def solution(self, coefficients: np.ndarray) -> Solution:
        """The output weights of coefficients; with fewer nodes, those of the projection on their columns."""
        size = len(self.triangle)
        inverse: np.ndarray = solve_triangular(self.triangle, np.eye(size)) if size else self.triangle
        return Solution(inverse @ coefficients, sparse.csc_array(inverse), coefficients)


# Held-out rows, and averages over what they find plausible.


class HeldOut:
    """Held-out rows, in the basis of the columns.

    Parameters
    ----------
    columns : Columns
    X, targets, sample_weight
    scaling : InputScaling
        Of the inputs.
    """

    def __init__(
        self,
        columns: Columns,
        X: Matrix,
        targets: np.ndarray,
        sample_weight: np.ndarray | None,
        scaling: InputScaling,
    ):
        self.targets, self.sample_weight, self.outputs = targets, sample_weight, columns.outputs
        self.weight = float(len(targets) if sample_weight is None else sample_weight.sum())
        inputs = Inputs(X, scaling)
        blocks: list[Nodes] = [columns.linear, *columns.blocks]
        h = np.vstack([block.layer.evaluate(block, inputs) for block in blocks])
        self._basis = solve_triangular(columns.triangle, h, trans="T").T if len(h) else h.T

    def outputs_of(self, coefficients: np.ndarray) -> np.ndarray:
        """The scaled outputs of the rows at these coefficients."""
        outputs: np.ndarray = self._basis @ coefficients
        return outputs

    def losses(self, loss: Loss, scaled: np.ndarray) -> np.ndarray:
        """The loss of each row at scaled outputs."""
        return loss.value(self.targets, self.outputs.inverse_transform(scaled))

    def mean_loss(self, loss: Loss, scaled: np.ndarray) -> float:
        """The mean loss of the rows at scaled outputs."""
        return float(np.average(self.losses(loss, scaled), weights=self.sample_weight))


def prefix_shares(held_out: HeldOut, loss: Loss, columns: Columns, solution: Solution) -> np.ndarray:
    """The share of each column's direction in the average over the numbers of nodes of the last block.

    The network with the first k nodes moves the output along the first k directions, so the average over k moves it
    along each direction by the share of the networks that have it.
    """
    first = len(columns.triangle) - len(columns.blocks[-1])
    moves = held_out.outputs_of(columns.triangle @ solution.directions.toarray())
    outputs = moves[:, :first] @ solution.coefficients[:first]
    scores = [held_out.mean_loss(loss, outputs)]
    for move, coefficients in zip(moves.T[first:], solution.coefficients[first:], strict=True):
        outputs = outputs + np.multiply.outer(move, coefficients)
        scores.append(held_out.mean_loss(loss, outputs))
    weights = plausible(np.array(scores), held_out.weight)
    return np.append(np.ones(first), np.cumsum(weights[::-1])[::-1][1:])


# Minimising a loss by weighted least squares, again and again (iteratively reweighted least squares)


# The largest number of passes in which a loss is minimised by reweighting, and the change of the outputs, relative to
# the residual, with which it ends.
_PASSES, _CONVERGED = 20, 1e-3


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
    """

    gram: np.ndarray
    inner: np.ndarray
    squares: np.ndarray
    weight: float

    def __add__(self, other: WorkingSums) -> WorkingSums:
        """The sums over two sets of rows together."""
        return WorkingSums(
            self.gram + other.gram,
            self.inner + other.inner,
            self.squares + other.squares,
            self.weight + other.weight,
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
    damped: bool

    def __call__(self, storage: Storage, rows: slice) -> WorkingSums:
        """For the rows of one stretch."""
        stretch = Stretch.of(storage, rows, self.coefficients, self.outputs)
        z, c = (self.loss.damped if self.damped else self.loss.working)(stretch.y, stretch.f)
        p, t = stretch.weights, self.outputs.transform(z)
        c = np.ones(len(p)) if c is None else c
        q = np.concatenate([np.zeros((0, len(p))), *stretch.basis])
        weighted = q * c
        return WorkingSums(weighted @ q.T, weighted @ (stretch.roots * t), (c * p) @ t**2, float(c @ p))


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
        self._chosen = 0.0

    def minimise(self, loss: Loss) -> None:
        """Minimise a loss from the present output weights; "gcv" chooses α in the first pass.

        Where weights fall off with the residual, each weighted problem lies above the loss with its ridge and touches
        it, so that no pass increases it.
        """
        columns, rows = self.columns, self.columns.rows
        for number in range(_PASSES):
            sums = rows.backend.total(Reweigh(self.coefficients, columns.outputs, loss, damped=number == 0))
            self.factor = sums.factor(columns.triangle, len(columns.linear))
            if number == 0:
                self._chosen = self.factor.cross_validated() if self.alpha == "gcv" else float(self.alpha)
            step = columns.triangle @ self.factor.output_weights(self._chosen) - self.coefficients
            self.coefficients = self.coefficients + step
            left = self.factor.residual_squares.sum() / self.factor.weight
            if (step**2).sum() / rows.weight <= _CONVERGED**2 * left:
                break

    def solution(self) -> Solution:
        """The output weights of the last weighted problem, and those of every smaller network with the same weights."""
        return solved(self.factor, self._chosen)


# Minimising a convex loss with a ridge, for several penalties, and averaging what is plausible on held-out rows.
#
# The penalty is ½λ‖γ‖², where γ are the output weights of columns of variance 1, and the intercept is free. The
# variance of a column, and the singular values of all of them, follow from R alone. In coordinates in which the bound
# of the second derivative is the identity, L-BFGS needs few passes over the rows.
#
# A candidate is a number of nodes with a penalty. All that are plausible on held-out rows are averaged; as they have
# the same columns, the average of their output weights is one network.


# When L-BFGS ends, for an objective in units of the dispersion; and its memory.
_OPTIONS = {"ftol": 1e-6, "gtol": 0.03, "maxiter": 200, "maxcor": 10}
# Candidates after which a path of penalties ends if none has a lower score.
_PATIENCE = 3


@dataclass(frozen=True)
class DescentSums:
    """Row sums of a loss at some coefficients.

    Attributes
    ----------
    value : float
        Σ p ℓ.
    gradient : ndarray of shape (k, m)
        Its derivative with respect to the coefficients.
    """

    value: float
    gradient: np.ndarray

    def __add__(self, other: DescentSums) -> DescentSums:
        """The sums over two sets of rows together."""
        return DescentSums(self.value + other.value, self.gradient + other.gradient)


@dataclass(frozen=True)
class Descend(Operation[DescentSums]):
    """The loss at scaled outputs QA and its gradient."""

    coefficients: np.ndarray
    outputs: Scaling
    loss: Penalised

    def __call__(self, storage: Storage, rows: slice) -> DescentSums:
        """For the rows of one stretch."""
        stretch = Stretch.of(storage, rows, self.coefficients, self.outputs)
        values, slopes = self.loss.smooth(stretch.y, stretch.f)
        slopes = slopes * (stretch.roots * self.outputs.scale)
        # The slopes are contiguous by columns.
        parts = [(slopes.T @ panel.T).T for panel in stretch.basis]
        gradient = np.concatenate([np.zeros((0, slopes.shape[1])), *parts])
        return DescentSums(float(stretch.weights @ values), gradient)


@dataclass(frozen=True)
class MeasureResidual(Operation[np.ndarray]):
    """At scaled outputs QA: the loss itself, not smoothed; and for each output Σ p e and Σ p |e − centre|."""

    coefficients: np.ndarray
    outputs: Scaling
    loss: Penalised
    centre: np.ndarray

    def __call__(self, storage: Storage, rows: slice) -> np.ndarray:
        """For the rows of one stretch."""
        stretch = Stretch.of(storage, rows, self.coefficients, self.outputs)
        e, p = stretch.y - stretch.f, stretch.weights
        return np.concatenate([[p @ self.loss.value(stretch.y, stretch.f)], p @ e, p @ np.abs(e - self.centre)])


@dataclass(frozen=True)
class MeasureCurvature(Operation[np.ndarray]):
    """At scaled outputs QA: QᵀcQ, with the mean curvatures c of the outputs, and the sum of them for each output."""

    coefficients: np.ndarray
    outputs: Scaling
    loss: Penalised

    def __call__(self, storage: Storage, rows: slice) -> np.ndarray:
        """For the rows of one stretch."""
        stretch = Stretch.of(storage, rows, self.coefficients, self.outputs)
        q = np.concatenate([np.zeros((0, len(stretch.y))), *stretch.basis])
        curvatures = self.loss.curvatures(stretch.f)
        return np.concatenate([((q * curvatures.mean(axis=1)) @ q.T).ravel(), stretch.weights @ curvatures])


@dataclass(frozen=True)
class SumCurvature(Operation[float]):
    """At scaled outputs QA: the sum of the mean curvatures of the outputs."""

    coefficients: np.ndarray
    outputs: Scaling
    loss: Penalised

    def __call__(self, storage: Storage, rows: slice) -> float:
        """For the rows of one stretch."""
        stretch = Stretch.of(storage, rows, self.coefficients, self.outputs)
        return float(stretch.weights @ self.loss.curvatures(stretch.f).mean(axis=1))


class Candidate(NamedTuple):
    """A solution.

    Attributes
    ----------
    size : int
        How many columns it has.
    variant, penalty : int
        Which form of the loss, and which of its penalties.
    coefficients : ndarray of shape (k, m)
        A, 0 for the columns that it does not have.
    score : float
        Its mean loss on held-out rows, or an estimate.
    """

    size: int
    variant: int
    penalty: int
    coefficients: np.ndarray
    score: float


def _deviations(columns: Columns, size: int) -> np.ndarray:
    """The standard deviations of the first columns, without the intercept if there is one."""
    start = min(len(columns.linear), 1)
    deviations: np.ndarray = np.sqrt((columns.triangle[start:size, start:size] ** 2).sum(axis=0) / columns.rows.weight)
    return deviations


class _Spectrum:
    """Coordinates in which the penalty is a sum of squares, for the first columns."""

    def __init__(self, columns: Columns, size: int):
        self.start, self.size, self.columns = min(len(columns.linear), 1), size, columns
        inner = columns.triangle[self.start : size, self.start : size]
        deviations = _deviations(columns, size)
        # Not SciPy's, which refuses an empty matrix before version 1.14.
        self.rotation, self.singular, _ = np.linalg.svd(inner / np.where(deviations > 0.0, deviations, 1.0))
        self.scale = columns.outputs.scale

    def coefficients(self, points: np.ndarray) -> np.ndarray:
        """A of the first columns, from coordinates of shape (size, m)."""
        found = np.empty_like(points)
        found[: self.start] = points[: self.start]
        found[self.start : self.size] = self.rotation @ (self.singular[:, np.newaxis] * points[self.start :])
        return found

    def points(self, coefficients: np.ndarray) -> np.ndarray:
        """Coordinates of coefficients; 0 along directions that the columns hardly have."""
        inner = self.rotation.T @ coefficients[self.start : self.size]
        present = self.singular > 1e-10 * self.singular.max(initial=0.0)
        inner /= np.where(present, self.singular, np.inf)[:, np.newaxis]
        return np.vstack([coefficients[: self.start], inner])

    def pulled_back(self, gradient: np.ndarray) -> np.ndarray:
        """The gradient with respect to the coordinates."""
        inner = self.singular[:, np.newaxis] * (self.rotation.T @ gradient[self.start : self.size])
        return np.vstack([gradient[: self.start], inner])

    def weights(self, penalty: float, curvature: float) -> tuple[np.ndarray, np.ndarray]:
        """The penalty of each squared coordinate, and roots of the second derivative; shape (size, m)."""
        squares = np.append(np.ones(self.start), self.singular**2)[:, np.newaxis] * self.scale**2
        free = np.append(np.zeros(self.start), np.ones(self.size - self.start))[:, np.newaxis]
        penalties = penalty * free * self.scale**2
        return penalties, np.sqrt(curvature * squares + penalties)


def _solved(spectrum: _Spectrum, loss: Penalised, penalty: float, points: np.ndarray) -> np.ndarray:
    """The minimum of the penalised loss, from some coordinates."""
    if not points.size:
        return points
    columns, curvature = spectrum.columns, loss.curvature()
    if loss.quadratic and points.any():
        # Rows that are almost certain have far less than the bound; the way ahead is best measured between the two.
        here = SumCurvature(spectrum.coefficients(points), columns.outputs, loss)
        curvature = float(np.sqrt(curvature * columns.rows.backend.total(here) / columns.rows.weight))
    penalties, roots = spectrum.weights(penalty, curvature)
    unit = loss.unit()
    roots = roots / np.sqrt(unit)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        points = flat.reshape(roots.shape) / roots
        sums = columns.rows.backend.total(Descend(spectrum.coefficients(points), columns.outputs, loss))
        value = sums.value + 0.5 * (penalties * points**2).sum()
        gradient = (spectrum.pulled_back(sums.gradient) + penalties * points) / roots
        return value / unit, gradient.ravel() / unit

    found = minimize(objective, (points * roots).ravel(), jac=True, method="L-BFGS-B", options=_OPTIONS)
    solved: np.ndarray = found.x.reshape(roots.shape) / roots
    return solved


class _Path:
    """Solutions along decreasing penalties, each from the one before."""

    def __init__(self, columns: Columns, loss: Penalised, size: int, factor: float = 1.0):
        self.spectrum = _Spectrum(columns, size)
        self.loss = loss
        self.penalties = factor * loss.penalties(columns.rows.weight)
        self.points = np.zeros((size, columns.rows.n_outputs))
        self._narrowed, self._next = loss, 0

    def solve(self, penalty: int) -> np.ndarray:
        """A for a penalty with this number; a loss that is smoothed needs those before it to become sharp."""
        for number in range(self._next if self.loss.smoothed else penalty, penalty + 1):
            if self.loss.smoothed:
                self._narrowed = self.loss.narrowed(self._deviations())
            self.points = _solved(self.spectrum, self._narrowed, self.penalties[number], self.points)
        self._next = penalty + 1
        coefficients = self.spectrum.columns.nothing
        coefficients[: len(self.points)] = self.spectrum.coefficients(self.points)
        return coefficients

    def _deviations(self) -> np.ndarray:
        """The mean absolute deviation of the present residuals of each output from their mean."""
        columns, m = self.spectrum.columns, self.points.shape[1]
        coefficients, centre = self.spectrum.coefficients(self.points), np.zeros(m)
        for _ in range(2):
            sums = MeasureResidual(coefficients, columns.outputs, self.loss, centre)
            measured = columns.rows.backend.total(sums)[1:] / columns.rows.weight
            centre, deviations = measured[:m], measured[m:]
        return deviations

    def degrees(self, penalty: int) -> float:
        """Degrees of freedom of the solution."""
        penalties, roots = self.spectrum.weights(self.penalties[penalty], self._narrowed.curvature())
        return float((1.0 - penalties / roots**2).sum())


def solve_path(
    columns: Columns, loss: Penalised, held_out: HeldOut | None, sizes: Sequence[int] = ()
) -> list[Candidate]:
    """Candidates for all penalties, with their loss on held-out rows, or Akaike's estimate of it without any.

    All nodes are used, and smaller networks with these numbers of nodes.
    """
    found: list[Candidate] = []
    rows, linear, most = columns.rows, len(columns.linear), len(columns.triangle)
    for size in dict.fromkeys([*(min(linear + nodes, most) for nodes in sizes), most]):
        for number, variant in enumerate(loss.variants()):
            path, best, waited = _Path(columns, variant, size), np.inf, 0
            for penalty in range(len(path.penalties)):
                coefficients = path.solve(penalty)
                if held_out is not None:
                    score = held_out.mean_loss(variant, held_out.outputs_of(coefficients))
                else:
                    measure = MeasureResidual(coefficients, columns.outputs, variant, np.zeros(rows.n_outputs))
                    value = float(rows.backend.total(measure)[0]) / rows.weight
                    score = value + variant.dispersion(value) * path.degrees(penalty) / rows.weight
                found.append(Candidate(size, number, penalty, coefficients, score))
                best, waited = (score, 0) if score < best else (best, waited + 1)
                if waited == _PATIENCE:
                    break
    return found


def blend(candidates: Sequence[Candidate], loss: Penalised, weight: float) -> list[float]:
    """The weight of each candidate in the average; ``weight`` is that of the rows that the scores were measured on."""
    scores = np.array([candidate.score for candidate in candidates])
    return list(plausible(scores, weight, loss.dispersion(float(scores.min()))))


def solve_candidates(
    columns: Columns, loss: Penalised, candidates: Sequence[Candidate], factor: float, before: Columns
) -> list[Candidate]:
    """Some candidates of a path solved again, in the same order, on other rows or with a factor of the penalties.

    Each begins with the output weights that it had on the columns ``before``, of which ``columns`` are made, if none is
    left out, unless the loss is smoothed: it becomes sharp along the path only.
    """
    same = len(before.triangle) == len(columns.triangle) and not loss.smoothed
    numbers = np.arange(len(before.triangle)) if before is columns else columns.numbers
    variants = loss.variants()
    paths: dict[tuple[int, int], _Path] = {}
    solved: list[Candidate] = []
    for candidate in candidates:
        key = (candidate.size, candidate.variant)
        if key not in paths:
            paths[key] = _Path(columns, variants[candidate.variant], min(candidate.size, len(columns.triangle)), factor)
        path = paths[key]
        if same:
            beta = solve_triangular(before.triangle, candidate.coefficients)
            path.points = path.spectrum.points(columns.triangle @ beta[numbers])
        solved.append(candidate._replace(coefficients=path.solve(candidate.penalty)))
    return solved


def quadratic_factor(columns: Columns, loss: Penalised, solution: Solution, penalty: float) -> Factor:
    """A least-squares problem that approximates the penalised loss at a solution, which solves it; rows can join it.

    Its ``residual_squares`` are the sums of the curvatures of each output.
    """
    size, beta = len(columns.triangle), solution.output_weights
    sums = columns.rows.backend.total(MeasureCurvature(solution.coefficients, columns.outputs, loss))
    gram, curvatures = sums[: size**2].reshape(size, size), sums[size**2 :]
    # Curvatures that are almost 0 wherever a column is not leave a matrix that is singular up to rounding.
    shift = 1e-14 * (np.trace(gram) + 1e-300) * np.eye(size)
    above = cholesky(gram + shift) @ columns.triangle if size else columns.triangle
    deviations = _deviations(columns, size)
    below = (
        np.sqrt(penalty)
        * np.eye(len(deviations), size, k=size - len(deviations))
        * np.pad(deviations, (size - len(deviations), 0))
    )
    (triangle,) = qr(np.vstack([above, below]), mode="r") if size else (above,)
    triangle = np.ascontiguousarray(triangle[:size])
    return Factor(triangle, triangle @ beta, curvatures, columns.rows.weight, len(columns.linear))


__all__ = [
    "Candidate",
    "Columns",
    "HeldOut",
    "Reweighting",
    "blend",
    "prefix_shares",
    "quadratic_factor",
    "solve_candidates",
    "solve_path",
]
