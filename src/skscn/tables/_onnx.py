"""The encoding of a table as the first part of an ONNX graph: one input for each column."""

from __future__ import annotations

from typing import Any

import numpy as np

from skscn.extras import optional
from skscn.graphs import Operators
from skscn.readers.missing import MISSING
from skscn.tables._encoder import TableEncoder
from skscn.tables.columns import Category, Column, Moment, RowTime, cycle_days
from skscn.tables.target_means import TargetMeans

_PURPOSE = "ONNX"
# Within the graph; what the user names does not begin like that.
_OWN = "table/"
_ML_DOMAIN, _ML_OPSET = "ai.onnx.ml", 2


def prepend_table(graph: Any, encoder: TableEncoder) -> Any:
    """Let a graph that takes encoded rows take the columns of a table.

    Each column is an input of shape (rows, 1) under its name: strings for categories, with "" for a missing one;
    float64 for all others, with NaN for a missing value: booleans as 0 and 1, dates as days since 1970-01-01, times of
    the day as hours.

    Parameters
    ----------
    graph : onnx.ModelProto
        Its first input is that of the encoded rows; others, such as a state, stay as they are. It is changed.
    encoder : TableEncoder

    Returns
    -------
    graph : onnx.ModelProto
    """
    names = [column.name for column in encoder.columns_]
    others = {"output": graph.graph.output, "input": graph.graph.input[1:]}
    for what, ends in others.items():
        taken = sorted({end.name for end in ends} & set(names))
        if taken:
            raise ValueError(f"The graph's {what} is called {taken[0]!r}, like one of the columns; rename the column.")
    _make_way(graph.graph, set(names))
    table = _Table(_OWN)
    parts = [table.encoded(column) for column in encoder.columns_]
    table.node("Concat", *parts, output=graph.graph.input[0].name, axis=1)
    _put_first(graph, table, encoder)
    optional("onnx", _PURPOSE).checker.check_model(graph)
    return graph


def _make_way(graph: Any, names: set[str]) -> None:
    """Give other names to what is called in the graph as a column is."""
    for node in graph.node:
        for ends in (node.input, node.output):
            for place, name in enumerate(ends):
                ends[place] = f"{_OWN}{name}" if name in names else name
    for named in (*graph.initializer, *graph.input, *graph.value_info):
        named.name = f"{_OWN}{named.name}" if named.name in names else named.name


def _put_first(graph: Any, table: _Table, encoder: TableEncoder) -> None:
    onnx = optional("onnx", _PURPOSE)
    nodes = [*table.nodes, *graph.graph.node]
    inputs = [*map(_input, encoder.columns_), *graph.graph.input[1:]]
    for whole, parts in ((graph.graph.node, nodes), (graph.graph.input, inputs)):
        del whole[:]
        whole.extend(parts)
    graph.graph.initializer.extend(table.constants)
    versions = {item.domain: item for item in graph.opset_import}
    if _ML_DOMAIN not in versions:
        graph.opset_import.append(onnx.helper.make_opsetid(_ML_DOMAIN, _ML_OPSET))
    else:
        versions[_ML_DOMAIN].version = max(versions[_ML_DOMAIN].version, _ML_OPSET)


def _input(column: Column) -> Any:
    onnx = optional("onnx", _PURPOSE)
    kind = onnx.TensorProto.STRING if isinstance(column, Category) else onnx.TensorProto.DOUBLE
    return onnx.helper.make_tensor_value_info(column.name, kind, [None, 1])


class _Table(Operators):
    """The operators that encode columns."""

    def as_double(self, truth: str) -> str:
        return self.node("Cast", truth, to=self._onnx.TensorProto.DOUBLE)

    def encoded(self, column: Column) -> str:
        """The numbers that a column becomes, of shape (rows, their number)."""
        return self._category(column) if isinstance(column, Category) else self._measured(column)

    def _category(self, column: Category) -> str:
        count = len(column.categories)
        missing = count + column.others if column.missing else -1
        codes = {**dict.fromkeys(MISSING, missing), **{text: code for code, text in enumerate(column.categories)}}
        code = self._code(column.name, codes, count if column.others else -1)
        width = count + column.others + column.missing
        shown = self.as_double(self.node("Equal", code, self.constant(np.arange(width)[np.newaxis])))
        return self.node("Concat", shown, self._means(column), axis=1) if isinstance(column, TargetMeans) else shown

    def _means(self, column: TargetMeans) -> str:
        """The means of the targets for the category of each row."""
        count = len(column.levels)
        codes = {**dict.fromkeys(MISSING, count), **{text: code for code, text in enumerate(column.levels)}}
        code = self._code(column.name, codes, count + 1)
        # The code has a second dimension, of one.
        return self.node("Gather", self.constant(column.table), self.node("Squeeze", code, self.constant([1])), axis=0)

    def _code(self, name: str, codes: dict[str, int], default: int) -> str:
        return self.node(
            "LabelEncoder",
            name,
            domain=_ML_DOMAIN,
            keys_strings=list(codes),
            values_int64s=list(codes.values()),
            default_int64=default,
        )

    def _measured(self, column: Any) -> str:
        missing = self.node("Or", self.node("IsNaN", column.name), self.node("IsInf", column.name))
        filled = self.node("Where", missing, self.constant(np.float64(column.filler)), column.name)
        cycles = [cycle_days(cycle) for cycle in column.cycles] if isinstance(column, Moment) else []
        cycles = [24.0] if column.kind == "time" else cycles
        parts = [] if isinstance(column, RowTime) else [filled]
        for length in cycles:
            turns = self.node("Div", filled, self.constant(np.float64(length)))
            # Whole turns are left out, which keeps angles small and exact.
            part = self.node("Sub", turns, self.node("Floor", turns))
            angle = self.node("Mul", part, self.constant(np.float64(2.0 * np.pi)))
            # The sine a quarter of a turn later is the cosine, which older versions of ONNX Runtime lack for float64.
            later = self.node("Add", angle, self.constant(np.float64(np.pi / 2.0)))
            parts += [self.node("Sin", angle), self.node("Sin", later)]
        if column.indicator and not isinstance(column, RowTime):
            parts.append(self.as_double(missing))
        return self.node("Concat", *parts, axis=1)
