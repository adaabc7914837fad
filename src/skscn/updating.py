"""Further rows join a fitted network: for the nodes that it has, its output weights become those of all rows seen.

Under squared error the factor of a network is all that is needed of the rows before (recursive least squares by QR), so
neither the order of the rows nor the size of the parts that they come in matters. The ridge is that of the first rows:
α‖β‖² next to a sum over rows, so that it counts for less the more rows there are.

Under log loss the factor is a quadratic approximation of the penalised loss of all rows before, at the output weights
that minimise it. The sum of it and the loss of the further rows is minimised, and they then join the approximation:
Bayesian updating with Laplace's approximation. Parts of other sizes and another order give slightly other weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skscn.factor import Factor
from skscn.losses import Loss, Penalised, name_of
from skscn.network import Network

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
        f'partial_fit is for loss="squared" and, with classes, loss="log_loss"; under loss={name_of(loss)!r} what a '
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


def no_rows(network: Network) -> Factor:
    """The factor of a network before any rows."""
    return Factor.empty(len(network.coefficients), network.n_outputs, network.linear.size)


def joined(factor: Factor, network: Network, X: Any, targets: np.ndarray, weights: np.ndarray | None) -> Factor:
    """A factor of the columns of a network, under squared error, with these rows; as in :func:`with_rows`."""
    rows = _FurtherRows(network, X, targets, None if weights is None else np.sqrt(weights))
    return rows.joined(factor, _themselves)[0]


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
            if self._is_small(found, stiffness * step, kept):
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

    @staticmethod
    def _is_small(factor: Factor, step: np.ndarray, beta: np.ndarray) -> bool:
        """Whether a step hardly changes the outputs of all rows."""
        change, size = (float(np.linalg.norm(factor.triangle @ weights)) for weights in (step, beta))
        return change <= _CONVERGED * size


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
    beta = np.ascontiguousarray(factor.solution(shares))
    first, *others = np.split(beta, np.cumsum([network.linear.size, *(block.size for block in network.layers)])[:-1])
    layers = tuple(replace(block, output_weights=own) for block, own in zip(network.layers, others, strict=True))
    return replace(
        network,
        linear=replace(network.linear, output_weights=first),
        layers=layers,
        directions=None,
        coefficients=factor.coefficients if shares is None else shares[:, np.newaxis] * factor.coefficients,
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
    lower = np.where(low < lower + margin, low - wider, np.minimum(lower, low - wider))
    upper = np.where(high > upper - margin, high + wider, np.maximum(upper, high + wider))
    return replace(network, bounds=(lower, upper))
