"""Arrays and a JSON header in one safetensors file, with a checksum over all of it.

The header is text in the metadata of the file. A reader trusts nothing: not the lengths that the file claims, not the
types of the arrays, and not the header before its checksum has been verified.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from skscn.files import replace_file

# Bytes that a header may have, and levels that it may be nested: parsed, it takes some thirty times its size.
_LARGEST_HEADER, _DEEPEST = 2**24, 48
# Types of arrays, as safetensors calls them.
_TYPES = {"F64", "I64", "I32", "U32", "BOOL"}
_METADATA = "skscn"


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


def write_archive(path: Path, kind: Kind, about: dict, arrays: dict[str, np.ndarray]) -> None:
    """Replace a file at once by one that holds these arrays under a header that is about them."""
    # What safetensors makes of arrays that are not contiguous is not what they hold.
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    about = {"kind": kind.name, "format": kind.newest, **about, "arrays": _fingerprint(arrays)}
    header = json.dumps({**about, "checksum": _checksum(about)}, allow_nan=False)
    content = save(arrays, {_METADATA: header})
    if int.from_bytes(content[:8], "little") > _LARGEST_HEADER:
        raise kind.error(f"The header of {path} would be larger than {_LARGEST_HEADER} bytes, more than is read again.")
    replace_file(path, content)


def read_header(path: Path, kind: Kind) -> dict:
    """What a file says about its arrays, which are not read; its checksum has been verified."""
    with _opened(path, kind) as file:
        return _header(file, path, kind)


def read_archive(path: Path, kind: Kind) -> tuple[dict, dict[str, np.ndarray]]:
    """The header and the arrays; no more memory is used than the file is large."""
    with _opened(path, kind) as file:
        about = _header(file, path, kind)
        arrays = {name: _array(file, name, path, kind) for name in sorted(file.keys())}
    if about.get("arrays") != _fingerprint(arrays):
        raise kind.refusal(path, "is damaged (the checksum of its arrays is wrong)")
    return about, arrays


@contextmanager
def _opened(path: Path, kind: Kind) -> Iterator[safe_open]:
    if path.exists() and not path.is_file():
        raise kind.refusal(path, "is not a file")
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
    if length > min(_LARGEST_HEADER, path.stat().st_size):
        raise kind.refusal(
            path, f"is no {kind.name} of skscn, or damaged (it does not begin with the length of a header)"
        )
    try:
        with safe_open(path, framework="numpy") as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise kind.refusal(path, f"is damaged ({error})") from error


def _header(file: safe_open, path: Path, kind: Kind) -> dict:
    text = (file.metadata() or {}).get(_METADATA)
    if text is None:
        raise kind.refusal(path, f"is no {kind.name} of skscn")
    try:
        about = json.loads(text, object_pairs_hook=_without_repetition, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise kind.refusal(path, f"is damaged (its header cannot be read: {error})") from error
    if not isinstance(about, dict) or _is_deeper(about, _DEEPEST):
        raise kind.refusal(path, "is damaged (its header has another structure)")
    if about.get("kind") != kind.name:
        raise kind.refusal(path, f"is no {kind.name} of skscn")
    _check_format(about, path, kind)
    if about.pop("checksum", None) != _checksum(about):
        raise kind.refusal(path, "is damaged (the checksum of its header is wrong)")
    return about


def _check_format(about: dict, path: Path, kind: Kind) -> None:
    """A newer format may have another checksum, so this comes first."""
    version, versions = about.get("format"), about.get("versions")
    if type(version) is not int or version < 1:
        raise kind.refusal(path, "is damaged (its format is not a number)")
    if version > kind.newest:
        writer = versions.get("skscn") if isinstance(versions, dict) else None
        writer = writer if isinstance(writer, str) and re.fullmatch(r"[\w.+]{1,20}", writer) else "?"
        raise kind.error(
            f"{path} has format {version}, written by skscn {writer}; this one reads up to format {kind.newest}: "
            "upgrade with pip install --upgrade scikit-scn."
        )


def _array(file: safe_open, name: str, path: Path, kind: Kind) -> np.ndarray:
    described = file.get_slice(name)
    if described.get_dtype() not in _TYPES:
        raise kind.refusal(path, f"is damaged (the array {name!r} has the type {described.get_dtype()})")
    # An array without elements may claim to be as long as it likes.
    if any(length > path.stat().st_size for length in described.get_shape()):
        raise kind.refusal(path, f"is damaged (the array {name!r} has the shape {described.get_shape()})")
    return file.get_tensor(name)


def _without_repetition(pairs: list[tuple[str, object]]) -> dict:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _is_deeper(value, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in inner)


def _checksum(about: dict) -> str:
    return hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=16).hexdigest()


def _fingerprint(arrays: dict[str, np.ndarray]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        digest.update(f"{name}{arrays[name].shape}{arrays[name].dtype}".encode())
        digest.update(arrays[name].data)
    return digest.hexdigest()
