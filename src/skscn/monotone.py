"""Output weights with which a network is monotone in some inputs, whatever the nodes are.

Along input i, the network has the slope a_i + Σ_j β_j w_ij g′(z_j), and 0 ≤ g′ ≤ G. It has the sign s_i everywhere if

    s_i a_i ≥ G Σ_j max(0, −s_i β_j w_ij):

the direct link makes up for what nodes of the wrong sign can do at most. These output weights are a convex cone. Its
generators are the links s_i, and each node with β_j = ±1 and the links that it needs; least squares over the cone is
nonnegative least squares over the generators.
"""

import numpy as np
from scipy.linalg import lstsq, qr
from scipy.optimize import nnls

from skscn.factor import Factor
from skscn.nodes import Nodes

# G of the activations that never decrease.
STEEPEST = {"sigmoid": 0.25, "tanh": 1.0, "relu": 1.0}
# The largest number of steps of nonnegative least squares, for each generator.
_MOST_STEPS = 30


def monotone_weights(
    factor: Factor, linear: Nodes, nodes: Nodes, signs: np.ndarray, shares: np.ndarray | None = None
) -> np.ndarray:
    """β of shape (k, 1): least squares among the output weights for which the network is monotone.

    Parameters
    ----------
    factor : Factor
        Of the linear columns and the nodes; with the ridge, if there is one.
    linear, nodes : Nodes
        Intercept and direct links, and the nodes; both see the same inputs.
    signs : ndarray of shape (d,)
        1 for an input with which the output must not decrease, −1 where it must not increase, 0 for others.
    shares : ndarray of shape (k,) or None
        Of an average over numbers of nodes, to which the network is then as close as it can be, rather than to the
        targets.
    """
    assert nodes.layer.activation is not None
    moves = factor.coefficients[:, 0] if shares is None else shares * factor.coefficients[:, 0]
    free, bounded = _generators(linear, nodes, signs, STEEPEST[nodes.layer.activation.name])
    rotation, triangle = qr(factor.triangle @ np.hstack([free, bounded]), mode="economic")
    left, count = rotation.T @ moves, free.shape[1]
    weights = np.zeros(bounded.shape[1])
    if len(weights):
        weights = nnls(triangle[count:, count:], left[count:], maxiter=_MOST_STEPS * len(weights))[0]
    others = (
        lstsq(triangle[:count, :count], left[:count] - triangle[:count, count:] @ weights)[0] if count else left[:0]
    )
    beta: np.ndarray = free @ others + bounded @ weights
    return beta[:, np.newaxis]


def _generators(linear: Nodes, nodes: Nodes, signs: np.ndarray, steepest: float) -> tuple[np.ndarray, np.ndarray]:
    """Columns of output weights: those whose factor may have any sign, and those with factors of at least 0."""
    size = len(linear) + len(nodes)
    links = {int(row): int(column) for row, column in np.argwhere(linear.weights != 0.0)}
    free, bounded = list[np.ndarray](), list[np.ndarray]()
    identity = np.eye(size)
    for column in range(len(linear)):
        sign = float(signs @ linear.weights[:, column])
        (bounded if sign else free).append(sign * identity[column] if sign else identity[column])
    for place, weights in enumerate(nodes.weights.T, start=len(linear)):
        if not (signs * weights).any():
            free.append(identity[place])
            continue
        for side in (1.0, -1.0):
            needed = steepest * np.maximum(0.0, -side * signs * weights)
            inputs = np.flatnonzero(needed)
            # Without the links that it needs, a node cannot have this sign.
            if all(number in links for number in inputs.tolist()):
                generator = side * identity[place]
                generator[[links[number] for number in inputs.tolist()]] = (signs * needed)[inputs]
                bounded.append(generator)
    shape = (-1, size)
    return np.reshape(free, shape).T, np.reshape(bounded, shape).T
