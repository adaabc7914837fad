"""The encoding of a table as the first part of an ONNX graph: one input for each column."""

from __future__ import annotations

from typing import Any

import numpy as np

from skscn.extras import optional
from skscn.graphs import Operators, make_way, number_columns
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
    first, table = make_way(graph, set(names), _OWN), _Table(_OWN)
    table.node("Concat", *map(table.encoded, encoder.columns_), output=first, axis=1)
    versions = {item.domain: item for item in graph.opset_import}
    if _ML_DOMAIN not in versions:
        graph.opset_import.append(optional("onnx", _PURPOSE).helper.make_opsetid(_ML_DOMAIN, _ML_OPSET))
    else:
        versions[_ML_DOMAIN].version = max(versions[_ML_DOMAIN].version, _ML_OPSET)
    table.put_before(graph, list(map(_input, encoder.columns_)))
    return graph


def _input(column: Column) -> Any:
    if not isinstance(column, Category):
        return number_columns(column.name, 1)
    onnx = optional("onnx", _PURPOSE)
    return onnx.helper.make_tensor_value_info(column.name, onnx.TensorProto.STRING, [None, 1])


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
