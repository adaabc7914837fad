"""When to stop: monitors of growth that follow the error on held-out rows, or a criterion instead."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from skscn.factor import Factor
from skscn.losses import plausible
from skscn.nodes import Inputs, Nodes
from skscn.output_weights import OutputWeights
from skscn.rows import Rows
from skscn.scaling import Scaling

# Growth ends early if the network is worse than the best one by this number of standard errors, on held-out rows, after
# this share of the patience.
_SIGNIFICANT, _SHARE_OF_PATIENCE = 2.5, 0.3
# Rows that follow each other may depend on each other; standard errors are those of the means of this many groups.
_GROUPS = 30


@dataclass(frozen=True)
class BestSoFar:
    """What a monitor has found so far.

    The lowest value, with how many nodes, the value that was low enough to wait for another one, and how many nodes
    were added since.
    """

    best: float = np.inf
    best_nodes: int = 0
    reference: float = np.inf
    waited: int = 0


class StoppingMonitor:
    """Monitors growth; this base class sees nothing, never stops it, and keeps all nodes."""

    # Whether it decides how many nodes are kept.
    chooses: ClassVar[bool] = False
    # Why growth has ended when it is exhausted.
    reason: ClassVar[str] = "early stopping"
    # What it has found so far.
    standing = BestSoFar()

    @property
    def kept_nodes(self) -> int | None:
        """How many nodes to keep, if there are that many; None for all."""
        return None

    @property
    def exhausted(self) -> bool:
        """Whether growth is to stop."""
        return False

    def begin(self, fixed: Sequence[Nodes], output_weights: OutputWeights, rows: Rows) -> None:
        """Evaluate the network with only the columns before the first node: linear ones, and those of layers below."""

    def observe(self, nodes: Nodes, output_weights: OutputWeights, rows: Rows) -> float:
        """Evaluate the network with these nodes added; return its validation RMSE in units of the targets, or NaN."""
        return np.nan

    def renew(self, fixed: Sequence[Nodes], nodes: Nodes, output_weights: OutputWeights, rows: Rows) -> float:
        """Evaluate the network with all its nodes changed; return its validation RMSE, or NaN."""
        return np.nan

    def is_worse(self, fixed: Sequence[Nodes], nodes: Nodes, output_weights: OutputWeights, rows: Rows) -> bool:
        """Whether the network with all its nodes changed is worse than it was."""
        return False


class Stalled(StoppingMonitor):
    """Ends growth when five nodes have reduced the training error by less than a thousandth: the rank is exhausted."""

    reason: ClassVar[str] = "no candidate"
    _nodes, _gain = 5, 1e-3

    def __init__(self, outputs: Scaling):
        self.outputs, self._errors = outputs, list[tuple[int, float]]()

    @property
    def exhausted(self) -> bool:
        """Whether the last nodes have gained almost nothing."""
        if not self._errors:
            return False
        nodes, error = self._errors[-1]
        before = [old for count, old in self._errors if count <= nodes - self._nodes]
        return bool(before) and error > (1.0 - self._gain) * before[-1]

    def observe(self, nodes: Nodes, output_weights: OutputWeights, rows: Rows) -> float:
        """Note the training error, in units of the targets."""
        self._errors.append((output_weights.nodes, self.outputs.rmse(rows.residual_squares / rows.weight)))
        return np.nan

    def renew(self, fixed: Sequence[Nodes], nodes: Nodes, output_weights: OutputWeights, rows: Rows) -> float:
        """Correct the last training error."""
        self._errors = self._errors[:-1]
        return self.observe(nodes, output_weights, rows)


class BestNodes(StoppingMonitor, ABC):
    """Records with how many nodes the network was best.

    Parameters
    ----------
    patience : int
        n_iter_no_change, nodes without improvement before :attr:`exhausted` becomes true.
    stretch : float
        How many times the nodes with which the network was best are kept, and grown: more than 1 for a member of an
        ensemble.
    """

    chooses: ClassVar[bool] = True
    # The relative improvement by a node that is worth growing on: of many rows, the network hardly overfits any, and
    # every node gains a little.
    least_gain = 1e-4

    def __init__(self, patience: int, stretch: float = 1.0):
        self.patience, self.stretch = patience, stretch

    @property
    def kept_nodes(self) -> int:
        """How many nodes to keep, if there are that many."""
        return int(self.stretch * self.standing.best_nodes)

    @property
    def exhausted(self) -> bool:
        """Whether there has been no improvement for ``patience`` nodes, and all nodes to keep are there."""
        return self.standing.waited >= max(self.patience, self.kept_nodes - self.standing.best_nodes)

    def begin(self, fixed: Sequence[Nodes], output_weights: OutputWeights, rows: Rows) -> None:
        """Evaluate the network with only the columns before the first node: linear ones, and those of layers below."""
        for nodes in fixed:
            self._add(nodes)
        value = self._judge(output_weights, rows)[0]
        self.standing = BestSoFar(value, reference=value)

    def observe(self, nodes: Nodes, output_weights: OutputWeights, rows: Rows) -> float:
        """Evaluate the network with these nodes added; return its validation RMSE in units of the targets, or NaN."""
        self._add(nodes)
        return self._note(output_weights, rows, len(nodes))

    def renew(self, fixed: Sequence[Nodes], nodes: Nodes, output_weights: OutputWeights, rows: Rows) -> float:
        """Evaluate the network with all its nodes changed; return its validation RMSE, or NaN."""
        self._forget()
        for block in [*fixed, nodes]:
            self._add(block)
        return self._note(output_weights, rows, 0)

    def _note(self, output_weights: OutputWeights, rows: Rows, added: int) -> float:
        value, validation_rmse = self._judge(output_weights, rows)
        standing = replace(self.standing, waited=self.standing.waited + added)
        if value < standing.best:
            standing = replace(standing, best=value, best_nodes=output_weights.nodes)
        if value < standing.reference * (1.0 - self.least_gain * standing.waited):
            standing = replace(standing, reference=value, waited=0)
        self.standing = standing
        return validation_rmse

    @abstractmethod
    def _add(self, nodes: Nodes) -> None:
        """Take note of columns that were added to the network."""

    @abstractmethod
    def _forget(self) -> None:
        """Forget all columns."""

    @abstractmethod
    def _judge(self, output_weights: OutputWeights, rows: Rows) -> tuple[float, float]:
        """The quantity to minimise, and the validation RMSE in units of the targets, or NaN."""


class Validation(BestNodes):
    """The error on held-out rows.

    Parameters
    ----------
    patience : int
    inputs : Inputs
        Of the held-out rows.
    targets, sample_weight
        Of the held-out rows; targets scaled.
    outputs : Scaling
        How the targets are scaled.
    own_loss : callable or None
        Maps scaled outputs of the held-out rows to their losses, whose mean is minimised; None for the root mean
        squared error.
    stretch : float
    """

    def __init__(
        self,
        patience: int,
        inputs: Inputs,
        targets: np.ndarray,
        sample_weight: np.ndarray | None,
        outputs: Scaling,
        own_loss: Callable[[np.ndarray], np.ndarray] | None = None,
        stretch: float = 1.0,
    ):
        super().__init__(patience, stretch)
        self.inputs, self.targets, self.sample_weight, self.own_loss = inputs, targets, sample_weight, own_loss
        self.outputs = outputs
        self._columns, self._size = np.empty((len(targets), 0), order="F"), 0
        # The error with each number of nodes, as long as these are what they were.
        self._errors: dict[int, float] = {}
        # The losses of the rows with the best network, and how much larger they are with the present one, on average,
        # in standard errors.
        self._lowest, self._excess = np.zeros(0), 0.0

    def _add(self, nodes: Nodes) -> None:
        start, self._size = self._size, self._size + len(nodes)
        if self._size > self._columns.shape[1]:
            # Some more than are needed, so that columns are seldom copied.
            columns = np.empty((len(self._columns), 2 * self._size), order="F")
            columns[:, :start] = self._columns[:, :start]
            self._columns = columns
        self._columns[:, start : self._size] = nodes.layer.evaluate(nodes, self.inputs).T

    def _forget(self) -> None:
        # Losses with nodes that have been polished since are not kept: a fit that is resumed does not know them.
        self._size, self._lowest, self._excess = 0, np.zeros(0), 0.0
        self._errors.clear()

    def is_worse(self, fixed: Sequence[Nodes], nodes: Nodes, output_weights: OutputWeights, rows: Rows) -> bool:
        """By the error on the held-out rows."""
        value, _ = self.watching(fixed, nodes)._judge(output_weights, rows)
        return value > self._present

    def watching(self, fixed: Sequence[Nodes], nodes: Nodes) -> Validation:
        """The same rows with the columns of other nodes."""
        other = Validation(self.patience, self.inputs, self.targets, self.sample_weight, self.outputs, self.own_loss)
        for block in [*fixed, nodes]:
            other._add(block)
        return other

    @property
    def shares(self) -> dict[int, float]:
        """The share of each number of nodes in an average over those that are plausible.

        The squared error of the held-out rows has a likelihood with the variance that the best of them leaves.
        """
        values = np.array(list(self._errors.values())) ** 2
        weight = float(len(self.targets) if self.sample_weight is None else self.sample_weight.sum())
        lowest = float(values.min())
        return dict(zip(self._errors, plausible(0.5 * values, weight, lowest or 1.0).tolist(), strict=True))

    def joined(self, factor: Factor) -> Factor:
        """The factor of the training rows with the held-out rows added."""
        roots = None if self.sample_weight is None else np.sqrt(self.sample_weight)
        return factor.with_rows(self._columns[:, : len(factor.triangle)], self.targets, roots)

    @property
    def exhausted(self) -> bool:
        """Also if the network has become significantly worse than it was."""
        significant = self._excess > _SIGNIFICANT and self.standing.waited >= _SHARE_OF_PATIENCE * self.patience
        return significant or super().exhausted

    def _judge(self, output_weights: OutputWeights, rows: Rows) -> tuple[float, float]:
        outputs, weights = self._columns[:, : self._size] @ output_weights.output_weights(), self.sample_weight
        each = (self.targets - outputs) ** 2
        squares = np.average(each, axis=0, weights=weights)
        self._errors[output_weights.nodes] = self._present = float(np.sqrt(squares.mean()))
        losses = each.mean(axis=1)
        if self.own_loss is not None:
            losses = self.own_loss(outputs)
            self._present = float(np.average(losses, weights=weights))
        if self._present < self.standing.best:
            self._lowest, self._excess = losses, 0.0
        elif len(self._lowest):
            self._excess = _standard_errors(losses - self._lowest, weights)
        return self._present, self.outputs.rmse(squares)

    def losses(self, output_weights: OutputWeights) -> np.ndarray:
        """What is minimised, row by row; the squared error, unless there is a loss."""
        outputs = self._columns[:, : self._size] @ output_weights.output_weights()
        return ((self.targets - outputs) ** 2).mean(axis=1) if self.own_loss is None else self.own_loss(outputs)


def _standard_errors(values: np.ndarray, weights: np.ndarray | None) -> float:
    """The mean of values, in standard errors of the means of groups of consecutive rows; 0 for very few rows."""
    if len(values) < _GROUPS:
        return 0.0
    starts = np.linspace(0, len(values), _GROUPS, endpoint=False).astype(int)
    counts = np.diff(starts, append=len(values)) if weights is None else np.add.reduceat(weights, starts)
    means = np.add.reduceat(values if weights is None else values * weights, starts) / counts
    spread = float(means.std(ddof=1))
    return float(means.mean()) * _GROUPS**0.5 / spread if spread > 0.0 else 0.0


class Criterion(BestNodes):
    """A criterion on the training rows, corrected for the degrees of freedom that the nodes have used.

    Parameters
    ----------
    patience : int
    degrees_per_node : float
        Degrees of freedom of a node: for its output weight, and for having been searched for.
    factor : callable
        Maps the number of rows N and the degrees of freedom to the factor by which the root mean squared error is too
        small.
    """

    def __init__(self, patience: int, degrees_per_node: float, factor: Callable[[float, float], float]):
        super().__init__(patience)
        self.degrees_per_node, self.factor = degrees_per_node, factor

    def _add(self, nodes: Nodes) -> None:
        """Only their number matters, which the rule knows."""

    def _forget(self) -> None:
        """There is nothing to forget."""

    def _judge(self, output_weights: OutputWeights, rows: Rows) -> tuple[float, float]:
        degrees = output_weights.linear + self.degrees_per_node * (output_weights.below + output_weights.nodes)
        factor = self.factor(rows.weight, degrees)
        return (rows.rmse * factor if np.isfinite(factor) else np.inf), np.nan


def _cross_validation(count: float, degrees: float) -> float:
    """Generalised cross-validation: mean squared error over (1 − degrees/N)²."""
    return 1.0 / (1.0 - degrees / count) if degrees < count else np.inf


def _akaike(count: float, degrees: float) -> float:
    """N log(mean squared error) + 2 degrees, as a factor of its root."""
    return float(np.exp(min(degrees / count, 700.0)))


def _bayes(count: float, degrees: float) -> float:
    """N log(mean squared error) + degrees log N, as a factor of its root."""
    return float(np.exp(min(0.5 * np.log(max(count, 1.0)) * degrees / count, 700.0)))


INFORMATION = {"gcv": _cross_validation, "aic": _akaike, "bic": _bayes}
CRITERIA = ("validation", *INFORMATION)
