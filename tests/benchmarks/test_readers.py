import importlib.util
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PATH = Path(__file__).parents[2] / "benchmarks" / "readers.py"


def load_benchmark():
    spec = importlib.util.spec_from_file_location("readers_compared", PATH)
    module = sys.modules["readers_compared"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BENCHMARK = load_benchmark()
CASES = {
    case.what: case
    for part in (BENCHMARK.dialects, BENCHMARK.headers, BENCHMARK.values, BENCHMARK.damaged)
    for case in part()
}


@pytest.mark.parametrize("what", CASES)
def test_a_file_is_read_as_it_is_meant_or_refused(what, tmp_path):
    assert BENCHMARK.outcome(BENCHMARK.ours, CASES[what], tmp_path) == "right"


def test_the_table_of_the_benchmark(capsys, tmp_path, monkeypatch):
    BENCHMARK.compare(["scikit-scn"], list(CASES.values())[:3])
    header, *_, right, seconds = capsys.readouterr().out.splitlines()
    assert header.split() == ["file", "scikit-scn"]
    assert right.split() == ["right", "3", "of", "3"]
    assert seconds.startswith("seconds")
    BENCHMARK.write_large(tmp_path / "large.csv", 1)
    monkeypatch.syspath_prepend(str(PATH.parent))
    BENCHMARK.report_stream("scikit-scn", tmp_path / "large.csv")
    assert capsys.readouterr().out.startswith("50,000 rows in ")
