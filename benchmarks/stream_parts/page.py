"""The tables of docs/evidence_streams.md, from the results in docs."""

from pathlib import Path

from accuracy_parts.tables import put_tables

from stream_parts import results


def renew(docs: Path) -> None:
    page = docs / "evidence_streams.md"
    if page.exists():
        page.write_text(renewed(page.read_text(encoding="utf-8"), docs), encoding="utf-8")


def renewed(text: str, docs: Path) -> str:
    """The page with its tables written anew, between the comments that mark them."""
    return put_tables(
        text,
        {
            "errors": errors(results.read(docs / "stream_results.csv")),
            "drift": drift(results.read(docs / "stream_drift.csv")),
            "faults": faults(results.read(docs / "stream_faults.csv")),
        },
    )


def errors(lines: list[dict[str, str]]) -> list[str]:
    """Mean absolute errors, one row for each method; the best of each stream in bold."""
    streams, methods = complete(lines)
    cells = {(line["method"], line["stream"]): float(line["mae"]) for line in lines}
    best = {stream: min(cells[method, stream] for method in methods) for stream in streams}
    table = heading(["method", *streams])
    for method in methods:
        values = [(cells[method, stream], best[stream]) for stream in streams]
        shown = [f"**{number(value)}**" if value == least else number(value) for value, least in values]
        table.append(f"| {method} | " + " | ".join(shown) + " |")
    return table


def complete(lines: list[dict[str, str]]) -> tuple[list[str], list[str]]:
    """The streams on which all methods have been measured, and the methods."""
    streams, methods = (list(dict.fromkeys(line[key] for line in lines)) for key in ("stream", "method"))
    return [name for name in streams if sum(line["stream"] == name for line in lines) == len(methods)], methods


def drift(lines: list[dict[str, str]]) -> list[str]:
    names = ["stream", "RMSE", "oracle", "ratio", "alarms", "of these unfounded", "adaptive intervals", "fixed width"]
    table = heading(names)
    for line in lines:
        adaptive, fixed = (
            f"{float(line[f'lowest_{kind}']):.1%} to {float(line[f'highest_{kind}']):.1%}"
            for kind in ("coverage", "fixed")
        )
        numbers = [f"{float(line[name]):.3f}" for name in ("rmse", "oracle_rmse", "ratio")]
        counts = [line["alarms"], line["unfounded_alarms"]]
        table.append("| " + " | ".join([line["stream"], *numbers, *counts, adaptive, fixed]) + " |")
    return table


def faults(lines: list[dict[str, str]]) -> list[str]:
    names = ["stream", "faulty rows", "RMSE", "without spikes", "ratio"]
    table = heading(names)
    for line in lines:
        numbers = [f"{float(line[name]):.3f}" for name in ("rmse", "rmse_without_spikes", "ratio")]
        table.append("| " + " | ".join([line["stream"], line["faulty_rows"], *numbers]) + " |")
    return table


def heading(names: list[str]) -> list[str]:
    return ["| " + " | ".join(names) + " |", "|---" * len(names) + "|"]


def number(value: float) -> str:
    """Three digits."""
    return f"{value:.0f}" if value >= 1000 else f"{value:#.3g}".rstrip(".")
