"""The benchmark of large tables, on small ones: what is drawn, measured, compared and written."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def load(monkeypatch):
    """A module of the benchmark by its name."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


@pytest.mark.slow
def test_each_fit_has_a_process_and_a_run_goes_on_where_it_was(load, tmp_path, capsys):
    arguments = ["--rows", "500", "--functions", "jumps", "--methods", "SCN", "boosting-100", "--out", str(tmp_path)]
    large = load("large")
    assert large.main(arguments) == 0
    found = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    assert [(record["function"], record["rows"], record["method"]) for record in found] == [
        ("jumps", 500, "SCN"),
        ("jumps", 500, "boosting-100"),
    ]
    assert all(0.0 < record["noise"] < record["nrmse"] < 1.0 and record["cpu"] > 0.0 for record in found)
    assert "500 rows: NRMSE" in capsys.readouterr().out
    assert "| 500 rows: peak memory, MiB |" in (tmp_path / "index.md").read_text(encoding="utf-8")
    assert (tmp_path / "large.csv").read_text(encoding="utf-8").startswith("table,row,SCN,boosting-100\n")
    before = (tmp_path / "results.jsonl").read_bytes()
    assert large.main(arguments) == 0
    assert (tmp_path / "results.jsonl").read_bytes() == before


def test_rows_are_drawn_in_blocks_and_in_single_precision(load, monkeypatch):
    fits, functions = load("large_parts.fits"), load("accuracy_parts.functions")
    monkeypatch.setattr(fits, "BLOCK", 400)
    X, y = fits.draw(functions.LARGE["friedman"], 1000, 0)
    assert (X.dtype, X.shape, y.shape) == (np.float32, (1000, 10), (1000,))
    # No block is drawn twice.
    assert len(np.unique(X[:, 0])) > 990
    assert np.std(y - functions.friedman(X.astype(float))) == pytest.approx(1.0, abs=0.1)


def test_failures_are_kept_and_written(load, tmp_path, capsys):
    large, trials = load("large"), load("skscn.paper.trials")
    store = trials.KeyedLines(tmp_path / "results.jsonl", large.KEY)
    for rows in (1000, 10_000):
        store.add(("friedman", rows, "SCN"), {"nrmse": 0.3, "cpu": rows / 1000, "predict": 1e-6, "noise": 0.2})
    store.add(("friedman", 1000, "boosting-100"), {"failed": "ended by signal 9"})
    large.write_tables(store, ["friedman"], tmp_path)
    said = capsys.readouterr().out
    assert "failed: friedman, 1,000 rows, boosting-100: ended by signal 9" in said
    page = (tmp_path / "index.md").read_text(encoding="utf-8")
    assert "| 1,000 rows: NRMSE | **0.3000** | failed |" in page
    assert "| slope of log fit time against log rows | 1.00 | - |" in page


def test_a_process_that_ends_badly_says_why(load):
    measure = load("large_parts.fits").measure_in_process
    assert measure({"function": "friedman", "rows": 100, "method": "magic"}) == {"failed": "KeyError: 'magic'"}


def test_ours_over_the_others_is_said(load, tmp_path):
    report, trials = load("large_parts.report"), load("skscn.paper.trials")
    store = trials.KeyedLines(tmp_path / "results.jsonl", ("function", "rows", "method"))
    store.add(("jumps", 1000, "SCN"), {"nrmse": 0.3, "cpu": 4.0, "predict": 1e-6})
    store.add(("jumps", 1000, "LightGBM-100"), {"nrmse": 0.2, "cpu": 1.0, "predict": 4e-6})
    assert report.against_others(store, "jumps", 1000, ["SCN", "LightGBM-100"]) == [
        "SCN over the others, 1,000 rows: error LightGBM-100 1.5; fit time LightGBM-100 4; "
        "prediction time LightGBM-100 0.25."
    ]


def test_numbers_of_rows_may_have_an_exponent(load):
    large = load("large")
    assert large.parse_arguments(["--rows", "1e3", "20"]).rows == [1000, 20]
    with pytest.raises(SystemExit):
        large.parse_arguments(["--rows", "0"])
