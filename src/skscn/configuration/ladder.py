"""The paper's search (Algorithm SC-I, Phase 1), in the order of its authors' release.

Scopes rise; at each scope one pool of T_max candidates is drawn; over that pool the contractions rise. The first
contraction that accepts a candidate ends the search, with the candidate of the largest ξ.
"""

from collections.abc import Iterator

import numpy as np

from skscn.configuration._base import Configuration, Proposal, draw
from skscn.configuration._race import enough_precision, survivors
from skscn.rows import Rows
from skscn.supervision import alive, ranked, slack

# Candidates handed on for one node; the next ones follow if a guard refuses them all.
_SHORT_LIST = 4

# From here on a pool is raced on samples of the rows, and its best candidates are screened in single precision; short
# lists are verified in double precision in any case.
_MANY_ROWS = 10_000


class Ladder(Configuration):
    """Scopes λ in the outer loop, contractions r in the inner loop."""

    def propose(self, rows: Rows, node: int, rng: np.random.Generator, count: int) -> Iterator[Proposal]:
        """The admissible candidates of each scope and contraction, largest ξ first."""
        for level, scope in enumerate(self.scopes, start=1):
            weights, biases = draw(rows.n_features, scope, self.max_candidates, rng)
            drawn = level * self.max_candidates
            if rows.n_rows < _MANY_ROWS:
                yield from self._admitted(rows, weights, biases, np.float64, scope, node, count, drawn)
                continue
            best = survivors(rows, weights, biases, rng)
            before, precision = rows.residual_squares, enough_precision(rows.activation)
            yield from self._admitted(rows, weights[:, best], biases[best], precision, scope, node, count, drawn)
            if rows.residual_squares is before and len(best) < len(biases):
                yield from self._admitted(rows, weights, biases, precision, scope, node, count, drawn)

    def _admitted(
        self,
        rows: Rows,
        weights: np.ndarray,
        biases: np.ndarray,
        precision: type,
        scope: float,
        node: int,
        count: int,
        drawn: int,
    ) -> Iterator[Proposal]:
        """Of one pool the admissible candidates, contraction by contraction."""
        sums = rows.sums(weights, biases, precision=precision)
        usable = alive(sums, rows.weight, rows.activation.bound)
        # Several nodes of one step may need different contractions.
        for contractions in [(r,) for r in self.contractions] if count == 1 else [self.contractions]:
            best_first = ranked(slack(sums, rows.residual_squares, contractions[-1], node), usable)
            for start in range(0, len(best_first), _SHORT_LIST * count):
                short = best_first[start : start + _SHORT_LIST * count]
                scopes = np.full(len(short), scope)
                yield Proposal(weights[:, short], biases[short], scopes, contractions, drawn)
