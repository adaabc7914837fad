"""The record of invocations of the program: what it holds, and that a change is noticed."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "invocations.py"
STORIES = {
    "example": "example flats --json",
    "error": "fit flats.csv --target rents --model m.scn",
    "columns": "fit states.csv --target state --model m.scn --drop none",
}


@pytest.fixture
def benchmark(monkeypatch):
    spec = importlib.util.spec_from_file_location("invocations", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "STORIES", STORIES)
    return module


def call(benchmark, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["invocations", *map(str, arguments)])
    return benchmark.main()


def test_a_record_is_reproduced_and_a_change_is_noticed(benchmark, monkeypatch, tmp_path, capsys):
    path = tmp_path / "record.json"
    assert call(benchmark, monkeypatch, "--write", path) == 0
    record = json.loads(path.read_text(encoding="utf-8"))
    assert [seen["exit code"] for seen in record.values()] == [["0"], ["1"], ["1"]]
    assert "did you mean 'rent'?" in record[f"error: {STORIES['error']}"]["standard error"][0]
    assert call(benchmark, monkeypatch, "--check", path, "--jobs", 2) == 0
    record[f"error: {STORIES['error']}"]["exit code"] = ["2"]
    path.write_text(json.dumps(record), encoding="utf-8")
    capsys.readouterr()
    assert call(benchmark, monkeypatch, "--check", path) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["same", "different", "same", "1"]
    assert "    exit code: -2" in lines
    assert "    exit code: +1" in lines
    assert call(benchmark, monkeypatch, "--check", path, "--only", "columns") == 0


def test_what_is_written_belongs_to_the_record(benchmark, tmp_path):
    tables = tmp_path / "tables"
    tables.mkdir()
    ((_, seen),) = benchmark.record_story("example", tables)
    assert seen["flats.csv"][0].startswith("size,windows,floor")
    assert len(seen["flats_new.csv"]) == 202


def test_volatile_parts_are_left_out(benchmark, tmp_path):
    text = f'"seconds": 2.95,\nTrained in 1 s.\n{tmp_path}/m.scn\n"fitted": "2026-11-18T08:53:33+00:00"\n"rmse": 93.035'
    expected = ['"seconds": …,', "Trained in … s.", "FOLDER/m.scn", '"fitted": "…"', '"rmse": 93.035']
    assert benchmark.lasting(text, tmp_path) == expected


def test_numbers_are_compared_exactly_unless_there_is_a_tolerance(benchmark):
    before, after = (
        {"standard output": ["rmse 0.25", "3 rows"]},
        {"standard output": ["rmse 0.2500000000001", "3 rows"]},
    )
    assert benchmark.differences(before, after, 0.0) == [
        "standard output: -rmse 0.25",
        "standard output: +rmse 0.2500000000001",
    ]
    assert benchmark.differences(before, after, 1e-9) == []
    assert benchmark.differences(before, {"standard output": ["rmse 0.26", "3 rows"]}, 1e-9)
    assert benchmark.differences(before, {"standard output": ["mae 0.25", "3 rows"]}, 1e-9)
    assert benchmark.differences(before, before | {"extra.csv": ["a"]}, 1e-9)
