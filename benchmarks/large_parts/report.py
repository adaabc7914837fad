"""Tables of what was measured: errors, times and memory, by rows, and how they grow."""

import numpy as np
from accuracy_parts.tables import Row, Table
from speed_parts.machine import machine

from large_parts.fits import BLOCK, OURS, TEST_ROWS
from skscn.paper.trials import KeyedLines

# Name -> label, unit, digits, whether a smaller number is better.
QUANTITIES = {
    "nrmse": ("NRMSE", 1.0, 4, True),
    "cpu": ("fit, processor seconds", 1.0, 1, True),
    "predict": ("prediction, microseconds a row", 1e6, 2, True),
    "peak_bytes": ("peak memory, MiB", 2.0**-20, 0, True),
    "nodes": ("nodes", 1.0, 0, False),
}
TITLES = {"friedman": "Friedman's function", "jumps": "A function with jumps"}
INTRODUCTION = f"""\
Every fit has a process of its own and one thread. Inputs are in single precision for all methods, which convert them as
they like; {TEST_ROWS:,} test rows. NRMSE is the test RMSE divided by the standard deviation of the test target, both
with noise. Times are processor times. Peak memory is the most that the process held, including the rows themselves
(drawn in blocks of {BLOCK:,}). The numbers after LightGBM and boosting (scikit-learn's histogram gradient boosting,
without early stopping) are those of their trees; other parameters are the defaults."""


def counted(rows: int) -> str:
    """A number of rows, such as 1,000,000."""
    return f"{rows:,}"


def values(store: KeyedLines, function: str, rows: int, methods: list[str], name: str) -> np.ndarray:
    """One quantity of all methods: infinite where the fit failed, NaN where there is none."""
    results = [store.results.get((function, rows, method), {}) for method in methods]
    found = [np.inf if "failed" in result else result.get(name) for result in results]
    return np.array([np.nan if value is None else value for value in found], dtype=float)


def slopes(rows: list[int], times: np.ndarray) -> np.ndarray:
    """The slope of a line through log time against log rows, for each column; NaN with fewer than two points."""
    found = []
    for column in times.T:
        there = np.isfinite(column) & (column > 0)
        x = np.log(np.array(rows, dtype=float)[there])
        found.append(np.polyfit(x, np.log(column[there]), 1)[0] if len(x) > 1 else np.nan)
    return np.array(found)


def table_of(store: KeyedLines, function: str, rows: list[int], methods: list[str]) -> Table:
    """All quantities of a function, and how the time of a fit grows."""
    lines = []
    for name, (label, unit, digits, has_best) in QUANTITIES.items():
        for count in rows:
            found = unit * values(store, function, count, methods, name)
            if np.isfinite(found).any():
                lines.append(Row(f"{counted(count)} rows: {label}", found, digits, has_best))
    times = np.array([values(store, function, count, methods, "cpu") for count in rows])
    growth = [Row("slope of log fit time against log rows", slopes(rows, times), 2)] if len(rows) > 1 else []
    notes = [sentence for count in rows for sentence in against_others(store, function, count, methods)]
    return Table(TITLES[function], methods, [*lines, *growth], [*floor_note(store, function), *notes])


def floor_note(store: KeyedLines, function: str) -> list[str]:
    """The error that noise alone makes."""
    floors = [result["noise"] for (name, *_), result in store.results.items() if name == function and "noise" in result]
    return [f"The noise alone makes an NRMSE of {floors[0]:.4f}."] if floors else []


def against_others(store: KeyedLines, function: str, rows: int, methods: list[str]) -> list[str]:
    """Our error and our times over those of each of the others."""
    if OURS not in methods:
        return []
    said = []
    for name, what in (("nrmse", "error"), ("cpu", "fit time"), ("predict", "prediction time")):
        found = values(store, function, rows, methods, name)
        ratios = found[methods.index(OURS)] / found
        texts = [
            f"{method} {ratio:.3g}"
            for method, ratio in zip(methods, ratios, strict=True)
            if method != OURS and 0.0 < ratio < np.inf
        ]
        if texts:
            said.append(f"{what} {', '.join(texts)}")
    return [f"{OURS} over the others, {counted(rows)} rows: {'; '.join(said)}."] if said else []


def failures(store: KeyedLines) -> list[str]:
    """What failed, and why."""
    return [
        f"{function}, {counted(rows)} rows, {method}: {result['failed']}"
        for (function, rows, method), result in store.results.items()
        if "failed" in result
    ]


def page(tables: list[Table], failed: list[str]) -> str:
    """All tables in Markdown."""
    lines = ["# Large tables", "", *machine(), "", INTRODUCTION]
    for table in tables:
        lines += ["", *table.markdown()]
    if failed:
        lines += ["", "## Failed", "", *(f"- {line}" for line in failed)]
    return "\n".join(lines) + "\n"
