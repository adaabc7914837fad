"""One step of a reservoir in C: a state that the caller keeps, where it begins, and how a row changes it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skscn.export._code import CCode, braced
from skscn.export._networks import scaled
from skscn.recurrent import Reservoir, ReservoirState

_NODE = """
for (int j = 0; j < {nodes}; j++) {{
    const real *w = {weights} + {width} * j;
    real sum = {biases}[j] + {feedback}[j] * s->nodes[j];
    for (int k = 0; k < {heard}; k++) sum += {strengths}[{heard} * j + k] * s->nodes[{sources}[{heard} * j + k]];
    for (int i = 0; i < {width}; i++) sum += w[i] * z[i];
    next[j] = {tanh}(sum);
}}
"""
_PRODUCT = """
for (int k = 0; k < {count}; k++) {{
    const int one = {factors}[2 * k], other = {factors}[2 * k + 1];
    next[{places}[k]] = (one < {width} ? z[one] : s->nodes[one - {width}])
        * (other < {width} ? z[other] : s->nodes[other - {width}]);
}}
"""


@dataclass(frozen=True)
class StepCode:
    """The parts of a step.

    Attributes
    ----------
    advance : str
        A function ``void (STATE *s, const real *x, const real *y_before, real *f)``: scaled outputs f, within
        their limits.
    unscale : str
        A function ``void (real *f)``.
    """

    advance: str
    unscale: str


def state_type(prefix: str, reservoir: Reservoir, real: str) -> str:
    """The structure of a state; C has no empty arrays."""
    sizes = {
        "line": reservoir.length * reservoir.n_driving,
        "nodes": reservoir.n_nodes,
        "output": reservoir.n_outputs * reservoir.fed_back,
    }
    members = [f"    {real} {name}[{max(size, 1)}];" for name, size in sizes.items()]
    return "\n".join(["typedef struct {", *members, "    int started;", f"}} {prefix}_state;"])


def state_value(code: CCode, reservoir: Reservoir, state: ReservoirState) -> str:
    """A state as an initialiser."""
    line = np.zeros(reservoir.length * reservoir.n_driving) if state.line is None else state.line[::-1].ravel()
    output = state.output if reservoir.fed_back else np.zeros(0)
    parts = (braced(map(code.number, values)) for values in (line, state.nodes, output))
    return f"{{{', '.join(parts)}, {int(state.line is not None)}}}"


def step_code(code: CCode, prefix: str, reservoir: Reservoir) -> StepCode:
    """The functions of a step."""
    m = reservoir.n_outputs
    unit, zero = code.table("unit", reservoir.outputs.scale), code.table("zero", reservoir.outputs.offset)
    largest = code.limit(np.inf)
    lines = [*_line(code, reservoir, unit, zero), *_nodes(code, reservoir), *_outputs(code, reservoir)]
    low, high = code.table("lowest", reservoir.low), code.table("highest", reservoir.high)
    lines.append(f"for (int i = 0; i < {m}; i++) f[i] = {code.clamp()}(f[i], {low}[i], {high}[i]);")
    if reservoir.fed_back:
        came = f"z[{reservoir.n_features} + i]" if reservoir.holds else "f[i]"
        lines.append(f"for (int i = 0; i < {m}; i++) s->output[i] = {came};")
    x = "const real *x, " if reservoir.n_features else ""
    told = "const real *y_before, " if reservoir.fed_back else ""
    advance = code.function("advance", "void", f"{prefix}_state *s, {x}{told}real *f", "\n".join(lines))
    body = f"for (int i = 0; i < {m}; i++) f[i] = {code.clamp()}(f[i] * {unit}[i] + {zero}[i], -{largest}, {largest});"
    return StepCode(advance, code.function("unscaled", "void", "real *f", body))


def _line(code: CCode, reservoir: Reservoir, unit: str, zero: str) -> list[str]:
    """The delay line: this row, and those before."""
    d, width = reservoir.n_driving, reservoir.nodes.width
    lines = [f"real z[{width}];"]
    if reservoir.n_features:
        lines.append(f"{scaled(code, reservoir.inputs)}(x, z);")
    if reservoir.n_features and reservoir.input_limits is not None:
        low, high = (
            code.table(name, limit) for name, limit in zip(("low", "high"), reservoir.input_limits, strict=True)
        )
        clamped = f"{code.clamp()}(z[i], {low}[i], {high}[i])"
        lines.append(f"for (int i = 0; i < {reservoir.n_features}; i++) z[i] = {clamped};")
    if reservoir.fed_back:
        low, high = code.table("lowest", reservoir.low), code.table("highest", reservoir.high)
        told = f"{code.clamp()}((y_before[i] - {zero}[i]) / {unit}[i], {low}[i], {high}[i])"
        lines += [
            f"for (int i = 0; i < {reservoir.n_outputs}; i++) {{",
            "    const int known = y_before != 0 && y_before[i] == y_before[i];",
            f"    z[{reservoir.n_features} + i] = known ? {told} : s->output[i];",
            "}",
        ]
    # Before the first row, the inputs were what they are in this row.
    return [*lines, f"for (int i = {d}; i < {width}; i++) z[i] = s->started ? s->line[i - {d}] : z[i - {d}];"]


def _nodes(code: CCode, reservoir: Reservoir) -> list[str]:
    """The states of the nodes, from those one row before."""
    nodes = reservoir.nodes
    if not len(nodes):
        return []
    names = {
        "nodes": len(nodes),
        "width": nodes.width,
        "weights": code.table("weights", nodes.weights.T),
        "biases": code.table("biases", nodes.biases),
        "feedback": code.table("feedback", nodes.feedback),
        "heard": len(nodes.sources),
        "sources": code.integers("sources", nodes.sources.T),
        "strengths": code.table("source_weights", nodes.source_weights.T),
        "tanh": code.math("tanh"),
    }
    lines = [f"real next[{len(nodes)}];", _NODE.strip().format(**names)]
    if nodes.products.any():
        products = {
            "count": int(nodes.products.sum()),
            "places": code.integers("products", np.flatnonzero(nodes.products)),
            "factors": code.integers("factors", nodes.factors[:, nodes.products].T),
            "width": nodes.width,
        }
        lines.append(_PRODUCT.strip().format(**products))
    return lines


def _outputs(code: CCode, reservoir: Reservoir) -> list[str]:
    """Scaled outputs, and what is kept for the next row."""
    m, width, count = reservoir.n_outputs, reservoir.nodes.width, reservoir.n_nodes
    table = code.table("output_weights", reservoir.output_weights)
    kept = reservoir.length * reservoir.n_driving
    lines = [
        f"for (int i = 0; i < {m}; i++) {{",
        f"    f[i] = {table}[i];",
        f"    for (int j = 0; j < {width}; j++) f[i] += z[j] * {table}[{m} * (1 + j) + i];",
    ]
    if count:
        lines.append(f"    for (int j = 0; j < {count}; j++) f[i] += next[j] * {table}[{m} * ({1 + width} + j) + i];")
    lines.append("}")
    if kept:
        lines.append(f"for (int i = 0; i < {kept}; i++) s->line[i] = z[i];")
    if count:
        lines.append(f"for (int j = 0; j < {count}; j++) s->nodes[j] = next[j];")
    return [*lines, "s->started = 1;"]
