"""Phase 1: searching for hidden parameters w, b; one file per strategy.

A strategy only proposes: short lists of candidates, the most promising list first. Whether a candidate enters the
network is decided by :mod:`skscn.growth`, on all rows, in the same way for every strategy.
"""

from skscn.search.base import Configuration, Proposal, StepSchedule
from skscn.search.ladder import Free, Ladder, Renewal
from skscn.search.pool import Polished, Pooled
from skscn.search.quickprop import Quickprop

CONFIGURATIONS: dict[str, type[Configuration]] = {
    "ladder": Ladder,
    "renewal": Renewal,
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
    """The strategy with this registered name, created with these settings; an instance is used as it is."""
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
    "Renewal",
    "StepSchedule",
    "resolve_configuration",
]
