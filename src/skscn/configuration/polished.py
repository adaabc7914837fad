"""The pooled search with its best candidates polished by quasi-Newton steps on the same score."""

from skscn.configuration.pooled import Pooled


class Polished(Pooled):
    """The best of one pool, polished."""

    polished = 3
    evaluations = 8

    def degrees_per_node(self, n_features: int) -> float:
        """The weights of a polished node are fitted as well, but only for a few steps."""
        return 2.0 + min(n_features / 2, 4.0)
