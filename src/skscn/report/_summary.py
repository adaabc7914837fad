"""The first thing that is read: how good the model is, in plain sentences; and what the data are like."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from skscn.losses import OUTLIER, name_of
from skscn.report._errors import PICTURED_COVERAGE, Coverage, Measure
from skscn.report._forecasts import persistence_sentence
from skscn.report._influence import Importance
from skscn.report._subject import Subject
from skscn.report._words import alike, enumerated, number, percent
from skscn.tables.columns import Category, RowTime
from skscn.words import count

_COLUMNS_SHOWN = 50
# Errors that differ by less than this share are about the same.
_SAME = 0.01
# The most rows in the table of outliers, and the most outputs in a sentence or in that table.
_OUTLIERS_SHOWN = 20
_OUTPUTS_NAMED = 3


@dataclass(frozen=True)
class Card:
    """A number to catch the eye."""

    label: str
    value: str
    note: str


def sentences(
    subject: Subject,
    measures: dict[str, list[Measure]],
    importances: list[Importance],
    coverages: list[list[Coverage]],
    data_name: str | None,
) -> list[str]:
    """How good the model is, and which inputs matter most."""
    first = next(iter(measures.values()))
    source = f"On {count(subject.n_rows, 'row')}{f' of {data_name}' if data_name else ''}"
    if subject.classifies:
        said = _about_classes(subject, first, source)
    elif subject.quantile is not None:
        said = _about_quantile(subject.quantile, measures, source)
    elif len(subject.outputs) > 1:
        said = _about_outputs(measures, source)
    else:
        said = _about_target(subject.outputs[0], first, source)
        said += persistence_sentence(subject.followed, first[0].value)
    said += _about_outliers(subject)
    if len(coverages) == 1:
        said.append(_about_intervals(coverages[0]))
    mattering = [importance.name for importance in importances[:3] if importance.low > 0.0]
    if mattering:
        said.append(f"The most important input{'s are' if len(mattering) > 1 else ' is'} {enumerated(mattering)}.")
    return said


def _about_target(name: str, measures: list[Measure], source: str) -> list[str]:
    absolute, _, explained = measures
    interval = f"{percent(0.95)} confidence: {number(absolute.low)} to {number(absolute.high)}"
    said = [f"{source}, predictions of {name} are off by {number(absolute.value)} on average ({interval})."]
    said.append(_against("Always predicting the mean", "be off by", absolute))
    if explained.value > 0.0:
        said.append(f"The model explains {percent(explained.value)} of the variance.")
    elif explained.value < 0.0:
        said.append(
            f"R² is {number(explained.value)}; a value below 0 means that squared errors are larger than if the mean "
            "were always predicted. Do not rely on the model for rows like these."
        )
    return said


def _about_quantile(quantile: float, measures: dict[str, list[Measure]], source: str) -> list[str]:
    """The share below, of each output, and the pinball loss of the first."""
    shares = [f"{percent(below.value)} of the true values of {name}" for name, (_, below) in measures.items()]
    off = any(not below.low <= quantile <= below.high for _, below in measures.values())
    which = f"the predictions, which estimate the {quantile:g} quantile: it should be {percent(quantile)}"
    said = [f"{source}, {enumerated(shares[:_OUTPUTS_NAMED])} are below {which}."]
    if off:
        said.append(f"The difference from {percent(quantile)} is larger than chance explains.")
    loss = next(iter(measures.values()))[0]
    return [
        *said,
        _against(f"Always predicting the {quantile:g} quantile of these rows", "have a pinball loss of", loss),
    ]


def _about_outliers(subject: Subject) -> list[str]:
    """How many rows look like outliers, under a loss that can tell."""
    if subject.row_weights is None or subject.loss is None:
        return []
    limit = f"(weight below {OUTLIER:g} under the loss {name_of(subject.loss)})"
    if not len(subject.outliers):
        return [f"No row looks like an outlier {limit}."]
    rows = count(len(subject.outliers), "row looks like an outlier", "rows look like outliers")
    half = number(np.median(np.abs(subject.y - subject.predictions)))
    typical = f" Half of the predictions are off by less than {half}." if len(subject.outputs) == 1 else ""
    them = "it" if len(subject.outliers) == 1 else "them"
    return [f"{rows} {limit}. The errors on this page include {them}.{typical}"]


@dataclass(frozen=True)
class Outlier:
    """A row that looks like an outlier: its number, true values and predictions of the first outputs, and weight."""

    number: int
    values: list[str]
    weight: float


def outlier_rows(subject: Subject) -> list[Outlier]:
    """The rows of the smallest weights."""
    rows = subject.outliers[:_OUTLIERS_SHOWN]
    if subject.row_weights is None or not len(rows):
        return []
    columns = [
        alike(values[rows, k]) for k in range(outlier_outputs(subject)) for values in (subject.y, subject.predictions)
    ]
    numbers = rows + 1 if subject.row_numbers is None else subject.row_numbers[rows]
    texts = zip(*columns, strict=True)
    weights = subject.row_weights[rows]
    return [Outlier(int(n), list(v), float(w)) for n, v, w in zip(numbers, texts, weights, strict=True)]


def outlier_outputs(subject: Subject) -> int:
    """How many outputs the table of outliers shows."""
    return min(len(subject.outputs), _OUTPUTS_NAMED)


def _against(baseline: str, would: str, error: Measure) -> str:
    reference = f"{baseline} would {would} {number(error.baseline)}"
    if error.baseline <= 0.0:
        return f"{reference}."
    ratio = error.value / error.baseline
    if abs(ratio - 1.0) <= _SAME:
        return f"{reference}: the model is no better than that."
    if ratio > 1.0:
        return f"{reference}: the model is worse than that; its error is {_larger(ratio)}."
    return f"{reference}: the model's error is {percent(1.0 - ratio)} smaller."


def _larger(ratio: float) -> str:
    return f"{percent(ratio - 1.0)} larger" if ratio < 2.0 else f"{number(ratio)} times as large"


def _about_outputs(measures: dict[str, list[Measure]], source: str) -> list[str]:
    explained = {name: output[-1].value for name, output in measures.items()}
    best, worst = max(explained, key=explained.__getitem__), min(explained, key=explained.__getitem__)
    return [
        f"{source}, the model predicts {len(explained)} outputs and explains {percent(_mean(explained.values()))} of "
        "their variance on average; always predicting the means would explain none.",
        f"It is best for {best} ({percent(explained[best])}) and worst for {worst} ({percent(explained[worst])}).",
    ]


def _about_classes(subject: Subject, measures: list[Measure], source: str) -> list[str]:
    accuracy = measures[0]
    classes, counts = np.unique(subject.y, return_counts=True)
    interval = f"{percent(0.95)} confidence: {percent(accuracy.low)} to {percent(accuracy.high)}"
    said = [f"{source}, the model predicts the correct class in {percent(accuracy.value)} of cases ({interval})."]
    reference = (
        f"Always predicting {classes[counts.argmax()]}, the most frequent of {count(len(classes), 'class', 'classes')},"
        f" would be correct in {percent(accuracy.baseline)} of cases"
    )
    if accuracy.value == accuracy.baseline:
        return [*said, f"{reference}: the model is no better than that."]
    if accuracy.value < accuracy.baseline:
        return [*said, f"{reference}: the model is worse than that."]
    fewer = 1.0 - (1.0 - accuracy.value) / (1.0 - accuracy.baseline)
    return [*said, f"{reference}: the model makes {percent(fewer)} fewer errors."]


def _about_intervals(coverages: list[Coverage]) -> str:
    coverage = next(c for c in coverages if c.asked == PICTURED_COVERAGE)
    too_few = ", which is too few," if coverage.high < coverage.asked else ""
    return (
        f"Its {percent(coverage.asked)} prediction intervals contain {percent(coverage.held)} of the true values"
        f"{too_few} and are {number(coverage.width)} wide on average."
    )


def cards(subject: Subject, measures: dict[str, list[Measure]]) -> list[Card]:
    """Three numbers at a glance."""
    first = next(iter(measures.values()))
    rows = Card("evaluated on", count(subject.n_rows, "row"), count(len(subject.inputs), "input"))
    if subject.classifies:
        return [
            Card("accuracy", percent(first[0].value), f"{percent(first[0].low)} to {percent(first[0].high)}"),
            Card("baseline", percent(first[0].baseline), "always predicting the most frequent class"),
            rows,
        ]
    if subject.quantile is not None:
        loss, below = first
        return [
            Card("true values below", percent(below.value), f"should be {percent(subject.quantile)}"),
            Card("pinball loss", number(loss.value), f"{number(loss.low)} to {number(loss.high)}"),
            Card("baseline", number(loss.baseline), f"always predicting the {subject.quantile:g} quantile"),
            rows,
        ]
    if len(measures) > 1:
        mean = _mean(output[-1].value for output in measures.values())
        return [Card("R²", number(mean), f"mean of {len(measures)} outputs"), rows]
    absolute, _, explained = first
    return [
        Card("mean absolute error", number(absolute.value), f"{number(absolute.low)} to {number(absolute.high)}"),
        Card("baseline", number(absolute.baseline), "always predicting the mean"),
        Card("R²", number(explained.value), f"{number(explained.low)} to {number(explained.high)}"),
        rows,
    ]


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


@dataclass(frozen=True)
class ColumnSummary:
    """What the values of a column are like: statistics, or where there are none, a note.

    ``missing`` is the number of rows without a value; None where nothing marks them.
    """

    name: str
    kind: str
    missing: int | None = None
    values: tuple[str, ...] = ()
    note: str = ""


STATISTICS = ("minimum", "median", "mean", "maximum", "std. dev.")


def input_columns(subject: Subject) -> list[ColumnSummary]:
    """The inputs; those of sparse rows as in the sample."""
    X = subject.sample_rows if sparse.issparse(subject.X) else subject.X
    return [
        _describe_input(subject, name, X[:, subject.inputs[name]]) for name in list(subject.inputs)[:_COLUMNS_SHOWN]
    ]


def _describe_input(subject: Subject, name: str, values: np.ndarray) -> ColumnSummary:
    source = subject.sources.get(name)
    if isinstance(source, Category):
        missing = int(values[:, len(source.categories) + source.others].sum()) if source.missing else None
        shown = values[:, : len(source.categories)]
        return ColumnSummary(name, "category", missing, note=_frequent(subject, name, shown, source.n_levels))
    if subject.is_one_hot(name):
        return ColumnSummary(name, "category", note=_frequent(subject, name, values, values.shape[1]))
    if source is None:
        if values.shape[1] > 1:
            return ColumnSummary(name, "numbers", note=count(values.shape[1], "column"))
        return _describe(name, values[:, 0])
    if isinstance(source, RowTime):
        return ColumnSummary(
            name, source.kind, note=f"not an input itself, only its place in the {enumerated(source.cycles)}"
        )
    absent = subject.absent.get(name, values[:, -1] == 1.0 if source.indicator else np.zeros(len(values), dtype=bool))
    missing = int(absent.sum()) if source.indicator or name in subject.absent else None
    present = values[~absent, 0]
    if not present.size:
        return ColumnSummary(name, source.kind, missing, note="missing in all rows")
    if source.kind == "boolean":
        return ColumnSummary(name, source.kind, missing, note=f"true in {percent(present.mean())} of the rows")
    return ColumnSummary(name, source.kind, missing, _WRITTEN.get(source.kind, _statistics)(present))


def _frequent(subject: Subject, name: str, indicators: np.ndarray, number_of: int) -> str:
    counts = indicators.sum(axis=0)
    most = int(counts.argmax())
    often = f"most often {subject.categories(name)[most]} ({percent(counts[most] / len(indicators))})"
    return f"{count(number_of, 'category', 'categories')}, {often}"


def _statistics(values: np.ndarray) -> tuple[str, ...]:
    *places, deviation = _five(values)
    return (*alike(places), number(deviation))


def _dates(days: np.ndarray) -> tuple[str, ...]:
    *moments, deviation = _five(days)
    return (*(str(np.datetime64(int(day // 1), "D")) for day in moments), f"{number(deviation)} days")


def _times(hours: np.ndarray) -> tuple[str, ...]:
    *moments, deviation = _five(hours)
    return (*(f"{int(hour):02}:{int(60 * hour % 60):02}" for hour in moments), f"{number(deviation)} hours")


def _five(values: np.ndarray) -> tuple[float, ...]:
    return tuple(map(float, (values.min(), np.median(values), values.mean(), values.max(), values.std())))


_WRITTEN = {"date": _dates, "time": _times}


def target_columns(subject: Subject) -> list[ColumnSummary]:
    """The targets, or how frequent the classes are."""
    if subject.classifies:
        return []
    return [_describe(name, subject.y[:, k]) for k, name in enumerate(subject.outputs)]


def _describe(name: str, values: np.ndarray) -> ColumnSummary:
    return ColumnSummary(name, "number", values=_statistics(values))
