"""The paper's search (Algorithm SC-I, Phase 1): scope by scope, and its baseline of free random nodes.

Scopes increase; at each scope one pool of T_max candidates is drawn; on that pool the contractions increase. The first
contraction that accepts a candidate ends the search, with the candidate of the largest ξ: the order of the authors'
release. ``Renewal`` renews r at random instead, as step 15 of the pseudocode says; ``Free`` has no supervision.
"""

from collections.abc import Generator
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from skscn.nodes import Layer, Nodes
from skscn.rows import Rows
from skscn.search.base import Configuration, Proposal, Proposals, draw
from skscn.supervision import Sums, admissible, alive, ranked

# Candidates proposed for one node; the next ones follow if a guard rejects them all.
_SHORT_LIST = 4

# From this number of rows on, a pool is raced on samples of the rows, and its best candidates are ranked in single
# precision; with fewer, single precision only says which of them cannot be the best. Short lists are always verified in
# double precision.
_MANY_ROWS = 10_000
# Rows of the first round of a race, the factor by which they grow, and the limits of the last: a number or a share of
# all rows.
_FIRST, _FACTOR, _LAST, _SHARE = 4096, 4, 65536, 1 / 8
# How far behind, in units of 1/√n, is too far.
_BEHIND = 3.0
# Errors of single precision in ⟨e, h⟩²/‖h‖², as a share of ‖e‖², and in ‖h‖² are below a twentieth of this.
_ROUNDING = 1e-5


class Ladder(Configuration):
    """Scopes λ in the outer loop, contractions r in the inner loop."""

    def propose(self, rows: Rows, node: int, rng: np.random.Generator, count: int) -> Proposals:
        """The admissible candidates of each scope and contraction, largest ξ first."""
        yield from self._climb(rows, node, rng, count, self.scopes, self.contractions)

    def _climb(
        self,
        rows: Rows,
        node: int,
        rng: np.random.Generator,
        count: int,
        scopes: tuple[float, ...],
        contractions: tuple[float, ...],
        drawn: int = 0,
    ) -> Generator[Proposal, int, int]:
        """One pool for each scope, after ``drawn`` candidates; returns how many were accepted."""
        accepted = 0
        precision = np.float64 if rows.n_rows < _MANY_ROWS else enough_precision(rows.layer)
        for scope in scopes:
            pool, drawn = draw(rows, scope, self.max_candidates, rng), drawn + self.max_candidates
            pools = [pool]
            if rows.n_rows >= _MANY_ROWS:
                best = survivors(rows, pool, rng)
                pools = [pool.take(best), pool] if len(best) < len(pool) else [pool]
            for candidates in pools:
                found = yield from self._propose_from(rows, candidates, node, count, drawn, contractions, precision)
                accepted += found
                if found:
                    break
        return accepted

    def _propose_from(
        self,
        rows: Rows,
        pool: Nodes,
        node: int,
        count: int,
        drawn: int,
        contractions: tuple[float, ...],
        precision: type = np.float64,
    ) -> Generator[Proposal, int, int]:
        """The admissible candidates of one pool, contraction by contraction; returns how many were accepted."""
        accepted, size, some = 0, _SHORT_LIST * count, pool
        # Where double precision is asked for, single precision finds those that may be on the first short list.
        screened = count == 1 and precision is np.float64 and enough_precision(rows.layer) is np.float32
        if screened:
            some = pool.take(contenders(rows, pool, node, contractions, _SHORT_LIST))
        sums = rows.sums(some, precision=precision)
        # Several nodes of one step may need different contractions.
        for allowed in [(r,) for r in contractions] if count == 1 else [contractions]:
            start, best_first = 0, _ranked(rows, some, sums, allowed[-1], node)
            while start < len(best_first):
                accepted += yield Proposal(some.take(best_first[start : start + size]), allowed, drawn)
                start += size
                if screened:
                    # They are all refused: now the whole pool, whose first short list is the same.
                    screened, some, sums = False, pool, rows.sums(pool, precision=precision)
                    best_first = _ranked(rows, some, sums, allowed[-1], node)
        return accepted


def _ranked(rows: Rows, pool: Nodes, sums: Sums, contraction: float, node: int) -> np.ndarray:
    """The admissible candidates, largest ξ first."""
    slacks = rows.inequality.slack(sums, rows.residual_squares, contraction, node)
    return ranked(slacks, alive(sums, rows.weight, rows.scales(pool)))


class Renewal(Ladder):
    """Scopes λ in the inner loop; a contraction r that is renewed once all of them have failed.

    One contraction r serves the whole network. It starts at the first of ``contractions``; if no candidate passes, it
    is renewed to r + τ with τ uniform in (0, 1 − r), as in step 15 of the paper's pseudocode, pools are drawn again,
    and the nodes that follow keep it.

    Parameters
    ----------
    scopes, contractions, max_candidates
        As for every strategy. Of the contractions only the ends matter: r starts at the first, and a search that fails
        with the last ends growth.
    as_printed : bool
        Renew r as soon as the first scope has failed, and draw from it again: step 15 says "return to Step 4", which
        is inside the loop over the scopes. As r approaches 1, a candidate of the first scope passes sooner or later,
        so the other scopes are never used.
    """

    _contraction = 0.0

    def __init__(self, *settings: Any, as_printed: bool = False):
        super().__init__(*settings)
        self.as_printed = as_printed

    def informed(self, contraction: float, relevance: np.ndarray | None) -> Self:
        """Begin with the contraction of the last node."""
        search = copy(self)
        search._contraction = contraction
        return search

    def propose(self, rows: Rows, node: int, rng: np.random.Generator, count: int) -> Proposals:
        """The admissible candidates of each scope, largest ξ first; if none is accepted, again with a renewed r."""
        first, last = self.contractions[0], self.contractions[-1]
        r, drawn = min(max(self._contraction, first), last), 0
        scopes = self.scopes[:1] if self.as_printed else self.scopes
        while not (yield from self._climb(rows, node, rng, count, scopes, (r,), drawn)) and r < last:
            drawn += len(scopes) * self.max_candidates
            r = min(r + rng.uniform(0.0, 1.0 - r), last)


class Free(Configuration):
    """Random nodes in the first of the scopes, without supervision: with r = 1 the inequality always holds.

    This is the incremental RVFL network (Theorem 4), the paper's baseline. Li and Wang showed that such networks need
    not approximate at all, whatever their size.
    """

    def propose(self, rows: Rows, node: int, rng: np.random.Generator, count: int) -> Proposals:
        """``count`` draws, then another set only if none of them could be used."""
        scope = self.scopes[0]
        for trial in range(1, self.max_candidates + 1):
            yield Proposal(draw(rows, scope, count, rng), (1.0,), trial * count)


def enough_precision(layer: Layer) -> type:
    """Single precision if the outputs of nodes are bounded and cannot overflow."""
    return np.float32 if np.isfinite(layer.bound) else np.float64


def survivors(rows: Rows, pool: Nodes, rng: np.random.Generator) -> np.ndarray:
    """The candidates worth scoring on all rows, in the order in which they were drawn: a race on growing samples.

    On n random rows the correlation of a candidate with the residual is known to about 1/√n. Each round drops the
    candidates that are behind the best by more than three times that, and the next round uses four times as many rows.
    So a candidate that is best on all rows is hardly ever dropped, and near the noise level none is.
    """
    running, size = np.arange(len(pool)), _FIRST
    while size <= min(_LAST, _SHARE * rows.n_rows) and len(running) > 1:
        numbers = rng.integers(0, rows.n_rows, size)
        found = rows.sampled_sums(numbers, pool.take(running), precision=enough_precision(rows.layer))
        # The root of Σ_q ⟨e_q, h⟩²/(‖h‖² Σ_q ‖e_q‖²).
        explained = (found.sums.projections**2).sum(axis=0)
        possible = found.sums.squares * found.residual_square
        correlations = np.sqrt(np.divide(explained, possible, out=np.zeros_like(explained), where=possible > 0.0))
        # The number of rows of equal weight that would be as informative as these.
        counted = found.weight**2 / found.square
        running = running[correlations >= correlations.max() - _BEHIND / np.sqrt(counted)]
        size *= _FACTOR
    return running


def contenders(rows: Rows, pool: Nodes, node: int, contractions: tuple[float, ...], count: int) -> np.ndarray:
    """The candidates that may be among the ``count`` best with one of the contractions, in the order of the pool.

    Single precision is enough to exclude the others. The contenders lead to the same node as the whole pool, in half
    of the time where most pools have no admissible candidate.
    """
    sums = rows.sums(pool, precision=np.float32)
    scales = rows.scales(pool)
    perhaps, surely = (
        alive(replace(sums, squares=factor * sums.squares), rows.weight, scales)
        for factor in (1.0 + _ROUNDING, 1.0 - _ROUNDING)
    )
    unit, chosen = _ROUNDING * rows.residual_squares.sum(), np.zeros(len(pool), dtype=bool)
    for r in contractions:
        slacks = rows.inequality.slack(sums, rows.residual_squares, r, node)
        gains, best = slacks.sum(axis=0), ranked(slacks - unit, surely)[:count]
        least = gains[best].min() - 2.0 * len(slacks) * unit if len(best) == count else -np.inf
        chosen |= perhaps & admissible(slacks + unit) & (gains >= least)
    return np.flatnonzero(chosen)
