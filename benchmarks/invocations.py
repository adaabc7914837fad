"""Outputs of many invocations of the program, to see whether a change alters anything that a user sees.

    ./run bench invocations --write before.json      on the commit before a change
    ./run bench invocations --check before.json      after it: exit code 1 where an output differs

Each story is a list of command lines that run one after the other in a folder of their own: mostly a fit and what
follows it. Recorded are the exit code, standard output and standard error of each, and the files that it writes;
seconds, timestamps, versions and sizes of model files are left out. The program runs as a process of its own, and
nothing is imported from it, so the record survives any rearrangement of its modules. Outputs are those of one machine
with the same packages. ``--only WORD`` runs the stories whose command lines or names contain a word; only these are
compared. ``--tolerance 1e-9`` lets numbers differ a little. ``--ladder`` fits networks by the paper's search, whose
nodes stay what they are when the default search changes; stories with recurrent networks, and with default fits, which
would take long, are left out then.
"""

import argparse
import csv
import difflib
import io
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = [sys.executable, "-m", "skscn.cli"]
SHOWN = 6
TABLE = list[list[str]]
RECORD = dict[str, dict[str, list[str]]]

# Settings that make fits short; stories named "default" do without them.
NETWORK = "--json --model m.scn --jobs 1 --estimator network --set max_nodes=20 --cv 2"
ENSEMBLE = "--json --model m.scn --jobs 1 --estimator ensemble --set max_nodes=20 --set n_members=3 --cv 2"
RECURRENT = "--json --model m.scn --jobs 1 --estimator recurrent --set max_nodes=12 --cv 2"

EXAMPLES = {
    "example flats": "example flats\nexample flats --seed 3 --folder other --json",
    "example plant": "example plant",
}
FLATS = {
    "flats default": """
        fit flats.csv --target rent --model m.scn
        predict m.scn flats_new.csv --interval 0.9 --keep size --keep rent""",
    "flats network": f"""
        fit flats.csv --target rent {NETWORK}
        inspect m.scn --json
        predict m.scn flats_new.csv -o predicted.csv --json --keep rent
        evaluate m.scn flats_new.csv --json
        export m.scn m.c
        predict m.scn --follow < flats_few.csv
        predict m.scn --follow --learn -o learnt.scn --keep rent < flats_few.csv
        inspect learnt.scn""",
    "flats ensemble": f"""
        fit flats.csv --target rent {ENSEMBLE}
        inspect m.scn
        predict m.scn flats_new.csv --interval 0.8 -o predicted.tsv
        evaluate m.scn flats_changed.csv --json
        update m.scn flats_new.csv --json -o updated.scn
        predict updated.scn flats_few.csv --interval 0.9
        predict m.scn --follow --learn --interval 0.9 < flats_few.csv
        report m.scn flats_new.csv --title Rents""",
    "flats in several files": f"""
        fit flats.parquet --target rent {NETWORK}
        predict m.scn flats_semicolon.csv -o predicted.parquet
        predict m.scn - < flats_semicolon.csv""",
    "flats semicolon": f"""
        fit flats_semicolon.csv --target rent {NETWORK}
        predict m.scn --follow < flats_semicolon_few.csv""",
    "flats welsch": f"""
        fit flats_spoiled.csv --target rent --loss welsch {NETWORK}
        outliers m.scn flats_spoiled.csv --json
        outliers m.scn flats_spoiled.csv --most 5 -o outliers.csv
        update m.scn flats_new.csv --json""",
    "flats welsch ensemble": f"""
        fit flats_spoiled.csv --target rent --loss welsch {ENSEMBLE}
        predict m.scn flats_few.csv --interval 0.9
        outliers m.scn flats_spoiled.csv --most 3""",
    "flats huber": f"""
        fit flats_spoiled.csv --target rent --loss huber {NETWORK}
        evaluate m.scn flats_new.csv --json""",
    "flats absolute": f"""
        fit flats.csv --target rent --loss absolute {NETWORK}
        predict m.scn flats_few.csv""",
    "flats quantile": f"""
        fit flats.csv --target rent --loss quantile --quantile 0.9 {NETWORK}
        evaluate m.scn flats_new.csv --json""",
    "flats spoiled": f"fit flats_spoiled.csv --target rent {ENSEMBLE}",
    "flats shuffle": f"fit flats_sorted.csv --target rent --shuffle --drop windows --drop floor {NETWORK}",
    "flats in order": f"fit flats_sorted.csv --target rent {NETWORK}",
    "flats groups": f"fit flats.csv --target rent --group district {NETWORK}",
    "flats weights": f"""
        fit flats.csv --target rent --weight size {ENSEMBLE}
        update m.scn flats_new.csv --weight size --json""",
    "flats untested": "fit flats.csv --target rent --model m.scn --set max_nodes=10 --set n_members=2 --cv 0 --seed 5",
    "flats settings": """
        fit flats.csv --target rent --model m.scn --estimator network --set max_nodes=8 --set activation=tanh
            --set early_stopping=gcv --set configuration=ladder --jobs 1 --cv 3
        inspect m.scn""",
    "flats as classes": f"fit flats.csv --target windows --task classification --drop rent {NETWORK}",
    "flats district": f"""
        fit flats.csv --target district --quiet {NETWORK}
        predict m.scn flats_few.csv --proba""",
}
STATES = {
    "states default": """
        fit states.csv --target state --model m.scn
        evaluate m.scn states_new.csv""",
    "states network": f"""
        fit states.csv --target state {NETWORK}
        predict m.scn states_new.csv --proba --keep note --spreadsheet
        evaluate m.scn states_new.csv --json
        update m.scn states_new.csv --json -o updated.scn
        inspect updated.scn --json
        predict m.scn --follow --learn --proba < states_new.csv
        report m.scn states_new.csv""",
    "states ensemble": f"""
        fit states.csv --target state --drop note {ENSEMBLE}
        predict m.scn states_new.csv --proba
        update m.scn states_new.csv""",
    "states balanced": f"""
        fit states.csv --target state --class-weight balanced {NETWORK}
        evaluate m.scn states_new.csv --json""",
    "states squared": f"fit states.csv --target state --loss squared --weight hours {NETWORK}",
    "states balanced ensemble": f"fit states.csv --target state --class-weight balanced --group line {ENSEMBLE}",
    "states as numbers": f"""
        fit states.csv --target grade --task regression --drop state {NETWORK}
        evaluate m.scn states_new.csv""",
    "states grade": f"fit states.csv --target grade --drop state {NETWORK}",
}
COUNTS = {
    "counts default loss": f"fit counts.csv --target alarms {NETWORK}",
    "counts poisson": f"""
        fit counts.csv --target alarms --time time --loss poisson {NETWORK}
        predict m.scn counts_new.csv
        evaluate m.scn counts_new.csv --json
        update m.scn counts_new.csv --json""",
    "counts poisson lags": f"fit counts.csv --target alarms --time time --lags 1,2 --loss poisson {ENSEMBLE}",
}
PLANT = {
    "plant default": """
        fit plant.csv --target quality --time time --lags auto --model m.scn
        predict m.scn plant_next.csv --interval 0.9""",
    "plant network": f"""
        fit plant.csv --target quality {NETWORK}
        evaluate m.scn plant_next.csv --json""",
    "plant lags": f"""
        fit plant.csv --target quality --time time --lags 1,2 {ENSEMBLE}
        inspect m.scn --json
        predict m.scn plant_next.csv --interval 0.9 --keep time
        predict m.scn plant_later.csv -o predicted.csv
        evaluate m.scn plant_later.csv --json
        update m.scn plant_next.csv --json -o updated.scn
        predict updated.scn plant_after.csv""",
    "plant lags auto": f"""
        fit plant.csv --target quality --lags auto --set max_lag=10 {NETWORK}
        inspect m.scn""",
    "plant delay": f"""
        fit plant.csv --target quality --time time --lags 1,2 --delay 3 {NETWORK}
        predict m.scn plant_next.csv
        evaluate m.scn plant_next.csv --json""",
    "plant delay auto": f"fit plant.csv --target quality --time time --lags auto --delay 1 {ENSEMBLE}",
    "plant lags welsch": f"""
        fit plant.csv --target quality --time time --lags 1,5 --loss welsch --drop pressure {NETWORK}
        outliers m.scn plant.csv --json""",
    "plant unsorted": f"fit plant_unsorted.csv --target quality --time time --lags 2 {NETWORK}",
    "plant recurrent default": """
        fit plant.csv --target quality --time time --estimator recurrent --model m.scn
        evaluate m.scn plant_next.csv""",
    "plant recurrent": f"""
        fit plant.csv --target quality --time time {RECURRENT}
        inspect m.scn --json
        predict m.scn plant_next.csv --interval 0.9
        predict m.scn plant_later.csv --keep time -o predicted.csv
        evaluate m.scn plant_next.csv --json""",
    "plant feedback": f"""
        fit plant.csv --target quality --time time --feedback {RECURRENT}
        inspect m.scn
        predict m.scn plant_next.csv --interval 0.9
        predict m.scn plant_inputs.csv
        evaluate m.scn plant_next.csv --json
        forecast m.scn --inputs plant_inputs.csv --steps 12 --interval 0.9
        forecast m.scn --inputs plant_inputs.csv -o forecast.csv --json""",
    "plant forecast": f"""
        fit quality.csv --target quality --time time --feedback {RECURRENT}
        forecast m.scn --steps 8 --interval 0.8""",
}
MACHINES = {
    "machines lags": f"""
        fit machines.csv --target quality --time time --group machine --lags 1,2 {ENSEMBLE}
        inspect m.scn
        predict m.scn machines_new.csv --interval 0.9 --keep machine
        evaluate m.scn machines_new.csv --json
        update m.scn machines_new.csv --json -o updated.scn
        report m.scn machines_new.csv --series B""",
    "machines shuffle": f"fit machines.csv --target quality --shuffle --group machine {NETWORK}",
    "machines recurrent": f"""
        fit machines.csv --target quality --time time --group machine {RECURRENT}
        predict m.scn machines_new.csv
        evaluate m.scn machines_new.csv --json""",
    "machines feedback": f"""
        fit machines.csv --target quality --time time --group machine --feedback --drop feed {RECURRENT}
        predict m.scn machines_new.csv --interval 0.9
        forecast m.scn --inputs machines_new.csv --steps 5""",
}
DISK = {
    "disk": """
        fit large.csv --target y --model m.scn --memory-limit 1 --set max_nodes=8 --json
        predict m.scn large_new.csv
        evaluate m.scn large_new.csv --json""",
    "disk welsch": "fit large.csv -t y -m m.scn --memory-limit 1 --set max_nodes=6 --loss welsch --weight w --json",
    "disk ensemble": "fit large.csv --target y --model m.scn --memory-limit 1 --estimator ensemble",
    "disk lags": "fit large.csv --target y --model m.scn --memory-limit 1 --lags 1,2",
}
ERRORS = {
    "errors of options": """
        fit flats.csv --target rent --model m.scn --cv 1
        fit flats.csv --target rent --model m.scn --delay 2
        fit flats.csv --target rent --model m.scn --lags 0
        fit flats.csv --target rent --model m.scn --quantile 0.9
        fit flats.csv --target rent --model m.scn --feedback
        fit flats.csv --target rent --model m.scn --loss wrong
        fit plant.csv --target quality --model m.scn --shuffle --time time
        fit plant.csv --target quality --model m.scn --estimator recurrent --loss welsch
        fit plant.csv --target quality --model m.scn --estimator recurrent --lags 1
        fit flats.csv --target rent --model m.scn --set nodes=20
        fit flats.csv --target rent --model m.scn --set random_state=1
        fit flats.csv --target rent
        example houses""",
    "errors of columns": """
        fit flats.csv --target rents --model m.scn
        fit flats.csv --target rent --model m.scn --drop bath
        fit flats.csv --target rent --model m.scn --weight rent
        fit flats.csv --target rent --model m.scn --time district
        fit flats.csv --target rent --model flats.csv
        fit none.csv --target rent --model m.scn
        predict none.scn flats.csv
        predict flats.csv flats.csv""",
    "errors of fits": """
        fit flats.csv --target rent --model m.scn --lags auto
        fit flats.csv --target rent --model m.scn --class-weight balanced
        fit flats.csv --target rent --model m.scn --set max_lag=9
        fit flats.csv --target rent --model m.scn --set washout=9
        fit flats.csv --target rent --model m.scn --loss log_loss
        fit flats.csv --target district --model m.scn --loss welsch
        fit flats.csv --target district --model m.scn --task regression
        fit flats.csv --target rent --model m.scn --estimator network --set n_members=3
        fit states.csv --target state --model m.scn --estimator recurrent
        fit large.csv --target y --model m.scn --loss poisson
        fit machines.csv --target quality --model m.scn --time time --lags 1,2
        fit machines.csv --target quality --model m.scn --time time --estimator recurrent
        fit machines.csv --target quality --model m.scn --time time --group machine
        fit flats.csv --target rent --model m.scn --group heating
        fit one_machine.csv --target quality --model m.scn --group machine""",
    "errors of a network": f"""
        fit flats.csv --target rent --quiet {NETWORK}
        predict m.scn flats_new.csv --interval 0.9
        predict m.scn flats_new.csv --proba
        predict m.scn flats_new.csv --keep bath
        predict m.scn plant.csv
        predict m.scn --follow < plant_next.csv
        evaluate m.scn flats_without.csv
        outliers m.scn flats_new.csv
        forecast m.scn --steps 3
        export m.scn m.txt
        predict m.scn
        predict m.scn flats.csv --learn
        predict m.scn flats.csv --interval 90
        predict m.scn flats.csv --json""",
    "errors of a series": f"""
        fit plant.csv --target quality --time time --feedback --quiet {RECURRENT}
        update m.scn plant_next.csv
        forecast m.scn --steps 3
        forecast m.scn --steps 300 --inputs plant_inputs.csv
        forecast m.scn --inputs plant_later.csv
        predict m.scn plant_inputs.csv --interval 0.9
        predict m.scn --follow < plant_next.csv""",
    "errors of two series": f"""
        fit machines.csv --target quality --time time --group machine --lags 1 --quiet {NETWORK}
        predict m.scn one_machine.csv
        predict m.scn plant_next.csv
        report m.scn machines_new.csv --series C""",
}
STORIES = EXAMPLES | FLATS | STATES | COUNTS | PLANT | MACHINES | DISK | ERRORS


def write_tables(folder: Path) -> None:
    """Write the tables of all stories: the program's examples, variations of them, and three from random numbers."""
    for name in ("flats", "plant"):
        done = run(["example", name], folder)
        if done.returncode:
            raise ChildProcessError(f"skscn example {name} has failed: {done.stderr}")
    write_flats(folder)
    write_series(folder)
    rng = np.random.default_rng(7)
    write_states(folder, rng)
    write_counts(folder, rng)
    write_large(folder, rng)


def write_flats(folder: Path) -> None:
    header, *rows = read(folder / "flats.csv")
    _, *new = read(folder / "flats_new.csv")
    size, built, listed, rent = (header.index(name) for name in ("size", "built", "listed", "rent"))
    write(folder / "flats_few.csv", [header, *new[:12]])
    write(folder / "flats_without.csv", [[cell for i, cell in enumerate(row) if i != rent] for row in [header, *new]])
    write(folder / "flats_sorted.csv", [header, *sorted(rows, key=lambda row: row[listed])])
    comma = [[cell.replace(".", ",") if i in (size, built) else cell for i, cell in enumerate(row)] for row in rows]
    write(folder / "flats_semicolon.csv", [header, *comma], delimiter=";")
    write(folder / "flats_semicolon_few.csv", [header, *comma[:5]], delimiter=";")
    spoiled = [[*row[:rent], f"{row[rent]}0"] if number % 40 == 7 else row for number, row in enumerate(rows)]
    write(folder / "flats_spoiled.csv", [header, *spoiled])
    # Sizes in square feet, a district that training did not have, and rents that follow other rules.
    changed = [list(row) for row in new]
    for number, row in enumerate(changed):
        row[size] = f"{10.764 * float(row[size]):.1f}"
        row[rent] = str(2500 - int(row[rent]) // 2)
        row[header.index("district")] = "harbour" if number % 9 == 0 else row[header.index("district")]
    write(folder / "flats_changed.csv", [header, *changed])
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(folder / "flats.csv"), folder / "flats.parquet")


def write_series(folder: Path) -> None:
    header, *rows = read(folder / "plant.csv")
    _, *later = read(folder / "plant_new.csv")
    quality = header.index("quality")
    write(folder / "plant.csv", [header, *rows[:450]])
    write(folder / "plant_next.csv", [header, *rows[450:510]])
    write(folder / "plant_after.csv", [header, *rows[510:540]])
    write(folder / "plant_later.csv", [header, *later[:60]])
    write(folder / "plant_inputs.csv", [row[:quality] for row in [header, *rows[450:480]]])
    write(folder / "plant_unsorted.csv", [header, *rows[200:450], *rows[:200]])
    write(folder / "quality.csv", [[row[0], row[quality]] for row in [header, *rows[:450]]])
    # The second machine has the measurements of a later day.
    times = [row[0] for row in rows[:300]]
    machines = [
        [time, machine, *row[1:]]
        for time, first, second in zip(times, rows[:300], rows[1000:1300], strict=True)
        for machine, row in (("A", first), ("B", second))
    ]
    header = [header[0], "machine", *header[1:]]
    write(folder / "machines.csv", [header, *machines[:500]])
    write(folder / "machines_new.csv", [header, *machines[500:560]])
    write(folder / "one_machine.csv", [header, *([row[0], "C", *row[2:]] for row in machines[500:560:2])])


def write_states(folder: Path, rng: np.random.Generator) -> None:
    """Tools that are fine, worn or, rarely, broken, with a text column and missing values."""
    n_rows = 320
    heat, speed = rng.normal(60.0, 8.0, n_rows), rng.uniform(1.0, 9.0, n_rows)
    maker = rng.choice(["Abel", "Berg", "Cohn"], n_rows)
    wear = 0.1 * (heat - 60.0) + 0.4 * (speed - 5.0) + 1.2 * (maker == "Cohn") + rng.normal(0.0, 0.7, n_rows)
    state = np.array(["fine", "worn", "broken"])[np.digitize(wear, [1.3, 2.8])]
    words = ["quiet", "loud", "=hot", "new belt", "oil", "checked twice", "smell"]
    rows = [
        [
            "" if number % 11 == 3 else f"{heat[number]:.2f}",
            f"{speed[number]:.3f}",
            "" if number % 17 == 5 else maker[number],
            f"{words[number % 7]} {words[number * number % 5]} {number % 13}",
            str(number // 20),
            f"{1.0 + number % 4:.1f}",
            str(int(np.digitize(wear[number], [-1.0, 0.0, 1.0, 2.0]))),
            "" if number % 60 == 50 else state[number],
        ]
        for number in range(n_rows)
    ]
    header = ["heat", "speed", "maker", "note", "line", "hours", "grade", "state"]
    write(folder / "states.csv", [header, *rows[:260]])
    write(folder / "states_new.csv", [header, *rows[260:]])


def write_counts(folder: Path, rng: np.random.Generator) -> None:
    """The plant's inputs, and alarms that follow from them."""
    header, *rows = read(folder / "plant.csv")
    feed = np.array([float(row[1] or "nan") for row in rows])
    rate = np.exp(0.25 * np.nan_to_num(feed - np.nanmean(feed)))
    rows = [[*row[:-1], str(alarms)] for row, alarms in zip(rows, rng.poisson(4.0 * rate), strict=True)]
    header = [*header[:-1], "alarms"]
    write(folder / "counts.csv", [header, *rows[:380]])
    write(folder / "counts_new.csv", [header, *rows[380:]])


def write_large(folder: Path, rng: np.random.Generator) -> None:
    """A table that is too large for ``--memory-limit 1``, with negative targets and some outliers."""
    X = rng.uniform(size=(6000, 4))
    y = np.sin(6.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.05 * rng.normal(size=6000)
    y[::100] += 5.0
    rows = [[*(f"{value:.8f}" for value in row), f"{1 + i % 3}", f"{y[i]:.8f}"] for i, row in enumerate(X)]
    header = ["a", "b", "c", "d", "w", "y"]
    write(folder / "large.csv", [header, *rows])
    write(folder / "large_new.csv", [header, *rows[:4000:100], *rows[1:4000:100]])


def read(path: Path) -> TABLE:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def write(path: Path, rows: Iterable[list[str]], delimiter: str = ",") -> None:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    path.write_bytes(text.getvalue().encode())


def command_lines(story: str) -> list[str]:
    """The command lines of a story; one that is indented further belongs to the line before it."""
    lines: list[str] = []
    for line in filter(str.strip, story.splitlines()):
        if line.startswith(" " * 12):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line.strip())
    return lines


def run(arguments: list[str], folder: Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the program in a folder; that of this working tree, unless PYTHONPATH says otherwise."""
    paths = [*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), str(ROOT / "src")]
    wide = {"COLUMNS": "300", "NO_COLOR": "1", "TERM": "dumb"}
    environment = os.environ | wide | {"PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in paths)}
    return subprocess.run([*PROGRAM, *arguments], cwd=folder, env=environment, input=given, capture_output=True)


def record_story(name: str, tables: Path, ladder: bool = False) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Names of the invocations of a story, and what a user sees of each."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text).resolve()
        shutil.copytree(tables, folder, dirs_exist_ok=True)
        for line in command_lines(STORIES[name]):
            command, _, source = line.partition(" < ")
            before = contents(folder)
            more = ["--set", "configuration=ladder"] if ladder and command.startswith("fit ") else []
            done = run([*shlex.split(command), *more], folder, (folder / source).read_bytes() if source else b"")
            after = contents(folder)
            seen = {
                "exit code": [str(done.returncode)],
                "standard output": lasting(done.stdout.decode(), folder),
                "standard error": lasting(done.stderr.decode(), folder),
            }
            written = [path for path in sorted(after) if after[path] != before.get(path)]
            seen |= {path.relative_to(folder).as_posix(): lasting(text_of(path), folder) for path in written}
            yield f"{name}: {line}", seen


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def text_of(path: Path) -> str:
    """What a user reads in a file: text, the words of a page, the rows of a Parquet file; of a model nothing."""
    if path.suffix == ".parquet":
        table = pyarrow.parquet.read_table(path)
        return f"{table.schema.to_string()}\n" + "\n".join(map(json.dumps, table.to_pylist()))
    if path.suffix == ".html":
        page = re.sub(r"<(style|script)\b.*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        return re.sub(r"\s*\n\s*", "\n", re.sub(r"<[^>]*>", "\n", page))
    return path.read_bytes().decode() if path.suffix in (".csv", ".tsv", ".c") else ""


# What differs from run to run, or with versions, and what stands for it.
VOLATILE = {
    r'"seconds": [\d.]+': '"seconds": …',
    r'"bytes": \d+': '"bytes": …',
    r'"versions": \{[^}]*\}': '"versions": …',
    r"^(Versions +).*$": r"\1…",
    r"^Versions\n(.*\n)*?(?=Method)": "Versions\n",
    r"\b\d+(\.\d+)? s\b": "… s",
    r"\(\d[\d.]* (bytes|kB|MB)\), (?=\d|a |one )": "(…), ",
    r"^(File +\S+) \(.*\)$": r"\1 (…)",
    r"\bwritten \d{4}-\d\d-\d\d \d\d:\d\d \w+": "written …",
    r"\bscikit-scn \d[\w.]*\w": "scikit-scn …",
    r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00": "…",
}


def lasting(text: str, folder: Path) -> list[str]:
    """The lines of a text without what is volatile."""
    text = text.replace(str(folder), "FOLDER")
    for pattern, stand_in in VOLATILE.items():
        text = re.sub(pattern, stand_in, text, flags=re.MULTILINE)
    return text.split("\n")


def differences(before: dict[str, list[str]], after: dict[str, list[str]], tolerance: float) -> list[str]:
    """The lines in which two outputs of an invocation differ, with the names of their parts."""
    found = []
    for part in sorted({*before, *after}):
        old, new = before.get(part, ["(nothing)"]), after.get(part, ["(nothing)"])
        if tolerance and len(old) == len(new):
            new = [a if close(a, b, tolerance) else b for a, b in zip(old, new, strict=True)]
        lines = list(difflib.unified_diff(old, new, n=0, lineterm=""))[2:]
        found += [f"{part}: {line}" for line in lines if not line.startswith("@@")]
    return found


NUMBER = re.compile(r"-?\b\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\b")


def close(old: str, new: str, tolerance: float) -> bool:
    """Whether two lines differ only in numbers, and in these by little."""
    if NUMBER.split(old) != NUMBER.split(new):
        return False
    pairs = zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=tolerance, abs_tol=tolerance) for a, b in pairs)


def selected(only: str) -> list[str]:
    """The stories whose names or command lines contain a word."""
    return [name for name in STORIES if any(only in f"{name}: {line}" for line in command_lines(STORIES[name]))]


def record(names: list[str], jobs: int, ladder: bool = False) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """The invocations of some stories, in order; several stories run at a time."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        tables = Path(folder)
        write_tables(tables)
        for story in pool.map(lambda name: list(record_story(name, tables, ladder)), names):
            yield from story


def check(before: RECORD, found: Iterable[tuple[str, dict[str, list[str]]]], tolerance: float) -> int:
    """Compare invocations as they come with those of before, and return how many differ."""
    left, n_different = dict(before), 0
    for name, seen in found:
        lines = differences(left.pop(name), seen, tolerance) if name in left else ["is not in the file"]
        print(f"{'different' if lines else 'same':9}  {name}", *lines[:SHOWN], sep="\n    ", flush=True)
        if len(lines) > SHOWN:
            print(f"    … and {len(lines) - SHOWN} more lines")
        n_different += bool(lines)
    for name in left:
        print(f"missing    {name}")
    return n_different + len(left)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument("--write", type=Path, help="the file to write outputs to")
    choice.add_argument("--check", type=Path, help="a file of outputs to compare with")
    parser.add_argument("--only", default="", help="a word: only stories whose names or command lines contain it")
    parser.add_argument("--jobs", type=int, default=1, help="how many stories run at a time")
    parser.add_argument("--tolerance", type=float, default=0.0, help="by how much numbers may differ; by default 0")
    parser.add_argument("--ladder", action="store_true", help="fit by the paper's search; no recurrent networks")
    arguments = parser.parse_args()
    names = selected(arguments.only)
    if arguments.ladder:
        names = [name for name in names if "recurrent" not in STORIES[name] and "default" not in name]
    found = record(names, arguments.jobs, arguments.ladder)
    if arguments.write:
        outputs = {}
        for name, seen in found:
            outputs[name] = seen
            print(f"{seen['exit code'][0]:>3}  {name}", flush=True)
        text = json.dumps(outputs, indent=1, ensure_ascii=False)
        arguments.write.write_text(text, encoding="utf-8")
        print(f"{len(outputs)} invocations in {arguments.write}.")
        return 0
    before = json.loads(arguments.check.read_text(encoding="utf-8"))
    before = {name: seen for name, seen in before.items() if name.partition(": ")[0] in names}
    n_different = check(before, found, arguments.tolerance)
    print(f"{n_different} invocations differ." if n_different else f"All {len(before)} invocations are the same.")
    return bool(n_different)


if __name__ == "__main__":
    sys.exit(main())
