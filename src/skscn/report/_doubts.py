"""How far to trust the errors on a page: rows of training, estimates that are not confirmed, unusual inputs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from skscn.report._errors import Measure
from skscn.report._subject import Subject
from skscn.report._words import enumerated, number, percent
from skscn.words import count

# From this share on, rows of training are spoken of.
_SEEN = 0.05
# A score that fell by that much, or an error that grew that many times, was not to be expected.
_FALL = {"R²": 0.15, "accuracy": 0.05}
_LARGER = 1.5
_COLUMNS_NAMED = 3


def expectation(subject: Subject) -> str:
    """What the errors on these rows say about others."""
    estimate = _estimate(subject)
    reached = "" if estimate is None else f" {_estimated(*estimate)}"
    if subject.seen is None:
        return f"If the model was trained on these rows, expect larger errors on new ones.{reached}"
    if subject.seen < _SEEN:
        return f"The model was not trained on these rows.{reached}"
    share = "these rows" if subject.seen > 0.99 else f"about {percent(subject.seen)} of these rows"
    return f"The model was trained on {share}: expect larger errors on new ones.{reached}"


def _estimated(name: str, then: float) -> str:
    if name == "RMSE":
        return f"In training, its RMSE on held-out rows was {number(then)}."
    score = percent(then) if name == "accuracy" else number(then)
    return f"The out-of-bag estimate, from training rows that its members had not seen, is an {name} of {score}."


def _estimate(subject: Subject) -> tuple[str, float] | None:
    """What training promised: the out-of-bag score, or the error on held-out rows."""
    # Under other losses neither R² nor the validation error, which is that of weighted rows, is what was minimised.
    if not subject.classifies and subject.loss is not None and not subject.loss.plain:
        return None
    score = getattr(subject.estimator, "oob_score_", np.nan)
    if np.isfinite(score):
        return "accuracy" if subject.classifies else "R²", float(score)
    error = _held_out_error(subject)
    return None if error is None else ("RMSE", error)


def _held_out_error(subject: Subject) -> float | None:
    """The validation error of a network of one output when it was as large as it is, in units of the target."""
    network, *others = subject.networks
    if subject.followed is not None:
        errors = network.history_["validation_rmse"]
        errors = errors[np.isfinite(errors)]
        return float(errors.min()) if len(subject.outputs) == 1 and len(errors) else None
    if subject.classifies or others or len(subject.outputs) > 1:
        return None
    kept = network.history_[network.history_["nodes"] == network.n_nodes_]
    error = kept["validation_rmse"]
    return float(error[0]) if np.isfinite(error).any() else None


def doubts(subject: Subject, measures: dict[str, list[Measure]]) -> list[str]:
    """Sentences that a reader must not miss; none where all is as expected."""
    return [*_not_confirmed(subject, measures), *_unusual_inputs(subject)]


def _not_confirmed(subject: Subject, measures: dict[str, list[Measure]]) -> Iterable[str]:
    estimate = _estimate(subject)
    if estimate is None or (subject.seen or 0.0) > 0.5:
        return
    name, then = estimate
    now = float(np.mean([_now(output, name) for output in measures.values()]))
    if now > _LARGER * then if name == "RMSE" else now < then - _FALL[name]:
        written = percent if name == "accuracy" else number
        where = "on held-out rows" if name == "RMSE" else "(out of bag)"
        yield (
            f"The estimate from training is not confirmed: {name} was {written(then)} {where} in training, but is "
            f"{written(now)} on these rows. {_reasons(subject)}"
        )


def _reasons(subject: Subject) -> str:
    if subject.followed is not None or getattr(subject.estimator, "validation", "random") == "last":
        return (
            "The likely reason: the process has changed since training, or these rows come from different conditions."
        )
    return (
        "Likely reasons: these rows are later than the training rows or come from different conditions; or "
        "neighbouring training rows are similar, as in a time series, which makes estimates from training too "
        "optimistic."
    )


def _now(measures: list[Measure], name: str) -> float:
    return next(measure.value for measure in measures if measure.name.casefold() == name.casefold())


def _unusual_inputs(subject: Subject) -> Iterable[str]:
    notable = [column for column in subject.outside if column.notable]
    if notable:
        names = [f"{column.name} ({count(column.outside, 'row')})" for column in notable[:_COLUMNS_NAMED]]
        more = len(notable) - len(names)
        named = enumerated([*names, *([count(more, "other column")] if more else [])])
        changed = [column.name for column in notable if column.unit]
        unit = f" Is the unit of {changed[0]} the same as in training?" if changed else ""
        yield f"Some inputs are outside the training range, so the model extrapolates: {named}.{unit}"
