"""What is done on the rows: how they are divided, where one place keeps them, and the operations on a stretch.

Rows are processed in stretches of fixed length, and the results are summed in a fixed order. Both depend only on the
number of rows, so a sum does not depend on threads, files or machines.

An operation is a small frozen object that is sent to where the rows are. Called on a stretch, it returns that stretch's
share of a row sum; shares are added up (``+``) in a fixed tree, so the result is the same wherever the rows are. A new
operation is one class; every backend can run it.

The sums of candidates are the performance-critical loops. A stretch is processed in blocks whose hidden outputs stay in
the processor's cache; no array of all rows by all candidates is ever formed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar, Generic, TypeVar, final

import numpy as np
from scipy import sparse

from skscn.nodes import Inputs, Matrix, Nodes, blocks, with_one
from skscn.scaling import InputScaling
from skscn.supervision import SampledSums, Slopes, Sums

# What an operation returns for one stretch; shares have a sum, a + b.
Share = TypeVar("Share")
# What a selection returns.
Answer = TypeVar("Answer")

# The largest number of rows in a stretch: enough for the overhead of a call to be small.
STRETCH = 16384
# Fewer rows than this are not worth a separate stretch, but there should be a few stretches for threads to share.
_SHORTEST, _FEW = 2048, 4
# Above this number of stretches their number is a multiple of it, so that threads have equal shares.
_SHARES = 8
# Number of basis vectors that are allocated and multiplied at a time.
PANEL = 16
# Inputs of up to this size are kept scaled; larger ones are scaled again in every pass, which saves memory.
_SMALL = 4_000_000


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


# Rows in one place ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """Some of the rows, always in the same memory layout, on which the last bits of products depend.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        Scaled inputs.
    residual : ndarray of shape (n, m)
        e, multiplied by ``sqrt_weight``.
    basis : ndarray of shape (k, n)
        Q, likewise.
    sqrt_weight : ndarray of shape (n,) or None
        The square roots of the weights.
    """

    X: np.ndarray
    residual: np.ndarray
    basis: np.ndarray
    sqrt_weight: np.ndarray | None

    def __post_init__(self) -> None:
        for name in ("X", "residual", "basis"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name)))


class Storage(ABC):
    """Keeps inputs, residual, basis and the open columns of some rows; read and written stretch by stretch.

    Residual and columns are multiplied by √p, for weights p, which turns weighted inner products into plain ones.
    Arrays that were read may be changed in place; a change takes effect only when it is written.

    Attributes
    ----------
    inputs : Inputs
    residual : array of shape (N, m)
        e; an array, or what is read and written like one by slices of rows.
    columns : array of shape (k, N)
        The open columns, likewise: ``columns[:k, rows]``.
    sample_weight, sqrt_weight : ndarray of shape (N,) or None
        p and √p.
    """

    inputs: Inputs
    residual: Any
    columns: Any
    sample_weight: np.ndarray | None = None
    sqrt_weight: np.ndarray | None = None

    @abstractmethod
    def basis(self, rows: slice, size: int) -> list[np.ndarray]:
        """The first ``size`` basis vectors on a stretch, in panels of shape (vectors, n)."""

    @abstractmethod
    def write_basis(self, rows: slice, place: int, vectors: np.ndarray) -> None:
        """Write basis vectors, shape (k, n), from number ``place`` on."""

    @abstractmethod
    def gather(self, rows: np.ndarray, size: int) -> Sample:
        """The rows with these numbers, with the first ``size`` basis vectors."""

    @abstractmethod
    def reserve(self, basis: int, columns: int) -> None:
        """Reserve space for this number of basis vectors and of open columns."""

    @abstractmethod
    def restart(self) -> None:
        """Make the residual what it was at first; the space of the basis is used again."""

    def sqrt_weight_of(self, rows: slice | np.ndarray) -> np.ndarray | None:
        """√p of some rows."""
        return None if self.sqrt_weight is None else self.sqrt_weight[rows]


@final
class MemoryStorage(Storage):
    """Arrays.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Inputs as given.
    scaling : InputScaling
    residual : ndarray of shape (n, m)
        The first residual, times √p, which is not changed.
    sample_weight : ndarray of shape (n,) or None
        Positive weights p.
    n_rows : int or None
        How many rows there are in all, of which these may be a part. If they have at most ``small`` inputs, the inputs
        are kept scaled.
    small : int
    panel : int
        How many basis vectors are allocated and multiplied at a time.
    """

    def __init__(
        self,
        X: Matrix,
        scaling: InputScaling,
        residual: np.ndarray,
        sample_weight: np.ndarray | None = None,
        *,
        n_rows: int | None = None,
        small: int = _SMALL,
        panel: int = PANEL,
    ):
        self.inputs = Inputs(X, scaling)
        if (X.shape[0] if n_rows is None else n_rows) * X.shape[1] <= small and not sparse.issparse(X):
            self.inputs = Inputs(self.inputs.block(slice(None)), None)
        self._first, self.residual, self.columns = residual, residual.copy(), np.empty((0, len(residual)))
        self.sample_weight = sample_weight
        self.sqrt_weight = None if sample_weight is None else np.sqrt(sample_weight)
        self._panel = panel
        self._panels: list[np.ndarray] = []

    def basis(self, rows: slice | np.ndarray, size: int) -> list[np.ndarray]:
        full, rest = divmod(size, self._panel)
        panels = [panel[:, rows] for panel in self._panels[:full]]
        return [*panels, self._panels[full][:rest, rows]] if rest else panels

    def write_basis(self, rows: slice, place: int, vectors: np.ndarray) -> None:
        for number, vector in enumerate(vectors, start=place):
            self._panels[number // self._panel][number % self._panel, rows] = vector

    def gather(self, rows: np.ndarray, size: int) -> Sample:
        basis = np.vstack([np.zeros((0, len(rows))), *self.basis(rows, size)])
        return Sample(self.inputs.block(rows)[:, :-1], self.residual[rows], basis, self.sqrt_weight_of(rows))

    def reserve(self, basis: int, columns: int) -> None:
        while basis > self._panel * len(self._panels):
            self._panels.append(np.empty((self._panel, len(self.residual))))
        if columns != len(self.columns):
            self.columns = np.empty((columns, len(self.residual)))

    def restart(self) -> None:
        self.residual[:] = self._first


# Operations: what is done on one stretch, and whether it changes anything -----------------------------------------


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

    def prepare(self, storage: Storage) -> None:
        """Reserve space for what will be written; called once, before all stretches."""

    @abstractmethod
    def __call__(self, storage: Storage, rows: slice) -> Share:
        """Run it on one stretch; return its share of the sum."""


class Selection(ABC, Generic[Answer]):
    """A query on rows with given numbers; it changes nothing."""

    @abstractmethod
    def __call__(self, storage: Storage, rows: np.ndarray) -> Answer:
        """The answer for these rows."""

    @staticmethod
    @abstractmethod
    def combine(answers: Sequence[Answer]) -> Answer:
        """One answer from those for several sets of rows, one set after the other."""

    @staticmethod
    def arrange(answer: Answer, order: np.ndarray) -> Answer:
        """The answer with its rows in this order, which does not matter where they have been added up."""
        return answer


@dataclass(frozen=True)
class Weigh(Operation[float]):
    """The sum of the weights; the number of rows without them."""

    def __call__(self, storage: Storage, rows: slice) -> float:
        if storage.sample_weight is None:
            return float(rows.stop - rows.start)
        return float(storage.sample_weight[rows].sum())


@dataclass(frozen=True)
class SquareResidual(Operation[np.ndarray]):
    """‖e_q‖² of each output."""

    def __call__(self, storage: Storage, rows: slice) -> np.ndarray:
        residual = storage.residual[rows]
        squares: np.ndarray = np.einsum("ij,ij->j", residual, residual)
        return squares


@dataclass(frozen=True)
class Score(Operation[Sums]):
    """Row sums of candidates: those that supervision needs, with quartics and Gram matrix if they are ``complete``."""

    nodes: Nodes
    complete: bool
    precision: type

    def __call__(self, storage: Storage, rows: slice) -> Sums:
        inputs, residual, sqrt_weight = storage.inputs[rows], storage.residual[rows], storage.sqrt_weight_of(rows)
        return _candidate_sums(inputs, residual, sqrt_weight, self.nodes, self.precision, complete=self.complete)


def _candidate_sums(
    inputs: Inputs,
    residual: np.ndarray,
    sqrt_weight: np.ndarray | None,
    nodes: Nodes,
    precision: type,
    *,
    complete: bool,
) -> Sums:
    """Weighted sums over some rows; hidden outputs have the given precision, sums of blocks are added up in float64."""
    layer, count = nodes.layer, len(nodes)
    folded: np.ndarray = layer.folded(nodes).astype(precision, copy=False)
    projections, squares = np.zeros((residual.shape[1], count)), np.zeros(count)
    fourth, gram = np.zeros(count), np.zeros((count, count))
    # Weights multiply the narrow side of each product. Products rather than np.einsum, which blocks other threads.
    p: np.ndarray = np.ones(len(residual), precision) if sqrt_weight is None else (sqrt_weight**2).astype(precision)
    e = residual if sqrt_weight is None else residual * sqrt_weight[:, np.newaxis]
    e = e.T.astype(precision, copy=False)
    for rows in blocks(len(residual), max(folded.shape)):
        h = layer.values(inputs.block(rows).astype(precision, copy=False), folded)
        projections += e[:, rows] @ h
        if complete:
            gram += (h.T * p[rows]) @ h
        h *= h
        squares += p[rows] @ h
        if complete:
            h *= h
            fourth += p[rows] @ h
    projections *= layer.outer
    squares *= layer.outer**2
    if not complete:
        return Sums(projections, squares)
    return Sums(projections, squares, layer.outer**4 * fourth, layer.outer**2 * gram)


@dataclass(frozen=True)
class Slope(Operation[Slopes]):
    """How the row sums of one candidate change with its weights and bias."""

    node: Nodes

    def __call__(self, storage: Storage, rows: slice) -> Slopes:
        inputs, residual, sqrt_weight = storage.inputs[rows], storage.residual[rows], storage.sqrt_weight_of(rows)
        # The bias is the weight of the last input.
        weights, none = np.vstack([self.node.weights, self.node.biases]), np.zeros(1)
        projections, squares = np.zeros((residual.shape[1], len(weights))), np.zeros(len(weights))
        for part in blocks(len(residual), len(weights)):
            x = inputs.block(part)
            slope, h = (values[:, 0] for values in self.node.layer.slope_and_value(x, weights, none))
            if sqrt_weight is not None:
                slope, h = slope * sqrt_weight[part], h * sqrt_weight[part]
            for total, factor in zip((*projections, squares), (*residual[part].T, 2.0 * h), strict=True):
                total += (factor * slope) @ x
        return Slopes(projections, squares)


@dataclass(frozen=True)
class Open(Operation[np.ndarray]):
    """Write new columns; return ⟨e, h⟩, ‖h‖², Σ h⁴ and the projection on the basis of each."""

    opens: ClassVar[bool] = True
    size: int
    nodes: Nodes

    def prepare(self, storage: Storage) -> None:
        storage.reserve(self.size, len(self.nodes.biases))

    def __call__(self, storage: Storage, rows: slice) -> np.ndarray:
        sqrt_weight = storage.sqrt_weight_of(rows)
        h = self.nodes.columns(storage.inputs[rows], sqrt_weight)
        storage.columns[: len(h), rows] = h
        squares = h * h
        # Columns include √p, so that a row of weight 2 counts as two rows; Σ p h⁴ needs one √p fewer in each pair.
        bare = squares if sqrt_weight is None else (h / sqrt_weight) ** 2
        return np.vstack(
            [
                storage.residual[rows].T @ h.T,
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

    def __call__(self, storage: Storage, rows: slice) -> np.ndarray:
        count, start = self.projection.shape[1], 0
        v, panels = storage.columns[:count, rows], storage.basis(rows, self.size)
        for panel in panels:
            v -= self.projection[start : start + len(panel)].T @ panel
            start += len(panel)
        storage.columns[:count, rows] = v
        return np.vstack([v @ v.T, storage.residual[rows].T @ v.T, *(panel @ v.T for panel in panels)])


@dataclass(frozen=True)
class Join(Operation[np.ndarray]):
    """Subtract the open columns' part from the residual, keep their directions if asked; return ‖e_q‖²."""

    works: ClassVar[bool] = True
    lasts: ClassVar[bool] = True
    size: int
    transform: np.ndarray
    coefficients: np.ndarray
    keep: bool

    def prepare(self, storage: Storage) -> None:
        storage.reserve(self.size + self.keep * len(self.coefficients), len(self.coefficients))

    def __call__(self, storage: Storage, rows: slice) -> np.ndarray:
        directions = self.transform.T @ storage.columns[: len(self.transform), rows]
        residual = storage.residual[rows]
        residual -= directions.T @ self.coefficients
        storage.residual[rows] = residual
        if self.keep:
            storage.write_basis(rows, self.size, directions)
        squares: np.ndarray = np.einsum("ij,ij->j", residual, residual)
        return squares


@dataclass(frozen=True)
class Rotate(Operation[int]):
    """Replace the basis Q by Q @ rotation."""

    lasts: ClassVar[bool] = True
    size: int
    rotation: np.ndarray

    def __call__(self, storage: Storage, rows: slice) -> int:
        panels = storage.basis(rows, self.size)
        if panels:
            storage.write_basis(rows, 0, self.rotation.T @ np.concatenate(panels))
        return 0


@dataclass(frozen=True)
class Gather(Selection[Sample]):
    """The rows themselves: scaled inputs, residual, the first ``size`` basis vectors, and √p."""

    size: int

    def __call__(self, storage: Storage, rows: np.ndarray) -> Sample:
        return storage.gather(rows, self.size)

    @staticmethod
    def combine(answers: Sequence[Sample]) -> Sample:
        weights = [sample.sqrt_weight for sample in answers if sample.sqrt_weight is not None]
        return Sample(
            np.concatenate([sample.X for sample in answers]),
            np.concatenate([sample.residual for sample in answers]),
            np.concatenate([sample.basis for sample in answers], axis=1),
            np.concatenate(weights) if weights else None,
        )

    @staticmethod
    def arrange(answer: Sample, order: np.ndarray) -> Sample:
        sqrt_weight = None if answer.sqrt_weight is None else answer.sqrt_weight[order]
        return Sample(answer.X[order], answer.residual[order], answer.basis[:, order], sqrt_weight)


@dataclass(frozen=True)
class ScoreSample(Selection[SampledSums]):
    """Row sums of candidates on the rows with these numbers."""

    nodes: Nodes
    precision: type

    def __call__(self, storage: Storage, rows: np.ndarray) -> SampledSums:
        sample = storage.gather(rows, 0)
        inputs, residual, sqrt_weight = Inputs(with_one(sample.X), None), sample.residual, sample.sqrt_weight
        sums = _candidate_sums(inputs, residual, sqrt_weight, self.nodes, self.precision, complete=False)
        p = np.ones(len(rows)) if sqrt_weight is None else sqrt_weight**2
        return SampledSums(sums, float((residual**2).sum()), float(p.sum()), float((p**2).sum()))

    @staticmethod
    def combine(answers: Sequence[SampledSums]) -> SampledSums:
        return reduce(add, answers)
