"""The benchmark of depth: what it keeps, and its tables."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def depth(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("depth")


def test_results_are_kept_and_not_measured_again(depth, tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    for folder, header in (("regression", "a,b,y"), ("classification", "a,b,class")):
        (tmp_path / folder).mkdir()
        rows = np.column_stack([rng.uniform(size=(60, 2)), rng.integers(0, 2, size=60)])
        np.savetxt(tmp_path / folder / "coins.csv", rows, delimiter=",", header=header, comments="")
    command = ["--data", str(tmp_path), "--seeds", "1", "--out", str(tmp_path)]
    assert depth.main(command) == 0
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(line["task"], line["set"], line["seed"]) for line in lines] == [
        ("regression", "coins", 0),
        ("classification", "coins", 0),
    ]
    first = capsys.readouterr().out
    monkeypatch.setattr(depth, "measured", None)
    assert depth.main(command) == 0
    assert capsys.readouterr().out in first


def test_errors_are_relative_to_those_of_one_layer(depth):
    one, deep = {"rmse": 2.0, "layers": 1, "seconds": 1.0}, {"rmse": 1.0, "layers": 3, "seconds": 5.0}
    results = {
        ("regression", "better", 0): {"SCNRegressor": one, "DeepSCNRegressor": deep},
        ("regression", "better", 1): {"SCNRegressor": one, "DeepSCNRegressor": one},
        ("regression", "same", 0): {"SCNRegressor": one, "DeepSCNRegressor": one},
    }
    table = depth.summary("regression", results)
    assert [row.label for row in table.rows] == ["same", "better"]
    np.testing.assert_allclose(table.rows[1].values, [0.5**0.5, 1, 2, 3.0])
    assert "lower by 3% on 1 of 2 sets" in table.notes[0]
