"""Early stopping: a reader of growth's steps that watches the error on rows held out."""

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from skscn import kernels
from skscn.activations import Activation
from skscn.output_weights import OutputWeights
from skscn.scaling import Scaling


def split_rows(n_rows: int, fraction: float, labels: np.ndarray | None, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows to train on and of those held out; each class in both where its rows allow."""
    held_out = max(1, round(fraction * n_rows))
    if n_rows - held_out < 1:
        raise ValueError(
            f"early_stopping=True holds out validation_fraction={fraction} of the rows, which leaves none of n_samples="
            f"{n_rows} to train on; give more rows, a smaller validation_fraction, or early_stopping=False."
        )
    splitter = ShuffleSplit
    if labels is not None:
        counts = np.bincount(labels)
        if counts.min() >= 2 and min(held_out, n_rows - held_out) >= len(counts):
            splitter = StratifiedShuffleSplit
    train, validation = next(
        splitter(n_splits=1, test_size=held_out, random_state=seed).split(np.zeros((n_rows, 1)), labels)
    )
    return np.sort(train), np.sort(validation)


class EarlyStopping:
    """Validation error after each step, and the number of nodes with which it was lowest.

    Parameters
    ----------
    X, targets, sample_weight
        The rows held out; targets scaled.
    activation, scaling
        As for the training rows.
    patience : int
        n_iter_no_change, steps without a lower error before :attr:`exhausted` turns true.
    """

    def __init__(
        self,
        X,
        targets: np.ndarray,
        sample_weight: np.ndarray | None,
        activation: Activation,
        scaling: Scaling,
        patience: int,
    ):
        self.X, self.targets, self.sample_weight = X, targets, sample_weight
        self.activation, self.scaling, self.patience = activation, scaling, patience
        self.best_nodes, self.best_rmse, self.waited = 0, self._rmse(targets), 0
        self._hidden: list[np.ndarray] = []

    @property
    def exhausted(self) -> bool:
        """Whether the error has not fallen for ``patience`` steps."""
        return self.waited >= self.patience

    def observe(self, weights: np.ndarray, biases: np.ndarray, output_weights: OutputWeights) -> float:
        """The validation RMSE with these nodes as well, and the output weights of this moment."""
        added = np.empty((self.X.shape[0], len(biases)))
        for rows, h in kernels.hidden_blocks(self.X, weights, biases, self.activation, self.scaling):
            added[rows] = h
        self._hidden.append(added)
        rmse = self._rmse(self.targets - np.hstack(self._hidden) @ output_weights.output_weights())
        if rmse < self.best_rmse:
            self.best_nodes, self.best_rmse, self.waited = output_weights.nodes, rmse, 0
        else:
            self.waited += 1
        return rmse

    def _rmse(self, errors: np.ndarray) -> float:
        return float(np.sqrt(np.average((errors**2).mean(axis=1), weights=self.sample_weight)))
