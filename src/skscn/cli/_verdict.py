"""Scores in words: compared with a baseline, and with what the model was said to achieve when it was tested."""

from __future__ import annotations

from typing import Any

from skscn.cli._scores import OWN_ERRORS, TITLES, RareClass, main_error
from skscn.cli._voice import short

# Errors that differ by less than this share are about the same.
_SAME = 0.01
# By how much a score may fall below that of the tests, also in standard deviations over the parts of the tests.
_FALL = {"r2": 0.15, "accuracy": 0.05}
_DEVIATIONS = 3.0
# How much larger than the tested one an error may be.
_LARGER = 1.5


def compared(
    scores: dict[str, float], baseline: dict[str, float], words: str, rare: RareClass | None = None
) -> tuple[bool | None, str]:
    """Whether a model is better than its baseline, and a sentence about it; None if the target is a constant.

    ``words`` say what the baseline does. If classes are weighted because one of them is ``rare``, they count the same.
    """
    classes, weighted = "accuracy" in scores, rare is not None and rare.weighted
    name = ("balanced_accuracy" if weighted else "accuracy") if classes else main_error(scores, baseline)
    error, reference = (1.0 - s[name] if classes else s[name] for s in (scores, baseline))
    if reference <= 0.0:
        return None, "All rows have the same target; there is no baseline to compare with."
    ratio = error / reference
    title = TITLES[name]
    less, more = f"its {title} is {_percent(1.0 - ratio)} smaller", f"its {title} is {_percent(ratio - 1.0)} larger"
    if classes:
        same = " if all classes count the same" * weighted
        less = f"it makes {_percent(1.0 - ratio)} fewer errors{same}"
        more = f"it makes {_percent(ratio - 1.0)} more errors{same}"
    always = f"always {words}"
    if ratio > 1.0 + _SAME:
        return False, f"Worse than {always}: {more}."
    if ratio >= 1.0 - _SAME:
        return False, f"No better than {always}."
    return True, f"Better than {always}: {less}.{'' if weighted else _overconfident(scores, baseline)}"


def _overconfident(scores: dict[str, float], baseline: dict[str, float]) -> str:
    """A further sentence if the classes are right more often, but the probabilities are not."""
    if not scores.get("log_loss", 0.0) > (1.0 + _SAME) * baseline.get("log_loss", 0.0):
        return ""
    return " Its probabilities are worse than the class frequencies: the log loss is larger."


def _percent(share: float) -> str:
    if 0.995 < share < 1.0:
        return "more than 99 %"
    return f"{100 * share:.0f} %" if share < 10.0 else "more than 10 times"


def unconfirmed(scores: dict[str, float], tested: Any) -> tuple[str, float] | None:
    """The score that is much worse than when the model was tested, and what it was then; None if there is none."""
    for name in OWN_ERRORS:
        then = _then(tested, name)
        if then is not None and name in scores:
            return (name, then[0]) if _is_larger(scores[name], then) else None
    for name, fall in _FALL.items():
        then = _then(tested, name)
        if then is not None and name in scores:
            mean, deviation = then
            if scores[name] < mean - max(fall, _DEVIATIONS * deviation):
                return name, mean
    then = _then(tested, "rmse")
    if then is not None and "rmse" in scores and _is_larger(scores["rmse"], then):
        return "rmse", then[0]
    return None


def _is_larger(error: float, then: tuple[float, float]) -> bool:
    mean, deviation = then
    return error > _LARGER * (mean + _DEVIATIONS * deviation)


def _then(tested: Any, name: str) -> tuple[float, float] | None:
    """Mean and deviation of a score when the model was tested, if its notes have them."""
    score = tested.get(name) if isinstance(tested, dict) else None
    if not isinstance(score, dict) or not all(isinstance(score.get(key), float | int) for key in ("mean", "std")):
        return None
    return score["mean"], score["std"]


def unconfirmed_sentence(name: str, then: float, now: float, outside: bool) -> str:
    """What to say where an estimate was not confirmed, and what may be the reason."""
    reasons = "these rows are later than the training rows, or come from different conditions"
    if outside:
        reasons += "; some inputs are outside the training range"
    return (
        f"Not confirmed: when the model was fitted, its tests gave {TITLES[name]} {short(then)}, but on these rows it "
        f"is {short(now)}. Likely reasons: {reasons}."
    )
