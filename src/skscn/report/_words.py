"""Numbers and lists as people write them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np


def number(value: float) -> str:
    """Three significant digits, or all those before the point; powers of ten only where nothing else is readable."""
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "−∞"}.get(value, "–")
    if value == round(value) or abs(value) >= 1000:
        text = f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.2e}"
    else:
        text = f"{value:#.3g}".removesuffix(".") if abs(value) >= 1e-4 else f"{value:.2e}"
    return text.replace("-", "−")


def percent(share: float) -> str:
    """A share, with one digit after the point where it is near 0 or 1."""
    if not math.isfinite(share):
        return "–"
    digits = 0 if 0.1 <= abs(share) <= 0.9 else 1
    return f"{100 * share:.{digits}f}".removesuffix(".0").replace("-", "−") + "\N{NO-BREAK SPACE}%"


def fixed(value: float) -> str:
    """Three digits after the point; what rounds to 0 has no sign."""
    return f"{round(value, 3) + 0.0:.3f}".replace("-", "−")


def alike(numbers: Iterable[float]) -> list[str]:
    """Numbers of one kind, with as many digits after the point as most of them need to show three."""
    values = np.array(list(numbers), dtype=np.float64)
    sizes = np.abs(values[np.isfinite(values) & (values != 0.0)])
    if not sizes.size or sizes.max() >= 1e9 or np.median(sizes) < 1e-4:
        return list(map(number, values))
    whole = (values == values.round()).all()
    digits = 0 if whole else max(0, 2 - math.floor(math.log10(np.median(sizes))))
    return [f"{value:,.{digits}f}".replace("-", "−") if math.isfinite(value) else number(value) for value in values]


def share(value: float) -> str:
    """A share in a table: one digit after the point."""
    return f"{100 * value:.1f}".replace("-", "−") + "\N{NO-BREAK SPACE}%" if math.isfinite(value) else "–"


def enumerated(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
