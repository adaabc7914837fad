"""One pool of candidates over all scopes, scored by what is new in them; the best of them polished.

The paper's score ⟨e, h⟩²/‖h‖² is how far the squared error falls if only the new output weight is evaluated. Where all
are, it falls by ⟨e, v⟩²/‖v‖², with v the part of h orthogonal to the nodes that are there (Chen, Billings and Luo,
1989): never less, and what is searched for here. Scopes are drawn log-uniformly, and the bias is placed so that the
node's transition passes through a random row. Candidates are screened, and polished by a
few quasi-Newton steps, on a sample of the rows; a node still has to pass the supervisory inequality on all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from skscn.activations import Activation
from skscn.configuration._base import Configuration, Proposal
from skscn.rows import Rows, Sample
from skscn.scaling import weighted_quantiles
from skscn.supervision import SMALLEST_MEAN_SQUARE, admissible, slack

# Rows to search on, and numbers in them; with very many inputs there are fewer rows.
_SAMPLE = 2000
_LARGEST_SAMPLE = 4_000_000
# Up to so many rows, transitions are placed at quantiles of the rows along the direction, which depend neither on the
# order of the rows nor on whether a row is given twice or with weight 2; beyond, through a random row, as is cheaper.
_FEW_ROWS = 256
# Inputs of a sparse direction; half of the directions are dense.
_SPARSE = 3
# At least so many rows, or this share of them, must carry what is new in a node.
_FEWEST_ROWS, _SMALLEST_SHARE = 5, 0.01
# Candidates whose contractions are found in one pass over the rows.
_BATCH = 8
# With fewer rows there is little to climb on but their noise.
_ENOUGH_TO_POLISH = 100
# A weak pull of polished weights towards 0, relative to the largest scope.
_PULL = 1e-4


class Pooled(Configuration):
    """The best of one pool, by the orthogonalised score."""

    scaling = "robust"
    direct_link = True
    early_stopping = True
    bounded = True
    # Candidates to polish, and quasi-Newton steps for each; fewer on a sample, lest they fit the sample only.
    polished = 0
    steps = 0
    steps_on_sample = 0

    def propose(self, rows: Rows, node: int, rng: np.random.Generator, count: int) -> Iterator[Proposal]:
        """Candidates one by one, polished ones first, each with the smallest contraction that it fulfils on all rows.

        With several outputs the best candidate often fails the inequality for one of them; then the next ones follow.
        """
        search = _Search.on(rows, rng)
        weights, biases, scopes = draw_by_data(search.X, search.weights, self.scopes, self.max_candidates, rng)
        best_first, smallest = search.ranked(weights, biases)
        steps = self.steps if search.gram is None else self.steps_on_sample
        can_polish = rows.activation.derivative is not None and search.total >= _ENOUGH_TO_POLISH
        for j in best_first[: self.polished * count if can_polish else 0]:
            pull = _PULL / max(self.scopes) ** 2
            weight, bias = search.polish(weights[:, j], float(biases[j]), steps, pull, smallest)
            yield from self._admissible(rows, weight[:, np.newaxis], np.array([bias]), scopes[[j]], node)
        for start in range(0, len(best_first), _BATCH * count):
            batch = best_first[start : start + _BATCH * count]
            yield from self._admissible(rows, weights[:, batch], biases[batch], scopes[batch], node)

    def _admissible(
        self, rows: Rows, weights: np.ndarray, biases: np.ndarray, scopes: np.ndarray, node: int
    ) -> Iterator[Proposal]:
        """Those of these candidates that fulfil the inequality with one of the contractions, in their order."""
        judged, fulfilled = None, np.zeros((0, 0))
        for j in range(len(biases)):
            # Once a candidate has been accepted, the residual is another one.
            if judged is not rows.residual_squares:
                judged = rows.residual_squares
                sums = rows.sums(weights, biases)
                fulfilled = np.array([admissible(slack(sums, judged, r, node)) for r in self.contractions])
            if fulfilled[:, j].any():
                contraction = self.contractions[int(fulfilled[:, j].argmax())]
                yield Proposal(weights[:, [j]], biases[[j]], float(scopes[j]), contraction, self.max_candidates)


def draw_by_data(
    X: np.ndarray,
    weights_of_rows: np.ndarray | None,
    scopes: tuple[float, ...],
    count: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights (d, count), biases and scopes of candidates whose transitions lie among the rows of X."""
    d = X.shape[1]
    drawn = np.exp(rng.uniform(np.log(min(scopes)), np.log(max(scopes)), count))
    sparse = rng.random(count) < 0.5
    active = rng.random((d, count)) < np.where(sparse, min(1.0, _SPARSE / d), 1.0)
    active[rng.integers(0, d, count), np.arange(count)] = True
    weights = rng.uniform(-1.0, 1.0, (d, count)) * active * drawn
    shares = rng.random(count)
    if len(X) <= _FEW_ROWS:
        return weights, -weighted_quantiles(X @ weights, weights_of_rows, shares), drawn
    total = np.cumsum(np.ones(len(X)) if weights_of_rows is None else weights_of_rows)
    through = X[np.searchsorted(total, shares * total[-1])]
    return weights, -np.einsum("ij,ji->i", through, weights), drawn


@dataclass(frozen=True)
class _Search:
    """The rows to search on: scaled inputs, residual, and a basis of the columns that are there.

    The basis is orthonormal where ``gram`` is None; else that is the Cholesky factor of its Gram matrix.
    """

    X: np.ndarray
    residual: np.ndarray
    basis: np.ndarray
    gram: tuple[np.ndarray, bool] | None
    roots: np.ndarray | None
    activation: Activation

    @property
    def weights(self) -> np.ndarray | None:
        """Of the rows."""
        return None if self.roots is None else self.roots**2

    @property
    def total(self) -> float:
        """The sum of the weights: the number of rows, where they have none."""
        return float(len(self.X) if self.roots is None else self.roots @ self.roots)

    @classmethod
    def on(cls, rows: Rows, rng: np.random.Generator) -> _Search:
        """Search on all rows, or on a sample where there are many."""
        size = min(_SAMPLE, max(_FEW_ROWS, _LARGEST_SAMPLE // rows.n_features))
        everything = rows.n_rows <= size
        chosen = np.arange(rows.n_rows) if everything else rng.choice(rows.n_rows, size, replace=False)
        sample: Sample = rows.sample(chosen)
        gram = None
        if not everything and sample.basis.shape[1]:
            # Orthonormal over all rows is almost so over some of them, and its Gram matrix well conditioned; the shift
            # is for a column that hardly shows in the sample.
            product = sample.basis.T @ sample.basis
            gram = cho_factor(product + 1e-9 * np.trace(product) * np.eye(len(product)))
        search = cls(sample.X, sample.residual, sample.basis, gram, sample.roots, rows.activation)
        return search if gram is None else replace(search, residual=search.new_part(sample.residual))

    def columns(self, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
        h = self.activation.value(self.X @ weights + biases)
        return h if self.roots is None else h * self.roots[:, np.newaxis]

    def new_part(self, h: np.ndarray) -> np.ndarray:
        """What is left of columns when the basis is taken out."""
        projection = self.basis.T @ h
        if self.gram is not None:
            projection = cho_solve(self.gram, projection)
        return h - self.basis @ projection

    def is_carried(self, v: np.ndarray) -> np.ndarray:
        """Whether enough rows carry each column, by its participation ratio."""
        squares = v * v
        # Σ p u⁴ with u the column without its √p: a row of weight 2 counts as two rows.
        quartics = np.einsum("ij,ij->j", squares, squares if self.weights is None else squares / self.weights[:, None])
        needed = max(min(_FEWEST_ROWS, self.total / 4), _SMALLEST_SHARE * self.total)
        return squares.sum(axis=0) ** 2 >= needed * quartics

    def ranked(self, weights: np.ndarray, biases: np.ndarray) -> tuple[np.ndarray, float]:
        """Usable candidates, largest orthogonalised score first; and the smallest ‖h‖² that is not almost zero."""
        h = self.columns(weights, biases)
        v = self.new_part(h)
        squares = np.einsum("ij,ij->j", v, v)
        bound = self.activation.bound
        unit = bound**2 * self.total if np.isfinite(bound) else float(np.einsum("ij,ij->j", h, h).max())
        smallest = SMALLEST_MEAN_SQUARE * unit
        usable = (squares > 1e-2 * smallest) & self.is_carried(v)
        score = np.zeros(len(squares))
        np.divide(((self.residual.T @ h) ** 2).sum(axis=0), squares, out=score, where=usable)
        return np.argsort(-score, kind="stable")[: int(usable.sum())], smallest

    def polish(
        self, weight: np.ndarray, bias: float, steps: int, pull: float, smallest: float
    ) -> tuple[np.ndarray, float]:
        """A few quasi-Newton steps up the orthogonalised score; the start, if the result is carried by too few rows."""
        scale = float((self.residual**2).sum())
        if scale <= np.finfo(np.float64).tiny:
            # None of the rows searched on has an error left to climb on.
            return weight, bias
        found = minimize(
            self._loss,
            np.append(weight, bias),
            args=(pull, smallest / 4, scale),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": steps},
        ).x
        v = self.new_part(self.columns(found[:-1, np.newaxis], found[-1:]))
        return (found[:-1], float(found[-1])) if self.is_carried(v)[0] else (weight, bias)

    def _loss(self, point: np.ndarray, pull: float, floor: float, scale: float) -> tuple[float, np.ndarray]:
        """Minus the share of the squared error that the node takes away, and its gradient."""
        assert self.activation.derivative is not None
        z = self.X @ point[:-1] + point[-1]
        slope = self.activation.derivative(z)
        h = self.activation.value(z)
        if self.roots is not None:
            slope, h = slope * self.roots, h * self.roots
        v = self.new_part(h)
        # The floor keeps the score of a vanishing node from growing without bound.
        norm = v @ v + floor
        projections = h @ self.residual
        score = projections @ projections / norm
        moved = (2.0 / norm) * (self.residual @ projections - score * v) * slope
        gradient = np.append(self.X.T @ moved, moved.sum())
        value = -score / scale + pull * point[:-1] @ point[:-1]
        return value, -gradient / scale + 2.0 * pull * np.append(point[:-1], 0.0)
