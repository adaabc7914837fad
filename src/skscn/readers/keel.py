"""KEEL's ``.dat`` files: a header of @relation, @attribute, @inputs and @outputs, then comma-separated rows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from skscn.readers.errors import DataFileError

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|[^\s{\[]+)\s*(real|integer|\{)?", re.IGNORECASE)


@dataclass
class KeelHeader:
    """The header of a KEEL file.

    Attributes
    ----------
    name : str
        The relation's.
    attributes : dict of str to str
        The columns in their order: "real", "integer", or "nominal" for a list of categories.
    inputs, outputs : list of str
    n_lines : int
        Lines of the header, including @data.
    """

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    n_lines: int = 0


def read_keel(path: str | Path) -> Bunch:
    """Read a KEEL file of numbers.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Bunch
        With data, target, feature_names, target_names and name, the relation's. The target is one-dimensional if there
        is one output.
    """
    from sklearn.utils import Bunch

    path = Path(path)
    lines = path.read_text(encoding="utf-8").splitlines()
    header = read_keel_header(path, lines)
    nominal = [name for name, kind in header.attributes.items() if kind == "nominal"]
    if nominal:
        raise DataFileError(f"{path}: {nominal[0]!r} is not a real or integer attribute; only numbers can be read.")
    attributes, outputs = list(header.attributes), header.outputs
    table = _numbers(lines[header.n_lines :], len(attributes), path)
    position = {attribute: place for place, attribute in enumerate(attributes)}
    target = table[:, [position[output] for output in outputs]]
    return Bunch(
        data=table[:, [position[column] for column in header.inputs]],
        target=target[:, 0] if len(outputs) == 1 else target,
        feature_names=header.inputs,
        target_names=outputs,
        name=header.name,
    )


def read_keel_header(path: Path, lines: Iterable[str]) -> KeelHeader:
    """Read the lines of a KEEL file up to @data."""
    header = KeelHeader(path.stem)
    for line in map(str.strip, lines):
        header.n_lines += 1
        key, _, rest = line.partition(" ")
        key = key.lower()
        if key == "@relation":
            header.name = rest.strip()
        elif key == "@attribute":
            name, kind = _attribute(line, path)
            header.attributes[name] = kind
        elif key in ("@input", "@inputs"):
            header.inputs = _names(rest)
        elif key in ("@output", "@outputs"):
            header.outputs = _names(rest)
        elif key == "@data":
            break
        elif line and not line.startswith("%"):
            raise DataFileError(f"{path}: {line[:40]!r} is not a line of a KEEL header.")
    attributes = list(header.attributes)
    # Without @inputs and @outputs the last attribute is the output.
    header.outputs = header.outputs or attributes[-1:]
    header.inputs = header.inputs or [attribute for attribute in attributes if attribute not in header.outputs]
    unknown = set(header.inputs + header.outputs) - set(attributes)
    if unknown or not attributes:
        raise DataFileError(f"{path}: no @attribute line for {sorted(unknown) or 'any column'}.")
    return header


def _attribute(line: str, path: Path) -> tuple[str, str]:
    match = _ATTRIBUTE.match(line)
    if match is None or match.group(2) is None:
        raise DataFileError(f"{path}: {line[:60]!r} is not a real, integer or nominal attribute.")
    kind = match.group(2).lower()
    return _unquoted(match.group(1)), "nominal" if kind == "{" else kind


def _names(text: str) -> list[str]:
    return [_unquoted(part) for part in text.split(",")]


def _unquoted(name: str) -> str:
    return name.strip().strip("'")


def _numbers(lines: list[str], width: int, path: Path) -> np.ndarray:
    rows = [line.split(",") for line in lines if line.strip()]
    uneven = next((number for number, row in enumerate(rows, start=1) if len(row) != width), None)
    if uneven is not None:
        raise DataFileError(f"{path}: row {uneven} after @data has {len(rows[uneven - 1])} values instead of {width}.")
    try:
        return np.array(rows, dtype=np.float64).reshape(-1, width)
    except ValueError as error:
        raise DataFileError(f"{path}: {error}; only numbers can be read.") from error
