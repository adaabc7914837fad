"""Further rows join the factor of a network, which is then solved again: ``partial_fit``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight

from skscn.checks import is_dask
from skscn.factor import Factor
from skscn.fit.data import LocalInputs, TrainingData
from skscn.fit.plan import Recipe
from skscn.fit.validation import read_further
from skscn.losses import Loss, Penalised, name_of
from skscn.monotone import monotone_weights
from skscn.network import Network
from skscn.plausibility import TargetGate
from skscn.rows import Chunks
from skscn.words import listed

if TYPE_CHECKING:
    from skscn.estimators.base import GrowingNetwork


# Rows in order of time are divided into this number of stretches, each of which counts for one of these shares of the
# one after it. With output weights of the first ones, at least _FIRST of them, up to _AHEAD further ones are predicted:
# nobody knows how far ahead a model is used. Older rows count for less if at most this share of the errors is left,
# and errors are smaller from this share of the beginnings, as a season that has begun to return shows from some only.
_STRETCHES, _FIRST, _AHEAD, _WORTHWHILE, _CONFIRMED = 16, 8, 5, 0.95, 0.75
_KEPT = (1.0, *(0.5 ** (1.0 / life) for life in (8.0, 4.0, 2.0, 1.0)))
# The largest number of passes over further rows in which their loss is minimised, and the change of the outputs,
# relative to their size, with which it ends.
_PASSES, _CONVERGED = 50, 1e-4
# The relative increase of the loss that may be rounding.
_ROUNDING = 1e-12
# The factors by which curvatures are increased if a step has increased the loss, and decreased if it has not.
_STIFFER, _SOFTER = 4.0, 2.0
# The share by which the range of targets is extended for the bounds of predictions.
MARGIN = 0.05


def why_not(loss: Loss) -> str | None:
    """Why networks under a loss cannot learn from further rows, and what would work; None if they can."""
    if loss.plain or (isinstance(loss, Penalised) and loss.quadratic):
        return None
    return (
        f'partial_fit is for loss="squared" and, with classes, loss="log_loss"; under loss="{name_of(loss)}" what a '
        "row counts for depends on all the others, so fit all rows again."
    )


def with_rows(network: Network, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> Network:
    """The network with the output weights of the rows so far and of further ones.

    Parameters
    ----------
    network : Network
        With a factor.
    X : ndarray or sparse matrix of shape (n, d)
    targets : ndarray of shape (n, m)
        As the loss compares them with outputs, not scaled.
    weights : ndarray of shape (n,) or None
        Positive, in the unit of the rows so far.
    """
    factor = network.factor
    assert factor is not None
    if network.alpha > 0.0:
        factor = factor.regularised(network.alpha)
    rows = _FurtherRows(network, X, targets, None if weights is None else np.sqrt(weights))
    if isinstance(network.loss, Penalised):
        found, outputs = rows.likeliest(factor, network.loss)
        return _bounded(_solved(network, found, None), outputs)
    return _bounded(_solved(network, rows.joined(factor, _themselves)[0], network.shares), targets)


def target_gate(network: Network) -> TargetGate | None:
    """What decides which targets of further rows are plausible, after the range and the errors of training.

    None if the network does not say what these were.
    """
    if network.bounds is None or network.factor is None or not network.loss.plain:
        return None
    low, high = network.outputs.inverse_transform(np.stack(network.bounds))
    mean_squares = network.factor.residual_squares / network.factor.weight
    return TargetGate.of_training(low, high, network.outputs.scale * np.sqrt(mean_squares))


def following(network: Network, X: Any, targets: np.ndarray, weights: np.ndarray | None, alpha: float | str) -> Network:
    """The network with output weights in which older rows count for less, if that predicts later rows better.

    So predictions follow what has changed. Each choice is tested from several times on: with output weights of the rows
    before, on the rows after. The best one must be better from most of these times on, not by the errors after a few. A
    network under squared error, for which nothing has changed, stays as it is, and so does one with too few rows to
    tell.

    Parameters
    ----------
    network : Network
        Under squared error.
    X, targets, weights
        All rows, in order of time, as in :func:`with_rows`.
    alpha : float or "gcv"
        The ridge.
    """
    size = len(network.coefficients)
    if len(X) * _FIRST / _STRETCHES < 2 * size:
        return network
    empty = Factor.empty(size, network.n_outputs, network.linear.size)
    roots = np.ones(len(X)) if weights is None else np.sqrt(weights)
    stretches = [
        _FurtherRows(network, X[rows], targets[rows], roots[rows]).joined(empty, _themselves)[0]
        for rows in np.array_split(np.arange(len(X)), _STRETCHES)
    ]

    def penalised(factor: Factor) -> Factor:
        penalty = factor.cross_validated() if alpha == "gcv" else float(alpha)
        return factor.regularised(penalty) if penalty > 0.0 else factor

    squares, factors = np.zeros((len(_KEPT), _STRETCHES - _FIRST)), [empty] * len(_KEPT)
    for choice, keep in enumerate(_KEPT):
        for number, stretch in enumerate(stretches):
            if number >= _FIRST:
                beta, later = penalised(factors[choice]).solution(network.shares), stretches[number : number + _AHEAD]
                squares[choice, number - _FIRST] = sum(rows.squared_error(beta) for rows in later)
            factors[choice] = factors[choice].merged(stretch, keep)
    best, alike = int(squares.sum(axis=1).argmin()), squares[0]
    if squares[best].sum() > _WORTHWHILE * alike.sum() or np.mean(squares[best] < alike) < _CONFIRMED:
        return network
    return _solved(network, penalised(factors[best]), network.shares)


@dataclass(frozen=True)
class _FurtherRows:
    """Rows that join a network: inputs, targets and the square roots of their weights."""

    network: Network
    X: Any
    targets: np.ndarray
    roots: np.ndarray | None

    def joined(
        self,
        factor: Factor,
        working: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray | None]],
        beta: np.ndarray | None = None,
    ) -> tuple[Factor, np.ndarray]:
        """The factor with these rows, block by block, and their outputs, with working targets and weights.

        These may depend on the outputs with output weights ``beta``.
        """
        outputs, scaling = np.zeros_like(self.targets), self.network.outputs
        for rows, H in self.network.columns(self.X):
            if beta is not None:
                outputs[rows] = scaling.inverse_transform(H @ beta)
            z, c = working(self.targets[rows], outputs[rows])
            roots = None if self.roots is None else self.roots[rows]
            if c is not None:
                roots = np.sqrt(c) if roots is None else roots * np.sqrt(c)
            factor = factor.joined(H, scaling.transform(z), roots)
        return factor, outputs

    def likeliest(self, before: Factor, loss: Penalised) -> tuple[Factor, np.ndarray]:
        """The approximation of the penalised loss of all rows, and the outputs of these at its minimum.

        Newton's method, with curvatures that are increased where a step would increase the loss. All outputs have the
        triangle of their mean curvature; what an output has of it is its share of the sum of curvatures.
        """
        beta = kept = before.solution()
        shares = before.residual_squares / before.residual_squares.mean()
        stiffness, lowest = 1.0, np.inf
        for _ in range(_PASSES):
            found, outputs = self.joined(before, _stiff(loss, stiffness, shares), beta)
            value = self._value(before, loss, shares, beta, outputs)
            if value > lowest + _ROUNDING * abs(lowest):
                beta, stiffness = kept, _STIFFER * stiffness
                continue
            lowest, kept, step = value, beta, found.solution() - beta
            beta = beta + step
            change, size = (np.linalg.norm(found.triangle @ weights) for weights in (stiffness * step, kept))
            # A step that hardly changes the outputs of all rows.
            if change <= _CONVERGED * size:
                kept = beta
                break
            stiffness = max(1.0, stiffness / _SOFTER)
        found, outputs = self.joined(before, _stiff(loss, 1.0, shares), kept)
        weights = np.ones(len(outputs)) if self.roots is None else self.roots**2
        return Factor(
            found.triangle,
            found.triangle @ kept,
            before.residual_squares + weights @ loss.curvatures(outputs),
            before.weight + float(weights.sum()),
            before.linear,
        ), outputs

    def _value(
        self, before: Factor, loss: Penalised, shares: np.ndarray, beta: np.ndarray, outputs: np.ndarray
    ) -> float:
        """The approximated loss of the rows before and that of these rows."""
        left = self.network.outputs.scale * (before.coefficients - before.triangle @ beta)
        losses = loss.value(self.targets, outputs)
        own = losses.sum() if self.roots is None else self.roots**2 @ losses
        return float(own + 0.5 * (left**2 @ shares).sum())


def _themselves(y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, None]:
    """Targets under squared error."""
    return y, None


def _stiff(
    loss: Penalised, stiffness: float, shares: np.ndarray
) -> Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Working targets and weights of the quadratic that touches a loss, with larger curvatures."""

    def working(y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        c = stiffness * loss.curvatures(f).mean(axis=1)
        return f - loss.smooth(y, f)[1] / np.multiply.outer(c, shares), c

    return working


def _solved(network: Network, factor: Factor, shares: np.ndarray | None) -> Network:
    """The network with the output weights that follow from a factor, which contains the ridge."""
    if network.signs is None:
        beta, directions = np.ascontiguousarray(factor.solution(shares)), None
        coefficients = factor.coefficients if shares is None else shares[:, np.newaxis] * factor.coefficients
    else:
        (block,) = network.layers
        signs = network.signs[network.inputs.sources]
        beta = coefficients = monotone_weights(factor, network.linear.nodes, block.nodes, signs, shares)
        directions = sparse.csc_array(sparse.identity(len(beta)))
    first, *others = np.split(beta, np.cumsum([network.linear.size, *(block.size for block in network.layers)])[:-1])
    layers = tuple(replace(block, output_weights=own) for block, own in zip(network.layers, others, strict=True))
    return replace(
        network,
        linear=replace(network.linear, output_weights=first),
        layers=layers,
        directions=directions,
        coefficients=coefficients,
        factor=factor,
        alpha=0.0,
    )


def _bounded(network: Network, values: np.ndarray) -> Network:
    """With bounds that include further values and their margin, if there are bounds."""
    if network.bounds is None or not len(values):
        return network
    scaled = network.outputs.transform(values)
    lower, upper = network.bounds
    margin = (upper - lower) * MARGIN / (1.0 + 2.0 * MARGIN)
    low, high = np.minimum(scaled.min(axis=0), lower + margin), np.maximum(scaled.max(axis=0), upper - margin)
    wider = MARGIN * (high - low)
    # As they were, unless a value lies outside: rounding must not add up over many parts.
    below = np.where(low < lower + margin, low - wider, np.minimum(lower, low - wider))
    upper = np.maximum(upper, high + wider)
    # What was never negative stays so, unless a value is negative.
    keeps = network.never_negative & (values.min(axis=0) >= 0.0) & (not network.loss.has_link)
    return replace(network, bounds=(np.where(keeps, lower, below), upper))


# ``partial_fit``: what further rows must be, and how they join the network of an estimator.


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


def factor_of(network: Network, data: TrainingData, unseen: np.ndarray) -> Factor:
    """What further rows join, after growth by a rule that leaves some output weights as they are.

    Rows with the numbers ``unseen`` are left out.
    """
    numbers = np.flatnonzero(~np.isin(data.row_numbers(), unseen))
    factor = Factor.empty(len(network.coefficients), network.n_outputs, network.linear.size)
    for start in range(0, len(numbers), _ROWS):
        rows = data.take(numbers[start : start + _ROWS])
        roots = None if rows.sample_weight is None else np.sqrt(rows.sample_weight)
        factor, _ = _FurtherRows(network, rows.X, rows.targets, roots).joined(factor, _themselves)
    return factor


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
    algorithm = estimator.algorithm
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
        if not _is_plain(estimator, X, y):
            X, y = read_further(estimator, X, y, sample_weight, **checks)
        yield _weighted(estimator, X, y, sample_weight, targets_of)
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
        raise ValueError(f"y has {targets.shape[1]} outputs, but the model has {estimator.network_.n_outputs}.")
    if sample_weight is None and factors is None and estimator._weight_unit == 1.0:
        return Learnable(X, targets, None)
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64) / estimator._weight_unit
    weights = weights if factors is None else weights * factors
    if (weights < 0.0).any():
        raise ValueError("sample_weight must contain numbers of at least 0.")
    counts = weights > 0.0
    return Learnable(X, targets, weights) if counts.all() else Learnable(X[counts], targets[counts], weights[counts])
