"""A network in training: what an estimator's ``fit`` assembles, follows step by step, and freezes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from skscn.configuration import Configuration
from skscn.estimators._early_stopping import Watch
from skscn.estimators.data import TrainingData
from skscn.factor import Factor
from skscn.growth import Step, StopReason, grow
from skscn.layers import Layer, Nodes
from skscn.losses import Loss
from skscn.network import LinearColumns, Network, WeightedNodes
from skscn.output_weights import OutputWeights, Solution
from skscn.scaling import InputScaling, Scaling

HISTORY = np.dtype(
    [
        ("nodes", np.int64),
        ("scope", np.float64),
        ("contraction", np.float64),
        ("slack", np.float64),
        ("train_rmse", np.float64),
        ("validation_rmse", np.float64),
        ("candidates", np.int64),
        ("seconds", np.float64),
        ("round", np.int64),
    ]
)


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
class Frame:
    """What surrounds the nodes of a network."""

    layer: Layer
    loss: Loss
    inputs: InputScaling
    outputs: Scaling
    linear: Nodes
    bounded: bool
    single_output: bool
    single_precision: bool


class Earlier(NamedTuple):
    """What earlier rounds have left: their history, and the blocks of nodes of the last network, if there was one."""

    history: np.ndarray
    blocks: tuple[Nodes, ...]


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
    settle : callable or None
        Makes a network under a loss that evaluates output weights again, of the nodes so far and how many to keep.
    earlier : Earlier or None
        What earlier rounds have left.
    """

    def __init__(
        self,
        data: TrainingData,
        frame: Frame,
        make_output_weights: Callable[[int], OutputWeights],
        watch: Watch | None,
        n_jobs: int | None,
        settle: Callable[[Nodes, int], Network] | None = None,
        earlier: Earlier | None = None,
    ):
        self.data, self.frame, self.n_jobs = data, frame, n_jobs
        self._settle = settle
        self.earlier = Earlier(np.empty(0, HISTORY), ()) if earlier is None else earlier
        self.round = int(self.earlier.history["round"].max(initial=0)) + 1
        self._make_output_weights = make_output_weights
        self.output_weights = make_output_weights(data.n_outputs)
        self.rows = data.open_rows(frame.outputs, layer=frame.layer, scaling=frame.inputs, n_jobs=n_jobs)
        self.rows.together = frame.loss.together
        self._watch = watch
        self._grown = [Nodes.none(frame.layer, data.shape[1])]
        self._history: list[tuple[Any, ...]] = []

    def __enter__(self) -> Training:
        """Open the rows and add the linear columns."""
        self.rows.__enter__()
        kept = self.output_weights.append_linear(self.rows, self.frame.linear)
        self._linear = self.frame.linear.take(kept)
        if self._watch:
            self._watch.begin(self._linear, self.output_weights, self.rows)
        return self

    def __exit__(self, *exception: object) -> None:
        self.rows.__exit__(*exception)

    @property
    def grown(self) -> Nodes:
        """All nodes so far, including those that early stopping will not keep."""
        return Nodes.joined(self._grown)

    def resume(self, nodes: Nodes, history: np.ndarray, nodes_per_step: int) -> None:
        """Add earlier nodes again, in their order, as if they had just been found.

        Final steps that were cut short, perhaps by max_nodes, are dropped: they are grown again, to their full length.
        """
        history = history[history["nodes"] <= len(nodes)]
        starts = np.concatenate([[0], history["nodes"]])[:-1]
        while history.size and history["nodes"][-1] - starts[len(history) - 1] < nodes_per_step:
            history = history[:-1]
        for start, row in zip(starts, history, strict=False):
            added = nodes.take(slice(start, row["nodes"]))
            self._replay(added)
            validation_rmse = self._note(added)
            errors = {"train_rmse": self.rows.rmse, "validation_rmse": validation_rmse}
            self._history.append(tuple(errors.get(name, row[name].item()) for name in HISTORY.fields or ()))

    def _replay(self, nodes: Nodes) -> None:
        """Add the nodes of one step, together if growth adds them together."""
        count = len(nodes)
        starts = [0, count] if self.output_weights.takes_blocks else range(count + 1)
        for start, stop in pairwise(starts):
            if not self.output_weights.append(self.rows, nodes.take(slice(start, stop))).all():
                raise ValueError(
                    "A network is continued on the data it was grown on; on these rows its nodes depend on each other. "
                    "Use warm_start=False for other data."
                )

    def _note(self, nodes: Nodes) -> float:
        """Count nodes that have been added; return the validation error with them, if there is one."""
        self._grown.append(nodes)
        return self._watch.observe(nodes, self.output_weights, self.rows) if self._watch else np.nan

    def steps(
        self, configuration: Configuration, *, max_nodes: int, tol: float, nodes_per_step: int, seed: int
    ) -> Generator[Step, None, StopReason]:
        """Grow; yield each step with its validation error; return why growth ended."""
        growth = grow(
            self.rows,
            configuration,
            self.output_weights,
            max_nodes=max_nodes,
            tol=tol,
            nodes_per_step=nodes_per_step,
            seed=seed,
        )
        while not (self._watch and self._watch.exhausted):
            try:
                step = next(growth)
            except StopIteration as end:
                reason: StopReason = end.value
                return reason
            step = replace(step, validation_rmse=self._note(step.added))
            values = {**vars(step), "round": self.round}
            self._history.append(tuple(values[name] for name in HISTORY.names or ()))
            yield step
        return StopReason.EARLY_STOPPING

    @property
    def history(self) -> np.ndarray:
        """One row per step, those of earlier rounds first."""
        return np.concatenate([self.earlier.history, self._own_history])

    @property
    def _own_history(self) -> np.ndarray:
        return np.array(self._history, dtype=HISTORY)

    @property
    def nodes(self) -> int:
        """How many nodes to keep: all; with early stopping, those up to the lowest validation error."""
        return self._watch.best_nodes if self._watch else self.output_weights.nodes

    def settled(self) -> Training:
        """The state of training after the nodes to keep."""
        if self.nodes == self.output_weights.nodes:
            return self
        training = Training(self.data, self.frame, self._make_output_weights, None, self.n_jobs)
        with training:
            training.resume(self.grown.take(slice(self.nodes)), self._own_history, nodes_per_step=1)
        return training

    def network(self) -> Network:
        """The present network, with the nodes to keep."""
        nodes, linear = self.grown.take(slice(self.nodes)), self._linear
        if self._settle is not None:
            return self._settle(self.grown, self.nodes)
        solution = self.output_weights.solution(self.rows, self.nodes)
        factor = self.output_weights.final_factor(self.rows, self.nodes)
        network = assembled(self.frame, self.frame.loss, linear, [nodes], solution, factor)
        return replace(network, bounds=bounds(network, self.data)) if self.frame.bounded else network


def assembled(
    frame: Frame, loss: Loss, linear: Nodes, blocks: Sequence[Nodes], solution: Solution, factor: Factor | None
) -> Network:
    """A network, without bounds."""
    # Products with arrays in another memory order differ in their last bits, and copies in files are contiguous.
    contiguous = np.ascontiguousarray
    beta = contiguous(solution.output_weights)
    nodes = [replace(block, weights=contiguous(block.weights)) for block in (linear, *blocks)]
    first, *others = np.split(beta, np.cumsum([len(block) for block in nodes])[:-1])
    return Network(
        linear=LinearColumns(nodes[0], first),
        layers=tuple(WeightedNodes(*pair) for pair in zip(nodes[1:], others, strict=True)),
        inputs=frame.inputs,
        outputs=frame.outputs,
        loss=loss,
        bounds=None,
        directions=solution.directions,
        coefficients=contiguous(solution.coefficients),
        factor=factor,
        single_output=frame.single_output,
        single_precision=frame.single_precision,
    )


def bounds(network: Network, data: TrainingData) -> tuple[np.ndarray, np.ndarray]:
    """The range of the training targets, or of what the loss has instead, scaled and extended by a twentieth."""
    loss = network.loss
    model = None if loss.settling is None else network
    low, high = network.outputs.transform(np.stack(data.statistics_of(model)(loss.bounding).range()))
    margin = 0.05 * (high - low)
    return low - margin, high + margin
