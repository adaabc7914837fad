"""Rows for a model with lags: the earlier values that come with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from skscn.cli._arriving import ArrivingSeries, targets_of
from skscn.series import Lags
from skscn.tables import TableFile, Target
from skscn.words import count, quoted


class Continuing:
    """Adds earlier values to encoded rows, which come some at a time and in order of time.

    Parameters
    ----------
    lags : Lags
        It moves on with the rows.
    encoder : TableEncoder or NumericColumns
    clock : dict or None
        When training ended, as ``fit`` wrote it down.
    target : Target or None
    file : TableFile
        The rows that will come.
    remarks : list of str
        What there is to say is added to it.
    group : str or None
        The column that says which of several series a row belongs to.
    """

    def __init__(
        self,
        lags: Lags,
        encoder: Any,
        clock: Any,
        target: Target | None,
        file: TableFile,
        remarks: list[str],
        group: str | None,
    ):
        lost = f"earlier values of the first {count(lags.depth_, 'row')} are not known, and their predictions are worse"
        about = encoder, clock, file, remarks, "a model with lags", lost if lags.depth_ else ""
        self._lags, self._arriving = lags, ArrivingSeries(*about, group, lags.groups_ or ())
        self._target = target if lags.target is not None and target is not None else None
        if lags.target is not None:
            remarks.append(self._about_targets(file))

    def _about_targets(self, file: TableFile) -> str:
        name = "the target" if self._target is None else quoted(self._target.name)
        if self._target is not None and self._target.name in file.names:
            late = count(self._lags.delay_ or 1, "row")
            return f"Earlier values of {name} are read from {file.label}; each is used from {late} later on."
        self._target = None
        return f"{file.label} does not contain {name}: its earlier values are those known at the end of training."

    @property
    def types(self) -> dict[str, Any]:
        """The columns to read in addition to those that are encoded, and their types."""
        return {**self._arriving.types, **({} if self._target is None else {self._target.name: self._target.read_type})}

    def extended(self, X: np.ndarray, table: Any) -> np.ndarray:
        """Encoded rows with earlier values."""
        anew = [part.label for part in self._arriving.parts(table) if part.anew]
        if anew:
            self._lags.restart(None if anew == [None] else anew)
        targets = None if self._target is None else targets_of(self._target, table)
        groups = self._arriving.labels(table)
        result = self._lags.transform(X, groups=groups, targets=targets)
        self._lags.advance(X, groups=groups, targets=targets)
        return result
