"""One pool of candidates over all scopes, scored by what is new in them, on a sample of the rows.

Numbers are in single precision where that is enough to rank candidates: only what to propose is decided here. Arrays
have one row per column of the network and one column per row of the sample, so that inner loops are long.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.linalg import LinAlgError, qr

from skscn.factor import Factor
from skscn.nodes import Nodes
from skscn.rows import Rows
from skscn.scaling import weighted_quantiles
from skscn.search.base import Configuration, Proposal, Proposals
from skscn.search.polish import Place, cholesky, improved, improved_alone, new_part
from skscn.supervision import SMALLEST_MEAN_SQUARE, admissible, slack

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
        self.roots: np.ndarray | None = None if sample.sqrt_weight is None else sample.sqrt_weight.astype(precision)
        self.residual: np.ndarray = np.ascontiguousarray((sample.residual / self.norm).T, dtype=precision)
        self.basis: np.ndarray = np.ascontiguousarray(sample.basis, dtype=precision)
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


# One pool of candidates over all scopes, scored by what is new in them.
#
# The paper's score ⟨e, h⟩²/‖h‖² is the decrease of the squared error if only the new output weight is evaluated. If
# all are, it decreases by ⟨e, v⟩²/‖v‖², with v the part of h orthogonal to the existing nodes (Chen, Billings and Luo,
# 1989): never less, and the score used here. Scopes are drawn log-uniformly, and the bias is placed so that the node's
# transition passes through a random row. Candidates are screened on a sample of the rows; a node still has to pass the
# supervisory inequality on all of them.


# Up to this number of rows, transitions are placed at quantiles of the rows along the direction, which depend neither
# on their order nor on whether a row is given twice or with weight 2; beyond, at a random row, which is cheaper.
_FEW_ROWS = 256
# Number of candidates in one selection, and at least this number for each node wanted.
_BATCH, _PER_NODE = 8, 3


class Pooled(Configuration):
    """The best of one pool, by the orthogonalised score."""

    scaling = "robust"
    direct_link = True
    early_stopping = True
    alpha = "gcv"
    bounded = True
    guided = True
    # The most rows to search on.
    most_rows = SAMPLE
    _relevance: np.ndarray | None = None

    def informed(self, contraction: float, relevance: np.ndarray | None) -> Self:
        """Draw half of the candidates by the relevance of the features."""
        search = copy(self)
        search._relevance = relevance
        return search

    def propose(self, rows: Rows, node: int, rng: np.random.Generator, count: int) -> Proposals:
        """The best node, or the best ``count`` together; if they are rejected, further candidates one by one.

        Each has the smallest contraction that it satisfies on all rows. With several outputs the best candidate often
        fails the inequality for one of them; then the next ones follow.
        """
        search = Search(rows, rng, most_rows=self.most_rows)
        drawn = draw_by_data(search.X, search.weights, self.scopes, self.max_candidates, rng, self._relevance)
        pool = rows.nodes(*drawn)
        best_first = pool.take(search.ranked(pool, min(rows.n_features + 1, rows.basis_size)))
        together = self._together(search, best_first, count)
        if len(together):
            accepted = yield self._proposal(together)
            if accepted:
                return
        for batch in self._batches(search, best_first):
            for j in np.flatnonzero(self._is_hopeful(rows, batch, node)):
                yield self._proposal(batch.take(slice(j, j + 1)))

    def _together(self, search: Search, best_first: Nodes, count: int) -> Nodes:
        """The best node on the searched rows, the best given that one, and so on."""
        batch = best_first.take(slice(max(_BATCH, _PER_NODE * count)))
        return batch.take(search.selected(batch, count))

    def _batches(self, search: Search, best_first: Nodes) -> Iterator[Nodes]:
        """Candidates that add something new, some at a time: each selected given the ones before it."""
        for start in range(0, len(best_first), _BATCH):
            batch = best_first.take(slice(start, start + _BATCH))
            batch = batch.take(search.selected(batch, _BATCH))
            if len(batch):
                yield batch

    def _is_hopeful(self, rows: Rows, batch: Nodes, node: int) -> np.ndarray:
        """Whether each candidate is worth proposing.

        With one output, or if all are supervised together, the inequality hardly ever fails; otherwise one pass over
        all rows checks the whole batch.
        """
        if rows.n_outputs == 1 or rows.together:
            return np.ones(len(batch), dtype=bool)
        sums = rows.sums(batch)
        passed = [admissible(slack(sums, rows.residual_squares, r, node)) for r in self.contractions]
        hopeful: np.ndarray = np.any(passed, axis=0)
        return hopeful

    def _proposal(self, candidates: Nodes) -> Proposal:
        return Proposal(candidates, self.contractions, self.max_candidates)


def draw_by_data(
    X: np.ndarray,
    weights_of_rows: np.ndarray | None,
    scopes: tuple[float, ...],
    count: int,
    rng: np.random.Generator,
    relevance: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, biases and scopes of candidates whose transitions lie among the rows of X.

    The number of inputs that a node uses is drawn log-uniformly too, from one to all. If it is known how relevant the
    inputs are so far, half of the candidates pick theirs in proportion; the others do not, so that the node that the
    theorems need can still be drawn.
    """
    d = X.shape[1]
    drawn = np.exp(rng.uniform(np.log(min(scopes)), np.log(max(scopes)), count))
    wanted = d ** rng.random(count)
    shares = np.full((d, count), 1.0 / d)
    if relevance is not None:
        shares[:, rng.random(count) < 0.5] = (relevance / relevance.sum())[:, np.newaxis]
    active = rng.random((d, count)) < wanted * shares
    # At least one input, with the same probabilities.
    active[(np.cumsum(shares, axis=0) < rng.random(count)).sum(axis=0).clip(max=d - 1), np.arange(count)] = True
    weights = rng.uniform(-1.0, 1.0, (d, count)) * active * drawn
    quantiles = rng.random(count)
    if (len(X) if weights_of_rows is None else np.rint(weights_of_rows.sum())) <= _FEW_ROWS:
        return weights, -weighted_quantiles(X @ weights, weights_of_rows, quantiles), drawn
    total = np.cumsum(np.ones(len(X)) if weights_of_rows is None else weights_of_rows)
    through = X[np.searchsorted(total, quantiles * total[-1])]
    return weights, -np.einsum("ij,ji->i", through, weights), drawn
