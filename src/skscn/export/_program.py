"""The parts of an exported file, in their order."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import indent
from typing import Any

import numpy as np

from skscn.export._code import CCode, braced, nested, remark, string
from skscn.export._examples import Examples
from skscn.export._inputs import RowInputs
from skscn.export._memory import Memory
from skscn.tables.columns import Category


@dataclass(frozen=True)
class Program:
    """An exported model.

    Attributes
    ----------
    usage : list of str
        Lines of the comment at the beginning.
    example : str
        How it is called.
    declarations : list of str
        Types and prototypes that a program which uses it needs.
    definitions : list of str
        Of what has been declared.
    test : list of str
        The body of the test's ``main``.
    memory : Memory or None
        What the caller keeps from row to row.
    """

    usage: list[str]
    example: str
    declarations: list[str]
    definitions: list[str]
    test: list[str]
    memory: Memory | None = None

    def text(self, code: CCode, title: str, file: str, accuracy: list[str]) -> str:
        """The text of the file of this name; ``accuracy`` says what fixed point costs."""
        declared = "\n".join(self.declarations)
        comment = [f"{title}.", "", *accuracy, *self._sizes(code), "", *self.usage]
        for heading, text in {
            "For example:": self.example,
            "Declarations, for a header or the program that calls it:": declared,
            "To test it:": f"cc -std=c99 -DSKSCN_TEST {file} -lm && ./a.out && echo correct",
        }.items():
            comment += ["", heading, "", *(f"    {line}" for line in text.splitlines())]
        return "\n\n".join(
            [
                "/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in comment) + " */",
                f"#include <math.h>\n{code.headers}\ntypedef {code.real} real;",
                declared,
                *code.parts,
                *self.definitions,
                "#ifdef SKSCN_TEST\n#include <stdio.h>",
                function("int main(void)", self.test),
                "#endif\n",
            ]
        )

    def _sizes(self, code: CCode) -> list[str]:
        """The memory that it needs, in words."""
        state = 0 if self.memory is None else self.memory.size(code)
        constants = code.constants + (0 if self.memory is None else state * (1 + len(self.memory.ends)))
        kept = f", and {state} bytes for each state" if state else ""
        return [
            f"Memory, with addresses of 32 bits: {constants} bytes of constants (flash) besides the code,",
            f"{max(map(code.stack, self.definitions))} bytes of arrays on the stack (RAM){kept}.",
        ]


def function(head: str, lines: list[str]) -> str:
    """A function that other files can call."""
    return f"{head}\n{{\n{indent(chr(10).join(lines), '    ')}\n}}"


def rounding(code: CCode, examples: Examples) -> list[str]:
    """What single precision costs, in words."""
    if code.real == "double":
        return []
    differ = f"may differ by {examples.tolerance:.1g} from" if examples.tolerance else "must have the same bits as"
    return [f"Single precision: in the test, predictions {differ} those of Python.", ""]


def described(outputs: list[str], size: int) -> list[str]:
    """The predictions, with their names if these are given."""
    if outputs and len(outputs) != size:
        raise ValueError(f"The model has {size} output{'s' if size > 1 else ''}; outputs names {len(outputs)}.")
    called = [f": {remark(output)}" for output in outputs] or [""] * size
    return ["Predictions:", *(f"    y[{place}]{text}" for place, text in enumerate(called))]


def rows_of(code: CCode, prefix: str, inputs: RowInputs, examples: Examples) -> str:
    """The rows of the test, as an array ``rows``."""
    kind = f"{prefix}_row rows[]" if inputs.columns else f"real rows[][{max(inputs.size, 1)}]"
    return f"static const {kind} = {nested(map(braced, _rows(code, inputs, examples)))};"


def example_row(code: CCode, prefix: str, inputs: RowInputs, examples: Examples) -> str:
    """The last of them, declared as a program would."""
    values = _rows(code, inputs, examples)[-1]
    if not inputs.columns:
        return f"{code.real} x[{inputs.size}] = {braced(values)};"
    named = (f".{member} = {value}" for member, value in zip(inputs.members, values, strict=True))
    return f"{prefix}_row row = {braced(named)};"


def _rows(code: CCode, inputs: RowInputs, examples: Examples) -> list[list[str]]:
    """The values of each row."""
    if not inputs.columns:
        return [["NAN" if np.isnan(value) else code.number(value) for value in row] for row in examples.rows]
    return [list(row) for row in zip(*(_values(examples.rows, column) for column in inputs.columns), strict=True)]


def _values(table: Any, column: Any) -> list[str]:
    """The values of a column as C has them."""
    values = table.column(column.name)
    if isinstance(column, Category):
        return ["0" if text is None else string(text) for text in column.texts(values).to_list()]
    return ["NAN" if np.isnan(value) else repr(float(value)) for value in column.floats(values)]


def expected_of(examples: Examples) -> str:
    """The predictions that the test expects, as an array ``expected``."""
    rows = (braced(repr(float(value)) for value in row) for row in examples.expected)
    return f"static const double expected[][{examples.expected.shape[1]}] = {nested(rows)};"


def tested(code: CCode, call: list[str], size: int, examples: Examples) -> list[str]:
    """Statements that call the model for each row n, and compare the numbers y with those that are expected."""
    return [
        f"for (int n = 0; n < {len(examples.expected)}; n++) {{",
        f"    {code.real} y[{size}];",
        *(f"    {line}" for line in call),
        f"    for (int i = 0; i < {size}; i++) {{",
        f"        if (fabs((double)y[i] - expected[n][i]) <= {examples.tolerance!r}) continue;",
        '        printf("row %d, output %d: %.17g instead of %.17g\\n", n, i, (double)y[i], expected[n][i]);',
        "        wrong = 1;",
        "    }",
        "}",
    ]
