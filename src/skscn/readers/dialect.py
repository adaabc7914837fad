"""How a text file is written: its encoding, delimiter and decimal sign, and where its names and rows are."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from skscn.readers.arrow import arrow
from skscn.readers.encodings import decoded
from skscn.readers.errors import DataFileError
from skscn.readers.keel import read_keel_header
from skscn.readers.missing import MISSING
from skscn.readers.text_rows import Row, scan
from skscn.words import listed

_SAMPLE_ROWS = 200
_DELIMITERS = (",", ";", "\t", "|")
_DELIMITER_NAMES = {";": "semicolons", "\t": "tabs", "|": "bars"}
_FRACTION = {sign: re.compile(rf"\s*[-+]?\d+[{sign}]\d+\s*") for sign in ".,"}
# A fraction, or thousands.
_EITHER = re.compile(r"\s*[-+]?[1-9]\d{0,2}[.,]\d{3}\s*")
NUMBER = re.compile(r"\s*[-+]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][-+]?\d+)?\s*")
# A unit of measurement: symbols with their prefixes and powers, possibly in brackets: "°C", "[m3/h]", "kg/(m²·s)".
_SYMBOL = (
    r"(?:°\s?[CFK]?|deg\s?[CFK]?|%|‰|[€$£]|ppm|ppb|psi[ag]?|rpm|bar[ag]?|mbar|wt|vol|min|hr?|sec|day|year|gal|lb|ft|inch|atm"
    r"|(?:da|[pnuµμmcdhkMGT])?(?:mol|cd|Hz|Pa|Nm|Wh|VA|var|eV|Ohm|Ω|bar|[mgsAKNJWCVFSTHlLtdhB]))"
)
_UNIT = re.compile(
    rf"[\[(<]?\s*(?:1\s?/\s?)?\(?{_SYMBOL}(?:\^?-?\d|[²³⁻¹])*(?:[\s·*/.]{{0,3}}\(?{_SYMBOL}(?:\^?-?\d|[²³⁻¹])*\)?){{0,4}}\s*[\])>]?"
)


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Attributes
    ----------
    encoding, delimiter, decimal : str
    skip_lines : int
        Lines above the rows.
    names : list of str
        Its columns.
    types : dict
        Arrow types of the columns for which the file says so.
    notes : tuple of str
        What is unusual about it, as the ends of sentences that begin with the file's name.
    """

    encoding: str
    delimiter: str
    decimal: str
    skip_lines: int
    names: list[str]
    types: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def find_dialect(place: str, ending: str, sample: bytes) -> Dialect:
    """How a file is written, from its first bytes.

    Parameters
    ----------
    place : str
        The file's, for messages.
    ending : str
        Of its name, such as ".csv".
    sample : bytes
    """
    encoding, text = decoded(sample)
    if not text.strip():
        raise DataFileError(f"{place} is empty; give a file with a line of column names and rows.")
    if ending == ".dat" and text.lstrip().startswith(("@", "%")):
        return _keel_dialect(place, encoding, text)
    lines = list(io.StringIO(text, newline=""))
    # Excel writes its delimiter above the names.
    chosen = re.fullmatch(r"sep=([^\w\s\"'.+-]|\t)\s*", lines[0])
    comments = _comments(lines, start=1 if chosen else 0)
    body = lines[comments.stop :]
    if not body:
        raise DataFileError(f"{place} has no line of column names; give a file with column names and rows.")
    delimiter = chosen.group(1) if chosen else _find_delimiter(body, ending)
    rows = _first_rows(body, delimiter)
    if not rows[0].closed:
        raise DataFileError(open_quote(place, comments.stop + rows[0].line))
    decimal = _find_decimal(scan(body[rows[0].end :], delimiter), delimiter)
    notes = _how_written(encoding, delimiter, decimal, ending)
    dialect = Dialect(encoding, delimiter, decimal, comments.stop + rows[0].end, rows[0].values, notes=notes)
    dialect = _with_comments(dialect, [lines[place] for place in comments], rows)
    if dialect.skip_lines > comments.stop:
        dialect = _with_units(dialect, rows)
    names = [name.strip() or f"column {place}" for place, name in enumerate(dialect.names, start=1)]
    return replace(dialect, names=names)


def open_quote(place: str, line: int) -> str:
    """What to say about a quote that is never closed."""
    return f"{place} cannot be read: a quote that is opened in line {line:,} is never closed; close it, or remove it."


def _how_written(encoding: str, delimiter: str, decimal: str, ending: str) -> tuple[str, ...]:
    notes = []
    if ending not in (".tsv", ".dat") and delimiter in _DELIMITER_NAMES:
        commas = ", with decimal commas" if decimal == "," else ""
        notes.append(f"is separated by {_DELIMITER_NAMES[delimiter]}{commas}")
    if not encoding.startswith("utf"):
        notes.append(f"is not UTF-8; it was read as {encoding}")
    return tuple(notes)


def _keel_dialect(place: str, encoding: str, text: str) -> Dialect:
    header = read_keel_header(Path(place), text.splitlines())
    string = arrow().string()
    types = {name: string for name, kind in header.attributes.items() if kind == "nominal"}
    return Dialect(encoding, ",", ".", header.n_lines, list(header.attributes), types)


# ---- how values are written


def _first_rows(lines: list[str], delimiter: str) -> list[Row]:
    """The first rows; the last one of a sample may be cut, and is left out where there are others."""
    rows = []
    for row in scan(lines, delimiter):
        rows.append(row)
        if len(rows) > _SAMPLE_ROWS:
            break
    return rows[:-1] if len(rows) > 2 else rows


def _find_delimiter(lines: list[str], ending: str) -> str:
    """The delimiter with which rows have the most columns among those with which they all have the same number."""
    best, most = "\t" if ending == ".tsv" else ",", 1
    for delimiter in _DELIMITERS:
        if delimiter not in lines[0]:
            continue
        rows = _first_rows(lines, delimiter)
        width = len(rows[0].values)
        if width > most and sum(len(row.values) == width for row in rows) >= 0.9 * len(rows):
            best, most = delimiter, width
    return best


def _find_decimal(rows: Iterator[Row], delimiter: str) -> str:
    """A comma where another sign separates columns and fractions are written with it.

    Values such as 57.346, which may be thousands, decide only where no others do.
    """
    if delimiter == ",":
        return "."
    # Usually the first rows tell; the others are looked at one by one until one holds a fraction.
    for some in chain([list(islice(rows, _SAMPLE_ROWS))], ([row] for row in rows)):
        values = [value for row in some for value in row.values]
        found = [value for value in values if any(pattern.fullmatch(value) for pattern in _FRACTION.values())]
        clear = [value for value in found if not _EITHER.fullmatch(value)] or found
        if clear:
            return "," if 2 * sum("," in value for value in clear) > len(clear) else "."
    return "."


# ---- lines above the rows


def _comments(lines: list[str], start: int) -> range:
    """The places of the lines above the names that are blank or begin with #."""
    end = start
    while end < len(lines) and (not lines[end].strip() or lines[end].lstrip().startswith("#")):
        end += 1
    return range(start, end)


def _with_comments(dialect: Dialect, comments: list[str], rows: list[Row]) -> Dialect:
    """Take the names from the last comment where the first row holds values: "# a,b,c" above "1,2,3"."""
    comments = [line for line in comments if line.strip()]
    if not comments:
        return dialect
    last = next((row.values for row in scan([comments[-1]], dialect.delimiter)), [])
    first, second = rows[0].values, rows[1].values if len(rows) > 1 else []
    if len(last) == len(first) and (_has_number(first) or (len(first) > 1 and not _has_number(second))):
        last[0] = last[0].lstrip("# ") or "#"
        above = dialect.skip_lines - rows[0].end
        return replace(dialect, names=last, skip_lines=above, notes=(*dialect.notes, "has its names in a line with #"))
    lines = f"{len(comments)} line{'s' if len(comments) > 1 else ''}"
    return replace(dialect, notes=(*dialect.notes, f"begins with {lines} of comments (#), which were skipped"))


def _has_number(values: list[str]) -> bool:
    return any(map(NUMBER.fullmatch, values))


def _with_units(dialect: Dialect, rows: list[Row]) -> Dialect:
    """Skip a row of units under the names: those columns hold nothing but numbers below it."""
    if len(rows) < 3 or len(rows[1].values) != len(dialect.names):
        return dialect
    below = [row.values for row in rows[2:] if len(row.values) == len(dialect.names)]
    numeric = [place for place in range(len(dialect.names)) if _holds_numbers([values[place] for values in below])]
    units = [rows[1].values[place].strip() for place in numeric]
    given = [unit for unit in units if unit not in MISSING]
    if not given or not all(map(_UNIT.fullmatch, given)):
        return dialect
    note = f"has a row of units under its names ({listed(dict.fromkeys(given))}), which was skipped"
    taken = rows[1].end - rows[0].end
    return replace(dialect, skip_lines=dialect.skip_lines + taken, notes=(*dialect.notes, note))


def _holds_numbers(values: list[str]) -> bool:
    present = [value for value in values if value.strip() not in MISSING]
    return bool(present) and all(map(NUMBER.fullmatch, present))
