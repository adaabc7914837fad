"""The file of a recurrent network: a state, where it begins, and a function for each row."""

from __future__ import annotations

from skscn.export._code import CCode, nested, remark
from skscn.export._examples import Examples
from skscn.export._inputs import RowInputs
from skscn.export._program import Program, described, example_row, expected_of, function, rounding, rows_of, tested
from skscn.export._recurrent import StepCode, state_type, state_value, step_code
from skscn.recurrent import RecurrentSCNRegressor, Reservoir


def stepping(
    code: CCode, name: str, inputs: RowInputs, last: RecurrentSCNRegressor, examples: Examples, outputs: list[str]
) -> Program:
    """Functions NAME_cold, NAME_end and NAME_step; with feedback also NAME_forecast."""
    reservoir = last.reservoir_
    step = step_code(code, name, reservoir)
    kind = state_type(name, reservoir, code.real)
    heads = _heads(code, name, inputs, last)
    cold = state_value(code, reservoir, reservoir.cold_state())
    ends = nested(state_value(code, reservoir, state) for state in last.states_.values())
    bodies = {
        "cold": [f"static const {name}_state cold = {cold};", "*state = cold;"],
        "end": [
            f"static const {name}_state ends[] = {ends};",
            f"*state = ends[{'sequence' if len(last.states_) > 1 else 0}];",
        ],
        "step": [*_advanced(inputs, reservoir, step, "y_before"), f"{step.unscale}(y);"],
        "forecast": _forecast(inputs, reservoir, step),
    }
    return Program(
        [*rounding(code, examples), *_usage(name, inputs, last, outputs)],
        _example(code, name, inputs, last, examples),
        [*inputs.declarations, kind, *(f"{head};" for head in heads.values())],
        [function(head, bodies[which]) for which, head in heads.items()],
        _test(code, name, inputs, last, examples),
    )


def _heads(code: CCode, name: str, inputs: RowInputs, last: RecurrentSCNRegressor) -> dict[str, str]:
    reservoir = last.reservoir_
    state = f"{name}_state *state"
    row = [inputs.parameter] if reservoir.n_features else []
    told = [f"const {code.real} *y_before"] if reservoir.fed_back else []
    sequence = ["int sequence"] if len(last.states_) > 1 else []
    parameters = {"cold": [state], "end": [state, *sequence], "step": [state, *row, *told, f"{code.real} *y"]}
    if reservoir.fed_back:
        parameters["forecast"] = [state, *row, f"{code.real} *y"]
    return {which: f"void {name}_{which}({', '.join(given)})" for which, given in parameters.items()}


def _advanced(inputs: RowInputs, reservoir: Reservoir, step: StepCode, told: str) -> list[str]:
    given = ["state", *([inputs.numbers] if reservoir.n_features else []), *([told] if reservoir.fed_back else []), "y"]
    return [*inputs.lines, f"{step.advance}({', '.join(given)});"]


def _forecast(inputs: RowInputs, reservoir: Reservoir, step: StepCode) -> list[str]:
    return [
        *_advanced(inputs, reservoir, step, "0"),
        f"for (int i = 0; i < {reservoir.n_outputs}; i++) state->output[i] = y[i];",
        f"{step.unscale}(y);",
    ]


def _arguments(reservoir: Reservoir, row: str) -> str:
    """What a step is called with, if no target is known."""
    return ", ".join(["&state", *[row] * (reservoir.n_features > 0), *["0"] * reservoir.fed_back, "y"])


def _usage(name: str, inputs: RowInputs, last: RecurrentSCNRegressor, outputs: list[str]) -> list[str]:
    reservoir, labels = last.reservoir_, list(last.states_)
    several = len(labels) > 1
    lines = ["Inputs of a row:", *(f"    {line}" for line in inputs.descriptions), ""] if reservoir.n_features else []
    lines += [
        *described(outputs, reservoir.n_outputs),
        "",
        f"The program keeps a {name}_state for each sequence of rows, which are given in order of time.",
        f"    {name}_cold: begin where nothing is known of earlier rows",
        f"    {name}_end: begin at the end of training{', of one of the sequences below' if several else ''}",
        f"    {name}_step: take a row, and predict",
    ]
    if reservoir.fed_back:
        lines += [
            f"    {name}_forecast: take a row, and let the prediction come back as the target of the row before",
            "y_before is the target of the row before, with NaN for what is not known; 0 if nothing is.",
        ]
    sequences = [f"    {place}: {remark(str(label))}" for place, label in enumerate(labels)]
    return [*lines, *(["", "Sequences:", *sequences] if several else [])]


def _example(code: CCode, name: str, inputs: RowInputs, last: RecurrentSCNRegressor, examples: Examples) -> str:
    reservoir = last.reservoir_
    lines = [example_row(code, name, inputs, examples)] if reservoir.n_features else []
    lines += [
        f"{code.real} y[{reservoir.n_outputs}];",
        f"{name}_state state;",
        f"{name}_end(&state{', 0' if len(last.states_) > 1 else ''});",
        f"{name}_step({_arguments(reservoir, inputs.argument)});",
    ]
    return "\n".join(lines)


def _test(code: CCode, name: str, inputs: RowInputs, last: RecurrentSCNRegressor, examples: Examples) -> list[str]:
    reservoir = last.reservoir_
    call = f"{name}_step({_arguments(reservoir, inputs.tested)});"
    return [
        *([rows_of(code, name, inputs, examples)] if reservoir.n_features else []),
        expected_of(examples),
        f"{name}_state state;",
        "int wrong = 0;",
        f"{name}_end(&state{', 0' if len(last.states_) > 1 else ''});",
        *tested(code, [call], reservoir.n_outputs, examples),
        "return wrong;",
    ]
