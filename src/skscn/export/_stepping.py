"""The file of a recurrent network: a state, where it begins, and a function for each row."""

from __future__ import annotations

from skscn.export._code import CCode
from skscn.export._examples import Examples
from skscn.export._inputs import RowInputs
from skscn.export._memory import Memory
from skscn.export._program import Program, described, example_row, expected_of, function, rounding, rows_of, tested
from skscn.export._recurrent import state_type, state_value, step_code
from skscn.recurrent.predicting import ReservoirRegressor

_TOLD = "y_before is the target of the row before, with NaN for what is not known; 0 if nothing is."


def stepping(
    code: CCode,
    name: str,
    inputs: RowInputs,
    last: ReservoirRegressor,
    bounded: list[str],
    examples: Examples,
    outputs: list[str],
) -> Program:
    """Functions NAME_cold, NAME_end and NAME_step; with feedback also NAME_forecast.

    ``bounded`` are statements that keep predictions y within the bounds of the target.
    """
    reservoir, step = last.reservoir_, step_code(code, name, last.reservoir_)
    memory = Memory(
        name,
        state_type(name, reservoir, code.real),
        state_value(code, reservoir, reservoir.cold_state()),
        {label: state_value(code, reservoir, state) for label, state in last.states_.items()},
        *(("y_before", (_TOLD,)) if reservoir.fed_back else ()),
    )
    # Models whose only input is what comes back have no rows.
    rows, row = ([inputs.parameter], [inputs.numbers]) if reservoir.n_features else ([], [])
    told = [memory.told] if memory.told else []
    unscaled = [f"{step.unscale}(y);", *bounded]
    functions = memory.functions()
    functions[f"void {name}_step({memory.parameters(code, rows, 'y')})"] = [
        *inputs.lines,
        f"{step.advance}({', '.join(['state', *row, *told, 'y'])});",
        *unscaled,
    ]
    if reservoir.fed_back:
        functions[f"void {name}_forecast({', '.join([f'{name}_state *state', *rows, f'{code.real} *y'])})"] = [
            *inputs.lines,
            f"{step.advance}({', '.join(['state', *row, '0', 'y'])});",
            f"for (int i = 0; i < {reservoir.n_outputs}; i++) state->output[i] = y[i];",
            *unscaled,
        ]
    more = f"    {name}_forecast: take a row, and let the prediction come back as the target of the row before"
    described_inputs = ["Inputs of a row:", *(f"    {line}" for line in inputs.descriptions), ""] if rows else []
    return Program(
        [
            *rounding(code, examples),
            *described_inputs,
            *described(outputs, reservoir.n_outputs),
            *memory.usage(*([more] if reservoir.fed_back else [])),
        ],
        "\n".join(
            [
                *([example_row(code, name, inputs, examples)] if rows else []),
                f"{code.real} y[{reservoir.n_outputs}];",
                f"{name}_state state;",
                memory.begin,
                f"{name}_step({memory.arguments([inputs.argument] if rows else [], 'y')});",
            ]
        ),
        [*inputs.declarations, memory.kind, *(f"{head};" for head in functions)],
        [function(head, body) for head, body in functions.items()],
        [
            *([rows_of(code, name, inputs, examples)] if rows else []),
            expected_of(examples),
            f"{name}_state state;",
            "int wrong = 0;",
            memory.begin,
            *tested(
                code,
                [f"{name}_step({memory.arguments([inputs.tested] if rows else [], 'y')});"],
                reservoir.n_outputs,
                examples,
            ),
            "return wrong;",
        ],
        memory,
    )
