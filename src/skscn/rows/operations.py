"""What is done on the rows: how they are divided, where one place keeps them, and the operations on a stretch.

Rows are processed in stretches of fixed length, and the results are summed in a fixed order. Both depend only on the
number of rows, so a sum does not depend on threads, files or machines.

An operation is a small frozen object that is sent to where the rows are. Called on a stretch, it returns that stretch's
share of a row sum; shares are added up (``+``) in a fixed tree, so the result is the same wherever the rows are. A new
operation is one class; every backend can run it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from skscn import kernels
from skscn.kernels import Inputs
from skscn.nodes import Nodes
from skscn.supervision import SampledSums, Slopes, Sums

# What an operation returns for one stretch; shares have a sum, a + b.
Share = TypeVar("Share")

# The largest number of rows in a stretch: enough for the overhead of a call to be small.
STRETCH = 16384
# Fewer rows than this are not worth a separate stretch, but there should be a few stretches for threads to share.
_SHORTEST, _FEW = 2048, 4
# Above this number of stretches their number is a multiple of it, so that threads have equal shares.
_SHARES = 8


def stretch_length(n_rows: int, longest: int = STRETCH) -> int:
    """Rows in a stretch; the last one may be shorter."""
    count = max(1, -(-n_rows // longest), min(_FEW, n_rows // _SHORTEST))
    if count > _FEW:
        count = _SHARES * -(-count // _SHARES)
    return max(1, -(-n_rows // count))


def stretches(n_rows: int, longest: int = STRETCH) -> list[slice]:
    """All rows, stretch by stretch."""
    length = stretch_length(n_rows, longest)
    return [slice(start, min(start + length, n_rows)) for start in range(0, n_rows, length)]


# Partial sums: node (l, i) of a binary tree stands for the 2ˡ stretches from i 2ˡ on.
Subtrees = dict[tuple[int, int], Any]


def added(nodes: Subtrees, count: int) -> Subtrees:
    """Add up neighbouring nodes in the binary tree over ``count`` stretches.

    Some of the stretches give some of the nodes; all of them give one, the sum over all rows. Partial sums that were
    added up elsewhere lead to the same total, bit for bit.
    """
    left: Subtrees = {}
    level, waiting = 0, {i: value for (at, i), value in nodes.items() if at == 0}
    while count > 1:
        above = {i: value for (at, i), value in nodes.items() if at == level + 1}
        for i, value in waiting.items():
            if i ^ 1 in waiting:
                if not i & 1:
                    above[i >> 1] = value + waiting[i ^ 1]
            elif i ^ 1 >= count:
                above[i >> 1] = value
            else:
                left[level, i] = value
        level, waiting, count = level + 1, above, -(-count // 2)
    return left | {(level, i): value for i, value in waiting.items()}


def total(shares: Sequence[Share]) -> Share:
    """The sum of the shares of all stretches, in their order."""
    result: Share
    (result,) = added({(0, i): share for i, share in enumerate(shares)}, len(shares)).values()
    return result


# Rows in one place; a :class:`Storage` determines how they are kept.


# Number of basis vectors that are allocated and multiplied at a time.
PANEL = 16


class Gathered(NamedTuple):
    """Some rows from anywhere: scaled inputs (n, d), residual (n, m), basis (k, n)."""

    X: np.ndarray
    residual: np.ndarray
    basis: np.ndarray


@dataclass(frozen=True)
class Sample:
    """Some of the rows: scaled inputs (n, d), residual (n, m) and basis (n, k), the last two weighted by ``roots``."""

    X: np.ndarray
    residual: np.ndarray
    basis: np.ndarray
    roots: np.ndarray | None

    @classmethod
    def of(cls, X: np.ndarray, residual: np.ndarray, vectors: np.ndarray, roots: np.ndarray | None) -> Sample:
        """From basis vectors (k, n), always in the same memory layout, on which the last bits of products depend."""
        contiguous = np.ascontiguousarray
        return cls(contiguous(X), contiguous(residual), contiguous(vectors).T, roots)

    @classmethod
    def joined(cls, samples: Sequence[Sample]) -> Sample:
        """All of them together, one after the other."""
        roots = [sample.roots for sample in samples if sample.roots is not None]
        return cls.of(
            np.concatenate([sample.X for sample in samples]),
            np.concatenate([sample.residual for sample in samples]),
            np.concatenate([sample.basis.T for sample in samples], axis=1),
            np.concatenate(roots) if roots else None,
        )

    def take(self, order: np.ndarray) -> Sample:
        """Its rows in this order."""
        roots = None if self.roots is None else self.roots[order]
        return self.of(self.X[order], self.residual[order], self.basis.T[:, order], roots)


class Storage(ABC):
    """Keeps inputs, residual, basis and the open columns; read and written stretch by stretch.

    Arrays that were read may be changed in place; a change takes effect only when it is written.
    """

    @abstractmethod
    def inputs(self, rows: slice) -> Inputs:
        """Inputs of a stretch."""

    @abstractmethod
    def residual(self, rows: slice) -> np.ndarray:
        """e of a stretch, shape (n, m)."""

    @abstractmethod
    def set_residual(self, rows: slice, values: np.ndarray) -> None: ...

    @abstractmethod
    def columns(self, rows: slice) -> np.ndarray:
        """The open columns on a stretch, shape (k, n)."""

    @abstractmethod
    def set_columns(self, rows: slice, values: np.ndarray) -> None: ...

    @abstractmethod
    def basis(self, rows: slice, size: int) -> list[np.ndarray]:
        """The first ``size`` basis vectors on a stretch, in panels of shape (vectors, n)."""

    @abstractmethod
    def set_directions(self, rows: slice, place: int, values: np.ndarray) -> None:
        """Write basis vectors, shape (k, n), from number ``place`` on."""

    @abstractmethod
    def gather(self, rows: np.ndarray, size: int) -> Gathered:
        """The rows with these numbers, with the first ``size`` basis vectors."""

    @abstractmethod
    def reserve(self, basis: int, columns: int) -> None:
        """Reserve space for this number of basis vectors and of open columns."""

    @abstractmethod
    def restart(self) -> None:
        """Make the residual what it was at first; the space of the basis is used again."""


class Shard:
    """Rows in a storage, with their weights p.

    Residual and columns are multiplied by √p, which turns weighted inner products into plain ones. They are processed
    by an :class:`~skscn.rows.Operation`.
    """

    def __init__(self, storage: Storage, sample_weight: np.ndarray | None):
        self.storage, self.sample_weight = storage, sample_weight
        self.roots = None if sample_weight is None else np.sqrt(sample_weight)

    def roots_of(self, rows: slice | np.ndarray) -> np.ndarray | None:
        """√p of some rows."""
        return None if self.roots is None else self.roots[rows]


# Operations on the rows: each defines what is done on one stretch and whether it changes anything.
#
# An operation is a small frozen object that is sent to where the rows are. Called on a stretch, it returns that
# stretch's share of a row sum; shares are added up (``+``) in a fixed tree, so the result is the same wherever the
# rows are. A new operation is one class; every backend can run it.


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

    def __call__(self, shard: Shard, rows: slice) -> Sums:
        return kernels.candidate_sums(
            shard.storage.inputs(rows),
            shard.storage.residual(rows),
            shard.roots_of(rows),
            self.nodes,
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

    def prepare(self, shard: Shard) -> None:
        shard.storage.reserve(self.size, len(self.nodes))

    def __call__(self, shard: Shard, rows: slice) -> np.ndarray:
        storage, roots = shard.storage, shard.roots_of(rows)
        h = kernels.columns(storage.inputs(rows), rows.stop - rows.start, roots, self.nodes)
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


# What the algorithm needs from the place where the rows are.


class Backend(ABC):
    """Runs operations on N rows, wherever they are.

    Attributes
    ----------
    shape : tuple of int
        N, d and m.
    """

    shape: tuple[int, int, int]

    @abstractmethod
    def total(self, operation: Operation[Share]) -> Share:
        """Run an operation on all stretches and add up its shares, in the tree of ``_stretches.py``."""

    @abstractmethod
    def select(self, selection: Selection[Answer], rows: np.ndarray) -> Answer:
        """The answer of a selection for the rows with these numbers."""

    @abstractmethod
    def restart(self) -> None:
        """Return all rows to their first residual, with an empty basis."""

    def resources(self) -> AbstractContextManager[object]:
        """What only growth needs, such as threads; results are the same without it."""
        return nullcontext()
