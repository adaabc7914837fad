"""The file of a regressor or a classifier: one function that predicts from a row."""

from __future__ import annotations

from skscn.export._code import CCode, braced, bytes_of, remark, string
from skscn.export._estimators import Core
from skscn.export._examples import Examples
from skscn.export._inputs import RowInputs
from skscn.export._program import Program, described, example_row, expected_of, function, rounding, rows_of, tested


def predicting(
    code: CCode, name: str, inputs: RowInputs, core: Core, examples: Examples, outputs: list[str]
) -> Program:
    """A function NAME_predict; with a memory, NAME_cold, NAME_end and NAME_step."""
    returns, out = "void" if core.classes is None else "int", "y" if core.names is None else "probabilities"
    memory, begun = inputs.memory, dict[str, list[str]]()
    head = f"{returns} {name}_predict({inputs.parameter}, {code.real} *{out})"
    if memory is not None:
        begun = memory.functions()
        head = f"{returns} {name}_step({memory.parameters(code, [inputs.parameter], out)})"
    call = f"{core.function}({inputs.numbers}, {out});"
    body = [*inputs.lines, call if core.classes is None else f"return {call}"]
    declarations = [*inputs.declarations, *([] if memory is None else [memory.kind])]
    definitions = [function(head, body) for head, body in {**begun, head: body}.items()]
    declarations += [f"{head};" for head in (*begun, head)]
    if core.names is not None:
        known = f"const char *const {name}_classes[{core.size}]"
        declarations.append(f"extern {known};")
        labels = list(map(string, core.names))
        definitions.insert(0, f"{known} = {braced(labels)};")
        code.constants += sum(code.size("char *const") + bytes_of(label) for label in labels)
    return Program(
        [*rounding(code, examples), *_usage(inputs, core, outputs)],
        _example(code, name, inputs, core, out, examples),
        declarations,
        definitions,
        _test(code, name, inputs, core, examples),
        memory,
    )


def _call(name: str, inputs: RowInputs, row: str, out: str) -> str:
    """A prediction of a row."""
    if inputs.memory is None:
        return f"{name}_predict({row}, {out})"
    return f"{name}_step({inputs.memory.arguments([row], out)})"


def _usage(inputs: RowInputs, core: Core, outputs: list[str]) -> list[str]:
    lines = ["Inputs:", *(f"    {line}" for line in inputs.descriptions), ""]
    usage = [] if inputs.memory is None else inputs.memory.usage()
    if core.names is None:
        return [*lines, *described(outputs, core.size), *usage]
    what = "Classes" if core.classes else "Labels, each with a probability of its own; above 0.5 it is predicted"
    of = f" of {remark(outputs[0])}" if outputs else ""
    names = [f"    {place}: {remark(label)}" for place, label in enumerate(core.names)]
    return [*lines, f"{what}{of}:", *names, *usage]


def _begin(name: str, inputs: RowInputs) -> list[str]:
    """A state, begun at the end of training, if there is a memory."""
    return [] if inputs.memory is None else [f"{name}_state state;", inputs.memory.begin]


def _example(code: CCode, name: str, inputs: RowInputs, core: Core, out: str, examples: Examples) -> str:
    lines = [example_row(code, name, inputs, examples), f"{code.real} {out}[{core.size}];", *_begin(name, inputs)]
    call = f"{_call(name, inputs, inputs.argument, out)};"
    if core.classes is None:
        return "\n".join([*lines, call])
    return "\n".join([*lines, f"int number = {call}", f"const char *found = {name}_classes[number];"])


def _test(code: CCode, name: str, inputs: RowInputs, core: Core, examples: Examples) -> list[str]:
    lines = [rows_of(code, name, inputs, examples), expected_of(examples), "int wrong = 0;", *_begin(name, inputs)]
    call = [f"{_call(name, inputs, inputs.tested, 'y')};"]
    if core.classes is not None:
        labels = [core.classes.index(label) if label else -1 for label in examples.labels]
        lines.insert(2, f"static const int labels[] = {braced(map(str, labels))};")
        call = [
            f"if ({_call(name, inputs, inputs.tested, 'y')} != labels[n] && labels[n] >= 0) {{",
            '    printf("row %d: another class\\n", n);',
            "    wrong = 1;",
            "}",
        ]
    return [*lines, *tested(code, call, core.size, examples), "return wrong;"]
