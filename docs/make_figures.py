"""Fill in the figures that sentences repeat, from the files of results: ``python docs/make_figures.py``.

People write the sentences. ``SENTENCES`` has them with the names of figures in place of the figures; where a page has
such a sentence with other figures, they are replaced. ``tests/test_figures.py`` checks that none is out of date.
"""

import csv
import importlib
import re
import sys
from pathlib import Path

import numpy as np

from skscn.fit.updating import MARGIN
from skscn.paper.studies import findings, read_study

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
WORDS = re.findall(
    r"\w+", "no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
)
ERRORS = "{won: %s} | {error: %s} | {fit: %s} | {predict: %s} |"


def against(own: str, other: str) -> str:
    """The cells that compare two methods."""
    return ERRORS % ((f"{own} / {other}",) * 4)


SENTENCES = {
    "README.md": [
        "On {sets} regression tables, an ensemble has the best mean rank of {methods} methods, slightly ahead of "
        "CatBoost, with {fit: SCN-ensemble / CatBoost} times its training time, but another method is better on "
        "{worse: count} of these tables. A single network ranks behind CatBoost, with {fit: SCN / CatBoost} times its "
        "training time. On two smooth functions of many inputs, RealMLP has {smooth error: RealMLP / "
        "SCN-ensemble} times the ensemble's error, in {smooth fit: RealMLP / SCN-ensemble} times the training time",
        "| CatBoost | {won: SCN-ensemble / CatBoost} tables, {error: SCN-ensemble / CatBoost} times its error | "
        "{fit: SCN-ensemble / CatBoost} times |",
        "| HistGradientBoosting | {won: SCN-ensemble / boosting} tables, {error: SCN-ensemble / boosting} times its "
        "error | {fit: SCN-ensemble / boosting} times |",
        "recurrent SCN | {series: against ESN} series; boosting",
        "| river, online SCN | {streams: won} streams | about {streams: milliseconds} ms per row; linear models take "
        "{streams: linear} ms |",
    ],
    "docs/accuracy.md": [
        "takes {fit: SCN-ensemble / CatBoost} times the training time of CatBoost",
        "On {sets} regression tables the ensemble has the best mean rank of {methods} methods ({rank: SCN-ensemble}; "
        "CatBoost {rank: CatBoost}), but it is worse than the best other method on {worse: count} of them: "
        "{worse: sets} times its error",
        "One network (rank {rank: SCN}) beats CatBoost on {won by: SCN / CatBoost} tables and loses on "
        "{lost by: SCN / CatBoost}, in {fit: SCN / CatBoost} times the training time",
        "| ensemble against CatBoost | " + against("SCN-ensemble", "CatBoost"),
        "| ensemble against LightGBM | " + against("SCN-ensemble", "LightGBM"),
        "| ensemble against histogram boosting | " + against("SCN-ensemble", "boosting"),
        "| ensemble against a random forest | " + against("SCN-ensemble", "forest"),
        "| one network against CatBoost | " + against("SCN", "CatBoost"),
        "| one network against histogram boosting | " + against("SCN", "boosting"),
        "| one network against RVFL | " + against("SCN", "RVFL"),
        "| one network against swimnetworks | " + against("SCN", "SWIM"),
        "RealMLP has {smooth error: RealMLP / SCN-ensemble} times the ensemble's error, in {smooth fit: RealMLP / "
        "SCN-ensemble} times the training time",
        "90 % intervals contain {least coverage} to {most coverage} % of unseen targets, and are {narrower} % narrower",
    ],
    "docs/ensembles.md": [
        "On {sets} regression tables, `SCNEnsembleRegressor()` had the best mean rank of the {methods} methods "
        "compared ({rank: SCN-ensemble}), slightly ahead of CatBoost ({rank: CatBoost}), with {fit: SCN-ensemble / "
        "CatBoost} times its training time",
        "Its members take {fit: SCN-ensemble / SCN} times as long to train as a single network",
        "For 90 % intervals on {sets} tables, the mean coverage was {coverage} % ({least coverage} to {most coverage} "
        "%), and the intervals were {narrower} % narrower",
        "on {class tables} tables its log loss was {log loss: SCN ensemble of 10}, compared with {log loss: SCN} for "
        "one network, and its error rate {error rate: SCN ensemble of 10}, compared with {error rate: SCN} (",
    ],
    "docs/comparison.md": [
        "given {smooth fit: RealMLP / SCN} times the training time of one network",
        "the mean ranks of RVFL and ELM in regression are {rank: RVFL} and {rank: ELM} of {methods}, compared with "
        "{rank: SCN} for a single SCN and {rank: SCN-ensemble} for an ensemble",
        "| mean rank in regression (of 12, 15 tables) | {rank: SCN}; ensemble {rank: SCN-ensemble} | {rank: MLP} | "
        "{rank: boosting} |",
        "| processor time of a fit, relative to one SCN | 1; ensemble {fit: SCN-ensemble / SCN} | {fit: MLP / SCN} | "
        "{fit: boosting / SCN} |",
        "| processor time of a prediction, relative to one SCN | 1; ensemble {predict: SCN-ensemble / SCN} | "
        "{predict: MLP / SCN} | {predict: boosting / SCN} |",
    ],
    "docs/evidence_losses.md": [
        '| `"huber"` | {cost: huber} | {costs: huber} |',
        '| `"welsch"`, `"bisquare"`, `"kde"` | {cost: welsch}, {cost: bisquare}, {cost: kde} | {costs: robust} |',
        '| `"absolute"` | {cost: absolute} | {costs: absolute} |',
        '| `"quantile"`, 0.95 | {cost: quantile} | {costs: quantile} |',
        '| `"poisson"` | {cost: poisson} | {costs: poisson} |',
        '| `"log_loss"`, relative to `"squared"` with `SCNClassifier` | {cost: log_loss} | {costs: log_loss} |',
    ],
    "docs/losses.md": [
        "many outliers, or all on one side | {cost: huber} |",
        "unusual rows that are real | {cost: welsch}, {cost: bisquare} |",
        "outliers that are all wrong by the same amount | {cost: kde} |",
        "predictions that are added up | {cost: absolute} |",
        "few rows beyond the quantile | {cost: quantile} |",
        "targets that merely happen to be whole numbers | {cost: poisson} |",
        "nearly all tasks | staged predictions | {cost: log_loss} |",
        "the geometric mean over {cost tables} tables, or {class tables} for classes",
    ],
    "docs/recurrent.md": ["`predict_one(x)` takes about {stream: microseconds} µs"],
    "docs/evidence_series.md": [
        "the lowest error on {series: best} of {series: tasks} tasks",
        "the laser's errors range from {least: Santa Fe laser} to {most: Santa Fe laser}, those of NARMA-10 from "
        "{least: NARMA-10} to {most: NARMA-10}.",
        "another method is better with {tanks: lost} of the five seeds",
        "fixed 90 % intervals contained {tanks: fixed} % of the later rows",
        "Intervals that follow late targets contained {tanks: late} %.",
        "In one draw of {plants} plants",
        "- {plants: misleading} of {plants: changing} changing plants were misleading",
        "- {plants: false alarms} of {plants: steady} steady plants got a false alarm",
    ],
    "docs/evidence_streams.md": [
        "river's linear model is {streams: ratio} times faster on average",
        "there are unfounded alarms, {unfounded: plant} and {unfounded: steady plant} in 100,000 rows",
        "Of the plant's four changes, {missed: plant} raises no alarm",
    ],
    "docs/deep.md": [
        "The geometric mean is {deep: mean}. Only {deep: gains} of the {deep: tables} tables gain 3 % or more.",
        "DIR`. On {deep: tables} regression tables with",
        "({deep: none kept} times on the regression tables below where no layer is kept, and up to {deep: longest} "
        "times where layers are)",
        "Of {deep: kept} deeper networks that were kept below",
    ],
    "docs/algorithms.md": [
        "50 nodes reach a test RMSE of about {paper: SC-I} with SC-I, {paper: SC-II} with SC-II and {paper: SC-III} "
        "with SC-III",
        "tanh and gaussian have the best mean ranks ({rank: tanh} and {rank: gaussian} of six activations)",
    ],
    "docs/tutorial_paper.md": ["the training error of SC-III with 50 nodes is {Table 1: mean} ± {Table 1: deviation};"],
    "docs/out_of_core.md": [
        "a million rows of 10 inputs with 40 nodes took {speed: seconds} s of processor time",
        "a fit of a million rows took {speed: scratch files} times the processor time of one in memory",
    ],
    "docs/performance.md": [
        "**One row takes `SCNRegressor.predict` {speed: one row} µs, {speed: one row / formula} times the bare formula",
        "Scoring candidates takes {speed: scoring} times the matrix product and activation alone",
        "takes {speed: textbook / skscn} times the processor time of SC-III with the paper's search and "
        "{speed: textbook / skscn default} times that of the default search, whose training error is then "
        "{speed: errors} times that of the textbook implementation.",
        "the default search takes {speed: 200,000 rows} s.",
    ],
    "docs/scaling_out.md": [
        "A fit of 200,000 rows in memory takes about {speed: microseconds} µs per row for 100 nodes on one core "
        "([](performance.md)), so 10⁸ rows take about {speed: minutes} minutes of processor time",
    ],
    "docs/stopping.md": ["extended by {margin} of the range on either side"],
}


def filled(text: str, sentences: list[str], figures: dict[str, str]) -> str:
    """A page whose sentences have these figures; a sentence that the page lacks raises ValueError."""
    for sentence in sentences:
        parts = re.split(r"\{([^}]+)\}", sentence)
        words = [r"\s+".join(map(re.escape, part.split(" "))) for part in parts[::2]]
        # A figure ends neither a cell of a table nor a sentence.
        pattern = r"((?:(?!\.\s)[^|]){1,200}?)(?!\.?\d)".join(words)
        match = re.search(pattern, text)
        if match is None:
            raise ValueError(f"There is no sentence such as: {sentence}")
        for number in range(len(parts) // 2, 0, -1):
            figure = figures[parts[2 * number - 1]]
            if " ".join(match[number].split()) != figure:
                text = text[: match.start(number)] + figure + text[match.end(number) :]
    return text


def lines_of(name):
    """The lines of a file of results."""
    with (DOCS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def load(name):
    """A module of the benchmarks by its name."""
    folder = str(ROOT / "benchmarks")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(name)


def all_figures() -> dict[str, str]:
    """All figures, as they are written."""
    parts = (accuracy(), intervals(), losses(), series(), plants(), streams(), deep(), paper(), speed())
    return {name: text for part in parts for name, text in part.items()} | {"margin": {0.05: "a twentieth"}[MARGIN]}


def times(ratio):
    """A ratio with two digits, at least."""
    return f"{ratio:.0f}" if ratio >= 10.0 else f"{ratio:.1f}" if ratio >= 1.0 else f"{ratio:.2g}"


def accuracy():
    """Ranks, sets won and lost, errors and times."""
    means, comparing = load("accuracy_parts.page").all_means(DOCS), load("accuracy_parts.comparing")
    (summary,), (smooth,) = (comparing.summaries_of(means, task) for task in ("regression", "smooth"))
    ranks = dict(zip(summary.methods, summary.ranks, strict=True))
    assert sorted(ranks, key=ranks.get)[:2] == ["SCN-ensemble", "CatBoost"]
    found = {"sets": WORDS[len(summary.sets)], "methods": WORDS[len(summary.methods)]}
    found |= {f"rank: {method}": f"{rank:.1f}" for method, rank in ranks.items()}
    for name, cost in (("fit", "cpu"), ("predict", "predict")):
        means = dict(zip(summary.methods, np.exp(np.log(summary.costs[cost]).mean(axis=0)), strict=True))
        found |= {f"{name}: {a} / {b}": times(means[a] / means[b]) for a in means for b in means}
    for own in ("SCN", "SCN-ensemble"):
        ratios = comparing.mean_ratio(summary.counted, summary.methods.index(own))
        for other, ratio in zip(summary.methods, ratios, strict=True):
            won, lost = comparing.won_and_lost(summary, own, other)
            pair = f"{own} / {other}"
            found |= {f"won: {pair}": f"{won} : {lost}", f"error: {pair}": f"{ratio:.2f}"}
            found |= {f"won by: {pair}": str(won), f"lost by: {pair}": str(lost)}
    ratios = comparing.against_others(summary, "SCN-ensemble")
    worse = [f"{name} {ratio:.2f}" for name, ratio in zip(summary.sets, ratios, strict=True) if ratio > 1.0]
    found |= {"worse: count": str(len(worse)), "worse: sets": ", ".join(worse)}
    column = smooth.methods.index("RealMLP")
    for name, values, shown in (("error", smooth.counted, "{:.2f}".format), ("fit", smooth.costs["cpu"], times)):
        ratios = dict(zip(smooth.methods, comparing.mean_ratio(values, column), strict=True))
        found |= {f"smooth {name}: RealMLP / {own}": shown(ratios[own]) for own in ("SCN", "SCN-ensemble")}
    return found


def intervals():
    """Coverage and width of prediction intervals."""
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
    table = re.findall(row, text_of("evidence_losses"), re.M)
    return (
        found
        | {"cost tables": WORDS[count["regression"]], "class tables": str(count["classification"])}
        | {f"error rate: {method}": error for method, error, _ in table}
        | {f"log loss: {method}": loss for method, _, loss in table}
    )


REGRESSION = ["huber", "welsch", "bisquare", "kde", "absolute", "quantile", "poisson"]


def text_of(name):
    """The text of a page."""
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


OTHERS = ("ESN", "NVAR", "lagged HGB")


def series():
    """Errors, times and intervals of recurrent networks."""
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
    medians = {}
    for task, method, _ in values:
        medians[task, method] = np.median([value for key, value in values.items() if key[:2] == (task, method)])
    tasks = sorted({task for task, _ in medians})
    signs = {task: -1.0 if "free" in task else 1.0 for task in tasks}
    best = [
        min((signs[task] * value, method) for (name, method), value in medians.items() if name == task)
        for task in tasks
    ]
    ahead = [
        task
        for task in tasks
        if all(
            signs[task] * medians[task, "RSCN"] < signs[task] * medians[task, other]
            for other in ("ESN", "NVAR")
            if (task, other) in medians
        )
    ]
    found = {
        "series: against ESN": f"{len(ahead)} : {len(tasks) - len(ahead)}",
        "series: tasks": WORDS[len(tasks)],
        "series: best": WORDS[sum(method == "RSCN" for _, method in best)],
        "stream: microseconds": f"{np.median([float(line['microseconds']) for line in ours]):.0f}",
        "tanks: lost": WORDS[len(lost)],
        "tanks: fixed": f"{', '.join(fixed[:-1])} and {fixed[-1]}",
        "tanks: late": f"{min(late):.0f} to {max(late):.0f}",
    }
    for task in ("Santa Fe laser", "NARMA-10"):
        some = [float(line["value"]) for line in ours if line["task"] == task]
        found |= {f"least: {task}": f"{min(some):.3f}", f"most: {task}": f"{max(some):.3f}"}
    return found


def plants():
    """What came of the plants; their kinds are steady, changing, and with wrong values."""
    lines = lines_of("plants_results.csv")
    kinds = [line["kind"] for line in lines]
    outcomes = [line["outcome"] for line in lines]
    return {
        "plants": str(len(lines)),
        "plants: steady": str(kinds.count("steady")),
        "plants: changing": str(kinds.count("changing")),
        "plants: misleading": str(outcomes.count("misleading")),
        "plants: false alarms": str(outcomes.count("false alarm")),
    }


def streams():
    """Alarms under drift."""
    drift = {line["stream"]: line for line in lines_of("stream_drift.csv")}
    unfounded = {stream: int(line["unfounded_alarms"]) for stream, line in drift.items()}
    errors = {(line["stream"], line["method"]): line for line in lines_of("stream_results.csv")}
    names = sorted({stream for stream, _ in errors})
    own = "OnlineSCNRegressor"
    least = {
        stream: min((float(line["mae"]), key[1]) for key, line in errors.items() if key[0] == stream)
        for stream in names
    }
    ahead = sum(method == own for _, method in least.values())
    ours, linear = (
        np.median([float(errors[name, method]["microseconds"]) for name in names]) for method in (own, "linear")
    )
    missed = 4 - (int(drift["plant"]["alarms"]) - unfounded["plant"])
    return {f"unfounded: {stream}": WORDS[count] for stream, count in unfounded.items()} | {
        "missed: plant": WORDS[missed],
        "streams: won": f"{ahead} : {len(names) - ahead}",
        "streams: milliseconds": f"{ours / 1000:.1g}",
        "streams: ratio": f"{ours / linear:.0f}",
        "streams: linear": f"{linear / 1000:.1g}",
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
    """Errors that the paper reports, and ours."""
    cells = {(line["method"], line["quantity"]): line for line in lines_of("reproduced/table1.csv")}
    found = {
        f"paper: {method}": f"{float(cells[method, 'test RMSE, L = 50']['mean']):.{digits}f}".lstrip("0")
        for method, digits in (("SC-I", 2), ("SC-II", 3), ("SC-III", 3))
    }
    reported = cells["SC-III", "train RMSE, L = 50"]
    ranked = findings(read_study(DOCS / "reproduced" / "activations.csv"))[-1]
    ranks = re.search(r"Mean rank over these sets: tanh ([\d.]+), gaussian ([\d.]+),", ranked)
    return found | {
        "Table 1: mean": reported["paper_mean"],
        "Table 1: deviation": reported["paper_std"],
        "rank: tanh": ranks[1],
        "rank: gaussian": ranks[2],
    }


def speed():
    """Times of fits."""
    store = load("speed_parts.results").ResultStore(DOCS / "speed_results.jsonl")
    seconds, book = store.median("b", "200000 rows, 100 nodes", "skscn default"), ("b", "20000 rows, 100 nodes")
    errors = [store.turns(*book, method)[0]["rmse"][-1] for method in ("skscn default", "textbook")]
    ratios = {method: store.ratio(*book, "textbook", method) for method in ("skscn", "skscn default")}
    row = re.search(r"\| SCNRegressor.predict \| ([\d.]+) µs \| ([\d.]+) \|", text_of("performance"))
    tanh = re.search(r"\| tanh \| [\d.]+ ms \| ([\d.]+) \|", text_of("performance"))
    found = {"speed: one row": row[1], "speed: one row / formula": row[2], "speed: scoring": tanh[1]}
    return (
        found
        | {f"speed: textbook / {method}": f"{ratio:.1f}" for method, ratio in ratios.items()}
        | {
            "speed: errors": f"{errors[0] / errors[1]:.2f}",
            "speed: 200,000 rows": f"{seconds:.1f}",
            "speed: seconds": f"{store.median('d', 'N = 1000000, L = 40, d = 10, T = 100', 'polished'):.1f}",
            "speed: microseconds": f"{seconds / 0.2:.0f}",
            "speed: minutes": f"{seconds / 2e5 * 1e8 / 60:.0f}",
            "speed: scratch files": f"{store.ratio('f', '1000000 rows, 20 nodes', 'scratch files', 'memory'):.1f}",
        }
    )


if __name__ == "__main__":
    found = all_figures()
    for path, sentences in SENTENCES.items():
        page = ROOT / path
        page.write_text(filled(page.read_text(encoding="utf-8"), sentences, found), encoding="utf-8")
