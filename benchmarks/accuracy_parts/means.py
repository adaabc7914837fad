"""Means over splits of every method on every set: from measurements, or from a file that was made of them."""

import csv
from pathlib import Path
from typing import Any

import numpy as np

from accuracy_parts.methods import METHODS
from skscn.paper.trials import KeyedLines

# What a mean is kept under, what is said about it, and the numbers that there may be. ``failed`` counts splits.
NAMES = ("task", "set", "method")
FACTS = {"splits": int, "train_rows": int, "test_rows": int, "failed": int, "version": str}
NUMBERS = ("nrmse", "error_rate", "log_loss", "cpu", "predict", "nodes")
Means = dict[tuple[str, str, str], dict[str, Any]]


def means_of(store: KeyedLines, splits: int) -> Means:
    """The means of all methods and sets with results for every split."""
    names = dict.fromkeys(key[:3] for key in store.results)
    found = {name: [store.results.get((*name, split)) for split in range(splits)] for name in names}
    return {name: mean_of_splits(results) for name, results in found.items() if all(results)}


def mean_of_splits(results: list[dict]) -> dict[str, Any]:
    """The means of the numbers; with the rows and the version of the last split."""
    facts = {name: results[-1][name] for name in ("train_rows", "test_rows", "version") if name in results[-1]}
    failed = sum("failed" in result for result in results)
    numbers = {name: mean_metric(results, name) for name in NUMBERS if any(name in result for result in results)}
    return facts | {"splits": len(results), "failed": failed} | numbers


def mean_metric(results: list[dict], metric: str) -> float:
    """The mean over splits: infinite where one failed, NaN where the method was not run."""
    if any("failed" in result for result in results):
        return np.inf
    there = [result[metric] for result in results if result.get(metric) is not None and not np.isnan(result[metric])]
    return float(np.mean(there)) if there else np.nan


def write_means(means: Means, path: Path) -> None:
    """Write means to a file, with six digits."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*NAMES, *FACTS, *NUMBERS], restval="", lineterminator="\n")
        writer.writeheader()
        for name, mean in means.items():
            numbers = {key: f"{mean[key]:.6g}" for key in NUMBERS if key in mean}
            writer.writerow(dict(zip(NAMES, name, strict=True)) | mean | numbers)


def read_means(path: Path) -> Means:
    """Read means from a file; a line that begins with # is a comment."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {tuple(line[name] for name in NAMES): _parsed(line) for line in csv.DictReader(lines)}


def read_comment(path: Path) -> str:
    """The comment of a file of means: the command that measured them."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return " ".join(line.lstrip("# ") for line in lines if line.startswith("#"))


def _parsed(line: dict[str, str]) -> dict[str, Any]:
    facts = {name: kind(line[name]) for name, kind in FACTS.items() if line[name]}
    return facts | {name: float(line[name]) for name in NUMBERS if line[name]}


def sets_of(means: Means, task: str) -> list[str]:
    """The sets of a task, in the order of the file."""
    return list(dict.fromkeys(data for found, data, _ in means if found == task))


def methods_of(means: Means, task: str) -> list[str]:
    """The methods of a task that there are means of, in the order of the tables."""
    there = {method for found, _, method in means if found == task}
    return [method for method in METHODS[task] if method in there]


def failures(store: KeyedLines, means: Means, splits: int) -> list[str]:
    """What failed, and the messages."""
    return [
        f"{name}, {method}, split {split}: {' '.join(result['failed'].split())}"
        for (task, name, method, split), result in sorted(store.results.items())
        if "failed" in result and (task, name, method) in means and split < splits
    ]
