"""What has happened during a stream, and when and why."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np

EVENTS = np.dtype(
    [
        ("row", np.int64),
        ("event", "U8"),
        ("reason", "U9"),
        ("n_nodes", np.int64),
        ("error_before", np.float64),
        ("error_after", np.float64),
    ]
)
# Only the last of them are kept, so that memory stays bounded.
MOST_EVENTS = 1000


class EventLog:
    """The last events, oldest first.

    Parameters
    ----------
    events : iterable of tuples
        To begin with.
    """

    def __init__(self, events: Iterable[tuple[int, str, str, int, float, float]] = ()):
        self._events = deque(events, maxlen=MOST_EVENTS)

    def note(
        self, row: int, event: str, reason: str, n_nodes: int, before: float = np.nan, after: float = np.nan
    ) -> None:
        """Add an event."""
        self._events.append((row, event, reason, n_nodes, before, after))

    @property
    def table(self) -> np.ndarray:
        """As a structured array."""
        return np.array(list(self._events), dtype=EVENTS)
