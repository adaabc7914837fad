import importlib
import importlib.util
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_coverage_and_width_are_printed(monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delenv("SKSCN_BENCH_DATA", raising=False)
    monkeypatch.setattr(sys, "argv", ["intervals.py", "--splits", "1"])
    spec = importlib.util.spec_from_file_location("intervals", BENCHMARKS / "intervals.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main()
    name, covered, within, ratio = capsys.readouterr().out.splitlines()[-1].split()
    assert name == "mean"
    assert 0.8 < float(covered) < 1.0
    assert 0.8 < float(within) < 1.0
    assert 0.5 < float(ratio) < 1.5


def test_means_survive_a_file(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    tables = importlib.import_module("accuracy_parts.interval_tables")
    means = [tables.IntervalMean("b", 3, 0.9, 0.91, 0.92, 0.5), tables.IntervalMean("a", 3, 0.9, 0.89, 0.9, 2.0)]
    tables.write_intervals(means, tmp_path / "intervals.csv")
    assert tables.read_intervals(tmp_path / "intervals.csv") == means
    assert tables.mean_line(means) == pytest.approx((0.9, 0.91, 1.0))
