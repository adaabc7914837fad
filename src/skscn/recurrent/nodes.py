"""Recurrent nodes: what they compute from the delay line, from earlier nodes and from themselves; their draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

Segments = Sequence[slice]


def delay_line(u: np.ndarray, segments: Segments, length: int, before: np.ndarray | None = None) -> np.ndarray:
    """z(n) = [u(n), u(n − 1), …, u(n − length)], shape (n, (length + 1) d).

    Before the first row of a sequence, the inputs were what they are in this row, or ``before``, shape (length, d),
    the latest last.
    """
    d = u.shape[1]
    z = np.empty((len(u), (length + 1) * d))
    for segment in segments:
        past = np.repeat(u[segment][:1], length, axis=0) if before is None else before
        extended = np.vstack([past, u[segment]])
        for lag in range(length + 1):
            z[segment, lag * d : (lag + 1) * d] = extended[length - lag : len(extended) - lag]
    return z


def one_row_later(values: np.ndarray, segments: Segments, first: np.ndarray | float = 0.0) -> np.ndarray:
    """The values of the row before, within each sequence; ``first`` at its beginning."""
    lagged = np.empty_like(values)
    for segment in segments:
        lagged[segment][1:] = values[segment][:-1]
        lagged[segment.start] = first
    return lagged


# Recurrent nodes: what a node of a reservoir computes from the delay line, from earlier nodes and from itself.


# The largest feedback of a node to itself. tanh has slope 1 at most, so what two initial states differ by shrinks by
# this factor with each row.
LARGEST_FEEDBACK = 0.95
# How many earlier nodes a node hears, at most.
SOURCES = 4


@dataclass(frozen=True, eq=False)
class RecurrentNodes:
    """Nodes s(n) = tanh(wᵀz(n) + b + Σ_k v_k s_k(n−1) + a s(n−1)), and products of two columns of [z(n), s(n−1)].

    A node hears only nodes that were there before it: the matrix of all feedback weights is lower triangular.

    Attributes
    ----------
    weights : ndarray of shape (p, k)
        w, for the delay line z.
    biases : ndarray of shape (k,)
        b.
    feedback : ndarray of shape (k,)
        a, of each node to itself; its absolute value is at most 0.95, the echo-state condition.
    sources : ndarray of shape (SOURCES, k)
        The earlier nodes that each node hears, and ...
    source_weights : ndarray of shape (SOURCES, k)
        ... v; 0 where there is none.
    factors : ndarray of shape (2, k)
        The two columns that a product node multiplies; −1 in other nodes.
    scopes : ndarray of shape (k,)
        λ, the scopes that they were drawn from.
    """

    weights: np.ndarray
    biases: np.ndarray
    feedback: np.ndarray
    sources: np.ndarray
    source_weights: np.ndarray
    factors: np.ndarray
    scopes: np.ndarray

    def __len__(self) -> int:
        return len(self.biases)

    @classmethod
    def empty(cls, width: int, count: int = 0) -> RecurrentNodes:
        """Nodes that hear nothing, for a delay line of this width."""
        return cls(
            np.zeros((width, count)),
            np.zeros(count),
            np.zeros(count),
            np.zeros((SOURCES, count), np.int64),
            np.zeros((SOURCES, count)),
            np.full((2, count), -1),
            np.zeros(count),
        )

    @classmethod
    def joined(cls, blocks: Sequence[RecurrentNodes]) -> RecurrentNodes:
        """Several blocks as one."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(block, name) for block in blocks], axis=-1) for name in names))

    def take(self, which: np.ndarray | slice) -> RecurrentNodes:
        """Some of the nodes."""
        return RecurrentNodes(*(getattr(self, field.name)[..., which] for field in fields(self)))

    @property
    def width(self) -> int:
        """p, the width of the delay line."""
        return len(self.weights)

    @property
    def products(self) -> np.ndarray:
        """Which nodes are products."""
        return np.asarray(self.factors[0] >= 0)

    def heard(self) -> np.ndarray:
        """Feedback weights as a matrix (L, k): what each node hears of all nodes one row before, itself included."""
        matrix = np.diag(self.feedback)
        np.add.at(matrix, (self.sources, np.arange(len(self))), self.source_weights)
        return matrix

    def has_echo_state(self) -> np.ndarray:
        """Whether each node satisfies the echo-state condition."""
        return np.asarray(np.abs(self.feedback) <= LARGEST_FEEDBACK)

    def is_triangular(self) -> bool:
        """Whether every node hears only nodes before it."""
        here = np.arange(len(self))
        heard = np.where(self.source_weights != 0.0, self.sources, -1)
        return bool((heard < here).all() and (self.factors < self.width + here).all() and (self.sources >= 0).all())


# Simulation of recurrent nodes: one block on known states, all nodes row by row, and candidates of a search.
#
# A state is computed by the same elementwise operations in the same order, whatever other nodes there are: adding a
# node leaves the states of earlier ones bit for bit as they were.


# Rows of candidates in memory at a time.
_PART = 4096


def input_drive(z: np.ndarray, nodes: RecurrentNodes) -> np.ndarray:
    """wᵀz(n) + b of shape (n, k), summed input by input."""
    drive = np.tile(nodes.biases, (len(z), 1))
    for column, weights in zip(z.T, nodes.weights, strict=True):
        if weights.any():
            drive += column[:, np.newaxis] * weights
    return drive


def block_states(z: np.ndarray, lagged: np.ndarray, nodes: RecurrentNodes, segments: Segments) -> np.ndarray:
    """States (n, k) of nodes that do not hear each other, from those of all earlier nodes one row before."""
    heard = np.zeros((len(z), len(nodes)))
    for sources, weights in zip(nodes.sources, nodes.source_weights, strict=True):
        if weights.any():
            heard += lagged[:, sources] * weights
    states = input_drive(z, nodes) + heard
    for segment in segments:
        settle(states[segment], nodes.feedback, np.zeros(len(nodes)))
    multiplied = np.flatnonzero(nodes.products)
    if len(multiplied):
        one, other = (_columns(z, lagged, nodes.factors[side, multiplied]) for side in (0, 1))
        states[:, multiplied] = one * other
    return states


def candidate_states(
    z: np.ndarray, lagged: np.ndarray, nodes: RecurrentNodes, segments: Segments, rows: np.ndarray
) -> np.ndarray:
    """The same by matrix products, which are faster and differ in the last digits, for increasing ``rows`` only."""
    matrix = np.zeros((lagged.shape[1], len(nodes)))
    if len(matrix):
        np.add.at(matrix, (nodes.sources, np.arange(len(nodes))), nodes.source_weights)
    multiplied = nodes.products
    weights, matrix, biases = nodes.weights[:, ~multiplied], matrix[:, ~multiplied], nodes.biases[~multiplied]
    states = np.empty((len(rows), len(nodes)))
    for part, state in _parts(segments, len(biases)):
        drive = z[part] @ weights
        drive += lagged[part] @ matrix
        drive += biases
        settle(drive, nodes.feedback[~multiplied], state)
        wanted = slice(*np.searchsorted(rows, (part.start, part.stop)))
        states[wanted, : len(biases)] = drive[rows[wanted] - part.start]
    order = np.argsort(multiplied, kind="stable")
    one, other = (_columns(z[rows], lagged[rows], nodes.factors[side, multiplied]) for side in (0, 1))
    np.multiply(one, other, out=states[:, len(biases) :])
    return states[:, np.argsort(order)]


def _parts(segments: Segments, count: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Parts of the sequences that fit in memory, and the state before each, which is to be updated."""
    for segment in segments:
        state = np.zeros(count)
        for start in range(segment.start, segment.stop, _PART):
            yield slice(start, min(start + _PART, segment.stop)), state


def _columns(z: np.ndarray, lagged: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Columns of [z, lagged] by their numbers."""
    width = z.shape[1]
    columns = np.empty((len(z), len(numbers)))
    inputs = numbers < width
    columns[:, inputs] = z[:, numbers[inputs]]
    columns[:, ~inputs] = lagged[:, numbers[~inputs] - width]
    return columns


def settle(drive: np.ndarray, feedback: np.ndarray, state: np.ndarray) -> None:
    """Turn a drive (n, k) into states tanh(drive(n) + a s(n − 1)), in place, and ``state`` into the last of them."""
    if not feedback.any():
        np.tanh(drive, out=drive)
        return
    own = np.empty(drive.shape[1])
    last, multiply, add, tanh = state, np.multiply, np.add, np.tanh
    for row in drive:
        multiply(feedback, last, out=own)
        add(row, own, out=row)
        last = tanh(row, out=row)
    state[:] = last


def all_states(z: np.ndarray, nodes: RecurrentNodes, before: np.ndarray | None = None) -> np.ndarray:
    """States (n, L) of a whole reservoir along one sequence, from a state (L,) before its first row, by default 0."""
    states = input_drive(z, nodes)
    state = np.zeros(len(nodes)) if before is None else before
    multiplied = np.flatnonzero(nodes.products)
    one, other = nodes.factors[:, multiplied]
    for row, inputs in zip(states, z, strict=True):
        row += (state[nodes.sources] * nodes.source_weights).sum(axis=0)
        row += nodes.feedback * state
        np.tanh(row, out=row)
        if len(multiplied):
            known = np.concatenate([inputs, state])
            row[multiplied] = known[one] * known[other]
        state = row
    return states


# Random candidates for the nodes of a reservoir.


# The weights of earlier nodes are drawn from [−s, s]/√k with one of these s, for k of them.
_STRENGTHS = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Style:
    """From where nodes are drawn; short pilot networks choose among a few.

    Attributes
    ----------
    length : int
        How many earlier rows the delay line has.
    scopes : tuple of two floats
        The smallest and the largest λ.
    products : bool
        Whether half of the candidates are products.
    recurrent : bool
        Whether nodes hear themselves and earlier nodes; otherwise only the delay line.
    """

    length: int
    scopes: tuple[float, float]
    products: bool
    recurrent: bool = True

    def __str__(self) -> str:
        """In words."""
        kinds = [name for name in ("products", "recurrent") if getattr(self, name)]
        return ", ".join([f"delay line of {self.length} rows", "scopes {:g} to {:g}".format(*self.scopes), *kinds])


def draw(rng: np.random.Generator, count: int, width: int, present: int, style: Style) -> RecurrentNodes:
    """Candidates for a reservoir with this many nodes at present, on a delay line of this width."""
    low, high = np.log(style.scopes)
    scopes = np.exp(rng.uniform(low, high, count))
    fan_in = np.exp(rng.uniform(0.0, np.log(width + 1.0), count)).astype(int).clip(1, width)
    chosen = rng.random((width, count)).argsort(axis=0) < fan_in
    weights = rng.uniform(-1.0, 1.0, (width, count)) * chosen * scopes
    feedback = rng.uniform(-LARGEST_FEEDBACK, LARGEST_FEEDBACK, count) * (rng.random(count) < 0.75)
    heard = present if style.recurrent else 0
    nodes = replace(
        RecurrentNodes.empty(width, count),
        weights=weights,
        biases=rng.uniform(-1.0, 1.0, count) * scopes,
        feedback=feedback * style.recurrent,
        scopes=scopes,
        **_heard(rng, count, heard),
    )
    return _with_products(rng, nodes, heard) if style.products else nodes


def _heard(rng: np.random.Generator, count: int, present: int) -> dict[str, np.ndarray]:
    """Up to SOURCES earlier nodes and their weights; a node drawn twice counts twice."""
    if not present:
        return {}
    sources = rng.integers(present, size=(SOURCES, count))
    degree = rng.integers(0, SOURCES + 1, size=count)
    strengths = rng.choice(_STRENGTHS, count) / np.sqrt(np.maximum(degree, 1))
    weights = rng.uniform(-1.0, 1.0, (SOURCES, count)) * strengths
    return {"sources": sources, "source_weights": weights * (np.arange(SOURCES)[:, np.newaxis] < degree)}


def _with_products(rng: np.random.Generator, nodes: RecurrentNodes, present: int) -> RecurrentNodes:
    """Half of the nodes replaced by products."""
    half = len(nodes) // 2
    products = RecurrentNodes.empty(nodes.width, half)
    factors = rng.integers(nodes.width + present, size=(2, half))
    return RecurrentNodes.joined([nodes.take(slice(half, None)), replace(products, factors=factors)])
