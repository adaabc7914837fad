"""Early stopping: monitors of growth that follow the error on held-out rows, or a criterion instead."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from skscn import kernels
from skscn.layers import Nodes
from skscn.output_weights import OutputWeights
from skscn.rows import Rows
from skscn.scaling import InputScaling

# Which rows early stopping holds out: drawn at random, or the last ones, for rows in order of time.
HELD_OUT = ("random", "last")


def split_rows(
    n_rows: int, fraction: float, labels: np.ndarray | None, seed: int, which: str = "random"
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows to train on and of those held out; each class is in both if it has enough rows."""
    held_out = max(1, round(fraction * n_rows))
    if n_rows - held_out < 1:
        raise ValueError(
            f"early_stopping=True holds out validation_fraction={fraction} of the rows, which leaves none of n_samples="
            f"{n_rows} to train on; give more rows, a smaller validation_fraction, or early_stopping=False."
        )
    if which == "last":
        begin = _first_held_out(n_rows, n_rows - held_out, labels)
        return np.arange(begin), np.arange(begin, n_rows)
    splitter = ShuffleSplit
    if labels is not None:
        counts = np.bincount(labels)
        if counts.min() >= 2 and min(held_out, n_rows - held_out) >= len(counts):
            splitter = StratifiedShuffleSplit
    train, validation = next(
        splitter(n_splits=1, test_size=held_out, random_state=seed).split(np.zeros((n_rows, 1)), labels)
    )
    return np.sort(train), np.sort(validation)


def _first_held_out(n_rows: int, begin: int, labels: np.ndarray | None) -> int:
    """The first row to hold out: after the first row of every class, so that training sees all of them."""
    if labels is not None:
        begin = max(begin, int(np.unique(labels, return_index=True)[1].max()) + 1)
    return min(begin, n_rows - 1)


class Watch(ABC):
    """Monitors growth and records with how many nodes the network was best.

    Parameters
    ----------
    patience : int
        n_iter_no_change, steps without improvement before :attr:`exhausted` becomes true.
    """

    def __init__(self, patience: int):
        self.patience = patience
        self.best_nodes, self.best, self.waited = 0, np.inf, 0

    @property
    def exhausted(self) -> bool:
        """Whether there has been no improvement for ``patience`` steps."""
        return self.waited >= self.patience

    def begin(self, linear: Nodes, output_weights: OutputWeights, rows: Rows) -> None:
        """Evaluate the network with only its linear columns."""
        self.best, _ = self._judge(linear, output_weights, rows)

    def observe(self, nodes: Nodes, output_weights: OutputWeights, rows: Rows) -> float:
        """Evaluate the network with these nodes added; return its validation RMSE, or NaN."""
        value, validation_rmse = self._judge(nodes, output_weights, rows)
        if value < self.best:
            self.best_nodes, self.best, self.waited = output_weights.nodes, value, 0
        else:
            self.waited += 1
        return validation_rmse

    @abstractmethod
    def _judge(self, nodes: Nodes, output_weights: OutputWeights, rows: Rows) -> tuple[float, float]:
        """The quantity to minimise, and the validation RMSE or NaN, with these columns added."""


class Validation(Watch):
    """The error on held-out rows.

    Parameters
    ----------
    patience : int
    X, targets, sample_weight
        The held-out rows; targets scaled.
    scaling
        As for the training rows.
    own_loss : callable or None
        Maps scaled outputs of the held-out rows to what is minimised; None for the root mean squared error.
    """

    def __init__(
        self,
        patience: int,
        X: Any,
        targets: np.ndarray,
        sample_weight: np.ndarray | None,
        scaling: InputScaling,
        own_loss: Callable[[np.ndarray], float] | None = None,
    ):
        super().__init__(patience)
        self.X, self.targets, self.sample_weight = X, targets, sample_weight
        self.scaling, self.own_loss = scaling, own_loss
        self._columns = np.empty((X.shape[0], 0), order="F")
        self._size = 0

    def _judge(self, nodes: Nodes, output_weights: OutputWeights, rows: Rows) -> tuple[float, float]:
        self._reserve(self._size + len(nodes))
        columns = kernels.columns(kernels.Inputs(self.X, self.scaling), self.X.shape[0], None, nodes)
        self._columns[:, self._size : self._size + len(nodes)] = columns.T
        self._size += len(nodes)
        outputs = self._columns[:, : self._size] @ output_weights.output_weights()
        errors = self.targets - outputs
        rmse = float(np.sqrt(np.average((errors**2).mean(axis=1), weights=self.sample_weight)))
        return rmse if self.own_loss is None else self.own_loss(outputs), rmse

    def _reserve(self, size: int) -> None:
        """Reserve space for this number of columns, and some more."""
        if size > self._columns.shape[1]:
            columns = np.empty((len(self._columns), 2 * size), order="F")
            columns[:, : self._size] = self._columns[:, : self._size]
            self._columns = columns


class Criterion(Watch):
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

    def _judge(self, nodes: Nodes, output_weights: OutputWeights, rows: Rows) -> tuple[float, float]:
        degrees = output_weights.linear + self.degrees_per_node * output_weights.nodes
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
