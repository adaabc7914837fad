"""The benchmark of speed at tiny sizes: every part is measured, kept, and written."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def speed(monkeypatch):
    """The program."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("speed")


@pytest.fixture
def tiny(speed):
    """Sizes that are smaller than those of --quick."""
    return speed.Sizes(
        scoring=(500, 3, 10),
        books=((200, 1),),
        book_nodes=4,
        table_rows=60,
        iterations={"MLP": (5, 200), "boosting": (5, 100)},
        base={"N": 100, "L": 2, "d": 2, "T": 5},
        sweeps={"N": (100, 100_000), "L": (2,), "d": (2,), "T": (5,)},
        configurations=("polished",),
        thread_rows=(5000,),
        thread_nodes=2,
        core_rows=(20_000,),
        predicted_rows=500,
        predicting_nodes=3,
        calls=3,
        turns=2,
        fit_turns=1,
        imports=1,
    )


def run(speed, sizes, out, *parts):
    assert speed.main(["--quick", "--out", str(out), "--parts", *parts], quick=sizes) == 0
    return (out / "speed.md").read_text(encoding="utf-8")


def records(out):
    return [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]


def check_growth(found):
    """The fit of many rows took memory, that of few hardly any; where the system does not tell, nothing is said."""
    for record in found:
        large = "N = 100000" in record["case"]
        assert record["bytes"] is None or (record["bytes"] > 2**20) == large


def check_imports(found):
    """What optional packages come with skscn are those that come with scikit-learn."""
    optional = {record["method"]: set(record["optional"]) for record in found if record["case"] == "import"}
    assert optional.pop("skscn") <= set().union(*optional.values())


CHECKS = {"d": check_growth, "g": check_imports}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "texts", "figure"),
    [
        ("a", ["| limit |", "| sigmoid |"], None),
        ("b", ["| 200 rows, 4 nodes |"], None),
        ("c", ["diabetes: boosting"], "other_learners"),
        ("d", ["rows N = 100 … 100000, polished", "candidates T = 5 … 5, polished"], "growth_with_the_size"),
        ("e", ["5000 rows, 2 nodes, polished"], None),
        ("f", ["| 20000 rows, 2 nodes |", "| yes |"], None),
        ("g", ["million rows/s", "SCNRegressor.predict", "import sklearn.base"], None),
    ],
)
def test_each_part_writes_its_tables(speed, tiny, tmp_path, capsys, part, texts, figure):
    page = run(speed, tiny, tmp_path, part)
    assert all(text in page for text in texts)
    assert f"## ({part})" in page
    assert "processor" in capsys.readouterr().out
    found = records(tmp_path)
    assert {record["part"] for record in found} == {part}
    CHECKS.get(part, len)(found)
    for suffix in (".svg", ".png") if figure else ():
        assert (tmp_path / figure).with_suffix(suffix).stat().st_size > 0


def test_a_run_goes_on_where_it_was(speed, tiny, tmp_path):
    run(speed, tiny, tmp_path, "a")
    lines = (tmp_path / "results.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "results.jsonl").write_bytes(b"".join(lines[:-2]) + lines[-2][:10])
    page = run(speed, tiny, tmp_path, "a")
    again = (tmp_path / "results.jsonl").read_bytes().splitlines(keepends=True)
    assert again[:-2] == lines[:-2]
    assert len(again) == len(lines)
    run(speed, tiny, tmp_path, "a")
    assert (tmp_path / "results.jsonl").read_bytes() == b"".join(again)
    # A part that was measured earlier stays on the page; one without measurements is not there.
    assert "## (e)" not in page
    both = run(speed, tiny, tmp_path, "e")
    assert "## (a)" in both
    assert "## (e)" in both


def test_a_textbook_out_of_time_is_extrapolated(speed):
    L = np.arange(1, 101)
    seconds = 0.5 + 0.002 * L**2
    assert speed.b_textbook.extrapolated(seconds[:20], 100) == pytest.approx(seconds.sum())
    result = speed.b_textbook.measure_textbook(300, 50, limit=0.0)
    assert result["nodes"] == 1
    assert result["cpu"] > result["measured_cpu"]
    whole = speed.b_textbook.measure_textbook(300, 3, limit=60.0)
    assert whole["nodes"] == 3
    assert whole["cpu"] == whole["measured_cpu"]


def test_ratios_are_medians_over_turns(speed, tmp_path):
    store = speed.ResultStore(tmp_path / "results.jsonl")
    for turn, (one, two) in enumerate([(2.0, 1.0), (6.0, 2.0), (400.0, 100.0)]):
        store.add(("a", "case", "one", turn), {"cpu": one})
        store.add(("a", "case", "two", turn), {"cpu": two})
    assert speed.ResultStore(tmp_path / "results.jsonl").ratio("a", "case", "one", "two") == 3.0
