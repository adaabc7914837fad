"""KEEL's ``.dat`` files: a header of @relation, @attribute, @inputs and @outputs, then comma-separated rows."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|[^\s{\[]+)\s*(real|integer)?", re.IGNORECASE)


class DataFileError(ValueError):
    """A data file that is missing, or that does not hold what it should."""


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
    path = Path(path)
    name = path.stem
    attributes: list[str] = []
    columns: dict[str, list[str]] = {"inputs": [], "outputs": []}
    lines = iter(path.read_text(encoding="utf-8").splitlines())
    for line in map(str.strip, lines):
        key, _, rest = line.partition(" ")
        key = key.lower()
        if key == "@relation":
            name = rest.strip()
        elif key == "@attribute":
            attributes.append(_attribute_name(line, path))
        elif key in ("@input", "@inputs", "@output", "@outputs"):
            columns[key.strip("@s") + "s"] = [_unquoted(part) for part in rest.split(",")]
        elif key == "@data":
            break
        elif line and not line.startswith("%"):
            raise DataFileError(f"{path}: {line[:40]!r} is not a line of a KEEL header.")
    # Without @inputs and @outputs the last attribute is the output.
    outputs = columns["outputs"] or attributes[-1:]
    inputs = columns["inputs"] or [attribute for attribute in attributes if attribute not in outputs]
    unknown = set(inputs + outputs) - set(attributes)
    if unknown or not attributes:
        raise DataFileError(f"{path}: no @attribute line for {sorted(unknown) or 'any column'}.")
    table = _numbers(lines, len(attributes), path)
    position = {attribute: place for place, attribute in enumerate(attributes)}
    target = table[:, [position[output] for output in outputs]]
    return Bunch(
        data=table[:, [position[column] for column in inputs]],
        target=target[:, 0] if len(outputs) == 1 else target,
        feature_names=inputs,
        target_names=outputs,
        name=name,
    )


def _attribute_name(line: str, path: Path) -> str:
    match = _ATTRIBUTE.match(line)
    if match is None or match.group(2) is None:
        raise DataFileError(f"{path}: {line[:60]!r} is not a real or integer attribute; only numbers can be read.")
    return _unquoted(match.group(1))


def _unquoted(name: str) -> str:
    return name.strip().strip("'")


def _numbers(lines, width: int, path: Path) -> np.ndarray:
    rows = [line.split(",") for line in lines if line.strip()]
    uneven = next((number for number, row in enumerate(rows, start=1) if len(row) != width), None)
    if uneven is not None:
        raise DataFileError(f"{path}: row {uneven} after @data has {len(rows[uneven - 1])} values instead of {width}.")
    try:
        return np.array(rows, dtype=np.float64).reshape(-1, width)
    except ValueError as error:
        raise DataFileError(f"{path}: {error}; only numbers can be read.") from error
