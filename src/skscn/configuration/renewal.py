"""The paper's search (Algorithm SC-I, Phase 1) with step 15 of its pseudo code, which renews r at random.

One contraction r serves the whole network. It starts at the first of ``contractions``; if no candidate passes, it is
renewed to r + τ with τ uniform in (0, 1 − r), pools are drawn again, and the nodes that follow keep it.
"""

from typing import Any

import numpy as np

from skscn.configuration._base import Proposals
from skscn.configuration.ladder import Ladder
from skscn.rows import Rows


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

    def __init__(self, *settings: Any, as_printed: bool = False):
        super().__init__(*settings)
        self.as_printed = as_printed

    def propose(self, rows: Rows, node: int, rng: np.random.Generator, count: int) -> Proposals:
        """The admissible candidates of each scope, largest ξ first; if none is accepted, again with a renewed r."""
        first, last = self.contractions[0], self.contractions[-1]
        r, drawn = min(max(rows.contraction, first), last), 0
        scopes = self.scopes[:1] if self.as_printed else self.scopes
        while not (yield from self._climb(rows, node, rng, count, scopes, (r,), drawn)) and r < last:
            drawn += len(scopes) * self.max_candidates
            r = min(r + rng.uniform(0.0, 1.0 - r), last)
