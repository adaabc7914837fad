"""What to be careful about in a model, its tests and its rows: values with a code, and the sentence of each code.

Sentences name parameters as in Python, ``loss="welsch"``; the program turns them into its options.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skscn.words import count, listed, short, shortened

# Rows, or series, that a sentence names.
NAMED = 3


@dataclass(frozen=True)
class Caution:
    """Something to be careful about.

    Attributes
    ----------
    code : str
        A key of ``SENTENCES``, which says what it is.
    values : dict
        The figures and names of the sentence.

    Examples
    --------
    >>> from skscn.judging import Caution
    >>> print(Caution("no_better", {"words": "predicting the mean"}))
    The model is no better than predicting the mean on rows that it was not trained on.
    """

    code: str
    values: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return SENTENCES[self.code](**self.values)


def _no_better(words: str, told: bool = False) -> str:
    more = "; only its probabilities are better than the frequencies of the classes" if told else ""
    return f"The model is no better than {words} on rows that it was not trained on{more}."


def _no_better_forecast(rows: int) -> str:
    return f"{count(rows, 'row')} ahead, forecasts are no better than predicting the last known value."


def _unreliable(intervals: bool, reasons: Sequence[Caution]) -> str:
    drifts = any(reason.code in ("drift", "offset") for reason in reasons)
    what = "R² and intervals" if intervals and drifts else "R²"
    return f"{what} cannot be trusted for later rows. {' '.join(map(str, reasons))}"


def _off(mean: float, most: str = "") -> str:
    """How far targets are from predictions, on average."""
    return f"{'are below' if mean < 0.0 else 'exceed'} predictions by {most}{short(abs(mean))}"


def _drift(
    level: tuple[float, float, int] | None = None,
    gain: tuple[float, float, int] | None = None,
    wander: tuple[float, float] | None = None,
    rising: Sequence[float] | None = None,
    same_model: bool = False,
) -> str:
    where, found = ("in the first rows of the tests", "in the first training rows"), []
    if level:
        first, last, course = level
        found.append(f"targets {_off(first)} {where[course]} and {_off(last)} in the last")
    if gain:
        first, last, course = gain
        found.append(
            f"where predictions differ by 1, targets differ by {first:.2f} {where[course]} and by {last:.2f} in the "
            "last"
        )
    if wander:
        low, high = wander
        found.append(
            f"in some long stretches of time, targets {_off(high, 'up to ')}, and in others they {_off(low, 'up to ')}"
        )
    if rising and same_model:
        first_part, last_part = map(short, rising)
        found.append(
            f"the error rises with time (RMSE of the same model: {first_part} in the first part, {last_part} in the "
            "last)"
        )
    elif rising:
        found.append(f"the error rises with time (RMSE from the first part to the last: {listed(map(short, rising))})")
    return (
        f"Something that the inputs do not show changes with time: {'; '.join(found)}. If this continues, errors "
        "will be larger than in the tests, and grow with time. Retrain often, or add inputs that show the change."
    )


def _moving(share: float, outside: float, within: float) -> str:
    return (
        f"Errors are larger where inputs leave the range of earlier rows: RMSE is {short(outside)} in the {share:.0%} "
        f"of the test rows with such inputs, and {short(within)} in the others. If inputs move further, errors will be "
        "larger than in the tests."
    )


def _offset(r2: float) -> str:
    return (
        f"Predictions are too high or too low for long stretches of time (R² would be {r2:.2f} without this): "
        "something that the inputs do not show drifts. Retrain often, or add inputs that show the drift."
    )


def _uneven(parts: Sequence[float], low: float, high: float) -> str:
    shown = f" (from the first part to the last: {listed(f'{part:.2f}' for part in parts)})" if len(parts) > 1 else ""
    return (
        f"R² depends on the stretch of time in which it is measured{shown}; on the same number of later rows, expect "
        f"any value from {low:.2f} to {high:.2f}."
    )


def _changed_variance(late: float, early: float) -> str:
    return (
        "The target varies more in the second half of the rows than in the first (with the same error, R² would be "
        f"{late:.2f} and {early:.2f}, respectively): rely on the RMSE instead."
    )


def _new_classes(rows: int, tested: int) -> str:
    have = "has a class" if rows == 1 else "have classes"
    return (
        f"Accuracy and log loss cannot be trusted for later rows: {count(rows, 'row')} of the {tested:,} tested {have} "
        "not seen in earlier rows, which no model can predict."
    )


def _series_differ(means: Sequence[tuple[str, float]]) -> str:
    off = listed(f"{_off(mean)} ({name})" for name, mean in means)
    return (
        f"The series differ in something that the inputs do not show: on average, targets {off}. The model does not "
        "know which series a row belongs to; to tell it, add a copy of that column under another name."
    )


def _intervals(found: Sequence[tuple[str, float]], coverage: float, further: float | None = None) -> str:
    sentences = []
    for what, share in found:
        contained = f"those for {coverage:.0%} contained {share:.0%} of the true values"
        if share < coverage:
            sentences.append(f"{what} are too narrow: {contained}.")
        else:
            sentences.append(
                f"{what} are too wide for the test rows: {contained}. Their width comes from other rows, with larger "
                "errors; on later rows they may just as well be too narrow."
            )
    if further is not None:
        sentences.append(
            f"Intervals are too narrow for rows further ahead: in the rows after each part, those for {coverage:.0%} "
            f"contained {further:.0%} of the true values."
        )
    return " ".join(sentences)


def _wrong_sign(column: str, sign: int, gain: float) -> str:
    may, do = ("increase", "decreases") if sign > 0 else ("decrease", "increases")
    return (
        f"Predictions may only {may} with {shortened(column)}, but in rows that were held out the target {do} with it, "
        f"at least for some of its values (allowing for that would decrease the RMSE by {gain:.0%} or more): check its "
        "sign in monotone, or leave it out there."
    )


def _outliers(rows: int, named: Sequence[int], limit: float, has_losses: bool = True) -> str:
    numbers = listed(f"{number:,}" for number in named)
    if rows == 1:
        have, which, check = "1 row has a residual", "row", "Check it; if its target is wrong, correct or remove it"
    else:
        have = f"{count(rows, 'row')} have residuals"
        which = "rows" if rows <= NAMED else "the largest are in rows"
        check = "Check them; if their targets are wrong, correct or remove them"
    robust = '; loss="welsch" gives such rows little weight' if has_losses else ""
    return (
        f"{have} far outside the range of the others (more than {limit:g} robust standard deviations): {which} "
        f"{numbers}, not counting the header. {check} and fit again{robust}."
    )


def _where(rows: np.ndarray) -> str:
    """How many rows, and the first of them."""
    first = listed(f"{row:,}" for row in np.sort(rows)[:NAMED])
    which = f"row {first}" if len(rows) == 1 else f"rows {first}" if len(rows) <= NAMED else f"rows {first} and others"
    return f"{count(len(rows), 'row')} ({which}, not counting the header)"


def _span(rows: np.ndarray) -> str:
    return f"from row {rows[0]:,} to row {rows[-1]:,}, not counting the header"


def _marker(column: str, rows: np.ndarray, value: float) -> str:
    return (
        f"{shortened(column)} is {short(value)} in {_where(rows)}, far outside the range of its other values: this "
        "looks like a marker for a missing value. Leave these cells empty and fit again."
    )


def _frozen(column: str, rows: np.ndarray, value: float) -> str:
    return (
        f"{shortened(column)} is {short(value)} in {count(len(rows), 'consecutive row')} ({_span(rows)}), although it "
        "changes in most of the others: its sensor looks frozen. Leave out these rows, or leave their cells empty, and "
        "fit again."
    )


def _units(column: str, rows: np.ndarray, scale: float, offset: float) -> str:
    how = f"{short(scale)} times" if scale >= 1.0 else f"1/{short(1.0 / scale)} of"
    more = f" {'plus' if offset > 0.0 else 'minus'} {short(abs(offset))}" if offset else ""
    return (
        f"{shortened(column)} jumps to {how} its value{more} in {count(len(rows), 'row')} ({_span(rows)}): its units "
        "look different there. Convert these values and fit again."
    )


def _gaps(recurrent: bool, usual: str, steps: int) -> str:
    what, across = "Lags count rows", "Earlier values across such a gap are older than the lag says"
    if recurrent:
        what, across = "A recurrent network counts rows", "To the network, such a gap is one step like all others"
    longer = "1 step is" if steps == 1 else f"{steps:,} steps are"
    return (
        f"{what}, and rows are missing: the usual time between rows is {usual}, but {longer} longer. {across}; to "
        "prevent this, add the missing rows with only their time."
    )


def _unlike_tests(own: float, tested: float) -> str:
    return (
        f"The model has a larger error on its own training rows (RMSE {short(own)}) than the models of the tests on "
        f"later rows (RMSE {short(tested)}); fit again with another seed (random_state=…)."
    )


def _shuffled(time: str) -> str:
    return (
        f"Rows are shuffled for the tests although {time} increases with them: if rows that are close in time are "
        "similar, the error looks too small."
    )


def _seen(share: float, data: str) -> str:
    if share > 0.99:
        return (
            f"The model was trained on the rows of {data}: these scores say how well it fits them, not how good it is "
            "on new rows."
        )
    return (
        f"The model was trained on about {100 * share:.0f} % of the rows of {data}; scores on new rows will be worse."
    )


def _unconfirmed(score: str, then: float, now: float, outside: bool, shuffled: bool = False) -> str:
    reasons = "these rows are later than the training rows, or come from different conditions"
    if outside:
        reasons += "; some inputs are outside the training range"
    if shuffled:
        reasons += (
            "; or neighbouring training rows are similar, as in a time series, which makes estimates from training too "
            "optimistic"
        )
    return (
        f"Not confirmed: when the model was fitted, its tests gave {score} {short(then)}, but on these rows it is "
        f"{short(now)}. Likely reasons: {reasons}."
    )


def _biased(mean: float, rmse: float, without: float) -> str:
    return (
        f"On average, targets {_off(mean)}; without that, the RMSE would be {short(without)}, not {short(rmse)}. "
        "Update the model with newer rows, or add inputs that show the difference."
    )


def _seasonal(period: int, score: str, own: float, baseline: float) -> str:
    return (
        f"The value {count(period, 'row')} before is a better prediction than the model's ({score} {short(baseline)} "
        f"against {short(own)})."
    )


SENTENCES: dict[str, Callable[..., str]] = {
    "no_better": _no_better,
    "no_better_one_step": lambda: "One step ahead, the model is no better than predicting the last known value.",
    "no_better_forecast": _no_better_forecast,
    "too_good": lambda: (
        "Almost nothing of the target is left unexplained. If a column is computed from the target, or is only known "
        "after it, leave it out: predictions of new rows would be worse, or impossible."
    ),
    "constant_target": lambda: "R² is not defined: the target is the same in all test rows. Look at the RMSE instead.",
    "unreliable": _unreliable,
    "drift": _drift,
    "moving": _moving,
    "offset": _offset,
    "uneven": _uneven,
    "changed_variance": _changed_variance,
    "new_classes": _new_classes,
    "series_differ": _series_differ,
    "intervals": _intervals,
    "wrong_sign": _wrong_sign,
    "outliers": _outliers,
    "marker": _marker,
    "frozen": _frozen,
    "units": _units,
    "more_faults": lambda columns: f"{count(columns, 'more column')} like these.",
    "gaps": _gaps,
    "unlike_tests": _unlike_tests,
    "shuffled": _shuffled,
    "seen": _seen,
    "unconfirmed": _unconfirmed,
    "seasonal": _seasonal,
    "biased": _biased,
}
