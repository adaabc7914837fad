"""What the Displays share: axes, and colours that everybody can tell apart on light and dark backgrounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from skscn.extras import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

# Okabe and Ito's colours for all kinds of colour vision, and a medium grey.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#808080"
# Opacity of nodes that are no longer part of the network.
PALE = 0.25
# From narrow scopes to wide ones; all of medium lightness.
_SCOPE_RAMP = ("#3a8fd0", "#98919a", "#dd7a1f")


def axes_for(ax: Axes | None) -> Axes:
    """``ax``, or new axes if it is None."""
    if ax is None:
        ax = cast("Axes", optional("matplotlib.pyplot", "A picture").subplots()[1])
    return ax


def scope_colours(scopes: np.ndarray) -> dict[str, Any]:
    """Arguments of ``scatter`` that colour points by their scope λ, on a logarithmic scale."""
    colours = optional("matplotlib.colors", "A picture")
    low, high = (scopes.min(), scopes.max()) if scopes.size else (1.0, 1.0)
    # A single scope needs a scale too.
    norm = colours.LogNorm(low, high) if low < high else colours.LogNorm(low / 2.0, high * 2.0)
    return {"c": scopes, "cmap": colours.LinearSegmentedColormap.from_list("scopes", _SCOPE_RAMP), "norm": norm}


def opacities(kept: np.ndarray, opacity: float) -> Any:
    """The opacity of points, lower for those that were not kept; None for no points, as matplotlib requires."""
    return np.where(kept, opacity, PALE) if kept.size else None


def logarithmic(ax: Axes, values: np.ndarray) -> None:
    """Make the y axis logarithmic, if there is a value to show on it."""
    if (values > 0.0).any():
        logarithmic_axis(ax)


def logarithmic_axis(ax: Axes) -> None:
    """Make the y axis logarithmic, with plain numbers at its ticks."""
    ax.set_yscale("log")
    plain_numbers(ax.yaxis)


def plain_numbers(axis: Axis) -> None:
    """Label the ticks of a logarithmic axis 0.05 rather than 5 × 10⁻²."""
    from matplotlib.ticker import LogFormatter

    class Plain(LogFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return f"{x:g}" if super().__call__(x, pos) else ""

    axis.set_major_formatter(Plain())
    axis.set_minor_formatter(Plain(minor_thresholds=(1.5, 0.6)))


def legend_above(ax: Axes) -> None:
    """A legend in one line above the axes, where it hides nothing."""
    ax.legend(frameon=False, ncols=4, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.0)


# Longer labels do not fit side by side below a small picture.
_SHORT_LABEL = 20


def legend_below(ax: Axes) -> None:
    """A legend below the label of the x axis, where it hides nothing."""
    # The distance, in heights of its letters, leaves place for the numbers and the label of the axis.
    place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": 4.2}
    short = all(len(label) <= _SHORT_LABEL for label in ax.get_legend_handles_labels()[1])
    ax.legend(frameon=False, ncols=2 if short else 1, handlelength=1.5, columnspacing=1.0, **place)


def time_axis(ax: Axes, times: np.ndarray) -> None:
    """Label the x axis as time, with short dates if there are dates."""
    ax.set_xlabel("time")
    if times.dtype.kind == "M":
        dates = optional("matplotlib.dates", "A picture")
        locator = dates.AutoDateLocator(minticks=3, maxticks=8)
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
