"""The tables of the page on series, from stored results, between two marks."""

import csv
from pathlib import Path
from statistics import median

RESULTS = "series_results.csv"
BEGIN, END = "<!-- tables: ./run bench series --page -->", "<!-- end of tables -->"
OURS, FULL = "RSCN", 5
METHODS = {
    OURS: "RecurrentSCNRegressor",
    "ESN": "echo state network",
    "NVAR": "NVAR",
    "lagged HGB": "boosting on lags",
}
LATE = {
    "learning": "stream",
    "last known": "last known target",
    "value": "no learning",
    "fixed": "fixed intervals",
    "steered": "steered intervals",
    "stream": "intervals of the stream",
}
SHARES = ("fixed", "steered", "stream")
FIELDS = ("task", "method", "seed", "nodes", "length", "echo", "microseconds", "bounded", *LATE)
# Tasks whose figures are lengths of time: larger ones are better.
FREE = "free"


def write_results(lines: list[dict], path: Path) -> None:
    """One line for each task, method and seed."""
    ordered = sorted(lines, key=lambda line: (line["task"], line["method"], line["seed"]))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for line in ordered:
            writer.writerow({name: _text(value) for name, value in line.items()})


def _text(value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def read_results(path: Path) -> list[dict]:
    """The lines of such a file; figures as numbers."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: _figure(name, text) for name, text in row.items() if text} for row in csv.DictReader(file)]


def _figure(name: str, text: str):
    if name in ("task", "method"):
        return text
    return text == "True" if name == "bounded" else int(text) if name == "seed" else float(text)


def write_page(lines: list[dict], path: Path) -> None:
    """Put the tables between the marks of a page, and the results next to it."""
    write_results(lines, path.parent / RESULTS)
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    stored = read_results(path.parent / RESULTS)
    path.write_text(f"{before}{BEGIN}\n\n{tables(stored)}\n{END}{after}", encoding="utf-8", newline="\n")


def tables(lines: list[dict]) -> str:
    """Medians over the seeds of each task, late labels, and what was checked."""
    parts = [comparison(lines), late_table(lines), checks([line for line in lines if line["method"] == OURS])]
    return "\n\n".join(part for part in parts if part) + "\n"


def comparison(lines: list[dict]) -> str:
    """NRMSE on later rows; for free runs the valid time."""
    found = [method for method in METHODS if any(line["method"] == method for line in lines)]
    rows = ["| task | " + " | ".join(METHODS[method] for method in found) + " |", "|---|" + "---|" * len(found)]
    for task in dict.fromkeys(line["task"] for line in lines):
        values = {m: [line["value"] for line in lines if (line["task"], line["method"]) == (task, m)] for m in found}
        medians = [median(some) for some in values.values() if some]
        best = max(medians) if task.endswith(FREE) else min(medians)
        cells = [_cell(some, best) for some in values.values()]
        rows.append(f"| {task} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _cell(values: list[float], best: float) -> str:
    if not values:
        return ""
    text = f"{median(values):,.0f}" if median(values) >= 100 else f"{median(values):.3g}"
    text = f"**{text}**" if median(values) == best else text
    return text if len(values) >= FULL else f"{text} ({len(values)})"


def late_table(lines: list[dict]) -> str:
    """Errors with targets that come late, and shares of targets within intervals."""
    tasks = dict.fromkeys(line["task"] for line in lines if "learning" in line)
    rows = ["| targets 5 rows late | " + " | ".join(LATE.values()) + " |", "|---|" + "---|" * len(LATE)]
    for task in tasks:
        some = [line for line in lines if line["task"] == task and "learning" in line]
        cells = [
            f"{median(line[name] for line in some):{'.0%' if name in SHARES else '.3g'}}".replace("%", " %")
            for name in LATE
        ]
        seeds = "" if len(some) >= FULL else f" ({len(some)})"
        rows.append(f"| {task}{seeds} | " + " | ".join(cells) + " |")
    return "\n".join(rows) if tasks else ""


def checks(ours: list[dict]) -> str:
    """What holds for every model of ours."""
    if not ours:
        return ""
    free, times = [line["bounded"] for line in ours if "bounded" in line], [line["microseconds"] for line in ours]
    text = (
        f"{len(ours)} models: after 500 rows, two initial states differ by at most "
        f"{max(line['echo'] for line in ours):.0e}; one prediction of a stream takes {median(times):.0f} µs "
        f"(the median of their medians; the largest of them is {max(times):.0f} µs)"
    )
    return text + (f"; {sum(free)} of {len(free)} free runs of 10,000 rows stay bounded." if free else ".")
