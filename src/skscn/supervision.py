"""The supervisory mechanism: which random nodes are admitted to the network (Theorems 6 to 8).

Everything here is a pure function of row sums over the training rows, so it is the same wherever the rows are stored.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# Guards in addition to the paper's inequality, which ignores the size of h. A node must not be almost zero on the
# training rows, relative to the size that it has where it is active (its huge output weight would dominate on other
# rows) ...
SMALLEST_MEAN_SQUARE = 1e-4
# ... nor be active on only a handful of them: at least this share of the rows is needed (participation ratio).
SMALLEST_SUPPORT = 0.01
# ... nor be a combination of the nodes it is solved with: the norm of its remainder, relative to its own norm.
SMALLEST_REMAINDER = 1e-7


@dataclass(frozen=True)
class Sums:
    """Row sums over the training rows for T candidate columns h and the m columns of the residual e.

    Attributes
    ----------
    projections : ndarray of shape (m, T)
        ⟨e_q, h⟩.
    squares : ndarray of shape (T,)
        ‖h‖².
    quartics : ndarray of shape (T,) or None
        Σ h⁴, if requested.
    gram : ndarray of shape (T, T) or None
        ⟨h, h′⟩ for each pair, if requested.
    """

    projections: np.ndarray
    squares: np.ndarray
    quartics: np.ndarray | None = None
    gram: np.ndarray | None = None

    def __add__(self, other: "Sums") -> "Sums":
        """The sums over two sets of rows together."""
        return Sums(
            self.projections + other.projections,
            self.squares + other.squares,
            None if self.quartics is None or other.quartics is None else self.quartics + other.quartics,
            None if self.gram is None or other.gram is None else self.gram + other.gram,
        )


@dataclass(frozen=True)
class Slopes:
    """Derivatives of those sums with respect to the weights and bias, for one candidate.

    Attributes
    ----------
    projections : ndarray of shape (m, d + 1)
        ∂⟨e_q, h⟩/∂(w, b).
    squares : ndarray of shape (d + 1,)
        ∂‖h‖²/∂(w, b).
    """

    projections: np.ndarray
    squares: np.ndarray

    def __add__(self, other: "Slopes") -> "Slopes":
        """The slopes over two sets of rows together."""
        return Slopes(self.projections + other.projections, self.squares + other.squares)


@dataclass(frozen=True)
class SampledSums:
    """Row sums over some of the rows, with the quantities that tell how reliable they are.

    Attributes
    ----------
    sums : Sums
    residual_square : float
        Σ_q ‖e_q‖² on these rows.
    weight, square : float
        Σ p and Σ p²; p = 1 without weights.
    """

    sums: Sums
    residual_square: float
    weight: float
    square: float

    def __add__(self, other: "SampledSums") -> "SampledSums":
        """The sums over two sets of rows together."""
        return SampledSums(
            self.sums + other.sums,
            self.residual_square + other.residual_square,
            self.weight + other.weight,
            self.square + other.square,
        )


def slack(
    sums: Sums,
    residual_squares: np.ndarray,
    contraction: float | np.ndarray,
    node: int | np.ndarray,
    *,
    together: bool = False,
) -> np.ndarray:
    """ξ_{L,q} = ⟨e_q, h⟩²/‖h‖² − (1 − r − μ_L)‖e_q‖², shape (m, T); for several r of shape (R, 1, 1), (R, m, T).

    A candidate whose ξ_{L,q} are all ≥ 0 satisfies the supervisory inequality for node L = ``node``; adding it reduces
    ‖e_q‖² to at most (r + μ_L)‖e_q‖² for every output q. If the outputs are supervised ``together``, only their sum
    ξ_L = Σ_q ξ_{L,q} is returned, shape (1, T): if it is ≥ 0, adding the candidate reduces Σ_q ‖e_q‖² to at most
    (r + μ_L) times what it was, which is all that the proof of Theorem 6 needs.

    If candidates join one after the other, each has its own ‖e_q‖², shape (m, T), and its own L, shape (T,).

    Examples
    --------
    >>> import numpy as np
    >>> from skscn.supervision import Sums, admissible, slack
    >>> e, H = np.array([3.0, 4.0]), np.array([[1.0, 1.0], [0.0, 1.0]])
    >>> slacks = slack(Sums(e[np.newaxis] @ H, (H**2).sum(axis=0)), np.array([25.0]), contraction=0.5, node=1)
    >>> slacks
    array([[ 2.75, 18.25]])
    >>> admissible(slacks)
    array([ True,  True])
    """
    score = np.zeros_like(sums.projections)
    np.divide(sums.projections**2, sums.squares, out=score, where=sums.squares > 0.0)
    # μ_L, the sequence that weakens the constraint on node L.
    mu = (1.0 - contraction) / (node + 1)
    slacks: np.ndarray = score - (1.0 - contraction - mu) * residual_squares.reshape(len(residual_squares), -1)
    return slacks.sum(axis=-2, keepdims=True) if together else slacks


def admissible(slacks: np.ndarray) -> np.ndarray:
    """min_q ξ_{L,q} ≥ 0, for each candidate, and each r if there are several."""
    return np.asarray(slacks.min(axis=-2) >= 0.0)


def ranked(slacks: np.ndarray, usable: np.ndarray) -> np.ndarray:
    """The usable candidates that are admissible, largest ξ_L = Σ_q ξ_{L,q} first."""
    passing = np.flatnonzero(usable & admissible(slacks))
    return passing[np.argsort(-slacks.sum(axis=0)[passing], kind="stable")]


def alive(sums: Sums, weight: float, scale: float | np.ndarray) -> np.ndarray:
    """Whether each candidate is not almost zero on the rows, relative to the size that it has where it is active.

    The scale is the bound of the activation or, without one, that of each candidate (``Layer.scales``).
    """
    # Where the scale overflows, the column is too small.
    with np.errstate(over="ignore"):
        smallest = SMALLEST_MEAN_SQUARE * (scale**2 * weight)
    return (sums.squares > 0.0) & (sums.squares >= smallest)


def participates(squares: np.ndarray, quartics: np.ndarray, fewest: float) -> np.ndarray:
    """Whether columns are active on at least ``fewest`` rows, counted by the participation ratio (Σh²)²/Σh⁴.

    With weights p, the sums are Σ p h² and Σ p h⁴: a row of weight 2 counts as two rows.
    """
    return np.asarray(squares**2 >= fewest * quartics)


def forward_selection(
    sums: Sums,
    count: int,
    score: Callable[[Sums, np.ndarray, list[int]], np.ndarray],
    *,
    orthogonal: bool,
    products: Callable[[int], np.ndarray] | None = None,
) -> np.ndarray:
    """The numbers of up to ``count`` candidates: the best, the best given that one, and so on.

    Each one that is chosen is removed from the residual: e ← e − h⟨e, h⟩/‖h‖². If they are to be ``orthogonal``, it is
    removed from the other candidates as well, by one step of a pivoted Cholesky factorisation, as if all output weights
    were evaluated together; otherwise the candidates stay as they are, as in SC-I.

    Parameters
    ----------
    sums : Sums
        With the Gram matrix, unless ``products`` is given.
    count : int
    score : callable
        Gives the score of each candidate, −∞ if it cannot be chosen, from the sums given the candidates chosen so far,
        from how much these reduce ‖e_q‖², and from their numbers.
    orthogonal : bool
    products : callable or None
        Gives the inner products of all candidates with one of them, a row of the Gram matrix.
    """
    projections, squares, rows = sums.projections, sums.squares, list[np.ndarray]()
    if products is None:
        assert sums.gram is not None, "the Gram matrix must be requested"
        products = sums.gram.__getitem__
    explained, chosen = np.zeros(len(projections)), list[int]()
    while len(chosen) < count:
        scores = score(Sums(projections, squares), explained, chosen)
        best = int(scores.argmax()) if scores.size else 0
        if not scores.size or scores[best] == -np.inf:
            break
        chosen.append(best)
        size = np.sqrt(squares[best])
        row, along = products(best), projections[:, best] / size
        for before in rows:
            row = row - before[best] * before
        row = row / size
        projections, explained = projections - np.outer(along, row), explained + along**2
        if orthogonal:
            rows.append(row)
            squares = squares - row**2
    return np.array(chosen, dtype=int)
