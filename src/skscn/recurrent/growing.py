"""Growth of a reservoir: candidates are simulated together, and the best that passes the inequality is accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from skscn.factor import Factor
from skscn.recurrent.later import Solve, solutions, windowed_solutions
from skscn.recurrent.nodes import RecurrentNodes, Segments, Style, block_states, candidate_states, draw, one_row_later
from skscn.supervision import SMALLEST_REMAINDER, SMALLEST_SUPPORT, Sums, slack

# Candidates are compared on at most this many rows, drawn at random; those accepted are judged on all of them.
MOST_ROWS = 2000
# Columns of the delay line that depend on the ones before are left out of the basis.
_DEPENDENT = 1e-9


@dataclass(frozen=True, eq=False)
class Course:
    """What a reservoir is grown on.

    Attributes
    ----------
    z : ndarray of shape (n, p)
        The delay line of all rows, of all sequences.
    targets : ndarray of shape (n, m)
        Scaled; only those of scored rows are used.
    rows : ndarray of int
        The rows that are scored: targets are known and the washout is over.
    segments : sequence of slices
        The sequences.
    """

    z: np.ndarray
    targets: np.ndarray
    rows: np.ndarray
    segments: Segments


@dataclass(frozen=True)
class AcceptedNodes:
    """What the acceptance of nodes in one step was like."""

    nodes: RecurrentNodes
    contraction: float
    slack: float
    candidates: int
    seconds: float


class Growing:
    """A growing reservoir with its states on all rows and an orthonormal basis of its columns on the scored rows.

    Columns are [1, z, states]; those of the delay line that depend on others are left out. All output weights are
    evaluated again with each node (SC-III), or those within a window of nodes (SC-II).
    """

    def __init__(
        self,
        course: Course,
        style: Style,
        contractions: tuple[float, ...],
        pool: int,
        most: int,
        window: int | None = None,
    ):
        n, width = course.z.shape
        self.course, self.style, self.contractions, self.pool, self.window = course, style, contractions, pool, window
        self.nodes = RecurrentNodes.empty(width)
        self._columns = np.empty((n, 1 + width + most), order="F")
        self._lagged = np.empty((n, most), order="F")
        self._basis = np.empty((len(course.rows), 1 + width + most), order="F")
        self.triangle = np.zeros((1 + width + most, 1 + width + most))
        self.size = 0
        self.residual = course.targets[course.rows].copy()
        self.base = np.array([j for j, column in enumerate([np.ones(n), *course.z.T]) if self._join_linear(column)])
        self.linear = self.size

    @property
    def columns(self) -> np.ndarray:
        """[1, z, states] on all rows."""
        return self._columns[:, : self.size]

    @property
    def states(self) -> np.ndarray:
        """States of all nodes on all rows."""
        return self._columns[:, self.linear : self.size]

    @property
    def kept(self) -> np.ndarray:
        """Which of all columns [1, z, s] the columns of the basis are."""
        return np.append(self.base, 1 + self.course.z.shape[1] + np.arange(len(self.nodes)))

    @property
    def lagged(self) -> np.ndarray:
        """The states one row before."""
        return self._lagged[:, : len(self.nodes)]

    @property
    def basis(self) -> np.ndarray:
        """Q on the scored rows."""
        return self._basis[:, : self.size]

    @property
    def rmse(self) -> float:
        """The error on the scored rows, in units of the scaled targets."""
        return float(np.sqrt((self.residual**2).mean()))

    def factor(self) -> Factor:
        """R and C of the scored rows; only the intercept is not penalised."""
        size, targets = self.size, self.course.targets[self.course.rows]
        coefficients = self.basis.T @ targets
        residual = self.residual if self.window is None else targets - self.basis @ coefficients
        return Factor(
            self.triangle[:size, :size].copy(), coefficients, (residual**2).sum(axis=0), float(len(targets)), 1
        )

    def solutions(self, factor: Factor, size: int, penalties: Sequence[float]) -> np.ndarray:
        """Output weights (penalties, size, m) of the first columns, by the rule of this network."""
        return rule(self.window, self.linear)(factor, size, penalties)

    def step(self, rng: np.random.Generator, count: int) -> AcceptedNodes | None:
        """Accept up to ``count`` nodes from one pool of candidates; None if no candidate passes."""
        start, course = perf_counter(), self.course
        candidates = draw(rng, self.pool, course.z.shape[1], len(self.nodes), self.style)
        places = np.arange(len(course.rows))
        if len(places) > MOST_ROWS:
            places = np.sort(rng.choice(places, MOST_ROWS, replace=False))
        columns = candidate_states(course.z, self.lagged, candidates, course.segments, course.rows[places])
        chosen = self._ranked(columns, places, count)
        return self._accept(candidates.take(chosen), start) if len(chosen) else None

    def _accept(self, block: RecurrentNodes, start: float) -> AcceptedNodes | None:
        """Accept those of the chosen candidates that pass, judged by their exact states."""
        states = block_states(self.course.z, self.lagged, block, self.course.segments)
        accepted, terms = [], []
        for j in np.flatnonzero(block.has_echo_state()):
            judged = self._judge(states[:, j])
            if judged is not None:
                accepted.append(j)
                terms.append(judged)
        if not accepted:
            return None
        joined = block.take(np.array(accepted))
        self._note(joined, states[:, accepted])
        contraction, slacks = max(term[0] for term in terms), min(term[1] for term in terms)
        return AcceptedNodes(joined, contraction, slacks, self.pool, perf_counter() - start)

    def repeat(self, nodes: RecurrentNodes) -> None:
        """Add nodes that were accepted before, with the same result."""
        states = block_states(self.course.z, self.lagged, nodes, self.course.segments)
        for column in states.T:
            remainder, shares, norm = self._orthogonal(column[self.course.rows])
            moved, length = self._moved(column[self.course.rows], remainder, norm)
            self._join(column, remainder / norm, shares, norm, moved / length)
        self._note(nodes, states)

    def _note(self, nodes: RecurrentNodes, states: np.ndarray) -> None:
        before = len(self.nodes)
        self._lagged[:, before : before + len(nodes)] = one_row_later(states, self.course.segments)
        self.nodes = RecurrentNodes.joined([self.nodes, nodes])

    def _judge(self, states: np.ndarray) -> tuple[float, float] | None:
        """Add a column if it satisfies the inequality; return r and the slack."""
        remainder, shares, norm = self._orthogonal(states[self.course.rows])
        if norm <= SMALLEST_REMAINDER * np.sqrt((shares**2).sum()):
            return None
        moved, length = self._moved(states[self.course.rows], remainder, norm)
        sums = Sums((self.residual.T @ moved)[:, np.newaxis], np.array([length**2]))
        squares = (self.residual**2).sum(axis=0)
        for contraction in self.contractions:
            found = slack(sums, squares, contraction, len(self.nodes) + 1, together=True)
            if found[0, 0] >= 0.0:
                self._join(states, remainder / norm, shares, norm, moved / length)
                return contraction, float(found[0, 0])
        return None

    def _ranked(self, columns: np.ndarray, places: np.ndarray, count: int) -> np.ndarray:
        """The candidates that lower the error on these of the scored rows most, each after those before it."""
        usable = np.flatnonzero(_supported(columns))
        remainders, basis, residual = columns[:, usable], self._solved()[places], self.residual[places]
        smallest = SMALLEST_REMAINDER**2 * np.einsum("ij,ij->j", remainders, remainders)
        if len(places) < len(self.residual):
            basis, _ = np.linalg.qr(basis)
        remainders -= basis @ (basis.T @ remainders)
        norms = np.einsum("ij,ij->j", remainders, remainders)
        falls, chosen = residual.T @ remainders, []
        for _ in range(min(count, len(usable))):
            squares = (falls**2).sum(axis=0)
            scores = np.divide(squares, norms, out=np.zeros_like(squares), where=norms > smallest)
            best = int(scores.argmax())
            if scores[best] <= 0.0:
                break
            chosen.append(int(usable[best]))
            shares = remainders[:, best] @ remainders / norms[best]
            falls = falls - np.outer(falls[:, best], shares)
            norms, smallest[best] = norms - shares**2 * norms[best], np.inf
            remainders -= np.outer(remainders[:, best], shares)
        return np.array(chosen, dtype=int)

    def _join_linear(self, column: np.ndarray) -> bool:
        remainder, shares, norm = self._orthogonal(column[self.course.rows])
        independent = bool(norm > _DEPENDENT * np.sqrt((shares**2).sum() + norm**2))
        if independent:
            self._join(column, remainder / norm, shares, norm, remainder / norm)
        return independent

    def _orthogonal(self, column: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """What the basis leaves of a column, its shares in the basis, and its norm; twice is enough."""
        basis = self.basis
        shares = basis.T @ column
        remainder = column - basis @ shares
        again = basis.T @ remainder
        remainder -= basis @ again
        return remainder, shares + again, float(np.sqrt(remainder @ remainder))

    def _moved(self, column: np.ndarray, remainder: np.ndarray, norm: float) -> tuple[np.ndarray, float]:
        """What the columns that are solved for with this one leave of it, along which the output moves; its norm."""
        if self.window is None:
            return remainder, norm
        basis = self._solved()
        moved = column - basis @ (basis.T @ column)
        return moved, float(np.sqrt(moved @ moved))

    def _solved(self) -> np.ndarray:
        """An orthonormal basis of the columns that are solved for together with the next one."""
        if self.window is None:
            return self.basis
        first = max(self.linear, self.size + 1 - self.window)
        return np.asarray(self.basis @ np.linalg.qr(self.triangle[: self.size, first : self.size])[0])

    def _join(
        self, column: np.ndarray, direction: np.ndarray, shares: np.ndarray, norm: float, along: np.ndarray
    ) -> None:
        size = self.size
        self._columns[:, size] = column
        self._basis[:, size] = direction
        self.triangle[:size, size], self.triangle[size, size] = shares, norm
        self.size += 1
        self.residual -= np.outer(along, along @ self.residual)


def rule(window: int | None, linear: int) -> Solve:
    """How output weights follow from a factor whose first columns are linear: SC-III, or SC-II with a window."""
    if window is None:
        return solutions

    def windowed(factor: Factor, size: int, penalties: Sequence[float]) -> np.ndarray:
        return np.repeat(windowed_solutions(factor, size, linear, window)[np.newaxis], len(penalties), axis=0)

    return windowed


def _supported(columns: np.ndarray) -> np.ndarray:
    """Whether each candidate varies, and not only on a handful of rows (participation ratio)."""
    centred = columns - columns.mean(axis=0)
    centred *= centred
    squares, quartics = centred.sum(axis=0), np.einsum("ij,ij->j", centred, centred)
    return np.asarray((squares > 0.0) & (squares**2 >= SMALLEST_SUPPORT * len(columns) * quartics))
