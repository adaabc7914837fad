"""Free random nodes in one fixed scope, without supervision: the incremental RVFL network (Theorem 4).

Li and Wang showed that such networks need not approximate at all, whatever their size; they are the paper's baseline.
"""

from collections.abc import Iterator

import numpy as np

from skscn.configuration._base import Configuration, Proposal, draw
from skscn.rows import Rows


class Free(Configuration):
    """One random node in the first of the scopes; with r = 1 the supervisory inequality always holds."""

    def propose(self, rows: Rows, node: int, rng: np.random.Generator, count: int) -> Iterator[Proposal]:
        """``count`` draws, then another set only if none of them could be used."""
        scope = self.scopes[0]
        for trial in range(1, self.max_candidates + 1):
            yield Proposal(*draw(rows.n_features, scope, count, rng), np.full(count, scope), (1.0,), trial * count)
