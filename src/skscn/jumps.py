"""Jumps of a function along single inputs, found on some training rows; they become inputs 1[x > t] of a network.

Boosted trees of up to half of the rows say where jumps may be, and how high they are at the values of the other inputs.
The other rows, in a narrow window around such a place, confirm a jump: there a step explains their targets much
better than a polynomial of the input does. Along a slope, however steep, it no longer does in a part of the window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Rows and numbers that are enough, and rows of the first half; the number of rows below which a window is not narrow.
_MOST_ROWS, _MOST_NUMBERS, _MOST_FIRST, _FEWEST_ROWS = 30_000, 1_000_000, 10_000, 3000
# Bins of each input; trees, their depth, the share of a residual that a tree learns, and the least weight of a side.
_BINS, _TREES, _DEPTH, _RATE, _LEAST = 64, 15, 3, 0.5, 20
# The largest number of jumps.
_MOST_JUMPS = 12
# The share of the rows on each side of a window's centre, and their least number; the least numbers of rows of the
# other rows and of distinct values in it; and of rows on one side of a jump.
_SHARE, _ROWS, _FEWEST, _DISTINCT, _SIDE = 0.03, 120, 40, 16, 8
# The least share of the rows on each side of a jump, and of the targets' spread that it must explain.
_END, _MATTERS = 0.05, 0.03
# How many times the median of what a slope leaves counts at most.
_FAR = 6.0
# A jump must reduce n·log(squares) in its window, compared with a slope, by this much and twice log(rows).
_CLEARLY = 16.0
# In half of the window, with at least _PART rows on each side, it must do so by _AGAIN, and by an eighth of what is
# expected there; also in narrower parts with at least _NARROWEST rows on each side, as long as _STRONG is expected.
_PART, _AGAIN, _STRONG, _NARROWEST = 20, 4.0, 40.0, 6


class Jumps(NamedTuple):
    """The columns of jumps, and their thresholds t, both of shape (j,)."""

    columns: np.ndarray
    thresholds: np.ndarray

    def among(self, features: np.ndarray) -> Jumps:
        """Those along some columns, in increasing order, which are numbered anew."""
        known = np.isin(self.columns, features)
        return Jumps(np.searchsorted(features, self.columns[known]), self.thresholds[known])


NO_JUMPS = Jumps(np.zeros(0, dtype=np.int64), np.zeros(0))


def rows_needed(n_rows: int, n_columns: int) -> int:
    """How many of the rows are enough to find jumps; 0 if there are too few."""
    enough = min(_MOST_ROWS, _MOST_NUMBERS // n_columns, n_rows)
    return enough if enough >= _FEWEST_ROWS else 0


def find_jumps(X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None) -> Jumps:
    """The jumps that rows X with targets y confirm.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
    sample_weight : ndarray of shape (n,) or None
    """
    n_rows = len(X)
    if np.ptp(y) == 0.0:
        return NO_JUMPS
    order = np.random.default_rng(0).permutation(n_rows)
    X, y = X[order].astype(np.float64), y[order] - y.mean()
    p = np.ones(n_rows) if sample_weight is None else sample_weight[order]
    ordered, half = np.sort(X, axis=0), min(n_rows // 2, _MOST_FIRST)
    knots = ordered[np.arange(1, _BINS) * n_rows // _BINS]
    codes = np.empty(X.shape, dtype=np.intp)
    for column, (values, places) in enumerate(zip(X.T.copy(), knots.T, strict=True)):
        # Of so few knots, to count the smaller ones is faster than to search.
        codes[:, column] = sum((values > place for place in places), np.zeros(n_rows, dtype=np.uint8))
    y = y / np.abs(y).max()
    variance = float(np.var(y))
    trees = _Trees(codes[:half], y[:half], p[:half])
    X, y, p, codes = X[half:], y[half:], p[half:], codes[half:]
    reach = int(max(_SHARE * n_rows, _ROWS))
    windows, ends = list[tuple[int, np.ndarray]](), list[np.ndarray]()
    for column, cut in trees.cuts(2 * _MOST_JUMPS):
        centre, values = (cut + 1) * n_rows // _BINS, ordered[:, column]
        low, high = values[max(centre - reach, 0)], values[min(centre + reach, n_rows - 1)]
        rows = np.flatnonzero((X[:, column] >= low) & (X[:, column] <= high))
        rows = rows[np.argsort(X[rows, column], kind="stable")]
        if len(rows) >= _FEWEST and 1 + np.count_nonzero(np.diff(X[rows, column])) >= _DISTINCT:
            windows.append((column, rows))
            for end in (low, high):
                ends.append(codes[rows])
                ends[-1][:, column] = np.searchsorted(knots[:, column], end)
    if not windows:
        return NO_JUMPS
    levels = iter(np.split(trees.predict(np.concatenate(ends)), np.cumsum([len(rows) for rows in ends])[:-1]))
    found: list[tuple[int, float]] = []
    for column, rows in windows:
        before, after = next(levels), next(levels)
        window = X[rows, column], y[rows] - before, after - before, np.sqrt(p[rows])
        evidence, threshold = _jump(*window, degree=2)
        clear = evidence > _CLEARLY + 2.0 * np.log(n_rows)
        # A slope within the window is one within a part of it as well, if that is narrow enough.
        part, least = max(len(rows) // 4, _PART), _AGAIN
        while clear and part >= _NARROWEST and (expected := evidence * 2 * part / len(rows)) >= least:
            place = int(np.searchsorted(window[0], threshold))
            again, threshold = _jump(*(values[max(place - part, 0) : place + part] for values in window), degree=3)
            clear, part, least = again > max(_AGAIN, expected / 8.0), part // 2, _STRONG
        share = np.searchsorted(ordered[:, column], threshold, side="right") / n_rows
        matters = float(np.mean(window[2] ** 2)) * share * (1.0 - share) > _MATTERS**2 * variance
        known = [np.searchsorted(ordered[:, column], [other, threshold]) for number, other in found if number == column]
        if (
            clear
            and matters
            and _END <= share <= 1.0 - _END
            and all(abs(int(one) - int(other)) > reach for one, other in known)
        ):
            found.append((column, threshold))
    if not found:
        return NO_JUMPS
    columns, thresholds = zip(*sorted(found[:_MOST_JUMPS]), strict=True)
    return Jumps(np.array(columns, dtype=np.int64), np.array(thresholds))


def _jump(x: np.ndarray, e: np.ndarray, height: np.ndarray, root: np.ndarray, *, degree: int) -> tuple[float, float]:
    """How clearly rows in a window, sorted by x, follow a jump rather than a slope of some degree, and its threshold.

    Parameters
    ----------
    x, e : ndarray of shape (n,)
        Values of the input, and targets minus the level before the window.
    height : ndarray of shape (n,)
        The level after the window minus that before it, which depends on the other inputs.
    root : ndarray of shape (n,)
        Square roots of the weights.
    """
    u = (x - x[0]) / (x[-1] - x[0])
    e, height, constant = root * e, root * height, np.column_stack([root, root * u])
    along = np.column_stack([*(height * u**power for power in range(degree + 1)), constant])
    # A single target far away must not look like a jump.
    left = _left(along, e)
    far = _FAR * float(np.median(np.abs(left / root))) * root
    e = e - left + left.clip(-far, far)
    side = min(_SIDE, len(x) // 4)
    places = np.arange(side - 1, len(x) - side)
    places = places[x[places + 1] > x[places]]
    if not len(places):
        return 0.0, 0.0
    # A share of the height before each place, and another one after it.
    moved, squares = np.cumsum(e * height), np.cumsum(height**2) + 1e-300
    rest = squares[-1] - squares + 1e-300
    place = int(places[np.argmax((moved**2 / squares + (moved[-1] - moved) ** 2 / rest)[places])])
    passed = np.arange(len(x)) > place
    slope, jump = (
        float((_left(columns, e) ** 2).sum())
        for columns in (along, np.column_stack([height * ~passed, height * passed, constant]))
    )
    rounding = 1e-12 * float(e @ e) + 1e-300
    count = float((root**2).sum() ** 2 / (root**4).sum())
    return count * float(np.log((slope + rounding) / (jump + rounding))), float(
        x[place] + 0.5 * (x[place + 1] - x[place])
    )


def _left(columns: np.ndarray, e: np.ndarray) -> np.ndarray:
    """What least squares leaves."""
    left: np.ndarray = e - columns @ np.linalg.lstsq(columns, e, rcond=None)[0]
    return left


class _Trees:
    """Boosted trees on binned inputs, each level of which divides every node."""

    def __init__(self, codes: np.ndarray, y: np.ndarray, p: np.ndarray):
        (n_rows, d), width = codes.shape, codes.shape[1] * _BINS
        flat, starts = codes + np.arange(d) * _BINS, np.arange(0, codes.size, d)
        self._trees: list[tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]] = []
        # What each cut, the largest bin on its left, has gained.
        self._gains = np.zeros((d, _BINS))
        weights, left = np.repeat(p, d), y.copy()
        for _ in range(_TREES):
            node, levels, moved = np.zeros(n_rows, dtype=np.intp), [], np.repeat(p * left, d)
            for level in range(_DEPTH):
                shape = (2**level, d, _BINS)
                places = (flat + (node * width)[:, np.newaxis]).ravel()
                sums, counts = (
                    np.bincount(places, values, 2**level * width).reshape(shape).cumsum(axis=2)
                    for values in (moved, weights)
                )
                others, rest = sums[:, :, -1:] - sums, counts[:, :, -1:] - counts
                gains = sums**2 / np.maximum(counts, 1e-300) + others**2 / np.maximum(rest, 1e-300)
                gains -= sums[:, :, -1:] ** 2 / np.maximum(counts[:, :, -1:], 1e-300)
                gains[(counts < _LEAST) | (rest < _LEAST)] = 0.0
                best = gains.reshape(2**level, -1).argmax(axis=1)
                columns, cuts = np.divmod(best, _BINS)
                np.add.at(self._gains, (columns, cuts), gains.reshape(2**level, -1).max(axis=1))
                levels.append((columns, cuts))
                node = 2 * node + (codes.take(starts + columns.take(node)) > cuts[node])
            leaves = np.bincount(node, p, 2**_DEPTH)
            values = _RATE * np.bincount(node, p * left, 2**_DEPTH) / np.maximum(leaves, 1e-300)
            left -= values[node]
            self._trees.append((levels, values))

    def predict(self, codes: np.ndarray) -> np.ndarray:
        """The sum of the trees for binned rows."""
        starts, predicted = np.arange(0, codes.size, codes.shape[1]), np.zeros(len(codes))
        for levels, values in self._trees:
            node = np.zeros(len(codes), dtype=np.intp)
            for columns, cuts in levels:
                node = 2 * node + (codes.take(starts + columns.take(node)) > cuts[node])
            predicted += values[node]
        return predicted

    def cuts(self, most: int) -> list[tuple[int, int]]:
        """The columns and cuts of the largest gains, without those next to a larger one."""
        gains, found = self._gains.copy(), list[tuple[int, int]]()
        while len(found) < most and gains.any():
            column, cut = (int(place) for place in np.unravel_index(gains.argmax(), gains.shape))
            gains[column, max(cut - 1, 0) : cut + 2] = 0.0
            found.append((column, cut))
        return found
