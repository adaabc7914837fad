"""Tables of measurements, in Markdown and for a terminal."""

from dataclasses import dataclass

COLOURS = {"ladder": "#2563eb", "polished": "#c2410c", "SCN": "#c2410c", "MLP": "#2563eb", "boosting": "#059669"}


@dataclass(frozen=True)
class Table:
    """A table, and what is to be said about it."""

    title: str
    header: list[str]
    rows: list[list[str]]
    note: str = ""

    def markdown(self) -> list[str]:
        """Its lines in Markdown, the first column to the left."""
        lines = [f"### {self.title}", ""]
        lines += [f"| {' | '.join(self.header)} |", f"|---|{'---:|' * (len(self.header) - 1)}"]
        lines += [f"| {' | '.join(row)} |" for row in self.rows]
        return [*lines, "", self.note] if self.note else lines

    def text(self) -> str:
        """The table for a terminal."""
        everything = [self.header, *self.rows]
        widths = [max(len(row[i]) for row in everything) for i in range(len(self.header))]
        lines = [
            "  ".join(f"{text:<{width}}" if i == 0 else f"{text:>{width}}" for i, (text, width) in enumerate(pairs))
            for pairs in (list(zip(row, widths, strict=True)) for row in everything)
        ]
        return "\n".join(["", self.title, *lines, *([self.note] if self.note else [])])


def seconds_text(seconds: float) -> str:
    """A time in a unit that suits it."""
    unit, scale = next(((u, s) for u, s in (("s", 1.0), ("ms", 1e-3)) if seconds >= s), ("µs", 1e-6))
    return f"{seconds / scale:.3g} {unit}" if seconds < 1000 else f"{seconds:.0f} s"


def times_text(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 20 else f"{ratio:.2f}"
