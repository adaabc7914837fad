"""A network in training: what an estimator's ``fit`` assembles, follows step by step, and freezes."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from skscn.configuration import Configuration, Pace
from skscn.estimators._assembling import Frame, assembled, bounds
from skscn.estimators._early_stopping import Standing, Validation, Watch
from skscn.estimators.data import TrainingData
from skscn.estimators.history import HISTORY
from skscn.growth import Step, StopReason, grow, readmit
from skscn.layers import Nodes
from skscn.network import Network
from skscn.output_weights import LeastSquares, OutputWeights
from skscn.settling import shrunk

_OTHER_DATA = (
    "A network is continued on the data it was grown on; on these rows its nodes depend on each other. Use "
    "warm_start=False for other data."
)


class Earlier(NamedTuple):
    """What was there before: of earlier rounds, and of the layers below.

    Attributes
    ----------
    history : ndarray
        Of earlier rounds.
    blocks : tuple of Nodes
        Of the last network, if there was one.
    lower : ndarray
        The history of the layers below, in the same round.
    """

    history: np.ndarray
    blocks: tuple[Nodes, ...]
    lower: np.ndarray


@dataclass(frozen=True)
class BeforePolishing:
    """What was known when all nodes were last polished, which changed them.

    Attributes
    ----------
    standing : Standing
        What the watch had found out, with the nodes as they were then.
    best : Nodes or None
        The nodes of the best network, if it was one from before.
    """

    standing: Standing
    best: Nodes | None


class Training:
    """Rows, output weights and the nodes so far; a context manager, within which the rows are open.

    Parameters
    ----------
    data : TrainingData
        The rows to train on.
    frame : Frame
    make_output_weights : callable
        Creates the rule for a number of outputs.
    watch : Watch or None
        Decides how many nodes to keep.
    n_jobs : int or None
    pace : Pace
        How many nodes a step adds.
    settle : callable or None
        Makes a network under a loss that evaluates output weights again, of the nodes so far and how many to keep.
    earlier : Earlier or None
        What earlier rounds have left.
    everything : bool
        Whether the output weights are evaluated on the held-out rows as well in the end.
    """

    def __init__(
        self,
        data: TrainingData,
        frame: Frame,
        make_output_weights: Callable[[int], OutputWeights],
        watch: Watch | None,
        n_jobs: int | None,
        pace: Pace,
        settle: Callable[[Nodes, int], Network] | None = None,
        earlier: Earlier | None = None,
        *,
        everything: bool = True,
    ):
        self.data, self.frame, self.n_jobs, self.pace = data, frame, n_jobs, pace
        self._settle, self._everything = settle, everything
        self.earlier = Earlier(np.empty(0, HISTORY), (), np.empty(0, HISTORY)) if earlier is None else earlier
        self.round = int(self.earlier.history["round"].max(initial=0)) + 1
        self._make_output_weights = make_output_weights
        self._watch = watch
        self._none = Nodes.none(frame.layer, data.shape[1])
        self._history: list[tuple[Any, ...]] = []
        self.polished: BeforePolishing | None = None
        self._open()

    def _open(self) -> None:
        """The rows as they are before the first node."""
        data, frame = self.data, self.frame
        self.output_weights = self._make_output_weights(data.n_outputs)
        self.rows = data.open_rows(frame.outputs, layer=frame.layer, scaling=frame.inputs, n_jobs=self.n_jobs)
        self.rows.together = frame.loss.together

    def __enter__(self) -> Training:
        """Open the rows and add the linear columns."""
        self._begin()
        if self._watch:
            self._watch.begin(self._fixed, self.output_weights, self.rows)
        return self

    def _begin(self) -> None:
        self.rows.__enter__()
        rule = self.output_weights
        kept = rule.append_linear(self.rows, self.frame.linear)
        self._linear = self.frame.linear.take(kept)
        pace = self.pace if rule.takes_blocks else Pace(1)
        for block in self.frame.below:
            if not readmit(self.rows, rule, block, pace):
                raise ValueError(_OTHER_DATA)
        if self.frame.below:
            rule.begin_layer()

    @property
    def _fixed(self) -> list[Nodes]:
        """The columns before the first node."""
        return [self._linear, *self.frame.below]

    @property
    def below(self) -> int:
        """How many nodes the layers below have."""
        return sum(map(len, self.frame.below))

    def __exit__(self, *exception: object) -> None:
        self.rows.__exit__(*exception)

    def _begin_again(self) -> None:
        """Close the rows, and open them without any nodes."""
        self.rows.__exit__(None, None, None)
        self._open()
        self._begin()

    @property
    def grown(self) -> Nodes:
        """All nodes so far, including those that early stopping will not keep."""
        return self.output_weights.grown if self.output_weights.nodes else self._none

    @property
    def best(self) -> Nodes:
        """The nodes to keep: all; with early stopping, those of the network with the lowest validation error."""
        if self.polished is not None and self.polished.best is not None:
            return self.polished.best
        return self.grown.take(slice(self._watch.kept_nodes)) if self._watch else self.grown

    @property
    def nodes(self) -> int:
        """How many nodes to keep."""
        return len(self.best)

    @property
    def train_rmse(self) -> float:
        """The root mean squared error of the training rows, over all outputs, in the units of the targets."""
        return self.frame.outputs.rmse(self.rows.residual_squares / self.rows.weight)

    @property
    def lowest(self) -> float | None:
        """The lowest value of what early stopping monitors; None without it."""
        return None if self._watch is None else self._watch.standing.best

    def held_out_losses(self) -> np.ndarray | None:
        """The losses of the held-out rows with the nodes to keep; None if there are no such rows."""
        if not isinstance(self._watch, Validation):
            return None
        return self._watch.watching(self._fixed, self.best).losses(self.settled().output_weights)

    def readout(self, below: tuple[Nodes, ...]) -> tuple[Nodes, tuple[Nodes, ...], np.ndarray]:
        """The linear part, these blocks of nodes, the last of which are those to keep, and all their output weights."""
        settled = self.settled()
        solution = settled.output_weights.solution(settled.rows, settled.output_weights.nodes)
        return settled._linear, below, solution.output_weights

    @property
    def candidates(self) -> Nodes:
        """The nodes to keep, and those that were added to them."""
        return self.grown if self.best_is_present else self.best

    @property
    def _averages(self) -> bool:
        """Whether the network is an average over numbers of nodes: in regression, with regularised weights."""
        rule = self.output_weights
        regularised = isinstance(rule, LeastSquares) and rule.alpha != 0.0 and rule.nodes > 0
        watch, labels = self._watch, self.data.labels()
        return regularised and isinstance(watch, Validation) and watch.stretch == 1.0 and labels is None

    @property
    def best_is_present(self) -> bool:
        """Whether the nodes to keep are still as they were, and not polished since."""
        return self.polished is None or self.polished.best is None

    def resume(self, nodes: Nodes, history: np.ndarray, polished: BeforePolishing | None = None) -> None:
        """Add earlier nodes again, in their order, as if they had just been found.

        Final steps that were cut short, perhaps by max_nodes, are dropped: they are grown again, to their full length.
        Of those up to the last polishing of all nodes, only the result is left; ``polished`` is what was known then.
        """
        history = history[history["nodes"] <= len(nodes)]
        starts = np.concatenate([[0], history["nodes"]])[:-1]
        while history.size and history["nodes"][-1] - starts[-1] < self.pace.after(int(starts[-1])):
            history, starts = history[:-1], starts[:-1]
        begin = int(np.flatnonzero(history["polished"])[-1]) + 1 if history["polished"].any() else 0
        if begin:
            self._history += [tuple(row) for row in history[:begin].tolist()]
            self._resume_polished(nodes.take(slice(history["nodes"][begin - 1])), polished)
        for start, row in zip(starts[begin:], history[begin:], strict=True):
            added = nodes.take(slice(start, row["nodes"]))
            self._replay(added)
            validation_rmse = self._note(added)
            errors = {"train_rmse": self.train_rmse, "validation_rmse": validation_rmse}
            self._history.append(tuple(errors.get(name, row[name].item()) for name in HISTORY.fields or ()))

    def _resume_polished(self, nodes: Nodes, before: BeforePolishing | None) -> None:
        """The network as it was after its nodes had been polished."""
        if not readmit(self.rows, self.output_weights, nodes, self.pace):
            raise ValueError(_OTHER_DATA)
        # A network that is continued was the best one.
        self.polished = BeforePolishing(Standing(), None) if before is None else before
        if self._watch:
            self._watch.standing = self.polished.standing
            self._renew(nodes)

    def _renew(self, nodes: Nodes) -> float:
        """Let the watch see nodes that are not what they were; return the validation error with them, if any."""
        assert self._watch is not None
        assert self.polished is not None
        validation_rmse = self._watch.renew(self._fixed, nodes, self.output_weights, self.rows)
        self._look_at_best()
        return validation_rmse

    def _look_at_best(self) -> None:
        """Drop the best network from before the last polishing, if the present one is better."""
        if self.polished is not None and self._watch and self._watch.standing.best < self.polished.standing.best:
            self.polished = replace(self.polished, best=None)

    def _replay(self, nodes: Nodes) -> None:
        """Add the nodes of one step, together if growth adds them together."""
        count = len(nodes)
        starts = [0, count] if self.output_weights.takes_blocks else range(count + 1)
        for start, stop in pairwise(starts):
            if not self.output_weights.append(self.rows, nodes.take(slice(start, stop))).all():
                raise ValueError(_OTHER_DATA)

    def _note(self, nodes: Nodes) -> float:
        """Count nodes that have been added; return the validation error with them, if there is one."""
        if not self._watch:
            return np.nan
        validation_rmse = self._watch.observe(nodes, self.output_weights, self.rows)
        self._look_at_best()
        return validation_rmse

    def steps(
        self, configuration: Configuration, *, max_nodes: int, tol: float, seed: int
    ) -> Generator[Step, None, StopReason]:
        """Grow; yield each step with its validation error; return why growth ended."""
        settings: dict[str, Any] = {
            "max_nodes": max_nodes,
            "tol": tol,
            "pace": self.pace,
            "seed": seed,
        }
        while not (self._watch and self._watch.exhausted):
            try:
                # Each step depends on the nodes so far only, and polishing all of them opens the rows again.
                last = self._contraction
                step = next(grow(self.rows, configuration, self.output_weights, contraction=last, **settings))
            except StopIteration as end:
                reason: StopReason = end.value
                return reason
            step = replace(step, train_rmse=self.train_rmse, validation_rmse=self._note(step.added))
            if self._is_due(step, configuration):
                step = self._polish(step, configuration, seed)
            values = {**vars(step), "round": self.round}
            self._history.append(tuple(values[name] for name in HISTORY.names or ()))
            yield replace(step, nodes=self.below + step.nodes)
        return StopReason.EARLY_STOPPING

    def _is_due(self, step: Step, configuration: Configuration) -> bool:
        """Whether all nodes are polished after a step; not after one that may have been cut short by max_nodes."""
        ends = [0, *self._own_history["nodes"].tolist(), step.nodes]
        whole = [stop for start, stop in pairwise(ends) if stop - start >= self.pace.after(start)]
        if step.nodes not in whole:
            return False
        return configuration.is_due(max(whole[:-1], default=0), step.nodes)

    def _polish(self, step: Step, configuration: Configuration, seed: int) -> Step:
        """Polish all nodes, if that does not increase the error of all rows; return the step with what follows."""
        started, before, nodes = perf_counter(), self.rows.rmse, self.grown
        factor = self.output_weights.final_factor(self.rows, step.nodes)
        rng = np.random.default_rng((seed, step.nodes, 1))
        if factor is not None:
            # The columns of layers below stay as they are, like linear ones.
            factor = replace(factor, linear=self.output_weights.fixed)
        found = None if factor is None else configuration.refined(self.rows, nodes, factor, rng)
        if found is None:
            return step
        previous = BeforePolishing(Standing() if self._watch is None else self._watch.standing, self.best)
        self._begin_again()
        readmitted = readmit(self.rows, self.output_weights, found, self.pace)
        if readmitted and self.rows.rmse <= before and not self._is_worse(found):
            self.polished = previous if self._watch else BeforePolishing(Standing(), None)
            validation_rmse = self._renew(found) if self._watch else np.nan
            step = replace(step, train_rmse=self.train_rmse, validation_rmse=validation_rmse, polished=True)
        else:
            self._begin_again()
            self._restore(nodes, self._own_history)
        return replace(step, seconds=step.seconds + perf_counter() - started)

    def _is_worse(self, nodes: Nodes) -> bool:
        """Whether the watch prefers the nodes as they were to these."""
        return self._watch is not None and self._watch.is_worse(self._fixed, nodes, self.output_weights, self.rows)

    def _restore(self, nodes: Nodes, history: np.ndarray) -> None:
        """Add nodes as they were added before: those of the last polishing, and the steps since."""
        begin = int(history["nodes"][history["polished"]].max(initial=0))
        readmit(self.rows, self.output_weights, nodes.take(slice(begin)), self.pace)
        ends = [end for end in history["nodes"].tolist() if begin < end < len(nodes)]
        for start, stop in pairwise([begin, *ends, len(nodes)] if begin < len(nodes) else [begin]):
            self._replay(nodes.take(slice(start, stop)))

    @property
    def history(self) -> np.ndarray:
        """One row per step, those of earlier rounds and of layers below first."""
        own = self._own_history
        own["nodes"] += self.below
        return np.concatenate([self.earlier.history, self.earlier.lower, own])

    @property
    def _own_history(self) -> np.ndarray:
        return np.array(self._history, dtype=HISTORY)

    @property
    def _contraction(self) -> float:
        """r with which the last node was accepted; 0 if there is none."""
        return float(self._own_history["contraction"][-1]) if self._history else 0.0

    def settled(self) -> Training:
        """The state of training after the nodes to keep."""
        if self.best_is_present and self.nodes == self.output_weights.nodes:
            return self
        training = Training(self.data, self.frame, self._make_output_weights, None, self.n_jobs, self.pace)
        history = self._own_history
        with training:
            training._restore(self.best, history[history["nodes"] <= self.nodes])
        return training

    def network(self) -> Network:
        """The present network, with the nodes to keep."""
        if self._settle is not None:
            return self._settle(self.candidates, self.nodes)
        if self._averages:
            return self._averaged()
        if not self.best_is_present:
            return self._of_all_rows(self.settled().network())
        nodes, linear, rule = self.best, self._linear, self.output_weights
        solution, factor = rule.solution(self.rows, self.nodes), rule.final_factor(self.rows, self.nodes)
        network = assembled(self.frame, self.frame.loss, linear, [*self.frame.below, nodes], solution, factor)
        if factor is not None and isinstance(rule, LeastSquares):
            network = replace(network, alpha=rule.chosen(factor))
        network = self._of_all_rows(network)
        return replace(network, bounds=bounds(network, self.data)) if self.frame.bounded else network

    def _of_all_rows(self, network: Network) -> Network:
        """With the held-out rows in its factor, unless they are to stay unseen; its output weights are as they were."""
        watch = self._watch
        if network.factor is None or not self._everything or not isinstance(watch, Validation):
            return network
        watch = watch if self.best_is_present else watch.watching(self._fixed, self.best)
        return replace(network, factor=watch.joined(network.factor))

    def _averaged(self) -> Network:
        """The average over plausible numbers of nodes, on all rows unless the held-out ones are to stay unseen."""
        watch = self._watch
        assert isinstance(watch, Validation)
        if self.best_is_present:
            training, nodes = self, self.grown
            shares = {number: share for number, share in watch.shares.items() if share > 0.0}
        else:
            training, nodes, shares = self.settled(), self.best, {self.nodes: 1.0}
            watch = watch.watching(self._fixed, nodes)
        rule, most = training.output_weights, max(shares)
        assert isinstance(rule, LeastSquares)
        factor = rule.final_factor(training.rows, most)
        factor = watch.joined(factor) if self._everything else factor
        # A node has the shares of all networks that are larger than those before it.
        weights = [sum(share for number, share in shares.items() if number > node) for node in range(most)]
        directions = np.append(np.ones(rule.fixed), weights)
        solution = shrunk(rule.solved(factor), directions)
        blocks = [*self.frame.below, nodes.take(slice(most))]
        network = assembled(self.frame, self.frame.loss, self._linear, blocks, solution, factor)
        network = replace(network, alpha=rule.chosen(factor), shares=directions)
        return replace(network, bounds=bounds(network, self.data)) if self.frame.bounded else network
