"""Training rows that stay at their sites: what a fit needs from them are sums, or it is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from skscn.fit.dask_data import keys_of, searched_quantiles, values_of_keys
from skscn.fit.data import ArrayData, RowStatistics, TrainingData
from skscn.losses import Loss
from skscn.network import Outputs
from skscn.rows import Backend, FederatedBackend, Sites
from skscn.rows.federated import ONLY_SUMS
from skscn.scaling import InputScaling, Scaling

_LARGEST = np.finfo(np.float64).max


class SiteStatistics:
    """Of the inputs or the targets, column by column: exact, from counts of the rows below cuts and from moments."""

    def __init__(self, sites: Sites, width: int, *, targets: bool):
        self.sites, self.width, self.targets = sites, width, targets

    def range(self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest value over all sites; nobody learns those of one site."""
        low, high = self.quantiles(np.array([0.0, 1.0]))
        return low, high

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """For each share, the smallest value at or below which that share of the rows lies, by a search."""

        def below(cuts: np.ndarray) -> np.ndarray:
            return self.below(values_of_keys(cuts).reshape(-1, self.width)).reshape(cuts.shape)

        low, high = (keys_of(np.full(self.width, end)) for end in (-_LARGEST, _LARGEST))
        # The share 0 is the smallest value, at or below which there is one row.
        shares = np.maximum(shares, 0.5 / self.sites.n_rows)
        return searched_quantiles(shares, self.sites.n_rows, low, high, below)

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance."""
        mean = self.sites.moment(np.zeros(self.width), 1, targets=self.targets)
        return mean, self.sites.moment(mean, 2, targets=self.targets)

    def below(self, cuts: np.ndarray) -> np.ndarray:
        """How many rows are at or below each cut."""
        return self.sites.below(cuts, targets=self.targets)


def _needs_rows(*_: Any, **__: Any) -> Any:
    """In place of a method that needs single rows."""
    raise ValueError(ONLY_SUMS)


class FederatedData(TrainingData):
    """The rows of all sites, with numbers as targets and without weights."""

    y = sample_weight = classes = None
    multilabel = single_precision = movable = False
    unit, dtype = 1.0, np.dtype(np.float64)

    def __init__(self, sites: Sites):
        first = sites.members[0]
        width = first.columns if isinstance(first.columns, int) else len(first.columns)
        self.X, self.shape, self.n_outputs = sites, (sites.n_rows, width), first.n_outputs
        self.n_given, self.weight, self.single_output = sites.n_rows, float(sites.n_rows), first.single_output

    def labels(self) -> None:
        """There are no classes."""

    def take(self, rows: np.ndarray) -> ArrayData:
        """No rows, if none are asked for."""
        if len(rows):
            raise ValueError(ONLY_SUMS)
        X, targets, numbers = np.empty((0, self.shape[1])), np.empty((0, self.n_outputs)), np.empty(0, dtype=int)
        return ArrayData(X, targets, numbers, None, targets[:, 0] if self.single_output else targets)

    def statistics(self) -> RowStatistics:
        """What scalings need to know of the rows."""
        inputs = SiteStatistics(self.X, self.shape[1], targets=False)
        return RowStatistics(inputs, SiteStatistics(self.X, self.n_outputs, targets=True))

    def open_backend(self, inputs: InputScaling, outputs: Scaling, n_jobs: int | None) -> Backend:
        """The rows for growth, which the sites scale."""
        self.X.begin(inputs, outputs)
        return FederatedBackend(self.X, (self.shape[0], len(inputs.sources), self.n_outputs))

    def working(self, loss: Loss, model: Outputs | None) -> FederatedData:
        """The rows as they are, for squared error."""
        if not loss.plain:
            raise ValueError(ONLY_SUMS)
        return self

    row_numbers = _needs_rows
    class_totals = _needs_rows
    with_classes = _needs_rows
    with_class_factors = _needs_rows
    keep = _needs_rows
    statistics_of = _needs_rows
    row_values = _needs_rows
    mean_loss = _needs_rows
    fingerprint_sums = _needs_rows
