"""The algorithm on the rows: how they are divided and kept, the operations on a stretch, and what is asked of them all.

Rows are processed in stretches of fixed length, and the results are summed in a fixed order. Both depend only on the
number of rows, so a sum does not depend on threads, files or machines.

An operation is a small frozen object that is sent to where the rows are. Called on a stretch, it returns that stretch's
share of a row sum; shares are added up (``+``) in a fixed tree, so the result is the same wherever the rows are. A new
operation is one class; every backend can run it. :class:`Rows` is what growth does with the rows: it asks a backend for
operations and decides from their sums.

The sums of candidates are the performance-critical loops. A stretch is processed in blocks whose hidden outputs stay in
the processor's cache; no array of all rows by all candidates is ever formed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, final

import numpy as np
from joblib import effective_n_jobs

from skscn.checks import is_dask
from skscn.nodes import Inputs, Layer, Matrix, Nodes, blocks, with_one
from skscn.scaling import InputScaling
from skscn.supervision import PAPER, Inequality, SampledSums, Slopes, Sums
from skscn.threads import single_threaded

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
# Inputs of up to this size are kept scaled, like those of few columns; others are scaled again in every pass, which
# saves memory.
_SMALL = 16_000_000
# The largest component along the basis that an orthogonalised column may still have, relative to its remainder.
_ORTHOGONAL = 1e-10
# Rows that tell how large columns of unbounded activations are, and how much the network depends on each feature.
_FEW_ROWS = 500


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
    def gather(self, rows: np.ndarray, size: int, first: int = 0) -> Sample:
        """The rows with these numbers, with the basis vectors from ``first`` up to ``size``."""

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
        How many rows there are in all, of which these may be a part. If they have at most ``small`` inputs, or no more
        columns than a panel of the basis, the inputs are kept scaled.
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
        width = len(scaling.sources)
        if width <= panel or (X.shape[0] if n_rows is None else n_rows) * width <= small:
            self.inputs = self.inputs.prepared()
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

    def gather(self, rows: np.ndarray, size: int, first: int = 0) -> Sample:
        start = first // self._panel * self._panel
        panels = [panel[:, rows] for panel in self._panels[first // self._panel : -(-size // self._panel)]]
        basis = np.vstack([np.zeros((0, len(rows))), *panels])[first - start : size - start]
        return Sample(self.inputs.block(rows)[:, :-1], self.residual[rows], basis, self.sqrt_weight_of(rows))

    def reserve(self, basis: int, columns: int) -> None:
        while basis > self._panel * len(self._panels):
            self._panels.append(np.empty((self._panel, len(self.residual))))
        if columns > len(self.columns):
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
class Weigh(Operation[np.ndarray]):
    """The sum of the weights, which is the number of rows without them, and ‖e_q‖² of each output."""

    def __call__(self, storage: Storage, rows: slice) -> np.ndarray:
        residual, weights = storage.residual[rows], storage.sample_weight
        weight = rows.stop - rows.start if weights is None else weights[rows].sum()
        return np.append(float(weight), np.einsum("ij,ij->j", residual, residual))


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
        h = self.nodes.layer.evaluate(self.nodes, storage.inputs[rows])
        if sqrt_weight is not None:
            h *= sqrt_weight
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
        return np.einsum("ij,ij->j", residual, residual)


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
    """The rows themselves: scaled inputs, residual, the basis vectors from ``first`` up to ``size``, and √p."""

    size: int
    first: int = 0

    def __call__(self, storage: Storage, rows: np.ndarray) -> Sample:
        return storage.gather(rows, self.size, self.first)

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


# The backend of rows on this machine, and what growth does with the rows of any backend ------------------------------


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
        """Run an operation on all stretches and add up its shares, in a binary tree over the stretches."""

    @abstractmethod
    def select(self, selection: Selection[Answer], rows: np.ndarray) -> Answer:
        """The answer of a selection for the rows with these numbers."""

    @abstractmethod
    def restart(self) -> None:
        """Return all rows to their first residual, with an empty basis."""

    def resources(self) -> AbstractContextManager[object]:
        """What only growth needs, such as threads; results are the same without it."""
        return nullcontext()


@final
class LocalBackend(Backend):
    """N training rows on this machine, whose stretches are divided among threads.

    Parameters
    ----------
    storage : Storage
        With the first residual e_0, the scaled targets times √p.
    shape : tuple of int
        N, d and m.
    n_jobs : int or None
        Threads, within the context; each has at least one stretch of the largest length.
    stretch : int
        The largest number of rows in a stretch; on it depends in which order sums are added up.
    """

    def __init__(
        self, storage: Storage, shape: tuple[int, int, int], *, n_jobs: int | None = None, stretch: int = STRETCH
    ):
        self.storage, self.shape = storage, shape
        self._stretches = stretches(shape[0], stretch)
        self._threads = max(1, min(effective_n_jobs(n_jobs), shape[0] // stretch))
        self._executor: ThreadPoolExecutor | None = None

    @contextmanager
    def resources(self) -> Iterator[None]:
        """Threads, if there are rows for several."""
        with ThreadPoolExecutor(self._threads) if self._threads > 1 else nullcontext() as self._executor:
            try:
                yield
            finally:
                self._executor = None

    def total(self, operation: Operation[Share]) -> Share:
        """Run an operation on all stretches, divided among the threads, and add up neighbouring shares."""
        storage = self.storage
        operation.prepare(storage)
        if self._executor is None:
            shares: list[Any] = [operation(storage, rows) for rows in self._stretches]
        else:
            # Each thread gets consecutive stretches: submitting them one by one would take longer than most operations.
            size = -(-len(self._stretches) // self._threads)
            runs = [self._stretches[start : start + size] for start in range(0, len(self._stretches), size)]
            found = self._executor.map(lambda run: [operation(storage, rows) for rows in run], runs)
            shares = [share for run in found for share in run]
        while len(shares) > 1:
            last = shares[len(shares) // 2 * 2 :]
            shares = [a + b for a, b in zip(shares[::2], shares[1::2], strict=False)] + last
        return shares[0]

    def select(self, selection: Selection[Answer], rows: np.ndarray) -> Answer:
        """The answer of a selection, from the storage."""
        return selection(self.storage, rows)

    def restart(self) -> None:
        """Return to the first residual."""
        self.storage.restart()


@dataclass(frozen=True)
class OpenColumns:
    """New columns H = QP + V on all rows, with V orthogonal to the basis Q.

    Attributes
    ----------
    sums : Sums
        Row sums of H against the residual, with quartics.
    projection : ndarray of shape (b, k)
        P.
    gram : ndarray of shape (k, k)
        VᵀV.
    inner : ndarray of shape (k, m)
        Vᵀe.
    """

    sums: Sums
    projection: np.ndarray
    gram: np.ndarray
    inner: np.ndarray


@final
class Rows:
    """N training rows, their residual e, and an orthonormal basis Q of hidden columns; only row sums leave.

    A context manager, within which the backend may use threads and BLAS is limited to one.

    Parameters
    ----------
    backend : Backend
        Where the rows are. At first the residual is the scaled targets, and the basis is empty.
    layer : Layer
        The layer of the nodes to be added.
    inequality : Inequality
        What nodes have to satisfy.
    signs : ndarray of shape (d,) or None
        1, −1 or 0 for each input, if the network is to be monotone: a node without such an input stays without it.

    Attributes
    ----------
    n_rows, n_features, n_outputs : int
        N, d and m.
    weight : float
        The sum of the sample weights; N without them.
    residual_squares : ndarray of shape (m,)
        ‖e_q‖².
    basis_size : int
        Vectors in the basis.
    basis_version : int
        Changes when vectors of the basis are replaced; as long as it stays, vectors are only added.
    """

    def __init__(self, backend: Backend, layer: Layer, inequality: Inequality = PAPER, signs: np.ndarray | None = None):
        self.backend, self.layer, self.inequality, self.signs = backend, layer, inequality, signs
        self.n_rows, self.n_features, self.n_outputs = backend.shape
        weight, *squares = backend.total(Weigh())
        self.weight, self.residual_squares = float(weight), np.array(squares)
        self.basis_size = self.basis_version = 0
        self._open = ExitStack()
        # A layer, and the features and weights of some rows for it.
        self._few_features: tuple[Layer, np.ndarray, np.ndarray | None] | None = None

    def __enter__(self) -> Self:
        # In the search as well, which is not the backend's.
        self._open.enter_context(single_threaded())
        self._open.enter_context(self.backend.resources())
        return self

    def __exit__(self, *exception: object) -> None:
        """Release what only growth needs."""
        self._open.close()

    def restart(self) -> None:
        """Return to the scaled targets as the residual, and to an empty basis."""
        self.backend.restart()
        self.residual_squares = self.backend.total(Weigh())[1:]
        self.basis_size, self.basis_version = 0, self.basis_version + 1

    @property
    def rmse(self) -> float:
        """Root mean squared residual over rows and outputs."""
        return float(np.sqrt(self.residual_squares.sum() / (self.weight * self.n_outputs)))

    def nodes(self, weights: np.ndarray, biases: np.ndarray, scopes: np.ndarray | float = np.nan) -> Nodes:
        """Nodes of the layer that grows, with these weights (d, k) and biases (k,)."""
        return Nodes(self.layer, weights, biases, scopes)

    def sums(self, nodes: Nodes, *, complete: bool = False, precision: type = np.float64) -> Sums:
        """Row sums of T candidates against the residual, on all rows.

        Quartics and the Gram matrix are included if they are to be ``complete``. Hidden outputs in np.float32 are fast
        and sufficient to rank candidates; acceptance uses np.float64.
        """
        return self.backend.total(Score(nodes, complete, precision))

    def sampled_sums(self, rows: np.ndarray, nodes: Nodes, *, precision: type) -> SampledSums:
        """Row sums of T candidates on the rows with these numbers."""
        return self.backend.select(ScoreSample(nodes, precision), rows)

    def sample(self, rows: np.ndarray, first: int = 0) -> Sample:
        """The rows with these numbers, in the form that searches on a sample need; basis vectors from ``first`` on."""
        return self.backend.select(Gather(self.basis_size, first), rows)

    def scales(self, nodes: Nodes) -> float | np.ndarray:
        """The size that the columns of nodes have where they are active: a bound, or from some of the rows."""
        layer = nodes.layer
        if np.isfinite(layer.bound):
            return layer.bound
        features, weights = self.some_features(layer)
        return layer.scales(features, nodes, weights)

    def some_features(self, layer: Layer) -> tuple[np.ndarray, np.ndarray | None]:
        """What nodes of a layer see of some of the rows, and the weights of these rows."""
        if self._few_features is None or self._few_features[0] is not layer:
            numbers = np.unique(np.linspace(0, self.n_rows - 1, _FEW_ROWS).astype(int))
            sample = self.sample(numbers, self.basis_size)
            weights = None if sample.sqrt_weight is None or not sample.sqrt_weight.any() else sample.sqrt_weight**2
            self._few_features = layer, layer.features(sample.X), weights
        return self._few_features[1:]

    def slopes(self, node: Nodes) -> Slopes:
        """How the row sums of one candidate change with its weights and bias."""
        return self.backend.total(Slope(node))

    def open(self, nodes: Nodes, absent: np.ndarray | None = None) -> OpenColumns:
        """Form the columns of nodes and make them orthogonal to the basis.

        They stay open until others are opened; neither the residual nor the basis changes. Gram–Schmidt is repeated
        where the first pass left more than rounding error, and "twice is enough" (Giraud, Langou and Rozložník, 2005).
        Where the basis is orthonormal only with further rows, in which the columns are 0, ``absent`` is the product QᵀQ
        of these rows; their part of VᵀV is included.
        """
        start = self.backend.total(Open(self.basis_size, nodes))
        m, k = self.n_outputs, start.shape[1]
        sums, projection = Sums(start[:m], start[m], start[m + 1]), start[m + 2 :]
        to_remove = projection
        for is_last in (False, True):
            left = self.backend.total(Deflate(self.basis_size, to_remove))
            gram, inner, shared = left[:k], left[k : k + m].T, left[k + m :]
            if absent is not None:
                gram, shared = gram + projection.T @ absent @ projection, shared - absent @ projection
            if is_last or not (np.linalg.norm(shared, axis=0) > _ORTHOGONAL * np.sqrt(gram.diagonal())).any():
                break
            projection, to_remove = projection + shared, shared
        return OpenColumns(sums, projection, gram, inner)

    def join(self, transform: np.ndarray, coefficients: np.ndarray, *, keep: bool) -> None:
        """Add the open columns: subtract D C from the residual, with the directions D = V @ transform.

        C, the ``coefficients``, has shape (k, m). With ``keep`` the directions, which must then be orthonormal, with
        further rows if there are some, are added to the basis.
        """
        self.residual_squares = self.backend.total(Join(self.basis_size, transform, coefficients, keep))
        self.basis_size += keep * len(coefficients)

    def rotate(self, rotation: np.ndarray) -> None:
        """Replace the basis Q by Q @ rotation, for a rotation with orthonormal columns."""
        self.backend.total(Rotate(self.basis_size, rotation))
        self.basis_size, self.basis_version = rotation.shape[1], self.basis_version + 1

    def leave_one_out(
        self, rows: np.ndarray, smoother: np.ndarray | None = None, coefficients: np.ndarray | None = None
    ) -> np.ndarray:
        """Leave-one-out residuals of the rows with these numbers, for fixed nodes.

        e_i / (1 − ℓ_i), with the leverage ℓ_i = Σ_j q_ij² of row i in the basis: exact where the basis holds all nodes
        (SC-III). A row of weight p counts as p rows, of which one is left out, or the row if p < 1. A model with a
        smoother M and coefficients C, which fits Q M C instead of Q C, has the leverages Σ_jk q_ij M_jk q_ik.
        """
        sample = self.sample(rows)
        residual, basis = sample.residual, sample.basis
        if smoother is None or coefficients is None:
            leverage = np.einsum("ki,ki->i", basis, basis)
        else:
            leverage = np.einsum("ki,ki->i", basis, smoother @ basis)
            residual = residual + basis.T @ (coefficients - smoother @ coefficients)
        if sample.sqrt_weight is not None:
            leverage = leverage / np.maximum(sample.sqrt_weight**2, 1.0)
            residual = residual / sample.sqrt_weight[:, np.newaxis]
        left_out: np.ndarray = residual / np.maximum(1.0 - leverage, 1e-10).reshape(-1, 1)
        return left_out


def memory_backend(
    X: Matrix,
    targets: np.ndarray,
    *,
    scaling: InputScaling,
    sample_weight: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> Backend:
    """N training rows as arrays.

    Parameters
    ----------
    X : array or sparse matrix of shape (N, d)
        Inputs as given.
    targets : ndarray of shape (N, m)
        Scaled targets, the first residual e_0.
    scaling : InputScaling
        Of the inputs.
    sample_weight : ndarray of shape (N,) or None
        Positive weights p: ⟨a, b⟩ = Σ p a b.
    n_jobs : int or None
        Threads.
    """
    residual = targets if sample_weight is None else targets * np.sqrt(sample_weight)[:, np.newaxis]
    storage = MemoryStorage(X, scaling, residual, sample_weight)
    return LocalBackend(storage, (len(targets), len(scaling.sources), targets.shape[1]), n_jobs=n_jobs)


class OpensBackend(Protocol):
    """Opens a backend. Inputs, targets and weights are of types that it expects; the targets are scaled."""

    def __call__(
        self, X: Any, targets: Any, *, scaling: InputScaling, sample_weight: Any = None, n_jobs: int | None = None
    ) -> Backend:
        """The rows, with the scaled targets as the first residual."""
        ...


# The backends by name, which the package fills in: inputs that are not arrays have theirs as an attribute ``backend``.
ROWS: dict[str, OpensBackend] = {}


def open_backend(
    X: Any, targets: Any, *, scaling: InputScaling, sample_weight: Any = None, n_jobs: int | None = None
) -> Backend:
    """The rows in the backend that matches the type of their inputs; the targets are scaled, the inputs are not."""
    name = "dask" if is_dask(X) else getattr(X, "backend", "memory")
    return ROWS[name](X, targets, scaling=scaling, sample_weight=sample_weight, n_jobs=n_jobs)


def open_rows(
    X: Any,
    targets: Any,
    *,
    layer: Layer,
    scaling: InputScaling,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    inequality: Inequality = PAPER,
) -> Rows:
    """Rows for the nodes of a layer, in the backend that matches the type of their inputs."""
    backend = open_backend(X, targets, scaling=scaling, sample_weight=sample_weight, n_jobs=n_jobs)
    return Rows(backend, layer, inequality)
