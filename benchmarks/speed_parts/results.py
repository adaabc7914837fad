"""Measurements: what they are called, how they are kept, and the part of the benchmark that they belong to."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from skscn.paper.trials import KeyedLines
from speed_parts.sizes import Sizes
from speed_parts.writing import Table

# Part, case, method, turn.
Key = tuple[str, str, str, int]


@dataclass(frozen=True)
class Cell:
    """One measurement: what it is called, and a function that takes it."""

    key: Key
    measure: Callable[[], dict]


class ResultStore(KeyedLines):
    """Measurements in a file of JSON lines."""

    def __init__(self, path: Path):
        super().__init__(path, ("part", "case", "method", "turn"))

    def turns(self, part: str, case: str, method: str) -> list[dict]:
        """The measurements of a method, turn by turn."""
        found = {key[3]: result for key, result in self.results.items() if key[:3] == (part, case, method)}
        return [found[turn] for turn in sorted(found)]

    def median(self, part: str, case: str, method: str, name: str = "cpu") -> float:
        """The median over the turns."""
        return float(np.median([result[name] for result in self.turns(part, case, method)]))

    def ratio(self, part: str, case: str, method: str, other: str, name: str = "cpu") -> float:
        """The median over the turns of one method's number over the other's."""
        pairs = zip(self.turns(part, case, method), self.turns(part, case, other), strict=False)
        return float(np.median([one[name] / two[name] for one, two in pairs]))


@dataclass(frozen=True)
class Part:
    """One part: its measurements, its tables and its picture."""

    title: str
    cells: Callable[[Sizes], Iterator[Cell]]
    tables: Callable[[ResultStore, Sizes], list[Table]]
    draw: Callable | None = None
