"""The commands of the README, in their order, on files of those names."""

import shlex
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
COMMANDS = [line.strip() for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("    skscn ")]


@pytest.fixture
def in_folder(houses, tmp_path, monkeypatch):
    for name in ("houses.csv", "new.csv", "sold.csv"):
        (tmp_path / name).write_bytes(houses.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_command_runs(skscn, in_folder):
    assert [shlex.split(command)[1] for command in COMMANDS] == [
        "fit", "predict", "evaluate", "inspect", "report", "export"
    ]  # fmt: skip
    for command in COMMANDS:
        _, name, *arguments = shlex.split(command)
        quick = ["--set", "n_members=2", "--set", "max_nodes=8", "--cv", "2", "--jobs", "1"] if name == "fit" else []
        done = skscn(name, *arguments, *quick)
        assert done.stdout or (in_folder / "predicted.csv").exists()
    for name in ("houses.scn", "predicted.csv", "report.html", "houses.onnx"):
        assert (in_folder / name).stat().st_size > 0
