"""Numbers and lists as people write them."""

from __future__ import annotations

import math
from collections.abc import Sequence


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
    """Three digits after the point."""
    return f"{value:.3f}".replace("-", "−")


def count(how_many: int, what: str, many: str | None = None) -> str:
    """1 row, 2,000 rows."""
    return f"{how_many:,} {what if how_many == 1 else many or what + 's'}"


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
