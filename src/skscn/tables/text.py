"""Text read as numbers, dates or missing values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skscn.readers.arrow import arrow
from skscn.readers.missing import MISSING

if TYPE_CHECKING:
    from skscn.readers.arrow import ArrowValues

# How dates are written, apart from ISO 8601. Of two that fit every value, the first is used: a year of two digits would
# also be one of the first century.
DATE_FORMATS = tuple(
    f"{date}{time}"
    for year in ("%y", "%Y")
    for date in (
        *(f"%d.%m.{year}", f"{year}/%m/%d", f"%m/%d/{year}", f"%d/%m/{year}"),
        *(f"%d-%m-{year}", f"%m-%d-{year}", f"%d %b {year}", f"%d-%b-{year}"),
    )
    if not date.startswith("%y")
    for time in ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
)
_FRACTION_OF_A_SECOND = r"(:\d\d:\d\d)[.,]\d+"
_FEW = 20
DATE_ORDERS = ("auto", "day-first", "month-first")
# A number by its decimal sign: digits, perhaps in groups of three, with a currency or a percent sign.
_NUMBER = {
    ".": r"^[-+]?[$€£]? ?(?:\d{1,3}(?:[, ']\d{3})+|\d*)(?:\.\d*)?(?:[eE][-+]?\d+)? ?[%$€£]?$",
    ",": r"^[-+]?[$€£]? ?(?:\d{1,3}(?:[. ']\d{3})+|\d*)(?:,\d*)?(?:[eE][-+]?\d+)? ?[%$€£]?$",
}
# A number followed by a unit: letters and signs, perhaps with a power.
_NUMBER_WITH_UNIT = (
    r"^[-+]?\d[\d.,' ]*(?:[eE][-+]?\d+)?\s*(?P<unit>[^\d\s.,'+\-:%$€£][^\s\d:]{0,9}(?:[ /^·*]*[^\s:]{1,9})?)$"
)
# Values that are numbers only if the comma is the decimal sign: no group of three follows, or dots stand before it.
_DECIMAL_COMMA = r"^[-+]?[$€£]? ?(?:0,\d+|\d+,(?:\d{1,2}|\d{4,})|\d{1,3}(?:\.\d{3})+,\d+) ?[%$€£]?$"


def stripped(texts: ArrowValues) -> ArrowValues:
    """Text without spaces around it; null where it stands for a missing value."""
    pa, pc = arrow(), arrow("pyarrow.compute")
    trimmed = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    return pc.if_else(pc.is_in(trimmed, value_set=pa.array(MISSING)), pa.scalar(None, pa.string()), trimmed)


def decimal_sign(texts: ArrowValues) -> str:
    """The decimal sign of the numbers in a text column."""
    pc = arrow("pyarrow.compute")
    return "," if pc.any(pc.match_substring_regex(texts, _DECIMAL_COMMA)).as_py() else "."


def numbers(texts: ArrowValues, decimal: str, unit: str | None = None) -> ArrowValues:
    """The numbers in a text column, each possibly followed by a unit; null where there is none."""
    pa, pc = arrow(), arrow("pyarrow.compute")
    texts = without_unit(texts, unit)
    texts = pc.replace_substring(texts, "\u00a0", " ")
    fits = pc.and_(pc.match_substring_regex(texts, _NUMBER[decimal]), pc.match_substring_regex(texts, r"\d"))
    signs = pc.replace_substring_regex(texts, r"[^0-9eE+\-.,]" if decimal == "," else r"[^0-9eE+\-.]", "")
    if decimal == ",":
        signs = pc.replace_substring(pc.replace_substring(signs, ".", ""), ",", ".")
    return pc.if_else(fits, signs, pa.scalar(None, pa.string())).cast(pa.float64())


def common_unit(texts: ArrowValues) -> str | None:
    """The unit that follows the numbers in a text column, if there is exactly one: "°C" in "84.4 °C"."""
    pc = arrow("pyarrow.compute")
    found = pc.unique(pc.struct_field(pc.extract_regex(texts, _NUMBER_WITH_UNIT), "unit")).drop_null()
    return found[0].as_py() if len(found) == 1 else None


def number_format(texts: ArrowValues) -> tuple[str, str | None]:
    """The decimal sign of the numbers in a text column, and their unit if they all have the same."""
    pc = arrow("pyarrow.compute")
    decimal = decimal_sign(texts)
    unit = common_unit(texts.filter(pc.is_null(numbers(texts, decimal))))
    return (decimal, None) if unit is None else (decimal_sign(without_unit(texts, unit)), unit)


def without_unit(texts: ArrowValues, unit: str | None) -> ArrowValues:
    """The values without the unit at their end."""
    if unit is None:
        return texts
    literally = "".join(f"\\x{{{ord(character):x}}}" for character in unit)
    return arrow("pyarrow.compute").replace_substring_regex(texts, rf"\s*{literally}$", "")


def dates(texts: ArrowValues, format: str | None) -> ArrowValues:
    """The dates in a text column, in a format or, for None, in ISO 8601; null where there is none."""
    pa, pc = arrow(), arrow("pyarrow.compute")
    if format is not None:
        whole = pc.replace_substring_regex(texts, _FRACTION_OF_A_SECOND, r"\1")
        return pc.strptime(whole, format=format, unit="us", error_is_null=True)
    for unit, zone in (("us", None), ("us", "UTC"), ("ns", None), ("ns", "UTC")):
        try:
            return texts.cast(pa.timestamp(unit, zone))
        except pa.ArrowInvalid:
            continue
    return pa.chunked_array([pa.nulls(len(texts), pa.timestamp("us"))])


def clock_times(texts: ArrowValues) -> ArrowValues:
    """The times of the day in a text column; ArrowInvalid where there is none."""
    pa, pc = arrow(), arrow("pyarrow.compute")
    # Arrow reads moments, but no times of the day.
    return pc.binary_join_element_wise("1970-01-01", texts, " ").cast(pa.timestamp("us")).cast(pa.time64("us"))


def date_formats(values: ArrowValues, order: str = "auto") -> list[str | None]:
    """The formats in which all values are dates, the one to use first; None stands for ISO 8601.

    Parameters
    ----------
    values : pyarrow array of strings
    order : {"auto", "day-first", "month-first"}
        Which formats to prefer among those with a day and a month that may be exchanged.
    """
    # A few tell at once that most formats do not fit.
    few = values[:_FEW]
    fitting: list[str | None] = [
        format
        for format in (None, *DATE_FORMATS)
        if all(dates(some, format).null_count == some.null_count for some in (few, values))
    ]
    return sorted(fitting, key=lambda format: format is not None and order != "auto" and date_order(format) != order)


def date_order(format: str | None) -> str | None:
    """Whether the day or the month comes first in a format in which they may be exchanged."""
    orders = {"%d/%m": "day-first", "%d-%m": "day-first", "%m/%d": "month-first", "%m-%d": "month-first"}
    return None if format is None else orders.get(format[:5])
