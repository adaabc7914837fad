"""The rows that a search uses, and operations on them: to score candidates, select among them, and polish.

Numbers are in single precision where that is enough to rank candidates: only what to propose is decided here. Arrays
have one row per column of the network and one column per row of the sample, so that inner loops are long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, qr

from skscn.configuration._joint import Place, improved, improved_alone, new_part
from skscn.configuration._small import cholesky
from skscn.factor import Factor
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
# Candidates of a pool, of those that do best given the first columns alone, that are scored given all of them.
_FINALISTS = 48


class Search:
    """Rows to search on: features X (n, d), residual (m, n) of norm 1, orthonormal basis (k, n) of the columns.

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
        self.norm = float(np.sqrt(np.einsum("ij,ij->", sample.residual, sample.residual))) or 1.0
        self.layer = rows.layer
        self.X: np.ndarray = np.ascontiguousarray(X.T, dtype=precision).T
        self.roots: np.ndarray | None = None if sample.roots is None else sample.roots.astype(precision)
        self.residual: np.ndarray = np.ascontiguousarray((sample.residual / self.norm).T, dtype=precision)
        self.basis: np.ndarray = np.ascontiguousarray(sample.basis.T, dtype=precision)
        # The basis of all rows is ``change``ᵀ times that of the sample, which explains a little more.
        self.change, self.explained = np.eye(len(self.basis)), np.zeros((len(self.basis), rows.n_outputs))
        if not everything and len(self.basis):
            self.basis, self.change = _orthonormal(self.basis)
            self.explained = (self.basis @ self.residual.T).astype(np.float64)
            self.residual -= self.explained.T.astype(precision) @ self.basis

    @property
    def weights(self) -> np.ndarray | None:
        """Of the rows."""
        return None if self.roots is None else self.roots**2

    @property
    def total(self) -> float:
        """The sum of the weights: the number of rows, if they have none."""
        return float(len(self.X) if self.roots is None else self.roots @ self.roots)

    @property
    def smallest(self) -> float:
        """The smallest ‖h‖² of a node that is not almost zero, if the activation is bounded; otherwise 0."""
        bound = self.layer.bound
        return SMALLEST_MEAN_SQUARE * bound**2 * self.total if np.isfinite(bound) else 0.0

    def columns(self, nodes: Nodes) -> np.ndarray:
        """h of candidates, shape (count, n)."""
        h = self.layer.hidden(self.X, nodes).T
        return h if self.roots is None else h * self.roots

    def new_part(self, h: np.ndarray) -> np.ndarray:
        """v, the columns with their projection on the basis removed."""
        return new_part(h, self.basis)

    def is_carried(self, v: np.ndarray) -> np.ndarray:
        """Whether each column is active on enough rows, by its participation ratio."""
        squares = v * v
        # Σ p u⁴ with u the column without its √p: a row of weight 2 counts as two rows.
        bare = squares
        if self.weights is not None:
            bare = np.divide(squares, self.weights, out=np.zeros_like(squares), where=self.weights > 0.0)
        quartics = np.einsum("ij,ij->i", squares, bare)
        needed = max(min(_FEWEST_ROWS, self.total / 4), _SMALLEST_SHARE * self.total)
        carried: np.ndarray = squares.sum(axis=1) ** 2 >= needed * quartics
        return carried

    def ranked(self, candidates: Nodes, first: int) -> np.ndarray:
        """Candidates that add something new, largest ⟨e, v⟩²/‖v‖² first.

        All are scored given the first columns of the basis, and the best of them given all columns, which takes longer.
        """
        h = self.columns(candidates)
        norms = _squares(h)
        floor = self.smallest or SMALLEST_MEAN_SQUARE * float(norms.max(initial=0.0))
        scores = self._scores(h, norms, floor, self.basis[:first])
        finalists = np.argsort(-scores, kind="stable")[: min(_FINALISTS, np.count_nonzero(scores))]
        if first < len(self.basis):
            scores = self._scores(h[finalists], norms[finalists], floor, self.basis)
            finalists = finalists[np.argsort(-scores, kind="stable")[: np.count_nonzero(scores)]]
        return finalists

    def _scores(self, h: np.ndarray, norms: np.ndarray, floor: float, basis: np.ndarray) -> np.ndarray:
        """⟨e, v⟩²/‖v‖² given these columns; 0 for candidates that add nothing new."""
        squares = norms - _squares(h @ basis.T)
        new = squares > np.maximum(1e-2 * floor, _SMALLEST_PART[norms.dtype] * norms)
        scores: np.ndarray = np.divide(_squares(h @ self.residual.T), squares, out=np.zeros_like(norms), where=new)
        return scores

    def selected(self, nodes: Nodes, count: int) -> np.ndarray:
        """Up to ``count`` candidates: the best, the best given that one, and so on, by the orthogonalised score.

        Those that are active on too few rows, or that add nothing new to the ones before them, are skipped.
        """
        v = self.new_part(self.columns(nodes))
        gram, projections = v @ v.T, self.residual @ v.T
        squares, left = gram.diagonal().copy(), self.is_carried(v)
        smallest = _REPETITION * squares
        chosen: list[int] = []
        while len(chosen) < count and (left := left & (squares > smallest)).any():
            scores = np.divide(_squares(projections.T), squares, out=np.zeros_like(squares), where=left)
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

    def polished(
        self, nodes: Nodes, steps: int, pull: float, longest: float, damping: float, *, together: bool
    ) -> Nodes:
        """Nodes after some Levenberg–Marquardt steps, on all of them together or on each alone.

        A node stays unchanged if its result is active on too few rows.
        """
        # On rows without any error left there is nothing to improve.
        if not self.residual.any() or not len(nodes):
            return nodes
        floor = self.smallest / 400
        place = Place(self.layer, self.X, self.roots, self.basis, self.residual, pull, floor, longest, damping)
        starts = np.vstack([nodes.weights, nodes.biases])
        found = (improved if together else improved_alone)(place, starts.T, steps).T
        carried = self.is_carried(self.new_part(self.columns(_placed(nodes, found))))
        return _placed(nodes, np.where(carried, found, starts))


@dataclass
class Sweep:
    """All nodes of a network on the rows of a search, to be polished block by block.

    Attributes
    ----------
    search : Search
        Its basis and residual are those of the columns that are in the network at present.
    triangle, coefficients : ndarray of shape (k, k) and (k, m)
        R and QᵀT of these columns on the rows of the search.
    order : ndarray of shape (k − linear,)
        The nodes in the order of their columns.
    linear : int
        How many columns, the first ones, are not nodes.
    """

    search: Search
    triangle: np.ndarray
    coefficients: np.ndarray
    order: np.ndarray
    linear: int

    @classmethod
    def of(cls, search: Search, factor: Factor) -> Sweep:
        """From R and C of the columns on all rows."""
        triangle = search.change @ factor.triangle
        coefficients = search.change @ factor.coefficients / search.norm + search.explained
        return cls(search, triangle, coefficients, np.arange(len(triangle) - factor.linear), factor.linear)

    def leave(self, nodes: np.ndarray) -> None:
        """Take nodes out of the network: the other columns keep the basis, and the residual is what these leave."""
        search, linear = self.search, self.linear
        leaves = np.isin(self.order, nodes)
        places = np.concatenate([np.arange(linear), linear + np.flatnonzero(~leaves), linear + np.flatnonzero(leaves)])
        rotation, self.triangle = qr(self.triangle[:, places])
        basis = rotation.T.astype(search.basis.dtype) @ search.basis
        coefficients = rotation.T @ self.coefficients
        size = len(places) - len(nodes)
        back = coefficients[size:].T.astype(search.basis.dtype) @ basis[size:]
        search.residual = search.residual + back
        search.basis, self.coefficients = np.ascontiguousarray(basis[:size]), coefficients[:size]
        self.triangle = self.triangle[:size, :size]
        self.order = self.order[~leaves]

    def join(self, nodes: Nodes, numbers: np.ndarray) -> bool:
        """Bring nodes into the network; return whether they are independent enough for that."""
        search, size = self.search, len(self.triangle)
        h = search.columns(nodes)
        projection = h @ search.basis.T
        v = h - projection @ search.basis
        again = v @ search.basis.T
        v -= again @ search.basis
        gram = (v @ v.T).astype(np.float64)
        gram[np.diag_indices_from(gram)] *= 1.0 + 1e-6
        try:
            factor, inverse = cholesky(gram)
        except LinAlgError:
            return False
        directions: np.ndarray = inverse.T.astype(v.dtype) @ v
        coefficients = (directions @ search.residual.T).astype(np.float64)
        search.residual = search.residual - coefficients.T.astype(v.dtype) @ directions
        search.basis = np.concatenate([search.basis, directions])
        extended = np.zeros((size + len(nodes), size + len(nodes)))
        extended[:size, :size], extended[size:, size:] = self.triangle, factor
        extended[:size, size:] = (projection + again).T
        self.triangle, self.coefficients = extended, np.concatenate([self.coefficients, coefficients])
        self.order = np.append(self.order, numbers)
        return True


def _placed(nodes: Nodes, points: np.ndarray) -> Nodes:
    """The nodes with other weights and biases, one above the other in ``points`` of shape (d + 1, k)."""
    return replace(nodes, weights=points[:-1], biases=points[-1])


def _squares(rows: np.ndarray) -> np.ndarray:
    """The sum of squares of each row."""
    squares: np.ndarray = np.einsum("ij,ij->i", rows, rows)
    return squares


def _orthonormal(basis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An orthonormal basis Q of the same rows B, and C with B = CᵀQ.

    Vectors that are orthonormal over all rows are almost so over a sample, so their Gram matrix is well conditioned;
    the shift is for a vector that is almost zero in the sample.
    """
    gram = (basis @ basis.T).astype(np.float64)
    gram[np.diag_indices_from(gram)] += 100.0 * np.finfo(basis.dtype).eps * np.trace(gram) / len(gram)
    factor, inverse = cholesky(gram)
    return inverse.T.astype(basis.dtype) @ basis, factor
