"""A prequential evaluation over time: error, drift, coverage and nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from skscn.extras import optional
from skscn.online import StreamRecord, prequential
from skscn.plot.style import BLUE, GREEN, GREY, ORANGE, PURPLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike


class StreamDisplay:
    """The moving mean of errors of a stream, with alarms as vertical lines; below it coverage and number of nodes.

    Parameters
    ----------
    record : StreamRecord
        Of :func:`~skscn.online.prequential`.
    window : int, default=200
        The number of rows of the moving means.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        For the error, and as far as the record has them for the coverage of intervals and the number of nodes.
    error_line_, coverage_line_, nodes_line_ : matplotlib artists, or None
    alarm_lines_ : list of matplotlib artists
        On the first axes.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn import OnlineSCNRegressor
    >>> from skscn.plot import StreamDisplay
    >>> X = np.random.default_rng(0).uniform(size=(300, 1))
    >>> display = StreamDisplay.from_estimator(OnlineSCNRegressor(random_state=0), X, np.sin(9 * X[:, 0]), window=50)
    >>> len(display.axes_)
    3
    """

    def __init__(self, record: StreamRecord, *, window: int = 200):
        if window < 1:
            raise ValueError(f"window must be at least 1 row; got {window}.")
        self.record, self.window = record, window

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        window: int = 200,
        axes: list[Axes] | None = None,
    ) -> StreamDisplay:
        """Predict and learn rows X, with targets y, one after the other, and draw what has been found."""
        return cls(prequential(estimator, X, y), window=window).plot(axes)

    def plot(self, axes: list[Axes] | None = None) -> StreamDisplay:
        """Draw on ``axes``, one for each part, or on new axes."""
        parts = [self._draw_error]
        self.coverage_line_: Any = None
        self.nodes_line_: Any = None
        if self.record.hits is not None:
            parts.append(self._draw_coverage)
        if self.record.n_nodes is not None:
            parts.append(self._draw_nodes)
        self.axes_ = _axes(len(parts)) if axes is None else list(axes)
        if len(self.axes_) != len(parts):
            raise ValueError(f"This record has {len(parts)} parts to draw, but there are {len(self.axes_)} axes.")
        for part, ax in zip(parts, self.axes_, strict=True):
            part(ax)
        self.alarm_lines_, *_ = [self._mark_alarms(ax) for ax in self.axes_]
        self.axes_[-1].set_xlabel("row")
        if self.alarm_lines_:
            self.axes_[0].legend(frameon=False)
        return self

    def _draw_error(self, ax: Axes) -> None:
        name = "share of errors" if self.record.classified else "mean absolute error"
        rows, means = self._moving(self.record.errors)
        (self.error_line_,) = ax.plot(rows, means, color=BLUE)
        ax.set(ylabel=name)
        ax.set_ylim(bottom=0.0)

    def _draw_coverage(self, ax: Axes) -> None:
        hits = cast("np.ndarray", self.record.hits)
        rows, means = self._moving(hits.reshape(len(hits), -1).mean(axis=1))
        (self.coverage_line_,) = ax.plot(rows, means, color=GREEN)
        ax.axhline(float(hits.mean()), color=GREY, linewidth=0.8, linestyle=":")
        ax.set(ylabel="coverage")

    def _draw_nodes(self, ax: Axes) -> None:
        nodes = cast("np.ndarray", self.record.n_nodes)
        (self.nodes_line_,) = ax.plot(self.record.rows, nodes, color=PURPLE, drawstyle="steps-post")
        ax.set(ylabel="nodes")
        ax.set_ylim(bottom=0.0)

    def _moving(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean of the last rows up to each row, from the first row that has enough before it."""
        window = min(self.window, len(values))
        sums = np.concatenate([[0.0], np.cumsum(values)])
        return self.record.rows[window - 1 :], (sums[window:] - sums[:-window]) / window

    def _mark_alarms(self, ax: Axes) -> list[Any]:
        events = self.record.events
        rows = [] if events is None else events["row"][events["event"] == "alarm"]
        labels = ["drift alarm", *[None] * len(rows)]
        return [
            ax.axvline(float(row), color=ORANGE, linewidth=0.9, label=label)
            for row, label in zip(rows, labels, strict=False)
        ]


def _axes(count: int) -> list[Axes]:
    pyplot = optional("matplotlib.pyplot", "A picture")
    heights = [2.0, *[1.0] * (count - 1)]
    _, axes = pyplot.subplots(
        count, 1, sharex=True, squeeze=False, figsize=(6.4, 2.4 + 1.3 * (count - 1)), height_ratios=heights,
        layout="constrained",
    )  # fmt: skip
    return list(axes[:, 0])
