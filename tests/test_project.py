"""The set-up of the project: what is said in several files is the same in all of them."""

import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PYTHONS = re.findall(r"Python :: (3\.\d+)", " ".join(PYPROJECT["project"]["classifiers"]))


def read(path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_type_checkers_of_users_see_our_types():
    assert files("skscn").joinpath("py.typed").is_file()


def test_every_supported_python_is_tested_on_three_systems():
    matrix = read(".github/workflows/ci.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == PYTHONS
    assert PYPROJECT["project"]["requires-python"] == f">={PYTHONS[0]}"
    assert {system.split("-")[0] for system in matrix["system"]} == {"ubuntu", "macos", "windows"}


def test_actions_are_pinned_to_commits():
    for path in (ROOT / ".github" / "workflows").iterdir():
        used = re.findall(r"uses: (\S+)(.*)", path.read_text(encoding="utf-8"))
        assert used
        for action, version in used:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action), action
            assert re.fullmatch(r" # v[\d.]+", version), action


def test_workflows_run_commands_that_there_are():
    commands = re.findall(r"^    \./run (\w+)", (ROOT / "run").read_text(encoding="utf-8"), re.MULTILINE)
    used = re.findall(r"run: (?:python |\./)run (\w+)", (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    assert set(used) == {"lint", "test", "oldest", "docs"} <= set(commands)


def test_there_is_one_address():
    address = PYPROJECT["project"]["urls"]["Repository"]
    assert all(url.startswith(address) for url in PYPROJECT["project"]["urls"].values())
    assert read("CITATION.cff")["repository-code"] == address
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md", ".github/ISSUE_TEMPLATE/config.yml"):
        assert f"{address}/security/advisories/new" in (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["bug", "feature", "question"])
def test_issue_forms_are_complete(name):
    form = read(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert {"name", "description", "labels", "body"} == form.keys()
    assert all(field["type"] == "textarea" and field["attributes"]["label"] for field in form["body"])
    assert form["body"][0]["validations"]["required"]


def test_extras_and_groups_have_different_names():
    """./run tells them apart by their names."""
    assert not PYPROJECT["project"]["optional-dependencies"].keys() & PYPROJECT["dependency-groups"].keys()


def test_the_architecture_names_modules_that_exist():
    source, page = Path(str(files("skscn"))), (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for row in page.splitlines():
        # In the table of modules, paths are relative to the package that the row is about.
        package = re.match(r"\| `([\w/]+)/`", row)
        folders = [source, ROOT, *([source / package[1]] if package else [])]
        for name in re.findall(r"`([a-z_/]+\.(?:py|html))`", row):
            assert any((folder / name).is_file() for folder in folders), f"{name} in: {row[:80]}"
