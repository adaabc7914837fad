"""Sequences of rows in order of time: what is scored, and which rows come later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from skscn.recurrent.growing import Course
from skscn.recurrent.nodes import Segments, delay_line


@dataclass(frozen=True, eq=False)
class Sequences:
    """Scaled rows of one or several sequences, one after the other.

    Attributes
    ----------
    u : ndarray of shape (n, d)
        Inputs, with those that come back.
    targets : ndarray of shape (n, m)
        NaN where unknown.
    segments : sequence of slices
    washout : int
        The first rows of each sequence, which are not scored.
    fed_back : bool
        Whether the last m inputs are the targets of the row before.
    """

    u: np.ndarray
    targets: np.ndarray
    segments: Segments
    washout: int
    fed_back: bool = False

    def scored(self, begin: float = 0.0, end: float = 1.0) -> np.ndarray:
        """The scored rows between two shares of each sequence."""
        known = ~np.isnan(self.targets).any(axis=1)
        for segment in self.segments:
            length = segment.stop - segment.start
            first = segment.start + max(round(begin * length), self.washout)
            known[segment.start : first] = False
            known[segment.start + round(end * length) : segment.stop] = False
        return np.flatnonzero(known)

    def blocks(self, begin: float, count: int) -> list[np.ndarray]:
        """The scored rows after a share of each sequence, in blocks of time."""
        shares = np.linspace(begin, 1.0, count + 1)
        blocks = [self.scored(first, last) for first, last in pairwise(shares)]
        return [block for block in blocks if len(block)]

    def course(self, length: int, share: float = 1.0) -> Course:
        """What a reservoir with a delay line of this length is grown on: the first part of each sequence."""
        line = delay_line(self.u, self.segments, length)
        return Course(line, self.targets, self.scored(0.0, share), self.segments)

    def last(self, most: int) -> Sequences:
        """The last rows: at most ``most`` of one sequence, or as many whole sequences as that allows."""
        if len(self.u) <= most:
            return self
        room = most
        kept: list[slice] = []
        for segment in reversed(self.segments):
            start = max(segment.start, segment.stop - room)
            if start == segment.start or not kept:
                kept.append(slice(start, segment.stop))
            room -= segment.stop - start
            if room <= 0:
                break
        return self._only(kept[::-1])

    def _only(self, kept: Sequence[slice]) -> Sequences:
        rows = np.concatenate([np.arange(part.start, part.stop) for part in kept])
        ends = np.cumsum([part.stop - part.start for part in kept])
        segments = [slice(int(end) - (part.stop - part.start), int(end)) for part, end in zip(kept, ends, strict=True)]
        return Sequences(self.u[rows], self.targets[rows], segments, self.washout, self.fed_back)
