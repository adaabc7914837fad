"""The supervisory mechanism: which random nodes are admitted to the network (Theorems 6 to 8).

Everything here is a pure function of row sums over the training rows, so it is the same wherever the rows are stored.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace

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
    remainders : ndarray of shape (T,) or None
        ‖v‖², where v is the part of h that is orthogonal to the columns whose output weights are evaluated with its
        own, if it is known.
    """

    projections: np.ndarray
    squares: np.ndarray
    quartics: np.ndarray | None = None
    gram: np.ndarray | None = None
    remainders: np.ndarray | None = None

    @property
    def decreases(self) -> np.ndarray:
        """⟨e_q, h⟩²/‖h‖² of shape (m, T), by how much ‖e_q‖² decreases if only the new output weight is evaluated."""
        found = np.zeros_like(self.projections)
        return np.divide(self.projections**2, self.squares, out=found, where=self.squares > 0.0)

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


class Supervision(ABC):
    """How much a node has to reduce the error; a class, and one line in SUPERVISIONS."""

    @abstractmethod
    def slack(
        self, sums: Sums, residual_squares: np.ndarray, contraction: float | np.ndarray, node: int | np.ndarray
    ) -> np.ndarray:
        """ξ_{L,q} of T candidates for node L, shape (m, T); those whose ξ are all ≥ 0 satisfy the inequality.

        Candidates are ranked by Σ_q ξ_{L,q}, which should be in the units of ‖e_q‖² and increase with the decrease of
        the error. All arguments broadcast.

        Parameters
        ----------
        sums : Sums
        residual_squares : ndarray of shape (m, 1) or (m, T)
            ‖e_q‖²; if candidates join one after the other, those that each of them meets.
        contraction : float or ndarray of shape (R, 1, 1)
            r; for several of them, ξ has the shape (R, m, T), or (m, T) if it does not depend on r.
        node : int or ndarray of shape (T,)
            L; if candidates join one after the other, that of each.
        """


class Paper(Supervision):
    """The paper's inequality: ξ_{L,q} = ⟨e_q, h⟩²/‖h‖² − (1 − r − μ_L)‖e_q‖².

    A node that satisfies it reduces ‖e_q‖² to at most (r + μ_L)‖e_q‖² for every output q.
    """

    def weakening(self, contraction: float | np.ndarray, node: int | np.ndarray) -> float | np.ndarray:
        """μ_L = (1 − r)/(L + 1), the sequence that weakens the constraint on node L."""
        return (1.0 - contraction) / (node + 1)

    def slack(
        self, sums: Sums, residual_squares: np.ndarray, contraction: float | np.ndarray, node: int | np.ndarray
    ) -> np.ndarray:
        """ξ_{L,q}, from the decrease of the error if only the new output weight is evaluated."""
        required = 1.0 - contraction - self.weakening(contraction, node)
        return np.asarray(sums.decreases - required * residual_squares)


class Quadratic(Paper):
    """The paper's inequality with a sequence μ_L that decays faster: the first nodes must reduce the error more."""

    def weakening(self, contraction: float | np.ndarray, node: int | np.ndarray) -> float | np.ndarray:
        """μ_L = (1 − r)/(L + 1)²."""
        return (1.0 - contraction) / (node + 1) ** 2


class Orthogonal(Paper):
    """The paper's inequality for the decrease of the error that all re-evaluated output weights bring, ⟨e_q, v⟩²/‖v‖².

    It is satisfied if and only if ‖e_q‖² really becomes at most (r + μ_L)‖e_q‖², so it refuses fewer nodes. A search
    that does not know ‖v‖² proposes by ‖h‖².
    """

    def slack(
        self, sums: Sums, residual_squares: np.ndarray, contraction: float | np.ndarray, node: int | np.ndarray
    ) -> np.ndarray:
        """ξ_{L,q} with the remainder v of each candidate in place of h."""
        if sums.remainders is not None:
            sums = replace(sums, squares=sums.remainders)
        return super().slack(sums, residual_squares, contraction, node)


SUPERVISIONS: dict[str, type[Supervision]] = {"paper": Paper, "quadratic": Quadratic, "orthogonal": Orthogonal}


@dataclass(frozen=True)
class Inequality:
    """The inequality that every node of a network has to satisfy, for each output or for their sum.

    Attributes
    ----------
    supervision : Supervision
    together : bool
        Whether it is for the sum over the outputs rather than for each of them. With the paper's, adding a node then
        reduces Σ_q ‖e_q‖² to at most (r + μ_L) times what it was, which is all that the proof of Theorem 6 needs.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn.supervision import Inequality, Sums, admissible
    >>> e, H = np.array([3.0, 4.0]), np.array([[1.0, 1.0], [0.0, 1.0]])
    >>> sums = Sums(e[np.newaxis] @ H, (H**2).sum(axis=0))
    >>> slacks = Inequality().slack(sums, np.array([25.0]), contraction=0.5, node=1)
    >>> slacks
    array([[ 2.75, 18.25]])
    >>> admissible(slacks)
    array([ True,  True])
    """

    supervision: Supervision = field(default_factory=Paper)
    together: bool = False

    def slack(
        self, sums: Sums, residual_squares: np.ndarray, contraction: float | np.ndarray, node: int | np.ndarray
    ) -> np.ndarray:
        """ξ of the supervision, with ‖e_q‖² of shape (m,) or (m, T); their sum over the outputs if together.

        ValueError for a supervision that returns another shape, or NaN for sums that are finite.
        """
        squares = residual_squares.reshape(len(residual_squares), -1)
        slacks = np.asarray(self.supervision.slack(sums, squares, contraction, node))
        shape, name = sums.projections.shape, type(self.supervision).__name__
        if isinstance(contraction, np.ndarray):
            shape = (len(contraction), *shape)
        if slacks.shape not in (shape, sums.projections.shape):
            raise ValueError(
                f"{name}.slack returned an array of shape {slacks.shape} and must return {shape}: a number for "
                "each output and candidate, for each contraction if there are several."
            )
        slacks = slacks if slacks.shape == shape else np.broadcast_to(slacks, shape)
        if np.isnan(slacks).any() and np.isnan(slacks[..., np.isfinite(sums.squares)]).any():
            raise ValueError(f"{name}.slack returned NaN for node {np.max(node)}; it must return numbers.")
        return slacks.sum(axis=-2, keepdims=True) if self.together else slacks


# The paper's, for each output.
PAPER = Inequality()


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
