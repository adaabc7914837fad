"""Sentences about names: lists that stay short, and what somebody may have meant."""

import difflib
from collections.abc import Iterable, Sequence

_MOST_NAMES_LISTED = 20


def listed(names: Iterable[str]) -> str:
    """The names with commas between them; the last ones of many are only counted."""
    names = list(names)
    more = f" and {len(names) - _MOST_NAMES_LISTED} more" if len(names) > _MOST_NAMES_LISTED else ""
    return ", ".join(map(str, names[:_MOST_NAMES_LISTED])) + more


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The one of the names that is nearly this one, whatever the case of its letters."""
    by_folded = {str(known).casefold(): known for known in names}
    near = difflib.get_close_matches(name.casefold(), by_folded, n=1)
    return by_folded[near[0]] if near else None


def not_found(kind: str, name: str, names: Sequence[str]) -> str:
    """Say that there is no column, parameter … of this name, which one is near, and which there are."""
    near = nearest(name, names)
    guess = f"did you mean {near!r}? The" if near is not None else "the"
    return f"There is no {kind} {name!r}; {guess} {kind}s are {listed(names)}."


def printable(text: str) -> str:
    """The text without signs that would steer a terminal; lines stay."""
    return "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in text)


def refuse_twins(columns: Sequence[str]) -> None:
    """Raise ValueError where two columns have one name."""
    twins = sorted({name for name in columns if columns.count(name) > 1})
    if twins:
        raise ValueError(f"There are several columns {twins[0]!r}; rename all but one.")
