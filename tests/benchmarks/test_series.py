"""The benchmark of series: its tasks, what late targets are compared with, and the tables of its page."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from skscn import RecurrentSCNRegressor

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
LINES = [
    {"task": "waves", "method": "RSCN", "seed": 0, "value": 0.25, "echo": 1e-12, "microseconds": 20.0},
    {"task": "waves", "method": "RSCN", "seed": 1, "value": 0.35, "echo": 3e-12, "microseconds": 30.0},
    {"task": "waves", "method": "ESN", "seed": 0, "value": 0.2},
    {
        "task": "waves, free",
        "method": "RSCN",
        "seed": 0,
        "value": 9.0,
        "echo": 0.0,
        "microseconds": 40.0,
        "bounded": True,
    },
    {"task": "waves, free", "method": "ESN", "seed": 0, "value": 5.0},
]


@pytest.fixture
def load(monkeypatch):
    """A module of the benchmark by its name."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


@pytest.fixture
def page(load):
    return load("series_parts.page")


def test_tables_have_medians_and_the_best_in_bold(page):
    text = page.tables(LINES)
    assert "| waves | 0.3 (2) | **0.2** (1) |" in text
    assert "| waves, free | **9** (1) | 5 (1) |" in text
    assert "3 models: after 500 rows, two initial states differ by at most 3e-12" in text
    assert "takes 30 µs (the median of their medians; the largest of them is 40 µs)" in text
    assert "1 of 1 free runs of 10,000 rows stay bounded" in text


def test_results_are_the_same_after_they_were_written(page, tmp_path):
    page.write_results(LINES, tmp_path / "results.csv")
    stored = page.read_results(tmp_path / "results.csv")
    assert stored == sorted(LINES, key=lambda line: (line["task"], line["method"], line["seed"]))


def test_a_page_keeps_its_text_and_the_results_it_had(load, page, tmp_path):
    program, path = load("series"), tmp_path / "series.md"
    path.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n", encoding="utf-8")
    page.write_results(LINES, tmp_path / page.RESULTS)
    assert program.main(["--seeds", "0", "--out", str(tmp_path), "--page", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert page.tables(page.read_results(tmp_path / page.RESULTS)) in text


def test_the_page_has_the_tables_of_its_results(page):
    text = (ROOT / "docs" / "evidence_series.md").read_text(encoding="utf-8")
    assert page.tables(page.read_results(ROOT / "docs" / page.RESULTS)) in text


def test_extra_tasks_are_whole_and_differ_by_seed(load):
    tasks = load("series_parts.tasks")
    for one, other in zip(tasks.extra_tasks(0), tasks.extra_tasks(1), strict=True):
        assert len(one.X) == len(one.y) == tasks.TRAINING + tasks.TESTING
        assert np.isfinite(np.column_stack([one.X, one.y])).all()
        assert not np.array_equal(one.y, other.y)


def test_late_targets_are_compared_with_what_was_known(load):
    late, tasks = load("series_parts.late"), load("series_parts.tasks")
    X = np.random.default_rng(0).normal(size=(400, 1))
    y = np.roll(X[:, 0], 1) + np.arange(400) / 100
    task = tasks.Task("ramp", X, y, training=300, delay=5)
    model = RecurrentSCNRegressor(max_nodes=3, max_candidates=20, random_state=0).fit(X[:300], y[:300])
    found = late.late_labels(task, model)
    assert found["last known"] == pytest.approx(np.sqrt(np.square(y[300:] - y[294:394]).mean() / y[300:].var()))
    assert found["learning"] < late.nrmse(model.predict(X[300:], state="end"), y[300:])
    assert {"fixed", "steered", "stream"} <= set(found)
