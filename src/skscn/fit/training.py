"""A network in training, and what it is frozen into."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from skscn.factor import Factor
from skscn.fit.data import TrainingData
from skscn.fit.updating import MARGIN, scaled_zero
from skscn.growth import (
    HISTORY,
    BeforePolishing,
    GrowthState,
    Step,
    StopReason,
    begin,
    best_nodes,
    grow,
    restore,
    resume,
)
from skscn.losses import Loss
from skscn.network import LinearColumns, Network, WeightedNodes
from skscn.nodes import Layer, Nodes
from skscn.output_weights import LeastSquares, OutputWeights, Solution
from skscn.refit import shrunk
from skscn.scaling import InputScaling, Scaling
from skscn.search import Configuration, StepSchedule
from skscn.stopping import StoppingMonitor, Validation


@dataclass(frozen=True)
class Frame:
    """What surrounds the nodes of a network, or of one of its layers.

    Attributes
    ----------
    layer : Layer
        The layer that grows.
    loss : Loss
    inputs, outputs : scalings
    linear : Nodes
        Intercept and direct links.
    bounded, single_output, single_precision : bool
        As in the network.
    below : tuple of Nodes
        The layers below, which are finished.
    """

    layer: Layer
    loss: Loss
    inputs: InputScaling
    outputs: Scaling
    linear: Nodes
    bounded: bool
    single_output: bool
    single_precision: bool
    below: tuple[Nodes, ...] = ()


def assembled(
    frame: Frame, loss: Loss, linear: Nodes, blocks: Sequence[Nodes], solution: Solution, factor: Factor | None
) -> Network:
    """A network, without bounds."""
    # Products with arrays in another memory order differ in their last bits, and copies in files are contiguous.
    beta, nodes = np.ascontiguousarray(solution.output_weights), (linear, *blocks)
    first, *others = np.split(beta, np.cumsum([len(block) for block in nodes])[:-1])
    return Network(
        linear=LinearColumns(nodes[0], first),
        layers=tuple(WeightedNodes(*pair) for pair in zip(nodes[1:], others, strict=True)),
        inputs=frame.inputs,
        outputs=frame.outputs,
        loss=loss,
        bounds=None,
        directions=solution.directions,
        coefficients=np.ascontiguousarray(solution.coefficients),
        factor=factor,
        single_output=frame.single_output,
        single_precision=frame.single_precision,
    )


def bounds(network: Network, data: TrainingData) -> tuple[np.ndarray, np.ndarray]:
    """The range of the training targets, or of what the loss has instead, scaled and extended by a margin.

    Where no training target is negative, no prediction is.
    """
    loss = network.loss
    model = None if loss.settling is None else network
    ends = np.stack(data.statistics_of(model)(loss.bounding).range())
    low, high = network.outputs.transform(ends)
    margin = MARGIN * (high - low)
    lower, upper = low - margin, high + margin
    if data.classes is None and not loss.has_link:
        lower = np.where(ends[0] >= 0.0, np.maximum(lower, scaled_zero(network.outputs)), lower)
    return lower, upper


# A network in training: what an estimator's ``fit`` assembles, grows, and freezes.


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


class Training:
    """Rows, output weights and the nodes so far; a context manager, within which the rows are open.

    Parameters
    ----------
    data : TrainingData
        The rows to train on.
    frame : Frame
    make_output_weights : callable
        Creates the rule for a number of outputs.
    monitor : StoppingMonitor
        Decides when to stop, and how many nodes to keep.
    n_jobs : int or None
    pace : StepSchedule
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
        monitor: StoppingMonitor,
        n_jobs: int | None,
        pace: StepSchedule,
        settle: Callable[[Nodes, int], Network] | None = None,
        earlier: Earlier | None = None,
        *,
        everything: bool = True,
    ):
        self.data, self.frame, self.n_jobs, self.pace = data, frame, n_jobs, pace
        self._settle, self._everything = settle, everything
        self.earlier = Earlier(np.empty(0, HISTORY), (), np.empty(0, HISTORY)) if earlier is None else earlier
        self._make_output_weights = make_output_weights
        self.output_weights, self.monitor = make_output_weights(data.n_outputs), monitor
        self.rows = data.open_rows(
            frame.outputs, layer=frame.layer, scaling=frame.inputs, n_jobs=n_jobs, together=frame.loss.together
        )
        self.state = GrowthState(
            frame.linear, frame.below, frame.outputs, int(self.earlier.history["round"].max(initial=0)) + 1
        )

    def __enter__(self) -> Training:
        """Open the rows and add the columns before the first node."""
        self.rows.__enter__()
        begin(self.rows, self.output_weights, self.state, self.pace)
        self.monitor.begin(self.state.fixed, self.output_weights, self.rows)
        return self

    def __exit__(self, *exception: object) -> None:
        self.rows.__exit__(*exception)

    @property
    def below(self) -> int:
        """How many nodes the layers below have."""
        return sum(map(len, self.frame.below))

    @property
    def grown(self) -> Nodes:
        """All nodes so far, including those that early stopping will not keep."""
        if not self.output_weights.nodes:
            return Nodes.none(self.frame.layer, self.data.shape[1])
        return self.output_weights.grown

    @property
    def best(self) -> Nodes:
        """The nodes to keep: all; with early stopping, those of the network with the lowest validation error."""
        if not self.output_weights.nodes:
            return self.grown
        return best_nodes(self.output_weights, self.state, self.monitor)

    @property
    def nodes(self) -> int:
        """How many nodes to keep."""
        return len(self.best)

    @property
    def lowest(self) -> float | None:
        """The lowest value of what early stopping monitors; None without it."""
        return self.monitor.standing.best if self.monitor.chooses else None

    def held_out_losses(self) -> np.ndarray | None:
        """The losses of the held-out rows with the nodes to keep; None if there are no such rows."""
        if not isinstance(self.monitor, Validation):
            return None
        return self.monitor.watching(self.state.fixed, self.best).losses(self.settled().output_weights)

    def readout(self, below: tuple[Nodes, ...]) -> tuple[Nodes, tuple[Nodes, ...], np.ndarray]:
        """The linear part, these blocks of nodes, the last of which are those to keep, and all their output weights."""
        settled = self.settled()
        solution = settled.output_weights.solution(settled.rows, settled.output_weights.nodes)
        return settled.linear, below, solution.output_weights

    @property
    def linear(self) -> Nodes:
        """Intercept and direct links, those that do not depend on the others."""
        return self.state.fixed[0]

    @property
    def candidates(self) -> Nodes:
        """The nodes to keep, and those that were added to them."""
        return self.grown if self.best_is_present else self.best

    @property
    def _averages(self) -> bool:
        """Whether the network is an average over numbers of nodes: in regression, with regularised weights."""
        rule = self.output_weights
        regularised = isinstance(rule, LeastSquares) and rule.alpha != 0.0 and rule.nodes > 0
        monitor, labels = self.monitor, self.data.labels()
        return regularised and isinstance(monitor, Validation) and monitor.stretch == 1.0 and labels is None

    @property
    def best_is_present(self) -> bool:
        """Whether the nodes to keep are still as they were, and not polished since."""
        return self.state.polished is None or self.state.polished.best is None

    def resume(self, nodes: Nodes, history: np.ndarray, polished: BeforePolishing | None = None) -> None:
        """Add earlier nodes again, in their order, as if they had just been found."""
        resume(self.rows, self.output_weights, nodes, history, self.pace, self.monitor, self.state, polished)

    def steps(
        self, search: Configuration, *, max_nodes: int, tol: float, seed: int
    ) -> Generator[Step, None, StopReason]:
        """Grow; yield each step; return why growth ended."""
        return grow(
            self.rows,
            search,
            self.output_weights,
            max_nodes=max_nodes,
            tol=tol,
            pace=self.pace,
            seed=seed,
            monitor=self.monitor,
            state=self.state,
        )

    @property
    def history(self) -> np.ndarray:
        """One row per step, those of earlier rounds and of layers below first."""
        own = self.state.history
        own["nodes"] += self.below
        return np.concatenate([self.earlier.history, self.earlier.lower, own])

    def settled(self) -> Training:
        """The state of training after the nodes to keep."""
        if self.best_is_present and self.nodes == self.output_weights.nodes:
            return self
        monitor, history = StoppingMonitor(), self.state.history
        training = Training(self.data, self.frame, self._make_output_weights, monitor, self.n_jobs, self.pace)
        with training:
            kept = history[history["nodes"] <= self.nodes]
            restore(training.rows, training.output_weights, self.best, kept, self.pace)
        return training

    def network(self) -> Network:
        """The present network, with the nodes to keep."""
        if self._settle is not None:
            return self._settle(self.candidates, self.nodes)
        if self._averages:
            return self._averaged()
        if not self.best_is_present:
            return self._of_all_rows(self.settled().network())
        nodes, linear, rule = self.best, self.linear, self.output_weights
        solution, factor = rule.solution(self.rows, self.nodes), rule.final_factor(self.rows, self.nodes)
        network = assembled(self.frame, self.frame.loss, linear, [*self.frame.below, nodes], solution, factor)
        if factor is not None and isinstance(rule, LeastSquares):
            network = replace(network, alpha=rule.chosen(factor))
        elif rule.penalty:
            # Once further rows join, all output weights are penalised.
            network = replace(network, alpha=rule.penalty)
        network = self._of_all_rows(network)
        return replace(network, bounds=bounds(network, self.data)) if self.frame.bounded else network

    def _of_all_rows(self, network: Network) -> Network:
        """With the held-out rows in its factor, unless they are to stay unseen; its output weights are as they were."""
        monitor = self.monitor
        if network.factor is None or not self._everything or not isinstance(monitor, Validation):
            return network
        monitor = monitor if self.best_is_present else monitor.watching(self.state.fixed, self.best)
        return replace(network, factor=monitor.joined(network.factor))

    def _averaged(self) -> Network:
        """The average over plausible numbers of nodes, on all rows unless the held-out ones are to stay unseen."""
        monitor = self.monitor
        assert isinstance(monitor, Validation)
        if self.best_is_present:
            training, nodes = self, self.grown
            shares = {number: share for number, share in monitor.shares.items() if share > 0.0}
        else:
            training, nodes, shares = self.settled(), self.best, {self.nodes: 1.0}
            monitor = monitor.watching(self.state.fixed, nodes)
        rule, most = training.output_weights, max(shares)
        assert isinstance(rule, LeastSquares)
        factor = rule.final_factor(training.rows, most)
        factor = monitor.joined(factor) if self._everything else factor
        # A node has the shares of all networks that are larger than those before it.
        weights = [sum(share for number, share in shares.items() if number > node) for node in range(most)]
        directions = np.append(np.ones(rule.fixed), weights)
        solution = shrunk(rule.solved(factor), directions)
        blocks = [*self.frame.below, nodes.take(slice(most))]
        network = assembled(self.frame, self.frame.loss, self.linear, blocks, solution, factor)
        network = replace(network, alpha=rule.chosen(factor), shares=directions)
        return replace(network, bounds=bounds(network, self.data)) if self.frame.bounded else network
