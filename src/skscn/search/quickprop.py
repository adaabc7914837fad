"""Nodes found by quickprop ascent: the constructive network of Kwok and Yeung (1997), the paper's baseline MQ.

Each node maximises S = Σ_q ⟨e_q, h⟩²/‖h‖² (Theorem 2) over its weights and bias, from one random start. The step is
Fahlman's quickprop: along each weight the minimum of a parabola through two slopes, no larger than a factor times the
step before, plus a gradient step while the slope keeps its sign. A node is finished when S has grown by less than a
given share for some iterations, which happens early on a plateau: the weakness that the paper observes.
"""

from typing import Any

import numpy as np

from skscn.rows import Rows
from skscn.search.base import Configuration, Proposal, Proposals, draw

# Fahlman's maximum growth factor of a step, and limits that keep a diverging step finite.
_GROWTH = 1.75
_LONGEST_STEP = 10.0
# Growth of S, relative to where patience began to count, that counts as progress.
_PROGRESS = 0.03


class Quickprop(Configuration):
    """Modified quickprop for each node, in the first of the scopes.

    Parameters
    ----------
    scopes, contractions, max_candidates
        As for every strategy; the start is drawn from [−λ, λ] with the first λ, and there is no supervision.
    learning_rate : float
        ε, the factor of the gradient step.
    max_iter : int
        The largest number of iterations for a node.
    patience : int
        Iterations without progress before a node is finished.
    """

    needs_derivative = True

    def __init__(self, *settings: Any, learning_rate: float = 0.05, max_iter: int = 200, patience: int = 8):
        super().__init__(*settings)
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.patience = patience

    def propose(self, rows: Rows, node: int, rng: np.random.Generator, count: int) -> Proposals:
        """One optimised node from each random start; another start if it cannot be used."""
        scope = self.scopes[0]
        for start in range(1, self.max_candidates + 1):
            drawn = draw(rows, scope, 1, rng)
            best = self._ascend(rows, np.append(drawn.weights[:, 0], drawn.biases[0]))
            yield Proposal(rows.nodes(best[:-1, np.newaxis], best[-1:], scope), (1.0,), start)

    def _ascend(self, rows: Rows, point: np.ndarray) -> np.ndarray:
        """The best (w, b) seen on the way up from ``point``."""
        score, gradient = _objective(rows, point)
        best_score, best = score, point
        reference, waited = score, 0
        step, slope_before = np.zeros_like(point), np.zeros_like(point)
        for _ in range(self.max_iter):
            slope = -gradient
            step = _quickprop_step(step, slope, slope_before, self.learning_rate)
            point, slope_before = point + step, slope
            score, gradient = _objective(rows, point)
            if score > best_score:
                best_score, best = score, point
            if abs(score - reference) > _PROGRESS * reference:
                reference, waited = score, 0
            else:
                waited += 1
                if waited >= self.patience:
                    break
        return best


def _objective(rows: Rows, point: np.ndarray) -> tuple[float, np.ndarray]:
    """S = Σ_q A_q²/B with A_q = ⟨e_q, h⟩, B = ‖h‖², and its gradient with respect to (w, b)."""
    node = rows.nodes(point[:-1, np.newaxis], point[-1:])
    sums, slopes = rows.sums(node), rows.slopes(node)
    projections, squares = sums.projections[:, 0], float(sums.squares[0])
    if squares <= 1e-12 * rows.weight:
        return 0.0, np.zeros_like(point)
    score = float(projections @ projections) / squares
    gradient = (2.0 * projections @ slopes.projections - score * slopes.squares) / squares
    return score, gradient


def _quickprop_step(step: np.ndarray, slope: np.ndarray, before: np.ndarray, learning_rate: float) -> np.ndarray:
    """Fahlman's update for descent: ``slope`` now, ``before`` at the last step, weight by weight."""
    direction = np.sign(step)
    linear = np.where(direction * slope <= 0.0, -learning_rate * slope, 0.0)
    shrink = _GROWTH / (1.0 + _GROWTH)
    too_steep = direction * slope <= direction * shrink * before
    difference = before - slope
    parabola = np.divide(step * slope, difference, out=np.zeros_like(step), where=difference != 0.0)
    quick = np.where(too_steep, _GROWTH * step, parabola)
    following: np.ndarray = linear + np.where(direction == 0.0, 0.0, quick)
    return following.clip(-_LONGEST_STEP, _LONGEST_STEP)
