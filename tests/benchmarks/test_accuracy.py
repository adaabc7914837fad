"""The benchmark of accuracy on small tables: what is measured is kept, ranked and written."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def load(monkeypatch):
    """A module of the benchmark by its name."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


def test_tables_ranks_and_results_are_written(load, monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("SKSCN_BENCH_DATA", raising=False)
    arguments = ["--sets", "iris", "--methods", "ELM", "SVM", "--splits", "1", "--out", str(tmp_path)]
    monkeypatch.setattr("sys.argv", ["accuracy.py", *arguments])
    assert load("accuracy").main() == 0
    assert "mean rank" in capsys.readouterr().out
    records = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert {(record["set"], record["method"]) for record in records} == {("iris", "ELM"), ("iris", "SVM")}
    assert "| iris |" in (tmp_path / "index.md").read_text(encoding="utf-8")
    assert (tmp_path / "classification_ranks.svg").stat().st_size > 0


def test_ranks_are_means_over_the_sets_and_failures_are_last(load):
    means = np.array([[0.1, 0.2, np.inf, np.nan], [0.3, 0.1, 0.2, 0.1]])
    summary = load("accuracy_parts.summary").Summary(
        "regression", "nrmse", ["one", "two"], list("abcd"), means, np.zeros(2), np.ones(4), np.ones(4)
    )
    np.testing.assert_array_equal(summary.ranks, [2.0, 1.5, 2.5, np.nan])
    np.testing.assert_allclose(summary.ratios[1], [3.0, 1.0, 2.0, 1.0])


def test_bars_join_ranks_that_do_not_differ(load):
    joined = load("accuracy_parts.diagram").joined
    assert joined(np.array([1.0, 1.5, 2.4, 4.0]), 1.0) == [(0, 1), (1, 2)]
