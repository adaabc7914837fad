"""Earlier values as one array that passes from row to row: the state of exported models with lags."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from skscn.series._lags import Lags
from skscn.series._terms import LagTerm, SeriesEnd


class LagLine:
    """What fitted lags need of earlier rows, and where it is in a state of ``size`` numbers, NaN where not known.

    The first ``n_inputs`` numbers are earlier values of inputs, those of one column after the other and the latest
    first. Targets follow: those of the last ``delay`` rows, and ``held`` ones of the rows before them, where a missing
    one has the value known before it.

    With each row comes the target of the row ``delay`` rows before, if it is known by then.

    Attributes
    ----------
    sources : ndarray of shape (n_known,)
        The input of each known value: of each column with lags the present value, and the earlier ones.
    earlier : ndarray of shape (n_known,)
        Where the value is in the state; -1 for a present one. A value that is not known yet is the present one.
    kept : ndarray of shape (n_inputs,)
        The known values that the next state has.
    """

    def __init__(self, lags: Lags):
        self.lags, self.width = lags, int(lags.n_features_in_)
        self.inputs = [term for term in lags._terms if not term.of_target]
        self.targets = [term for term in lags._terms if term.of_target]
        depths: dict[int, int] = {}
        for term in self.inputs:
            depths[term.column] = max(depths.get(term.column, 1), term.reach)
        self._starts: dict[int, int] = {}
        sources, earlier, kept = list[int](), list[int](), list[int]()
        for column, depth in depths.items():
            start, before = len(sources), len(kept)
            self._starts[column] = start
            sources += [column] * (depth + 1)
            earlier += [-1, *range(before, before + depth)]
            kept += range(start, start + depth)
        self.sources, self.earlier, self.kept = (np.array(some, dtype=np.int64) for some in (sources, earlier, kept))
        self.n_inputs, self.n_targets = len(kept), len(lags._target_names) if self.targets else 0
        self.delay = int(lags.delay_ or 0) if self.targets else 0
        self.held = max((term.rows - self.delay + 1 for term in self.targets), default=0)

    @property
    def size(self) -> int:
        """The length of a state."""
        return self.n_inputs + (self.delay + self.held) * self.n_targets

    @property
    def means(self) -> np.ndarray:
        """What each term of the target is before the first target is known."""
        assert self.lags._target_means is not None, "earlier targets have a mean"
        return np.asarray(self.lags._target_means[[term.column for term in self.targets]])

    def places(self, terms: list[LagTerm]) -> np.ndarray:
        """The columns that terms are in a row with all added columns."""
        return np.array([self.width + self.lags._terms.index(term) for term in terms], dtype=np.int64)

    def span(self, term: LagTerm) -> tuple[int, int]:
        """The first of the known values that a term of an input is the mean of, and their number."""
        start = self._starts[term.column]
        return (start, term.rows) if term.is_mean else (start + term.rows, 1)

    @cached_property
    def ends(self) -> dict[Any, np.ndarray]:
        """The states at the end of training, by the labels of the series; None is that of the only one."""
        return {label: self._flat(self.lags._end_of(label)) for label in self.lags._ends}

    @property
    def cold(self) -> np.ndarray:
        """The state before the first row of a series."""
        return np.full(self.size, np.nan)

    def _flat(self, end: SeriesEnd) -> np.ndarray:
        state, known = self.cold, len(end.inputs)
        if not known:
            return state
        for column in self._starts:
            places = self.earlier[self.sources == column][1:]
            # Before the first known row, inputs were what they are in it.
            state[places] = end.inputs[::-1][np.minimum(np.arange(len(places)), known - 1), column]
        told = end.targets[::-1][: self.delay + self.held].ravel() if self.targets else np.empty(0)
        state[self.n_inputs : self.n_inputs + len(told)] = told
        return state
