"""Tables with a column for each method: in a terminal, as CSV and as Markdown."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from accuracy_parts.summary import Row


@dataclass(frozen=True)
class Table:
    """Numbers of all methods, and what is to be said about them."""

    title: str
    methods: list[str]
    rows: list[Row]
    notes: Sequence[str] = ()

    def text(self) -> str:
        """The table for a terminal."""
        lines = [(self.title, self.methods), *((row.label, row.texts()) for row in self.rows)]
        first = max(len(label) for label, _ in lines)
        widths = [2 + max(len(texts[i]) for _, texts in lines) for i in range(len(self.methods))]
        body = [f"{label:{first}}" + "".join(map(str.rjust, texts, widths)) for label, texts in lines]
        return "\n".join(["", *body, *self.notes])

    def markdown(self) -> list[str]:
        """Its lines in Markdown, the best in bold."""
        lines = [f"## {self.title}", "", f"| | {' | '.join(self.methods)} |", f"|---|{'---:|' * len(self.methods)}"]
        for row in self.rows:
            texts = [f"**{text}**" if best else text for text, best in zip(row.texts(), row.is_best(), strict=True)]
            lines.append(f"| {row.label} | {' | '.join(texts)} |")
        return [*lines, *(line for note in self.notes for line in ("", note))]

    def records(self) -> list[dict[str, str]]:
        """Its lines for a CSV file, in full precision."""
        return [
            {"table": self.title, "row": row.label} | dict(zip(self.methods, map(number, row.values), strict=True))
            for row in self.rows
        ]


def number(value: float) -> str:
    return "failed" if value == np.inf else "" if np.isnan(value) else f"{value:.6g}"


def write_csv(tables: list[Table], path: Path) -> None:
    """Write tables below each other, their titles in the first column."""
    methods = dict.fromkeys(method for table in tables for method in table.methods)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["table", "row", *methods], restval="", lineterminator="\n")
        writer.writeheader()
        for table in tables:
            writer.writerows(table.records())


def write_markdown(title: str, tables: list[Table], failed: list[str], path: Path) -> None:
    """Write tables and failures as a page."""
    lines = [f"# Losses: {title}"]
    for table in tables:
        lines += ["", *table.markdown()]
    if failed:
        lines += ["", "## Failed", "", *(f"- {line}" for line in failed)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
