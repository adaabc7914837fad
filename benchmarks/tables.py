"""Tables: damaged ones in the program, and how accurate estimators are that take tables and missing values as they are.

usage: ./run bench tables [damaged] [frames] [missing] [encodings] [--count 500] [--seed 0]
                          [--splits 3] [--data DIR] [--sets NAME ...]

    damaged    what becomes of tables that are damaged or badly written: each must be read as it is meant, or refused in
               a sentence
    frames     three made-up tables straight into estimators, after a TableEncoder, and in CatBoost
    missing    arrays with 10 and 30 % of their cells missing: the network as it is and after medians, and gradient
               boosting; DIR/regression/*.csv are as for ./run bench accuracy
    encodings  few and many categories: columns of 0 and 1, means of the target, and what estimators do

Each damaged table is fitted, predicted and evaluated by the program. No command may raise, exit with a code that is not
documented, or say more than a sentence about an error. Where the table is accepted, the class of every row that was not
touched must come back exactly: as it is read, among the classes of the model, and in the column that predict copies.
"""

import argparse
import csv
import gzip
import io
import os
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import numpy as np
from accuracy_parts.sets import DATA_VARIABLE
from tables_parts import comparing, encodings, missing
from typer.testing import CliRunner

from skscn.cli.app import app
from skscn.persistence import load_model
from skscn.tables import learn_target, open_table

Rng = np.random.Generator
N_ROWS = 40
NAMES = ["id", "size", "town", "day", "kind"]
# Classes that floats, or careless readers, would take for one another.
LABELS = (
    [str(2**53 + k) for k in range(3)],
    [str(10**19 + k) for k in range(3)],
    ["1000000000000000000000000000000", "1000000000000000000000000000001"],
    ["0", "1", "2"],
    ["red", "Red", "rot, grün"],
    ["true", "false"],
)
QUICK = ["--estimator", "network", "--cv", "0", "--set", "max_nodes=3", "--jobs", "1"]
# Nothing may take longer than this many seconds.
PATIENCE = 120.0
LONGEST_SENTENCE = 3000
DAMAGED, COMPARED = "damaged", {"frames": comparing, "missing": missing, "encodings": encodings}


@dataclass
class Table:
    """A table in the making: rows of text, then bytes.

    Attributes
    ----------
    rows : list of list of str
        The names first.
    content : bytes
        What is written to the file, as far as a mutation has decided that.
    name : str
        Of the file.
    touched : set of str
        The identifiers of rows that are not what they were.
    accepted : bool or None
        Whether the program must take it, or refuse it; None where both will do.
    """

    rows: list[list[str]]
    content: bytes = b""
    name: str = "table.csv"
    touched: set[str] = field(default_factory=set)
    accepted: bool | None = True

    def touch(self, rng: Rng) -> list[str]:
        """A row, which counts as touched."""
        row = self.rows[rng.integers(1, len(self.rows))]
        self.touched.add(row[0])
        return row

    def write(self, delimiter: str = ",", end: str = "\n", quoting: int = csv.QUOTE_MINIMAL, encoding: str = "utf-8"):
        """Turn the rows into bytes."""
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(self.rows)
        self.content = text.getvalue().encode(encoding)
        return self

    def lines(self) -> list[bytes]:
        """The lines of the file as it is so far."""
        return (self.content or self.write().content).split(b"\n")


def good_table(rng: Rng) -> Table:
    labels = LABELS[rng.integers(len(LABELS))]
    identifiers = rng.choice(10**8, N_ROWS, replace=False) + 10**8
    rows = [NAMES]
    for number, identifier in enumerate(identifiers):
        k = number % len(labels)
        size, town = f"{rng.normal() + 3 * k:.3f}", rng.choice(["Rome", "Oslo", "São Paulo"])
        rows.append(
            [f"r{identifier}", size, town, f"2024-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}", labels[k]]
        )
    return Table(rows)


# ---- mutations


def untouched(table: Table, rng: Rng) -> None:
    """As people write tables: delimiters, line ends, quotes, compression."""
    delimiter, end = rng.choice([",", ";", "\t", "|"]), rng.choice(["\n", "\r\n"])
    table.write(str(delimiter), str(end), int(rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])))
    if rng.random() < 0.3:
        table.content, table.name = gzip.compress(table.content), "table.csv.gz"


def encoding(table: Table, rng: Rng) -> None:
    """An encoding other than UTF-8."""
    table.write(encoding=str(rng.choice(["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"])))


def cut_encoding(table: Table, rng: Rng) -> None:
    """UTF-16 that ends within a character or a row."""
    table.write(encoding="utf-16").accepted = None
    table.content = table.content[: -int(rng.integers(1, 200))]
    table.touched |= {row[0] for row in table.rows[-15:]}


def open_quote(table: Table, rng: Rng) -> None:
    """A quote that is never closed."""
    lines, place = table.lines(), int(rng.integers(N_ROWS))
    values = lines[place].split(b",")
    values[2] = b'"' + values[2]
    lines[place] = b",".join(values)
    table.content, table.accepted = b"\n".join(lines), False
    if any(b'"' in line for number, line in enumerate(lines) if number != place):
        table.accepted, table.touched = None, {row[0] for row in table.rows}


def quotes(table: Table, rng: Rng) -> None:
    """Quotes, delimiters and line ends within values, all of them allowed."""
    for _ in range(rng.integers(1, 5)):
        table.touch(rng)[2] = str(rng.choice(['5" pipe', "a,b", "two\nlines", '"', "a\r\nb", ",", "\n\n"]))
    table.write()


def nul(table: Table, rng: Rng) -> None:
    """NUL characters in a value."""
    row, place = table.touch(rng), int(rng.integers(1, 5))
    cut = int(rng.integers(len(row[place]) + 1))
    row[place] = row[place][:cut] + "\0" * int(rng.integers(1, 4)) + row[place][cut:]
    table.write().accepted = None


def giant(table: Table, rng: Rng) -> None:
    """A value or a name of up to three megabytes."""
    length, place = int(10 ** rng.uniform(4, 6.5)), int(rng.integers(1, 5))
    if rng.random() < 0.3:
        table.rows[0] = [*NAMES[:2], "x" * length, *NAMES[3:]]
    else:
        table.touch(rng)[place] = str(rng.choice(["x", "9", '"', "\n"])) * length
    table.write().accepted = None


def ragged(table: Table, rng: Rng) -> None:
    """A row with a value too many or too few."""
    row = table.touch(rng)
    if rng.random() < 0.5:
        row.append("more")
    else:
        row.pop()
    table.write().accepted = False


def huge(table: Table, rng: Rng) -> None:
    """Numbers beyond what floats can hold."""
    for _ in range(rng.integers(1, 4)):
        table.touch(rng)[1] = str(rng.choice(["1e400", "-1e400", "1e308", "-1.7e308", "9" * 400, "inf", "1e-400"]))
    # A range that no float can hold is refused.
    sizes = {row[1] for row in table.rows}
    table.write().accepted = None if {"1e308", "-1.7e308"} <= sizes else True


def twins(table: Table, rng: Rng) -> None:
    """Two columns of one name."""
    table.rows[0] = [*NAMES[:2], str(rng.choice(NAMES[:2] + NAMES[3:])), *NAMES[3:]]
    table.write().accepted = False


def wide(table: Table, rng: Rng) -> None:
    """Hundreds or thousands of columns."""
    many(table, rng, int(10 ** rng.uniform(2.5, 3.7)))


def many(table: Table, rng: Rng, count: int) -> None:
    table.rows = [[*row, *([f"c{i}" for i in range(count)] if row is NAMES else ["1"] * count)] for row in table.rows]
    table.write()


def above(table: Table, rng: Rng) -> None:
    """Comments, blank lines, Excel's line and units above the rows."""
    table.write()
    if rng.random() < 0.5:
        names, _, rows = table.content.partition(b"\n")
        table.content = names + "\n,°C,,,\n".encode() + rows
    beginning = rng.choice(["# from the historian\n# 2024\n", "\n\n", "sep=,\n", "#\n\n", ""])
    table.content = str(beginning).encode() + table.content


def damaged(table: Table, rng: Rng) -> None:
    """Some bytes that are something else."""
    lines = table.lines()
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(N_ROWS + 1))
        line = bytearray(lines[place])
        line[rng.integers(len(line))] = rng.choice([0, 1, 13, 26, 34, 44, 59, 127, 128, 200, 255])
        lines[place] = bytes(line)
        # A line end or a quote may take the rows next to it along.
        table.touched |= {row[0] for row in table.rows[max(1, place - 1) : place + 2]}
    if any(b'"' in line for line in lines):
        table.touched = {row[0] for row in table.rows}
    table.content, table.accepted = b"\n".join(lines), None


def cut(table: Table, rng: Rng) -> None:
    """A file that ends too early."""
    content = table.write().content
    end = int(rng.integers(len(content)))
    kept = content[:end].count(b"\n")
    table.content, table.accepted = content[:end], None
    table.touched = {row[0] for row in table.rows[max(kept, 1) :]}
    if rng.random() < 0.3:
        compressed = gzip.compress(content)
        table.content, table.name = compressed[: rng.integers(len(compressed))], "table.csv.gz"


def noise(table: Table, rng: Rng) -> None:
    """Anything but a table."""
    table.content, table.accepted = rng.bytes(int(rng.integers(0, 5000))), None
    table.name = str(
        rng.choice(["table.csv", "table.tsv", "table.dat", "table.parquet", "table.arrow", "table.csv.gz"])
    )


MUTATIONS: list[Callable[[Table, Rng], None]] = [
    untouched, encoding, cut_encoding, open_quote, quotes, nul, giant, ragged, huge, twins, wide, above, damaged, cut,
    noise,
]  # fmt: skip


# ---- what becomes of them


def command(*arguments: object) -> tuple[int, str]:
    """Run the program; its exit code and what it says on standard output."""
    done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code in (0, 1), f"exit code {done.exit_code}"
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == done.exit_code, done.stderr[:LONGEST_SENTENCE]
    assert all(line.endswith((".", "?")) and len(line) < LONGEST_SENTENCE for line in errors), errors[0][:1000]
    assert "Traceback" not in done.stderr
    return done.exit_code, done.stdout


def outcome(table: Table, folder: Path) -> str:
    """Whether the program has taken or refused a table; AssertionError where it did neither as it should."""
    path, model = folder / table.name, folder / "m.scn"
    path.write_bytes(table.content)
    model.unlink(missing_ok=True)
    code, _ = command("fit", path, "-t", "kind", "-m", model, "--task", "classification", "-q", *QUICK)
    assert table.accepted is None or table.accepted == (code == 0), "accepted" if code == 0 else "refused"
    if code:
        assert not model.exists()
        return "refused"
    check_classes(table, path, model)
    code, predicted = command("predict", model, path, "--keep", "id", "--keep", "kind", "-q")
    assert code == 0
    check_predictions(table, predicted, set(map(written, load_model(model).classes_)))
    assert command("evaluate", model, path, "-q")[0] == 0
    return "accepted"


def expected(table: Table) -> dict[str, str]:
    """The classes of rows that were not touched, by identifier."""
    return {row[0]: row[4] for row in table.rows[1:] if row[0] not in table.touched}


def check_classes(table: Table, path: Path, model: Path) -> None:
    """The classes that are read, and those of the model, are those of the file."""
    rows = open_table(path).read(["id", "kind"], exact=["kind"])
    target, _ = learn_target("kind", rows["kind"], "classification")
    y, present = target.values(rows["kind"])
    found = dict(zip(rows["id"].filter(present).to_pylist(), map(written, y), strict=True))
    classes = set(map(written, load_model(model).classes_))
    for identifier, label in expected(table).items():
        assert found.get(identifier) == label, (identifier, label, found.get(identifier))
        assert label in classes, (label, classes)


def written(label: object) -> str:
    """A class as files have it."""
    return str(label).lower() if isinstance(label, bool | np.bool_) else str(label)


def check_predictions(table: Table, predicted: str, classes: set[str]) -> None:
    csv.field_size_limit(2**30)
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(predicted, newline=""))}
    for identifier, label in expected(table).items():
        assert rows[identifier]["kind"] == label, (identifier, label, rows[identifier]["kind"])
        assert rows[identifier]["prediction"] in classes


def run(count: int, seed: int, report: Callable[[str], None] = lambda line: None) -> dict[str, Counter]:
    """Mutate this many tables, each in the next way; what became of them, by mutation."""
    found: dict[str, Counter] = {mutate.__name__: Counter() for mutate in MUTATIONS}
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(count):
            rng, mutate = np.random.default_rng([seed, number]), MUTATIONS[number % len(MUTATIONS)]
            table, start = good_table(rng), perf_counter()
            mutate(table, rng)
            try:
                found[mutate.__name__][outcome(table, Path(folder))] += 1
            except Exception:
                report(f"table {number} ({mutate.__name__}, seed {seed}):")
                raise
            slowest = max(slowest, perf_counter() - start)
            assert slowest < PATIENCE, f"table {number} took {slowest:.0f} s"
    report(f"{count} tables; the slowest took {slowest:.1f} s")
    return found


def largest(columns: int) -> float:
    """Seconds that a table of this many columns takes."""
    rng, start = np.random.default_rng(0), perf_counter()
    table = good_table(rng)
    many(table, rng, columns)
    with tempfile.TemporaryDirectory() as folder:
        outcome(table, Path(folder))
    return perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[DAMAGED, *COMPARED], default=DAMAGED)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--columns", type=int, default=100_000, help="of the largest table")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--data", type=Path, default=os.environ.get(DATA_VARIABLE))
    parser.add_argument("--sets", nargs="*", default=[])
    options = parser.parse_args()
    for part in [options.parts] if isinstance(options.parts, str) else options.parts:
        damage(options) if part == DAMAGED else compare(part, options)


def compare(part: str, options: argparse.Namespace) -> None:
    """Measure a part, and print its table."""
    folder = None if options.data is None else Path(options.data)
    arguments = {"missing": (folder, options.sets, options.splits)}.get(part, (options.splits,))
    measured = []
    for one in COMPARED[part].measure(*arguments):
        measured.append(one)
        print(*one, file=sys.stderr)
    print("\n".join(COMPARED[part].summary(measured)))


def damage(options: argparse.Namespace) -> None:
    """Damage tables, and print what became of them."""
    found = run(options.count, options.seed, lambda line: print(line, file=sys.stderr))
    print(f"{'mutation':14}", *(f"{name:>10}" for name in ("accepted", "refused")))
    for mutation, counts in found.items():
        print(f"{mutation:14}", *(f"{counts[name]:>10}" for name in ("accepted", "refused")))
    print(f"{options.columns:,} columns: fitted, predicted and evaluated in {largest(options.columns):.1f} s")


if __name__ == "__main__":
    main()
