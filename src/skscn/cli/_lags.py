"""Lags of ``skscn fit``: which ones to use, and what came of it in words."""

from __future__ import annotations

from typing import Any

from skscn.cli._fit_options import FitOptions, FitSettings
from skscn.series import Lags
from skscn.tables import TableEncoder, Target
from skscn.tables.columns import Category, Flag, Number
from skscn.words import listed, quoted


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


def added_columns(lags: Lags, encoder: Any) -> list[str]:
    """The names of the columns that lags add."""
    names = lags.get_feature_names_out(encoder.get_feature_names_out())
    return [str(name) for name in names[lags.n_features_in_ :]]


def lag_lines(lags: Lags | None, encoder: Any) -> list[tuple[str, str]]:
    """The line that says which earlier values a model uses, if it may use any."""
    if lags is None:
        return []
    return [("Lags", listed(added_columns(lags, encoder)) or "none; no earlier values were found that help")]
