"""The benchmark of accuracy on small tables: what is measured is kept, ranked, compared and written."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def load(monkeypatch):
    """A module of the benchmark by its name."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.delenv("SKSCN_BENCH_DATA", raising=False)
    return importlib.import_module


@pytest.fixture
def summary(load):
    """Our ensemble and two others on three sets, of which one failed."""
    means = np.array([[0.1, 0.2, 0.4], [0.3, 0.1, np.inf], [0.2, 0.2, np.nan]])
    costs = dict.fromkeys(("cpu", "predict", "nodes"), np.array([[4.0, 1.0, 2.0]] * 3))
    return load("accuracy_parts.summary").Summary(
        "regression", "nrmse", ["one", "two", "three"], ["SCN-ensemble", "forest", "GP"], means, np.zeros(3), costs
    )


def run(load, out, *arguments):
    assert load("accuracy").main([*arguments, "--out", str(out)]) == 0


def records(out):
    return [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]


def test_tables_pictures_and_results_are_written(load, tmp_path, capsys):
    run(load, tmp_path, "--sets", "iris", "--methods", "ELM", "SVM", "--splits", "1")
    said = capsys.readouterr()
    assert "mean rank" in said.out
    assert "Not installed" not in said.err
    found = records(tmp_path)
    assert {(record["set"], record["method"]) for record in found} == {("iris", "ELM"), ("iris", "SVM")}
    assert all(record["cpu"] > 0.0 and record["predict"] > 0.0 for record in found)
    assert all(record["version"].startswith("scikit-learn ") for record in found)
    assert "| iris |" in (tmp_path / "index.md").read_text(encoding="utf-8")
    assert (tmp_path / "classification.csv").read_text(encoding="utf-8").startswith("table,row,SVM,ELM\n")
    for name in ("ranks_classification.svg", "time_classification.png"):
        assert (tmp_path / name).stat().st_size > 0


def test_a_run_goes_on_where_it_was_and_tables_have_earlier_methods(load, tmp_path):
    arguments = ["--sets", "iris", "--splits", "1", "--methods"]
    run(load, tmp_path, *arguments, "ELM")
    first = (tmp_path / "results.jsonl").read_bytes()
    run(load, tmp_path, *arguments, "RVFL")
    both = (tmp_path / "results.jsonl").read_bytes()
    assert both.startswith(first)
    run(load, tmp_path, "--sets", "iris", "--splits", "1", "--report")
    assert (tmp_path / "results.jsonl").read_bytes() == both
    assert "| | RVFL | ELM |" in (tmp_path / "index.md").read_text(encoding="utf-8")


def test_functions_are_a_task(load, tmp_path):
    run(load, tmp_path, "--task", "friedman", "--sets", "friedman_10", "--methods", "ELM", "--splits", "1")
    (record,) = records(tmp_path)
    assert (record["task"], record["train_rows"], record["test_rows"]) == ("friedman", 2000, 10_000)
    assert 0.2 < record["nrmse"] < 0.6


def test_functions_depend_on_the_inputs_that_they_should(load):
    functions = load("accuracy_parts.functions")
    relevant = {"friedman": 5, "waves": 6, "switches": 8, "jumps": 6}
    every = [*functions.FUNCTIONS["friedman"].values(), *functions.FUNCTIONS["smooth"].values()]
    for function in [*every, *functions.LARGE.values()]:
        X, y = function.draw(4000, 0)
        assert X.shape == (4000, function.inputs)
        assert np.std(y - function.value(X)) == pytest.approx(function.noise, rel=0.05)
        other = function.draw(4000, 1)[0]
        changes = [
            np.ptp(function.value(np.where(np.arange(function.inputs) == i, other, X)) - function.value(X))
            for i in range(function.inputs)
        ]
        assert np.count_nonzero(changes) == relevant[function.value.__name__]
        assert np.flatnonzero(changes).max() < relevant[function.value.__name__]


def test_splits_of_a_function_are_other_rows(load):
    function = load("accuracy_parts.functions").FUNCTIONS["smooth"]["waves_12"]
    X, X_test, y, y_test = function.split(0)
    assert (len(X), len(X_test), len(y), len(y_test)) == (6000, 10_000, 6000, 10_000)
    np.testing.assert_array_equal(function.split(0)[0], X)
    assert not np.isin(function.split(1)[0][:, 0], X[:, 0]).any()


def test_packages_that_are_missing_are_named(load, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(load("accuracy_parts.peers"), "find_spec", lambda name: None)
    run(load, tmp_path, "--sets", "iris", "--methods", "XGBoost", "SWIM", "ELM", "--splits", "1")
    assert {record["method"] for record in records(tmp_path)} == {"ELM"}
    assert "pip install xgboost swimnetworks" in capsys.readouterr().err


def test_groups_of_methods(load):
    accuracy = load("accuracy")
    chosen = accuracy.chosen_methods(["ours"], ["regression", "smooth"])
    assert chosen == {"regression": ["SCN", "SCN-ensemble"], "smooth": ["SCN", "SCN-ensemble"]}
    others = accuracy.chosen_methods(["others", "SCN"], ["classification"])["classification"]
    assert "SCN-ensemble" not in others
    assert {"SCN", "CatBoost", "SWIM", "RealMLP", "GP"} <= set(others)
    with pytest.raises(SystemExit, match="no method magic"):
        accuracy.main(["--methods", "magic"])


def test_failures_and_warnings_are_kept(load, tmp_path, monkeypatch, capsys):
    class Broken:
        def fit(self, X, y):
            import warnings

            warnings.warn("careful", UserWarning, stacklevel=2)
            raise ValueError("no luck")

    methods = load("accuracy_parts.methods").METHODS["classification"]
    monkeypatch.setitem(methods, "SCN", lambda rows, seed: Broken())
    run(load, tmp_path, "--sets", "iris", "--methods", "SCN", "ELM", "--splits", "1")
    broken = records(tmp_path)[0]
    assert broken["failed"] == "ValueError: no luck"
    assert broken["warnings"] == ["UserWarning: careful"]
    assert "failed: iris, SCN, split 0: ValueError: no luck" in capsys.readouterr().out
    assert "| mean rank | 2.00 | **1.00** |" in (tmp_path / "index.md").read_text(encoding="utf-8")


def test_ranks_are_means_over_the_sets_and_failures_are_last(load):
    means = np.array([[0.1, 0.2, np.inf, np.nan], [0.3, 0.1, 0.2, 0.1]])
    summary = load("accuracy_parts.summary").Summary(
        "regression", "nrmse", ["one", "two"], list("abcd"), means, np.zeros(2)
    )
    np.testing.assert_array_equal(summary.ranks, [2.0, 1.5, 2.5, np.nan])
    np.testing.assert_allclose(summary.ratios[1], [3.0, 1.0, 2.0, 1.0])


def test_sets_won_and_lost_and_ratios_are_of_the_sets_of_both(load, summary):
    comparing = load("accuracy_parts.comparing")
    assert comparing.won_and_lost(summary, "SCN-ensemble", "forest") == (1, 1)
    assert comparing.won_and_lost(summary, "SCN-ensemble", "GP") == (2, 0)
    ratios = comparing.mean_ratio(summary.counted, 0)
    np.testing.assert_allclose(ratios, [1.0, (0.5 * 3.0 * 1.0) ** (1 / 3), 0.25])
    assert comparing.worst_first(summary).sets == ["two", "three", "one"]


def test_means_survive_a_file(load, tmp_path):
    means = load("accuracy_parts.means")
    one = {"splits": 5, "train_rows": 75, "test_rows": 25, "failed": 0, "version": "a 1.0", "nrmse": 0.25, "cpu": 1.5}
    broken = {"splits": 5, "train_rows": 75, "test_rows": 25, "failed": 2, "nrmse": np.inf}
    kept = {("regression", "x", "SCN"): one, ("regression", "x", "forest"): broken}
    means.write_means(kept, tmp_path / "means.csv")
    assert means.read_means(tmp_path / "means.csv") == kept
    text = (tmp_path / "means.csv").read_text()
    (tmp_path / "means.csv").write_text("# ./run bench accuracy\n" + text)
    assert means.read_means(tmp_path / "means.csv") == kept
    assert means.read_comment(tmp_path / "means.csv") == "./run bench accuracy"


def test_tables_of_a_page_are_made_of_files(load, tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    path = docs / "accuracy.md"
    path.write_text("# Accuracy\n\n<!-- table classification log_loss -->\nold\n<!-- end -->\n\nWords.\n")
    arguments = ["--sets", "iris", "wine", "--splits", "1", "--methods", "SCN", "ELM"]
    run(load, tmp_path / "out", *arguments, "--page", str(path))
    page = path.read_text(encoding="utf-8")
    assert load("accuracy_parts.page").page_text(path) == page
    assert page.startswith("# Accuracy\n\n<!-- table classification log_loss -->\n| | SCN | ELM |\n")
    assert "\n| mean rank |" in page
    assert page.endswith("|\n<!-- end -->\n\nWords.\n")
    assert {file.name for file in (docs / "images").iterdir()} == {
        "ranks_classification.svg",
        "time_classification.svg",
    }
    results = (docs / "accuracy_results.csv").read_text()
    (docs / "accuracy_realmlp.csv").write_text(results.replace("ELM", "RealMLP").replace("SCN,", "RealMLP,"))
    assert "| | SCN | RealMLP | ELM |" in load("accuracy_parts.page").page_text(path)


def test_the_tables_of_the_page_are_those_of_the_results(load):
    path = DOCS / "accuracy.md"
    assert load("accuracy_parts.page").page_text(path) == path.read_text(encoding="utf-8")


def test_bars_join_ranks_that_do_not_differ(load):
    joined = load("accuracy_parts.pictures").joined
    assert joined(np.array([1.0, 1.5, 2.4, 4.0]), 1.0) == [(0, 1), (1, 2)]


def test_labels_of_neighbours_do_not_overlap(load):
    times = load("accuracy_parts.pictures")
    points = np.array([[0.5, 0.5], [0.51, 0.51], [0.97, 0.5]])
    names = ["LightGBM", "XGBoost", "SCN-ensemble"]
    boxes = [times.label_box(*pair) for pair in zip(names, times.label_places(names, points), strict=True)]
    assert all(times.overlap(a, b) == 0.0 for i, a in enumerate(boxes) for b in boxes[:i])
    assert all(times.outside(box) == 0.0 for box in boxes)
