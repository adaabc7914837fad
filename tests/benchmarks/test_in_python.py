"""The stories of the program done in Python: one is the same, and a difference is noticed."""

import importlib
import shlex
from pathlib import Path

import pytest

STORY = """
    fit states.csv --target state --json --model m.scn --jobs 1 --estimator network --set max_nodes=4 --cv 2
    predict m.scn states_new.csv --proba --keep note
    evaluate m.scn states_new.csv --json
    inspect m.scn
    predict m.scn states_new.csv --interval 0.9"""


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    module = importlib.import_module("in_python")
    monkeypatch.setitem(module.STORIES, "states", STORY)
    return module


@pytest.mark.slow
def test_python_does_what_the_program_does(benchmark, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    benchmark.write_tables(tmp_path)
    assert benchmark.compare("states") == {"same": 4, "different": 0, "left out": 1}
    monkeypatch.setitem(benchmark.STORIES, "states", "\n".join(STORY.splitlines()[:3]))
    monkeypatch.setattr(benchmark.TableModel, "predict", lambda model, table: model.classes_[[0] * 60])
    (tmp_path / "python" / "m.scn").unlink()
    (tmp_path / "python").rmdir()
    assert benchmark.compare("states") == {"same": 1, "different": 1, "left out": 0}
    assert "prediction: (['broken', 'broken'" in capsys.readouterr().out


def test_values_are_compared_as_they_are_written(benchmark):
    assert benchmark.same([0.1, 2, "a"], ["0.1", "2.0", "a"])
    assert not benchmark.same([0.1], ["0.10000000000000002"])
    assert not benchmark.same({"a": 1.0}, {"a": 1.0, "b": 2.0})


def test_options_are_parameters(benchmark):
    words = shlex.split("a.csv -t y --lags 1,2 --cv 3 --loss quantile --quantile 0.9 --set n=5")
    _, options = benchmark.options_of(words)
    found = benchmark.parameters_of(options)
    assert {"target": "y", "lags": [1, 2], "folds": 3, "loss": "quantile:0.9", "parameters": {"n": 5}}.items() <= (
        found.items()
    )
