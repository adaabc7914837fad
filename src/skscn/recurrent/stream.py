"""A reservoir that takes one row at a time, and learns its output weights on line."""

from __future__ import annotations

from collections import deque
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from skscn.recurrent.later import standardised
from skscn.recurrent.reservoir import Reservoir, ReservoirState

Learning: TypeAlias = Literal["projection", "rls"] | None
# The projection algorithm adds this to the squared length of a row of standardised columns.
_REST = 1.0
# Recursive least squares begins with a penalty of at least this per row, so that its covariance can be represented.
_SMALLEST_PENALTY = 1e-6
# ... and its trace grows at most by this factor.
_GROWTH = 10.0
# How many rows late a target may be.
LATEST = 1000


class RecurrentStream:
    """One row after the other: a fitted reservoir, its state, and output weights that follow the plant.

    Made by :meth:`RecurrentSCNRegressor.stream`, and restored from a file by :func:`~skscn.load_model`, with its state.

    Parameters
    ----------
    reservoir : Reservoir
    state : ReservoirState
        The state before the next row.
    learning : {"projection", "rls"} or None
        How :meth:`learn_one` changes the output weights: by the projection algorithm, in time O(L); by recursive least
        squares with forgetting, in O(L²); or not at all.
    rate : float
        The step of the projection algorithm, above 0 and below 2.
    forgetting : float
        The weight that recursive least squares leaves to earlier rows with each new one, above 0 and at most 1.
    """

    def __init__(
        self,
        reservoir: Reservoir,
        state: ReservoirState,
        learning: Learning = "projection",
        rate: float = 0.5,
        forgetting: float = 0.999,
    ):
        reservoir.check_state(state)
        _check_learning(learning, rate, forgetting)
        self.reservoir, self.learning, self.rate, self.forgetting = reservoir, learning, rate, forgetting
        self.output_weights = reservoir.output_weights.copy()
        self._nodes = reservoir.nodes
        self._products = np.flatnonzero(self._nodes.products)
        self._one, self._other = self._nodes.factors[:, self._products]
        self._standardise()
        self.covariance = self._initial_covariance() if learning == "rls" else None
        # Directions that no row excites would grow without limit.
        self._largest = 0.0 if self.covariance is None else _GROWTH * float(np.trace(self.covariance))
        self.restore(state)

    @classmethod
    def restored(
        cls,
        reservoir: Reservoir,
        state: ReservoirState,
        learning: Learning,
        rate: float,
        forgetting: float,
        output_weights: np.ndarray,
        covariance: np.ndarray | None,
        recent: np.ndarray,
    ) -> RecurrentStream:
        """A stream that goes on where another one was."""
        stream = cls(reservoir, state, learning, rate, forgetting)
        stream.output_weights, stream.covariance = output_weights, covariance
        stream._recent.extend(recent)
        return stream

    @property
    def n_features_in_(self) -> int:
        """How many inputs a row has."""
        return len(self.reservoir.inputs.offset)

    @property
    def recent(self) -> np.ndarray:
        """The columns [1, z, s] of the last rows, to which late targets may belong."""
        return np.array(self._recent).reshape(len(self._recent), len(self._columns))

    def restore(self, state: ReservoirState) -> None:
        """Go on from another state of this model; output weights stay as they are."""
        reservoir = self.reservoir
        reservoir.check_state(state)
        width = self._nodes.width
        # [1, z, s], and [z, s] within it.
        self._columns = np.ones(1 + width + reservoir.n_nodes)
        self._line, self._states = self._columns[1 : 1 + width], self._columns[1 + width :]
        self._started = state.line is not None
        if state.line is not None:
            self._line[: width - reservoir.n_driving] = state.line[::-1].ravel()
        self._states[:] = state.nodes
        self._output = state.output.copy()
        self._row: np.ndarray | None = None
        self._recent: deque[np.ndarray] = deque(maxlen=LATEST + 1)

    @property
    def state(self) -> ReservoirState:
        """The state after the last row."""
        reservoir = self.reservoir
        latest = self._line.reshape(reservoir.length + 1, -1)[: reservoir.length][::-1].copy()
        return ReservoirState(
            latest if self._started else None, self._states.copy(), self._output.copy(), reservoir.origin
        )

    def predict_one(self, x: ArrayLike | None = None) -> float | np.ndarray:
        """Advance by one row and predict its target.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            None in models without inputs other than those that come back.

        Returns
        -------
        y : float, or ndarray of shape (n_outputs,)
        """
        row = self._checked(x)
        outputs = self._step(row)
        self._row = row
        return self._shaped(outputs)

    def learn_one(self, x: ArrayLike | None, y: ArrayLike, delay: int = 0) -> None:
        """Learn from a target.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            The present row. If it is the one that :meth:`predict_one` was last called with, and has not been learnt
            from, the state stays; otherwise it advances by this row first.
        y : float, or array-like of shape (n_outputs,)
            A target; NaN if it is not known, in which case only the state advances.
        delay : int, default=0
            How many rows before the present one the target belongs to.
        """
        row, target = self._checked(x), self._target(y)
        if self._row is None or not np.array_equal(self._row, row):
            self._step(row)
        self._row = None
        if not 0 <= delay < len(self._recent):
            raise ValueError(
                f"delay={delay} refers to a row that this stream does not have; it has had {len(self._recent)} rows, "
                f"and remembers at most {LATEST + 1}."
            )
        if np.isnan(target).any():
            return
        if delay == 0:
            self._output = target
        columns = self._recent[-1 - delay]
        error = target - columns @ self.output_weights
        if self.learning == "projection":
            self._project(columns, error)
        elif self.learning == "rls":
            self._least_squares(columns, error)

    def _step(self, row: np.ndarray) -> np.ndarray:
        """Advance by one scaled row; scaled outputs."""
        nodes, line, states = self._nodes, self._line, self._states
        u = np.concatenate([row, self._output]) if self.reservoir.fed_back else row
        d = len(u)
        if self._started:
            line[d:] = line[:-d]
            line[:d] = u
        else:
            line.reshape(-1, d)[:] = u
            self._started = True
        drive: np.ndarray = line @ nodes.weights
        drive += nodes.biases
        drive += (states[nodes.sources] * nodes.source_weights).sum(axis=0)
        drive += nodes.feedback * states
        np.tanh(drive, out=drive)
        if len(self._products):
            known = self._columns[1:]
            drive[self._products] = known[self._one] * known[self._other]
        states[:] = drive
        self._recent.append(self._columns.copy())
        outputs: np.ndarray = self._columns @ self.output_weights
        if self.reservoir.fed_back and not self.reservoir.holds:
            self._output = self.reservoir.fed(outputs)
        return outputs

    def _checked(self, x: ArrayLike | None) -> np.ndarray:
        scaling = self.reservoir.inputs
        row = np.asarray(() if x is None else x, dtype=np.float64).reshape(-1)
        if len(row) != self.n_features_in_:
            raise ValueError(f"A row of this model has {self.n_features_in_} features; this one has {len(row)}.")
        if not np.isfinite(row).all():
            raise ValueError(
                "A row has missing or infinite values; fill them in first, for example with the last ones."
            )
        scaled: np.ndarray = ((row - scaling.offset) / scaling.scale).clip(scaling.low, scaling.high)
        return scaled

    def _target(self, y: ArrayLike) -> np.ndarray:
        scaling = self.reservoir.outputs
        target = np.asarray(y, dtype=np.float64).reshape(-1)
        if len(target) != len(scaling.offset):
            raise ValueError(f"A target of this model has {len(scaling.offset)} outputs; this one has {len(target)}.")
        scaled: np.ndarray = (target - scaling.offset) / scaling.scale
        return scaled

    def _shaped(self, outputs: np.ndarray) -> float | np.ndarray:
        scaling = self.reservoir.outputs
        predictions: np.ndarray = outputs * scaling.scale + scaling.offset
        return float(predictions[0]) if self.reservoir.single_output else predictions

    def _standardise(self) -> None:
        """Means and units of the columns that have output weights, on the training rows."""
        factor = self.reservoir.factor
        self._kept = self.reservoir.kept
        self._means = factor.triangle[0] / factor.triangle[0, 0]
        self._means[0] = 0.0
        self._units = standardised(factor)[1]

    def _initial_covariance(self) -> np.ndarray:
        """The inverse of XᵀX + αI for standardised columns X, with the weight of as many rows as are remembered."""
        factor = self.reservoir.factor
        triangle = standardised(factor)[0].triangle[1:, 1:]
        penalty = max(self.reservoir.alpha, _SMALLEST_PENALTY) * factor.weight
        covariance = np.zeros((len(self._kept), len(self._kept)))
        covariance[0, 0] = 1.0 / factor.weight
        covariance[1:, 1:] = np.linalg.inv(triangle.T @ triangle + penalty * np.eye(len(triangle)))
        remembered = 1.0 / max(1.0 - self.forgetting, 1.0 / factor.weight)
        return covariance * max(factor.weight / remembered, 1.0)

    def _change(self, change: np.ndarray) -> None:
        """Add a change of the weights of standardised columns, shape (k, m)."""
        change = change / self._units[:, np.newaxis]
        change[0] -= self._means @ change
        self.output_weights[self._kept] += change

    def _project(self, columns: np.ndarray, error: np.ndarray) -> None:
        h = (columns[self._kept] - self._means) / self._units
        self._change(np.outer(h, self.rate * error / (_REST + h @ h)))

    def _least_squares(self, columns: np.ndarray, error: np.ndarray) -> None:
        assert self.covariance is not None
        h = (columns[self._kept] - self._means) / self._units
        spread = self.covariance @ h
        gain = spread / (self.forgetting + h @ spread)
        self._change(np.outer(gain, error))
        self.covariance = (self.covariance - np.outer(gain, spread)) / self.forgetting
        if np.trace(self.covariance) > self._largest:
            self.covariance *= self.forgetting


def _check_learning(learning: Learning, rate: float, forgetting: float) -> None:
    if learning not in ("projection", "rls", None):
        raise ValueError(f'learning must be "projection", "rls" or None; got {learning!r}.')
    if not 0.0 < rate < 2.0:
        raise ValueError(f"rate must be above 0 and below 2; got {rate}.")
    if not 0.0 < forgetting <= 1.0:
        raise ValueError(f"forgetting must be above 0 and at most 1; got {forgetting}.")
