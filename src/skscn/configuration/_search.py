"""The rows that a search uses, and operations on them: to score candidates, select among them, and polish.

Numbers are in single precision where that is enough to rank candidates: only what to propose is decided here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from skscn.configuration._climb import descend
from skscn.layers import Nodes
from skscn.rows import Rows
from skscn.supervision import SMALLEST_MEAN_SQUARE

# Number of rows to search on; with very many inputs fewer rows are used, which limits the size of the sample.
SAMPLE = 2000
_FEWEST_SAMPLED, _LARGEST_SAMPLE = 256, 4_000_000
# If the largest scaled input lies between these, inputs are in single precision.
_TINY, _MODERATE = 1e-6, 100.0
# What is new in a node must be spread over at least this number of rows, or this share of them.
_FEWEST_ROWS, _SMALLEST_SHARE = 5, 0.01
# ‖v‖²/‖h‖², for v what is new in a node h, that is more than rounding error.
_SMALLEST_PART = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}
# ‖v‖², relative to its initial value, below which a candidate duplicates those selected before it.
_REPETITION = 1e-3
# Rows whose hidden outputs, for some hundred candidates, stay in the processor's cache.
_BLOCK = 256
# Number of inputs up to which the curvature of the score is estimated before the first step, in quadratic time; and
# the relative and absolute increase of its diagonal: a node that is flat on all rows has no curvature at all.
_MANY_INPUTS, _DAMPING, _FLAT = 64, 0.1, 1e-12


class Search:
    """Rows to search on: features X (n, d), residual (n, m) of norm 1, orthonormal basis (n, k) of the columns.

    Features are what nodes see: the scaled inputs, in a dense layer. Residual and basis are multiplied by ``roots``,
    the square roots of the weights of the rows, if any. All rows are used, or a sample if there are more than
    ``most_rows``. Features of at most ``moderate`` are in single precision.
    """

    def __init__(self, rows: Rows, rng: np.random.Generator, *, most_rows: int = SAMPLE, moderate: float = _MODERATE):
        size = min(most_rows, max(_FEWEST_SAMPLED, _LARGEST_SAMPLE // rows.n_features))
        # With fewer rows than basis vectors, no column would add anything new.
        size = max(size, 2 * rows.basis_size)
        everything = rows.n_rows <= size
        sample = rows.sample(np.arange(rows.n_rows) if everything else rng.choice(rows.n_rows, size, replace=False))
        X = rows.layer.features(sample.X)
        largest = np.abs(X).max(initial=0.0)
        precision: type = np.float32 if _TINY <= largest <= moderate else np.float64
        norm = np.sqrt(np.einsum("ij,ij->", sample.residual, sample.residual))
        self.layer = rows.layer
        self.X: np.ndarray = X.astype(precision)
        self.roots: np.ndarray | None = None if sample.roots is None else sample.roots.astype(precision)
        self.residual: np.ndarray = (sample.residual / (norm or 1.0)).astype(precision)
        self.basis: np.ndarray = sample.basis.astype(precision)
        if not everything and self.basis.shape[1]:
            self.basis = _orthonormal(self.basis)
            self.residual -= self.basis @ (self.basis.T @ self.residual)

    @property
    def weights(self) -> np.ndarray | None:
        """Of the rows."""
        return None if self.roots is None else self.roots**2

    @property
    def total(self) -> float:
        """The sum of the weights: the number of rows, if they have none."""
        return float(len(self.X) if self.roots is None else self.roots @ self.roots)

    def columns(self, nodes: Nodes, rows: slice = slice(None)) -> np.ndarray:
        """h of candidates, on some of the rows."""
        h = self.layer.hidden(self.X[rows], nodes)
        return h if self.roots is None else h * self.roots[rows, np.newaxis]

    def new_part(self, h: np.ndarray) -> np.ndarray:
        """v, the columns with their projection on the basis removed."""
        v: np.ndarray = h - self.basis @ (self.basis.T @ h)
        return v

    def is_carried(self, v: np.ndarray) -> np.ndarray:
        """Whether each column is active on enough rows, by its participation ratio."""
        squares = v * v
        # Σ p u⁴ with u the column without its √p: a row of weight 2 counts as two rows.
        bare = squares
        if self.weights is not None:
            p = self.weights[:, np.newaxis]
            bare = np.divide(squares, p, out=np.zeros_like(squares), where=p > 0.0)
        quartics = np.einsum("ij,ij->j", squares, bare)
        needed = max(min(_FEWEST_ROWS, self.total / 4), _SMALLEST_SHARE * self.total)
        carried: np.ndarray = squares.sum(axis=0) ** 2 >= needed * quartics
        return carried

    def take_in(self, node: Nodes) -> np.ndarray:
        """Add an accepted node to the basis; return its direction q, shape (n,)."""
        v = self.new_part(self.columns(node))
        q: np.ndarray = v / np.sqrt(_squares(v))
        self.basis = np.hstack([self.basis, q])
        self.residual = self.residual - q @ (q.T @ self.residual)
        return q[:, 0]

    def selected(self, nodes: Nodes) -> np.ndarray:
        """The best candidate, then the best given that one, and so on: forward selection by the orthogonalised score.

        Those that are active on too few rows, or that add nothing new to the ones before them, are skipped.
        """
        v = self.new_part(self.columns(nodes))
        gram, projections = v.T @ v, self.residual.T @ v
        squares, left = gram.diagonal().copy(), self.is_carried(v)
        smallest = _REPETITION * squares
        chosen: list[int] = []
        while (left := left & (squares > smallest)).any():
            scores = np.divide(_squares(projections), squares, out=np.zeros_like(squares), where=left)
            best = int(scores.argmax())
            if not scores[best] > 0.0:
                break
            chosen.append(best)
            left[best] = False
            # One step of a pivoted Cholesky factorisation removes the chosen one from the others.
            row = gram[best] / np.sqrt(squares[best])
            projections = projections - np.outer(projections[:, best] / np.sqrt(squares[best]), row)
            gram = gram - np.outer(row, row)
            squares = gram.diagonal()
        return np.array(chosen, dtype=int)

    def polished(self, nodes: Nodes, evaluations: int, pull: float, smallest: float) -> Nodes:
        """Candidates after some quasi-Newton steps up the orthogonalised score.

        A candidate stays unchanged if its result is active on too few rows. For ``pull`` see :meth:`_loss`;
        ``smallest`` is the smallest ‖h‖² of a node that is not almost zero.
        """
        # On rows without any error left there is nothing to improve.
        if not self.residual.any():
            return nodes
        starts = np.vstack([nodes.weights, nodes.biases])
        floor = smallest / 4
        curvatures = self._curvatures(starts.T, pull, floor) if len(nodes.weights) <= _MANY_INPUTS else None
        found = descend(lambda points: self._loss(points, pull, floor), starts.T, evaluations, curvatures).T
        carried = self.is_carried(self.new_part(self.columns(_placed(nodes, found))))
        return _placed(nodes, np.where(carried, found, starts))

    def _curvatures(self, points: np.ndarray, pull: float, floor: float) -> np.ndarray:
        """Gauss–Newton's inverse Hessian of the loss at each point, shape (k, p, p)."""
        slope, h = self._slope_and_value(points)
        v = self.new_part(h)
        norms = _squares(v) + h.dtype.type(floor)
        factors = 2.0 * _squares(self.residual.T @ h) / norms**2
        inputs = np.column_stack([self.X, np.ones(len(self.X), self.X.dtype)])
        inverses = np.empty((*points.shape, points.shape[1]))
        for i in range(len(points)):
            jacobian = slope[:, [i]] * inputs
            known = np.vstack([self.basis.T @ jacobian, v[:, i] @ jacobian / np.sqrt(norms[i])])
            hessian = (factors[i] * (jacobian.T @ jacobian - known.T @ known)).astype(np.float64)
            diagonal = hessian.diagonal() + 2.0 * pull
            hessian[np.diag_indices_from(hessian)] = (
                (1.0 + _DAMPING) * diagonal + 1e-3 * _DAMPING * diagonal.mean() + _FLAT
            )
            inverses[i] = np.linalg.inv(hessian)
        return inverses

    def _slope_and_value(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slope, h = self.layer.slope_and_value(self.X, points[:, :-1].T, points[:, -1])
        if self.roots is not None:
            slope, h = slope * self.roots[:, np.newaxis], h * self.roots[:, np.newaxis]
        return slope, h

    def _loss(self, points: np.ndarray, pull: float, floor: float) -> tuple[np.ndarray, np.ndarray]:
        """Minus the share of the squared error that each node, a row of ``points``, removes; and its gradient.

        ``pull`` draws weights towards 0; ``floor`` keeps the score of a vanishing node from growing without bound.
        """
        slope, h = self._slope_and_value(points)
        v = self.new_part(h)
        norms = _squares(v) + h.dtype.type(floor)
        projections = self.residual.T @ h
        scores = _squares(projections) / norms
        moved = self.residual @ projections
        v *= scores
        moved -= v
        moved *= slope
        moved *= -2.0 / norms
        weights = points[:, :-1]
        gradients = np.column_stack([2.0 * pull * weights + moved.T @ self.X, moved.sum(axis=0)])
        return pull * np.einsum("ij,ij->i", weights, weights) - scores, gradients


class Pool:
    """Candidates with their scores, which are updated as nodes are added."""

    def __init__(self, search: Search, candidates: Nodes):
        self.candidates = candidates
        precision, count = search.X.dtype, len(candidates)
        # The new part of a column is described by its norm and its projection on the residual.
        self._columns = np.empty((len(search.X), count), precision)
        self._projections = np.zeros((search.residual.shape[1], count), precision)
        coefficients = np.zeros((search.basis.shape[1], count), precision)
        self._norms = np.zeros(count, precision)
        for start in range(0, len(search.X), _BLOCK):
            rows = slice(start, start + _BLOCK)
            h = search.columns(candidates, rows)
            self._columns[rows] = h
            self._projections += search.residual[rows].T @ h
            coefficients += search.basis[rows].T @ h
            self._norms += _squares(h)
        self._squares = self._norms - _squares(coefficients)
        bound = search.layer.bound
        unit = bound**2 * search.total if np.isfinite(bound) else float(self._norms.max())
        # The smallest ‖h‖² of a node that is not almost zero.
        self.smallest = SMALLEST_MEAN_SQUARE * unit

    def ranked(self) -> np.ndarray:
        """Candidates that add something new, largest ⟨e, v⟩²/‖v‖² first."""
        new = self._squares > np.maximum(1e-2 * self.smallest, _SMALLEST_PART[self._norms.dtype] * self._norms)
        scores = np.divide(_squares(self._projections), self._squares, out=np.zeros_like(self._norms), where=new)
        return np.argsort(-scores, kind="stable")[: np.count_nonzero(scores)]

    def take_out(self, direction: np.ndarray, residual: np.ndarray) -> None:
        """Update for a direction q that was added to the basis; ``residual`` is the one before."""
        along = direction @ self._columns
        self._projections -= np.outer(direction @ residual, along)
        self._squares -= along**2


def _placed(nodes: Nodes, points: np.ndarray) -> Nodes:
    """The nodes with other weights and biases, one above the other in ``points`` of shape (d + 1, k)."""
    return replace(nodes, weights=points[:-1], biases=points[-1])


def _squares(columns: np.ndarray) -> np.ndarray:
    """The sum of squares of each column."""
    squares: np.ndarray = np.einsum("ij,ij->j", columns, columns)
    return squares


def _orthonormal(basis: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the same columns.

    Columns that are orthonormal over all rows are almost so over a sample, so their Gram matrix is well conditioned;
    the shift is for a column that is almost zero in the sample.
    """
    gram = basis.T @ basis
    shift = 100.0 * np.finfo(gram.dtype).eps * np.trace(gram) / len(gram) * np.eye(len(gram), dtype=gram.dtype)
    orthonormal: np.ndarray = basis @ solve_triangular(cholesky(gram + shift), np.eye(len(gram), dtype=gram.dtype))
    return orthonormal
