"""One step of a reservoir as an ONNX graph: a row and a state in, a prediction and the next state out."""

from __future__ import annotations

from typing import Any

import numpy as np

from skscn.extras import optional
from skscn.graphs import Operators, number_columns
from skscn.recurrent.predicting import ReservoirRegressor
from skscn.recurrent.reservoir import Reservoir, ReservoirState

_PURPOSE = "ONNX"
_OPSET = 13


def flat_state(reservoir: Reservoir, state: ReservoirState) -> np.ndarray:
    """A state as the graph takes it; NaN in the delay line of a cold one stands for the inputs of the first row."""
    line = np.full((reservoir.length, reservoir.n_driving), np.nan) if state.line is None else state.line
    output = state.output if reservoir.fed_back else np.empty(0)
    return np.concatenate([line[::-1].ravel(), state.nodes, output])


def step_graph(model: ReservoirRegressor, target_opset: int | None = None) -> Any:
    """A fitted reservoir as a graph; :func:`skscn.onnx.to_onnx` describes its inputs and outputs."""
    onnx = optional("onnx", _PURPOSE)
    step = _StepOperators(model.reservoir_)
    step.write()
    opsets = [onnx.helper.make_opsetid("", target_opset or _OPSET)]
    graph = onnx.helper.make_graph(
        step.nodes, type(model).__name__, step.ends(step.inputs), step.ends(step.outputs), step.constants
    )
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=onnx.helper.find_min_ir_version_for(opsets))


class _StepOperators(Operators):
    """The operators of a step, as in :meth:`RecurrentStream.predict_one`, for several sequences side by side."""

    def __init__(self, reservoir: Reservoir):
        super().__init__("step/")
        self.reservoir, self.length = reservoir, reservoir.length * reservoir.n_driving
        size = self.length + reservoir.n_nodes + reservoir.n_outputs * reservoir.fed_back
        self.inputs = {"X": reservoir.n_features} if reservoir.n_features else {}
        self.outputs = {"variable": reservoir.n_outputs}
        if reservoir.fed_back:
            self.inputs["y_before"] = self.outputs["forecast"] = reservoir.n_outputs
        self.inputs["state"] = self.outputs["next_state"] = size

    def ends(self, widths: dict[str, int]) -> list[Any]:
        """Inputs or outputs."""
        return [number_columns(name, width) for name, width in widths.items()]

    def write(self) -> None:
        """All operators."""
        reservoir = self.reservoir
        parts = [self._scaled_inputs()] if reservoir.n_features else []
        came = self._came_back() if reservoir.fed_back else None
        u = self._joined([*parts, *([] if came is None else [came])])
        z = self._delay_line(u)
        states = self._node_states(z) if reservoir.n_nodes else None
        columns = self._joined([z, *([] if states is None else [states])])
        outputs = self._affine(columns, reservoir.output_weights[1:], reservoir.output_weights[0])
        bounded = self._clipped(outputs, reservoir.low, reservoir.high)
        self._unscaled(bounded, "variable")
        kept = [self._part(z, 0, self.length)] if self.length else []
        kept += [] if states is None else [states]
        if came is not None:
            self._unscaled(bounded, "forecast")
            kept.append(came if reservoir.holds else bounded)
        self.node("Identity", self._joined(kept) if kept else "state", output="next_state")

    def _scaled_inputs(self) -> str:
        scaling = self.reservoir.inputs
        moved = self.node("Sub", "X", self.constant(scaling.offset))
        x = self._clipped(self.node("Div", moved, self.constant(scaling.scale)), scaling.low, scaling.high)
        return x if self.reservoir.input_limits is None else self._clipped(x, *self.reservoir.input_limits)

    def _came_back(self) -> str:
        """The output of the row before: the one that is known now, or that of the state."""
        scaling = self.reservoir.outputs
        moved = self.node("Sub", "y_before", self.constant(scaling.offset))
        told = self._clipped(
            self.node("Div", moved, self.constant(scaling.scale)), self.reservoir.low, self.reservoir.high
        )
        own = self._part("state", self.length + self.reservoir.n_nodes, self.inputs["state"])
        return self.node("Where", self.node("IsNaN", "y_before"), own, told)

    def _delay_line(self, u: str) -> str:
        if not self.length:
            return u
        before = self._part("state", 0, self.length)
        repeated = self.node("Tile", u, self.constant(np.array([1, self.reservoir.length])))
        return self._joined([u, self.node("Where", self.node("IsNaN", before), repeated, before)])

    def _node_states(self, z: str) -> str:
        nodes, multiplied = self.reservoir.nodes, self.reservoir.nodes.products
        known = self._joined([z, self._part("state", self.length, self.length + len(nodes))])
        parts = []
        if not multiplied.all():
            weights = np.vstack([nodes.weights, nodes.recurrent_weights()])[:, ~multiplied]
            parts.append(self.node("Tanh", self._affine(known, weights, nodes.biases[~multiplied])))
        if multiplied.any():
            columns = (self.constant(numbers) for numbers in nodes.factors[:, multiplied])
            parts.append(self.node("Mul", *(self.node("Gather", known, side, axis=1) for side in columns)))
        order = np.argsort(np.argsort(multiplied, kind="stable"))
        return parts[0] if len(parts) == 1 else self.node("Gather", self._joined(parts), self.constant(order), axis=1)

    def _affine(self, x: str, weights: np.ndarray, offset: np.ndarray) -> str:
        return self.node("Add", self.node("MatMul", x, self.constant(weights)), self.constant(offset))

    def _unscaled(self, outputs: str, name: str) -> None:
        scaling, largest = self.reservoir.outputs, np.finfo(np.float64).max
        scaled = self.node("Mul", outputs, self.constant(scaling.scale))
        self._clipped(self.node("Add", scaled, self.constant(scaling.offset)), -largest, largest, output=name)

    def _clipped(self, x: str, low: Any, high: Any, output: str | None = None) -> str:
        above = self.node("Max", x, self.constant(np.asarray(low, np.float64)))
        return self.node("Min", above, self.constant(np.asarray(high, np.float64)), output=output)

    def _part(self, x: str, start: int, stop: int) -> str:
        ends = (self.constant(np.array([place])) for place in (start, stop, 1))
        return self.node("Slice", x, *ends)

    def _joined(self, parts: list[str]) -> str:
        return parts[0] if len(parts) == 1 else self.node("Concat", *parts, axis=1)
