"""Figures that sentences of README.md and docs/ repeat are those of the results."""

import csv
import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from skscn.fit.updating import MARGIN

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
WORDS = re.findall(
    r"\w+", "no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
)

# What pages say, with the names of figures in place of the figures.
SENTENCES = {
    "README.md": [
        "On {sets} regression tables the ensemble had the best mean rank of {methods} methods, slightly ahead of "
        "CatBoost, at {fit: SCN-ensemble / CatBoost} times its time",
    ],
    "docs/ensembles.md": [
        "On {sets} regression tables `SCNEnsembleRegressor()` had the best mean rank of the {methods} methods compared "
        "({rank: SCN-ensemble}), slightly ahead of CatBoost ({rank: CatBoost}), which trains {fit: SCN-ensemble / "
        "CatBoost} times as fast",
        "{fit: SCN-ensemble / SCN} times as long to train as a single network",
        "For 90 % intervals on {sets} tables, the mean coverage was {coverage} % ({least coverage} to {most coverage} "
        "%), and the intervals were {narrower} % narrower",
        "on {class tables} tables its log loss was {log loss: SCN ensemble of 10}, compared with {log loss: SCN}, and "
        "its error rate {error: SCN ensemble of 10}, compared with {error: SCN}",
    ],
    "docs/comparison.md": [
        "Their mean ranks in regression are {rank: RVFL} and {rank: ELM} of {methods}, compared with {rank: SCN} for a "
        "single SCN and {rank: SCN-ensemble} for an ensemble",
        "| mean rank in regression (of 12, 15 tables) | {rank: SCN}; ensemble {rank: SCN-ensemble} | {rank: MLP} | "
        "{rank: boosting} |",
        "| processor time of a fit, relative to one SCN | 1; ensemble {fit: SCN-ensemble / SCN} | {fit: MLP / SCN} | "
        "{fit: boosting / SCN} |",
        "| processor time of a prediction, relative to one SCN | 1; ensemble {predict: SCN-ensemble / SCN} | "
        "{predict: MLP / SCN} | {predict: boosting / SCN} |",
    ],
    "docs/losses.md": [
        '| `"huber"` | {cost: huber} | {costs: huber} |',
        '| `"welsch"`, `"bisquare"`, `"kde"` | {cost: welsch}, {cost: bisquare}, {cost: kde} | {costs: robust} |',
        '| `"absolute"` | {cost: absolute} | {costs: absolute} |',
        '| `"quantile"`, 0.95 | {cost: quantile} | {costs: quantile} |',
        '| `"poisson"` | {cost: poisson} | {costs: poisson} |',
        '| `"log_loss"`, relative to `"squared"` with `SCNClassifier` | {cost: log_loss} | {costs: log_loss} |',
        "on both sides; as a cautious choice | many outliers, or all on one side: they still pull | {cost: huber} |",
        "if unusual rows are real and matter | {cost: welsch}, {cost: bisquare} |",
        "outliers that are all wrong by the same amount | {cost: kde} |",
        "for instance to add up predictions | {cost: absolute} |",
        "few rows beyond the quantile | {cost: quantile} |",
        "targets that merely happen to be positive integers | {cost: poisson} |",
        "if you need staged predictions | {cost: log_loss} |",
        "the geometric mean over {cost tables} tables, or {class tables} for classes",
    ],
    "docs/series.md": [
        "`predict_one(x)` takes about {stream: microseconds} µs",
        "the laser's errors range from {least: Santa Fe laser} to {most: Santa Fe laser}, those of NARMA-10 from "
        "{least: NARMA-10} to {most: NARMA-10}",
        "another method is better with {tanks: lost} of the five seeds",
        "fixed 90 % intervals contained {tanks: fixed} % of the later rows",
        "Intervals that follow late targets contained {tanks: late} %",
    ],
    "docs/streams.md": [
        "there are unfounded alarms, {unfounded: plant} and {unfounded: steady plant} in 100,000 rows",
        "Of the plant's four changes, {missed: plant} raises no alarm",
    ],
    "docs/deep.md": [
        "The geometric mean is {deep: mean}. Only {deep: gains} of the {deep: tables} tables gain 3 % or more.",
        "On {deep: tables} regression tables",
        "({deep: none kept} times on the regression tables below where no layer is kept, and up to {deep: longest} "
        "times where layers are)",
        "of {deep: kept} deeper networks that were kept below",
    ],
    "docs/algorithms.md": [
        "50 nodes reach a test RMSE of about {paper: SC-I} with SC-I, {paper: SC-II} with SC-II and "
        "{paper: SC-III} with SC-III",
    ],
    "docs/activations.md": [
        "tanh and gaussian have the best mean ranks ({rank: tanh} and {rank: gaussian} of six activations)",
    ],
    "docs/quickstart.md": ["(Table 1 of the paper: {Table 1: mean} ± {Table 1: deviation})"],
    "docs/out_of_core.md": [
        "a million rows of 10 inputs with 40 nodes took {speed: seconds} s of processor time",
        "a fit of a million rows took {speed: scratch files} times the processor time of one in memory",
    ],
    "docs/performance.md": [
        "takes {speed: textbook / skscn} times the processor time of SC-III with the paper's search and "
        "{speed: textbook / skscn default} times that of the default search, whose training error is then "
        "{speed: errors} times that of the textbook implementation.",
        "the default search takes {speed: 200,000 rows} s.",
    ],
    "docs/scaling_out.md": [
        "A fit of 200,000 rows in memory takes about {speed: microseconds} µs per row for 100 nodes on one core "
        "([](performance.md)), so 10⁸ rows take about {speed: minutes} minutes",
    ],
    "docs/stopping.md": ["extended by {margin} of the range on either side"],
}


def page(path):
    """The text of a page, without line breaks."""
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())


def lines_of(name):
    """The lines of a file of results."""
    with (DOCS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def load():
    """A module of the benchmarks by its name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield importlib.import_module


@pytest.fixture(scope="module")
def figures(load):
    """All figures, as they are written."""
    parts = (accuracy(load), intervals(load), losses(), series(), streams(), deep(), paper(), speed(load))
    return {name: text for part in parts for name, text in part.items()} | {"margin": {0.05: "a twentieth"}[MARGIN]}


def times(ratio):
    """A ratio with two digits, at least."""
    return f"{ratio:.0f}" if ratio >= 10.0 else f"{ratio:.2g}"


def accuracy(load):
    summary = load("accuracy_parts.summary").summarise(
        load("accuracy_parts.means").read_means(DOCS / "accuracy_results.csv"), "regression", "nrmse"
    )
    ranks = dict(zip(summary.methods, summary.ranks, strict=True))
    assert sorted(ranks, key=ranks.get)[:2] == ["SCN-ensemble", "CatBoost"]
    found = {"sets": WORDS[len(summary.sets)], "methods": WORDS[len(summary.methods)]}
    found |= {f"rank: {method}": f"{rank:.1f}" for method, rank in ranks.items()}
    for name, cost in (("fit", "cpu"), ("predict", "predict")):
        means = dict(zip(summary.methods, np.exp(np.log(summary.costs[cost]).mean(axis=0)), strict=True))
        found |= {f"{name}: {a} / {b}": times(means[a] / means[b]) for a in means for b in means}
    return found


def intervals(load):
    tables = load("accuracy_parts.interval_tables")
    means = tables.read_intervals(DOCS / "accuracy_intervals.csv")
    own, _, width = tables.mean_line(means)
    shares = [mean.coverage for mean in means]
    return {
        "coverage": f"{100 * own:.1f}",
        "least coverage": f"{100 * min(shares):.0f}",
        "most coverage": f"{100 * max(shares):.0f}",
        "narrower": f"{100 * (1 - width):.0f}",
    }


def losses():
    """Times from the file, errors of classifiers from the table on the page."""
    found, lines = {}, [(line["table"].rpartition(": ")[2], line) for line in lines_of("losses_costs.csv")]
    summaries = {(task, line["row"]): line for task, line in lines}
    for task, losses in (("regression", REGRESSION), ("classification", ["log_loss"])):
        mean, least, most = (summaries[task, row] for row in ("geometric mean", "smallest", "largest"))
        found |= {f"cost: {loss}": f"{float(mean[loss]):.1f}" for loss in losses}
        groups = {loss: [loss] for loss in losses} | {"robust": REGRESSION[1:4]}
        for name, group in groups.items():
            if set(group) <= {*losses}:
                low, high = min(float(least[loss]) for loss in group), max(float(most[loss]) for loss in group)
                found[f"costs: {name}"] = f"{low:.1f}–{high:.1f}"
    count = {task: sum(name == task for name, _ in lines) - 3 for task in ("regression", "classification")}
    row = r"^\| ([^|]+) \| [\d.]+ \| ([\d.]+) \| [\d.]+ \| ([\d.]+) \| [\d.]+ \|$"
    table = re.findall(row, text_of("losses"), re.M)
    return (
        found
        | {"cost tables": WORDS[count["regression"]], "class tables": str(count["classification"])}
        | {f"error: {method}": error for method, error, _ in table}
        | {f"log loss: {method}": loss for method, _, loss in table}
    )


REGRESSION = ["huber", "welsch", "bisquare", "kde", "absolute", "quantile", "poisson"]


def text_of(name):
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


OTHERS = ("ESN", "NVAR", "lagged HGB")


def series():
    lines = lines_of("series_results.csv")
    values = {(line["task"], line["method"], line["seed"]): float(line["value"]) for line in lines}
    ours = [line for line in lines if line["method"] == "RSCN"]
    tanks = [line for line in ours if line["task"] == "drifting tanks"]
    lost = [
        line["seed"]
        for line in tanks
        if any(values["drifting tanks", other, line["seed"]] < float(line["value"]) for other in OTHERS)
    ]
    fixed = [f"{100 * float(line['fixed']):.0f}" for line in tanks]
    late = [100 * float(line[name]) for name in ("steered", "stream") for line in tanks]
    found = {
        "stream: microseconds": f"{np.median([float(line['microseconds']) for line in ours]):.0f}",
        "tanks: lost": WORDS[len(lost)],
        "tanks: fixed": f"{', '.join(fixed[:-1])} and {fixed[-1]}",
        "tanks: late": f"{min(late):.0f} to {max(late):.0f}",
    }
    for task in ("Santa Fe laser", "NARMA-10"):
        some = [float(line["value"]) for line in ours if line["task"] == task]
        found |= {f"least: {task}": f"{min(some):.3f}", f"most: {task}": f"{max(some):.3f}"}
    return found


def streams():
    drift = {line["stream"]: line for line in lines_of("stream_drift.csv")}
    unfounded = {stream: int(line["unfounded_alarms"]) for stream, line in drift.items()}
    missed = 4 - (int(drift["plant"]["alarms"]) - unfounded["plant"])
    return {f"unfounded: {stream}": WORDS[count] for stream, count in unfounded.items()} | {
        "missed: plant": WORDS[missed]
    }


def deep():
    """From the table on the page; the tables of its last line have 1."""
    row = r"^\| (.+?) \| ([\d.]+) \| .+? \| (?:(\d) of 5|none) \| (?:\d+ to )?(\d+) times \|$"
    rows = re.findall(row, text_of("deep"), re.M)
    errors = np.repeat([float(error) for _, error, _, _ in rows], [len(names.split(", ")) for names, *_ in rows])
    return {
        "deep: mean": f"{np.exp(np.log(errors).mean()):.3f}",
        "deep: gains": WORDS[np.sum(errors <= 0.97)],
        "deep: tables": WORDS[len(errors)],
        "deep: none kept": re.search(r"\| none \| (.+?) times \|", text_of("deep"))[1],
        "deep: longest": max((longest for *_, longest in rows), key=int),
        "deep: kept": WORDS[sum(int(kept or 0) for _, _, kept, _ in rows)],
    }


def paper():
    cells = {(line["method"], line["quantity"]): line for line in lines_of("reproduced/table1.csv")}
    found = {
        f"paper: {method}": f"{float(cells[method, 'test RMSE, L = 50']['mean']):.{digits}f}".lstrip("0")
        for method, digits in (("SC-I", 2), ("SC-II", 3), ("SC-III", 3))
    }
    reported = cells["SC-III", "train RMSE, L = 50"]
    ranks = re.search(r"Mean rank over these sets: tanh ([\d.]+), gaussian ([\d.]+),", text_of("paper"))
    return found | {
        "Table 1: mean": reported["paper_mean"],
        "Table 1: deviation": reported["paper_std"],
        "rank: tanh": ranks[1],
        "rank: gaussian": ranks[2],
    }


def speed(load):
    store = load("speed_parts.results").ResultStore(DOCS / "speed_results.jsonl")
    seconds, book = store.median("b", "200000 rows, 100 nodes", "skscn default"), ("b", "20000 rows, 100 nodes")
    errors = [store.turns(*book, method)[0]["rmse"][-1] for method in ("skscn default", "textbook")]
    ratios = {method: store.ratio(*book, "textbook", method) for method in ("skscn", "skscn default")}
    return {f"speed: textbook / {method}": f"{ratio:.1f}" for method, ratio in ratios.items()} | {
        "speed: errors": f"{errors[0] / errors[1]:.2f}",
        "speed: 200,000 rows": f"{seconds:.1f}",
        "speed: seconds": f"{store.median('d', 'N = 1000000, L = 40, d = 10, T = 100', 'polished'):.1f}",
        "speed: microseconds": f"{seconds / 0.2:.0f}",
        "speed: minutes": f"{seconds / 2e5 * 1e8 / 60:.0f}",
        "speed: scratch files": f"{store.ratio('f', '1000000 rows, 20 nodes', 'scratch files', 'memory'):.1f}",
    }


@pytest.mark.parametrize("path", SENTENCES)
def test_sentences_have_the_figures_of_the_results(figures, path):
    text = page(path)
    expected = [re.sub(r"\{([^}]+)\}", lambda match: figures[match[1]], sentence) for sentence in SENTENCES[path]]
    assert [sentence for sentence in expected if sentence not in text] == []


def test_tables_of_the_page_on_performance_are_those_of_its_results(load):
    store = load("speed_parts.results").ResultStore(DOCS / "speed_results.jsonl")
    assert load("speed").page_text(text_of("performance"), store) == text_of("performance")


@pytest.mark.parametrize("path", ["docs/stopping.md", "docs/comparison.md", "docs/deep.md"])
def test_pages_agree_on_the_bounds_of_predictions(path):
    assert re.search(r"range of the training targets, extended by a twentieth", page(path))
