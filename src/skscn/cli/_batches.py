"""Encoded rows of a table with the predictions of a model for them; recurrent networks go on from batch to batch."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skscn.cli._arriving import ArrivingSeries, SeriesPart, targets_of
from skscn.following import Begin, GroupRows, limits_of_stretches, predict_stretches, state_after
from skscn.recurrent import RecurrentSCNRegressor, ReservoirState
from skscn.tables import TableFile, Target
from skscn.words import quoted

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table, encoded; methods take which of them are wanted, as a mask."""

    estimator: Any
    X: np.ndarray
    table: pa.Table

    def predict(self, rows: Any = slice(None)) -> np.ndarray:
        """Predictions."""
        return np.asarray(self.estimator.predict(self.X[rows]))

    def predict_interval(self, coverage: float, rows: Any = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper limits."""
        lower, upper = self.estimator.predict_interval(self.X[rows], coverage=coverage)
        return lower, upper

    def predict_proba(self, rows: Any = slice(None)) -> np.ndarray:
        """The probabilities of classes."""
        return np.asarray(self.estimator.predict_proba(self.X[rows]))


@dataclass(frozen=True, eq=False)
class FollowingBatch(Batch):
    """Rows of a recurrent network, of one or several series, and the targets that become known after each of them."""

    y: np.ndarray | None = None
    parts: tuple[GroupRows, ...] = ()

    def predict(self, rows: Any = slice(None)) -> np.ndarray:
        return np.asarray(predict_stretches(self.estimator, self.X, self.y, self.parts)[rows])

    def predict_interval(self, coverage: float, rows: Any = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = limits_of_stretches(self.estimator, self.X, self.y, self.parts, coverage)
        return lower[rows], upper[rows]

    def state_after(self, part: GroupRows) -> ReservoirState:
        """The state after the rows of one of the series."""
        known = None if self.y is None else self.y[part.rows]
        return state_after(self.estimator, self.X[part.rows], known, part.state)


def check_one_sequence(estimator: RecurrentSCNRegressor, group: str | None) -> None:
    """Raise ValueError for a model of several sequences that were not told apart by a column."""
    if group is None and len(estimator.states_) > 1:
        raise ValueError(
            f"The model was fitted in Python on {len(estimator.states_)} sequences, and the program follows one; use "
            "it in Python with skscn.load_model, or fit with --group."
        )


class Following:
    """Gives the rows of a recurrent network their state: that at the end of training if they follow it, or a cold one.

    Parameters
    ----------
    estimator : RecurrentSCNRegressor
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
        estimator: RecurrentSCNRegressor,
        encoder: Any,
        clock: Any,
        target: Target | None,
        file: TableFile,
        remarks: list[str],
        group: str | None = None,
    ):
        check_one_sequence(estimator, group)
        lost = "the network starts from a cold state, and its first predictions are worse"
        about = encoder, clock, file, remarks, "a recurrent network", lost
        self._estimator, self._arriving = estimator, ArrivingSeries(*about, group, estimator.states_)
        # What came last of each series.
        self._before: dict[Hashable, tuple[FollowingBatch, GroupRows]] = {}
        self._target = target if estimator.feedback and target is not None and target.name in file.names else None
        if estimator.feedback:
            remarks.append(self._about_targets(file, target))

    def _about_targets(self, file: TableFile, target: Target | None) -> str:
        name = "the target" if target is None else quoted(target.name)
        if self._target is not None:
            return f"Values of {name} are read from {file.label}; each is an input of the next row."
        return (
            f"{file.label} does not contain {name}: predictions come back in its place (a free run), and errors grow "
            "with each row."
        )

    @property
    def types(self) -> dict[str, Any]:
        """The columns to read in addition to those that are encoded, and their types."""
        return {**self._arriving.types, **({} if self._target is None else {self._target.name: self._target.read_type})}

    def batch(self, X: np.ndarray, table: Any) -> FollowingBatch:
        """The rows that come next."""
        y = None if self._target is None else targets_of(self._target, table)
        arrived = self._arriving.parts(table)
        parts = tuple(GroupRows(part.label, part.rows, self._state_before(part)) for part in arrived)
        batch = FollowingBatch(self._estimator, X, table, y, parts)
        self._before |= {part.label: (batch, part) for part in parts}
        return batch

    def _state_before(self, arrived: SeriesPart) -> Begin:
        if arrived.anew:
            return None
        if arrived.label in self._before:
            batch, part = self._before[arrived.label]
            return batch.state_after(part)
        return "end" if arrived.label is None else self._estimator.states_[arrived.label]
