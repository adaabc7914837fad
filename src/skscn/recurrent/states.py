"""Simulation of recurrent nodes: one block on known states, all nodes row by row, and candidates of a search.

A state is computed by the same elementwise operations in the same order, whatever other nodes there are: adding a node
leaves the states of earlier ones bit for bit as they were.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from skscn.recurrent.line import Segments
from skscn.recurrent.nodes import RecurrentNodes

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
