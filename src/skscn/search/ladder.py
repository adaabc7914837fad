"""The paper's search (Algorithm SC-I, Phase 1): scope by scope, and its baseline of free random nodes.

Scopes increase; at each scope one pool of T_max candidates is drawn; on that pool the contractions increase. The first
contraction that accepts a candidate ends the search, with the candidate of the largest ξ: the order of the authors'
release. ``Renewal`` renews r at random instead, as step 15 of the pseudocode says; ``Free`` has no supervision.
"""

from collections.abc import Generator, Iterator
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from skscn.nodes import Layer, Nodes
from skscn.rows import Rows
from skscn.search.base import Configuration, Proposal, Proposals, draw
from skscn.supervision import Sums, admissible, alive, ranked, slack

# Candidates proposed for one node; the next ones follow if a guard rejects them all.
_SHORT_LIST = 4

# From this number of rows on, a pool is raced on samples of the rows, and its best candidates are ranked in single
# precision; with fewer, single precision only says which of them cannot be the best. Short lists are always verified in
# double precision.
_MANY_ROWS = 10_000


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
        for scope in scopes:
            pool, drawn = draw(rows, scope, self.max_candidates, rng), drawn + self.max_candidates
            if rows.n_rows < _MANY_ROWS:
                accepted += yield from self._admitted(rows, pool, np.float64, node, count, drawn, contractions)
                continue
            best = survivors(rows, pool, rng)
            precision = enough_precision(rows.layer)
            found = yield from self._admitted(rows, pool.take(best), precision, node, count, drawn, contractions)
            if not found and len(best) < len(pool):
                found = yield from self._admitted(rows, pool, precision, node, count, drawn, contractions)
            accepted += found
        return accepted

    def _admitted(
        self,
        rows: Rows,
        pool: Nodes,
        precision: type,
        node: int,
        count: int,
        drawn: int,
        contractions: tuple[float, ...] | None = None,
    ) -> Generator[Proposal, int, int]:
        """The admissible candidates of one pool, contraction by contraction; returns how many were accepted."""
        contractions = self.contractions if contractions is None else contractions
        accepted, size = 0, _SHORT_LIST * count
        scored = iter(self._scored(rows, pool, precision, node, count, contractions))
        pool, sums = next(scored)
        # Several nodes of one step may need different contractions.
        for allowed in [(r,) for r in contractions] if count == 1 else [contractions]:
            start, best_first = 0, _ranked(rows, pool, sums, allowed[-1], node)
            while start < len(best_first):
                accepted += yield Proposal(pool.take(best_first[start : start + size]), allowed, drawn)
                start += size
                if (more := next(scored, None)) is not None:
                    pool, sums = more
                    best_first = _ranked(rows, pool, sums, allowed[-1], node)
        return accepted

    def _scored(
        self, rows: Rows, pool: Nodes, precision: type, node: int, count: int, contractions: tuple[float, ...]
    ) -> Iterator[tuple[Nodes, Sums]]:
        """The candidates that may be on the first short list, with their sums; and if they are all refused, the pool.

        Where double precision is asked for, single precision finds the former: the first short list is the same.
        """
        screened = count == 1 and precision is np.float64
        if screened and enough_precision(rows.layer) is np.float32:
            few = pool.take(contenders(rows, pool, node, contractions, _SHORT_LIST))
            yield few, rows.sums(few)
        yield pool, rows.sums(pool, precision=precision)


def _ranked(rows: Rows, pool: Nodes, sums: Sums, contraction: float, node: int) -> np.ndarray:
    """The admissible candidates, largest ξ first."""
    slacks = slack(sums, rows.residual_squares, contraction, node, together=rows.together)
    return ranked(slacks, alive(sums, rows.weight, rows.scales(pool)))


# The paper's search (Algorithm SC-I, Phase 1) with step 15 of its pseudo code, which renews r at random.
#
# One contraction r serves the whole network. It starts at the first of ``contractions``; if no candidate passes, it is
# renewed to r + τ with τ uniform in (0, 1 − r), pools are drawn again, and the nodes that follow keep it.


class Renewal(Ladder):
    """Scopes λ in the inner loop; a contraction r that is renewed once all of them have failed.

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


# Free random nodes in one fixed scope, without supervision: the incremental RVFL network (Theorem 4).
#
# Li and Wang showed that such networks need not approximate at all, whatever their size; they are the paper's
# baseline.


class Free(Configuration):
    """One random node in the first of the scopes; with r = 1 the supervisory inequality always holds."""

    def propose(self, rows: Rows, node: int, rng: np.random.Generator, count: int) -> Proposals:
        """``count`` draws, then another set only if none of them could be used."""
        scope = self.scopes[0]
        for trial in range(1, self.max_candidates + 1):
            yield Proposal(draw(rows, scope, count, rng), (1.0,), trial * count)


# A race of candidates on a growing sample of the rows: those that fall behind are not scored on all rows.
#
# On n random rows the correlation of a candidate with the residual is known to about 1/√n. Each round drops the
# candidates that are behind the best by more than three times that, and the next round uses four times as many rows.
# So a candidate that is best on all rows is hardly ever dropped, and near the noise level none is. Nothing is accepted
# here.


# Rows of the first round, the factor by which they grow, and the limits of the last: a number or a share of all rows.
_FIRST, _FACTOR, _LAST, _SHARE = 4096, 4, 65536, 1 / 8
# How far behind, in units of 1/√n, is too far.
_BEHIND = 3.0


def survivors(rows: Rows, pool: Nodes, rng: np.random.Generator) -> np.ndarray:
    """The candidates worth scoring on all rows, in the order in which they were drawn."""
    running, size = np.arange(len(pool)), _FIRST
    while size <= min(_LAST, _SHARE * rows.n_rows) and len(running) > 1:
        numbers = rng.integers(0, rows.n_rows, size)
        correlations, counted = _correlations(rows, pool.take(running), numbers)
        running = running[correlations >= correlations.max() - _BEHIND / np.sqrt(counted)]
        size *= _FACTOR
    return running


def enough_precision(layer: Layer) -> type:
    """Single precision if the outputs of nodes are bounded and cannot overflow."""
    return np.float32 if np.isfinite(layer.bound) else np.float64


def _correlations(rows: Rows, nodes: Nodes, numbers: np.ndarray) -> tuple[np.ndarray, float]:
    """Correlation of each candidate with the residual on these rows: the root of Σ_q ⟨e_q, h⟩²/(‖h‖² Σ_q ‖e_q‖²).

    Also returned is the number of rows of equal weight that would be as informative as these.
    """
    found = rows.sampled_sums(numbers, nodes, precision=enough_precision(rows.layer))
    explained = (found.sums.projections**2).sum(axis=0)
    possible = found.sums.squares * found.residual_square
    correlations = np.sqrt(np.divide(explained, possible, out=np.zeros_like(explained), where=possible > 0.0))
    return correlations, found.weight**2 / found.square


# A pool of candidates in single precision: those that cannot be the best need no sums in double precision.
#
# The others lead to the same node as the whole pool, in half of the time where most pools have no admissible
# candidate.


# Errors of single precision in ⟨e, h⟩²/‖h‖², as a share of ‖e‖², and in ‖h‖² are below a twentieth of this.
_ROUNDING = 1e-5


def contenders(rows: Rows, pool: Nodes, node: int, contractions: tuple[float, ...], count: int) -> np.ndarray:
    """The candidates that may be among the ``count`` best with one of the contractions, in the order of the pool."""
    sums = rows.sums(pool, precision=np.float32)
    perhaps, surely = (
        alive(replace(sums, squares=factor * sums.squares), rows.weight, rows.scales(pool))
        for factor in (1.0 + _ROUNDING, 1.0 - _ROUNDING)
    )
    unit, chosen = _ROUNDING * rows.residual_squares.sum(), np.zeros(len(pool), dtype=bool)
    for r in contractions:
        slacks = slack(sums, rows.residual_squares, r, node, together=rows.together)
        gains, best = slacks.sum(axis=0), ranked(slacks - unit, surely)[:count]
        least = gains[best].min() - 2.0 * len(slacks) * unit if len(best) == count else -np.inf
        chosen |= perhaps & admissible(slacks + unit) & (gains >= least)
    return np.flatnonzero(chosen)
