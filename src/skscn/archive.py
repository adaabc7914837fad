"""Arrays and a JSON header in one safetensors file, with a checksum over all of it.

The header is text in the metadata of the file. A reader trusts nothing: not the lengths that the file claims, not the
types of the arrays, and not the header before its checksum has been verified.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save

from skscn.files import patiently, replace_file

# Largest size of a header in bytes and its deepest nesting: once parsed, it needs about thirty times its size.
_LARGEST_HEADER, _DEEPEST = 2**24, 48
# Types of arrays, as named by safetensors.
_TYPES = {"F64": np.float64, "I64": np.int64, "I32": np.int32, "U32": np.uint32, "BOOL": np.bool_}
_METADATA = "skscn"
# What JSON can hold, by name.
Header = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """One kind of file.

    Attributes
    ----------
    name : str
        What a file is, for example "model".
    newest : int
        The newest format that this version reads and the one that it writes.
    error : type of ValueError
        What is raised for a file that cannot be read.
    advice : str
        What to do about it.
    """

    name: str
    newest: int
    error: type[ValueError]
    advice: str

    def refusal(self, path: Path, reason: str) -> ValueError:
        """The error to raise."""
        return self.error(f"{path} {reason}; {self.advice}.")


def write_archive(path: Path, kind: Kind, about: Header, arrays: dict[str, np.ndarray]) -> None:
    """Atomically replace a file by one with these arrays and a header that describes them."""
    # safetensors writes wrong values for arrays that are not contiguous.
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    about = {"kind": kind.name, "format": kind.newest, **about, "arrays": _fingerprint(arrays)}
    header = json.dumps({**about, "checksum": _checksum(about)}, allow_nan=False)
    content = save(arrays, {_METADATA: header})
    if _header_length(content) > _LARGEST_HEADER:
        raise kind.error(f"The header of {path} would exceed {_LARGEST_HEADER} bytes and could not be read again.")
    replace_file(path, content)


def read_header(path: Path, kind: Kind) -> Header:
    """The header of a file; its checksum has been verified, but not the checksums of the arrays, which are not read."""
    with _open(path, kind) as file:
        return _read_beginning(file, path, kind).about


def read_archive(path: Path, kind: Kind) -> tuple[Header, dict[str, np.ndarray]]:
    """The header and the arrays; memory is used only for the file and its arrays, whatever sizes it claims."""
    # One open file: another one that takes its place meanwhile is not seen.
    with _open(path, kind) as file:
        beginning = _read_beginning(file, path, kind)
        try:
            content = beginning.content + file.read(beginning.body)
            parts = dict(deserialize(content))
        except SafetensorError as error:
            raise kind.refusal(path, f"is damaged ({error})") from error
        except MemoryError:
            raise kind.refusal(path, f"does not fit in memory (it has {beginning.body:,} bytes of arrays)") from None
    arrays = {name: _array(parts[name], name, len(content), path, kind) for name in sorted(parts)}
    if beginning.about.get("arrays") != _fingerprint(arrays):
        raise kind.refusal(path, "is damaged (the checksum of its arrays is wrong)")
    return beginning.about, arrays


def _open(path: Path, kind: Kind) -> BinaryIO:
    if path.exists() and not path.is_file():
        raise kind.refusal(path, "is not a file")
    return patiently(lambda: path.open("rb"))


class _Beginning(NamedTuple):
    """The beginning of a file, as it is; the header in it; and the number of bytes that follow, which it declares."""

    content: bytes
    about: Header
    body: int


def _read_beginning(file: BinaryIO, path: Path, kind: Kind) -> _Beginning:
    """Read what comes before the arrays, whatever the size of the file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    first = file.read(8)
    length = _header_length(first)
    if length > min(_LARGEST_HEADER, size - 8):
        raise kind.refusal(
            path, f"is not a scikit-scn {kind.name} file, or is damaged (it does not begin with the length of a header)"
        )
    text = file.read(length)
    outer = _parsed(text, path, kind)
    about = _header(outer.pop("__metadata__", None), path, kind)
    body = max((_end(part, path, kind) for part in outer.values()), default=0)
    if body != size - 8 - length:
        raise kind.refusal(path, f"is damaged (its arrays have {body:,} bytes, and the file {size - 8 - length:,})")
    return _Beginning(first + text, about, body)


def _header_length(content: bytes) -> int:
    return int.from_bytes(content[:8], "little")


def _end(part: Any, path: Path, kind: Kind) -> int:
    """Where an array ends, as the file declares it."""
    match part:
        case {"data_offsets": [_, int(end)]} if end >= 0:
            return end
    raise kind.refusal(path, "is damaged (it does not say where its arrays are)")


def _parsed(text: bytes | str, path: Path, kind: Kind) -> Header:
    """An object in JSON, of limited depth."""
    try:
        found = json.loads(text, object_pairs_hook=_without_repetition, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise kind.refusal(path, f"is damaged (its header cannot be read: {error})") from error
    if not isinstance(found, dict) or _is_deeper(found, _DEEPEST):
        raise kind.refusal(path, "is damaged (its header has an unexpected structure)")
    return found


def _header(metadata: Any, path: Path, kind: Kind) -> Header:
    """The header in the metadata of a file."""
    text = metadata.get(_METADATA) if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise kind.refusal(path, f"is not a scikit-scn {kind.name} file")
    about = _parsed(text, path, kind)
    if about.get("kind") != kind.name:
        raise kind.refusal(path, f"is not a scikit-scn {kind.name} file")
    _check_format(about, path, kind)
    if about.pop("checksum", None) != _checksum(about):
        raise kind.refusal(path, "is damaged (the checksum of its header is wrong)")
    return about


def _check_format(about: Header, path: Path, kind: Kind) -> None:
    """Check the format; a newer one may have a different checksum, so this comes first."""
    version, versions = about.get("format"), about.get("versions")
    if type(version) is not int or version < 1:
        raise kind.refusal(path, "is damaged (its format is not a number)")
    if version > kind.newest:
        writer = versions.get("skscn") if isinstance(versions, dict) else None
        writer = writer if isinstance(writer, str) and re.fullmatch(r"[\w.+]{1,20}", writer) else "?"
        raise kind.error(
            f"{path} has format {version}, written by skscn {writer}; this version reads up to format {kind.newest}: "
            "upgrade with pip install --upgrade scikit-scn."
        )


def _array(part: Header, name: str, longest: int, path: Path, kind: Kind) -> np.ndarray:
    if part["dtype"] not in _TYPES:
        raise kind.refusal(path, f"is damaged (the array {name!r} has the type {part['dtype']})")
    # An array without elements can claim any length.
    if any(length > longest for length in part["shape"]):
        raise kind.refusal(path, f"is damaged (the array {name!r} has the shape {part['shape']})")
    array: np.ndarray = np.frombuffer(part["data"], dtype=_TYPES[part["dtype"]]).reshape(part["shape"])
    return np.require(array, requirements="W")


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _is_deeper(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in inner)


def _checksum(about: Header) -> str:
    return hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=16).hexdigest()


def _fingerprint(arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        digest.update(f"{name}{arrays[name].shape}{arrays[name].dtype}".encode())
        digest.update(arrays[name].data)
    return digest.hexdigest()
