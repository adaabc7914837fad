"""The constructive loop: a generator of steps, each of which adds one or several nodes.

    while the residual is too large and there are fewer than L_max nodes:
        Phase 1   the configuration proposes candidates; the best that passes the supervisory inequality is accepted
        Phase 2   the rule re-evaluates output weights; the residual becomes T − Hβ
        yield     a Step

Acceptance is decided here and nowhere else: on all rows, in float64, against the current residual. So every
network satisfies the inequality of Theorems 6 to 8 at each of its nodes, however its candidates were found.
Early stopping, progress bars and callbacks read the steps; nothing here depends on them.
"""

from collections.abc import Generator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from time import perf_counter

import numpy as np

from skscn.configuration import Configuration, Pace, Proposal
from skscn.layers import Nodes
from skscn.output_weights import Admission, OutputWeights
from skscn.rows import Rows
from skscn.sensitivity import mean_squared_gradients, spreads
from skscn.supervision import Sums, alive, ranked, slack, supported

# Rows on which it is measured how much the network depends on each feature.
_ROWS_FOR_RELEVANCE = 500


class StopReason(StrEnum):
    """Why growth ended."""

    TOL = "tol"
    MAX_NODES = "max_nodes"
    NO_CANDIDATE = "no candidate"
    EARLY_STOPPING = "early stopping"
    CALLBACK = "callback"


@dataclass(frozen=True)
class Step:
    """What one step of growth did.

    Attributes
    ----------
    added : Nodes
        The nodes it added.
    nodes : int
        Nodes in the network after it.
    scope, contraction, slack : float
        λ, r and ξ_L = Σ_q ξ_{L,q} with which the node was accepted; for several nodes the largest λ and r, with which
        each of them satisfies the inequality, and the smallest ξ_L.
    train_rmse, validation_rmse : float
        Errors after it, in units of the scaled targets.
    candidates : int
        Candidates drawn in it.
    seconds : float
        Time spent on it.
    polished : bool
        Whether all nodes were polished together at its end.
    """

    added: Nodes
    nodes: int
    scope: float
    contraction: float
    slack: float
    train_rmse: float
    candidates: int
    seconds: float
    validation_rmse: float = np.nan
    polished: bool = False


def grow(
    rows: Rows,
    configuration: Configuration,
    output_weights: OutputWeights,
    *,
    max_nodes: int,
    tol: float,
    pace: Pace,
    seed: int,
    contraction: float = 0.0,
) -> Generator[Step, None, StopReason]:
    """Grow a network from the nodes that ``output_weights`` already has; return why growth ended.

    Draws depend only on the seed, the number of nodes and ``contraction``, the r with which the last of them was
    accepted, so a network continues as if it had never been interrupted.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn.activations import ACTIVATIONS
    >>> from skscn.configuration import Ladder, Pace
    >>> from skscn.growth import grow
    >>> from skscn.layers import Dense
    >>> from skscn.output_weights import LeastSquares
    >>> from skscn.rows import open_rows
    >>> from skscn.scaling import scale_inputs
    >>> X = np.linspace(0, 1, 100)[:, np.newaxis]
    >>> rows = open_rows(X, np.sin(9 * X), layer=Dense(ACTIVATIONS["tanh"]), scaling=scale_inputs(None, X))
    >>> rule = LeastSquares(n_outputs=1)
    >>> with rows:
    ...     steps = grow(rows, Ladder((10,)), rule, max_nodes=8, tol=0.01, pace=Pace(1), seed=0)
    ...     errors = [step.train_rmse for step in steps]
    >>> bool(np.all(np.diff(errors) < 0)), errors[-1] < 0.1
    (True, True)
    """
    rows.contraction = contraction
    while True:
        if rows.rmse <= tol:
            return StopReason.TOL
        if output_weights.nodes >= max_nodes:
            return StopReason.MAX_NODES
        count = min(pace.after(output_weights.nodes), max_nodes - output_weights.nodes)
        step = _take_step(rows, configuration, output_weights, count, seed)
        if step is None:
            return StopReason.NO_CANDIDATE
        rows.contraction = step.contraction
        yield step


def readmit(rows: Rows, output_weights: OutputWeights, nodes: Nodes, pace: Pace) -> bool:
    """Add nodes that were accepted and then changed; return whether they pass the guards.

    They are added at this pace, and one by one where they depend too much on each other.
    """
    starts = [0]
    while starts[-1] < len(nodes):
        starts.append(starts[-1] + pace.after(starts[-1]))
    blocks = [nodes.take(slice(*ends)) for ends in pairwise(starts)]
    while blocks:
        block = output_weights.open(rows, blocks[0])
        if not _usable(rows, block.sums).all():
            return False
        if block.admit_all().all():
            output_weights.join(rows, block)
            blocks = blocks[1:]
        elif len(block) > 1:
            blocks = [*(blocks[0].take(slice(j, j + 1)) for j in range(len(block))), *blocks[1:]]
        else:
            return False
    return True


def _take_step(
    rows: Rows, configuration: Configuration, output_weights: OutputWeights, count: int, seed: int
) -> Step | None:
    """Add up to ``count`` nodes; return None if no candidate is accepted.

    Where nodes are added together, a step is one block, so that adding the nodes of a step again gives the same
    result as growing them.
    """
    started, node = perf_counter(), output_weights.nodes + 1
    rows.relevance = _relevance(rows, output_weights) if configuration.guided else None
    proposals = configuration.propose(rows, node, np.random.default_rng((seed, node)), count)
    accepted: list[_Accepted] = []
    proposal, candidates = next(proposals, None), 0
    while proposal is not None:
        candidates = proposal.candidates
        found = _accept(rows, output_weights, proposal, count - len(accepted))
        accepted += found
        if len(accepted) == count or (accepted and output_weights.takes_blocks):
            break
        proposal = _send(proposals, len(found))
    if not accepted:
        return None
    return Step(
        added=Nodes.joined([new.node for new in accepted]),
        nodes=output_weights.nodes,
        scope=max(float(new.node.scopes[0]) for new in accepted),
        contraction=max(new.contraction for new in accepted),
        slack=min(new.slack for new in accepted),
        train_rmse=rows.rmse,
        candidates=candidates,
        seconds=perf_counter() - started,
    )


def _relevance(rows: Rows, output_weights: OutputWeights) -> np.ndarray | None:
    """How much the network depends on each feature: the root of the mean squared gradient, the largest being 1.

    In units of the spread of a feature, on some of the rows; None if there are no nodes yet, or no gradients.
    """
    if not output_weights.nodes or not rows.layer.has_gradients or rows.layer.width(rows.n_features) == 1:
        return None
    sample = rows.sample(np.unique(np.linspace(0, rows.n_rows - 1, _ROWS_FOR_RELEVANCE).astype(int)))
    X, weights = rows.layer.features(sample.X), None if sample.roots is None else sample.roots**2
    linear, other = np.split(output_weights.output_weights(), [output_weights.fixed])
    squares = mean_squared_gradients(
        output_weights.grown,
        other,
        output_weights.linear_nodes,
        linear,
        X,
        units=spreads(X, weights),
        sample_weight=weights,
    )
    return np.asarray(np.sqrt(squares / squares.max())) if squares.max() > 0.0 else None


def _send(proposals: Generator[Proposal, int, None], accepted: int) -> Proposal | None:
    """Tell the strategy how many candidates were accepted; return its next list, if it has one."""
    try:
        return proposals.send(accepted)
    except StopIteration:
        return None


@dataclass(frozen=True)
class _Accepted:
    """An accepted node and the values with which it was accepted."""

    node: Nodes
    contraction: float
    slack: float


def _accept(rows: Rows, output_weights: OutputWeights, proposal: Proposal, count: int) -> list[_Accepted]:
    """Add up to ``count`` candidates of the short list: as one block, or one after the other."""
    if output_weights.takes_blocks:
        return _accept_block(rows, output_weights, proposal, count)
    accepted: list[_Accepted] = []
    while len(accepted) < count and (new := _accept_block(rows, output_weights, proposal, 1)):
        accepted += new
        nodes, node = proposal.nodes, new[0].node
        same = (nodes.weights == node.weights).all(axis=0) & (nodes.biases == node.biases)
        proposal = proposal.take(~same)
    return accepted


def _accept_block(rows: Rows, output_weights: OutputWeights, proposal: Proposal, count: int) -> list[_Accepted]:
    """Add up to ``count`` candidates together; those that are rejected are replaced by others from the list."""
    choice = _Choice(rows, proposal, output_weights.nodes + 1) if len(proposal) > count else None
    chosen = np.arange(len(proposal)) if choice is None else choice.best(count)
    while len(chosen):
        candidates = proposal.take(chosen)
        block = output_weights.open(rows, candidates.nodes)
        judged = _judged(rows, block, candidates, output_weights.nodes + 1)
        if None not in judged:
            output_weights.join(rows, block)
            return [new for new in judged if new is not None]
        passed = np.array([new is not None for new in judged])
        if choice is None:
            chosen = chosen[passed]
        else:
            choice.refuse(chosen[~passed])
            chosen = choice.best(count)
    return []


def _judged(rows: Rows, block: Admission, proposal: Proposal, node: int) -> list[_Accepted | None]:
    """Check the candidates of a block one after the other, each given those before it that were admitted."""
    judged: list[_Accepted | None] = []
    for j in range(len(block)):
        admitted = sum(new is not None for new in judged)
        new = _judge(rows, block, proposal, j, node + admitted) if block.is_independent(j) else None
        if new is not None:
            block.admit(j)
        judged.append(new)
    return judged


def _judge(rows: Rows, block: Admission, proposal: Proposal, candidate: int, node: int) -> _Accepted | None:
    """Whether a candidate passes the guards and satisfies the inequality with one of the contractions, and which."""
    sums = block.sums
    if not _usable(rows, sums)[candidate]:
        return None
    for contraction in proposal.contractions:
        slacks = slack(sums, block.residual_squares, contraction, node, together=rows.together)[:, candidate]
        if slacks.min() >= 0.0:
            nodes = proposal.nodes.take(slice(candidate, candidate + 1))
            return _Accepted(nodes, contraction, float(slacks.sum()))
    return None


def _usable(rows: Rows, sums: Sums) -> np.ndarray:
    """Whether each candidate passes the guards."""
    usable: np.ndarray = alive(sums, rows.weight, rows.layer.bound) & supported(sums, rows.weight)
    return usable


class _Choice:
    """Which candidates of a list to try, from one pass over all rows; whether they are accepted is decided later."""

    def __init__(self, rows: Rows, proposal: Proposal, node: int):
        self.contractions, self.node, self.together = proposal.contractions, node, rows.together
        self.sums, self.residual_squares = (
            rows.sums(proposal.nodes, complete=True),
            rows.residual_squares,
        )
        self.usable = _usable(rows, self.sums)

    def refuse(self, candidates: np.ndarray) -> None:
        """Exclude these candidates."""
        self.usable[candidates] = False

    def best(self, count: int) -> np.ndarray:
        """Up to ``count`` candidates that satisfy the inequality, those with the smallest contraction first.

        The first has the largest ξ; each further one has the largest ξ once those before it have reduced the residual,
        each by its own projection, as in SC-I.
        """
        assert self.sums.gram is not None, "complete sums must be requested"
        projections, residual_squares, usable = self.sums.projections, self.residual_squares, self.usable.copy()
        chosen: list[int] = []
        for contraction in self.contractions:
            while len(chosen) < count:
                current = Sums(projections, self.sums.squares)
                slacks = slack(current, residual_squares, contraction, self.node + len(chosen), together=self.together)
                best_first = ranked(slacks, usable)
                if not best_first.size:
                    break
                best = int(best_first[0])
                chosen.append(best)
                usable[best] = False
                taken = projections[:, best] / self.sums.squares[best]
                projections = projections - np.outer(taken, self.sums.gram[best])
                residual_squares = residual_squares - taken**2 * self.sums.squares[best]
        return np.array(chosen, dtype=int)
