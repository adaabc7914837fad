"""Operations on the rows: each defines what is done on one stretch and whether it changes anything.

An operation is a small frozen object that is sent to where the rows are. Called on a stretch, it returns that stretch's
share of a row sum; shares are added up (``+``) in a fixed tree, so the result is the same wherever the rows are. A new
operation is one class; every backend can run it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import ClassVar, Generic, TypeVar

import numpy as np

from skscn import kernels
from skscn.layers import Nodes
from skscn.rows._shard import Sample, Shard
from skscn.rows._stretches import Share
from skscn.supervision import SampledSums, Slopes, Sums

# What a selection returns.
Answer = TypeVar("Answer")


class Operation(ABC, Generic[Share]):
    """Something to be done on every stretch of the rows.

    The three flags tell a backend whose rows may lose their state (Dask) what it must do again to restore it.
    """

    # Forms new open columns.
    opens: ClassVar[bool] = False
    # Needs the open columns.
    works: ClassVar[bool] = False
    # Changes the residual or the basis permanently.
    lasts: ClassVar[bool] = False

    @property
    def ordered(self) -> bool:
        """Whether stretches must be processed in their order, because a row depends on those before it."""
        return False

    def prepare(self, shard: Shard) -> None:
        """Reserve space for what will be written; called once, before all stretches."""

    @abstractmethod
    def __call__(self, shard: Shard, rows: slice) -> Share:
        """Run it on one stretch; return its share of the sum."""


class Selection(ABC, Generic[Answer]):
    """A query on rows with given numbers; it changes nothing."""

    @abstractmethod
    def __call__(self, shard: Shard, rows: np.ndarray) -> Answer:
        """The answer for these rows."""

    @staticmethod
    @abstractmethod
    def combined(answers: Sequence[Answer]) -> Answer:
        """One answer from those for several sets of rows, one set after the other."""

    @staticmethod
    def arranged(answer: Answer, order: np.ndarray) -> Answer:
        """The answer with its rows in this order, which does not matter where they have been added up."""
        return answer


@dataclass(frozen=True)
class Weigh(Operation[float]):
    """The sum of the weights; the number of rows without them."""

    def __call__(self, shard: Shard, rows: slice) -> float:
        if shard.sample_weight is None:
            return float(rows.stop - rows.start)
        return float(shard.sample_weight[rows].sum())


@dataclass(frozen=True)
class SquareResidual(Operation[np.ndarray]):
    """‖e_q‖² of each output."""

    def __call__(self, shard: Shard, rows: slice) -> np.ndarray:
        return _squares(shard.storage.residual(rows))


@dataclass(frozen=True)
class Score(Operation[Sums]):
    """Row sums of candidates."""

    nodes: Nodes
    complete: bool
    precision: type

    @property
    def ordered(self) -> bool:
        return self.nodes.layer.carries

    def prepare(self, shard: Shard) -> None:
        shard.memory = self.nodes.layer.memory(self.nodes)

    def __call__(self, shard: Shard, rows: slice) -> Sums:
        return kernels.candidate_sums(
            shard.storage.inputs(rows),
            shard.storage.residual(rows),
            shard.roots_of(rows),
            self.nodes,
            shard.memory,
            complete=self.complete,
            precision=self.precision,
        )


@dataclass(frozen=True)
class Slope(Operation[Slopes]):
    """How the row sums of one candidate change with its weights and bias."""

    node: Nodes

    def __call__(self, shard: Shard, rows: slice) -> Slopes:
        inputs, residual = shard.storage.inputs(rows), shard.storage.residual(rows)
        return kernels.candidate_slopes(inputs, residual, shard.roots_of(rows), self.node)


@dataclass(frozen=True)
class Open(Operation[np.ndarray]):
    """Write new columns; return ⟨e, h⟩, ‖h‖², Σ h⁴ and the projection on the basis of each."""

    opens: ClassVar[bool] = True
    size: int
    nodes: Nodes

    @property
    def ordered(self) -> bool:
        return self.nodes.layer.carries

    def prepare(self, shard: Shard) -> None:
        shard.storage.reserve(self.size, len(self.nodes))
        shard.memory = self.nodes.layer.memory(self.nodes)

    def __call__(self, shard: Shard, rows: slice) -> np.ndarray:
        storage, roots = shard.storage, shard.roots_of(rows)
        h = kernels.columns(storage.inputs(rows), rows.stop - rows.start, roots, self.nodes, shard.memory)
        storage.set_columns(rows, h)
        squares = h * h
        # Columns include √p, so that a row of weight 2 counts as two rows; Σ p h⁴ needs one √p fewer in each pair.
        bare = squares if roots is None else (h / roots) ** 2
        return np.vstack(
            [
                storage.residual(rows).T @ h.T,
                squares.sum(axis=1),
                np.einsum("ki,ki->k", squares, bare),
                *(panel @ h.T for panel in storage.basis(rows, self.size)),
            ]
        )


@dataclass(frozen=True)
class Deflate(Operation[np.ndarray]):
    """Remove basis vectors from the columns; return VᵀV, eᵀV and the remaining projection of V on the basis."""

    works: ClassVar[bool] = True
    size: int
    projection: np.ndarray

    def __call__(self, shard: Shard, rows: slice) -> np.ndarray:
        v, panels, start = shard.storage.columns(rows), shard.storage.basis(rows, self.size), 0
        for panel in panels:
            v -= self.projection[start : start + len(panel)].T @ panel
            start += len(panel)
        shard.storage.set_columns(rows, v)
        return np.vstack([v @ v.T, shard.storage.residual(rows).T @ v.T, *(panel @ v.T for panel in panels)])


@dataclass(frozen=True)
class Join(Operation[np.ndarray]):
    """Subtract the open columns' part from the residual, keep their directions if asked; return ‖e_q‖²."""

    works: ClassVar[bool] = True
    lasts: ClassVar[bool] = True
    size: int
    transform: np.ndarray
    coefficients: np.ndarray
    keep: bool

    def prepare(self, shard: Shard) -> None:
        shard.storage.reserve(self.size + self.keep * len(self.coefficients), len(self.coefficients))

    def __call__(self, shard: Shard, rows: slice) -> np.ndarray:
        directions, residual = self.transform.T @ shard.storage.columns(rows), shard.storage.residual(rows)
        residual -= directions.T @ self.coefficients
        shard.storage.set_residual(rows, residual)
        if self.keep:
            shard.storage.set_directions(rows, self.size, directions)
        return _squares(residual)


@dataclass(frozen=True)
class Rotate(Operation[int]):
    """Replace the basis Q by Q @ rotation."""

    lasts: ClassVar[bool] = True
    size: int
    rotation: np.ndarray

    def __call__(self, shard: Shard, rows: slice) -> int:
        panels = shard.storage.basis(rows, self.size)
        if panels:
            shard.storage.set_directions(rows, 0, self.rotation.T @ np.concatenate(panels))
        return 0


@dataclass(frozen=True)
class Gather(Selection[Sample]):
    """The rows themselves: scaled inputs, residual, the first ``size`` basis vectors, and √p."""

    size: int

    def __call__(self, shard: Shard, rows: np.ndarray) -> Sample:
        return Sample.of(*shard.storage.gather(rows, self.size), shard.roots_of(rows))

    @staticmethod
    def combined(answers: Sequence[Sample]) -> Sample:
        return Sample.joined(answers)

    @staticmethod
    def arranged(answer: Sample, order: np.ndarray) -> Sample:
        return answer.take(order)


@dataclass(frozen=True)
class ScoreSample(Selection[SampledSums]):
    """Row sums of candidates on the rows with these numbers."""

    nodes: Nodes
    precision: type

    def __call__(self, shard: Shard, rows: np.ndarray) -> SampledSums:
        x, residual, _ = shard.storage.gather(rows, 0)
        roots = shard.roots_of(rows)
        sums = kernels.candidate_sums(
            kernels.Inputs(kernels.with_one(x), None),
            residual,
            roots,
            self.nodes,
            complete=False,
            precision=self.precision,
        )
        p = np.ones(len(rows)) if roots is None else roots**2
        return SampledSums(sums, float((residual**2).sum()), float(p.sum()), float((p**2).sum()))

    @staticmethod
    def combined(answers: Sequence[SampledSums]) -> SampledSums:
        return reduce(add, answers)


def _squares(columns: np.ndarray) -> np.ndarray:
    squares: np.ndarray = np.einsum("ij,ij->j", columns, columns)
    return squares
