"""Two readers of text files compared: scikit-scn's and DuckDB's, on good files, damaged ones, and a large one.

usage: ./run bench readers [--megabytes 500]

Each file must be read as it is meant, or refused if it is damaged. DuckDB reads it as its sniffer finds it, and again
with help: the encoding and the words for missing values that scikit-scn knows, types inferred from all rows, and a
decimal comma where it makes more columns numeric. The large file is read batch by batch, in a process of its own, to
measure time and memory.

DuckDB is not a dependency of the project; install it with pip install duckdb in the environment that runs this.
"""

import argparse
import datetime as dt
import gzip
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from skscn.tables import open_table
from skscn.tables.text import date_formats, dates, stripped
from skscn.tables.values import read_values

REFUSED = "refused"
DAMAGE = (ValueError, OSError, EOFError)
# What DuckDB calls encodings; it has no others without an extension that it downloads.
ENCODINGS = {"cp1252": "latin-1", "utf-16-le": "utf-16", "utf-16-be": "utf-16"}
TEXT = "town,size,sold\nRome,1.5,2020-01-02\nSão Paulo,2.25,2020-01-03\n"
ROWS = {
    "town": ["Rome", "São Paulo"],
    "size": [1.5, 2.25],
    "sold": [dt.date(2020, 1, 2), dt.date(2020, 1, 3)],
}
KEEL = "@relation r\n@attribute a real[0,1]\n@attribute code {1, 2}\n@inputs a\n@outputs code\n@data\n"


class Case(NamedTuple):
    """A file and what it means: the values of its columns, or that it must be refused."""

    what: str
    content: bytes
    meaning: dict | str
    name: str = "table.csv"


def case(what: str, text: str | bytes, meaning: dict | str = ROWS, name: str = "table.csv") -> Case:
    return Case(what, text.encode() if isinstance(text, str) else text, meaning, name)


def cases() -> list[Case]:
    return [*dialects(), *headers(), *values(), *dates_and_sizes(), *damaged(), *rare()]


def dialects() -> list[Case]:
    decimal = "town;size;sold\nRome;1,5;2020-01-02\nSão Paulo;2,25;2020-01-03\n"
    return [
        case("commas", TEXT),
        case("commas, mark of UTF-8", b"\xef\xbb\xbf" + TEXT.encode()),
        case("Windows line ends", TEXT.replace("\n", "\r\n")),
        case("no line end at the end", TEXT.rstrip()),
        case("UTF-16 with a mark", TEXT.encode("utf-16")),
        case("UTF-16, little-endian, no mark", TEXT.encode("utf-16-le")),
        case("UTF-16, big-endian, no mark", TEXT.encode("utf-16-be")),
        case("UTF-32", TEXT.encode("utf-32")),
        case("Windows-1252", TEXT.encode("cp1252")),
        case("Windows-1252 with €", "a,b\n1,5 €\n2,x\n".encode("cp1252"), {"a": [1, 2], "b": ["5 €", "x"]}),
        case("gzip", gzip.compress(TEXT.encode(), mtime=0), name="table.csv.gz"),
        case("tabs, .tsv", TEXT.replace(",", "\t"), name="table.tsv"),
        case("tabs, .csv", TEXT.replace(",", "\t")),
        case("bars, .txt", TEXT.replace(",", "|"), name="table.txt"),
        case("semicolons", TEXT.replace(",", ";")),
        case("semicolons, decimal commas", decimal),
        case("tabs, decimal commas", decimal.replace(";", "\t")),
        case("decimal commas below many zeros", "a;b\n" + "0;x\n" * 300 + "0,5;y\n", late("a", 300, 0.5)),
        case("sep=; of Excel", "sep=;\n" + TEXT.replace(",", ";")),
        case("quoted names and values", TEXT.replace("town", '"town"').replace("Rome", '"Rome"')),
        case("one column", "x\n1\n2\n3\n", {"x": [1, 2, 3]}),
        case("one column of text", "x\nred\nblue\n", {"x": ["red", "blue"]}),
        case("KEEL", KEEL + "0.5, 1\n<null>, 2\n", {"a": [0.5, None], "code": ["1", "2"]}, "table.dat"),
    ]


def late(name: str, count: int, value: float) -> dict:
    """Zeros above one value, and x above y."""
    return {name: [0.0] * count + [value], "b": ["x"] * count + ["y"]}


def headers() -> list[Case]:
    rows = TEXT.split("\n", 1)[1]
    return [
        case("blank lines above the names", "\n\n" + TEXT),
        case("lines with # above the names", "# from the historian\n#\n" + TEXT),
        case("lines with # and commas above the names", "# plant 7, line 2\n# a, b, c, d\n" + TEXT),
        case("names in a line with #", "# town,size,sold\n" + rows),
        case("names in a line with #, no space", "#town,size,sold\n" + rows),
        case("one column, its name in a line with #", "# x\n1\n2\n", {"x": [1, 2]}),
        case("a row of units", "town,size,sold\n,m²,\n" + rows),
        case("a row of units in brackets, # above", "# plant 7\n\ntown,size,sold\n-,[kg/h],-\n" + rows),
        case("units in every column", "t,p\n°C,bar\n20.5,1.1\n21,1.2\n", {"t": [20.5, 21], "p": [1.1, 1.2]}),
        case(
            "words that are not units",
            "state,x\nopen,closed\nshut,1\nopen,2\n",
            {"state": ["open", "shut", "open"], "x": ["closed", "1", "2"]},
        ),
        case("a name that is missing", ",a\n0,1\n", {"column 1": [0], "a": [1]}),
        case("all columns are text", "a,b\nred,x\nblue,y\n", {"a": ["red", "blue"], "b": ["x", "y"]}),
        case(
            "names that are years",
            "year,2019,2020\na,1.5,2\nb,3,4\n",
            {"year": ["a", "b"], "2019": [1.5, 3], "2020": [2, 4]},
        ),
        case("names with spaces around them", "a , b\n1,2\n3,4\n", {"a": [1, 3], "b": [2, 4]}),
        case("names and a single row", "a,b\n1,x\n", {"a": [1], "b": ["x"]}),
    ]


def values() -> list[Case]:
    big = [str(10**19 + k) for k in (1, 2)]
    words = {"a": [None, None, 3.0], "b": ["x, y", "two\nlines", None], "c": [1, None, 2]}
    return [
        case("missing words, quotes, lines in values", 'a,b,c\n?,"x, y",1\nNA,"two\nlines",\n3,-,2\n', words),
        case(
            "missing numbers: NaN, n/a, empty",
            "a,b\n1,x\nNaN,y\nn/a,z\n,w\n",
            {"a": [1, None, None, None], "b": [*"xyzw"]},
        ),
        case("a column without values", "a,b\n1,\n2,\n", {"a": [1, 2], "b": [None, None]}),
        case("doubled quotes", 'a,b\n1,"5"" pipe"\n2,x\n', {"a": [1, 2], "b": ['5" pipe', "x"]}),
        case("a quote within a value", 'a,b\n1,5" pipe\n2,6" pipe\n', {"a": [1, 2], "b": ['5" pipe', '6" pipe']}),
        case("apostrophes", "a,b\n1,'n sheep\n2,o'clock\n", {"a": [1, 2], "b": ["'n sheep", "o'clock"]}),
        case("delimiters in quotes", 'a,b\n1,"x;y;z"\n2,"u;v;w"\n', {"a": [1, 2], "b": ["x;y;z", "u;v;w"]}),
        case(
            "sentences with commas, semicolons between", "a;b\n1;x, y\n2;u, v\n", {"a": [1, 2], "b": ["x, y", "u, v"]}
        ),
        case("true and false", "a,b\ntrue,1\nfalse,2\n", {"a": ["true", "false"], "b": [1, 2]}),
        case("spaces around numbers", "a, b\n1, 2.5\n3, 4.5\n", {"a": [1, 3], "b": [2.5, 4.5]}),
        case("powers of ten", "a,b\n1e-3,2E5\n1.5e+2,3\n", {"a": [1e-3, 150.0], "b": [2e5, 3]}),
        case("fractions below many whole numbers", "a,b\n" + "0,x\n" * 30_000 + "0.5,y\n", late("a", 30_000, 0.5)),
        case("text below many numbers", "a\n" + "1\n" * 30_000 + "x\n", {"a": ["1"] * 30_000 + ["x"]}),
        case("identifiers with leading zeros", "id,x\nA007,1\n0012,2\n", {"id": ["A007", "0012"], "x": [1, 2]}),
        case("whole numbers beyond int64", f"id,x\n{big[0]},1\n{big[1]},2\n", {"id": big, "x": [1, 2]}),
        case("blank lines between rows", "a,b\n1,x\n\n2,y\n\n", {"a": [1, 2], "b": ["x", "y"]}),
        case("# within values", "a,b\n1,#7\n2,#8\n", {"a": [1, 2], "b": ["#7", "#8"]}),
    ]


def dates_and_sizes() -> list[Case]:
    names = [f"a rather long name {i}" for i in range(16_000)]
    ambiguous, day_first = ["01/02/2024"] * 30_000, [dt.datetime(2024, 2, 1)] * 30_000
    months = "\n".join(["d", *ambiguous, "13/02/2024"])
    long = 'a,b\n1,"' + "x" * 200_000 + '"\n2,y\n3,' + "z" * 5_000_000 + "\n"
    wide = ",".join(names) + "\n" + ",".join("1" * 16_000) + "\n"
    return [
        case("day first, known from row 30,001 on", months, {"d": [*day_first, dt.datetime(2024, 2, 13)]}),
        case("month first", "d\n02/01/2024\n02/13/2024\n", {"d": [dt.datetime(2024, 2, 1), dt.datetime(2024, 2, 13)]}),
        case("both orders in one column", "d\n13/02/2024\n02/13/2024\n", {"d": ["13/02/2024", "02/13/2024"]}),
        case(
            "dates with dots",
            "d\n31.12.2024\n01.02.2024\n",
            {"d": [dt.datetime(2024, 12, 31), dt.datetime(2024, 2, 1)]},
        ),
        case("16,000 columns", wide, {name: [1] for name in names}),
        case("values of 5 million characters", long, {"a": [1, 2, 3], "b": ["x" * 200_000, "y", "z" * 5_000_000]}),
        case("a value of two lines, far down", "a,b\n" + "1,x\n" * 600_000 + '1,"two\nlines"\n', far_down()),
    ]


def far_down() -> dict:
    return {"a": [1] * 600_001, "b": ["x"] * 600_000 + ["two\nlines"]}


def damaged() -> list[Case]:
    open_quote = ["a,b", *["1,x"] * 60_000]
    open_quote[20_000] = 'a,"b'
    return [
        case("empty", "", REFUSED),
        case("nothing but blanks", " \n\n", REFUSED),
        case("a row with too many values", "a,b\n1,2\n1,2,3\n", REFUSED),
        case("a row with too few values", 'a,b\n"1\n2",2\n1\n', REFUSED),
        case("a row with too few values, far down", "a,b\n" + "1,2\n" * 70_000 + "1\n", REFUSED),
        case("a quote that is never closed", "\n".join(open_quote), REFUSED),
        case("a quote in the names that is never closed", 'a,"b\n1,2\n3,4\n', REFUSED),
        case("UTF-16 that ends within a character", TEXT.encode("utf-16")[:-1], REFUSED),
        case("UTF-16, no mark, ends within a character", TEXT.encode("utf-16-le")[:-1], REFUSED),
        case("bytes that are not UTF-8, far down", b"a,b\n" + b"1,x\n" * 100_000 + b"1,\xe9\n", REFUSED),
        case("text that calls itself gzip", "a,b\n1,2\n", REFUSED, "table.csv.gz"),
        case("gzip that is cut short", gzip.compress(TEXT.encode() * 99, mtime=0)[:-20], REFUSED, "table.csv.gz"),
        case("two columns with one name", "a,b,a\n1,2,3\n", REFUSED),
    ]


def rare() -> list[Case]:
    """Dialects that scikit-scn does not claim to know."""
    numbers = {"a": [1, 3, 5], "b": [2.5, 4.5, 6.5]}
    return [
        case("apostrophes as quotes", "a,b\n1,'x, y'\n2,'u, v'\n", {"a": [1, 2], "b": ["x, y", "u, v"]}),
        case("backslashes before quotes", 'a,b\n1,"5\\" pipe"\n2,"x"\n', {"a": [1, 2], "b": ['5" pipe', "x"]}),
        case("columns separated by spaces", "a b\n1 2.5\n3 4.5\n5 6.5\n", numbers),
        case("columns separated by colons", "a:b\n1:2.5\n3:4.5\n5:6.5\n", numbers),
        case("lines with # between rows", "a,b\n1,2.5\n# pause\n3,4.5\n5,6.5\n", numbers),
        case("a title above the names", "Report of May\na,b\n1,2.5\n3,4.5\n5,6.5\n", numbers),
    ]


# ---- readers


def ours(path: Path) -> dict:
    """As the program reads a table, with dates that its encoder finds in text."""
    file = open_table(path)
    table = file.read(exact=file.names)
    for place, item in enumerate(table.schema):
        if pa.types.is_string(item.type):
            texts = stripped(read_values(table.column(place), item.name))
            if texts.levels and (fitting := date_formats(texts.levels)):
                read = dates(texts, fitting[0])
                ticks = np.where(read.missing, 0.0, read.data).astype(np.int64)
                moments = pa.array(ticks, mask=read.missing).cast(pa.timestamp("us"))
                table = table.set_column(place, item.name, moments)
    return table.to_pydict()


def sniffed(path: Path) -> dict:
    """As DuckDB's sniffer finds the file."""
    return fetched(path)


def helped(path: Path) -> dict:
    """As DuckDB reads with what scikit-scn knows about encodings, missing values, long lines and decimal commas."""
    from skscn.readers.encodings import decoded
    from skscn.readers.missing import MISSING

    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        encoding = decoded(file.read(2**18))[0]
    encoding = ENCODINGS.get(encoding, encoding)
    options = {"encoding": encoding, "nullstr": list(MISSING), "sample_size": -1, "max_line_size": 2**26}
    plain = fetched(path, **options)
    try:
        commas = fetched(path, **options, decimal_separator=",")
    except DAMAGE:
        return plain
    return commas if numeric(commas) > numeric(plain) else plain


def numeric(columns: dict) -> int:
    return sum(all(value is None or isinstance(value, int | float) for value in column) for column in columns.values())


def fetched(path: Path, **options) -> dict:
    """The table; options by name, since the Python function has fewer of them than SQL."""
    import duckdb

    # Written as SQL: Python's lists and strings look the same there, apart from the quotes within them.
    settings = "".join(f", {name}={value!r}" for name, value in options.items())
    with duckdb.connect() as connection:
        try:
            return connection.sql(f"FROM read_csv({str(path)!r}{settings})").to_arrow_table().to_pydict()
        except duckdb.Error as error:
            raise ValueError(str(error)) from error


READERS: dict[str, Callable[[Path], dict]] = {"scikit-scn": ours, "DuckDB": sniffed, "DuckDB helped": helped}


# ---- right and wrong


def outcome(reader: Callable[[Path], dict], case: Case, folder: Path) -> str:
    """What became of a file: right, or what is wrong."""
    path = folder / case.name
    path.write_bytes(case.content)
    try:
        columns = reader(path)
    except DAMAGE:
        return "right" if case.meaning == REFUSED else "refused"
    if case.meaning == REFUSED:
        return "not refused"
    if list(columns) != list(case.meaning):
        return "other columns"
    return "right" if all(map(same, columns.values(), case.meaning.values())) else "other values"


def same(column: list, meaning: list) -> bool:
    return len(column) == len(meaning) and all(plain(a) == plain(b) for a, b in zip(column, meaning, strict=True))


def plain(value):
    """Moments at midnight and dates are the same, NaN is missing, and spaces around text do not count."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, dt.date):
        return dt.datetime(value.year, value.month, value.day)
    return None if isinstance(value, float) and np.isnan(value) else value


def compare(names: list[str], cases: list[Case]) -> None:
    width = max(len(case.what) for case in cases)
    print("file".ljust(width), *(name.ljust(14) for name in names))
    right, seconds = dict.fromkeys(names, 0), dict.fromkeys(names, 0.0)
    for one in cases:
        outcomes = []
        for name in names:
            with tempfile.TemporaryDirectory() as folder:
                start = perf_counter()
                outcomes.append(outcome(READERS[name], one, Path(folder)))
                seconds[name] += perf_counter() - start
            right[name] += outcomes[-1] == "right"
        print(one.what.ljust(width), *(found.ljust(14) for found in outcomes), flush=True)
    print("right".ljust(width), *(f"{right[name]} of {len(cases)}".ljust(14) for name in names))
    print("seconds".ljust(width), *(f"{seconds[name]:.1f}".ljust(14) for name in names))


# ---- a large file


def write_large(path: Path, megabytes: int) -> None:
    """Twenty columns of numbers, with about as many bytes."""
    rng = np.random.default_rng(0)
    with pa.csv.CSVWriter(path, pa.schema([(f"x{i}", pa.float64()) for i in range(20)])) as writer:
        while not path.exists() or path.stat().st_size < megabytes * 1_000_000:
            writer.write(pa.table({f"x{i}": rng.normal(size=50_000).round(6) for i in range(20)}))


def stream_ours(path: Path) -> int:
    file = open_table(path)
    return sum(len(table) for table in file.batches(dict.fromkeys(file.names, pa.float64())))


def stream_duckdb(path: Path) -> int:
    import duckdb

    with duckdb.connect(config={"threads": 2}) as connection:
        return sum(len(batch) for batch in connection.read_csv(str(path)).to_arrow_reader(16_384))


STREAMS = {"scikit-scn": stream_ours, "DuckDB": stream_duckdb}


def stream_in_a_process(name: str, path: Path) -> str:
    done = subprocess.run(
        [sys.executable, __file__, "--stream", name, str(path)], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def report_stream(name: str, path: Path) -> None:
    from speed_parts.processes import peak_bytes

    before, start = peak_bytes(), perf_counter()
    rows = STREAMS[name](path)
    seconds, peak = perf_counter() - start, peak_bytes()
    grown = "" if before is None or peak is None else f", {(peak - before) / 1e6:.0f} MB above {before / 1e6:.0f} MB"
    print(f"{rows:,} rows in {seconds:.1f} s{grown}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=500, help="of the large file; 0 for none")
    parser.add_argument("--stream", nargs=2, metavar=("READER", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stream:
        name, path = arguments.stream
        report_stream(name, Path(path))
        return
    names = [name for name in READERS if name == "scikit-scn" or find_spec("duckdb")]
    if len(names) == 1:
        print("DuckDB is not installed, so scikit-scn's reader is tried alone; pip install duckdb to compare them.")
    compare(names, cases())
    if arguments.megabytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "large.csv"
            write_large(path, arguments.megabytes)
            print(f"\n{path.stat().st_size / 1e6:.0f} MB, batch by batch:")
            for name in [name for name in STREAMS if name in names]:
                print(f"{name}: {stream_in_a_process(name, path)}", flush=True)


if __name__ == "__main__":
    main()
