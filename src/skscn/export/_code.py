"""C source text: numbers that are read back exactly, tables and functions with names of their own, and activations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import dedent, indent

import numpy as np

from skscn.activations import ACTIVATIONS, Activation

DTYPES = ("float64", "float32", "int16", "int8")
_WIDTH = 120
# Bytes on a processor with addresses of 32 bits.
_BYTES = {
    "double": 8,
    "float": 4,
    "int": 4,
    "char *const": 4,
    **{f"int{bits}_t": bits // 8 for bits in (8, 16, 32, 64)},
}
# Of C and C++, and what the file itself uses.
_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """
        auto break case char const continue default do double else enum extern float for goto if inline int long
        register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
        asm bool catch class delete explicit export false friend mutable namespace new operator private protected public
        template this throw true try typename using virtual main real
        """,
    )
)

# For each registered activation, g(z) in C. Whole numbers, unlike 0.5, leave single precision as it is.
_ACTIVATIONS = {
    "sigmoid": "(1 + {tanh}(z / 2)) / 2",
    "tanh": "{tanh}(z)",
    # Beyond 40 the value is 0, and the square might overflow.
    "gaussian": "{fabs}(z) > 40 ? 0 : {exp}(-z * z)",
    "sine": "{sin}(z)",
    "cosine": "{cos}(z)",
    "relu": "z > 0 ? z : 0",
}

_SOFTMAX = """
real largest = f[0], total = 0;
for (int i = 1; i < n; i++) if (f[i] > largest) largest = f[i];
for (int i = 0; i < n; i++) total += f[i] = {exp}(f[i] - largest);
for (int i = 0; i < n; i++) f[i] /= total;
"""


class CCode:
    """Collects the static tables and functions of a file; each call returns a name.

    Attributes
    ----------
    dtype : numpy.dtype
        Of ``real``.
    parts : list of str
    constants : int
        The size of all tables, in bytes.
    """

    def __init__(self, dtype: str) -> None:
        self.dtype = np.dtype(dtype)
        self.parts: list[str] = []
        self.constants = 0
        self._stack: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._names: dict[tuple[str, str, str], str] = {}

    @property
    def headers(self) -> str:
        """What a file with whole numbers of certain sizes includes."""
        return "#include <stdint.h>\n" if any("int16_t" in part for part in self.parts) else ""

    @property
    def real(self) -> str:
        """The type of its numbers."""
        return "double" if self.dtype == np.float64 else "float"

    def number(self, value: float) -> str:
        """A number, in the fewest digits from which it is read back exactly."""
        if np.isposinf(value):
            return "INFINITY"
        if not np.isfinite(value):
            raise ValueError("The model has values that are not numbers, which cannot be written in C.")
        if self.dtype == np.float64:
            return repr(float(value))
        if abs(value) > np.finfo(np.float32).max:
            raise ValueError(
                f'Numbers in the model, such as {value:g}, exceed the range of float32; use dtype="float64".'
            )
        return f"{np.float32(value)!s}f"

    def limit(self, value: float) -> str:
        """A limit, which may be beyond the largest number of the type."""
        largest = float(np.finfo(self.dtype).max)
        return self.number(min(max(value, -largest), largest))

    def math(self, name: str) -> str:
        """A function of math.h."""
        return name if self.dtype == np.float64 else f"{name}f"

    def table(self, hint: str, values: np.ndarray) -> str:
        """Numbers, row by row."""
        return self.rows(hint, "real", map(self.number, np.asarray(values, np.float64).ravel()))

    def integers(self, hint: str, values: np.ndarray, bits: int | None = None) -> str:
        """Whole numbers, of this number of bits if it is given."""
        kind = "int" if bits is None else f"int{bits}_t"
        return self.rows(hint, kind, map(str, np.asarray(values).ravel().tolist()))

    def rows(self, hint: str, kind: str, items: Iterable[str]) -> str:
        """A table of constants; one with the same text as another is written once."""
        items, count = list(items), len(self.parts)
        name = self._written(hint, f"static const {kind} ", f"[] = {braced(items)};")
        if len(self.parts) > count:
            strings = sum(map(bytes_of, items)) if kind == "char *const" else 0
            self.constants += self.size(kind) * max(len(items), 1) + strings
        return name

    def function(self, hint: str, returns: str, parameters: str, body: str) -> str:
        """A function; one with the same text as another is written once."""
        text = indent(dedent(body).strip("\n"), "    ")
        name = self._written(hint, f"static {returns} ", f"({parameters})\n{{\n{text}\n}}")
        self._stack[name] = self.stack(text)
        return name

    def size(self, kind: str) -> int:
        """The bytes of a number."""
        return _BYTES[self.real if kind == "real" else kind]

    def arrays(self, text: str) -> int:
        """The bytes of the arrays that a function or a structure declares."""
        found = re.findall(r"^ +(\w+) \w+\[(\d+)\];", text, re.MULTILINE)
        return sum(self.size(kind) * int(count) for kind, count in found)

    def stack(self, text: str) -> int:
        """The bytes of the arrays of a function, and of the largest one that it calls."""
        called = (self._stack[name] for name in set(re.findall(r"\w+", text)) & self._stack.keys())
        return self.arrays(text) + max(called, default=0)

    def activation(self, activation: Activation) -> str:
        """The function of a registered activation, real → real."""
        if activation.name not in _ACTIVATIONS or activation != ACTIVATIONS.get(activation.name):
            known = ", ".join(_ACTIVATIONS)
            raise ValueError(f"The activation {activation.name!r} has no counterpart in C; use one of {known}.")
        names = {name: self.math(name) for name in ("tanh", "exp", "sin", "cos", "fabs")}
        return self.function(
            activation.name, "real", "real z", f"return {_ACTIVATIONS[activation.name].format(**names)};"
        )

    def softmax(self) -> str:
        """A function ``void (real *f, int n)`` that works in place."""
        return self.function("softmax", "void", "real *f, int n", _SOFTMAX.format(exp=self.math("exp")))

    def logistic(self) -> str:
        """The function 1/(1 + exp(−z)), which is accurate where it is small."""
        return self.function("logistic", "real", "real z", f"return 1 / (1 + {self.math('exp')}(-z));")

    def clamp(self) -> str:
        """A function that keeps a number between limits; NaN stays."""
        body = "return z < low ? low : z > high ? high : z;"
        return self.function("clamp", "real", "real z, real low, real high", body)

    def _written(self, hint: str, before: str, after: str) -> str:
        key = (hint, before, after)
        if key not in self._names:
            self._counts[hint] = self._counts.get(hint, 0) + 1
            self._names[key] = f"{hint}_{self._counts[hint]}"
            self.parts.append(f"{before}{self._names[key]}{after}")
        return self._names[key]


def braced(items: Iterable[str]) -> str:
    """An initialiser, in lines of moderate length; C has none that is empty."""
    lines = [""]
    for item in items:
        if lines[-1] and len(lines[-1]) + len(item) + 2 > _WIDTH - 4:
            lines.append("")
        lines[-1] += f"{item}, "
    text = "\n".join(f"    {line.rstrip()}" for line in lines).rstrip(", ") or "0"
    return f"{{\n{text}\n}}" if len(lines) > 1 else f"{{{text.strip()}}}"


def nested(rows: Iterable[str]) -> str:
    """An initialiser of initialisers, one in a line."""
    text = indent(",\n".join(rows), "    ")
    return f"{{\n{text}\n}}"


def string(text: str) -> str:
    """A string literal in UTF-8, also within comments; octal numbers stand for signs that are not plain ASCII."""
    signs = (chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?*' else f"\\{byte:03o}" for byte in text.encode())
    return '"' + "".join(signs) + '"'


def bytes_of(literal: str) -> int:
    """The size of a string literal, with the zero at its end."""
    return len(re.sub(r"\\\d{3}", " ", literal)) - 1


def remark(text: str) -> str:
    """Text within a comment, which cannot end it, begin another one or continue a line."""
    text = re.sub(r"\*(?=/)|/(?=\*)|\?(?=\?)", r"\g<0> ", text)
    return "".join(sign if sign.isprintable() and sign != "\\" else " " for sign in text)


def identifier(text: str, taken: Iterable[str] = ()) -> str:
    """A name for C like the text, unlike those that are taken."""
    name = re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_") or "column"
    name = name if name[0].isalpha() else f"c_{name}"
    name = f"{name}_" if name in _KEYWORDS else name
    taken, wanted, count = set(taken), name, 2
    while name in taken:
        name, count = f"{wanted}_{count}", count + 1
    return name


def checked_name(name: str) -> str:
    """The prefix of the functions of a model; ValueError if C cannot use it."""
    if not re.fullmatch(r"[A-Za-z][0-9A-Za-z_]*", name) or name in _KEYWORDS:
        raise ValueError(
            f"name={name!r} cannot begin names in C; use letters, digits and underscores, as in 'boiler_2'."
        )
    return name
