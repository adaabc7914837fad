"""The trained reservoir: frozen arrays and a state that passes through it, row by row."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from skscn.factor import Factor
from skscn.recurrent.nodes import LARGEST_FEEDBACK, RecurrentNodes, all_states, delay_line
from skscn.scaling import Scaling


@dataclass(frozen=True, eq=False)
class ReservoirState:
    """What a reservoir remembers between two rows.

    Attributes
    ----------
    line : ndarray of shape (length, d) or None
        The scaled inputs of the last rows, the latest last; None before the first row.
    nodes : ndarray of shape (L,)
        The states of the nodes.
    output : ndarray of shape (m,)
        The last output, scaled, which is an input of the next row in models with feedback.
    origin : str
        Identifies the reservoir that it belongs to.
    """

    line: np.ndarray | None
    nodes: np.ndarray
    output: np.ndarray
    origin: str


@dataclass(frozen=True, eq=False)
class Reservoir:
    """f(n) = c + Aᵀz(n) + Σ_j β_j s_j(n), between a scaling of the inputs and one of the outputs.

    Attributes
    ----------
    inputs, outputs : Scaling
        How x and f are scaled.
    length : int
        How many earlier rows the delay line z(n) = [u(n), u(n − 1), …] has.
    fed_back : bool
        Whether the output of the row before is an input: u(n) = [x(n), y(n − 1)].
    holds : bool
        Whether an output that is not known leaves the last known one in its place; otherwise it is predicted.
    nodes : RecurrentNodes
    output_weights : ndarray of shape (1 + p + L, m)
        c, A and β.
    low, high : ndarray of shape (m,)
        Limits between which scaled outputs are kept, also when they come back as inputs: half the range of the targets
        beyond it.
    kept : ndarray of shape (k,)
        The columns of [1, z, s] that do not depend on those before; the others have output weights 0.
    factor : Factor or None
        Of these columns: what further rows can join to evaluate the output weights again; None if a file left it out.
    alpha : float
        α, the ridge penalty for each row, of columns with variance 1.
    single_output : bool
        Whether predictions are one-dimensional, as the training target was.
    input_limits : ndarray of shape (2, d) or None
        Limits between which scaled inputs are kept; None in files of earlier versions.
    """

    inputs: Scaling
    outputs: Scaling
    length: int
    fed_back: bool
    holds: bool
    nodes: RecurrentNodes
    output_weights: np.ndarray
    low: np.ndarray
    high: np.ndarray
    kept: np.ndarray
    factor: Factor | None
    alpha: float
    single_output: bool
    input_limits: np.ndarray | None = None

    @property
    def n_features(self) -> int:
        """The number of inputs, without those that come back."""
        return len(self.inputs.offset)

    @property
    def n_outputs(self) -> int:
        """m, the number of outputs."""
        return len(self.outputs.offset)

    @property
    def n_nodes(self) -> int:
        """L, the number of nodes."""
        return len(self.nodes)

    @property
    def n_driving(self) -> int:
        """d, the number of inputs together with those that come back."""
        return self.n_features + self.n_outputs * self.fed_back

    @property
    def target_range(self) -> tuple[np.ndarray, np.ndarray]:
        """The range of the scaled targets."""
        quarter = 0.25 * (self.high - self.low)
        return self.low + quarter, self.high - quarter

    @property
    def joinable(self) -> Factor:
        """The factor; ValueError without one."""
        if self.factor is None:
            raise ValueError(
                "This model does not contain what further rows could join: it was saved with updatable=False. It "
                "predicts, forecasts and has stream(learning=None); to let it learn, fit it once more."
            )
        return self.factor

    @property
    def echo_state_bound(self) -> float:
        """The largest feedback of a node to itself; below 1 the reservoir has the echo state property."""
        return float(np.abs(self.nodes.feedback).max(initial=0.0))

    @cached_property
    def origin(self) -> str:
        """Identifies the reservoir by its nodes and scalings."""
        digest = hashlib.sha256(str((self.length, self.fed_back)).encode())
        names = ("weights", "biases", "feedback", "sources", "source_weights", "factors", "scopes")
        for array in (*(getattr(self.nodes, name) for name in names), self.inputs.offset, self.outputs.offset):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        """The fields; values derived from them are not stored."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def cold_state(self) -> ReservoirState:
        """Before the first row of a sequence."""
        return ReservoirState(None, np.zeros(self.n_nodes), np.zeros(self.n_outputs), self.origin)

    def check_state(self, state: ReservoirState) -> None:
        """Raise ValueError for a state of another model."""
        if state.origin != self.origin:
            raise ValueError("The state belongs to another model; use a state of this one, or none for a cold start.")

    def columns(
        self, X: np.ndarray, known: np.ndarray | None = None, state: ReservoirState | None = None
    ) -> tuple[np.ndarray, ReservoirState]:
        """[1, z, s] for the rows of one sequence, and the state after them.

        ``known`` are the scaled outputs (n, m), NaN where unknown, of models with feedback.
        """
        state = self.cold_state() if state is None else state
        x = self.scale_inputs(X)
        if not self.fed_back:
            return self._columns_of(x, state)
        if known is not None and (self.holds or not np.isnan(known[:-1]).any()):
            came = held(np.vstack([state.output, known]))
            H, after = self._columns_of(np.hstack([x, came[:-1]]), state)
            output = came[-1]
            if not self.holds and np.isnan(known[-1]).any():
                output = np.where(np.isnan(known[-1]), self.clip_outputs(H[-1] @ self.output_weights), known[-1])
            return H, replace(after, output=output)
        return self._row_by_row(x, np.full((len(X), self.n_outputs), np.nan) if known is None else known, state)

    def _columns_of(self, u: np.ndarray, state: ReservoirState) -> tuple[np.ndarray, ReservoirState]:
        z = delay_line(u, [slice(0, len(u))], self.length, state.line)
        states = all_states(z, self.nodes, state.nodes)
        latest = z[-1].reshape(self.length + 1, -1)[: self.length][::-1].copy()
        return (
            np.hstack([np.ones((len(u), 1)), z, states]),
            ReservoirState(latest, states[-1].copy(), state.output, self.origin),
        )

    def _row_by_row(self, x: np.ndarray, known: np.ndarray, state: ReservoirState) -> tuple[np.ndarray, ReservoirState]:
        columns = np.empty((len(x), len(self.output_weights)))
        for n, (row, output) in enumerate(zip(x, known, strict=True)):
            columns[n : n + 1], state = self._columns_of(np.concatenate([row, state.output])[np.newaxis], state)
            own = state.output if self.holds else self.clip_outputs(columns[n] @ self.output_weights)
            state = replace(state, output=np.where(np.isnan(output), own, output))
        return columns, state

    def scale_inputs(self, X: np.ndarray) -> np.ndarray:
        """Inputs scaled, and kept within their limits."""
        x = self.inputs.transform(X)
        return x if self.input_limits is None else x.clip(*self.input_limits)

    def widen(self, y: np.ndarray) -> Reservoir:
        """The reservoir with limits of outputs that suit further targets (n, m) as well, NaN where unknown."""
        targets = np.vstack([*self.target_range, self.outputs.transform(y)])
        low, high = limits(targets)
        # As they were, unless a target lies outside: rounding must not change them.
        wider = np.nanmax(targets[2:], axis=0, initial=-np.inf) > targets[1]
        lower = np.nanmin(targets[2:], axis=0, initial=np.inf) < targets[0]
        changed = wider | lower
        return replace(self, low=np.where(changed, low, self.low), high=np.where(changed, high, self.high))

    def clip_outputs(self, outputs: np.ndarray) -> np.ndarray:
        """Scaled outputs within their limits, as they are predicted and come back."""
        return outputs.clip(self.low, self.high)

    def shaped(self, outputs: np.ndarray) -> np.ndarray:
        """Scaled outputs (n, m) as predictions."""
        predictions = self.outputs.inverse_transform(outputs)
        return predictions[..., 0] if self.single_output else predictions

    def has_echo_state(self) -> bool:
        """Whether the nodes satisfy the condition, as all accepted ones do."""
        return self.echo_state_bound <= LARGEST_FEEDBACK and self.nodes.is_triangular()


def limits(targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Limits of outputs: half the range of the targets beyond it."""
    low, high = np.nanmin(targets, axis=0), np.nanmax(targets, axis=0)
    return low - 0.5 * (high - low), high + 0.5 * (high - low)


def held(values: np.ndarray) -> np.ndarray:
    """Each missing value replaced by the last one before it in its column; 0 where there is none."""
    known = ~np.isnan(values)
    places = np.maximum.accumulate(np.where(known, np.arange(len(values))[:, np.newaxis], -1), axis=0)
    filled = np.take_along_axis(values, np.maximum(places, 0), axis=0)
    return np.where(places >= 0, filled, 0.0)
