"""Missing numbers filled in, in C."""

from __future__ import annotations

from skscn.export._code import CCode
from skscn.export._networks import scaled
from skscn.tables.filling import Filling

_ROUNDS = """
real s[{d}], v[{d}];
{scores}(z, s);
for (int r = 0; r < {rounds}; r++) {{
    real found[{k}];
    for (int j = 0; j < {k}; j++) {{
        found[j] = {intercepts}[{k} * r + j];
        for (int i = 0; i < {d}; i++) found[j] += s[i] * {slopes}[({d} * r + i) * {k} + j];
    }}
    for (int j = 0; j < {k}; j++) if (x[{columns}[j]] != x[{columns}[j]]) s[{columns}[j]] = found[j];
}}
{values}(s, v);
for (int j = 0; j < {k}; j++) if (x[{columns}[j]] != x[{columns}[j]]) z[{columns}[j]] = v[{columns}[j]];
"""


def filled(code: CCode, filling: Filling) -> str:
    """A function ``void (const real *x, real *z)``: the row without NaN, and the marks."""
    d, k, marks = filling.n_features, len(filling.columns), len(filling.marked)
    medians = code.table("medians", filling.medians)
    body = f"for (int i = 0; i < {d}; i++) z[i] = x[i] == x[i] ? x[i] : {medians}[i];\n"
    if filling.slopes.size:
        names = {
            "slopes": code.table("slopes", filling.slopes),
            "intercepts": code.table("intercepts", filling.intercepts),
            "columns": code.integers("columns", filling.columns),
            "scores": scaled(code, filling.scores),
            "values": scaled(code, filling.values),
        }
        body += _ROUNDS.format(rounds=len(filling.slopes), d=d, k=k, **names)
    if marks:
        marked = code.integers("marked", filling.marked)
        body += f"for (int i = 0; i < {marks}; i++) z[{d} + i] = x[{marked}[i]] != x[{marked}[i]];"
    return code.function("filled", "void", "const real *x, real *z", body)
