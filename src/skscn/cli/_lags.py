"""Lags of ``skscn fit``: which ones to use, whether the rows allow it, and what came of it in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from skscn.cli._fit_options import FitOptions, FitSettings
from skscn.cli._series import Series
from skscn.cli._training_rows import TableRows
from skscn.series import Lags
from skscn.tables import TableEncoder, Target
from skscn.tables.columns import Category, Flag, Number
from skscn.words import count, listed, quoted

# The fewest rows with a target, and how many times as many as the longest lag.
_FEWEST_ROWS = 100
_TIMES_THE_LAG = 4
# A step between rows is a gap if it is longer than the usual one by this factor.
GAP = 1.5
_MANY_GAPS = 0.05


def build_lags(options: FitOptions, settings: FitSettings, encoder: TableEncoder, target: Target) -> Lags | None:
    """The lags of the options; None if there are to be none."""
    if options.lags is None:
        return None
    if options.delay is not None and target.task == "classification":
        raise ValueError(
            f"--delay is for numbers, and the target {quoted(target.name)} has classes; leave it out: lags of the "
            "other columns are possible."
        )
    given = options.lags if isinstance(options.lags, str) else list(options.lags)
    return Lags(given, _target_lags(options), delay=options.delay, columns=_lagged_columns(encoder), **settings.lags)


def _target_lags(options: FitOptions) -> Any:
    if options.delay is None or isinstance(options.lags, str):
        return None if options.delay is None else "auto"
    return sorted({options.delay, *(rows for rows in options.lags or () if rows >= options.delay)})


def _lagged_columns(encoder: TableEncoder) -> list[int]:
    """The encoded columns of which earlier values say something: not those of dates."""
    kinds = (Number, Flag, Category)
    return [place for column in encoder.columns_ if isinstance(column, kinds) for place in encoder.groups_[column.name]]


def check_series(options: FitOptions, series: Series) -> None:
    """Raise ValueError if there are lags and the order of the rows is not known."""
    if options.lags is None:
        return
    if series.time is None or series.moments is None:
        raise ValueError("--lags needs the order of the rows; name the column with their times: --time COLUMN.")
    moments = series.moments
    if np.isnan(moments).any():
        raise ValueError(
            f"{quoted(series.time)} is missing in {count(int(np.isnan(moments).sum()), 'row')}, so it is not known "
            "which row came before which; --lags needs a time in every row."
        )
    repeated = np.flatnonzero(np.diff(moments) == 0.0)
    if len(repeated):
        first = np.datetime64(round(moments[repeated[0]] * 86400), "s")
        raise ValueError(
            f"{quoted(series.time)} repeats: {count(len(repeated), 'row')} have the time of another row, the first at "
            f"{str(first).replace('T', ' ')}; --lags needs one row at a time."
        )


def check_length(options: FitOptions, rows: TableRows) -> None:
    """Raise ValueError if there are too few rows for lags."""
    if options.lags is None:
        return
    longest = max([options.delay or 0, *(() if isinstance(options.lags, str) else options.lags)])
    needed = max(_FEWEST_ROWS, _TIMES_THE_LAG * longest)
    if len(rows.y) < needed:
        why = f" with lags of up to {count(longest, 'row')}" if needed > _FEWEST_ROWS else ""
        raise ValueError(f"--lags{why} needs at least {needed} rows with a target; there are {len(rows.y)}.")


def steps_of(series: Series) -> tuple[float, int]:
    """The usual time between rows in days, and how many rows come later than that."""
    assert series.moments is not None, "a series has moments"
    steps = np.diff(series.moments)
    usual = float(np.median(steps))
    return usual, int(np.count_nonzero(steps > GAP * usual))


def gap_sentence(series: Series) -> tuple[str, bool] | None:
    """What to say about gaps between rows, and whether there are many; None without gaps."""
    usual, gaps = steps_of(series)
    if not gaps:
        return None
    has = "1 step is" if gaps == 1 else f"{gaps:,} steps are"
    sentence = (
        f"Lags count rows, and rows are missing: the usual time between rows is {duration(usual)}, but {has} longer. "
        "Earlier values across such a gap are older than the lag says."
    )
    assert series.moments is not None, "a series has moments"
    return sentence, gaps > _MANY_GAPS * len(series.moments)


def clock_of(options: FitOptions, series: Series) -> dict[str, Any] | None:
    """What a model with lags has to know of time to recognise the rows that follow."""
    if options.lags is None or series.moments is None:
        return None
    return {"last_day": float(series.moments[-1]), "step_days": steps_of(series)[0]}


def duration(days: float) -> str:
    """A time between rows in words."""
    for unit, length in (("day", 1.0), ("hour", 1 / 24), ("minute", 1 / 1440)):
        if days >= 0.999 * length:
            return f"{days / length:.4g} {unit}{'' if abs(days / length - 1) < 1e-3 else 's'}"
    return f"{days * 86400:.4g} seconds"


def added_columns(lags: Lags, encoder: Any) -> list[str]:
    """The names of the columns that lags add."""
    names = lags.get_feature_names_out(encoder.get_feature_names_out())
    return [str(name) for name in names[lags.n_features_in_ :]]


def lag_lines(lags: Lags | None, encoder: Any) -> list[tuple[str, str]]:
    """The line that says which earlier values a model uses, if it may use any."""
    if lags is None:
        return []
    return [("Lags", listed(added_columns(lags, encoder)) or "none; no earlier values were found that help")]
