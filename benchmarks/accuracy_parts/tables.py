"""Tables with a column for each method: in a terminal, as CSV and as Markdown."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Row:
    """A line of a table: one number for each method, NaN where there is none, infinite where it failed."""

    label: str
    values: np.ndarray
    digits: int
    has_best: bool = False

    def texts(self) -> list[str]:
        """The numbers as text."""
        return [
            "failed" if value == np.inf else "-" if np.isnan(value) else f"{value:.{self.digits}f}"
            for value in self.values
        ]

    def exact(self) -> list[str]:
        """The numbers for a CSV file."""
        return ["failed" if value == np.inf else "" if np.isnan(value) else f"{value:.6g}" for value in self.values]

    def is_best(self) -> np.ndarray:
        """Where the smallest number is, if the smallest is the best one."""
        finite = np.isfinite(self.values)
        if not self.has_best or not finite.any():
            return np.zeros(len(self.values), dtype=bool)
        return self.values == self.values[finite].min()


@dataclass(frozen=True)
class TextRow:
    """A line of a table with a text for each method, such as 12 : 3."""

    label: str
    cells: list[str]

    def texts(self) -> list[str]:
        return self.cells

    def exact(self) -> list[str]:
        """The texts for a CSV file."""
        return ["" if cell == "-" else cell for cell in self.cells]

    def is_best(self) -> np.ndarray:
        """Nowhere: texts have no best."""
        return np.zeros(len(self.cells), dtype=bool)


@dataclass(frozen=True)
class Table:
    """Numbers of all methods, and what is to be said about them."""

    title: str
    methods: list[str]
    rows: Sequence[Row | TextRow]
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
            {"table": self.title, "row": row.label} | dict(zip(self.methods, row.exact(), strict=True))
            for row in self.rows
        ]


def put_tables(page: str, tables: dict[str, list[str]]) -> str:
    """A page with tables in the places that comments mark: <!-- table NAME --> and <!-- end -->."""
    for name, lines in tables.items():
        before, mark, rest = page.partition(f"<!-- table {name} -->\n")
        if mark:
            page = before + mark + "\n".join([*lines, "<!-- end -->"]) + rest.partition("<!-- end -->")[2]
    return page


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
    lines = [f"# {title}"]
    for table in tables:
        lines += ["", *table.markdown()]
    if failed:
        lines += ["", "## Failed", "", *(f"- {line}" for line in failed)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
