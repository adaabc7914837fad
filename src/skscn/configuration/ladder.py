"""The paper's search (Algorithm SC-I, Phase 1), in the order of its authors' release.

Scopes increase; at each scope one pool of T_max candidates is drawn; on that pool the contractions increase. The first
contraction that accepts a candidate ends the search, with the candidate of the largest ξ.
"""

from collections.abc import Generator, Iterator

import numpy as np

from skscn.configuration._base import Configuration, Proposal, Proposals, draw
from skscn.configuration._race import enough_precision, survivors
from skscn.configuration._screening import contenders
from skscn.layers import Nodes
from skscn.rows import Rows
from skscn.supervision import Sums, alive, ranked, slack

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
        accepted, size = 0, _SHORT_LIST * count
        scored = iter(self._scored(rows, pool, precision, node, count, contractions))
        pool, sums = next(scored)
        # Several nodes of one step may need different contractions.
        for allowed in [(r,) for r in contractions] if count == 1 else [contractions]:
            start, best_first = 0, _ranked(rows, sums, allowed[-1], node)
            while start < len(best_first):
                accepted += yield Proposal(pool.take(best_first[start : start + size]), allowed, drawn)
                start += size
                if (more := next(scored, None)) is not None:
                    pool, sums = more
                    best_first = _ranked(rows, sums, allowed[-1], node)
        return accepted

    def _scored(
        self, rows: Rows, pool: Nodes, precision: type, node: int, count: int, contractions: tuple[float, ...]
    ) -> Iterator[tuple[Nodes, Sums]]:
        """The candidates that may be on the first short list, with their sums; and if they are all refused, the pool.

        Where double precision is asked for, single precision finds the former: the first short list is the same.
        """
        screened = count == 1 and precision is np.float64 and not rows.layer.carries
        if screened and enough_precision(rows.layer) is np.float32:
            few = pool.take(contenders(rows, pool, node, contractions, _SHORT_LIST))
            yield few, rows.sums(few)
        yield pool, rows.sums(pool, precision=precision)


def _ranked(rows: Rows, sums: Sums, contraction: float, node: int) -> np.ndarray:
    """The admissible candidates, largest ξ first."""
    slacks = slack(sums, rows.residual_squares, contraction, node, together=rows.together)
    return ranked(slacks, alive(sums, rows.weight, rows.layer.bound))
