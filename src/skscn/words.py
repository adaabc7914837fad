"""Wording of messages: counts, numbers, short lists of names, and suggestions for misspelt names."""

import difflib
import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

_MOST_NAMES_LISTED = 20
# Number of characters of a name or a value that a message shows.
_MOST_CHARACTERS = 60
_MOST_COMPARED = 200


def listed(names: Iterable[str]) -> str:
    """The names separated by commas; in a long list the last ones are only counted."""
    names = list(names)
    more = f" and {len(names) - _MOST_NAMES_LISTED} more" if len(names) > _MOST_NAMES_LISTED else ""
    return ", ".join(shortened(str(name)) for name in names[:_MOST_NAMES_LISTED]) + more


def shortened(text: str) -> str:
    """The text on one line, with its middle left out if it is long."""
    half = _MOST_CHARACTERS // 2
    text = text if len(text) <= _MOST_CHARACTERS else f"{text[:half]}…{text[-half + 1 :]}"
    return " ".join(printable(text).splitlines())


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number and its noun: "1 row", "2,000 rows"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def quoted(text: str) -> str:
    """A name or a value in quotes, shortened."""
    return repr(shortened(text))


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The most similar of the names, ignoring case, if one is similar enough."""
    # The time to compare grows with the square of the length.
    by_folded = {str(known)[:_MOST_COMPARED].casefold(): known for known in names}
    near = difflib.get_close_matches(name[:_MOST_COMPARED].casefold(), by_folded, n=1)
    return by_folded[near[0]] if near else None


def not_found(kind: str, name: str, names: Sequence[str]) -> str:
    """Say that there is no column, parameter … of this name, which one is similar, and which ones exist."""
    near = nearest(name, names)
    guess = f"did you mean {quoted(near)}? The" if near is not None else "the"
    return f"There is no {kind} {quoted(name)}; {guess} {kind}s are {listed(names)}."


def printable(text: str) -> str:
    """The text without control characters, which a terminal would interpret; line breaks are kept."""
    return "".join(character if character.isprintable() or character == "\n" else " " for character in text)


def refuse_twins(columns: Sequence[str]) -> None:
    """Raise ValueError if two columns have the same name."""
    seen: set[str] = set()
    for name in columns:
        if name in seen:
            raise ValueError(f"There are several columns {quoted(name)}; rename all but one.")
        seen.add(name)


def short(number: float) -> str:
    """A number with four significant digits: "51,450", "0.8011"."""
    return f"{float(f'{number:.4g}'):,.10g}"


def size(n_bytes: int) -> str:
    """A readable number of bytes."""
    units = ("bytes", "kB", "MB", "GB")
    power = min((max(n_bytes, 1).bit_length() - 1) // 10, 3)
    return f"{float(f'{n_bytes / 1024**power:.3g}'):g} {units[power]}" if power else f"{n_bytes} bytes"


def finite(facts: Any) -> Any:
    """Facts for JSON, which has no NaN and no infinity: null in their place."""
    if isinstance(facts, dict):
        return {name: finite(value) for name, value in facts.items()}
    if isinstance(facts, list):
        return [finite(value) for value in facts]
    return None if isinstance(facts, float) and not math.isfinite(facts) else facts


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
    values = [float(value) for value in numbers]
    sizes = [abs(value) for value in values if math.isfinite(value) and value != 0.0]
    if not sizes or max(sizes) >= 1e9 or median(sizes) < 1e-4:
        return list(map(number, values))
    whole = all(value.is_integer() for value in values)
    digits = 0 if whole else max(0, 2 - math.floor(math.log10(median(sizes))))
    return [f"{value:,.{digits}f}".replace("-", "−") if math.isfinite(value) else number(value) for value in values]


def share(value: float) -> str:
    """A share in a table: one digit after the point."""
    return f"{100 * value:.1f}".replace("-", "−") + "\N{NO-BREAK SPACE}%" if math.isfinite(value) else "–"


def enumerated(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
