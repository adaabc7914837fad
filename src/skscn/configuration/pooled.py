"""One pool of candidates over all scopes, scored by what is new in them.

The paper's score ⟨e, h⟩²/‖h‖² is the decrease of the squared error if only the new output weight is evaluated. If all
are, it decreases by ⟨e, v⟩²/‖v‖², with v the part of h orthogonal to the existing nodes (Chen, Billings and Luo,
1989): never less, and the score used here. Scopes are drawn log-uniformly, and the bias is placed so that the
node's transition passes through a random row. Candidates are screened on a sample of the rows; a node still has to pass
the supervisory inequality on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skscn.configuration._base import Configuration, Proposal, Proposals
from skscn.configuration._search import SAMPLE, Search
from skscn.layers import Nodes
from skscn.rows import Rows
from skscn.scaling import weighted_quantiles
from skscn.supervision import admissible, slack

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
    samples_rows = True
    guided = True
    # The most rows to search on.
    most_rows = SAMPLE

    def propose(self, rows: Rows, node: int, rng: np.random.Generator, count: int) -> Proposals:
        """The best node, or the best ``count`` together; if they are rejected, further candidates one by one.

        Each has the smallest contraction that it satisfies on all rows. With several outputs the best candidate often
        fails the inequality for one of them; then the next ones follow.
        """
        search = Search(rows, rng, most_rows=self.most_rows)
        drawn = draw_by_data(search.X, search.weights, self.scopes, self.max_candidates, rng, rows.relevance)
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
