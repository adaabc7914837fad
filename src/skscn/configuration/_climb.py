"""Quasi-Newton descent from several starts at once, in lockstep.

Each evaluation is one matrix product for all starts, which costs little more than for one of them.
"""

from collections.abc import Callable

import numpy as np

# Armijo's share of the decrease predicted by the slope.
_SUFFICIENT = 1e-4
# Bounds on the factor by which a step that was too long is shortened.
_SHORTEST, _LONGEST = 0.1, 0.5
# The longest step along a coordinate: where the curvature vanishes, Newton's step would be longer.
_FARTHEST = 1000.0
_SMALLEST_CURVATURE = 1e-150

Loss = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def descend(loss: Loss, points: np.ndarray, evaluations: int, inverses: np.ndarray | None = None) -> np.ndarray:
    """The lowest points that BFGS with backtracking finds in a number of evaluations of the loss.

    Parameters
    ----------
    loss : callable
        Maps points of shape (k, p) to their losses, shape (k,), and gradients, shape (k, p).
    points : ndarray of shape (k, p)
        The starts.
    evaluations : int
        How often the loss is evaluated; in each, every start either takes a step or shortens the one it tried.
    inverses : ndarray of shape (k, p, p), optional
        Inverse Hessians to begin with.
    """
    values, gradients = loss(points)
    hessians = _InverseHessians(inverses, points.shape, evaluations)
    directions = _bounded(-hessians.times(gradients))
    if inverses is None:
        # While the curvature is unknown, first steps have a length of at most 1.
        directions /= np.maximum(_dot(gradients, gradients) ** 0.5, 1.0)[:, np.newaxis]
    lengths = np.ones(len(points))
    for _ in range(evaluations - 1):
        moves = lengths[:, np.newaxis] * directions
        tried, tried_gradients = loss(points + moves)
        slopes = _dot(gradients, moves)
        taken = tried <= values + _SUFFICIENT * slopes
        # The lowest point of the parabola through value, slope and the value tried.
        excess = 2.0 * (tried - values - slopes)
        shorter = np.divide(-slopes, excess, out=np.full_like(excess, _LONGEST), where=excess > 0.0)
        lengths = np.where(taken, 1.0, lengths * np.clip(shorter, _SHORTEST, _LONGEST))
        here = taken[:, np.newaxis]
        hessians.learn(np.where(here, moves, 0.0), np.where(here, tried_gradients - gradients, 0.0))
        points = np.where(here, points + moves, points)
        gradients = np.where(here, tried_gradients, gradients)
        values = np.where(taken, tried, values)
        directions = np.where(here, _bounded(-hessians.times(gradients)), directions)
    return points


class _InverseHessians:
    """The inverse Hessian of each start as BFGS learns it, kept as a sum of outer products.

    H⁺ = H + a s sᵀ − ρ (u sᵀ + s uᵀ) with s the step, y the change of the gradient, ρ = 1/sᵀy, u = Hy and
    a = ρ (1 + ρ yᵀu) (Nocedal and Wright, 2006, 6.17). Unless it is given, H begins as sᵀy/yᵀy of the first step
    (6.20).
    """

    def __init__(self, first: np.ndarray | None, shape: tuple[int, ...], capacity: int):
        self.first = first
        self.count = 0
        starts, size = shape
        self.scales = np.zeros(starts)
        self.steps, self.products = np.empty((2, starts, capacity, size))
        self.inverses, self.squares = np.empty((2, starts, capacity))

    def learn(self, steps: np.ndarray, changes: np.ndarray) -> None:
        """Update with a step of each start, 0 where none was taken, and the change of the gradient."""
        curvatures, squares = _dot(steps, changes), _dot(changes, changes)
        # A curvature too small to be inverted belongs to a start that has converged.
        convex = curvatures > np.maximum(1e-10 * (squares * _dot(steps, steps)) ** 0.5, _SMALLEST_CURVATURE)
        inverses = np.divide(1.0, curvatures, out=np.zeros_like(curvatures), where=convex)
        np.divide(curvatures, squares, out=self.scales, where=convex & (self.scales == 0.0))
        products = self.times(changes)
        self.steps[:, self.count], self.products[:, self.count] = steps, products
        self.inverses[:, self.count] = inverses
        self.squares[:, self.count] = inverses * (1.0 + inverses * _dot(changes, products))
        self.count += 1

    def times(self, vectors: np.ndarray) -> np.ndarray:
        """H times a vector of each start."""
        if self.first is not None:
            result: np.ndarray = (self.first @ vectors[:, :, np.newaxis])[:, :, 0]
        else:
            result = np.where(self.scales > 0.0, self.scales, 1.0)[:, np.newaxis] * vectors
        if self.count:
            steps, products = self.steps[:, : self.count], self.products[:, : self.count]
            inverses, squares = self.inverses[:, : self.count], self.squares[:, : self.count]
            along_steps = (steps @ vectors[:, :, np.newaxis])[:, :, 0]
            along_products = (products @ vectors[:, :, np.newaxis])[:, :, 0]
            weights = squares * along_steps - inverses * along_products
            result += (weights[:, np.newaxis] @ steps)[:, 0]
            result -= ((inverses * along_steps)[:, np.newaxis] @ products)[:, 0]
        return result


def _bounded(moves: np.ndarray) -> np.ndarray:
    bounded: np.ndarray = moves / np.maximum(np.abs(moves).max(axis=1, keepdims=True) / _FARTHEST, 1.0)
    return bounded


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The inner products of corresponding rows."""
    products: np.ndarray = np.einsum("ij,ij->i", a, b)
    return products
