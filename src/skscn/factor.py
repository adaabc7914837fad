"""Least squares in a small triangular factor: regularised, and extended by further rows, without the rows seen before.

With the columns H = QR of all rows and C = QᵀT, ‖T − Hβ‖² is ‖C − Rβ‖² plus a constant. So R, C and that constant are
all that is needed of the rows: the ridge problem min ‖T − Hβ‖² + α‖β‖² is min ‖C − Rβ‖² + α‖β‖², and further rows are
appended below R. Linear columns, which come first, are not penalised; they fit whatever the nodes leave, so the nodes'
weights solve the same problem with the last rows and columns of R and C alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack, lstsq, qr, solve_triangular, svd

# From no regularisation to weights of almost 0, relative to the largest squared singular value of R.
_SMALLEST, _LARGEST, _COUNT = 1e-16, 1.0, 65
# Columns that LAPACK updates together when rows join a triangle.
_PANEL = 16
# The share of a column, next to those before it, below which it depends on them as far as float64 can tell.
_DEPENDENT = 1e-13


@dataclass(frozen=True, eq=False)
class Factor:
    """All that is needed of the rows to evaluate the output weights of their columns.

    Attributes
    ----------
    triangle, coefficients : ndarray of shape (k, k) and (k, m)
        R, upper triangular, and C.
    residual_squares : ndarray of shape (m,)
        ‖T − Hβ‖² of the least-squares solution.
    weight : float
        N, or the sum of the weights of the rows.
    linear : int
        How many of the columns, the first ones, are linear.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn.factor import Factor
    >>> rng = np.random.default_rng(0)
    >>> H, T = rng.normal(size=(50, 3)), rng.normal(size=(50, 1))
    >>> factor = Factor.empty(n_columns=3, n_outputs=1).with_rows(H[:20], T[:20]).with_rows(H[20:], T[20:])
    >>> np.allclose(factor.output_weights(), np.linalg.lstsq(H, T, rcond=None)[0])
    True
    """

    triangle: np.ndarray
    coefficients: np.ndarray
    residual_squares: np.ndarray
    weight: float
    linear: int = 0

    @classmethod
    def empty(cls, n_columns: int, n_outputs: int, linear: int = 0) -> Factor:
        """Of no rows."""
        shape = (n_columns, n_outputs)
        return cls(np.zeros((n_columns, n_columns)), np.zeros(shape), np.zeros(n_outputs), 0.0, linear)

    def with_rows(self, H: np.ndarray, T: np.ndarray, roots: np.ndarray | None = None, keep: float = 1.0) -> Factor:
        """The factor of the rows so far, each with ``keep`` times its weight, and of further rows.

        Parameters
        ----------
        H, T : ndarray of shape (n, k) and (n, m)
            Columns and scaled targets of the further rows.
        roots : ndarray of shape (n,) or None
            The square roots of their weights.
        keep : float
            The share of its weight that every earlier row keeps; below 1 they are gradually forgotten.
        """
        p = np.ones(len(H)) if roots is None else roots
        above = np.sqrt(keep) * np.hstack([self.triangle, self.coefficients])
        size, outputs = self.coefficients.shape
        stacked = np.vstack([above, p[:, np.newaxis] * np.hstack([H, T])])
        (triangle,) = qr(np.pad(stacked, ((0, max(0, size + outputs - len(stacked))), (0, 0))), mode="r")
        signs = _signs(triangle[:size, :size])
        left = triangle[size : size + outputs, size:]
        return Factor(
            signs * triangle[:size, :size],
            signs * triangle[:size, size:],
            keep * self.residual_squares + np.einsum("ij,ij->j", left, left),
            keep * self.weight + float(p @ p),
            self.linear,
        )

    def joined(self, H: np.ndarray, T: np.ndarray, roots: np.ndarray | None = None) -> Factor:
        """As :meth:`with_rows`, for rows that come in small parts: n rows take O(nk²) rather than O((n + k)k²).

        Householder reflections of the triangle and the rows below it, so it is as accurate; last bits may differ.
        """
        if roots is not None:
            H, T = roots[:, np.newaxis] * H, roots[:, np.newaxis] * T
        weight = self.weight + (len(H) if roots is None else float(roots @ roots))
        triangle, coefficients, left = self.triangle, self.coefficients, T
        if len(triangle) and len(H):
            triangle, reflections, blocks, _ = lapack.dtpqrt(0, min(_PANEL, len(triangle)), triangle, H)
            coefficients, left, _ = lapack.dtpmqrt(0, reflections, blocks, coefficients, T, side="L", trans="T")
            signs = _signs(triangle)
            triangle, coefficients = signs * triangle, signs * coefficients
        squares = self.residual_squares + np.einsum("ij,ij->j", left, left)
        return Factor(triangle, coefficients, squares, weight, self.linear)

    def merged(self, later: Factor, keep: float = 1.0) -> Factor:
        """The factor of two sets of rows, of which the first ones have ``keep`` times their weight."""
        root = np.sqrt(keep)
        both = replace(self, triangle=root * self.triangle, coefficients=root * self.coefficients).joined(
            later.triangle, later.coefficients
        )
        # The second set counts for its rows, and not for those of its triangle; what it leaves is added.
        left = both.residual_squares - self.residual_squares
        squares = keep * self.residual_squares + left + later.residual_squares
        return replace(both, residual_squares=squares, weight=keep * self.weight + later.weight)

    def squared_error(self, beta: np.ndarray) -> float:
        """‖T − Hβ‖² of these rows, over all outputs."""
        return float(((self.coefficients - self.triangle @ beta) ** 2).sum() + self.residual_squares.sum())

    def solution(self, shares: np.ndarray | None = None) -> np.ndarray:
        """β of shape (k, m), whatever the columns; those that depend on others get the weights of smallest norm.

        With shares, each direction counts for its share, as in an average over numbers of nodes.
        """
        coefficients = self.coefficients if shares is None else shares[:, np.newaxis] * self.coefficients
        if not len(self.triangle):
            return coefficients
        if self._is_dependent:
            found: np.ndarray = lstsq(self.triangle, coefficients, cond=_DEPENDENT)[0]
            return found
        solved: np.ndarray = lapack.dtrtrs(self.triangle, coefficients)[0]
        return solved

    def directions(self) -> np.ndarray:
        """R⁻¹ of shape (k, k): along its columns the output moves by C, one column of H after the other."""
        if self._is_dependent:
            raise ValueError("The columns depend on each other, so the network has no stages with fewer nodes.")
        size = len(self.triangle)
        inverse: np.ndarray = solve_triangular(self.triangle, np.eye(size)) if size else self.triangle
        return inverse

    @property
    def _is_dependent(self) -> bool:
        """Whether some column is a combination of those before it, which leave almost nothing of it on the diagonal."""
        squares = np.einsum("ij,ij->j", self.triangle, self.triangle)
        return bool((self.triangle.diagonal() ** 2 <= _DEPENDENT**2 * squares).any())

    def output_weights(self, alpha: float = 0.0) -> np.ndarray:
        """β of shape (k, m)."""
        if alpha > 0.0:
            return self.regularised(alpha).output_weights()
        return solve_triangular(self.triangle, self.coefficients) if len(self.triangle) else self.coefficients

    def regularised(self, alpha: float) -> Factor:
        """R and C of the problem with the rows √α β = 0 below it, whose least-squares solution is that of ridge.

        Its first k columns are the ridge problem of the first k nodes, so every prefix of the network is solved as
        well.
        """
        size = len(self.triangle)
        below = np.eye(size - self.linear, size, k=self.linear) * np.sqrt(alpha)
        rotation, triangle = qr(np.vstack([self.triangle, below]), mode="economic")
        signs = _signs(triangle)
        coefficients = (signs[:, 0] * rotation[:size]).T @ self.coefficients
        return replace(self, triangle=signs * triangle, coefficients=coefficients)

    def cross_validated(self) -> float:
        """α that minimises generalised cross-validation, mean squared error over (1 − degrees of freedom/N)²."""
        linear = self.linear
        if len(self.triangle) == linear:
            return 0.0
        left, singular, _ = svd(self.triangle[linear:, linear:])
        explained = (left.T @ self.coefficients[linear:]) ** 2
        squares = singular**2
        alphas = np.append(0.0, squares[0] * np.geomspace(_SMALLEST, _LARGEST, _COUNT))
        # Directions in which no row has anything stay out, without a penalty too.
        kept = np.divide(
            squares, squares + alphas[:, np.newaxis], out=np.zeros((_COUNT + 1, len(squares))), where=squares > 0.0
        )
        errors = self.residual_squares.sum() + ((1.0 - kept) ** 2 @ explained).sum(axis=1)
        rest = 1.0 - (linear + kept.sum(axis=1)) / self.weight
        scores = np.divide(errors, rest**2, out=np.full_like(errors, np.inf), where=rest > 0.0)
        return float(alphas[scores.argmin()])

    def smoother(self, alpha: float) -> np.ndarray:
        """M of shape (k, k), with which the ridge solution fits Q M C where least squares fits Q C."""
        matrix, linear = np.eye(len(self.triangle)), self.linear
        left, singular, _ = svd(self.triangle[linear:, linear:])
        matrix[linear:, linear:] = (left * (singular**2 / (singular**2 + alpha))) @ left.T
        return matrix

    def leading(self, size: int) -> Factor:
        """The factor of the first columns."""
        left = self.residual_squares + (self.coefficients[size:] ** 2).sum(axis=0)
        return replace(
            self,
            triangle=self.triangle[:size, :size],
            coefficients=self.coefficients[:size],
            residual_squares=left,
            linear=min(self.linear, size),
        )

    def standardised(self) -> tuple[Factor, np.ndarray]:
        """The factor of columns divided by what linear ones leave of their standard deviation, and these divisors."""
        inner = self.triangle[self.linear :, self.linear :]
        units = np.append(np.ones(self.linear), np.sqrt((inner**2).sum(axis=0) / self.weight))
        units[units == 0.0] = 1.0
        return replace(self, triangle=self.triangle / units), units

    def ridge_path(self, penalties: Sequence[float]) -> np.ndarray:
        """β of shape (penalties, k, m), for each penalty per row of the weights of standardised columns."""
        (scaled, units), linear = self.standardised(), self.linear
        left, singular, right = svd(scaled.triangle[linear:, linear:], full_matrices=False)
        turned, alphas = left.T @ self.coefficients[linear:], self.weight * np.reshape(penalties, (-1, 1))
        kept = np.divide(
            singular, singular**2 + alphas, where=singular > 0.0, out=np.zeros((len(alphas), len(singular)))
        )
        inner = right.T @ (kept[:, :, np.newaxis] * turned)
        known = self.coefficients[:linear] - scaled.triangle[:linear, linear:] @ inner
        first = np.linalg.solve(scaled.triangle[:linear, :linear], known)
        return np.concatenate([first, inner], axis=1) / units[:, np.newaxis]

    def paths(
        self, sizes: Sequence[int], penalties: Sequence[float], window: int | None, linear: int
    ) -> list[np.ndarray]:
        """For each size, β of shape (penalties, size, m) of the first columns.

        Without a window for each penalty by ridge (SC-III); with one as :meth:`windowed`, which has no penalty.
        """
        leading = [self.leading(size) for size in sizes]
        if window is None:
            return [factor.ridge_path(penalties) for factor in leading]
        return [np.repeat(factor.windowed(linear, window)[np.newaxis], len(penalties), axis=0) for factor in leading]

    def degrees_of_freedom(self, penalty: float) -> float:
        """Those of output weights on the ridge path."""
        scaled, _ = self.standardised()
        squares = svd(scaled.triangle[self.linear :, self.linear :], compute_uv=False) ** 2
        squares = squares[squares > 0.0]
        return self.linear + float((squares / (squares + penalty * self.weight)).sum())

    def windowed(self, linear: int, window: int) -> np.ndarray:
        """β of shape (k, m) by Algorithm SC-II (SC-I with a window of 1), with R and C in place of columns and targets.

        The first ``linear`` columns are solved for together; each column after them is then solved for with those
        before it that are within the window, and the others stay as they are.
        """
        left, size = self.coefficients.copy(), len(self.triangle)
        weights = np.zeros_like(left)
        for end in range(min(linear, size), size + 1):
            part = slice(0 if end <= linear else max(linear, end - window), end)
            change = lstsq(self.triangle[:end, part], left[:end])[0]
            weights[part] += change
            left[:end] -= self.triangle[:end, part] @ change
        return weights


def _signs(triangle: np.ndarray) -> np.ndarray:
    """The signs, as a column, that make a diagonal positive, as in growth."""
    return np.where(triangle.diagonal() < 0.0, -1.0, 1.0)[:, np.newaxis]
