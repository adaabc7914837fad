"""Sequences of rows in order of time: scaled, with the outputs that come back; which of them are scored, and later."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np

from skscn.factor import Factor
from skscn.fit.data import fingerprint
from skscn.recurrent.inputs import Given
from skscn.recurrent.nodes import RecurrentNodes, Segments, delay_line
from skscn.recurrent.reservoir import Reservoir, held, limits
from skscn.scaling import Scaling, scale_inputs

# The first part of time, on which networks are grown to be judged, and in how many blocks the rest is.
SHARE, BLOCKS = 0.7, 3
# The washout if it is not given: this many rows, or a quarter of the shortest sequence.
_WASHOUT = 100
# Scored rows that a fit needs: for growth, and for the blocks of later rows that judge it.
_FEWEST = 6
# Inputs are kept within their range in training and this share of it on both sides.
_BEYOND = 0.25


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

    def delay_line(self, length: int) -> np.ndarray:
        """z of all rows."""
        return delay_line(self.u, self.segments, length)

    @cached_property
    def outputs(self) -> np.ndarray:
        """The known output of each row, or the last one known before; only where outputs come back."""
        m = self.targets.shape[1]
        outputs = np.empty_like(self.targets)
        outputs[:-1] = self.u[1:, -m:]
        for segment in self.segments:
            last = self.targets[segment.stop - 1]
            outputs[segment.stop - 1] = np.where(np.isnan(last), self.u[segment.stop - 1, -m:], last)
        return outputs

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
        kept = kept[::-1]
        rows = np.concatenate([np.arange(part.start, part.stop) for part in kept])
        ends = np.cumsum([part.stop - part.start for part in kept])
        segments = [slice(int(end) - (part.stop - part.start), int(end)) for part, end in zip(kept, ends, strict=True)]
        return replace(self, u=self.u[rows], targets=self.targets[rows], segments=segments)


@dataclass(frozen=True, eq=False)
class Prepared:
    """The rows of a fit.

    Attributes
    ----------
    rows : Given
        As they were given.
    inputs, outputs : Scaling
    sequences : Sequences
        Scaled.
    """

    rows: Given
    inputs: Scaling
    outputs: Scaling
    sequences: Sequences

    @classmethod
    def of(cls, rows: Given, *, feedback: bool, washout: int | Literal["auto"]) -> Prepared:
        """Scale rows; ValueError if there are too few."""
        assert rows.y is not None
        shortest = min(segment.stop - segment.start for segment in rows.segments)
        skipped = min(_WASHOUT, shortest // 4) if washout == "auto" else int(washout)
        _check_each(rows, rows.y, skipped)
        inputs, unit = _input_scaling(rows.X), _power_of_two(rows.y)
        mean, deviation = (unit * moment(rows.y / unit, axis=0) for moment in (np.nanmean, np.nanstd))
        outputs = Scaling.centred(mean, np.where(deviation > 0.0, deviation, 1.0))
        u, targets = inputs.transform(rows.X), (rows.y - outputs.offset) / outputs.scale
        if feedback:
            # The target of the row before, or the last one known; 0, the mean, before the first.
            first = np.zeros(targets.shape[1])
            came = [held(np.vstack([first, targets[segment][:-1]])) for segment in rows.segments]
            u = np.hstack([u, np.vstack(came)])
        sequences = Sequences(u, targets, rows.segments, skipped, bool(feedback))
        judged, grown, scored = sequences.blocks(SHARE, BLOCKS), sequences.scored(0.0, SHARE), len(sequences.scored())
        if scored < _FEWEST or not judged or len(grown) < _FEWEST // 2:
            raise ValueError(
                f"n_samples={len(u)} with {scored} known targets after the washout is too few; at least {_FEWEST} are "
                "needed, in the first and in the last part of time."
            )
        return cls(rows, inputs, outputs, sequences)

    @property
    def unit(self) -> float:
        """How large a scaled error of 1 is; errors of several outputs, which may have different units, stay scaled."""
        return float(self.outputs.scale[0]) if len(self.outputs.scale) == 1 else 1.0

    def reservoir(
        self,
        length: int,
        nodes: RecurrentNodes,
        output_weights: np.ndarray,
        kept: np.ndarray,
        factor: Factor,
        alpha: float,
    ) -> Reservoir:
        """A trained reservoir for such rows."""
        targets, x = self.sequences.targets, self.sequences.u[:, : len(self.inputs.offset)]
        low, high = x.min(axis=0), x.max(axis=0)
        beyond = _BEYOND * (high - low)
        return Reservoir(
            self.inputs,
            self.outputs,
            length,
            self.sequences.fed_back,
            bool(np.isnan(targets).any()),
            nodes,
            output_weights,
            *limits(targets),
            kept,
            factor,
            alpha,
            self.rows.single_output,
            input_limits=np.stack([low - beyond, high + beyond]),
        )

    def fingerprint(self) -> str:
        """The same for the same rows."""
        rows = self.rows
        lengths = [segment.stop - segment.start for segment in rows.segments]
        groups = np.repeat(np.arange(len(lengths)), lengths)[:, np.newaxis]
        return f"{rows.X.shape} {fingerprint(0, rows.X, rows.y, groups).tolist()} {rows.labels[:10]}"


def _check_each(rows: Given, y: np.ndarray, washout: int) -> None:
    for label, segment in zip(rows.labels, rows.segments, strict=True):
        length = segment.stop - segment.start
        if length <= washout:
            raise ValueError(
                f"Sequence {label!r} has {length} rows, not more than washout={washout}; use a smaller one."
            )
        if np.isnan(y[segment]).any(axis=1).all():
            raise ValueError(f"Sequence {label!r} has no row with a known target.")


def _input_scaling(X: np.ndarray) -> Scaling:
    """To mean 0 and standard deviation 1."""
    if not X.shape[1]:
        return Scaling.centred(np.zeros(0), np.ones(0))
    unit = _power_of_two(X)
    scaling = scale_inputs("standard", X / unit)
    assert isinstance(scaling, Scaling)
    return replace(scaling, offset=unit * scaling.offset, scale=unit * scaling.scale)


def _power_of_two(values: np.ndarray) -> np.ndarray:
    """The size of each column, so that squares are finite; dividing by it changes no digit."""
    _, exponent = np.frexp(np.nanmax(np.abs(values), axis=0))
    return np.asarray(np.ldexp(1.0, exponent))
