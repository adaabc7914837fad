"""What ``skscn fit`` says about simulated plants, against what the rows that follow show.

Each plant is a table of five-minute rows, in order of time (``plants_parts/simulators.py``). The model is fitted on the
first half of the rows. The R², the RMSE and the coverage of 90 % intervals that ``fit`` prints are compared with those
on the second half, and every plant is counted as one of these:

    honest       R² is at most 0.15 below the one that was said
    cautioned    R² is further below, and a caution said why that may be
    misleading   R² is further below, without a caution
    false alarm  R² differs by at most 0.15 from the one that was said, on a plant that is steady, and a caution said
                 that it cannot be relied on

On steady plants, 90 % intervals have to hold 80 to 97 % of the following rows, or must have been remarked on: by a
caution, or by a range for later rows that has what they hold. That errors are larger where inputs leave the range of
earlier rows is true of steady plants too: it says why R² may be further below, and is no false alarm. On faulty plants,
whose training rows were recorded wrongly, a caution has to name the column, and none may speak of drift.

Training rows cannot show that inputs will move later. ``predict`` says so, without knowing targets: ``outside`` is the
largest share of the second half's rows in which it names an input as outside the range of training.

usage: ./run bench plants [PLANT ...] [--kind steady changing faulty] [--seeds 3] [--first-seed 0] [--rows 4000]
                          [--out FILE.csv] [-- options of skscn fit]
       ./run bench plants rectification neutralisation -- --time Timestamp --lags auto
       ./run bench plants --kind changing -- --estimator network
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import json
import os
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from plants_parts.simulators import CHANGING, FAULTY, PLANTS, STEADY, Columns

_START = dt.datetime(2024, 3, 1)
_MISLEADING = 0.15
_COVERAGE = (0.80, 0.97)
_KINDS = {"steady": STEADY, "changing": CHANGING, "faulty": FAULTY}
# Cautions that are about something else than how far R² can be relied on.
_OTHER = ("far outside the range", "ntervals are too", "no better than")
# A caution that says why R² may fall, and not that it will.
_WHERE = "Errors are larger where inputs leave the range"
# Words that name what is wrong with a column.
_FAULTS = ("marker for a missing value", "frozen", "units")


def target_of(columns: Columns) -> str:
    """The column to predict: the last one."""
    return list(columns)[-1]


def write(path: Path, columns: Columns, rows: slice) -> Path:
    """Write some rows as CSV, with their time in front."""
    numbers = range(*rows.indices(len(next(iter(columns.values())))))
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["Timestamp", *columns])
        for row in numbers:
            when = _START + dt.timedelta(minutes=5 * row)
            table.writerow([when, *(f"{values[row]:.5g}" for values in columns.values())])
    return path


def skscn(*arguments) -> dict:
    """What a command of the program says, as JSON."""
    from typer.testing import CliRunner

    from skscn.cli.app import app

    done = CliRunner().invoke(app, [*map(str, arguments), "--json", "--quiet"], catch_exceptions=False)
    if done.exit_code:
        raise RuntimeError(done.stdout + done.stderr)
    return json.loads(done.stdout)


def measure(name: str, seed: int, n_rows: int, options: list[str]) -> dict:
    """Fit on the first half of a plant's rows, and compare what was said with the second half."""
    columns = PLANTS[name](n_rows, seed)
    with tempfile.TemporaryDirectory() as place:
        known, later = (
            write(Path(place) / f"{part}.csv", columns, rows)
            for part, rows in (("known", slice(0, n_rows // 2)), ("later", slice(n_rows // 2, n_rows)))
        )
        model = Path(place) / "model.scn"
        said = skscn("fit", known, "-t", target_of(columns), "-m", model, "--jobs", 1, *options)
        found = skscn("evaluate", model, later)
        held = said["tested"].get("interval_90")
        y = None if held is None else columns[target_of(columns)][n_rows // 2 :]
        inside, outside = _predicted(model, later, y)
        record = {
            **{
                "plant": name,
                "seed": seed,
                "kind": next(kind for kind, some in _KINDS.items() if PLANTS[name] in some),
            },
            **{"said": said["tested"]["r2"]["mean"], "found": found["r2"]},
            **{"said rmse": said["tested"]["rmse"]["mean"], "found rmse": found["rmse"]},
            "said held": held,
            "found held": inside,
            "later held": said["tested"].get("later_interval_90"),
            "outside": outside,
            "cautions": said["warnings"],
        }
    return {**record, "outcome": outcome(record), "intervals": intervals(record)}


def _predicted(model: Path, later: Path, y: np.ndarray | None) -> tuple[float | None, float]:
    """The share of the targets that 90 % intervals hold, and of the rows with an input that predict says is outside."""
    predicted = later.with_name("predicted.csv")
    said = skscn("predict", model, later, "-o", predicted, *([] if y is None else ["--interval", 0.9]))
    shares = [(column["below"] + column["above"]) / column["rows"] for column in said["outside"] if column["notable"]]
    outside = max(shares, default=0.0)
    if y is None:
        return None, outside
    with predicted.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lower, upper = (np.array([float(row[name]) for row in rows]) for name in list(rows[0])[-2:])
    return float(np.mean((lower <= y) & (y <= upper))), outside


def outcome(record: dict) -> str:
    """Which of the kinds above a plant is counted as."""
    cautions = [text for text in record["cautions"] if not any(other in text for other in _OTHER)]
    if record["kind"] == "faulty":
        named = any(word in text for text in record["cautions"] for word in _FAULTS)
        return "unnamed" if not named else "called drift" if any("drift" in text for text in cautions) else "named"
    loss = record["said"] - record["found"]
    if loss > _MISLEADING:
        # Of a model that was said to be useless, nobody expects anything.
        return "cautioned" if cautions or record["said"] <= 0.0 else "misleading"
    alarms = [text for text in cautions if _WHERE not in text]
    return "false alarm" if alarms and record["kind"] == "steady" and loss >= -_MISLEADING else "honest"


def intervals(record: dict) -> str:
    """Whether intervals hold what they promise, on plants where they can."""
    if record["found held"] is None:
        return ""
    low, high = _COVERAGE
    least, most = record["later held"] or (1.0, 0.0)
    remarked = least <= record["found held"] <= most or any("nterval" in text for text in record["cautions"])
    return "hold" if low <= record["found held"] <= high else "remarked" if remarked else "off"


def _line(record: dict) -> str:
    numbers = [
        "" if record[name] is None else f"{record[name]:.3g}"
        for name in ("said", "found", "said rmse", "found rmse", "said held", "found held")
    ]
    return " | ".join(
        [f"{record['plant']} {record['seed']}", *numbers, record["outcome"], record["intervals"], *record["cautions"]]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plants", nargs="*")
    parser.add_argument("--kind", nargs="+", choices=_KINDS, default=list(_KINDS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--out", type=Path)
    own, options = sys.argv[1:], []
    if "--" in own:
        own, options = own[: own.index("--")], own[own.index("--") + 1 :]
    arguments = parser.parse_args(own)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    names = arguments.plants or [plant.__name__ for kind in arguments.kind for plant in _KINDS[kind]]
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    cases = [(name, seed, arguments.rows, options) for name in names for seed in seeds]
    records = []
    with ProcessPoolExecutor() as processes:
        for record in processes.map(measure, *zip(*cases, strict=True)):
            print(_line(record), flush=True)
            records.append(record)
    for kind in _KINDS:
        counted = [record for record in records if record["kind"] == kind]
        if counted:
            print(kind, *(dict(Counter(record[what] for record in counted)) for what in ("outcome", "intervals")))
    if arguments.out:
        with arguments.out.open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(records[0])
            for record in records:
                ends = (
                    None if record["later held"] is None else " to ".join(f"{end:.3f}" for end in record["later held"])
                )
                cells = {**record, "later held": ends, "cautions": len(record["cautions"])}.values()
                table.writerow([f"{cell:.3f}" if isinstance(cell, float) else cell for cell in cells])


if __name__ == "__main__":
    sys.exit(main())
