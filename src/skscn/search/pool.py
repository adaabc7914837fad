"""One pool of candidates over all scopes: drawn by the data, ranked, selected, polished and proposed.

The paper's score ⟨e, h⟩²/‖h‖² is the decrease of the squared error if only the new output weight is evaluated. If all
are, it decreases by ⟨e, v⟩²/‖v‖², with v the part of h orthogonal to the existing nodes (Chen, Billings and Luo, 1989):
never less, and the score used here. Scopes are drawn log-uniformly, and the bias is placed so that the node's
transition passes through a random row.

``Polished``, the default search, improves the nodes of a step together, by Levenberg–Marquardt steps with all output
weights eliminated. When the network has reached certain sizes, all its nodes are polished, block by block, each block
given the others.

All of this happens on some of the rows, in single precision where that is enough: only what to propose is decided
here, and a node still has to satisfy the supervisory inequality on all rows. Arrays have one row per column of the
network and one column per row of the sample, so that inner loops are long; rows are in random order, so that a slice
is a sample.
"""

from __future__ import annotations

from collections.abc import Generator
from copy import copy
from dataclasses import replace
from typing import Self

import numpy as np
from scipy.linalg import LinAlgError, qr

from skscn.factor import Factor
from skscn.nodes import Layer, Nodes
from skscn.rows import Rows, Sample
from skscn.scaling import weighted_quantiles
from skscn.search.base import Configuration, Proposal, Proposals, StepSchedule
from skscn.search.polish import (
    MANY_INPUTS,
    LocalProblem,
    cholesky,
    improve_together,
    largest,
    orthonormal,
    weights_to_improve,
)
from skscn.supervision import SMALLEST_MEAN_SQUARE, Sums, admissible, forward_selection, participates

# Number of rows to search on; with very many inputs fewer rows are used, which limits the size of the sample.
SAMPLE = 4000
_FEWEST_SAMPLED, _LARGEST_SAMPLE = 256, 4_000_000
# Up to this number, all rows are kept between steps; of more, each step reads a new sample.
_KEPT = 8000
# Rows on which a pool is ranked.
_ROWS_TO_RANK = 1000
# If the largest scaled input lies between these, inputs are in single precision.
_TINY, _MODERATE = 1e-6, 100.0
# Up to this number of rows, transitions are placed at quantiles of the rows along the direction, which depend neither
# on their order nor on whether a row is given twice or with weight 2; beyond, at a random row, which is cheaper.
_FEW_ROWS = 256
# Where all candidates of a small pool are refused, further pools are drawn, of up to this number of candidates.
_FEWEST_CANDIDATES = 100
# Candidates of a pool, of those that do best given a constant alone, that are scored given all columns.
_FINALISTS = 48
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
# In how many steps the nodes of a step are polished together, and the damping of the first one. The first nodes matter
# most: a network of few nodes should be as good as possible.
_THOROUGH, _QUICK, _MUCH_DAMPING = 8, 4, 1.0
# Inputs that the network depends on this much less than on the most relevant one hardly matter: their weights would
# mainly fit noise. They can still be drawn.
_RELEVANT = 0.07
# The rows on which the Gauss–Newton matrix is formed, or more if it has many weights; and where the last polishing of
# all nodes removed much of the error. The gradient and the error are those of all rows.
_CURVED, _PER_WEIGHT, _MORE_CURVED = 600, 4, 1000
# The decay of polished weights, relative to the largest scope.
_WEIGHT_DECAY = 1e-4
# All nodes are polished when the network reaches this size, and again whenever it has grown by this factor, if there
# are at least this many rows for each of their weights; by a smaller factor as long as polishing removes at least this
# share of the error, as it does where the function is smooth. Where there are too few rows, but polishing removed some
# of the error the last time, it is the largest weights of each node that are polished, if these are not too few.
_FIRST, _FACTOR, _ROWS_PER_WEIGHT, _SMALL_FACTOR, _MUCH = 12, 1.5, 10, 1.1, 0.1
_SOME, _FEWEST_WEIGHTS = 0.05, 3
# Of more rows than this, they are polished on more rows, and judged on a sample first, with this many rows for each
# column, of whose squared error they must remove at least this share.
_MANY_ROWS, _MORE_ROWS, _ROWS_TO_JUDGE, _WORTHWHILE = 50_000, 16_000, 50, 2e-3
# The rows on which they are polished, or more if they have many weights; the most nodes of a block, and weights in it;
# steps for each block, and the damping of the first one: with less, most first steps would go too far.
_ROWS, _BLOCK, _WEIGHTS, _STEPS_PER_BLOCK, _LITTLE_DAMPING = 4000, 16, 256, 6, 0.3


class Search:
    """Rows to search on: features X (n, d), residual (m, n) of norm 1, orthonormal basis (k, n) of the columns.

    Features are what nodes see: the scaled inputs, in a dense layer. Residual and basis are multiplied by
    ``sqrt_weight``, the square roots of the ``weights`` of the rows, if any, whose sum is ``total``. All rows are used,
    or a sample if there are more than ``most_rows``; they are in random order, so that a slice of them is a sample.
    Features of at most ``moderate`` are in single precision.
    """

    residual: np.ndarray
    basis: np.ndarray
    change: np.ndarray
    explained: np.ndarray
    _vectors: np.ndarray

    def __init__(self, rows: Rows, rng: np.random.Generator, *, most_rows: int = SAMPLE, moderate: float = _MODERATE):
        size = min(most_rows, max(_FEWEST_SAMPLED, _LARGEST_SAMPLE // rows.n_features))
        # With fewer rows than basis vectors, no column would add anything new.
        size = max(size, 2 * rows.basis_size)
        self.numbers = rng.permutation(rows.n_rows) if rows.n_rows <= size else rng.choice(rows.n_rows, size, False)
        sample = rows.sample(self.numbers)
        X = rows.layer.features(sample.X)
        largest = np.abs(X).max(initial=0.0)
        precision: type = np.float32 if _TINY <= largest <= moderate else np.float64
        self.layer, self.inequality, self.precision = rows.layer, rows.inequality, precision
        self.X: np.ndarray = np.ascontiguousarray(X.T, dtype=precision).T
        self.sqrt_weight: np.ndarray | None = None
        self.weights: np.ndarray | None = None
        self.total = float(len(X))
        if sample.sqrt_weight is not None:
            self.sqrt_weight = sample.sqrt_weight.astype(precision)
            self.weights, self.total = self.sqrt_weight**2, float(self.sqrt_weight @ self.sqrt_weight)
        # The smallest ‖h‖² of a node that is not almost zero, if the activation is bounded.
        bound = self.layer.bound
        self.smallest = SMALLEST_MEAN_SQUARE * bound**2 * self.total if np.isfinite(bound) else 0.0
        self._version, self._vectors = rows.basis_version, np.zeros((0, len(X)), precision)
        self._load(rows, sample)
        if len(X) < rows.n_rows:
            self._orthonormalise()

    def _orthonormalise(self) -> None:
        """Make the basis orthonormal on these rows, and the residual orthogonal to it.

        The basis of all rows is ``change``ᵀ times that of a sample, which explains a little more.
        """
        if not len(self.basis):
            return
        self.basis, self.change = orthonormal(self.basis)
        self.explained = (self.basis @ self.residual.T).astype(np.float64)
        self.residual = self.residual - self.explained.T.astype(self.precision) @ self.basis

    def _load(self, rows: Rows, sample: Sample) -> None:
        """Take over the residual, and the basis vectors that are new."""
        self.norm = float(np.sqrt(np.einsum("ij,ij->", sample.residual, sample.residual))) or 1.0
        self.residual = np.ascontiguousarray((sample.residual / self.norm).T, dtype=self.precision)
        known = rows.basis_size - len(sample.basis)
        if rows.basis_size > len(self._vectors):
            vectors: np.ndarray = np.empty((2 * rows.basis_size, len(self.X)), self.precision)
            vectors[:known] = self._vectors[:known]
            self._vectors = vectors
        self._vectors[known : rows.basis_size] = sample.basis
        self.basis = self._vectors[: rows.basis_size]
        self.change, self.explained = np.eye(len(self.basis)), np.zeros((len(self.basis), rows.n_outputs))

    def update(self, rows: Rows) -> bool:
        """Read what joining nodes have changed, if these are all rows; return whether that was possible."""
        if rows.basis_version != self._version or len(self.X) < rows.n_rows or rows.basis_size < len(self.basis):
            return False
        self._load(rows, rows.sample(self.numbers, len(self.basis)))
        return True

    def window(self, rng: np.random.Generator, most_rows: int) -> Search:
        """A search on a random slice of at most this number of these rows, or on all of them."""
        part, size = copy(self), max(most_rows, 2 * len(self.basis))
        if size >= len(self.X):
            return part
        start = int(rng.integers(len(self.X) - size + 1))
        rows = slice(start, start + size)
        part.X, part.residual, part.basis = self.X[rows], self.residual[:, rows], self.basis[:, rows]
        part.total = float(size)
        if self.sqrt_weight is not None and self.weights is not None:
            part.sqrt_weight, part.weights = self.sqrt_weight[rows], self.weights[rows]
            part.total = float(part.weights.sum())
        part.smallest = self.smallest * part.total / self.total
        part._orthonormalise()
        return part

    def columns(self, nodes: Nodes, rows: slice = slice(None)) -> np.ndarray:
        """h of candidates, shape (count, n)."""
        h = self.layer.hidden(self.X[rows], nodes).T
        return h if self.sqrt_weight is None else h * self.sqrt_weight[rows]

    def new_parts(self, nodes: Nodes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """v, columns without their projection on the basis, ‖h‖² of them, and whether each is active on enough rows."""
        h = self.columns(nodes)
        v = h - (h @ self.basis.T) @ self.basis
        squares = v * v
        # Σ p u⁴ with u the column without its √p: a row of weight 2 counts as two rows.
        bare = squares
        if self.weights is not None:
            bare = np.divide(squares, self.weights, out=np.zeros_like(squares), where=self.weights > 0.0)
        fewest = max(min(_FEWEST_ROWS, self.total / 4), _SMALLEST_SHARE * self.total)
        return v, _squares(h), participates(squares.sum(axis=1), np.einsum("ij,ij->i", squares, bare), fewest)

    def rank(self, candidates: Nodes, rng: np.random.Generator) -> Nodes:
        """Candidates that are not almost constant on some of the rows, largest ⟨e, h⟩²/‖h‖² of centred columns first.

        Most networks begin with a constant column, so columns are centred as soon as there is a basis.
        """
        start = int(rng.integers(max(1, len(self.X) - _ROWS_TO_RANK + 1)))
        rows = slice(start, start + _ROWS_TO_RANK)
        h = self.columns(candidates, rows)
        if len(self.basis):
            roots = np.ones(h.shape[1], h.dtype) if self.sqrt_weight is None else self.sqrt_weight[rows]
            h -= np.outer(h @ roots / (roots @ roots), roots)
        squares, residual = _squares(h), self.residual[:, rows]
        floor = self.smallest * h.shape[1] / len(self.X) or SMALLEST_MEAN_SQUARE * squares.max(initial=0.0)
        decrease = _squares(h @ residual.T)
        usable = squares > floor
        scores = np.divide(decrease, squares, out=np.full_like(squares, -np.inf), where=usable)
        return candidates.take(np.argsort(-scores, kind="stable")[: np.count_nonzero(usable)])

    def select(self, candidates: Nodes, count: int, contraction: float, node: int) -> Nodes:
        """Up to ``count`` candidates: the best, the best given that one, and so on, by the orthogonalised score.

        Those that are active on too few rows, that add nothing new to the ones before them, or that do not satisfy the
        inequality for node L = ``node`` with this r on these rows are skipped.
        """
        v, norms, left = self.new_parts(candidates)
        gram, projections = v @ v.T, self.residual @ v.T
        squares = gram.diagonal().copy()
        sums = Sums(projections, norms, remainders=squares)
        left &= admissible(self.inequality.slack(sums, _squares(self.residual), contraction, node))

        def score(given: Sums, _: np.ndarray, chosen: list[int]) -> np.ndarray:
            left[chosen] = False
            np.logical_and(left, given.squares > _REPETITION * squares, out=left)
            decrease = (given.projections**2).sum(axis=0)
            return np.divide(decrease, given.squares, out=np.full_like(decrease, -np.inf), where=left)

        return candidates.take(forward_selection(Sums(projections, squares, gram=gram), count, score, orthogonal=True))

    def passing(self, nodes: Nodes, contraction: float, node: int) -> Nodes:
        """Of nodes to be proposed together, those that satisfy the inequality, given those before them."""
        v, norms, left = self.new_parts(nodes)
        gram = (v @ v.T).astype(np.float64)
        gram.flat[:: len(gram) + 1] *= 1.0 + 1e-6
        try:
            factor, inverse = cholesky(gram)
        except LinAlgError:
            return self.select(nodes, len(nodes), contraction, node)
        along = inverse.T @ (v @ self.residual.T).astype(np.float64)
        squares = _squares(self.residual)[:, np.newaxis] - np.cumsum(along**2, axis=0).T + along.T**2
        sizes, numbers = factor.diagonal(), node + np.arange(len(nodes))
        sums = Sums(along.T * sizes, norms, remainders=sizes**2)
        left &= admissible(self.inequality.slack(sums, squares, contraction, numbers))
        left &= sizes**2 > _REPETITION * gram.diagonal()
        return nodes if left.all() else nodes.take(np.flatnonzero(left))

    def polish(
        self, nodes: Nodes, steps: int, scope: float, damping: float, allowed: np.ndarray, curved: int = _CURVED
    ) -> Nodes:
        """Nodes after some Levenberg–Marquardt steps on all of them together, none of them longer than the scope.

        Only those weights change that are ``allowed`` to, shape (k, d). The Gauss–Newton matrix is formed on
        ``curved`` rows, or more if there are many weights.
        """
        # On rows without any error left there is nothing to improve.
        if not self.residual.any():
            return nodes
        where = (self.layer, self.X, self.sqrt_weight, self.basis, self.residual)
        few = max(curved, _PER_WEIGHT * int(np.count_nonzero(allowed) + len(nodes)), 2 * len(self.basis))
        few, decay = min(few, len(self.X)), _WEIGHT_DECAY / scope**2
        problem = LocalProblem(*where, decay, self.smallest / 400, scope, damping, few)
        found = improve_together(problem, np.vstack([nodes.weights, nodes.biases]).T, steps, allowed).T
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
        gram.flat[:: len(gram) + 1] *= 1.0 + 1e-6
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
    finds_jumps = True
    direct_link = True
    early_stopping = True
    alpha = "gcv"
    bounded = True
    guided = True
    # The most rows to search on, and whether what is proposed is polished there.
    most_rows = SAMPLE
    polishes = False
    _relevance: np.ndarray | None = None
    _kept: list[Search] | None = None

    def opened(self, rows: Rows) -> Self:
        """Rows that have been read are kept, if there are not too many."""
        search = copy(self)
        search._kept = []
        return search

    def _open(self, rows: Rows, rng: np.random.Generator, most_rows: int) -> Search:
        """At most this number of rows: of all rows, which are kept for later steps, or of a new sample."""
        if self._kept is None or rows.n_rows > min(_KEPT, _LARGEST_SAMPLE // rows.n_features):
            return Search(rows, rng, most_rows=most_rows)
        if not self._kept or not self._kept[0].update(rows):
            self._kept[:] = [Search(rows, np.random.default_rng(rows.n_rows), most_rows=rows.n_rows)]
        return self._kept[0].window(rng, most_rows)

    def informed(self, contraction: float, relevance: np.ndarray | None) -> Self:
        """Draw half of the candidates by the relevance of the features."""
        search = copy(self)
        search._relevance = relevance
        return search

    def _improvable(self, nodes: Nodes, signs: np.ndarray | None = None) -> np.ndarray:
        """Which weights of new nodes polishing may change, shape (k, d): of relevant inputs, and those they have.

        Of inputs with a sign, only those they have.
        """
        own = nodes.weights.T != 0.0
        if self._relevance is not None:
            relevant = self._relevance >= _RELEVANT
        else:
            relevant = np.full(own.shape[1], own.shape[1] <= MANY_INPUTS)
        return own | (relevant if signs is None else relevant & (signs == 0.0))

    def propose(self, rows: Rows, node: int, rng: np.random.Generator, count: int) -> Proposals:
        """The best node, or the best ``count`` together; if they are rejected, further candidates one by one.

        Each has the smallest contraction that it satisfies on all rows. With several outputs the best candidate often
        fails the inequality for one of them; then the next ones follow.
        """
        search = self._open(rows, rng, self.most_rows)
        for pool in range(1, 1 + max(1, _FEWEST_CANDIDATES // self.max_candidates)):
            accepted = yield from self._pool(search, rows, node, rng, count, pool * self.max_candidates)
            if accepted:
                return

    def _pool(
        self, search: Search, rows: Rows, node: int, rng: np.random.Generator, count: int, drawn: int
    ) -> Generator[Proposal, int, int]:
        """Propose candidates of one pool, the last of ``drawn`` ones; return how many were accepted."""
        candidates = draw_by_data(search.X, search.weights, self.scopes, self.max_candidates, rng, self._relevance)
        ranked = search.rank(Nodes(rows.layer, *candidates), rng)
        best_first = ranked.take(slice(max(_FINALISTS, _PER_NODE * count)))
        together = search.select(best_first, count, self.contractions[-1], node)
        if len(together) and self.polishes and search.layer.differentiable and search.total >= _ENOUGH_TO_POLISH:
            steps = _THOROUGH if count <= _SCHEDULE.least else _QUICK
            allowed = self._improvable(together, rows.signs)
            together = search.polish(together, steps, max(self.scopes), _MUCH_DAMPING, allowed)
            together = search.passing(together, self.contractions[-1], node)
        accepted = 0
        if len(together):
            accepted = yield Proposal(together, self.contractions, drawn)
            if accepted:
                return accepted
        for start in range(0, len(best_first), _BATCH):
            # With r = 1 the inequality excludes none of them: the remaining error may be on other rows than these.
            batch = search.select(best_first.take(slice(start, start + _BATCH)), _BATCH, 1.0, node)
            for j in range(len(batch)):
                accepted += yield Proposal(batch.take(slice(j, j + 1)), self.contractions, drawn)
        return accepted


class Polished(Pooled):
    """The best of one pool, polished."""

    polishes = True
    # Fewer rows for each weight do not suffice for polishing all nodes.
    rows_per_weight = _ROWS_PER_WEIGHT

    def degrees_per_node(self, n_features: int) -> float:
        """The weights of a polished node are fitted as well, but only for a few steps."""
        return 2.0 + min(n_features / 2, 4.0)

    def pace(self, layer: Layer, weight: float) -> StepSchedule:
        """Nodes are added one by one where they cannot be polished."""
        return _SCHEDULE if layer.differentiable and weight >= _ENOUGH_TO_POLISH else StepSchedule(1)

    def is_due(self, before: int, nodes: int, last: int, gain: float) -> bool:
        """Whether the network has grown enough, which is less where the last polishing was worth it."""
        size, factor = float(max(last, _FIRST)), _SMALL_FACTOR if gain >= _MUCH else _FACTOR
        while size <= before:
            size *= factor
        return size <= nodes

    def polish(self, rows: Rows, nodes: Nodes, factor: Factor, gain: float, rng: np.random.Generator) -> Nodes | None:
        """All nodes polished, block by block in a random order; None where they cannot be polished.

        Nodes first lose their weights of inputs that hardly matter to the network, unless these are most of what they
        have, and only weights of the other inputs are improved.
        """
        start, allowed = nodes, self._improvable(nodes, rows.signs)
        if self._relevance is not None:
            allowed = allowed & (self._relevance >= _RELEVANT)
            pruned = np.where(allowed.T, nodes.weights, 0.0)
            most = (pruned**2).sum(axis=0) >= 0.5 * (nodes.weights**2).sum(axis=0)
            start = replace(nodes, weights=np.where(most, pruned, nodes.weights))
        points = np.vstack([nodes.weights, nodes.biases])
        possible = int(rows.weight / (max(self.rows_per_weight, 1) * len(nodes))) - 1
        if gain >= _SOME and possible >= _FEWEST_WEIGHTS:
            allowed = largest(nodes.weights.T, allowed, possible)
        used, there = weights_to_improve(points.T, allowed)
        needed = self.rows_per_weight * int(np.count_nonzero(there))
        if not rows.layer.differentiable or rows.weight < max(_ENOUGH_TO_POLISH, needed):
            return None
        many = rows.n_rows > _MANY_ROWS
        search = self._open(rows, rng, max(_MORE_ROWS if many else _ROWS, needed))
        sweep = Sweep(search, factor)
        size = max(1, min(_BLOCK, _WEIGHTS // (1 + used.shape[1])))
        scope, curved = max(self.scopes), _MORE_CURVED if gain >= _MUCH else _CURVED
        for block in np.array_split(rng.permutation(len(nodes)), -(-len(nodes) // size)):
            sweep.leave(block)
            found = search.polish(start.take(block), _STEPS_PER_BLOCK, scope, _LITTLE_DAMPING, allowed[block], curved)
            # A node that would be active on too few rows stays as it is.
            *_, supported = search.new_parts(found)
            places = block[supported]
            points[:-1, places], points[-1, places] = found.weights[:, supported], found.biases[supported]
            found = replace(found, weights=points[:-1, block], biases=points[-1, block])
            if not sweep.join(found, block):
                # Polished, they would depend on the others.
                points[:-1, block], points[-1, block] = nodes.weights[:, block], nodes.biases[block]
                if not sweep.join(nodes.take(block), block):
                    return None
        found = replace(nodes, weights=points[:-1], biases=points[-1])
        return found if not many or _is_better(rows, found, factor, rng) else None


def _is_better(rows: Rows, found: Nodes, factor: Factor, rng: np.random.Generator) -> bool:
    """Whether other nodes in place of those of a network leave a clearly smaller error on a new sample of the rows.

    To let them join on all rows, and to return if they are refused there, takes much longer.
    """
    size, fixed = len(factor.triangle), factor.linear
    count = min(max(SAMPLE, _ROWS_TO_JUDGE * size), rows.n_rows)
    sample = rows.sample(rng.choice(rows.n_rows, count, replace=False))
    targets = sample.residual + sample.basis.T @ factor.coefficients
    hidden = rows.layer.hidden(rows.layer.features(sample.X), found)
    if sample.sqrt_weight is not None:
        hidden *= sample.sqrt_weight[:, np.newaxis]
    errors = []
    for columns in (sample.basis.T, np.hstack([sample.basis[:fixed].T, hidden])):
        basis = qr(columns, mode="economic")[0]
        errors.append(((targets - basis @ (basis.T @ targets)) ** 2).sum())
    return bool(errors[1] < (1.0 - _WORTHWHILE) * errors[0])


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
