"""What comes before the estimator, in C: the columns of a table encoded, scalers, and networks as transformers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from skscn.estimators.base import GrowingNetwork
from skscn.export._code import CCode, identifier, remark, string
from skscn.export._filling import filled
from skscn.export._memory import Memory, lag_memory, lagged
from skscn.export._networks import hidden
from skscn.readers.missing import MISSING
from skscn.series import Lags
from skscn.series.line import LagLine
from skscn.tables import TableEncoder
from skscn.tables.columns import Category, Clock, Column, Measured, Moment, RowTime, cycle_days
from skscn.tables.filling import Filling
from skscn.tables.target_means import TargetMeans

_UNKNOWN = "return v - v != 0;"
_CATEGORY = """
if (text == 0) return missing;
for (int i = 0; i < {words}; i++) if ({same}(text, {missing_words}[i])) return missing;
for (int i = 0; i < n; i++) if ({same}(text, known[i])) return i;
return others;
"""
_SAME = """
while (*a && *a == *b) a++, b++;
return *a == *b;
"""
_UNITS = {
    "number": "a number",
    "boolean": "0 or 1",
    "date": "days since 1970-01-01",
    "row time": "days since 1970-01-01",
    "time": "hours since midnight",
}


@dataclass
class RowInputs:
    """How rows come in, and become the numbers that the estimator takes.

    Attributes
    ----------
    parameter, argument : str
        The row, as a parameter of a function and where it is called.
    size : int
        How many numbers a row has, if it is not that of a table.
    declarations : list of str
        Types.
    lines : list of str
        Statements that compute the numbers.
    numbers : str
        The name of these numbers.
    descriptions : list of str
        Of the inputs, in words.
    columns, members : list
        The columns of a table, and their names in C.
    memory : Memory or None
        What is kept from row to row.
    """

    parameter: str
    argument: str
    size: int = 0
    declarations: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    numbers: str = "x"
    descriptions: list[str] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    memory: Memory | None = None

    @property
    def tested(self) -> str:
        """Row n of the test, as an argument."""
        return "&rows[n]" if self.columns else "rows[n]"

    def then(self, function: str, width: int, given: str = "{}") -> None:
        """Apply a function to the numbers, with these arguments."""
        name = f"x_{len(self.lines) // 2 + 1}"
        arguments = given.format(self.numbers)
        self.lines += [f"real {name}[{max(width, 1)}];", f"{function}({arguments}, {name});"]
        self.numbers = name


def inputs_of(code: CCode, prefix: str, before: list[Any], last: Any, names: np.ndarray | None) -> RowInputs:
    """The inputs of a model, with its steps before the estimator; names are those of numbers."""
    encoder = before[0] if before and isinstance(before[0], TableEncoder) else None
    first = before[0] if before else last
    filled_in = any(isinstance(step, Filling) for step in before)
    inputs = _numbers(code, first, names, filled_in=filled_in) if encoder is None else _table(code, prefix, encoder)
    for step in before[encoder is not None :]:
        if isinstance(step, Filling):
            inputs.then(filled(code, step), step.width)
            continue
        if isinstance(step, Lags):
            line = LagLine(step)
            inputs.memory = lag_memory(code, prefix, line)
            given = "state, {}, y_known" if line.targets else "state, {}"
            inputs.then(lagged(code, prefix, line), line.width + len(line.inputs) + len(line.targets), given)
            continue
        if isinstance(step, GrowingNetwork):
            inputs.then(hidden(code, step.network_), step.network_.n_nodes)
            continue
        if type(step) not in _SCALERS:
            known = ", ".join(["TableEncoder, as the first step", "Lags", *(kind.__name__ for kind in _SCALERS)])
            raise ValueError(
                f"The step {type(step).__name__} has no counterpart in C; there are {known}, and networks. Export the "
                "last step alone, to_c(pipeline[-1]), and apply the other steps before it."
            )
        value = _SCALERS[type(step)](code, step)
        width = step.n_features_in_
        body = f"for (int i = 0; i < {width}; i++) z[i] = {value};"
        inputs.then(code.function("rescaled", "void", "const real *x, real *z", body), width)
    return inputs


def _numbers(code: CCode, first: Any, names: np.ndarray | None, *, filled_in: bool) -> RowInputs:
    count = first.n_features if isinstance(first, Filling) else first.n_features_in_
    inputs = RowInputs(f"const {code.real} *x", "x", count)
    if names is not None:
        inputs.descriptions = [f"x[{place}]: {remark(str(name))}" for place, name in enumerate(names)]
    elif count:
        inputs.descriptions = [f"x[0] to x[{count - 1}], the inputs in the order of training"]
    if filled_in:
        inputs.descriptions.append("NaN is a missing value, which is filled in")
    return inputs


# ---- scalers of scikit-learn: an expression of x[i]


def _standard(code: CCode, step: StandardScaler) -> str:
    centred = f"(x[i] - {code.table('mean', step.mean_)}[i])" if step.with_mean else "x[i]"
    return f"{centred} / {code.table('deviation', step.scale_)}[i]" if step.with_std else centred


def _robust(code: CCode, step: RobustScaler) -> str:
    centred = f"(x[i] - {code.table('median', step.center_)}[i])" if step.with_centering else "x[i]"
    return f"{centred} / {code.table('spread', step.scale_)}[i]" if step.with_scaling else centred


def _min_max(code: CCode, step: MinMaxScaler) -> str:
    value = f"x[i] * {code.table('factor', step.scale_)}[i] + {code.table('shift', step.min_)}[i]"
    return f"{code.clamp()}({value}, {', '.join(map(code.number, step.feature_range))})" if step.clip else value


def _max_abs(code: CCode, step: MaxAbsScaler) -> str:
    value = f"x[i] / {code.table('largest', step.scale_)}[i]"
    # Older versions have no such parameter.
    return f"{code.clamp()}({value}, -1, 1)" if getattr(step, "clip", False) else value


_SCALERS: dict[type, Callable[[CCode, Any], str]] = {
    StandardScaler: _standard,
    RobustScaler: _robust,
    MinMaxScaler: _min_max,
    MaxAbsScaler: _max_abs,
}


# ---- tables


def _table(code: CCode, prefix: str, encoder: TableEncoder) -> RowInputs:
    """A structure with a member for each column, and the function that encodes it."""
    inputs = RowInputs(f"const {prefix}_row *row", "&row", numbers="row")
    inputs.columns = encoder.columns_
    declared, lines, start = [], [], 0
    for column in encoder.columns_:
        member = identifier(column.name, inputs.members)
        inputs.members.append(member)
        if isinstance(column, Category):
            declared.append(f"    const char *{member};")
            lines += _category(code, column, member, start)
            inputs.descriptions.append(f"{member}: {_called(column, member)}text in UTF-8; missing if 0 or empty")
        else:
            assert isinstance(column, Measured)
            declared.append(f"    double {member};")
            lines += _measured(code, column, member, start)
            inputs.descriptions.append(f"{member}: {_called(column, member)}{_UNITS[column.kind]}; missing if NaN")
        start += len(column.encoded_names)
    inputs.declarations.append("\n".join(["typedef struct {", *declared, f"}} {prefix}_row;"]))
    inputs.then(code.function("encoded", "void", f"const {prefix}_row *row, real *z", "\n".join(lines)), start)
    return inputs


def _called(column: Column, member: str) -> str:
    """The name of a column, unless C has the same."""
    return "" if column.name == member else f"{remark(column.name)}, "


def _category(code: CCode, column: Category, member: str, start: int) -> list[str]:
    known = code.rows("categories", "char *const", map(string, column.categories))
    same = code.function("same", "int", "const char *a, const char *b", _SAME)
    words = code.rows("missing", "char *const", map(string, MISSING))
    body = _CATEGORY.format(words=len(MISSING), same=same, missing_words=words)
    parameters = "const char *text, const char *const *known, int n, int others, int missing"
    find = code.function("category", "int", parameters, body)
    count, width = len(column.categories), len(column.categories) + column.others + column.missing
    others, missing = count if column.others else -1, count + column.others if column.missing else -1
    return [
        "{",
        f"    const int place = {find}(row->{member}, {known}, {count}, {others}, {missing});",
        f"    for (int i = 0; i < {width}; i++) z[{start} + i] = i == place;",
        *(_means(code, column, f"{find}(row->{member}", start + width) if isinstance(column, TargetMeans) else []),
        "}",
    ]


def _means(code: CCode, column: TargetMeans, find: str, start: int) -> list[str]:
    """The means of the targets for a category."""
    levels, means = code.rows("levels", "char *const", map(string, column.levels)), code.table("means", column.table)
    count, m = len(column.levels), len(column.unknown)
    return [
        f"    const int level = {find}, {levels}, {count}, {count + 1}, {count});",
        f"    for (int i = 0; i < {m}; i++) z[{start} + i] = {means}[{m} * level + i];",
    ]


def _measured(code: CCode, column: Measured, member: str, start: int) -> list[str]:
    """The value, sine and cosine of its place in cycles, and a mark if it is missing; always in double precision."""
    unknown = code.function("unknown", "int", "double v", _UNKNOWN)
    parts = [] if isinstance(column, RowTime) else ["v"]
    for length in _cycles(column):
        turns = f"v / {length!r}"
        angle = f"{2.0 * np.pi!r} * ({turns} - floor({turns}))"
        parts += [f"sin({angle})", f"cos({angle})"]
    if column.indicator and not isinstance(column, RowTime):
        parts.append(f"{unknown}(row->{member})")
    return [
        "{",
        f"    const double v = {unknown}(row->{member}) ? {_filler(column)} : row->{member};",
        *(f"    z[{start + place}] = (real){part};" for place, part in enumerate(parts)),
        "}",
    ]


def _filler(column: Measured) -> str:
    return "NAN" if column.fill is None else repr(float(column.fill))


def _cycles(column: Column) -> list[float]:
    """The lengths of the cycles that it has a place in, in its own unit."""
    if isinstance(column, Clock):
        return [24.0]
    return [cycle_days(cycle) for cycle in column.cycles] if isinstance(column, Moment) else []
