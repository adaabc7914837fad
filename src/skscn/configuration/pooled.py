"""One pool of candidates over all scopes, scored by what is new in them; the best of them polished.

The paper's score ⟨e, h⟩²/‖h‖² is the decrease of the squared error if only the new output weight is evaluated. If all
are, it decreases by ⟨e, v⟩²/‖v‖², with v the part of h orthogonal to the existing nodes (Chen, Billings and Luo,
1989): never less, and the score used here. Scopes are drawn log-uniformly, and the bias is placed so that the
node's transition passes through a random row. Candidates are screened, and polished by a few quasi-Newton steps, on a
sample of the rows; a node still has to pass the supervisory inequality on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skscn.configuration._base import Configuration, Proposal, Proposals
from skscn.configuration._search import SAMPLE, Pool, Search
from skscn.layers import Nodes
from skscn.rows import Rows
from skscn.scaling import weighted_quantiles
from skscn.supervision import admissible, slack

# Up to this number of rows, transitions are placed at quantiles of the rows along the direction, which depend neither
# on their order nor on whether a row is given twice or with weight 2; beyond, at a random row, which is cheaper.
_FEW_ROWS = 256
# Inputs of a sparse direction; half of the directions are dense.
_SPARSE = 3
# Number of candidates in one selection, for each node wanted.
_BATCH = 8
# With fewer rows, polishing would mainly fit noise.
_ENOUGH_TO_POLISH = 100
# A weak pull of polished weights towards 0, relative to the largest scope.
_PULL = 1e-4


class Pooled(Configuration):
    """The best of one pool, by the orthogonalised score."""

    scaling = "robust"
    direct_link = True
    early_stopping = True
    alpha = "gcv"
    bounded = True
    samples_rows = True
    # The most rows to search on.
    most_rows = SAMPLE
    # Candidates to polish for each node wanted, and how often their scores are evaluated.
    polished = 0
    evaluations = 0

    def propose(self, rows: Rows, node: int, rng: np.random.Generator, count: int) -> Proposals:
        """The best node, or the best ``count`` together; if they are rejected, further candidates one by one.

        Each has the smallest contraction that it satisfies on all rows. With several outputs the best candidate often
        fails the inequality for one of them; then the next ones follow.
        """
        if count > 1:
            accepted = yield self._block(*self._searched(rows, rng), count)
            if accepted:
                return
        yield from self._proposals(rows, *self._searched(rows, rng), node)

    def _searched(self, rows: Rows, rng: np.random.Generator) -> tuple[Search, Pool]:
        search = Search(rows, rng, most_rows=self.most_rows)
        drawn = draw_by_data(search.X, search.weights, self.scopes, self.max_candidates, rng)
        return search, Pool(search, rows.nodes(*drawn))

    def _block(self, search: Search, pool: Pool, count: int) -> Proposal:
        """The best node on the searched rows, the best given that one, and so on."""
        found = [pool.candidates.take(slice(0))]
        while len(found) <= count and (batch := next(self._batches(search, pool), None)) is not None:
            found.append(batch.take(slice(1)))
            residual = search.residual
            pool.take_out(search.take_in(found[-1]), residual)
        return self._proposal(Nodes.joined(found))

    def _proposals(self, rows: Rows, search: Search, pool: Pool, node: int) -> Proposals:
        """Candidates one by one, polished ones first."""
        for batch in self._batches(search, pool):
            for j in np.flatnonzero(self._is_hopeful(rows, batch, node)):
                yield self._proposal(batch.take(slice(j, j + 1)))

    def _batches(self, search: Search, pool: Pool) -> Iterator[Nodes]:
        """Candidates of the pool that add something new, some at a time: each selected given the ones before it."""
        best_first = pool.candidates.take(pool.ranked())
        can_polish = self.polished and search.layer.differentiable and search.total >= _ENOUGH_TO_POLISH
        for start in range(0, len(best_first), _BATCH):
            batch = best_first.take(slice(start, start + _BATCH))
            batch = batch.take(search.selected(batch))
            if start == 0 and can_polish:
                yield from _unless_empty(self._polished(search, batch, pool.smallest))
            yield from _unless_empty(batch)

    def _polished(self, search: Search, batch: Nodes, smallest: float) -> Nodes:
        """The first of a batch, after some quasi-Newton steps."""
        starts = batch.take(slice(self.polished))
        pull = _PULL / max(self.scopes) ** 2
        found = search.polished(starts, self.evaluations, pull, smallest)
        return found.take(search.selected(found))

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


def _unless_empty(candidates: Nodes) -> Iterator[Nodes]:
    if len(candidates):
        yield candidates


def draw_by_data(
    X: np.ndarray,
    weights_of_rows: np.ndarray | None,
    scopes: tuple[float, ...],
    count: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, biases and scopes of candidates whose transitions lie among the rows of X."""
    d = X.shape[1]
    drawn = np.exp(rng.uniform(np.log(min(scopes)), np.log(max(scopes)), count))
    sparse = rng.random(count) < 0.5
    active = rng.random((d, count)) < np.where(sparse, min(1.0, _SPARSE / d), 1.0)
    active[rng.integers(0, d, count), np.arange(count)] = True
    weights = rng.uniform(-1.0, 1.0, (d, count)) * active * drawn
    shares = rng.random(count)
    if (len(X) if weights_of_rows is None else np.rint(weights_of_rows.sum())) <= _FEW_ROWS:
        return weights, -weighted_quantiles(X @ weights, weights_of_rows, shares), drawn
    total = np.cumsum(np.ones(len(X)) if weights_of_rows is None else weights_of_rows)
    through = X[np.searchsorted(total, shares * total[-1])]
    return weights, -np.einsum("ij,ji->i", through, weights), drawn
