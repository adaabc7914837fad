"""The encoding of a text file, found from its first bytes."""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE, getincrementaldecoder


def decoded(sample: bytes) -> tuple[str, str]:
    """The encoding of a file and the text that it begins with."""
    for encoding in (*_unicode_encodings(sample), "utf-8", "cp1252"):
        try:
            return encoding, getincrementaldecoder(encoding)().decode(sample).removeprefix("\ufeff")
        except UnicodeDecodeError:
            continue
    return "latin-1", sample.decode("latin-1")


def _unicode_encodings(sample: bytes) -> list[str]:
    """UTF-16 or UTF-32, if the mark at the beginning, or a zero in every other byte, says so."""
    if sample.startswith((BOM_UTF32_LE, BOM_UTF32_BE)):
        return ["utf-32"]
    if sample.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return ["utf-16"]
    half = len(sample) // 2
    zeros = {"utf-16-le": sample[1::2].count(0), "utf-16-be": sample[::2].count(0)}
    return [encoding for encoding, count in zeros.items() if half and count > 0.9 * half]
