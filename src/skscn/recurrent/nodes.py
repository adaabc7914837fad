"""Recurrent nodes: what they compute from the delay line, from earlier nodes and from themselves; their draws.

A state is computed by the same elementwise operations in the same order, whatever other nodes there are: adding a node
leaves the states of earlier ones bit for bit as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Self

import numpy as np

from skscn.nodes import Layer, Nodes

Segments = Sequence[slice]
# The largest feedback of a node to itself. tanh has slope 1 at most, so what two initial states differ by shrinks by
# this factor with each row.
LARGEST_FEEDBACK = 0.95
# Earlier nodes that are inputs of a node, at most.
SOURCES = 4
# Rows of candidates in memory at a time.
_PART = 4096
# Drives are summed for one node after the other from this number of rows on.
_MANY_ROWS = 100


class Recurrent(Layer):
    """Nodes of a reservoir. Their rows are the delay lines of one sequence, in order of time, after a state of 0."""

    def folded(self, nodes: Nodes) -> Nodes:
        """The nodes themselves."""
        return nodes

    def values(self, x: np.ndarray, folded: RecurrentNodes) -> np.ndarray:
        """States, row after row."""
        return all_states(x[:, :-1], folded)


RECURRENT = Recurrent()


@dataclass(frozen=True, eq=False)
class RecurrentNodes(Nodes):
    """Nodes s(n) = tanh(wᵀz(n) + b + Σ_k v_k s_k(n−1) + a s(n−1)), and products of two columns of [z(n), s(n−1)].

    The sources of a node are nodes before it: the matrix of all feedback weights is lower triangular.

    Attributes
    ----------
    weights : ndarray of shape (p, k)
        w, for the delay line z.
    biases : ndarray of shape (k,)
        b.
    scopes : ndarray of shape (k,)
        λ, the scopes that they were drawn from.
    feedback : ndarray of shape (k,)
        a, of each node to itself; its absolute value is at most 0.95, the echo-state condition.
    sources : ndarray of shape (SOURCES, k)
        The earlier nodes whose states are inputs of a node, and ...
    source_weights : ndarray of shape (SOURCES, k)
        ... v; 0 where there is none.
    factors : ndarray of shape (2, k)
        The two columns that a product node multiplies; −1 in other nodes.
    layer : Layer
        What simulates them; while they grow, the ``Course`` of ``recurrent/growing.py``.
    """

    scopes: np.ndarray = field()
    feedback: np.ndarray
    sources: np.ndarray
    source_weights: np.ndarray
    factors: np.ndarray
    layer: Layer = field(default=RECURRENT, kw_only=True)

    @classmethod
    def empty(cls, width: int) -> RecurrentNodes:
        """No nodes yet, for a delay line of this width."""
        sources, none = np.zeros((SOURCES, 0), np.int64), np.zeros(0)
        return cls(np.zeros((width, 0)), none, none, none, sources, np.zeros((SOURCES, 0)), np.full((2, 0), -1))

    @classmethod
    def joined(cls, blocks: Sequence[Nodes]) -> Self:
        """Several blocks as one."""
        names = [each.name for each in fields(cls) if each.name != "layer"]
        arrays = (np.concatenate([getattr(block, name) for block in blocks], axis=-1) for name in names)
        return cls(*arrays, layer=blocks[0].layer)

    def take(self, chosen: np.ndarray | slice) -> Self:
        """Some of the nodes."""
        return type(self)(*(values[..., chosen] for values in self.arrays().values()), layer=self.layer)

    def arrays(self) -> dict[str, np.ndarray]:
        """The fields but for the layer."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "layer"}

    @property
    def width(self) -> int:
        """p, the width of the delay line."""
        return len(self.weights)

    @property
    def products(self) -> np.ndarray:
        """Which nodes are products."""
        return np.asarray(self.factors[0] >= 0)

    @cached_property
    def multiplying(self) -> np.ndarray:
        """The numbers of the nodes that are products."""
        return np.flatnonzero(self.products)

    @cached_property
    def uses_others(self) -> bool:
        """Whether a node uses the states of others."""
        return bool(self.source_weights.any())

    @cached_property
    def uses_itself(self) -> bool:
        """Whether a node uses its own state."""
        return bool(self.feedback.any())

    def recurrent_weights(self) -> np.ndarray:
        """Weights (L, L) of the states of all nodes one row before, the feedback of a node to itself included."""
        matrix = np.diag(self.feedback)
        np.add.at(matrix, (self.sources, np.arange(len(self))), self.source_weights)
        return matrix

    def has_echo_state(self) -> np.ndarray:
        """Whether each node satisfies the echo-state condition."""
        return np.asarray(np.abs(self.feedback) <= LARGEST_FEEDBACK)

    def is_triangular(self) -> bool:
        """Whether the inputs of every node are nodes before it."""
        here = np.arange(len(self))
        used = np.where(self.source_weights != 0.0, self.sources, -1)
        return bool((used < here).all() and (self.factors < self.width + here).all() and (self.sources >= 0).all())


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


# Simulation: ``step`` is one row of a whole reservoir; ``block_states`` simulates nodes that join on all rows, with the
# same bits; ``candidate_states`` compares many candidates, faster and with other last digits.


def step(nodes: RecurrentNodes, drive: np.ndarray, line: np.ndarray, states: np.ndarray) -> np.ndarray:
    """s(n) of shape (…, L) from wᵀz(n) + b, the delay line z(n) of shape (…, p), and s(n − 1).

    The drive is overwritten.
    """
    if nodes.uses_others:
        drive += np.add.reduce(states[..., nodes.sources] * nodes.source_weights, axis=-2)
    if nodes.uses_itself:
        drive += nodes.feedback * states
    after = np.tanh(drive, out=drive)
    if len(nodes.multiplying):
        known = np.concatenate([line, states], axis=-1)
        one, other = nodes.factors[:, nodes.multiplying]
        after[..., nodes.multiplying] = known[..., one] * known[..., other]
    return after


def input_drive(z: np.ndarray, nodes: RecurrentNodes) -> np.ndarray:
    """wᵀz(n) + b of shape (n, k), summed input by input."""
    if len(z) < _MANY_ROWS:
        drive = np.tile(nodes.biases, (len(z), 1))
        for column, weights in zip(z.T, nodes.weights, strict=True):
            if weights.any():
                drive += column[:, np.newaxis] * weights
        return drive
    # Node by node, as most of them use few inputs: the same bits, but for products with 0.
    columns, drive = np.ascontiguousarray(z.T), np.empty((len(nodes), len(z)))
    for row, bias, weights in zip(drive, nodes.biases, nodes.weights.T, strict=True):
        row[:] = bias
        for used in np.flatnonzero(weights):
            row += columns[used] * weights[used]
    return np.ascontiguousarray(drive.T)


def all_states(z: np.ndarray, nodes: RecurrentNodes, before: np.ndarray | None = None) -> np.ndarray:
    """States (n, L) of a whole reservoir along one sequence, from a state (L,) before its first row, by default 0."""
    states, state = input_drive(z, nodes), np.zeros(len(nodes)) if before is None else before
    for n, line in enumerate(z):
        state = step(nodes, states[n], line, state)
    return states


def block_states(z: np.ndarray, lagged: np.ndarray, nodes: RecurrentNodes, segments: Segments) -> np.ndarray:
    """States (n, k) of nodes that are no inputs of each other, given those of all earlier nodes one row before."""
    states = input_drive(z, nodes)
    from_nodes = np.zeros_like(states)
    for sources, weights in zip(nodes.sources, nodes.source_weights, strict=True):
        if weights.any():
            from_nodes += lagged[:, sources] * weights
    states += from_nodes
    for segment in segments:
        _feed_back(states[segment], nodes.feedback, np.zeros_like(nodes.feedback))
    if len(nodes.multiplying):
        states[:, nodes.multiplying] = _products(z, lagged, nodes.factors[:, nodes.multiplying])
    return states


def candidate_states(
    z: np.ndarray, lagged: np.ndarray, nodes: RecurrentNodes, segments: Segments, rows: np.ndarray
) -> np.ndarray:
    """The same by matrix products, which are faster and differ in the last digits, for increasing ``rows`` only.

    Products come after all other nodes, as they are drawn.
    """
    plain = nodes.take(slice(len(nodes) - len(nodes.multiplying)))
    from_nodes = np.zeros((lagged.shape[1], len(plain)))
    if len(from_nodes):
        np.add.at(from_nodes, (plain.sources, np.arange(len(plain))), plain.source_weights)
    states, wanted = np.empty((len(rows), len(nodes))), _as_slice(rows)

    def driven(part: slice | np.ndarray) -> np.ndarray:
        drive = z[part] @ plain.weights
        if plain.uses_others:
            drive += lagged[part] @ from_nodes
        drive += plain.biases
        return drive

    if not plain.uses_itself:
        # Rows do not depend on each other.
        np.tanh(driven(wanted), out=states[:, : len(plain)])
    else:
        for segment in segments:
            state, end = np.zeros(len(plain)), int(rows[: np.searchsorted(rows, segment.stop)].max(initial=-1)) + 1
            for start in range(segment.start, end, _PART):
                part = slice(start, min(start + _PART, end))
                drive = driven(part)
                _feed_back(drive, plain.feedback, state)
                places = slice(*np.searchsorted(rows, (part.start, part.stop)))
                states[places, : len(plain)] = drive[_as_slice(rows[places] - part.start)]
    states[:, len(plain) :] = _products(z[wanted], lagged[wanted], nodes.factors[:, len(plain) :])
    return states


def _as_slice(numbers: np.ndarray) -> slice | np.ndarray:
    """Increasing numbers, as a slice where none is left out."""
    contiguous = len(numbers) > 0 and numbers[-1] - numbers[0] == len(numbers) - 1
    return slice(int(numbers[0]), int(numbers[-1]) + 1) if contiguous else numbers


def _feed_back(drive: np.ndarray, feedback: np.ndarray, state: np.ndarray) -> None:
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


def _products(z: np.ndarray, lagged: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Products (n, k) of two columns of [z, lagged], by their numbers (2, k)."""
    width = z.shape[1]
    columns = np.empty((2, len(z), factors.shape[1]))
    for side, numbers in enumerate(factors):
        inputs = numbers < width
        columns[side][:, inputs] = z[:, numbers[inputs]]
        columns[side][:, ~inputs] = lagged[:, numbers[~inputs] - width]
    return columns[0] * columns[1]


# Draws

# The weights of earlier nodes are drawn from [−s, s]/√k with one of these s, for k of them.
_STRENGTHS = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class ReservoirConfig:
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
        Whether nodes use themselves and earlier nodes; otherwise only the delay line.
    """

    length: int
    scopes: tuple[float, float]
    products: bool
    recurrent: bool = True

    def __str__(self) -> str:
        """In words."""
        kinds = [name for name in ("products", "recurrent") if getattr(self, name)]
        return ", ".join([f"delay line of {self.length} rows", "scopes {:g} to {:g}".format(*self.scopes), *kinds])


def draw(
    rng: np.random.Generator,
    count: int,
    width: int,
    present: int,
    config: ReservoirConfig,
    layer: Layer = RECURRENT,
) -> RecurrentNodes:
    """Candidates for a reservoir with this many nodes at present, on a delay line of this width."""
    low, high = np.log(config.scopes)
    scopes = np.exp(rng.uniform(low, high, count))
    fan_in = np.exp(rng.uniform(0.0, np.log(width + 1.0), count)).astype(int).clip(1, width)
    chosen = rng.random((width, count)).argsort(axis=0) < fan_in
    weights = rng.uniform(-1.0, 1.0, (width, count)) * chosen * scopes
    feedback = rng.uniform(-LARGEST_FEEDBACK, LARGEST_FEEDBACK, count) * (rng.random(count) < 0.75)
    arrays = {
        "weights": weights,
        "biases": rng.uniform(-1.0, 1.0, count) * scopes,
        "scopes": scopes,
        "feedback": feedback * config.recurrent,
        "sources": np.zeros((SOURCES, count), np.int64),
        "source_weights": np.zeros((SOURCES, count)),
    }
    present = present if config.recurrent else 0
    if present:
        # Up to SOURCES earlier nodes; a node drawn twice counts twice.
        degree = rng.integers(0, SOURCES + 1, size=count)
        strengths = rng.choice(_STRENGTHS, count) / np.sqrt(np.maximum(degree, 1))
        own = rng.uniform(-1.0, 1.0, (SOURCES, count)) * strengths * (np.arange(SOURCES)[:, np.newaxis] < degree)
        arrays |= {"sources": rng.integers(present, size=(SOURCES, count)), "source_weights": own}
    factors = np.full((2, count), -1)
    if config.products:
        # Products have no other inputs; they take the place of the first half, and come last.
        half = count // 2
        factors[:, count - half :] = rng.integers(width + present, size=(2, half))
        for name, values in arrays.items():
            arrays[name] = np.concatenate([values[..., half:], np.zeros_like(values[..., :half])], axis=-1)
    return RecurrentNodes(**arrays, factors=factors, layer=layer)
