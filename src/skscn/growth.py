"""The constructive loop: a generator of steps, one or several nodes each.

    while the residual is too large and there are fewer than L_max nodes:
        Phase 1   the configuration proposes candidates; the best that passes the supervisory inequality is accepted
        Phase 2   the rule re-evaluates output weights; the residual becomes T − Hβ
        yield     a Step

Acceptance is decided here and nowhere else: on all rows, in float64, against the residual of that very moment. So
every network fulfils the inequality of Theorems 6 to 8 at each of its nodes, however its candidates were found.
Early stopping, progress bars and callbacks read the steps; nothing here knows of them.
"""

from collections.abc import Generator
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from skscn.configuration import Configuration, Proposal
from skscn.output_weights import OutputWeights
from skscn.rows import Rows
from skscn.supervision import alive, ranked, slack, supported


@dataclass(frozen=True)
class Step:
    """What one step of growth did.

    Attributes
    ----------
    weights : ndarray of shape (d, n)
        Input weights of the nodes it added.
    biases : ndarray of shape (n,)
    nodes : int
        Nodes in the network after it.
    scope, contraction, slack : float
        λ, r and ξ_L = Σ_q ξ_{L,q} with which the node was accepted; of several nodes the largest λ and r, with which
        each of them fulfils the inequality, and the smallest ξ_L.
    train_rmse, validation_rmse : float
        Errors after it, of the scaled targets.
    candidates : int
        Candidates drawn in it.
    seconds : float
        Time spent on it.
    """

    weights: np.ndarray
    biases: np.ndarray
    nodes: int
    scope: float
    contraction: float
    slack: float
    train_rmse: float
    candidates: int
    seconds: float
    validation_rmse: float = np.nan


def grow(
    rows: Rows,
    configuration: Configuration,
    output_weights: OutputWeights,
    *,
    max_nodes: int,
    tol: float,
    nodes_per_step: int,
    seed: int,
) -> Generator[Step, None, str]:
    """Grow a network from the nodes that ``output_weights`` already has; return why it ended.

    Draws depend on the seed and the number of nodes only, so a network continues as if it had never been interrupted.
    """
    while True:
        if rows.rmse <= tol:
            return "tol"
        if output_weights.nodes >= max_nodes:
            return "max_nodes"
        count = min(nodes_per_step, max_nodes - output_weights.nodes)
        step = _take_step(rows, configuration, output_weights, count, seed)
        if step is None:
            return "no candidate"
        yield step


def _take_step(
    rows: Rows, configuration: Configuration, output_weights: OutputWeights, count: int, seed: int
) -> Step | None:
    """Add up to ``count`` nodes; None if not even one is to be had."""
    started, node = perf_counter(), output_weights.nodes + 1
    rng = np.random.default_rng((seed, node))
    added: list[_Node] = []
    for proposal in configuration.propose(rows, node, rng, count):
        _accept(rows, output_weights, proposal, count, added)
        if len(added) == count:
            break
    if not added:
        return None
    return Step(
        weights=np.column_stack([new.weight for new in added]),
        biases=np.array([new.bias for new in added]),
        nodes=output_weights.nodes,
        scope=max(new.scope for new in added),
        contraction=max(new.contraction for new in added),
        slack=min(new.slack for new in added),
        train_rmse=rows.rmse,
        candidates=proposal.candidates,
        seconds=perf_counter() - started,
    )


@dataclass(frozen=True)
class _Node:
    """A node that was accepted, and how."""

    weight: np.ndarray
    bias: float
    scope: float
    contraction: float
    slack: float


def _accept(rows: Rows, output_weights: OutputWeights, proposal: Proposal, count: int, added: list[_Node]) -> None:
    """Add candidates of the short list, best first, until ``added`` holds ``count``.

    After each node the rest of the list is judged anew: what a second node was worth beside the first is not what it
    is worth after it.
    """
    remaining = np.array([c for c in range(len(proposal.biases)) if not _is_among(proposal, c, added)], dtype=int)
    while remaining.size and len(added) < count:
        remaining, worth = _judge(rows, proposal, remaining, output_weights.nodes + 1)
        for place, candidate in enumerate(remaining):
            weight, bias = proposal.weights[:, candidate], float(proposal.biases[candidate])
            if output_weights.append(rows, weight, bias):
                added.append(_Node(weight, bias, proposal.scope, proposal.contraction, float(worth[place])))
                remaining = remaining[place + 1 :]
                break
        else:
            break


def _is_among(proposal: Proposal, candidate: int, added: list[_Node]) -> bool:
    """Whether a candidate was added in this step already; a strategy may propose it again with a weaker contraction."""
    return any(
        proposal.biases[candidate] == node.bias and np.array_equal(proposal.weights[:, candidate], node.weight)
        for node in added
    )


def _judge(rows: Rows, proposal: Proposal, candidates: np.ndarray, node: int) -> tuple[np.ndarray, np.ndarray]:
    """Those candidates that pass the inequality and the guards on all rows, best first, and their ξ."""
    sums = rows.sums(proposal.weights[:, candidates], proposal.biases[candidates], quartics=True)
    slacks = slack(sums, rows.residual_squares, proposal.contraction, node)
    usable = alive(sums, rows.weight, rows.activation.bound) & supported(sums, rows.weight)
    best_first = ranked(slacks, usable)
    return candidates[best_first], slacks.sum(axis=0)[best_first]
