"""Text read as numbers, dates or missing values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache

import numpy as np

from skscn.readers.missing import MISSING
from skscn.tables.values import ColumnValues

# How dates are written, apart from ISO 8601. Of two that fit every value, the first is used: a year of two digits would
# also be one of the first century.
DATE_FORMATS = tuple(
    f"{date}{time}"
    for year in ("%y", "%Y")
    for date in (
        *(f"%d.%m.{year}", f"{year}/%m/%d", f"%m/%d/{year}", f"%d/%m/{year}"),
        *(f"%d-%m-{year}", f"%m-%d-{year}", f"%d %b {year}", f"%d-%b-{year}", f"%b %d, {year}"),
    )
    if not date.startswith("%y")
    for time in ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
)
# A month, which stands for its first day.
_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)
DATE_ORDERS = ("auto", "day-first", "month-first")
# A number by its decimal sign: digits, perhaps in groups of three, with a currency or a percent sign.
_NUMBER = {
    decimal: re.compile(
        rf"[-+]?[$€£]? ?(?:(?:\d{{1,3}}(?:[{grouping} ']\d{{3}})+|\d+)(?:{re.escape(decimal)}\d*)?"
        rf"|{re.escape(decimal)}\d+)(?:[eE][-+]?\d+)? ?[%$€£]?",
        re.ASCII,
    )
    for decimal, grouping in ((".", ","), (",", "."))
}
_NUMBERS = {decimal: re.compile(f"(?:{number.pattern}\\n)*+", re.ASCII) for decimal, number in _NUMBER.items()}
# What is left of it for Python to read.
_PLAIN = {
    decimal: {**dict.fromkeys(map(ord, f"{grouping}$€£% '")), ord(decimal): "."}
    for decimal, grouping in ((".", ","), (",", "."))
}
# A number followed by a unit: letters and signs, perhaps with a power.
_NUMBER_WITH_UNIT = re.compile(
    r"[-+]?\d[\d.,' ]*(?:[eE][-+]?\d+)?\s*(?P<unit>[^\d\s.,'+\-:%$€£][^\s\d:]{0,9}(?:[ /^·*]*[^\s:]{1,9})?)", re.ASCII
)
# Values that are numbers only if the comma is the decimal sign: no group of three follows, or dots stand before it.
_DECIMAL_COMMA = re.compile(r"[-+]?[$€£]? ?(?:0,\d+|\d+,(?:\d{1,2}|\d{4,})|\d{1,3}(?:\.\d{3})+,\d+) ?[%$€£]?", re.ASCII)
# Whole numbers with a point between groups of three digits, and those too small to have one.
_POINTED = re.compile(r"[-+]?[$€£]? ?[1-9]\d{0,2}(?:\.\d{3})+ ?[%$€£]?", re.ASCII)
_BELOW_A_THOUSAND = re.compile(r"[-+]?[$€£]? ?\d{1,3} ?[%$€£]?", re.ASCII)
_MONTHS = ["january", "february", "march", "april", "may", "june", "july"]
_MONTHS += ["august", "september", "october", "november", "december"]
_SHORT_MONTHS = [month[:3] for month in _MONTHS]
# The parts of dates as strptime of C reads them; fractions of a second are ignored.
_PARTS = {
    "%d": r" *(?P<day>0?[1-9]|[12]\d|3[01])",
    "%m": r" *(?P<month>0?[1-9]|1[0-2])",
    "%b": f"(?P<named>{'|'.join(f'{month[:3]}(?:{month[3:]})?' for month in _MONTHS)})",
    "%y": r" *(?P<short>\d{1,2})",
    "%Y": r" *(?P<year>\d{1,4})",
    "%H": r" *(?P<hour>[01]?\d|2[0-3])",
    "%I": r" *(?P<hour>0?[1-9]|1[0-2])",
    "%M": r" *(?P<minute>[0-5]?\d)",
    "%S": r" *(?P<second>[0-5]?\d|6[01])(?:(?<=:\d\d:\d\d)[.,]\d+)?",
    "%p": "(?P<half>[ap]m)",
    " ": r"\s*",
    # Something must stand here: "Jan 2020" is not January 20.
    ", ": r"(?:,\s*|\s+)",
}
_SEPARATORS = dict.fromkeys(map(ord, ".,:/-\n\t\r\f\v"), " ")
_ISO_8601 = re.compile(
    r"(?P<year>\d{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])"
    r"(?:[ T](?P<hour>[01]\d|2[0-3])(?::(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:\.(?P<fraction>\d{1,9}))?)?)?"
    r"(?P<zone>Z|[-+](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?",
    re.ASCII,
)
# Many lines of dates that NumPy reads itself.
_PLAIN_DATES = re.compile(r"(?:\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?\n)*+", re.ASCII)


def stripped(texts: ColumnValues) -> ColumnValues:
    """Text without spaces around it; missing where it stands for a missing value."""
    levels, missing = tuple(map(str.strip, texts.levels)), frozenset(MISSING)
    if levels == texts.levels and missing.isdisjoint(levels):
        return texts
    return texts.with_levels(None if text in missing else text for text in levels)


def decimal_sign(texts: Sequence[str], usual: str = ".") -> str:
    """The decimal sign of the numbers in text.

    Points separate thousands if every value with a point could be meant so, and if one has two of them, if others are
    below a thousand and have none, such as 806 next to 2.607, or if commas are ``usual``.
    """
    if any("," in text and _DECIMAL_COMMA.fullmatch(text) for text in texts):
        return ","
    pointed = [text for text in texts if ("." in text and _NUMBER["."].fullmatch(text)) or text.count(".") > 1]
    if not pointed or not all(map(_POINTED.fullmatch, pointed)):
        return "."
    others = [text for text in texts if "." not in text and _NUMBER["."].fullmatch(text)]
    small = bool(others) and all(map(_BELOW_A_THOUSAND.fullmatch, others))
    return "," if usual == "," or small or any(text.count(".") > 1 for text in pointed) else "."


def numbers(texts: Sequence[str], decimal: str, unit: str | None = None) -> np.ndarray:
    """The number in each text, possibly followed by a unit; NaN where there is none."""
    spaced = [text.replace("\u00a0", " ") for text in without_unit(texts, unit)]
    if _all_match(_NUMBERS[decimal], spaced):
        return np.array(list(map(float, "\n".join(spaced).translate(_PLAIN[decimal]).split())))
    matches, plain = _NUMBER[decimal].fullmatch, _PLAIN[decimal]
    return np.array([float(text.translate(plain)) if matches(text) else np.nan for text in spaced])


def common_unit(texts: Sequence[str]) -> str | None:
    """The unit that follows the numbers in text, if there is exactly one: "°C" in "84.4 °C"."""
    found = {match["unit"] for text in texts if (match := _NUMBER_WITH_UNIT.fullmatch(text))}
    return found.pop() if len(found) == 1 else None


def number_format(texts: Sequence[str], usual: str = ".") -> tuple[str, str | None]:
    """The decimal sign of the numbers in text, and their unit if they all have the same."""
    decimal = decimal_sign(texts, usual)
    others = np.flatnonzero(np.isnan(numbers(texts, decimal)))
    unit = common_unit([texts[place] for place in others.tolist()])
    return (decimal, None) if unit is None else (decimal_sign(without_unit(texts, unit), usual), unit)


def without_unit(texts: Sequence[str], unit: str | None) -> Sequence[str]:
    """Text without the unit at its end."""
    return (
        texts if unit is None else [text.removesuffix(unit).rstrip() if text.endswith(unit) else text for text in texts]
    )


def dates(texts: ColumnValues, format: str | None) -> ColumnValues:
    """The dates in a column of text, in a format or, for None, in ISO 8601; missing where there is none.

    Either all or none have a time zone, as the first one does: any other is missing.
    """
    moments, zoned = _moments(texts.levels, format)
    data = texts.of_rows(np.where(np.isnat(moments), np.nan, moments.view(np.int64)), np.nan)
    return ColumnValues("date", data, np.isnan(data), zoned=zoned)


def moment(text: str, format: str | None) -> np.datetime64:
    """The date in a text, as :func:`dates` reads it; NaT if there is none."""
    if format is None and _PLAIN_DATES.fullmatch(f"{text}\n"):
        with suppress(ValueError):
            return np.datetime64(text, "us")
    found: np.datetime64 = _moments((text,), format)[0][0]
    return found


def clock_times(texts: ColumnValues) -> ColumnValues:
    """The times of the day in a column of text; missing where there is none."""
    moments = dates(texts.with_levels([f"1970-01-01 {text}" for text in texts.levels]), None)
    return ColumnValues("time", moments.data, moments.missing | moments.zoned)


def date_formats(texts: Sequence[str], order: str = "auto") -> list[str | None]:
    """The formats in which all levels of a column are dates, the one to use first; None stands for ISO 8601.

    ``order``, one of DATE_ORDERS, says which to prefer where a day and a month may be exchanged.
    """
    # The first one tells at once that most formats do not fit.
    fitting = [
        format
        for format in (None, *DATE_FORMATS)
        if not any(np.isnat(_moments(some, format)[0]).any() for some in (texts[:1], texts))
    ]
    return sorted(fitting, key=lambda format: format is not None and order != "auto" and date_order(format) != order)


def _moments(texts: Sequence[str], format: str | None) -> tuple[np.ndarray, bool]:
    """The moment in each text, in UTC if it has a time zone, NaT where there is none; and whether they have one."""
    moments = np.full(len(texts), "NaT", dtype="datetime64[us]")
    if format is None:
        texts = [f"{text}-01" if _MONTH.fullmatch(text) else text for text in texts]
    if format is None and _all_match(_PLAIN_DATES, texts):
        try:
            return np.array(texts, dtype=moments.dtype), False
        except ValueError:
            # February 30.
            pass
    pattern = _ISO_8601 if format is None else _date_pattern(format)
    if format is not None and not {"%b", "%p"} & set(re.findall("%.", format)):
        whole = _whole_numbers(texts, pattern)
        if whole is not None:
            return _dates_of(dict(zip(pattern.groupindex, whole.T, strict=True)), exact=False), False
    found = [(row, match.groups("0")) for row, match in enumerate(map(pattern.fullmatch, texts)) if match is not None]
    if not found:
        return moments, False
    known, groups = np.array([row for row, _ in found]), zip(*(group for _, group in found), strict=True)
    parts = dict(zip(pattern.groupindex, groups, strict=True))
    moments[known] = _dates_of(parts, exact=format is None)
    zoned = np.array([zone != "0" for zone in parts.get("zone", ["0"] * len(known))])
    moments[known[zoned != zoned[0]]] = np.datetime64("NaT")
    return moments, bool(zoned[0])


def _all_match(lines: re.Pattern[str], texts: Sequence[str]) -> bool:
    """Whether these are lines that a pattern matches, which one search finds out faster than many."""
    joined = "\n".join([*texts, ""])
    return joined.count("\n") == len(texts) and lines.fullmatch(joined) is not None


def _whole_numbers(texts: Sequence[str], pattern: re.Pattern[str]) -> np.ndarray | None:
    """The groups of a pattern as numbers, read all at once; None where a text does not match, or has other numbers."""
    if not _all_match(re.compile(f"(?:{pattern.pattern}\n)*+", pattern.flags), texts):
        return None
    numbers = np.fromstring("\n".join(texts).translate(_SEPARATORS), dtype=np.int64, sep=" ")
    return numbers.reshape(len(texts), -1) if len(numbers) == len(texts) * pattern.groups else None


@cache
def _date_pattern(format: str) -> re.Pattern[str]:
    parts = (_PARTS.get(part, re.escape(part)) for part in re.split("(%.|, | )", format))
    return re.compile("".join(parts), re.ASCII | re.IGNORECASE)


def _dates_of(parts: Mapping[str, np.ndarray | Sequence[str]], *, exact: bool) -> np.ndarray:
    """Dates from their parts; days after the last one of a month count into the next unless ``exact``."""

    def part(name: str, read: Callable[[str], int] = int) -> np.ndarray:
        found = parts.get(name, ())
        return found if isinstance(found, np.ndarray) else np.array(list(map(read, found)) or 0)

    year = part("year") if "year" in parts else part("short") + np.where(part("short") < 69, 2000, 1900)
    month = part("month") if "month" in parts else part("named", lambda name: _SHORT_MONTHS.index(name[:3].lower()) + 1)
    hour = (
        part("hour") if "half" not in parts else part("hour") % 12 + part("half", lambda half: 12 * (half[0] in "pP"))
    )
    seconds = (hour * 60 + part("minute")) * 60 + part("second") - part("zone", _offset)
    microseconds = part("fraction", lambda digits: int(digits[:6].ljust(6, "0")))
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (part("day") - 1)
    wrong = (year == 0) | (exact & (days.astype(months.dtype) != months))
    moments = days.astype("datetime64[us]") + (seconds * 1_000_000 + microseconds)
    return np.where(wrong, np.datetime64("NaT"), moments)


def _offset(zone: str) -> int:
    """The seconds by which the clocks of a time zone, such as +01:00, are ahead."""
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return 0 if zone in ("0", "Z") else int(zone[0] + digits[:2]) * 3600 + int(zone[0] + digits[2:]) * 60


def date_order(format: str | None) -> str | None:
    """Whether the day or the month comes first in a format in which they may be exchanged."""
    orders = {"%d/%m": "day-first", "%d-%m": "day-first", "%m/%d": "month-first", "%m-%d": "month-first"}
    return None if format is None else orders.get(format[:5])
