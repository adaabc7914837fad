"""The first thing that is read: how good the model is, in plain sentences; and what the data are like."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from skscn.judging.cautions import Caution
from skscn.judging.scores import SAME, TITLES, unconfirmed
from skscn.judging.sketch import NOTABLE
from skscn.losses import OUTLIER, name_of
from skscn.report._data import PICTURED_COVERAGE, FollowedRows, ReportData
from skscn.report._errors import Coverage, Measure
from skscn.report._influence import Importance
from skscn.tables.columns import Category, RowTime
from skscn.words import alike, count, enumerated, number, percent

_COLUMNS_SHOWN = 50
# The most rows in the table of outliers, and the most columns in a sentence or in that table.
_OUTLIERS_SHOWN = 20
_NAMED = 3


@dataclass(frozen=True)
class Card:
    """A number to catch the eye."""

    label: str
    value: str
    note: str


def sentences(
    data: ReportData,
    measures: dict[str, list[Measure]],
    importances: list[Importance],
    coverages: list[list[Coverage]],
    data_name: str | None,
) -> list[str]:
    """How good the model is, and which inputs matter most."""
    first = next(iter(measures.values()))
    source = f"On {count(data.n_rows, 'row')}{f' of {data_name}' if data_name else ''}"
    if data.classifies:
        said = _about_classes(data, first, source)
    elif data.quantile is not None:
        said = _about_quantile(data.quantile, measures, source)
    elif len(data.outputs) > 1:
        said = _about_outputs(measures, source)
    else:
        said = _about_target(data.outputs[0], first, source)
        said += _about_persistence(data.followed, first[0].value)
    said += _about_outliers(data)
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


def _about_persistence(followed: FollowedRows | None, error: float) -> list[str]:
    """A comparison of the mean absolute error one step ahead with that of the last known value."""
    if followed is None or not followed.estimator.feedback or not len(followed.persistence):
        return []
    last = float(np.abs(followed.persistence[:, 0]).mean())
    than = f"the model's error is {percent(1.0 - error / last)} smaller" if error < last else "the model is no better"
    return [
        "Predictions are one step ahead: the true values of all earlier rows are known. Predicting the last known "
        f"value would be off by {number(last)}: {than}."
    ]


def _about_quantile(quantile: float, measures: dict[str, list[Measure]], source: str) -> list[str]:
    """The share below, of each output, and the pinball loss of the first."""
    shares = [f"{percent(below.value)} of the true values of {name}" for name, (_, below) in measures.items()]
    off = any(not below.low <= quantile <= below.high for _, below in measures.values())
    which = f"the predictions, which estimate the {quantile:g} quantile: it should be {percent(quantile)}"
    said = [f"{source}, {enumerated(shares[:_NAMED])} are below {which}."]
    if off:
        said.append(f"The difference from {percent(quantile)} is larger than chance explains.")
    loss = next(iter(measures.values()))[0]
    return [
        *said,
        _against(f"Always predicting the {quantile:g} quantile of these rows", "have a pinball loss of", loss),
    ]


def _about_outliers(data: ReportData) -> list[str]:
    """How many rows look like outliers, under a loss that can tell."""
    if data.row_weights is None or data.loss is None:
        return []
    limit = f"(weight below {OUTLIER:g} under the loss {name_of(data.loss)})"
    if not len(data.outliers):
        return [f"No row looks like an outlier {limit}."]
    rows = count(len(data.outliers), "row looks like an outlier", "rows look like outliers")
    half = number(np.median(np.abs(data.y - data.predictions)))
    typical = f" Half of the predictions are off by less than {half}." if len(data.outputs) == 1 else ""
    them = "it" if len(data.outliers) == 1 else "them"
    return [f"{rows} {limit}. The errors on this page include {them}.{typical}"]


@dataclass(frozen=True)
class Outlier:
    """A row that looks like an outlier: its number, true values and predictions of the first outputs, and weight."""

    number: int
    values: list[str]
    weight: float


def outlier_rows(data: ReportData) -> list[Outlier]:
    """The rows of the smallest weights."""
    rows = data.outliers[:_OUTLIERS_SHOWN]
    if data.row_weights is None or not len(rows):
        return []
    columns = [alike(values[rows, k]) for k in range(outlier_outputs(data)) for values in (data.y, data.predictions)]
    numbers = rows + 1 if data.row_numbers is None else data.row_numbers[rows]
    texts = zip(*columns, strict=True)
    weights = data.row_weights[rows]
    return [Outlier(int(n), list(v), float(w)) for n, v, w in zip(numbers, texts, weights, strict=True)]


def outlier_outputs(data: ReportData) -> int:
    """How many outputs the table of outliers shows."""
    return min(len(data.outputs), _NAMED)


def _against(baseline: str, would: str, error: Measure) -> str:
    reference = f"{baseline} would {would} {number(error.baseline)}"
    if error.baseline <= 0.0:
        return f"{reference}."
    ratio = error.value / error.baseline
    if abs(ratio - 1.0) <= SAME:
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


def _about_classes(data: ReportData, measures: list[Measure], source: str) -> list[str]:
    accuracy = measures[0]
    classes, counts = np.unique(data.y, return_counts=True)
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


def cards(data: ReportData, measures: dict[str, list[Measure]]) -> list[Card]:
    """Three numbers at a glance."""
    first = next(iter(measures.values()))
    rows = Card("evaluated on", count(data.n_rows, "row"), count(len(data.inputs), "input"))
    if data.classifies:
        return [
            Card("accuracy", percent(first[0].value), f"{percent(first[0].low)} to {percent(first[0].high)}"),
            Card("baseline", percent(first[0].baseline), "always predicting the most frequent class"),
            rows,
        ]
    if data.quantile is not None:
        loss, below = first
        return [
            Card("true values below", percent(below.value), f"should be {percent(data.quantile)}"),
            Card("pinball loss", number(loss.value), f"{number(loss.low)} to {number(loss.high)}"),
            Card("baseline", number(loss.baseline), f"always predicting the {data.quantile:g} quantile"),
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


def input_columns(data: ReportData) -> list[ColumnSummary]:
    """The inputs; those of sparse rows as in the sample."""
    X = data.sample_rows if sparse.issparse(data.X) else data.X
    return [_describe_input(data, name, X[:, data.inputs[name]]) for name in list(data.inputs)[:_COLUMNS_SHOWN]]


def _describe_input(data: ReportData, name: str, values: np.ndarray) -> ColumnSummary:
    source = data.sources.get(name)
    if isinstance(source, Category):
        missing = int(values[:, len(source.categories) + source.others].sum()) if source.missing else None
        shown = values[:, : len(source.categories)]
        return ColumnSummary(name, "category", missing, note=_frequent(data, name, shown, source.n_levels))
    if data.is_one_hot(name):
        return ColumnSummary(name, "category", note=_frequent(data, name, values, values.shape[1]))
    if source is None:
        if values.shape[1] > 1:
            return ColumnSummary(name, "numbers", note=count(values.shape[1], "column"))
        return _describe(name, values[:, 0])
    if isinstance(source, RowTime):
        return ColumnSummary(
            name, source.kind, note=f"not an input itself, only its place in the {enumerated(source.cycles)}"
        )
    absent = data.absent.get(name, values[:, -1] == 1.0 if source.indicator else np.zeros(len(values), dtype=bool))
    missing = int(absent.sum()) if source.indicator or name in data.absent else None
    present = values[~absent, 0]
    if not present.size:
        return ColumnSummary(name, source.kind, missing, note="missing in all rows")
    if source.kind == "boolean":
        return ColumnSummary(name, source.kind, missing, note=f"true in {percent(present.mean())} of the rows")
    return ColumnSummary(name, source.kind, missing, _WRITTEN.get(source.kind, _statistics)(present))


def _frequent(data: ReportData, name: str, indicators: np.ndarray, number_of: int) -> str:
    counts = indicators.sum(axis=0)
    most = int(counts.argmax())
    often = f"most often {data.categories(name)[most]} ({percent(counts[most] / len(indicators))})"
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


def target_columns(data: ReportData) -> list[ColumnSummary]:
    """The targets, or how frequent the classes are."""
    if data.classifies:
        return []
    return [_describe(name, data.y[:, k]) for k, name in enumerate(data.outputs)]


def _describe(name: str, values: np.ndarray) -> ColumnSummary:
    return ColumnSummary(name, "number", values=_statistics(values))


def expectation(data: ReportData) -> str:
    """What the errors on these rows say about others."""
    estimate = _estimate(data)
    reached = "" if estimate is None else f" {_estimated(*estimate)}"
    if data.seen is None:
        return f"If the model was trained on these rows, expect larger errors on new ones.{reached}"
    if data.seen < NOTABLE:
        return f"The model was not trained on these rows.{reached}"
    rows = "these rows" if data.seen > 0.99 else f"about {percent(data.seen)} of these rows"
    return f"The model was trained on {rows}: expect larger errors on new ones.{reached}"


def _estimated(name: str, then: float) -> str:
    if name == "rmse":
        return f"In training, its RMSE on held-out rows was {number(then)}."
    score = percent(then) if name == "accuracy" else number(then)
    return (
        f"The out-of-bag estimate, from training rows that its members had not seen, is an {TITLES[name]} of {score}."
    )


def _estimate(data: ReportData) -> tuple[str, float] | None:
    """The score that training promised: the out-of-bag score, or the error on held-out rows."""
    # Under other losses neither R² nor the validation error, which is that of weighted rows, is what was minimised.
    if not data.classifies and data.loss is not None and not data.loss.plain:
        return None
    score = getattr(data.estimator, "oob_score_", np.nan)
    if np.isfinite(score):
        return "accuracy" if data.classifies else "r2", float(score)
    error = _held_out_error(data)
    return None if error is None else ("rmse", error)


def _held_out_error(data: ReportData) -> float | None:
    """The validation error of a network of one output when it was as large as it is, in units of the target."""
    network, *others = data.networks
    if data.classifies or len(data.outputs) > 1 or (others and data.followed is None):
        return None
    errors = network.history_["validation_rmse"]
    if data.followed is not None:
        errors = errors[np.isfinite(errors)]
        return float(errors.min()) if len(errors) else None
    kept = errors[network.history_["nodes"] == network.n_nodes_]
    return float(kept[0]) if np.isfinite(kept).any() else None


def doubts(data: ReportData, measures: dict[str, list[Measure]]) -> list[str]:
    """Sentences that a reader must not miss; none where all is as expected."""
    return [*map(str, _not_confirmed(data, measures)), *_unusual_inputs(data)]


def _not_confirmed(data: ReportData, measures: dict[str, list[Measure]]) -> list[Caution]:
    """A score that is much worse than in the tests of the fit, or else than the estimate from training."""
    estimate, tested = _estimate(data), data.tested
    shuffled = not tested and data.followed is None and getattr(data.estimator, "validation", "random") != "last"
    if not tested and estimate is not None:
        tested = {estimate[0]: {"mean": estimate[1], "std": 0.0}}
    outputs = list(measures.values())
    scores = {
        measure.score: _mean(output[k].value for output in outputs)
        for k, measure in enumerate(outputs[0])
        if measure.score
    }
    found = unconfirmed(scores, tested)
    if found is None:
        return []
    values = {"score": TITLES[found[0]], "then": found[1], "now": scores[found[0]], "outside": bool(data.outside)}
    return [Caution("unconfirmed", {**values, "shuffled": shuffled})]


def _unusual_inputs(data: ReportData) -> Iterable[str]:
    notable = [column for column in data.outside if column.notable]
    if notable:
        names = [f"{column.name} ({count(column.outside, 'row')})" for column in notable[:_NAMED]]
        more = len(notable) - len(names)
        all_names = enumerated([*names, *([count(more, "other column")] if more else [])])
        changed = [column.name for column in notable if column.unit]
        unit = f" Is the unit of {changed[0]} the same as in training?" if changed else ""
        yield f"Some inputs are outside the training range, so the model extrapolates: {all_names}.{unit}"
