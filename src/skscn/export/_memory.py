"""A state that the caller keeps from row to row, in C: what every model with a memory of earlier rows has in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skscn.export._code import CCode, braced, nested, remark
from skscn.series.line import LagLine

_EARLIER_INPUTS = """
real known[{n_known}];
for (int i = 0; i < {n_known}; i++) {{
    const real before = {earlier}[i] < 0 ? NAN : s->inputs[{earlier}[i]];
    known[i] = before == before ? before : x[{sources}[i]];
}}
for (int k = 0; k < {n_terms}; k++) {{
    real sum = 0;
    for (int i = 0; i < {counts}[k]; i++) sum += known[{starts}[k] + i];
    z[{places}[k]] = sum / {counts}[k];
}}
for (int i = 0; i < {n_inputs}; i++) s->inputs[i] = known[{kept}[i]];
"""
_EARLIER_TARGETS = """
real newest[{m}];
for (int i = 0; i < {m}; i++) {{
    newest[i] = y_known != 0 ? y_known[i] : NAN;
    if (newest[i] != newest[i]) newest[i] = s->targets[{raw} + i];
    if (newest[i] != newest[i]) newest[i] = s->targets[{held} + i];
}}
for (int i = {size} - 1; i >= {m}; i--) s->targets[i] = s->targets[i - {m}];
for (int i = 0; i < {m}; i++) {{
    s->targets[i] = NAN;
    s->targets[{held} + i] = newest[i];
}}
for (int k = 0; k < {n_terms}; k++) {{
    const real value = s->targets[{entries}[k]];
    z[{target_places}[k]] = value == value ? value : {means}[k];
}}
"""


@dataclass(frozen=True)
class Memory:
    """A state, where it begins, and a target that comes with a row.

    Attributes
    ----------
    kind : str
        The declaration of the type NAME_state.
    cold : str
        The state before the first row of a sequence, as an initialiser.
    ends : dict
        The states at the end of training, by the labels of sequences.
    told : str
        The name of the parameter of a target that comes with a row; "" if there is none.
    about_told : list of str
        That target, in words.
    """

    name: str
    kind: str
    cold: str
    ends: dict[Any, str]
    told: str = ""
    about_told: tuple[str, ...] = ()

    @property
    def several(self) -> bool:
        """Whether training had several sequences."""
        return len(self.ends) > 1

    @property
    def begin(self) -> str:
        """The statement that begins at the end of training."""
        return f"{self.name}_end(&state{', 0' if self.several else ''});"

    def size(self, code: CCode) -> int:
        """The bytes of a state."""
        return code.arrays(self.kind) + (code.size("int") if "int started;" in self.kind else 0)

    def parameters(self, code: CCode, row: list[str], out: str) -> str:
        """The parameters of a step."""
        told = [f"const {code.real} *{self.told}"] if self.told else []
        return ", ".join([f"{self.name}_state *state", *row, *told, f"{code.real} *{out}"])

    def arguments(self, row: list[str], out: str) -> str:
        """What a step is called with, if no target is known."""
        return ", ".join(["&state", *row, *(["0"] if self.told else []), out])

    def functions(self) -> dict[str, list[str]]:
        """The functions that begin, by their heads, and their bodies."""
        state, sequence = f"{self.name}_state *state", ", int sequence" if self.several else ""
        return {
            f"void {self.name}_cold({state})": [
                f"static const {self.name}_state cold = {self.cold};",
                "*state = cold;",
            ],
            f"void {self.name}_end({state}{sequence})": [
                f"static const {self.name}_state ends[] = {nested(self.ends.values())};",
                f"*state = ends[{'sequence' if self.several else 0}];",
            ],
        }

    def usage(self, *more: str) -> list[str]:
        """How it is used, in words."""
        name = self.name
        lines = [
            "",
            f"The program keeps a {name}_state for each sequence of rows, which are given in order of time.",
            f"    {name}_cold: begin where nothing is known of earlier rows",
            f"    {name}_end: begin at the end of training{', of one of the sequences below' if self.several else ''}",
            f"    {name}_step: take a row, and predict",
            *more,
            *self.about_told,
        ]
        sequences = [f"    {place}: {remark(str(label))}" for place, label in enumerate(self.ends)]
        return [*lines, *(["", "Sequences:", *sequences] if self.several else [])]


def lag_memory(code: CCode, name: str, line: LagLine) -> Memory:
    """The earlier values that lags need."""
    sizes = {"inputs": line.n_inputs, "targets": line.size - line.n_inputs}
    members = [f"    {code.real} {part}[{size}];" for part, size in sizes.items() if size]

    def written(state: np.ndarray) -> str:
        parts = np.split(state, [line.n_inputs])
        values = (braced("NAN" if value != value else code.number(value) for value in part) for part in parts)
        return f"{{{', '.join(text for text, part in zip(values, parts, strict=True) if len(part))}}}"

    ends = {label: written(state) for label, state in line.ends.items()}
    kind = "\n".join(["typedef struct {", *members, f"}} {name}_state;"])
    if not line.targets:
        return Memory(name, kind, written(line.cold), ends)
    before = "the row before" if line.delay == 1 else f"the row {line.delay} rows before this one"
    about = f"y_known is the target of {before}, with NaN for what is not known; 0 if nothing is."
    return Memory(name, kind, written(line.cold), ends, "y_known", (about,))


def lagged(code: CCode, name: str, line: LagLine) -> str:
    """A function ``void (STATE *s, const real *x, const real *y_known, real *z)`` that adds columns to a row.

    Without earlier targets it has no parameter ``y_known``.
    """
    body = f"for (int i = 0; i < {line.width}; i++) z[i] = x[i];\n"
    if line.inputs:
        starts, counts = zip(*map(line.span, line.inputs), strict=True)
        body += _EARLIER_INPUTS.format(
            n_known=len(line.sources),
            n_terms=len(line.inputs),
            n_inputs=line.n_inputs,
            earlier=code.integers("earlier", line.earlier),
            sources=code.integers("sources", line.sources),
            kept=code.integers("kept", line.kept),
            starts=code.integers("starts", np.array(starts)),
            counts=code.integers("counts", np.array(counts)),
            places=code.integers("places", line.places(line.inputs)),
        )
    if line.targets:
        m = line.n_targets
        body += _EARLIER_TARGETS.format(
            m=m,
            raw=m * (line.delay - 1),
            held=m * line.delay,
            size=line.size - line.n_inputs,
            n_terms=len(line.targets),
            entries=code.integers("entries", np.array([m * term.rows + term.column for term in line.targets])),
            target_places=code.integers("places", line.places(line.targets)),
            means=code.table("target_means", line.means),
        )
    told = "const real *y_known, " if line.targets else ""
    return code.function("lagged", "void", f"{name}_state *s, const real *x, {told}real *z", body)
