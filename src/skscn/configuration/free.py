"""Free random nodes in one fixed scope, without supervision: the incremental RVFL network (Theorem 4).

Li and Wang showed that such networks need not approximate at all, whatever their size; they are the paper's baseline.
"""

import numpy as np

from skscn.configuration._base import Configuration, Proposal, Proposals, draw
from skscn.rows import Rows


class Free(Configuration):
    """One random node in the first of the scopes; with r = 1 the supervisory inequality always holds."""

    def propose(self, rows: Rows, node: int, rng: np.random.Generator, count: int) -> Proposals:
        """``count`` draws, then another set only if none of them could be used."""
        scope = self.scopes[0]
        for trial in range(1, self.max_candidates + 1):
            yield Proposal(draw(rows, scope, count, rng), (1.0,), trial * count)
