import importlib.util
import sys
from pathlib import Path

import pytest

from skscn import SCNClassifier, SCNRegressor

pytestmark = pytest.mark.slow

PATH = Path(__file__).parents[2] / "benchmarks" / "tables.py"


def load_benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(PATH.parent))
    spec = importlib.util.spec_from_file_location("mutated_tables", PATH)
    module = sys.modules["mutated_tables"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_mutated_tables_are_read_as_they_are_meant_or_refused_in_a_sentence(monkeypatch, capsys):
    benchmark = load_benchmark(monkeypatch)
    monkeypatch.setattr(sys, "argv", ["tables.py", "--count", "20", "--columns", "300"])
    benchmark.main()
    header, *lines, last = capsys.readouterr().out.splitlines()
    assert header.split() == ["mutation", "accepted", "refused"]
    assert [line.split()[0] for line in lines] == [mutate.__name__ for mutate in benchmark.MUTATIONS]
    assert sum(int(number) for line in lines for number in line.split()[1:]) == 20
    assert last.startswith("300 columns: fitted, predicted and evaluated in ")


@pytest.mark.slow
def test_comparisons_print_a_table(monkeypatch, capsys):
    benchmark = load_benchmark(monkeypatch)
    for module, name, value in (
        (benchmark.comparing, "ROWS", 60),
        (benchmark.comparing, "TEST_ROWS", 60),
        (benchmark.missing, "MOST_ROWS", 60),
        (benchmark.encodings, "ROWS", 60),
        (benchmark.encodings, "COUNTS", (30,)),
    ):
        monkeypatch.setattr(module, name, value)
    small = {"max_nodes": 2, "random_state": 0}
    monkeypatch.setattr(benchmark.comparing, "methods", lambda task, seed: {"SCN": quick(task, small)})
    monkeypatch.delenv("SKSCN_BENCH_DATA", raising=False)
    monkeypatch.setattr(sys, "argv", ["tables.py", "frames", "missing", "encodings", "--splits", "1"])
    benchmark.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["passengers", "houses", "plant"]
    assert any(line.startswith("large 30%    SCN over HGB: ") for line in lines)
    assert len([line for line in lines if line.startswith(benchmark.encodings.KINDS)]) == 3


def quick(task, settings):
    return (SCNRegressor if task == "regression" else SCNClassifier)(**settings)
