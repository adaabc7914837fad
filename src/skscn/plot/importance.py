"""Permutation importance of the inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.utils import check_array, check_random_state

from skscn.plot.style import BLUE, GREY, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

# The name of a score, or a function of an estimator, rows and targets; None means the estimator's own.
Scoring: TypeAlias = str | Callable[..., float] | None
# An array or a DataFrame.
Table: TypeAlias = Any


class ImportanceDisplay:
    """Permutation importance: the decrease of the score when the values of an input are shuffled among the rows.

    Columns that encode one input, such as the indicators of its categories, are shuffled together. Where rows are in
    order of time, the values of an input can be moved along time instead.

    Parameters
    ----------
    importances : ndarray of shape (inputs, repeats)
        The decrease of the score in each repetition.
    names : sequence of str
        Names of the inputs.

    Attributes
    ----------
    order : ndarray of int
        The inputs, most important first.
    ax_ : matplotlib Axes
    bars_ : matplotlib artist
        The mean of each input; the lines at their ends span the repetitions.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skscn import SCNRegressor
    >>> from skscn.plot import ImportanceDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = SCNRegressor(max_nodes=10, random_state=0).fit(X, y)
    >>> groups = {"age": [0], "bmi": [2], "serum": [4, 5, 6, 7, 8, 9]}
    >>> display = ImportanceDisplay.from_estimator(model, X, y, groups=groups, random_state=0)
    >>> [display.names[i] for i in display.order]
    ['serum', 'bmi', 'age']
    """

    def __init__(self, *, importances: np.ndarray, names: Sequence[str]):
        self.importances, self.names = importances, names
        self.order = np.argsort(-importances.mean(axis=1), kind="stable")

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike,
        *,
        groups: Mapping[str, Sequence[int]] | None = None,
        names: Sequence[str] | None = None,
        scoring: Scoring = None,
        n_repeats: int = 5,
        ordered: bool = False,
        random_state: int | np.random.RandomState | None = None,
        max_shown: int = 20,
        ax: Axes | None = None,
    ) -> ImportanceDisplay:
        """Draw the importance of a fitted estimator's inputs on rows X with targets y.

        Parameters
        ----------
        estimator : fitted estimator or pipeline
        X : array-like or DataFrame of shape (n_samples, n_features)
        y : array-like
        groups : mapping of str to sequences of int, default=None
            Name of an input -> the numbers of its columns. Without groups every column is an input.
        names : sequence of str, default=None
            Names of the columns, where there are no groups and X has none.
        scoring : str, callable or None, default=None
            The score; None means R² or the accuracy.
        n_repeats : int, default=5
            How often each input is shuffled.
        ordered : bool, default=False
            Whether the rows are in order of time, and the estimator looks at earlier ones. The values of an input then
            keep their order and are moved along time, by an amount that is drawn: shuffled, a slow input would jump
            from row to row as it never does, and seem more important than it is.
        random_state : int, RandomState instance or None, default=None
            Seed of the shuffling.
        max_shown : int, default=20
            The number of inputs to draw, most important first.
        ax : matplotlib Axes, default=None
        """
        rows: Table = X if hasattr(X, "iloc") else check_array(X, dtype=None)
        if groups is None:
            names = getattr(rows, "columns", [f"x{j}" for j in range(rows.shape[1])]) if names is None else names
            groups = {str(name): [j] for j, name in enumerate(names)}
        importances = permutation_importance(
            estimator,
            rows,
            y,
            groups.values(),
            scoring=scoring,
            n_repeats=n_repeats,
            ordered=ordered,
            random_state=random_state,
        )
        return cls(importances=importances, names=list(groups)).plot(ax, max_shown=max_shown)

    def plot(self, ax: Axes | None = None, *, max_shown: int = 20) -> ImportanceDisplay:
        """Draw on ``ax``, or on new axes; the most important input is at the top."""
        self.ax_ = ax = axes_for(ax)
        shown = self.order[:max_shown][::-1]
        values, places = self.importances[shown], np.arange(len(shown))
        self.bars_ = ax.barh(places, values.mean(axis=1), color=BLUE, alpha=0.8)
        ax.hlines(places, values.min(axis=1), values.max(axis=1), color=GREY, linewidth=2.0)
        # A name is shown literally, even if it contains what could be a formula.
        ax.set_yticks(places, labels=[self.names[i] for i in shown], parse_math=False)
        ax.set_xlabel("decrease of the score")
        return self


def permutation_importance(
    estimator: BaseEstimator,
    X: Table,
    y: ArrayLike,
    groups: Iterable[Sequence[int]],
    *,
    scoring: Scoring = None,
    n_repeats: int = 5,
    ordered: bool = False,
    random_state: int | np.random.RandomState | None = None,
) -> np.ndarray:
    """The decrease of the score when the columns of each group are shuffled together: shape (groups, n_repeats).

    If the rows are ``ordered``, the columns are moved along time instead, and begin again where they end.

    scikit-learn's function of this name shuffles one column at a time, which leaves the other indicators of a category
    unchanged and gives impossible rows.
    """
    scorer = check_scoring(estimator, scoring=scoring)
    rng = check_random_state(random_state)
    orders = [_moved(X.shape[0], rng) if ordered else rng.permutation(X.shape[0]) for _ in range(n_repeats)]
    score = scorer(estimator, X, y)
    return np.array(
        [[score - scorer(estimator, _shuffled(X, columns, order), y) for order in orders] for columns in groups]
    )


def _moved(rows: int, rng: np.random.RandomState) -> np.ndarray:
    """All rows in order, from one on that is drawn between the first and the last tenth."""
    least = -(-rows // 10)
    return np.roll(np.arange(rows), rng.randint(least, max(rows - least, least) + 1))


def _shuffled(X: Table, columns: Sequence[int], order: np.ndarray) -> Table:
    """A copy of X with these columns taken from other rows."""
    shuffled = X.copy()
    if hasattr(X, "iloc"):
        for column in columns:
            shuffled.isetitem(column, X.iloc[order, column].array)
    else:
        shuffled[:, columns] = X[order][:, columns]
    return shuffled
