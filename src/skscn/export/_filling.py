"""Missing numbers filled in, in C."""

from __future__ import annotations

from skscn.export._code import CCode
from skscn.tables.filling import Filling

_ROUND = """
for (int r = 0; r < {rounds}; r++) {{
    real found[{k}];
    for (int j = 0; j < {k}; j++) {{
        if (x[{columns}[j]] == x[{columns}[j]]) continue;
        real f = {intercepts}[{k} * r + j];
        for (int i = 0; i < {d}; i++) f += z[i] * {slopes}[({d} * r + i) * {k} + j];
        found[j] = {clamp}(f, {low}[j], {high}[j]);
    }}
    for (int j = 0; j < {k}; j++) if (x[{columns}[j]] != x[{columns}[j]]) z[{columns}[j]] = found[j];
}}
"""


def filled(code: CCode, filling: Filling) -> str:
    """A function ``void (const real *x, real *z)``: the row without NaN, and the marks."""
    d, k, marks = filling.n_features, len(filling.columns), len(filling.marked)
    medians = code.table("medians", filling.medians)
    body = f"for (int i = 0; i < {d}; i++) z[i] = x[i] == x[i] ? x[i] : {medians}[i];\n"
    if len(filling.slopes):
        tables = {name: code.table(name, getattr(filling, name)) for name in ("slopes", "intercepts", "low", "high")}
        columns = code.integers("columns", filling.columns)
        body += _ROUND.format(rounds=len(filling.slopes), d=d, k=k, columns=columns, clamp=code.clamp(), **tables)
    if marks:
        marked = code.integers("marked", filling.marked)
        body += f"for (int i = 0; i < {marks}; i++) z[{d} + i] = x[{marked}[i]] != x[{marked}[i]];"
    return code.function("filled", "void", "const real *x, real *z", body)
