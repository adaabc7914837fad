"""Encoded rows of a table with the predictions of a model for them; recurrent networks go on from batch to batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skscn.cli._arriving import ArrivingRows, targets_of
from skscn.following import Begin, limits_of_rows, predict_rows, state_after
from skscn.recurrent import RecurrentSCNRegressor
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
    """Rows of a recurrent network: the state before them, and the targets that become known after each of them."""

    y: np.ndarray | None = None
    state: Begin = None

    def predict(self, rows: Any = slice(None)) -> np.ndarray:
        return np.asarray(predict_rows(self.estimator, self.X, self.y, self.state)[rows])

    def predict_interval(self, coverage: float, rows: Any = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = limits_of_rows(self.estimator, self.X, self.y, self.state, coverage)
        return lower[rows], upper[rows]


def check_one_sequence(estimator: RecurrentSCNRegressor) -> None:
    """Raise ValueError for a model of several sequences, which the program cannot tell apart."""
    if len(estimator.states_) > 1:
        raise ValueError(
            f"The model was fitted in Python on {len(estimator.states_)} sequences, and the program follows one; use "
            "it in Python with skscn.load_model."
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
    """

    def __init__(
        self,
        estimator: RecurrentSCNRegressor,
        encoder: Any,
        clock: Any,
        target: Target | None,
        file: TableFile,
        remarks: list[str],
    ):
        check_one_sequence(estimator)
        lost = "the network starts from a cold state, and its first predictions are worse"
        self._arriving = ArrivingRows(encoder, clock, file, remarks, "a recurrent network", lost)
        self._estimator = estimator
        self._before: FollowingBatch | None = None
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
        state = self._state_before(table)
        y = None if self._target is None else targets_of(self._target, table)
        self._before = FollowingBatch(self._estimator, X, table, y, state)
        return self._before

    def _state_before(self, table: Any) -> Begin:
        if self._arriving.begin_anew(table):
            return None
        before = self._before
        return "end" if before is None else state_after(self._estimator, before.X, before.y, before.state)
