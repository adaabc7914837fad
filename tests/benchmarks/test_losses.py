"""The benchmark of losses at tiny sizes: what is planted, measured, compared and written."""

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
    monkeypatch.delenv("SKSCN_BENCH_DATA", raising=False)
    return importlib.import_module


@pytest.fixture
def tiny(load, monkeypatch):
    """The program, with few rows in simulated sets."""
    robust, counts = load("losses_parts.robust"), load("losses_parts.counts")
    for module, name in ((robust, "FRIEDMAN_ROWS"), (robust, "FRIEDMAN_TEST_ROWS"), (counts, "TRAIN_ROWS")):
        monkeypatch.setattr(module, name, 150)
    monkeypatch.setattr(counts, "TEST_ROWS", 500)
    monkeypatch.setattr(counts, "ITERATIONS", (5, 10))
    return load("losses")


def run(program, out, *arguments):
    assert program.main([*arguments, "--splits", "1", "--out", str(out)]) == 0


def records(out):
    return [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("part", "sets", "methods", "texts"),
    [
        (
            "robust",
            ["friedman-0", "friedman-one-sided-10", "db1", "diabetes"],
            ["SCN-squared", "HGB-absolute", "Huber-splines"],
            ["| friedman-one-sided-10 |", "| db1 |", "| diabetes |", "SCN-squared against the best of the others"],
        ),
        ("quantile", ["diabetes"], ["HGB"], ["pinball loss", "| mean coverage |", "| share of crossing pairs |"]),
        (
            "classes",
            ["iris", "wine"],
            ["SCN-squared", "SVC", "forest"],
            ["error rate", "log loss", "| mean rank |", "| smallest probability, power of ten |"],
        ),
        ("counts", ["smooth", "claims"], ["HGB-best", "PoissonRegressor-best"], ["| claims: deviance |"]),
        ("costs", ["diabetes", "iris"], ["squared", "huber", "log_loss"], ["| geometric mean | 1.00 |"]),
    ],
)
def test_each_part_writes_its_tables(tiny, tmp_path, capsys, part, sets, methods, texts):
    run(tiny, tmp_path, part, "--sets", *sets, "--methods", *methods)
    found = records(tmp_path)
    assert not any("failed" in record for record in found)
    assert all(record["cpu"] >= 0.0 for record in found)
    assert {record["part"] for record in found} == {part}
    assert {record["set"] for record in found} == set(sets)
    assert {record["method"] for record in found} == set(methods)
    page = (tmp_path / f"{part}.md").read_text(encoding="utf-8")
    assert all(text in page for text in texts)
    assert "processor seconds" in capsys.readouterr().out
    assert (tmp_path / f"{part}.csv").read_text(encoding="utf-8").startswith("table,row,")


def test_a_run_goes_on_where_it_was_and_tables_have_earlier_methods(tiny, tmp_path):
    arguments = ["classes", "--sets", "iris", "--methods"]
    run(tiny, tmp_path, *arguments, "SVC")
    first = (tmp_path / "results.jsonl").read_bytes()
    run(tiny, tmp_path, *arguments, "SVC")
    assert (tmp_path / "results.jsonl").read_bytes() == first
    run(tiny, tmp_path, *arguments, "HGB")
    assert (tmp_path / "results.jsonl").read_bytes().startswith(first)
    assert "| HGB | SVC |" in (tmp_path / "classes.md").read_text(encoding="utf-8")


def test_failures_are_kept_and_are_last(tiny, load, tmp_path, monkeypatch, capsys):
    class Broken:
        def fit(self, X, y):
            raise RuntimeError("no luck")

    method = load("losses_parts.experiments").Method(lambda seed: Broken(), ours=True)
    monkeypatch.setitem(load("losses_parts.classes").METHODS, "SCN", method)
    run(tiny, tmp_path, "classes", "--sets", "iris", "--methods", "SCN", "SVC")
    assert [record.get("failed") for record in records(tmp_path)] == ["RuntimeError: no luck", None]
    assert "failed: iris, SCN, split 0: RuntimeError: no luck" in capsys.readouterr().out
    page = (tmp_path / "classes.md").read_text(encoding="utf-8")
    assert "| mean rank | 2.00 | **1.00** |" in page
    assert "SCN against the best of the others on each set: worse on 1 (iris failed)" in page


def test_packages_that_are_missing_are_named(tiny, load, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(load("losses_parts.experiments"), "find_spec", lambda name: None)
    run(tiny, tmp_path, "classes", "--sets", "iris", "--methods", "XGBoost", "CatBoost", "SVC")
    assert {record["method"] for record in records(tmp_path)} == {"SVC"}
    assert "pip install catboost xgboost" in capsys.readouterr().err


def test_groups_of_methods(tiny):
    experiment = tiny.PARTS["classes"][0]
    ours = [name for name in experiment.methods if tiny.is_wanted(experiment, name, ["ours"])]
    others = [name for name in experiment.methods if tiny.is_wanted(experiment, name, ["others", "SCN"])]
    assert ours == ["SCN", "SCN-squared", "SCN-ensemble"]
    assert set(others) == {*experiment.methods} - {*ours} | {"SCN"}
    with pytest.raises(SystemExit, match="no method magic"):
        tiny.main(["classes", "--methods", "magic"])


def test_outliers_are_as_many_and_as_far_as_they_should_be(load):
    robust, sets = load("losses_parts.robust"), load("accuracy_parts.sets")
    clean = robust.Friedman(0).rows(1)
    for case in (robust.Friedman(10), robust.Friedman(10, one_sided=True)):
        rows = case.rows(1)
        shifts = rows.y - clean.y
        np.testing.assert_array_equal(shifts != 0.0, rows.planted)
        assert rows.planted.sum() == 150
        assert np.all((np.abs(shifts[rows.planted]) >= 20.0) & (np.abs(shifts[rows.planted]) <= 100.0))
        assert np.all(shifts >= 0.0) == case.one_sided
        np.testing.assert_array_equal(rows.y_test, clean.y_test)
    y = np.random.default_rng(0).normal(size=400)
    data = sets.DataSet("regression", "normal", np.arange(400.0)[:, None], y)
    rows = robust.Spoilt(data).rows(0)
    assert rows.planted.sum() == 30
    quarters = np.percentile(data.split(0)[2], [25, 75])
    assert np.abs(rows.y[rows.planted]).min() > 4.0 * np.diff(quarters)
    assert np.isin(rows.y_test, y).all()


def test_low_weights_are_counted(load):
    recognised = load("losses_parts.robust").recognised
    weights, planted = np.array([0.1, 0.9, 0.05, 1.0, 1.0, 0.19]), np.array([1, 1, 0, 0, 0, 0], dtype=bool)
    assert recognised(weights, planted) == {"recall": 0.5, "false_alarms": 0.5}
    assert recognised(weights, np.zeros(6, dtype=bool)) == {"false_alarms": 0.5}
    assert recognised(None, planted) == {}


def test_scores_of_quantiles(load):
    scores = load("losses_parts.quantile").scores
    y = np.arange(100.0)
    found = scores(y, np.column_stack([np.full(100, -1.0), y, np.where(y < 50, 94.5, y - 1.0)]))
    # Half of the upper quantiles are below the median and below the target.
    assert found["crossing"] == 0.25
    assert found["coverage"] == 0.5
    assert found["pinball_0.5"] == 0.0
    assert found["pinball_0.95"] == pytest.approx((0.05 * np.mean(94.5 - y[:50]) + 0.95) / 2 / np.std(y))
    with pytest.raises(ValueError, match="shape"):
        scores(y, np.zeros((3, 100)))


@pytest.mark.parametrize("name", ["smooth", "claims"])
def test_counts_have_their_rates(load, name):
    counts = load("losses_parts.counts")
    (case,) = (case for case in counts.cases(None) if case.name == name)
    X, y, exposure, rate = case.draw(20_000, 0)
    weights = np.ones(len(y)) if exposure is None else exposure
    assert X.min() >= 0.0
    np.testing.assert_allclose(y * weights, np.rint(y * weights), atol=1e-9)
    for part in (rate < np.median(rate), rate >= np.median(rate)):
        expected = np.sum(rate[part] * weights[part])
        assert abs(np.sum(y[part] * weights[part]) - expected) < 4.0 * np.sqrt(expected)


def test_worse_comes_first_and_better_is_said_too(load):
    results = load("losses_parts.results")
    sentence = results.sides("ours", ["a", "b", "c", "d"], np.array([0.5, 1.2, np.inf, np.nan]))
    assert sentence == [
        "ours against the best of the others on each set: worse on 2 (c failed, b × 1.20), "
        "as good or better on 1 (a × 0.50)."
    ]
    assert results.sides("ours", ["a"], np.array([np.nan])) == []


def test_large_sets_are_cut_in_the_proportions_of_their_classes(load):
    experiments, sets = load("losses_parts.experiments"), load("accuracy_parts.sets")
    X = np.arange(8000.0)[:, None]
    data = experiments.cut(sets.DataSet("classification", "large", X, np.repeat([0, 1], [6000, 2000])))
    assert len(data.X) == experiments.MAX_ROWS
    assert data.y.mean() == 0.25
    assert experiments.cut(data) is data


def test_the_scale_of_targets_withstands_a_third_of_outliers(load):
    y = np.random.default_rng(0).normal(5.0, 2.0, 3000)[:, None]
    spoilt = np.where(np.arange(3000)[:, None] < 1000, y + 1000.0, y)
    scaler = load("losses_parts.learners").MedianScaler().fit(spoilt)
    assert 2.0 < scaler.scale_[0] < 8.0
    np.testing.assert_allclose(scaler.inverse_transform(scaler.transform(y)), y)
    assert load("losses_parts.learners").MedianScaler().fit(np.ones((5, 1))).scale_[0] == 1.0


def test_a_set_that_others_make_no_error_on_counts_against_us(load, tmp_path):
    results, trials = load("losses_parts.results"), load("skscn.paper.trials")
    store = trials.KeyedLines(tmp_path / "results.jsonl", results.KEY)
    for case, method, error in (("a", "own", 0.1), ("a", "peer", 0.2), ("b", "own", 0.1), ("b", "peer", 0.0)):
        store.add(("classes", case, method, 0), {"error": error, "cpu": 1.0})
    found = results.Results(store, "classes", ["a", "b"], ["own", "peer"], frozenset(["own"]), 1)
    table = results.ranked(found, "error", "errors", floors=np.array([0.01, 0.01]))
    assert [row.label for row in table.rows[:2]] == ["b", "a"]
    assert "worse on 1 (b × 10.00), as good or better on 1 (a × 0.50)" in table.notes[-1]
