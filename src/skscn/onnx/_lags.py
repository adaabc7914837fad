"""Lags as the first part of an ONNX graph: a row and a state in, all columns and the next state out."""

from __future__ import annotations

from typing import Any

import numpy as np

from skscn.graphs import Operators, make_way, number_columns
from skscn.series import Lags
from skscn.series.line import LagLine

# Within the graph.
_OWN = "lags/"


def prepend_lags(graph: Any, lags: Lags) -> Any:
    """Let a graph that takes all columns take rows and a state, and return the next state; the graph is changed."""
    line = LagLine(lags)
    widths = {"X": line.width, **({"y_known": line.n_targets} if line.targets else {}), "state": line.size}
    first = make_way(graph, {*widths, "next_state"}, _OWN)
    operators = _LagOperators(line)
    operators.write(first)
    inputs = [number_columns(name, width) for name, width in widths.items()]
    operators.put_before(graph, inputs, [number_columns("next_state", line.size)])
    return graph


class _LagOperators(Operators):
    """The operators of one step, for several series side by side."""

    def __init__(self, line: LagLine):
        super().__init__(_OWN)
        self.line = line

    def write(self, output: str) -> None:
        """All operators; ``output`` has the columns of X and those that are added, in their order."""
        line, added, kept = self.line, ["X"], []
        if line.inputs:
            known = self._known()
            added.append(self.node("MatMul", known, self.constant(self._shares())))
            kept.append(self.node("Gather", known, self.constant(line.kept), axis=1))
        if line.targets:
            earlier, after = self._targets()
            added.append(earlier)
            kept.append(after)
        places = np.concatenate([np.arange(line.width), line.places(line.inputs), line.places(line.targets)])
        self.node("Gather", self._joined(added), self.constant(np.argsort(places)), output=output, axis=1)
        self.node("Identity", self._joined(kept), output="next_state")

    def _known(self) -> str:
        """The present and the earlier values of inputs; one that is not known yet is the present one."""
        line = self.line
        present = self.node("Gather", "X", self.constant(line.sources), axis=1)
        before = self.node("Gather", "state", self.constant(np.maximum(line.earlier, 0)), axis=1)
        unknown = self.node("Or", self.node("IsNaN", before), self.constant(line.earlier[np.newaxis] < 0))
        return self.node("Where", unknown, present, before)

    def _shares(self) -> np.ndarray:
        """The share that each term of an input has of each known value."""
        shares = np.zeros((len(self.line.sources), len(self.line.inputs)))
        for place, term in enumerate(self.line.inputs):
            start, count = self.line.span(term)
            shares[start : start + count, place] = 1.0 / count
        return shares

    def _targets(self) -> tuple[str, str]:
        """Earlier targets, and those of the next state."""
        line, m = self.line, self.line.n_targets
        start, delay, held = line.n_inputs, m * line.delay, m * line.held
        newest = self._first_known(self._part(start + delay - m, m), self._part(start + delay, m))
        newest = self._first_known("y_known", newest)
        unknown = self.node("Mul", newest, self.constant(np.full(m, np.nan)))
        # Those of the last rows, and held ones of the rows before them, all of them one row older.
        last, before = (start, delay - m), (start + delay, held - m)
        parts = [[self._part(*part)] if part[1] else [] for part in (last, before)]
        after = self._joined([unknown, *parts[0], newest, *parts[1]])
        entries = np.array([m * term.rows + term.column for term in line.targets])
        earlier = self.node("Gather", after, self.constant(entries), axis=1)
        return self._first_known(earlier, self.constant(line.means)), after

    def _first_known(self, one: str, other: str) -> str:
        return self.node("Where", self.node("IsNaN", one), other, one)

    def _part(self, start: int, size: int) -> str:
        """Some numbers of the state."""
        return self.node("Slice", "state", *(self.constant(np.array([place])) for place in (start, start + size, 1)))

    def _joined(self, parts: list[str]) -> str:
        return parts[0] if len(parts) == 1 else self.node("Concat", *parts, axis=1)
