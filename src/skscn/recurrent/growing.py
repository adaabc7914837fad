"""A reservoir in training: it grows by the same loop as any network, :func:`skscn.growth.grow`.

What differs from a dense network: columns depend on earlier rows, so those of a node are simulated on all rows at
once, and rows are looked up in them (:class:`Course`). Candidates are drawn for the delay line and for the nodes that
are there already, and simulated together (:class:`ReservoirSearch`). Outputs are supervised together. Later rows decide
when to stop, how many nodes are kept, and which penalty their output weights have (:mod:`skscn.recurrent.later`).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from skscn.factor import Factor
from skscn.growth import GrowthState, begin
from skscn.nodes import Inputs, Layer, Nodes
from skscn.output_weights import ALGORITHMS, LeastSquares, OutputWeights
from skscn.recurrent.nodes import (
    RECURRENT,
    RecurrentNodes,
    ReservoirConfig,
    Segments,
    block_states,
    candidate_states,
    draw,
    one_row_later,
)
from skscn.recurrent.sequences import Sequences
from skscn.rows import Rows, open_rows
from skscn.scaling import Scaling, scale_inputs
from skscn.search import Configuration, Proposal, StepSchedule
from skscn.search.base import Proposals
from skscn.supervision import SMALLEST_REMAINDER, SMALLEST_SUPPORT, Inequality, Sums, forward_selection, participates

# r, each closer to 1: how little a node may reduce the error. Noise-free series are approximated to the last digits,
# where the part of a node that is new is tiny.
CONTRACTIONS = tuple(1.0 - 0.1**power for power in range(1, 14))
# Candidates are compared on at most this many rows, drawn at random; those accepted are judged on all of them.
MOST_ROWS = 2000
# Lists of candidates that are proposed, each if all of the one before were refused.
_LISTS = 3


class Looked(Layer):
    """Columns that are computed on all rows at once; the only input of a row is its number."""

    def values(self, x: np.ndarray, folded: np.ndarray) -> np.ndarray:
        """Rows of the columns."""
        return folded[x[:, 0].astype(int)]

    def scales(self, X: np.ndarray, nodes: Nodes, weights: np.ndarray | None = None) -> np.ndarray:
        """The largest absolute value of each column on these rows."""
        return np.abs(self.values(X, self.folded(nodes))).max(axis=0, initial=0.0)

    def evaluate(self, nodes: Nodes, inputs: Inputs) -> np.ndarray:
        """All rows are looked up at once."""
        return self.values(inputs.X, self.folded(nodes)).T.copy()


class DelayLine(Looked):
    """The linear columns of a reservoir: combinations of the delay line (n, p) of all rows."""

    def __init__(self, z: np.ndarray):
        self.z = z

    def folded(self, nodes: Nodes) -> np.ndarray:
        """Columns on all rows."""
        columns: np.ndarray = self.z @ nodes.weights + nodes.biases
        return columns


class Course(Looked):
    """What simulates recurrent nodes while they grow: the delay line of all rows, and the states of the nodes so far.

    Attributes
    ----------
    z : ndarray of shape (n, p)
    segments : sequence of slices
        The sequences.
    states, lagged : ndarray of shape (n, most)
        Of the nodes that have joined: on each row, and one row before.
    """

    def __init__(self, z: np.ndarray, segments: Segments, most: int):
        self.z, self.segments = z, segments
        self.states, self.lagged = np.empty((2, most, len(z))).transpose(0, 2, 1)
        self._last: tuple[Nodes | None, np.ndarray] = (None, self.states[:, :0])

    def width(self, n_inputs: int) -> int:
        """p."""
        return self.z.shape[1]

    def folded(self, nodes: Nodes) -> np.ndarray:
        """States on all rows; those of the last nodes are remembered."""
        if nodes is not self._last[0]:
            assert isinstance(nodes, RecurrentNodes)
            self._last = nodes, block_states(self.z, self.lagged, nodes, self.segments)
        return self._last[1]

    def join(self, nodes: Nodes, before: int) -> None:
        """Let nodes be inputs of those that follow."""
        states = self.folded(nodes)
        new = slice(before, before + states.shape[1])
        self.states[:, new] = states
        self.lagged[:, new] = one_row_later(self.states[:, new], self.segments)


class ReservoirSearch(Configuration):
    """The best of one pool of candidates, by what each lowers the error after those before it.

    Parameters
    ----------
    config : ReservoirConfig
        What is drawn.
    max_candidates : int
        T_max.
    """

    def __init__(self, config: ReservoirConfig, max_candidates: int):
        super().__init__(config.scopes, CONTRACTIONS, max_candidates)
        self.config = config

    def propose(self, rows: Rows, node: int, rng: np.random.Generator, count: int) -> Proposals:
        """The best candidates together; if all of them are refused, the next ones."""
        course, present = rows.layer, node - 1
        assert isinstance(course, Course)
        candidates = draw(rng, self.max_candidates, course.z.shape[1], present, self.config, course)
        places = np.arange(rows.n_rows)
        if len(places) > MOST_ROWS:
            places = np.sort(rng.choice(places, MOST_ROWS, replace=False))
        sample = rows.sample(places)
        numbers = sample.X[:, 0].astype(int)
        h = candidate_states(course.z, course.lagged[:, :present], candidates, course.segments, numbers)
        basis = sample.basis if len(places) == rows.n_rows else np.linalg.qr(sample.basis.T)[0].T
        known, left = basis @ h, sample.residual - basis.T @ (basis @ sample.residual)
        squares = np.einsum("ij,ij->j", h, h)
        # The new part of a candidate, v = h − QQᵀh, is formed only for those chosen: ‖v‖² = ‖h‖² − ‖Qᵀh‖².
        sums = Sums(left.T @ h, squares - np.einsum("ij,ij->j", known, known))
        smallest, checked = SMALLEST_REMAINDER**2 * squares, False

        def score(given: Sums, _: np.ndarray, chosen: list[int]) -> np.ndarray:
            falls, eligible = (given.projections**2).sum(axis=0), given.squares > smallest
            eligible[chosen] = False
            return np.divide(falls, given.squares, out=np.full_like(falls, -np.inf), where=eligible & (falls > 0.0))

        def products(number: int) -> np.ndarray:
            new = h[:, number] - basis.T @ known[:, number]
            return np.asarray((new - basis.T @ (basis @ new)) @ h)

        for _ in range(_LISTS):
            chosen = forward_selection(sums, count, score, orthogonal=True, products=products)
            if not checked and not _varies(h[:, chosen]).all():
                smallest[~_varies(h)], checked = np.inf, True
                chosen = forward_selection(sums, count, score, orthogonal=True, products=products)
            yield Proposal(candidates.take(chosen), self.contractions, self.max_candidates)
            smallest[chosen] = np.inf


def _varies(h: np.ndarray) -> np.ndarray:
    """Whether each column (n, k) varies on enough rows."""
    centred = h - h.mean(axis=0)
    centred *= centred
    squares, quartics = centred.sum(axis=0), np.einsum("ij,ij->j", centred, centred)
    return (squares > 0.0) & participates(squares, quartics, SMALLEST_SUPPORT * len(h))


@dataclass(frozen=True, eq=False)
class GrowingReservoir:
    """A reservoir in training, on the first part of time or on all of it.

    Attributes
    ----------
    sequences : Sequences
    config : ReservoirConfig
    share : float
        Of time, on which it grows.
    course : Course
        The states of its nodes, on all rows.
    rows : Rows
        The scored rows of that part of time.
    output_weights : OutputWeights
    state : GrowthState
    """

    sequences: Sequences
    config: ReservoirConfig
    share: float
    course: Course
    rows: Rows
    output_weights: OutputWeights
    state: GrowthState

    @classmethod
    def of(
        cls,
        sequences: Sequences,
        config: ReservoirConfig,
        share: float,
        most: int,
        algorithm: str = "SC-III",
        window: int = 15,
        outputs: Scaling | None = None,
        round: int = 1,
    ) -> GrowingReservoir:
        """One with linear columns only; ``outputs`` and ``round`` are for its history."""
        z = sequences.delay_line(config.length)
        course, width = Course(z, sequences.segments, most), z.shape[1]
        numbers = sequences.scored(0.0, share)
        targets = sequences.targets[numbers]
        rows = open_rows(
            numbers[:, np.newaxis].astype(float),
            targets,
            layer=course,
            scaling=scale_inputs(None, numbers[:, np.newaxis]),
            inequality=Inequality(together=True),
        )
        linear = Nodes(DelayLine(z), np.eye(width, 1 + width, k=1), np.eye(1, 1 + width)[0])
        rule = ALGORITHMS[algorithm](targets.shape[1], window)
        state = GrowthState(linear, outputs=outputs, round=round)
        begin(rows, rule, state, StepSchedule(1))
        return cls(sequences, config, share, course, rows, rule, state)

    def copied(self, config: ReservoirConfig, most: int, round: int) -> GrowingReservoir:
        """A copy of one with linear columns only, which can have ``most`` nodes of this configuration."""
        course = Course(self.course.z, self.course.segments, most)
        rows, state = deepcopy(self.rows, {id(self.course): course}), replace(self.state, round=round, records=[])
        rule = copy(self.output_weights)
        return replace(self, config=config, course=course, rows=rows, output_weights=rule, state=state)

    @property
    def nodes(self) -> RecurrentNodes:
        """The nodes so far, as they are in a trained reservoir."""
        if not self.output_weights.nodes:
            return RecurrentNodes.empty(self.course.z.shape[1])
        grown = self.output_weights.grown
        assert isinstance(grown, RecurrentNodes)
        return replace(grown, layer=RECURRENT)

    @property
    def linear(self) -> int:
        """The number of linear columns that do not depend on others."""
        return self.output_weights.linear

    @property
    def size(self) -> int:
        """The number of columns."""
        return self.linear + self.output_weights.nodes

    @property
    def kept(self) -> np.ndarray:
        """The numbers of its columns among all columns [1, z, s]."""
        assert self.state.independent is not None
        return np.append(self.state.independent, 1 + self.course.z.shape[1] + np.arange(self.output_weights.nodes))

    @cached_property
    def _linear_columns(self) -> np.ndarray:
        (linear,) = self.state.fixed
        return np.asarray(linear.layer.folded(linear))

    @property
    def columns(self) -> np.ndarray:
        """Its columns on all rows, shape (n, size)."""
        return np.hstack([self._linear_columns, self.course.states[:, : self.output_weights.nodes]])

    def factor(self, share: float) -> Factor:
        """R and C of the scored rows in this first part of time; only the intercept is not penalised."""
        rule = self.output_weights
        if share == self.share and isinstance(rule, LeastSquares):
            return replace(rule.final_factor(self.rows, rule.nodes), linear=1)
        return self.factor_of(self.sequences.scored(0.0, share), self.size)

    def factor_of(self, numbers: np.ndarray, size: int) -> Factor:
        """The factor of the first columns on the rows with these numbers."""
        empty = Factor.empty(size, self.rows.n_outputs, 1)
        return empty.with_rows(self.columns[numbers, :size], self.sequences.targets[numbers])

    def weights(self, factor: Factor, penalties: Sequence[float]) -> np.ndarray:
        """Output weights (penalties, size, m) of the columns of a factor, by the rule of this network."""
        return self.paths(factor, [len(factor.triangle)], penalties)[0]

    def paths(self, factor: Factor, sizes: Sequence[int], penalties: Sequence[float]) -> list[np.ndarray]:
        """For each size, such output weights of the first columns of a factor."""
        window = None if isinstance(self.output_weights, LeastSquares) else self.window
        return factor.paths(sizes, penalties, window, self.linear)

    @property
    def window(self) -> int:
        """K, the number of nodes whose output weights are evaluated again: 1 in SC-I."""
        return self.output_weights.window if self.output_weights.keeps_columns else 1

    def full(self, weights: np.ndarray) -> np.ndarray:
        """Output weights (…, size, m) of its first columns as those of all columns [1, z, s], 0 for those left out."""
        width = self.course.z.shape[1]
        full = np.zeros((*weights.shape[:-2], 1 + width + weights.shape[-2] - self.linear, weights.shape[-1]))
        full[..., self.kept[: weights.shape[-2]], :] = weights
        return full
