"""The lag search: a few earlier values that explain the target, found in early rows and judged on later ones.

Forward selection by orthogonal least squares: at each step, the column enters that explains most of what is left of the
target. Like the LASSO on lagged inputs (hybrid regularisation of recurrent SCNs, arXiv:2412.00070), it finds a sparse
linear model. Products of two columns compete as well, for the price of a matrix product, so that lags are found that
act only together or through their square.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skscn.series._terms import LagTerm, Past, are_complete, last_known

# The share of the rows, the last ones, on which the number of lags is decided.
LATER = 0.25
# The fewest rows to search in.
FEWEST_ROWS = 40
# The smallest number of lags is used whose error on later rows is at most this much larger than the smallest error: by
# this share of it, or by this number of standard errors of the difference, taken over stretches of time.
_TOLERANCE = 0.02
_STANDARD_ERRORS = 1.0
_STRETCHES = 20
# Steps without a smaller error after which the search ends, and the most steps.
_PATIENCE = 4
_MOST_STEPS = 60
# The part of a column that must be new for it to enter.
_LEAST_NEW = 1e-3
# Targets further from the median than this number of robust standard deviations are brought nearer before the search.
_FAR = 6.0
# A season is looked for that the series have at least this number of times, and found if changes have at least this
# autocorrelation; lags with this share of the highest one are as good.
_SEASONS, _REPEATED, _NEARLY = 4, 0.3, 0.9
_TINY = np.finfo(float).tiny
# Candidates whose products are looked at: all, or the ones that explain most on their own.
_MOST_PAIRED = 1000


@dataclass(frozen=True)
class Candidates:
    """Rows in which to search.

    Attributes
    ----------
    current : ndarray of shape (n, d)
        The inputs, and columns that are added in any case.
    columns : ndarray of shape (n, p)
        Those that may be added.
    terms : list of LagTerm
        What the p columns are.
    targets : ndarray of shape (n, m)
    later : ndarray of bool, shape (n,)
        The rows that judge.
    """

    current: np.ndarray
    columns: np.ndarray
    terms: list[LagTerm]
    targets: np.ndarray
    later: np.ndarray

    @classmethod
    def of(cls, past: Past, terms: list[LagTerm], given: list[LagTerm], targets: np.ndarray) -> Candidates:
        """Rows of a sequence that have a target and of which all earlier values are known."""
        usable = are_complete(past, [*terms, *given]) & ~np.isnan(targets).any(axis=1)
        current = np.column_stack([past.inputs[past.before :], *(term.values(past) for term in given)])
        columns = np.column_stack([term.values(past) for term in terms])
        later = np.arange(usable.sum()) >= (1.0 - LATER) * usable.sum()
        return cls(current[usable], columns[usable], terms, targets[usable], later)

    @classmethod
    def together(cls, several: list[Candidates]) -> Candidates:
        """The rows of several sequences."""
        current, columns, targets, later = (
            np.concatenate([getattr(one, name) for one in several])
            for name in ("current", "columns", "targets", "later")
        )
        return cls(current, columns, several[0].terms, targets, later)


def find_terms(candidates: Candidates, most: int) -> list[LagTerm]:
    """The terms worth adding, at most ``most``."""
    search = LagSearch(candidates)
    tried = [(0, search.errors())]
    while len(search.chosen) < most and not _exhausted([float(errors.mean()) for _, errors in tried]):
        if not search.step():
            break
        tried.append((len(search.chosen), search.errors()))
    best = min((errors for _, errors in tried), key=np.mean)
    fewest = min(size for size, errors in tried if _is_as_good(errors, best))
    return sorted(candidates.terms[place] for place in search.chosen[: min(fewest, most)])


def find_season(targets: list[np.ndarray], shortest: int) -> int | None:
    """The lag, of at least ``shortest`` rows, at which changes of the target repeat themselves; None if there is none.

    The autocorrelation of the differences from row to row, which neither a trend nor a level that wanders disturbs, in
    the early rows of the series (n, m): the search decides on later ones whether the lag is worth adding.
    """
    longest = max(map(len, targets)) // _SEASONS
    if longest <= shortest:
        return None
    sums = np.zeros(longest + 1)
    for series in targets:
        changes = np.nan_to_num(np.diff(last_known(series[: round((1.0 - LATER) * len(series))]), axis=0))
        changes -= changes.mean(axis=0)
        spectrum = np.fft.rfft(changes, 2 * len(changes), axis=0)
        own = np.fft.irfft(np.abs(spectrum) ** 2, axis=0)[: longest + 1] / np.maximum(np.sum(changes**2, axis=0), _TINY)
        sums[: len(own)] += len(series) * own.mean(axis=1)
    # Fewer pairs of rows are as far apart as that.
    rows = sum(map(len, targets))
    found = sums / rows / (1.0 - np.arange(longest + 1) / rows)
    # Multiples of a season repeat it as well: the first peak that is nearly as high as the highest one.
    season = shortest + int((found[shortest:] >= _NEARLY * found[shortest:].max()).argmax())
    while season < longest and found[season + 1] > found[season]:
        season += 1
    return season if found[season] >= _REPEATED else None


def _exhausted(errors: list[float]) -> bool:
    """Whether the error has not become smaller for some steps."""
    return len(errors) - int(np.argmin(errors)) > _PATIENCE or len(errors) >= _MOST_STEPS


def _is_as_good(errors: np.ndarray, best: np.ndarray) -> bool:
    """Whether the mean of squared errors, in stretches of time, is as small as the best one or nearly so."""
    differences = errors - best
    deviation = float(np.std(differences)) / np.sqrt(max(len(differences) - 1, 1))
    return bool(differences.mean() <= max(_TOLERANCE * best.mean(), _STANDARD_ERRORS * deviation))


class LagSearch:
    """The columns chosen so far, and what they leave of the targets in early and in later rows."""

    def __init__(self, candidates: Candidates):
        early = ~candidates.later
        self.n_current = candidates.current.shape[1]
        columns = np.column_stack([candidates.current, candidates.columns])
        self.early, self.later = _standardised(columns, early)
        targets, self.truth = _standardised(_without_outliers(candidates.targets, early), early)
        self.chosen: list[int] = []
        constant = np.ones((len(self.early), 1))
        self.basis = _orthonormal(np.column_stack([constant, self.early[:, : self.n_current]]))
        self.used = [constant, *self.early[:, : self.n_current].T[:, :, np.newaxis]]
        ones = np.ones((len(self.later), 1))
        self.used_later = [ones, *self.later[:, : self.n_current].T[:, :, np.newaxis]]
        self.targets = targets
        self.residual = self._remainder(targets)
        self.free = self._remainder(self.early[:, self.n_current :])
        self.paired = self._paired()
        squares = self.early[:, self.paired] ** 2
        self.pair_norms = np.maximum(squares.T @ squares, np.finfo(float).tiny)

    def _paired(self) -> np.ndarray:
        """The columns whose products are looked at."""
        width = self.early.shape[1]
        if width <= _MOST_PAIRED:
            return np.arange(width)
        n_current = min(self.n_current, _MOST_PAIRED // 2)
        best = np.argsort(-self._gains())[: _MOST_PAIRED - n_current]
        return np.concatenate([np.arange(n_current), self.n_current + np.sort(best)])

    def _remainder(self, columns: np.ndarray) -> np.ndarray:
        for _ in range(2):
            columns = columns - self.basis @ (self.basis.T @ columns)
        return columns

    def _gains(self) -> np.ndarray:
        """What each candidate would explain of the residual."""
        norms = np.sum(self.free**2, axis=0)
        new = norms > _LEAST_NEW * len(self.free)
        gains = np.sum((self.residual.T @ self.free) ** 2, axis=0) / np.where(new, norms, 1.0)
        left: np.ndarray = np.where(new, gains, 0.0)
        return left

    def _best_pair(self) -> tuple[float, int, int]:
        """What the best product of two columns would explain, and which two they are."""
        some = self.early[:, self.paired]
        gains = sum((some.T @ (residual[:, np.newaxis] * some)) ** 2 for residual in self.residual.T) / self.pair_norms
        first, second = np.unravel_index(int(np.argmax(gains)), self.pair_norms.shape)
        return float(gains[first, second]), int(self.paired[first]), int(self.paired[second])

    def step(self) -> bool:
        """Add the best column; False if none is left that explains anything."""
        gains = self._gains()
        gain, first, second = self._best_pair()
        best = int(np.argmax(gains))
        if max(gain, gains[best]) <= 0.0:
            return False
        if gains[best] >= gain:
            self._choose(best)
            return True
        # Not again: what a product leaves after the columns in use is not known, only its whole length is.
        places = [int(np.flatnonzero(self.paired == place)[0]) for place in (first, second)]
        self.pair_norms[places, places[::-1]] = np.inf
        product = (columns[:, [first]] * columns[:, [second]] for columns in (self.early, self.later))
        self._use(*product)
        lags = [place - self.n_current for place in (first, second) if place >= self.n_current]
        for place in dict.fromkeys(lags):
            if place not in self.chosen:
                self._choose(place)
        return True

    def _choose(self, place: int) -> None:
        self.chosen.append(place)
        column = [self.n_current + place]
        self._use(self.early[:, column], self.later[:, column])

    def _use(self, early: np.ndarray, later: np.ndarray) -> None:
        """Project on a column too, if it is new."""
        rest = self._remainder(early)
        norm = np.linalg.norm(rest)
        if norm**2 <= _LEAST_NEW * np.sum(early**2):
            return
        direction = rest / norm
        self.basis = np.column_stack([self.basis, direction])
        self.used.append(early)
        self.used_later.append(later)
        self.residual = self.residual - direction @ (direction.T @ self.residual)
        self.free = self.free - direction @ (direction.T @ self.free)

    def errors(self) -> np.ndarray:
        """The mean squared errors in stretches of the later rows."""
        weights = np.linalg.lstsq(np.hstack(self.used), self.targets, rcond=None)[0]
        squares = np.mean((self.truth - np.hstack(self.used_later) @ weights) ** 2, axis=1)
        return np.array([part.mean() for part in np.array_split(squares, min(_STRETCHES, len(squares)))])


def _standardised(columns: np.ndarray, early: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Early and later rows, centred and scaled by the early ones."""
    known = columns[early]
    spread = known.std(axis=0)
    scaled = (columns - known.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    return scaled[early], scaled[~early]


def _without_outliers(targets: np.ndarray, early: np.ndarray) -> np.ndarray:
    """Targets clipped to the range of ordinary ones, so that a few outliers do not hide what the others depend on."""
    median = np.median(targets[early], axis=0)
    scale = 1.4826 * np.median(np.abs(targets[early] - median), axis=0)
    reach = np.where(scale > 0.0, _FAR * scale, np.inf)
    clipped: np.ndarray = np.clip(targets, median - reach, median + reach)
    return clipped


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    """An orthonormal basis of columns that may depend on each other."""
    basis, values, _ = np.linalg.svd(columns, full_matrices=False)
    return basis[:, values > 1e-10 * values[0]]
