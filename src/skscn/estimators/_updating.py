"""``partial_fit``: what further rows must be, and how they join the network of an estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from skscn.estimators._inputs import read_further
from skscn.estimators._sample_weights import LocalInputs
from skscn.estimators.calibration import is_averaged
from skscn.estimators.data import ArrayData, TrainingData
from skscn.estimators.recipe import Recipe
from skscn.network import Network
from skscn.rows import Chunks, is_dask
from skscn.updating import joined, no_rows, why_not, with_rows
from skscn.words import listed

if TYPE_CHECKING:
    from skscn.estimators.growing import GrowingNetwork

# Number of rows of files and chunks that join a network together.
_ROWS = 16384


class Learnable(NamedTuple):
    """Further rows as a network learns from them: inputs, targets (n, m), and weights in the unit of the first rows."""

    X: LocalInputs
    targets: np.ndarray
    weights: np.ndarray | None


# Targets (n, m) of validated y, and a factor of the weight of each row, if there are any.
TargetsOf: TypeAlias = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray | None]]


def check_can_learn_on(recipe: Recipe) -> None:
    """Reject settings whose networks further rows cannot join, before one is grown."""
    refusal = why_not(recipe.loss)
    if refusal is not None:
        raise ValueError(refusal)
    if recipe.layer.carries:
        raise ValueError(
            f"The layer {type(recipe.layer).__name__} depends on earlier rows, so rows cannot join later; fit all rows."
        )


def ensure_factor(estimator: GrowingNetwork, recipe: Recipe, data: TrainingData, *, wanted: bool) -> None:
    """Compute what further rows join, after growth by a rule that leaves some output weights as they are.

    Rows on a cluster would have to be sent here for that, so it is done for them only if it is wanted.
    """
    network = estimator.network_
    if network.factor is not None or not network.loss.plain or recipe.layer.carries:
        return
    if not (wanted or isinstance(data, ArrayData)):
        return
    # The held-out rows of a member of an ensemble stay unseen.
    unseen = estimator.held_out_ if is_averaged() else np.zeros(0, dtype=int)
    numbers, factor = np.flatnonzero(~np.isin(data.row_numbers(), unseen)), no_rows(network)
    for start in range(0, len(numbers), _ROWS):
        rows = data.take(numbers[start : start + _ROWS])
        factor = joined(factor, network, rows.X, rows.targets, rows.sample_weight)
    estimator.network_ = replace(network, factor=factor)


def learn_on(
    estimator: GrowingNetwork, X: Any, y: Any, sample_weight: Any, targets_of: TargetsOf, **checks: Any
) -> None:
    """Let further rows join the network of an estimator; if any is refused, nothing changes."""
    network, seen = _updatable(estimator), 0
    for rows in _opened(estimator, X, y, sample_weight, targets_of, **checks):
        if len(rows.targets):
            network = with_rows(network, rows.X, rows.targets, rows.weights)
            seen += len(rows.targets)
    estimator.network_ = network
    estimator.n_rows_seen_ += seen


def _updatable(estimator: GrowingNetwork) -> Network:
    """The network of an estimator, if further rows can join it."""
    network = estimator.network_
    refusal = why_not(network.loss)
    if refusal is not None:
        raise ValueError(refusal)
    algorithm = estimator.parameter("algorithm")
    if network.factor is None and algorithm != "SC-III" and network.loss.plain:
        raise ValueError(
            f"This model does not contain what further rows could join: it was fitted with {algorithm} on a Dask "
            "cluster, by an earlier version, or saved with updatable=False. This model must be fitted once more before "
            'it can be updated: begin with partial_fit instead of fit, or use algorithm="SC-III".'
        )
    if network.factor is None:
        raise ValueError(
            "This model does not contain what further rows could join: it was saved by version 0.1, or with "
            "updatable=False. This model must be fitted once more before it can be updated."
        )
    return network


def _opened(
    estimator: GrowingNetwork, X: Any, y: Any, sample_weight: Any, targets_of: TargetsOf, **checks: Any
) -> Iterator[Learnable]:
    """Further rows, validated, and block by block if they come from files or chunks."""
    if is_dask(X):
        raise TypeError(
            "partial_fit needs further rows in memory: compute() them, one partition after the other, or give it files "
            "or Chunks, which it reads block by block."
        )
    if isinstance(X, str | Path):
        X, y = Chunks(X, y), None
    if not isinstance(X, Chunks):
        yield _learnable(estimator, X, y, sample_weight, targets_of, **checks)
        return
    if y is not None or sample_weight is not None:
        raise TypeError("Chunks contain their own targets and weights; call partial_fit(chunks).")
    _check_columns(estimator, X)
    for block in X.blocks(_ROWS):
        y = block.y[:, 0] if estimator.network_.single_output and block.y.ndim == 2 else block.y
        yield _weighted(estimator, block.X, y, block.sample_weight, targets_of)


def _check_columns(estimator: GrowingNetwork, chunks: Chunks) -> None:
    known, names = getattr(estimator, "feature_names_in_", None), chunks.feature_names
    if known is not None and names is not None and not np.array_equal(known, names):
        raise ValueError(f"The model was fitted on the columns {listed(known)}, in this order; got {listed(names)}.")
    if chunks.n_features != estimator.n_features_in_:
        raise ValueError(f"The model expects {estimator.n_features_in_} inputs; the chunks have {chunks.n_features}.")


def _learnable(
    estimator: GrowingNetwork, X: Any, y: Any, sample_weight: Any, targets_of: TargetsOf, **checks: Any
) -> Learnable:
    """Rows in memory, validated."""
    if not _is_plain(estimator, X, y):
        X, y = read_further(estimator, X, y, sample_weight, **checks)
    return _weighted(estimator, X, y, sample_weight, targets_of)


def _is_plain(estimator: GrowingNetwork, X: Any, y: Any) -> bool:
    """Whether X and y are arrays of finite numbers of the right shapes; scikit-learn's checks take longer to say so."""
    return (
        type(X) is np.ndarray
        and type(y) is np.ndarray
        and X.dtype in (np.float64, np.float32)
        and y.dtype.kind in "biuf"
        and X.ndim == 2
        and X.shape == (len(y), estimator.n_features_in_)
        and len(y) > 0
        and "feature_names_in_" not in vars(estimator)
        and estimator.encoder_ is None
        and y.ndim <= 2
        and bool(np.isfinite(X).all() and np.isfinite(y).all())
    )


def _weighted(
    estimator: GrowingNetwork, X: LocalInputs, y: np.ndarray, sample_weight: Any, targets_of: TargetsOf
) -> Learnable:
    """With targets and weights, without rows of weight 0.

    The unit of the weights is that of the first rows: weights there are counts of rows, or relative to their mean, and
    a weight means the same in every part. Rows without weights have the weight 1.
    """
    targets, factors = targets_of(y)
    if targets.shape[1] != estimator.network_.n_outputs:
        raise ValueError(f"y has {targets.shape[1]} outputs, and the model has {estimator.network_.n_outputs}.")
    if sample_weight is None and factors is None and estimator._weight_unit == 1.0:
        return Learnable(X, targets, None)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64) / estimator._weight_unit
    weights = weights if factors is None else weights * factors
    if (weights < 0.0).any():
        raise ValueError("sample_weight must contain numbers of at least 0.")
    counts = weights > 0.0
    return Learnable(X, targets, weights) if counts.all() else Learnable(X[counts], targets[counts], weights[counts])
