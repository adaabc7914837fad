"""Held-out rows, and averages over what they find plausible.

The candidate with the lowest held-out loss is often the best by chance. So candidates are averaged, each with a weight
that falls off exponentially with its held-out loss: the likelihood of these rows, to the power ½.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from skscn import kernels
from skscn.layers import Nodes
from skscn.losses import Loss
from skscn.output_weights import Solution
from skscn.scaling import InputScaling
from skscn.settling.columns import Columns

# The power of the likelihood in the weight of a candidate, and the weight below which it is left out.
_POWER, _SMALLEST_WEIGHT = 0.5, 1e-3


class HeldOut:
    """Held-out rows, in the basis of the columns.

    Parameters
    ----------
    columns : Columns
    X, targets, sample_weight
    scaling : InputScaling
        Of the inputs.
    """

    def __init__(
        self,
        columns: Columns,
        X: kernels.Matrix,
        targets: np.ndarray,
        sample_weight: np.ndarray | None,
        scaling: InputScaling,
    ):
        self.targets, self.sample_weight, self.outputs = targets, sample_weight, columns.outputs
        self.weight = float(len(targets) if sample_weight is None else sample_weight.sum())
        inputs = kernels.Inputs(X, scaling)
        blocks: list[Nodes] = [columns.linear, *columns.blocks]
        h = np.vstack([kernels.columns(inputs, len(targets), None, block) for block in blocks])
        self._basis = solve_triangular(columns.triangle, h, trans="T").T if len(h) else h.T

    def mean_loss(self, loss: Loss, coefficients: np.ndarray) -> float:
        """The mean loss of the rows at these coefficients."""
        return self.mean_loss_of(loss, self.outputs_of(coefficients))

    def losses(self, loss: Loss, coefficients: np.ndarray) -> np.ndarray:
        """The loss of each row at these coefficients."""
        return loss.value(self.targets, self.outputs.inverse_transform(self.outputs_of(coefficients)))

    def mean_loss_of(self, loss: Loss, scaled: np.ndarray) -> float:
        """The mean loss of the rows at scaled outputs."""
        f = self.outputs.inverse_transform(scaled)
        return float(np.average(loss.value(self.targets, f), weights=self.sample_weight))

    def outputs_of(self, coefficients: np.ndarray) -> np.ndarray:
        """The scaled outputs of the rows."""
        outputs: np.ndarray = self._basis @ coefficients
        return outputs


def plausible(scores: np.ndarray, weight: float, dispersion: float = 1.0) -> np.ndarray:
    """The weights of candidates with these mean losses on held-out rows of this total weight; their sum is 1."""
    scores = np.where(np.isfinite(scores), scores, np.inf)
    # Without any finite score all candidates are the same.
    excess = scores - scores.min() if np.isfinite(scores).any() else np.zeros_like(scores)
    weights = np.exp(-_POWER * weight * excess / dispersion)
    weights[weights < _SMALLEST_WEIGHT * weights.max()] = 0.0
    shares: np.ndarray = weights / weights.sum()
    return shares


def prefix_shares(held_out: HeldOut, loss: Loss, columns: Columns, solution: Solution) -> np.ndarray:
    """The share of each column's direction in the average over the numbers of nodes of the last block.

    The network with the first k nodes moves the output along the first k directions, so the average over k moves it
    along each direction by the share of the networks that have it.
    """
    first = len(columns.triangle) - len(columns.blocks[-1])
    moves = held_out.outputs_of(columns.triangle @ solution.directions.toarray())
    outputs = moves[:, :first] @ solution.coefficients[:first]
    scores = [held_out.mean_loss_of(loss, outputs)]
    for move, coefficients in zip(moves.T[first:], solution.coefficients[first:], strict=True):
        outputs = outputs + np.multiply.outer(move, coefficients)
        scores.append(held_out.mean_loss_of(loss, outputs))
    weights = plausible(np.array(scores), held_out.weight)
    return np.append(np.ones(first), np.cumsum(weights[::-1])[::-1][1:])


def shrunk(solution: Solution, shares: np.ndarray) -> Solution:
    """The output weights that move along each direction by its share; last columns with a share of 0 are left out."""
    size = len(shares) - int((np.cumsum(shares[::-1]) == 0.0).sum())
    coefficients = shares[:size, np.newaxis] * solution.coefficients[:size]
    directions = solution.directions[:size, :size]
    return Solution(directions @ coefficients, directions, coefficients)
