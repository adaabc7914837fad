"""The constructive loop, and the only one: a generator of steps, each of which adds one or several nodes.

    while the residual is too large and there are fewer than L_max nodes:
        propose   the search finds candidates                                       Phase 1
        judge     ξ ≥ 0 for every output, or for their sum, on all rows; the guards
        join      the rule re-evaluates output weights; the residual is T − Hβ      Phase 2
        observe   the monitor evaluates held-out rows, or a criterion
        polish    at certain sizes, all nodes together
        yield     a Step, which progress bars, checkpoints and callbacks only read

Acceptance is decided here and nowhere else: on all rows, in float64, against the current residual. So every node
satisfies the inequality of Theorems 6 to 8 when it is accepted, however it was found. Polishing may change nodes
later; it is kept only if the error on all rows does not rise.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from time import perf_counter
from typing import NamedTuple, get_type_hints

import numpy as np

from skscn.network import mean_squared_gradients, spreads
from skscn.nodes import Nodes
from skscn.output_weights import Admission, OutputWeights
from skscn.rows import Rows
from skscn.scaling import Scaling
from skscn.search import Configuration, Proposal, StepSchedule
from skscn.stopping import BestSoFar, StoppingMonitor
from skscn.supervision import SMALLEST_SUPPORT, Sums, admissible, alive, forward_selection, participates

_OTHER_DATA = (
    "A network is continued on the data it was grown on; on these rows its nodes depend on each other. Use "
    "warm_start=False for other data."
)


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
        Nodes in the network after it; in the steps that are yielded, with those of the layers below.
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


class StepRecord(NamedTuple):
    """A row of the history: a step without its nodes, in a round of a loss."""

    nodes: int
    scope: float
    contraction: float
    slack: float
    train_rmse: float
    validation_rmse: float
    candidates: int
    seconds: float
    round: int
    polished: bool


HISTORY = np.dtype([(name, np.int64 if kind is int else kind) for name, kind in get_type_hints(StepRecord).items()])


def history_columns(history: np.ndarray) -> dict[str, np.ndarray]:
    """A history as plain arrays."""
    return {name: history[name] for name in HISTORY.names or ()}


def last_round(history: np.ndarray) -> np.ndarray:
    """The steps in which the present network was grown; those of earlier rounds, under some losses, precede them."""
    return history[history["round"] == history["round"][-1]] if len(history) else history


def history_of(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """The history among these arrays."""
    history = np.empty(len(arrays["nodes"]), HISTORY)
    for name in HISTORY.names or ():
        history[name] = arrays[name]
    return history


@dataclass(frozen=True)
class BeforePolishing:
    """What was known when all nodes were last polished, which changed them.

    Attributes
    ----------
    standing : BestSoFar
        What the monitor had found, with the nodes as they were then.
    best : Nodes or None
        The nodes of the best network, if it was one from before.
    """

    standing: BestSoFar
    best: Nodes | None


@dataclass(eq=False)
class GrowthState:
    """What growth knows besides rows and output weights.

    Attributes
    ----------
    linear : Nodes or None
        Linear columns that the network begins with.
    below : tuple of Nodes
        The layers below, which are finished.
    outputs : Scaling or None
        The scaling of the targets, for errors in their units; None for errors of the scaled targets.
    round : int
        The number of the present round, under losses that are minimised in several.
    records : list of StepRecord
        A row of HISTORY for each step.
    polished : BeforePolishing or None
        None if all nodes are as they were found.
    independent : ndarray of int or None
        The linear columns that do not depend on the others, which are left out; None before :func:`begin`. Only
        networks that it has set up can be polished.
    """

    linear: Nodes | None = None
    below: tuple[Nodes, ...] = ()
    outputs: Scaling | None = None
    round: int = 1
    records: list[StepRecord] = field(default_factory=list)
    polished: BeforePolishing | None = None
    independent: np.ndarray | None = None

    @property
    def fixed(self) -> list[Nodes]:
        """The columns before the first node."""
        linear = [] if self.linear is None or self.independent is None else [self.linear.take(self.independent)]
        return [*linear, *self.below]

    @property
    def history(self) -> np.ndarray:
        """One row for each step."""
        return np.array(self.records, dtype=HISTORY)

    def record(self, step: Step) -> None:
        """Add a step to the history."""
        values = {**vars(step), "round": self.round}
        self.records.append(StepRecord(*(values[name] for name in StepRecord._fields)))

    def rmse(self, rows: Rows) -> float:
        """The root mean squared error of the training rows, over all outputs."""
        return rows.rmse if self.outputs is None else self.outputs.rmse(rows.residual_squares / rows.weight)


def begin(rows: Rows, output_weights: OutputWeights, state: GrowthState, pace: StepSchedule) -> None:
    """Add the columns before the first node: linear ones, and those of the layers below."""
    state.independent = np.zeros(0, dtype=int)
    if state.linear is not None:
        state.independent = output_weights.append_linear(rows, state.linear)
    for block in state.below:
        if not readmit(rows, output_weights, block, pace if output_weights.takes_blocks else StepSchedule(1)):
            raise ValueError(_OTHER_DATA)
    if state.below:
        output_weights.begin_layer()


def grow(
    rows: Rows,
    search: Configuration,
    output_weights: OutputWeights,
    *,
    max_nodes: int,
    tol: float,
    pace: StepSchedule,
    seed: int,
    monitor: StoppingMonitor | None = None,
    state: GrowthState | None = None,
) -> Generator[Step, None, StopReason]:
    """Grow a network from the nodes that ``output_weights`` already has; return why growth ended.

    Draws depend only on the seed, the number of nodes and r with which the last of them was accepted, which is in the
    history of the ``state``, so a network continues as if it had never been interrupted.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn.activations import ACTIVATIONS
    >>> from skscn.search import Ladder, StepSchedule
    >>> from skscn.growth import grow
    >>> from skscn.nodes import Dense
    >>> from skscn.output_weights import LeastSquares
    >>> from skscn.rows import open_rows
    >>> from skscn.scaling import scale_inputs
    >>> X = np.linspace(0, 1, 100)[:, np.newaxis]
    >>> rows = open_rows(X, np.sin(9 * X), layer=Dense(ACTIVATIONS["tanh"]), scaling=scale_inputs(None, X))
    >>> rule = LeastSquares(n_outputs=1)
    >>> with rows:
    ...     steps = grow(rows, Ladder((10,)), rule, max_nodes=8, tol=0.01, pace=StepSchedule(1), seed=0)
    ...     errors = [step.train_rmse for step in steps]
    >>> bool(np.all(np.diff(errors) < 0)), errors[-1] < 0.1
    (True, True)
    """
    monitor = StoppingMonitor() if monitor is None else monitor
    state = GrowthState() if state is None else state
    search = search.opened(rows)
    while not monitor.exhausted:
        if rows.rmse <= tol:
            return StopReason.TOL
        if output_weights.nodes >= max_nodes:
            return StopReason.MAX_NODES
        started, before = perf_counter(), output_weights.nodes
        count = min(pace.after(before), max_nodes - before)
        # Propose candidates, judge them on all rows, and let those that pass join.
        relevance = _relevance(rows, output_weights) if search.guided else None
        informed = search.informed(state.records[-1].contraction if state.records else 0.0, relevance)
        accepted, candidates = _configure(rows, informed, output_weights, count, seed)
        if not accepted:
            return StopReason.NO_CANDIDATE
        added = accepted[0].nodes.joined([new.nodes for new in accepted])
        step = Step(
            added=added,
            nodes=output_weights.nodes,
            scope=float(added.scopes.max()),
            contraction=max(max(new.contractions) for new in accepted),
            slack=min(min(new.slacks) for new in accepted),
            train_rmse=state.rmse(rows),
            candidates=candidates,
            seconds=perf_counter() - started,
            validation_rmse=observe(rows, output_weights, state, monitor, added),
        )
        # Polish all nodes together, if it is time.
        step = _polish(rows, informed, output_weights, step, pace, seed, monitor, state)
        state.record(step)
        yield replace(step, nodes=output_weights.below + step.nodes)
    return StopReason(monitor.reason)


def observe(
    rows: Rows, output_weights: OutputWeights, state: GrowthState, monitor: StoppingMonitor, added: Nodes | None
) -> float:
    """Let the monitor see nodes that have joined, or all nodes anew; return the validation error with them, or NaN."""
    if added is None:
        validation_rmse = monitor.renew(state.fixed, output_weights.grown, output_weights, rows)
    else:
        validation_rmse = monitor.observe(added, output_weights, rows)
    if state.polished is not None and monitor.standing.best < state.polished.standing.best:
        # The present network is better than the best one from before the last polishing.
        state.polished = replace(state.polished, best=None)
    return validation_rmse


# Phase 1 and Phase 2 ----------------------------------------------------------------------------------------------


def _configure(
    rows: Rows, search: Configuration, output_weights: OutputWeights, count: int, seed: int
) -> tuple[list[_Accepted], int]:
    """Add up to ``count`` nodes; return those that were accepted, and how many candidates were drawn.

    Where nodes are added together, a step is one block, so that adding the nodes of a step again gives the same
    result as growing them. Otherwise they join one after the other.
    """
    node, together = output_weights.nodes + 1, output_weights.takes_blocks
    proposals = search.propose(rows, node, np.random.default_rng((seed, node)), count)
    accepted: list[_Accepted] = []
    candidates, proposal = 0, next(proposals, None)
    while proposal is not None:
        candidates, before = proposal.candidates, output_weights.nodes
        while (missing := node + count - 1 - output_weights.nodes) > 0:
            new, chosen = _accept_block(rows, output_weights, proposal, missing if together else 1)
            if new is None:
                break
            accepted.append(new)
            if together:
                return accepted, candidates
            proposal = proposal.take(np.delete(np.arange(len(proposal.nodes)), chosen))
        if not missing:
            break
        try:
            proposal = proposals.send(output_weights.nodes - before)
        except StopIteration:
            break
    return accepted, candidates


def _relevance(rows: Rows, output_weights: OutputWeights) -> np.ndarray | None:
    """How much the network depends on each feature: the root of the mean squared gradient, the largest being 1.

    In units of the spread of a feature, on some of the rows; None if there are no nodes yet, or no gradients.
    """
    if not output_weights.nodes or not rows.layer.has_gradients or rows.layer.width(rows.n_features) == 1:
        return None
    X, weights = rows.some_features(rows.layer)
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


class _Accepted(NamedTuple):
    """Nodes that have joined together, and r and ξ_L with which each was accepted."""

    nodes: Nodes
    contractions: list[float]
    slacks: list[float]


def _accept_block(
    rows: Rows, output_weights: OutputWeights, proposal: Proposal, count: int
) -> tuple[_Accepted | None, np.ndarray]:
    """Let up to ``count`` candidates join together; return them, and their numbers in the list.

    Those that are refused are replaced by others from the list.
    """
    node, size, sums, usable = output_weights.nodes + 1, len(proposal.nodes), None, np.ones(0, dtype=bool)
    chosen = np.arange(size)
    if size > count:
        sums = rows.sums(proposal.nodes, complete=True)
        usable = passes_guards(rows, sums, proposal.nodes)
        chosen = _choose(rows, sums, usable, proposal.contractions, node, count)
    while len(chosen):
        nodes = proposal.nodes if len(chosen) == size else proposal.nodes.take(chosen)
        block = output_weights.open(rows, nodes)
        passed, contractions, slacks = _judge(rows, block, proposal.contractions, node)
        if passed.all():
            output_weights.join(rows, block)
            return _Accepted(nodes, contractions, slacks), chosen
        if sums is None:
            chosen = chosen[passed]
        else:
            usable[chosen[~passed]] = False
            chosen = _choose(rows, sums, usable, proposal.contractions, node, count)
    return None, chosen


def _judge(
    rows: Rows, block: Admission, contractions: tuple[float, ...], node: int
) -> tuple[np.ndarray, list[float], list[float]]:
    """Judge the candidates of a block one after the other, each given those before it that pass.

    A candidate passes if it passes the guards and, with one of the contractions r, satisfies the inequality ξ ≥ 0 for
    its node L on all rows. Returns which of them pass, and the first such r and ξ_L of each.
    """
    usable = passes_guards(rows, block.columns.sums, block.nodes)
    while True:
        passed = block.admit(usable)
        numbers, squares = node + np.cumsum(passed) - passed, block.residual_squares[:, :-1]
        slacks = rows.inequality.slack(block.sums, squares, np.reshape(contractions, (-1, 1, 1)), numbers)
        satisfied = admissible(slacks)
        refused = np.flatnonzero(passed & ~satisfied.any(axis=0))
        if not len(refused):
            break
        # The candidates after the first that is refused are judged again, without it.
        usable[refused[0]] = False
    first = satisfied.argmax(axis=0)
    return passed, [contractions[r] for r in first], [float(slacks[r, :, j].sum()) for j, r in enumerate(first)]


def _choose(
    rows: Rows, sums: Sums, usable: np.ndarray, contractions: tuple[float, ...], node: int, count: int
) -> np.ndarray:
    """Up to ``count`` usable candidates that satisfy the inequality, those with the smallest contraction first.

    The first has the largest ξ; each further one has the largest ξ once those before it have reduced the residual, each
    by its own projection, as in SC-I.
    """
    increasing = list(contractions)

    def score(given: Sums, explained: np.ndarray, chosen: list[int]) -> np.ndarray:
        left = usable.copy()
        left[chosen] = False
        while increasing:
            present = rows.residual_squares - explained
            slacks = rows.inequality.slack(given, present, increasing[0], node + len(chosen))
            if (passing := left & admissible(slacks)).any():
                return np.where(passing, slacks.sum(axis=0), -np.inf)
            increasing.pop(0)
        return np.full(len(usable), -np.inf)

    return forward_selection(sums, count, score, orthogonal=False)


def passes_guards(rows: Rows, sums: Sums, nodes: Nodes) -> np.ndarray:
    """Whether each candidate passes the guards against almost dead nodes and against those active on a few rows."""
    assert sums.quartics is not None, "quartics must be requested"
    usable = alive(sums, rows.weight, rows.scales(nodes))
    return usable & participates(sums.squares, sums.quartics, SMALLEST_SUPPORT * rows.weight)


# Polishing all nodes ----------------------------------------------------------------------------------------------


def _polish(
    rows: Rows,
    search: Configuration,
    output_weights: OutputWeights,
    step: Step,
    pace: StepSchedule,
    seed: int,
    monitor: StoppingMonitor,
    state: GrowthState,
) -> Step:
    """Polish all nodes, if it is time; keep the result if neither the error of all rows nor the monitor's rises.

    Returns the step with the errors after it. Nothing happens after a step that max_nodes may have cut short.
    """
    ends = [0, *(record.nodes for record in state.records), step.nodes]
    whole = [stop for start, stop in pairwise(ends) if stop - start >= pace.after(start)]
    possible = state.independent is not None and step.nodes in whole
    last, gain = _last_polishing(state.records)
    if not possible or not search.is_due(max(whole[:-1], default=0), step.nodes, last, gain):
        return step
    started, before, nodes = perf_counter(), rows.rmse, output_weights.grown
    factor = output_weights.final_factor(rows, step.nodes)
    if factor is None:
        return step
    # The columns of layers below stay as they are, like linear ones.
    factor = replace(factor, linear=output_weights.fixed)
    found = search.polish(rows, nodes, factor, gain, np.random.default_rng((seed, step.nodes, 1)))
    if found is None:
        return step
    previous = BeforePolishing(
        monitor.standing, best_nodes(output_weights, state, monitor) if monitor.chooses else None
    )
    restart(rows, output_weights, state, pace)
    readmitted = readmit(rows, output_weights, found, pace)
    if readmitted and rows.rmse <= before and not monitor.is_worse(state.fixed, found, output_weights, rows):
        state.polished = previous
        validation_rmse = observe(rows, output_weights, state, monitor, None)
        step = replace(step, train_rmse=state.rmse(rows), validation_rmse=validation_rmse, polished=True)
    else:
        restart(rows, output_weights, state, pace)
        restore(rows, output_weights, nodes, state.history, pace)
    return replace(step, seconds=step.seconds + perf_counter() - started)


def _last_polishing(records: list[StepRecord]) -> tuple[int, float]:
    """With how many nodes all of them were last polished, and the share of the error that this step removed."""
    for record, before in zip(records[:0:-1], records[-2::-1], strict=True):
        if record.polished:
            return record.nodes, 1.0 - record.train_rmse / before.train_rmse
    return 0, 0.0


def best_nodes(output_weights: OutputWeights, state: GrowthState, monitor: StoppingMonitor) -> Nodes:
    """All nodes, or those of the best network, if the monitor chooses."""
    if state.polished is not None and state.polished.best is not None:
        return state.polished.best
    return output_weights.grown.take(slice(monitor.kept_nodes))


def restart(rows: Rows, output_weights: OutputWeights, state: GrowthState, pace: StepSchedule) -> None:
    """Return to the network before its first node."""
    rows.restart()
    output_weights.restart()
    begin(rows, output_weights, state, pace)


# Nodes that were accepted before ----------------------------------------------------------------------------------
#
# resume    continues an earlier fit: all of its steps, each shown to the monitor and in the history
# restore   returns to the nodes of this fit after a polishing that was refused: all of its steps
# replay    adds the nodes of one step, exactly as before
# readmit   adds nodes that polishing has changed; they must pass the guards again


def restore(rows: Rows, output_weights: OutputWeights, nodes: Nodes, history: np.ndarray, pace: StepSchedule) -> None:
    """Add nodes as they were added before: those of the last polishing, and the steps since."""
    polished = int(history["nodes"][history["polished"]].max(initial=0))
    if not readmit(rows, output_weights, nodes.take(slice(polished)), pace):
        raise ValueError(_OTHER_DATA)
    ends = [end for end in history["nodes"].tolist() if polished < end < len(nodes)]
    for start, stop in pairwise([polished, *ends, len(nodes)] if polished < len(nodes) else [polished]):
        replay(rows, output_weights, nodes.take(slice(start, stop)))


def replay(rows: Rows, output_weights: OutputWeights, nodes: Nodes) -> None:
    """Add the nodes of one step, together if growth adds them together."""
    starts = [0, len(nodes)] if output_weights.takes_blocks else range(len(nodes) + 1)
    for start, stop in pairwise(starts):
        if not output_weights.append(rows, nodes.take(slice(start, stop))).all():
            raise ValueError(_OTHER_DATA)


def resume(
    rows: Rows,
    output_weights: OutputWeights,
    nodes: Nodes,
    history: np.ndarray,
    pace: StepSchedule,
    monitor: StoppingMonitor,
    state: GrowthState,
    polished: BeforePolishing | None = None,
) -> None:
    """Add earlier nodes again, in their order, as if they had just been found.

    Final steps that were cut short, perhaps by max_nodes, are dropped: they are grown again, to their full length.
    Of those up to the last polishing of all nodes, only the result is left; ``polished`` is what was known then.
    """
    history = history[history["nodes"] <= len(nodes)]
    starts = np.concatenate([[0], history["nodes"]])[:-1]
    while history.size and history["nodes"][-1] - starts[-1] < pace.after(int(starts[-1])):
        history, starts = history[:-1], starts[:-1]
    first = int(np.flatnonzero(history["polished"])[-1]) + 1 if history["polished"].any() else 0
    if first:
        state.records += [StepRecord(*row) for row in history[:first].tolist()]
        known = nodes.take(slice(history["nodes"][first - 1]))
        if not readmit(rows, output_weights, known, pace):
            raise ValueError(_OTHER_DATA)
        # A network that is continued was the best one.
        state.polished = BeforePolishing(BestSoFar(), None) if polished is None else polished
        monitor.standing = state.polished.standing
        observe(rows, output_weights, state, monitor, None)
    for start, row in zip(starts[first:], history[first:], strict=True):
        added = nodes.take(slice(start, row["nodes"]))
        replay(rows, output_weights, added)
        validation_rmse = observe(rows, output_weights, state, monitor, added)
        record = StepRecord(*row.tolist())
        state.records.append(record._replace(train_rmse=state.rmse(rows), validation_rmse=validation_rmse))


def readmit(rows: Rows, output_weights: OutputWeights, nodes: Nodes, pace: StepSchedule) -> bool:
    """Add nodes that were accepted and then changed; return whether they pass the guards.

    They are added at this pace, and one by one where they depend too much on each other.
    """
    starts = [0]
    while starts[-1] < len(nodes):
        starts.append(starts[-1] + pace.after(starts[-1]))
    blocks = [nodes.take(slice(*ends)) for ends in pairwise(starts)]
    while blocks:
        block = output_weights.open(rows, blocks[0])
        if not passes_guards(rows, block.columns.sums, blocks[0]).all():
            return False
        size = len(blocks[0])
        if block.admit(np.ones(size, dtype=bool)).all():
            output_weights.join(rows, block)
            blocks = blocks[1:]
        elif size > 1:
            blocks = [*(blocks[0].take(slice(j, j + 1)) for j in range(size)), *blocks[1:]]
        else:
            return False
    return True
