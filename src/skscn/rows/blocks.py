"""Blocks of training rows, what they come from, and what is required of whatever was given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True)
class Block:
    """Some consecutive rows: inputs (n, d), targets (n,) or (n, m), weights (n,) or None. They may be views."""

    X: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray | None


class Source(Protocol):
    """Where rows come from; blocks are arrays of the right shapes, whose values have not been checked yet."""

    n_features: int
    feature_names: np.ndarray | None
    targets: tuple[str, ...] | None

    def read(self, max_rows: int) -> Iterator[Block]:
        """All rows in order, at most ``max_rows`` at a time."""
        ...


def check_block(block: Block, feature_names: np.ndarray | None = None, targets: tuple[str, ...] | None = None) -> None:
    """Reject rows with missing or infinite numbers, or with negative weights."""
    finite = np.isfinite(block.X)
    if not finite.all():
        place = int(np.argmin(finite.all(axis=0)))
        held = "NaN" if np.isnan(block.X[:, place]).any() else "infinity"
        raise incomplete(label(place, feature_names), held)
    if _is_missing(block.y):
        raise incomplete(" ".join(["the target", *(targets or ())]), "NaN, infinity or None")
    if block.sample_weight is not None and not (
        np.isfinite(block.sample_weight).all() and (block.sample_weight >= 0).all()
    ):
        raise ValueError("The sample weights contain NaN, infinity or negative numbers; drop those rows first.")


def _is_missing(y: np.ndarray) -> bool:
    """Whether targets hold NaN, infinity, or None."""
    if y.dtype.kind == "f":
        return not np.isfinite(y).all()
    return y.dtype.kind == "O" and any(
        value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and not np.isfinite(value))
        for value in y.flat
    )


def label(place: int, names: np.ndarray | None) -> str:
    """What a column is called in messages."""
    return f"column {place}" if names is None else f"column {str(names[place])!r}"


def incomplete(label: str, held: str) -> ValueError:
    """What to say about a column with values that are missing."""
    return ValueError(f"{label} holds {held} in some rows; impute or drop those rows first.")


def not_numbers(label: str, held: str) -> ValueError:
    """What to say about a column that is not numeric."""
    return ValueError(
        f"{label} holds {held}; encode it with skscn.tables.TableEncoder, drop it, or use the program (skscn fit), "
        "which reads columns of all kinds."
    )
