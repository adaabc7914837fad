"""Phase 1: searching hidden parameters w, b; one file a strategy.

A strategy only proposes: short lists of candidates, the most promising list first. Whether a candidate enters the
network is decided by :mod:`skscn.growth`, on all rows, for every strategy alike.
"""

from skscn.configuration._base import Configuration, Proposal
from skscn.configuration.free import Free
from skscn.configuration.ladder import Ladder
from skscn.configuration.polished import Polished
from skscn.configuration.pooled import Pooled
from skscn.configuration.quickprop import Quickprop

CONFIGURATIONS: dict[str, type[Configuration]] = {
    "ladder": Ladder,
    "pooled": Pooled,
    "polished": Polished,
    "free": Free,
    "quickprop": Quickprop,
}


def resolve_configuration(
    configuration: str | Configuration,
    *,
    scopes: tuple[float, ...],
    contractions: tuple[float, ...],
    max_candidates: int,
) -> Configuration:
    """The strategy that a registered name stands for, made with these settings; an instance is taken as it is."""
    if isinstance(configuration, str):
        return CONFIGURATIONS[configuration](scopes, contractions, max_candidates)
    return configuration


__all__ = [
    "CONFIGURATIONS",
    "Configuration",
    "Free",
    "Ladder",
    "Polished",
    "Pooled",
    "Proposal",
    "Quickprop",
    "resolve_configuration",
]
