"""The name of :mod:`skscn.search` before version 0.3, for programs that import it."""

from skscn.search import (
    CONFIGURATIONS,
    Configuration,
    Free,
    Ladder,
    Polished,
    Pooled,
    Proposal,
    Quickprop,
    Renewal,
    StepSchedule,
    resolve_configuration,
)

Pace = StepSchedule

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
    "resolve_configuration",
]
