"""What the program says: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console

from skscn.words import printable


class Voice:
    """Notes on standard error, results on standard output.

    Parameters
    ----------
    quiet : bool
        Whether to keep notes and progress to oneself.
    as_json : bool
        Whether results are one JSON object.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False):
        self.quiet, self.as_json = quiet, as_json
        self.errors = Console(stderr=True, highlight=False, soft_wrap=True, quiet=quiet)

    def note(self, text: str) -> None:
        """Say something that is good to know."""
        self.errors.print(printable(text), markup=False)

    def notes(self, texts: Iterable[str]) -> None:
        """Say several things, one line each."""
        for text in texts:
            self.note(f"- {text}")

    def result(self, facts: dict[str, Any], lines: Iterable[tuple[str, str]]) -> None:
        """Give the result: facts as JSON if asked for, else lines of a heading and a text."""
        if self.as_json:
            write_text(json.dumps(finite(facts), indent=2, ensure_ascii=False, default=_plain) + "\n")
            return
        lines = list(lines)
        width = max(len(heading) for heading, _ in lines)
        write_text("".join(f"{heading:{width}}  {text}".rstrip() + "\n" for heading, text in lines))


def write_text(text: str) -> None:
    """Write to standard output as UTF-8, whatever the terminal says about itself."""
    write_bytes(printable(text).encode())


def write_bytes(content: bytes) -> None:
    """Write to standard output."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def finite(facts: Any) -> Any:
    """Facts for JSON, which has no NaN and no infinity: null in their place."""
    if isinstance(facts, dict):
        return {name: finite(value) for name, value in facts.items()}
    if isinstance(facts, list):
        return [finite(value) for value in facts]
    return None if isinstance(facts, float) and not math.isfinite(facts) else facts


def _plain(value: Any) -> Any:
    """What JSON can hold of a value of NumPy."""
    return value.item() if hasattr(value, "item") else str(value)


def short(number: float) -> str:
    """A number with four digits that count: "51,450", "0.8011"."""
    return f"{float(f'{number:.4g}'):,.10g}"


def size(n_bytes: int) -> str:
    """A number of bytes, readable."""
    units = ("bytes", "kB", "MB", "GB")
    power = min((max(n_bytes, 1).bit_length() - 1) // 10, 3)
    return f"{float(f'{n_bytes / 1024**power:.3g}'):g} {units[power]}" if power else f"{n_bytes} bytes"
