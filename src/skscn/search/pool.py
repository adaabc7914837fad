"""One pool of candidates over all scopes: drawn by the data, ranked, selected, polished and proposed.

The paper's score ⟨e, h⟩²/‖h‖² is the decrease of the squared error if only the new output weight is evaluated. If all
are, it decreases by ⟨e, v⟩²/‖v‖², with v the part of h orthogonal to the existing nodes (Chen, Billings and Luo, 1989):
never less, and the score used here. Scopes are drawn log-uniformly, and the bias is placed so that the node's
transition passes through a random row.

``Polished``, the default search, improves the best candidates by Levenberg–Marquardt steps with all output weights
eliminated: each alone, then the nodes of a step together. When the network has reached certain sizes, all its nodes are
polished, block by block, each block given the others.

All of this happens on a sample of the rows, in single precision where that is enough: only what to propose is decided
here, and a node still has to satisfy the supervisory inequality on all rows. Arrays have one row per column of the
network and one column per row of the sample, so that inner loops are long.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Self

import numpy as np
from scipy.linalg import LinAlgError, qr

from skscn.factor import Factor
from skscn.nodes import Layer, Nodes
from skscn.rows import Rows
from skscn.scaling import weighted_quantiles
from skscn.search.base import Configuration, Proposal, Proposals, StepSchedule
from skscn.search.polish import (
    MANY_INPUTS,
    LocalProblem,
    cholesky,
    improve_alone,
    improve_together,
    weights_to_improve,
)
from skscn.supervision import SMALLEST_MEAN_SQUARE, Sums, admissible, forward_selection, participates, slack

# Number of rows to search on; with very many inputs fewer rows are used, which limits the size of the sample.
SAMPLE = 2000
_FEWEST_SAMPLED, _LARGEST_SAMPLE = 256, 4_000_000
# If the largest scaled input lies between these, inputs are in single precision.
_TINY, _MODERATE = 1e-6, 100.0
# Up to this number of rows, transitions are placed at quantiles of the rows along the direction, which depend neither
# on their order nor on whether a row is given twice or with weight 2; beyond, at a random row, which is cheaper.
_FEW_ROWS = 256
# Candidates of a pool, of those that do best given the first columns alone, that are scored given all of them.
_FINALISTS = 48
# ‖v‖²/‖h‖², for v what is new in a node h, that is more than rounding error.
_SMALLEST_PART = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}
# ‖v‖², relative to its initial value, below which a candidate duplicates those selected before it.
_REPETITION = 1e-3
# What is new in a node must be spread over at least this number of rows, or this share of them.
_FEWEST_ROWS, _SMALLEST_SHARE = 5, 0.01
# Number of candidates in one selection, and at least this number for each node wanted.
_BATCH, _PER_NODE = 8, 3

# With fewer rows, polishing would mainly fit noise.
_ENOUGH_TO_POLISH = 100
# Nodes of a step: what can be found together grows with the network.
_SCHEDULE = StepSchedule(3, share=1 / 6, most=16)
# For each node of a step, the candidates that are polished, and the steps for each alone and for those chosen together.
# The first nodes matter most: a network of few nodes should be as good as possible.
_THOROUGH, _QUICK = (3, 5, 4), (2, 2, 2)
# The decay of polished weights, relative to the largest scope.
_WEIGHT_DECAY = 1e-4
# All nodes are polished when the network reaches this size, and again whenever it has grown by this factor, if there
# are at least this many rows for each of their weights.
_FIRST, _FACTOR, _ROWS_PER_WEIGHT = 12, 1.5, 10
# The rows on which they are polished, or more if they have many weights; the most nodes of a block, and weights in it;
# steps for each block, and the damping of the first one: almost Gauss–Newton.
_ROWS, _BLOCK, _WEIGHTS, _STEPS_PER_BLOCK, _LITTLE_DAMPING = 4000, 16, 256, 3, 0.01


class Search:
    """Rows to search on: features X (n, d), residual (m, n) of norm 1, orthonormal basis (k, n) of the columns.

    Features are what nodes see: the scaled inputs, in a dense layer. Residual and basis are multiplied by
    ``sqrt_weight``, the square roots of the ``weights`` of the rows, if any, whose sum is ``total``. All rows are used,
    or a sample if there are more than ``most_rows``. Features of at most ``moderate`` are in single precision.
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
        self.residual: np.ndarray = np.ascontiguousarray((sample.residual / self.norm).T, dtype=precision)
        self.basis: np.ndarray = np.ascontiguousarray(sample.basis, dtype=precision)
        self.sqrt_weight: np.ndarray | None = None
        self.weights: np.ndarray | None = None
        self.total = float(len(X))
        if sample.sqrt_weight is not None:
            self.sqrt_weight = sample.sqrt_weight.astype(precision)
            self.weights, self.total = self.sqrt_weight**2, float(self.sqrt_weight @ self.sqrt_weight)
        # The smallest ‖h‖² of a node that is not almost zero, if the activation is bounded.
        bound = self.layer.bound
        self.smallest = SMALLEST_MEAN_SQUARE * bound**2 * self.total if np.isfinite(bound) else 0.0
        # The basis of all rows is ``change``ᵀ times that of the sample, which explains a little more.
        self.change, self.explained = np.eye(len(self.basis)), np.zeros((len(self.basis), rows.n_outputs))
        if not everything and len(self.basis):
            # Vectors that are orthonormal over all rows are almost so over a sample, so their Gram matrix is well
            # conditioned; the shift is for a vector that is almost zero in the sample.
            gram = (self.basis @ self.basis.T).astype(np.float64)
            gram[np.diag_indices_from(gram)] += 100.0 * np.finfo(precision).eps * np.trace(gram) / len(gram)
            self.change, inverse = cholesky(gram)
            self.basis = inverse.T.astype(precision) @ self.basis
            self.explained = (self.basis @ self.residual.T).astype(np.float64)
            self.residual -= self.explained.T.astype(precision) @ self.basis

    def columns(self, nodes: Nodes) -> np.ndarray:
        """h of candidates, shape (count, n)."""
        h = self.layer.hidden(self.X, nodes).T
        return h if self.sqrt_weight is None else h * self.sqrt_weight

    def new_parts(self, nodes: Nodes) -> tuple[np.ndarray, np.ndarray]:
        """v, the columns of candidates without their projection on the basis; whether each is active on enough rows."""
        h = self.columns(nodes)
        v = h - (h @ self.basis.T) @ self.basis
        squares = v * v
        # Σ p u⁴ with u the column without its √p: a row of weight 2 counts as two rows.
        bare = squares
        if self.weights is not None:
            bare = np.divide(squares, self.weights, out=np.zeros_like(squares), where=self.weights > 0.0)
        fewest = max(min(_FEWEST_ROWS, self.total / 4), _SMALLEST_SHARE * self.total)
        return v, participates(squares.sum(axis=1), np.einsum("ij,ij->i", squares, bare), fewest)

    def rank(self, candidates: Nodes, first: int) -> Nodes:
        """Candidates that add something new, largest ⟨e, v⟩²/‖v‖² first.

        All are scored given the first columns of the basis, and the best of them given all columns, which takes longer.
        """
        h = self.columns(candidates)
        norms = _squares(h)
        floor = self.smallest or SMALLEST_MEAN_SQUARE * float(norms.max(initial=0.0))
        best_first = np.arange(len(h))
        some: np.ndarray | slice = slice(None)
        for basis in [self.basis[:first], self.basis] if first < len(self.basis) else [self.basis]:
            squares = norms[some] - _squares(h[some] @ basis.T)
            new = squares > np.maximum(1e-2 * floor, _SMALLEST_PART[norms.dtype] * norms[some])
            scores = np.divide(_squares(h[some] @ self.residual.T), squares, out=np.zeros_like(squares), where=new)
            order = np.argsort(-scores, kind="stable")[: min(_FINALISTS, np.count_nonzero(scores))]
            best_first = some = best_first[order]
        return candidates.take(best_first)

    def select(self, candidates: Nodes, count: int) -> Nodes:
        """Up to ``count`` candidates: the best, the best given that one, and so on, by the orthogonalised score.

        Only the first candidates take part, _PER_NODE for each one wanted. Those that are active on too few rows, or
        that add nothing new to the ones before them, are skipped.
        """
        if len(candidates.biases) > (most := max(_BATCH, _PER_NODE * count)):
            candidates = candidates.take(slice(most))
        v, left = self.new_parts(candidates)
        gram = v @ v.T
        sums = Sums(self.residual @ v.T, gram.diagonal().copy(), gram=gram)

        def score(given: Sums, _: np.ndarray, chosen: list[int]) -> np.ndarray:
            left[chosen] = False
            np.logical_and(left, given.squares > _REPETITION * sums.squares, out=left)
            decrease = _squares(given.projections.T)
            scores = np.divide(decrease, given.squares, out=np.full_like(decrease, -np.inf), where=left)
            return np.where(scores > 0.0, scores, -np.inf)

        return candidates.take(forward_selection(sums, count, score, orthogonal=True))

    def polish(self, nodes: Nodes, steps: int, scope: float, *, together: bool, damping: float = 1.0) -> Nodes:
        """Nodes after some Levenberg–Marquardt steps, on all of them together or on each alone.

        No step is longer than the scope. A node stays unchanged if its result is active on too few rows.
        """
        # On rows without any error left there is nothing to improve.
        if not self.residual.any() or not len(nodes.biases):
            return nodes
        where = (self.layer, self.X, self.sqrt_weight, self.basis, self.residual)
        problem = LocalProblem(*where, _WEIGHT_DECAY / scope**2, self.smallest / 400, scope, damping)
        starts = np.vstack([nodes.weights, nodes.biases])
        found = (improve_together if together else improve_alone)(problem, starts.T, steps).T
        polished = replace(nodes, weights=found[:-1], biases=found[-1])
        _, supported = self.new_parts(polished)
        if supported.all():
            return polished
        found = np.where(supported, found, starts)
        return replace(nodes, weights=found[:-1], biases=found[-1])


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

    def __init__(self, search: Search, factor: Factor):
        self.search, self.linear = search, factor.linear
        self.triangle = search.change @ factor.triangle
        self.coefficients = search.change @ factor.coefficients / search.norm + search.explained
        self.order = np.arange(len(self.triangle) - factor.linear)

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
        best_first = search.rank(Nodes(rows.layer, *drawn), min(rows.n_features + 1, rows.basis_size))
        together = self._choose(search, best_first, count)
        if len(together):
            accepted = yield Proposal(together, self.contractions, self.max_candidates)
            if accepted:
                return
        for start in range(0, len(best_first), _BATCH):
            batch = search.select(best_first.take(slice(start, start + _BATCH)), _BATCH)
            hopeful = np.ones(len(batch), dtype=bool)
            # With one output, or if all are supervised together, the inequality hardly ever fails; otherwise one pass
            # over all rows checks the whole batch.
            if len(batch) and rows.n_outputs > 1 and not rows.together:
                sums = rows.sums(batch)
                passed = [admissible(slack(sums, rows.residual_squares, r, node)) for r in self.contractions]
                hopeful = np.any(passed, axis=0)
            for j in np.flatnonzero(hopeful):
                yield Proposal(batch.take(slice(j, j + 1)), self.contractions, self.max_candidates)

    def _choose(self, search: Search, best_first: Nodes, count: int) -> Nodes:
        """The nodes to propose together: the best on the searched rows, the best given that one, and so on."""
        return search.select(best_first, count)


class Polished(Pooled):
    """The best of one pool, polished."""

    def degrees_per_node(self, n_features: int) -> float:
        """The weights of a polished node are fitted as well, but only for a few steps."""
        return 2.0 + min(n_features / 2, 4.0)

    def pace(self, layer: Layer, weight: float) -> StepSchedule:
        """Nodes are added one by one where they cannot be polished."""
        return _SCHEDULE if layer.differentiable and weight >= _ENOUGH_TO_POLISH else StepSchedule(1)

    def _choose(self, search: Search, best_first: Nodes, count: int) -> Nodes:
        """The nodes to propose together, polished."""
        if not search.layer.differentiable or search.total < _ENOUGH_TO_POLISH:
            return search.select(best_first, count)
        per_node, alone, together = _THOROUGH if count <= _SCHEDULE.least else _QUICK
        found, scope = search.select(best_first, per_node * count), max(self.scopes)
        found = search.select(search.polish(found, alone, scope, together=False), count)
        if count > 1:
            found = search.polish(found, together, scope, together=True)
        return search.select(found, count)

    def is_due(self, before: int, nodes: int) -> bool:
        """Whether all nodes are polished once there are ``nodes`` of them, ``before`` the last step fewer."""
        size = float(_FIRST)
        while size <= before:
            size *= _FACTOR
        return size <= nodes

    def polish(self, rows: Rows, nodes: Nodes, factor: Factor, rng: np.random.Generator) -> Nodes | None:
        """All nodes polished, block by block in a random order; None where they cannot be polished."""
        points = np.vstack([nodes.weights, nodes.biases])
        needed = _ROWS_PER_WEIGHT * int(np.count_nonzero(weights_to_improve(points.T)[1]))
        if not rows.layer.differentiable or rows.weight < max(_ENOUGH_TO_POLISH, needed):
            return None
        search = Search(rows, rng, most_rows=max(_ROWS, needed))
        sweep = Sweep(search, factor)
        size = max(1, min(_BLOCK, _WEIGHTS // (1 + min(len(nodes.weights), MANY_INPUTS))))
        scope = max(self.scopes)
        for block in np.array_split(rng.permutation(len(nodes)), -(-len(nodes) // size)):
            sweep.leave(block)
            found = search.polish(nodes.take(block), _STEPS_PER_BLOCK, scope, together=True, damping=_LITTLE_DAMPING)
            points[:-1, block], points[-1, block] = found.weights, found.biases
            if not sweep.join(found, block):
                return None
        return replace(nodes, weights=points[:-1], biases=points[-1])


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


def _squares(rows: np.ndarray) -> np.ndarray:
    """The sum of squares of each row."""
    return np.einsum("ij,ij->i", rows, rows)
