"""What is added to a row of a series: an earlier value of an input or of the target, or a moving mean."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from skscn.series._past import Past
from skscn.words import count

# The longest lag and the longest window of a moving mean, in rows.
LONGEST = 100_000


@dataclass(frozen=True, order=True)
class LagTerm:
    """A column to add.

    Attributes
    ----------
    of_target : bool
        Whether it is computed from the target rather than from an input.
    column : int
        The place of the input, or of the target.
    is_mean : bool
        Whether it is the mean of the last ``rows`` rows, this one included, instead of the value ``rows`` rows ago.
    rows : int
    """

    of_target: bool
    column: int
    is_mean: bool
    rows: int

    @property
    def reach(self) -> int:
        """How many earlier rows it needs."""
        return self.rows - 1 if self.is_mean else self.rows

    def name(self, inputs: Sequence[str], targets: Sequence[str]) -> str:
        """The name of the column."""
        source = (targets if self.of_target else inputs)[self.column]
        return f"{source}, mean of {self.rows} rows" if self.is_mean else f"{source} {count(self.rows, 'row')} ago"

    def values(self, past: Past) -> np.ndarray:
        """Its values in the rows of a sequence; NaN where a target has never been known."""
        if self.is_mean:
            return past.means(self.column, self.rows)
        return (past.earlier_targets if self.of_target else past.earlier_inputs)(self.column, self.rows)

    def to_json(self) -> list[Any]:
        """Itself as plain data."""
        return list(astuple(self))


def term_from_json(state: Any, n_inputs: int, n_targets: int) -> LagTerm:
    """The term that gave this state; ValueError for anything else."""
    kinds = [bool, int, bool, int]
    if not isinstance(state, list) or [type(value) for value in state] != kinds:
        raise ValueError("an added column is not described by two flags and two whole numbers")
    term = LagTerm(*state)
    if not 0 <= term.column < (n_targets if term.of_target else n_inputs) or not 1 <= term.rows <= LONGEST:
        raise ValueError("an added column refers to an input, or to earlier rows, that do not exist")
    if term.of_target and term.is_mean:
        raise ValueError("an added column is a mean of the target")
    return term


def depth_of(terms: Iterable[LagTerm]) -> int:
    """How many earlier rows the terms need."""
    return max((term.reach for term in terms), default=0)


def are_complete(past: Past, terms: Collection[LagTerm]) -> np.ndarray:
    """Whether all that the terms need is known, in each row."""
    targets = [~np.isnan(term.values(past)) for term in terms if term.of_target]
    complete: np.ndarray = np.logical_and.reduce([past.reaches(depth_of(terms)), *targets])
    return complete
