"""Phase 1: searching for hidden parameters w, b; one file per strategy.

A strategy only proposes: short lists of candidates, the most promising list first. Whether a candidate enters the
network is decided by :mod:`skscn.growth`, on all rows, in the same way for every strategy.
"""

from skscn.search.base import CONFIGURATIONS, Configuration, Proposal, StepSchedule, resolve_configuration
from skscn.search.ladder import Free, Ladder, Renewal
from skscn.search.pool import Polished, Pooled
from skscn.search.quickprop import Quickprop

CONFIGURATIONS.update(ladder=Ladder, renewal=Renewal, pooled=Pooled, polished=Polished, free=Free, quickprop=Quickprop)

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
