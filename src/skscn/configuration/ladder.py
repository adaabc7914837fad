"""The paper's search (Algorithm SC-I, Phase 1), in the order of its authors' release.

Scopes increase; at each scope one pool of T_max candidates is drawn; on that pool the contractions increase. The first
contraction that accepts a candidate ends the search, with the candidate of the largest ξ.
"""

from collections.abc import Generator

import numpy as np

from skscn.configuration._base import Configuration, Proposal, Proposals, draw
from skscn.configuration._race import enough_precision, survivors
from skscn.layers import Nodes
from skscn.rows import Rows
from skscn.supervision import alive, ranked, slack

# Candidates proposed for one node; the next ones follow if a guard rejects them all.
_SHORT_LIST = 4

# From this number of rows on, a pool is raced on samples of the rows, and its best candidates are screened in single
# precision; short lists are always verified in double precision.
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
            # Single rows tell nothing where a column depends on the rows before.
            if rows.n_rows < _MANY_ROWS or rows.layer.carries:
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
        sums, accepted = rows.sums(pool, precision=precision), 0
        usable = alive(sums, rows.weight, rows.layer.bound)
        # Several nodes of one step may need different contractions.
        for allowed in [(r,) for r in contractions] if count == 1 else [contractions]:
            slacks = slack(sums, rows.residual_squares, allowed[-1], node, together=rows.together)
            best_first = ranked(slacks, usable)
            for start in range(0, len(best_first), _SHORT_LIST * count):
                short = best_first[start : start + _SHORT_LIST * count]
                accepted += yield Proposal(pool.take(short), allowed, drawn)
        return accepted
