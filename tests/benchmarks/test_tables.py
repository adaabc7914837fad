import importlib.util
import sys
from pathlib import Path

PATH = Path(__file__).parents[2] / "benchmarks" / "tables.py"


def load_benchmark():
    spec = importlib.util.spec_from_file_location("mutated_tables", PATH)
    module = sys.modules["mutated_tables"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_mutated_tables_are_read_as_they_are_meant_or_refused_in_a_sentence(monkeypatch, capsys):
    benchmark = load_benchmark()
    monkeypatch.setattr(sys, "argv", ["tables.py", "--count", "20", "--columns", "300"])
    benchmark.main()
    header, *lines, last = capsys.readouterr().out.splitlines()
    assert header.split() == ["mutation", "accepted", "refused"]
    assert [line.split()[0] for line in lines] == [mutate.__name__ for mutate in benchmark.MUTATIONS]
    assert sum(int(number) for line in lines for number in line.split()[1:]) == 20
    assert last.startswith("300 columns: fitted, predicted and evaluated in ")
