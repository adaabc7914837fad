"""Which rows a model was trained on: a sketch that is small enough to be kept with it.

Each row, encoded and with its target, has a hash. The sketch is the sum of all hashes, which tells whether two tables
hold the same rows in whatever order and whatever file, and the smallest of the hashes, a random sample of the rows,
which tells how many rows of another table were among them.
"""

from __future__ import annotations

import re
import zlib
from typing import Any

import numpy as np

from skscn.fit.data import finalised
from skscn.judging.cautions import Caution

# From this share of the rows on it is worth saying that a model was trained on them.
NOTABLE = 0.05
_KEPT = 256
# Numbers that are hashed at a time.
_AT_A_TIME = 2**20
# Where rows repeat, new ones look like old ones; and fewer rows of the sample than that tell nothing.
_LEAST_DISTINCT = 0.9
_FEWEST_SAMPLED = 5


class RowSketch:
    """Hashes of rows, added up and sampled as they come."""

    def __init__(self) -> None:
        self.rows, self.sum = 0, 0
        self._values, self._counts = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)

    def add(self, X: np.ndarray, y: np.ndarray) -> RowSketch:
        """Take in some rows more."""
        step = max(1, _AT_A_TIME // max(1, X.shape[1]))
        for start in range(0, len(X), step):
            part = slice(start, start + step)
            self._add(_hashes(X[part], _numbers(y[part])))
        return self

    def _add(self, hashes: np.ndarray) -> None:
        self.rows += len(hashes)
        self.sum = (self.sum + int(hashes.sum(dtype=np.uint64))) % 2**64
        values, counts = np.unique(hashes, return_counts=True)
        values, places = np.unique(np.concatenate([self._values, values]), return_inverse=True)
        counts = np.bincount(places, np.concatenate([self._counts, counts])).astype(np.int64)
        # A hash that is among the smallest in the end has been among them all the time.
        self._values, self._counts = values[:_KEPT], counts[:_KEPT]

    def to_json(self) -> dict[str, Any]:
        """What is kept of it in the notes of a model."""
        distinct = float(len(self._counts) / self._counts.sum()) if len(self._counts) else 1.0
        return {
            "rows": self.rows,
            "sum": f"{self.sum:016x}",
            "distinct": round(distinct, 4),
            "smallest": "".join(f"{value:016x}" for value in self._values.tolist()),
        }

    @classmethod
    def continued(cls, notes: Any) -> RowSketch | None:
        """The sketch of which notes were kept, to add further rows to; None if there are none."""
        if not _is_sketch(notes):
            return None
        sketch = cls()
        sketch.rows, sketch.sum = int(notes["rows"]), int(notes["sum"], 16)
        sketch._values = np.array(_smallest(notes), dtype=np.uint64)
        sketch._counts = np.ones(len(sketch._values), dtype=np.int64)
        return sketch

    def share_in(self, notes: Any) -> float | None:
        """The share of these rows that are among those of which notes were kept; None where it cannot be told."""
        if not self.rows or not _is_sketch(notes):
            return None
        if (notes["rows"], notes["sum"]) == (self.rows, f"{self.sum:016x}"):
            return 1.0
        kept = set(_smallest(notes))
        if notes["distinct"] < _LEAST_DISTINCT or not kept:
            return None
        # Below the largest one that was kept, all hashes of training are known.
        limit = max(kept) if notes["rows"] > len(kept) else 2**64
        sampled = [(value in kept, count) for value, count in self._pairs() if value <= limit]
        rows = sum(count for _, count in sampled)
        return sum(count for known, count in sampled if known) / rows if rows >= _FEWEST_SAMPLED else None

    def _pairs(self) -> list[tuple[int, int]]:
        return list(zip(self._values.tolist(), self._counts.tolist(), strict=True))


def _smallest(notes: dict[str, Any]) -> list[int]:
    return [int(value, 16) for value in re.findall("[0-9a-f]{16}", notes["smallest"])]


def _is_sketch(notes: Any) -> bool:
    """Whether notes are what :meth:`RowSketch.to_json` gave."""
    return (
        isinstance(notes, dict)
        and all(isinstance(notes.get(name), int | float) for name in ("rows", "distinct"))
        and all(isinstance(notes.get(name), str) for name in ("sum", "smallest"))
    )


def _hashes(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A number of 64 bits for each row; single precision, so that the last digits of a sine do not matter."""
    with np.errstate(over="ignore"):
        bits = np.column_stack([X, y]).astype(np.float32).view(np.uint32).astype(np.uint64)
        # 0.0 and -0.0 are one number, and so is all that is not a number.
        bits[bits == 0x80000000] = 0
        bits[(bits & 0x7FFFFFFF) > 0x7F800000] = 0x7FC00000
        mixed = finalised(bits + np.arange(1, bits.shape[1] + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
        return finalised(mixed.sum(axis=1, dtype=np.uint64))


def _numbers(y: np.ndarray) -> np.ndarray:
    """Targets as numbers; labels of classes by a checksum of what is written."""
    if y.dtype.kind == "f":
        return y
    labels = y.tolist()
    codes = {label: zlib.crc32(str(label).encode()) for label in set(labels)}
    return np.array([codes[label] for label in labels], dtype=np.float64)


def seen_caution(share: float | None, data: str) -> Caution | None:
    """Rows that are among those that the model was trained on, if they are more than a few."""
    return None if share is None or share < NOTABLE else Caution("seen", {"share": share, "data": data})
