"""A reservoir that takes one row at a time, and learns on line."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from skscn.adaptive_intervals import AdaptiveWidth
from skscn.checks import refuse_masked
from skscn.plausibility import RECENT, TargetGate
from skscn.recurrent.learners import Learning, LearntWeights, Standard, check_learning
from skscn.recurrent.nodes import step
from skscn.recurrent.reservoir import Reservoir, ReservoirState

# How many rows late a target may be.
LATEST = 1000


@dataclass(frozen=True, eq=False)
class PastRow:
    """A row whose target may still come.

    Attributes
    ----------
    columns : ndarray of shape (q,)
        [1, z, s].
    parts : ndarray of shape (parts, m)
        What each part of the learner predicted.
    outputs : ndarray of shape (m,)
        What was predicted, scaled.
    width : ndarray of shape (m,)
        Half the width of its interval, scaled.
    """

    columns: np.ndarray
    parts: np.ndarray
    outputs: np.ndarray
    width: np.ndarray


@dataclass(frozen=True, eq=False)
class PastRows:
    """The same of several rows, the latest last, each attribute with one more axis in front."""

    columns: np.ndarray
    parts: np.ndarray
    outputs: np.ndarray
    width: np.ndarray

    def each(self) -> list[PastRow]:
        """One by one."""
        return [PastRow(*row) for row in zip(self.columns, self.parts, self.outputs, self.width, strict=True)]


class RecurrentStream:
    """One row after the other: a fitted reservoir, its state, and output weights that follow the plant.

    Made by :meth:`RecurrentSCNRegressor.stream`, and restored from a file by :func:`~skscn.load_model`, with its state.

    Parameters
    ----------
    reservoir : Reservoir
    state : ReservoirState
        The state before the next row.
    learning : {"blend", "projection", "rls"} or None
        How :meth:`learn_one` changes predictions. "projection" changes the output weights by the projection algorithm,
        in time O(L), "rls" by recursive least squares with forgetting, in O(L²). "blend" does both, lets offsets follow
        the errors of each as well as those of the trained weights, and averages all of these and the latest known
        target by how well they have predicted recently. None changes nothing.
    rate : float
        The step of the projection algorithm, above 0 and below 2.
    forgetting : float
        The weight that recursive least squares leaves to earlier rows with each new one, above 0 and at most 1.
    coverage : float
        The share of targets that :meth:`interval` is to contain.
    errors : array-like of shape (n, n_outputs), default=None
        Absolute errors of scaled outputs, from which the width of intervals begins; None for an infinite one.
    """

    def __init__(
        self,
        reservoir: Reservoir,
        state: ReservoirState,
        learning: Learning = "blend",
        rate: float = 0.5,
        forgetting: float = 0.99,
        coverage: float = 0.9,
        errors: ArrayLike | None = None,
    ):
        reservoir.check_state(state)
        check_learning(learning, rate, forgetting)
        self.reservoir, self.learning, self.rate, self.forgetting = reservoir, learning, rate, forgetting
        first = np.ones((RECENT, reservoir.n_outputs)) if errors is None else np.asarray(errors)
        # The gate, and the bounds of predictions, know scaled targets.
        self._open_with(TargetGate(*reservoir.target_range, first[:: max(1, len(first) // RECENT)]))
        self.adaptive = AdaptiveWidth(coverage, np.empty((0, reservoir.n_outputs)) if errors is None else errors)
        self._width = self.adaptive.width
        self.learnt = LearntWeights.beginning(reservoir, learning, forgetting)
        self._standard = None if learning is None else Standard(reservoir)
        self.restore(state)

    @classmethod
    def restored(
        cls,
        reservoir: Reservoir,
        state: ReservoirState,
        learning: Learning,
        rate: float,
        forgetting: float,
        adaptive: AdaptiveWidth,
        learnt: LearntWeights,
        recent: PastRows,
        gate: TargetGate | None = None,
    ) -> RecurrentStream:
        """A stream that goes on where another one was."""
        stream = cls(reservoir, state, learning, rate, forgetting)
        learnt.check(stream.learnt)
        stream.learnt = learnt
        stream.adaptive, stream._width = adaptive, adaptive.width
        stream._recent.extend(recent.each())
        if gate is not None:
            if len(gate.low) != reservoir.n_outputs:
                raise ValueError("The range of the targets of a stream does not fit its outputs.")
            stream._open_with(gate)
        return stream

    @property
    def n_set_aside(self) -> int:
        """How many targets were not learnt, because they are not plausible."""
        return self.gate.set_aside

    def _open_with(self, gate: TargetGate) -> None:
        """Use a gate, and what follows from it: predictions are kept between bounds that follow learnt targets."""
        self.gate, self._bounds = gate, (self.reservoir.low, self.reservoir.high)
        if self.learning is not None:
            beyond = 0.5 * (gate.high - gate.low)
            self._bounds = gate.low - beyond, gate.high + beyond

    @property
    def n_features_in_(self) -> int:
        """How many inputs a row has."""
        return len(self.reservoir.inputs.offset)

    @property
    def recent(self) -> PastRows:
        """The last rows, to which late targets may belong."""
        rows, m = list(self._recent), len(self._output)
        shapes = ((len(self._columns),), (self.learnt.n_parts, m), (m,), (m,))
        return PastRows(
            *(
                np.array([getattr(row, field.name) for row in rows]).reshape(len(rows), *shape)
                for field, shape in zip(fields(PastRow), shapes, strict=True)
            )
        )

    def restore(self, state: ReservoirState) -> None:
        """Go on from another state of this model; what has been learnt stays as it is."""
        reservoir = self.reservoir
        reservoir.check_state(state)
        width = reservoir.nodes.width
        # [1, z, s], and [z, s] within it.
        self._columns = np.ones(1 + width + reservoir.n_nodes)
        self._line, self._states = self._columns[1 : 1 + width], self._columns[1 + width :]
        self._started = state.line is not None
        if state.line is not None:
            self._line[: width - reservoir.n_driving] = state.line[::-1].ravel()
        self._states[:] = state.nodes
        self._output = state.output.copy()
        self._row: np.ndarray | None = None
        self._recent: deque[PastRow] = deque(maxlen=LATEST + 1)

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
            None in models without inputs other than those that come back. NaN and infinities are missing values, in
            place of which the values of the row before are used.

        Returns
        -------
        y : float, or ndarray of shape (n_outputs,)
        """
        row = self._checked(x)
        outputs = self._advance(row)
        self._row = row
        return self._shaped(outputs)

    def interval(self) -> tuple[float | np.ndarray, float | np.ndarray]:
        """The lower and upper limit of an interval for the target of the row that was predicted last.

        Its width follows the errors of targets that have been learnt, late ones too: it grows with each target outside
        its interval and shrinks a little with each one inside (adaptive conformal inference), so that in the long run
        the share ``coverage`` of the learnt targets is inside, whatever the plant does. Without further targets the
        width stays as it is, and nothing is known about its coverage once the plant drifts.
        """
        if not self._recent:
            raise ValueError("An interval needs a row; call predict_one first.")
        row = self._recent[-1]
        return self._shaped(row.outputs - row.width), self._shaped(row.outputs + row.width)

    def learn_one(self, x: ArrayLike | None, y: ArrayLike, delay: int = 0) -> None:
        """Learn from a target.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            The present row. If it is the one that :meth:`predict_one` was last called with, and has not been learnt
            from, the state stays; otherwise it advances by this row first.
        y : float, or array-like of shape (n_outputs,)
            A target; NaN if it is not known, in which case only the state advances. So it does if the target is set
            aside: far outside the range of earlier ones, with an error far larger than recent ones. If such targets go
            on, it was a change, and they are learnt; see ``n_set_aside``.
        delay : int, default=0
            How many rows before the present one the target belongs to.
        """
        present, target = self._checked(x), self._target(y)
        if self._row is None or not np.array_equal(self._row, present):
            self._advance(present)
        self._row = None
        if not 0 <= delay < len(self._recent):
            raise ValueError(
                f"delay={delay} refers to a row that this stream does not have; it has had {len(self._recent)} rows, "
                f"and remembers at most {LATEST + 1}."
            )
        self._learn(target, delay)

    def learn_late(self, y: ArrayLike, delay: int) -> bool:
        """Learn a target of an earlier row without a new one; whether the row is still remembered.

        Parameters
        ----------
        y : float, or array-like of shape (n_outputs,)
        delay : int
            How many rows before the last one the target belongs to.
        """
        if not 0 <= delay < len(self._recent):
            return False
        self._learn(self._target(y), delay)
        return True

    def _learn(self, target: np.ndarray, delay: int) -> None:
        """Learn a scaled target of the row ``delay`` rows before the last one, if it is known and plausible."""
        if np.isnan(target).any():
            return
        row = self._recent[-1 - delay]
        if not self.gate.admits(target, row.outputs):
            return
        if delay == 0:
            self._output = self.reservoir.clip_outputs(target)
        self._open_with(self.gate)
        if self._standard is not None:
            self.learnt.learn(
                row.columns,
                row.parts,
                target,
                delay,
                standard=self._standard,
                learning=self.learning,
                rate=self.rate,
            )
        self.adaptive.hit(np.abs(target - row.outputs), row.width)
        self._width = self.adaptive.width

    def _advance(self, row: np.ndarray) -> np.ndarray:
        """Advance by one scaled row; scaled outputs."""
        line, states = self._line, self._states
        u = np.concatenate([row, self._output]) if self.reservoir.fed_back else row
        d = len(u)
        if self._started:
            line[d:] = line[:-d]
            line[:d] = u
        else:
            line.reshape(-1, d)[:] = u
            self._started = True
        nodes = self.reservoir.nodes
        states[:] = step(nodes, line @ nodes.weights + nodes.biases, line, states)
        columns = self._columns.copy()
        parts = self.learnt.parts(columns)
        low, high = self._bounds
        combined = self.learnt.combined(parts)
        outputs: np.ndarray = np.minimum(np.maximum(combined, low), high)
        self._recent.append(PastRow(columns, parts, outputs, self._width))
        if self.reservoir.fed_back and not self.reservoir.holds:
            self._output = self.reservoir.clip_outputs(combined)
        return outputs

    def _checked(self, x: ArrayLike | None) -> np.ndarray:
        refuse_masked(X=x)
        scaling = self.reservoir.inputs
        row = np.asarray(() if x is None else x, dtype=np.float64).reshape(-1)
        if len(row) != self.n_features_in_:
            raise ValueError(f"A row of this model has {self.n_features_in_} features; this one has {len(row)}.")
        scaled: np.ndarray = (row - scaling.offset) / scaling.scale
        # np.clip takes twice as long.
        np.maximum(scaled, scaling.low, out=scaled)
        np.minimum(scaled, scaling.high, out=scaled)
        if self.reservoir.input_limits is not None:
            np.maximum(scaled, self.reservoir.input_limits[0], out=scaled)
            np.minimum(scaled, self.reservoir.input_limits[1], out=scaled)
        if not np.isfinite(row).all():
            # Of an input that is missing, the value in the row before; 0, which is usual, in the first one.
            before = self._line[: len(row)] if self._started else np.zeros(len(row))
            scaled = np.where(np.isfinite(row), scaled, before)
        return scaled

    def _target(self, y: ArrayLike) -> np.ndarray:
        refuse_masked(y=y)
        scaling = self.reservoir.outputs
        target = np.asarray(y, dtype=np.float64).reshape(-1)
        if len(target) != len(scaling.offset):
            raise ValueError(f"A target of this model has {len(scaling.offset)} outputs; this one has {len(target)}.")
        # Targets near the ends of float64 may overflow here, and are then set aside.
        with np.errstate(over="ignore"):
            scaled: np.ndarray = (target - scaling.offset) / scaling.scale
        return scaled

    def _shaped(self, outputs: np.ndarray) -> float | np.ndarray:
        scaling = self.reservoir.outputs
        predictions: np.ndarray = outputs * scaling.scale + scaling.offset
        return float(predictions[0]) if self.reservoir.single_output else predictions
