"""The words that stand for a missing value: some in every column, further ones among numbers."""

from __future__ import annotations

from collections.abc import Collection

MISSING = (
    *("", "?", "-", "--", ".", "NA", "N/A", "n/a", "na", "#N/A", "#NA", "<NA>", "<null>", "NULL", "Null", "null"),
    *("NaN", "nan", "-nan", "-NaN", "NaT", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
# In place of a number, in capital or small letters: infinite values, errors of spreadsheets, and the status of a
# measurement as process historians and loggers write it.
_NO_NUMBERS = (
    *(f"{sign}{word}" for sign in ("", "+", "-") for word in ("inf", "infinity", "1.#inf", "∞")),
    *("#value!", "#div/0!", "#ref!", "#num!", "#name?", "#null!", "#error!", "missing", "unknown", "undefined"),
    *("bad", "bad input", "bad value", "bad data", "bad output", "bad quality", "bad status", "bad tag", "bad_val"),
    *("no data", "nodata", "no value", "no result", "no sample", "no reading", "no connection", "not available"),
    *("not connect", "not connected", "not measured", "data error", "read error", "invalid", "invalid data"),
    *("error", "fault", "fail", "failed", "failure", "sensor failure", "sensor error", "device failure"),
    *("comm fail", "comm failure", "comm error", "i/o timeout", "io timeout", "timeout", "time out", "intf shut"),
    *("calc failed", "calc off", "calc overflow", "over range", "overrange", "overflow", "out of range"),
    *("under range", "underrange", "underflow", "scan off", "scan timeout", "pt created", "configure", "equip fail"),
    *("arc off-line", "arc offline", "offline", "off-line", "disconnected", "unavailable", "shutdown"),
    *("out of service", "out of serv", "not ready", "access denied", "system down", "n.d.", "n.a."),
)


_USUAL = frozenset([*_NO_NUMBERS, *map(str.lower, MISSING)])


def means_no_number(text: str, words: Collection[str] = ()) -> bool:
    """Whether text stands for a missing number: a usual word, or one of the words given."""
    trimmed = text.strip()
    return trimmed.lower() in _USUAL or trimmed in words
