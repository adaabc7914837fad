"""What README.md and the pages of docs/ tell people to type works, and every public name is in the API reference.

Python snippets are run, all of a page in one go. Commands of the README are found in its code, and each is run as it
stands or, where it would take long, with the smallest sizes; a new command needs an entry here.
"""

import ast
import re
import runpy
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = "configuration", "datasets", "onnx", "output_weights", "plot", "report", "rows"
PUBLIC = ["skscn", *(f"skscn.{module}" for module in MODULES)]
PROGRAMS = ("./run", "skscn", "pip", "python", "marimo")

# What is run for a command of the README.
SMALL = {
    "./run demo": "skscn demo",
    "./run skscn reproduce all --trials 100 --out results": (
        "skscn reproduce table1 figure3 --trials 1 --jobs 1 --out results"
    ),
    "./run skscn reproduce table1 --method SC-III": "skscn reproduce table1 --method SC-III --trials 1 --jobs 1",
    "skscn reproduce": "skscn reproduce --help",
    "./run bench accuracy": "benchmarks/accuracy.py --sets iris --methods SCN --splits 1 --out accuracy",
    "./run bench speed": "benchmarks/speed.py --quick --parts a --out speed",
}
NOT_RUN = {
    "./run test": "this is it",
    "./run docs": "takes as long as all tests; .ci/run runs it",
    "python run demo": "./run demo, on Windows",
    "pip install .": "changes the environment that the tests run in",
    'pip install "scikit-scn[onnx]"': "changes the environment that the tests run in",
}


def snippets(page):
    """The Python code of a page."""
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def commands(text):
    """Shell commands in blocks and within lines, without their comments."""
    fences = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    shell = [block for language, block in fences.findall(text) if language in ("", "sh", "bash", "console")]
    rest = fences.sub("", text)
    lines = [line for block in shell for line in block.splitlines()]
    lines += re.findall(r"^ {4}(\S.*)$", rest, re.MULTILINE) + re.findall(r"`([^`\n]+)`", rest)
    stripped = (re.sub(r"\s+#.*", "", line).removeprefix("$ ").strip() for line in lines)
    return list(dict.fromkeys(line for line in stripped if line.split(" ")[0] in PROGRAMS and " " in line))


def arguments(command):
    """A command as this Python runs it."""
    program, *rest = shlex.split(command)
    if program == "skscn":
        return [sys.executable, "-m", "skscn.cli", *rest]
    return [sys.executable, str(ROOT / program), *rest]


def test_commands_are_found_wherever_they_are():
    text = "Say `skscn a --b c`, not `skscn.b`:\n\n    ./run x   # so\n"
    text += "\n```sh\n$ pip install .\n```\n\n```python\npip x\n```\n"
    assert commands(text) == ["pip install .", "./run x", "skscn a --b c"]


def test_every_command_of_the_readme_is_known_here():
    assert set(commands(README)) == {*SMALL, *(set(NOT_RUN) & set(commands(README)))}, "add it to SMALL, or NOT_RUN"


@pytest.mark.parametrize("command", SMALL)
def test_command_of_the_readme(command, tmp_path):
    done = subprocess.run(arguments(SMALL[command]), cwd=tmp_path, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("command", [command for command in commands(README) if command.startswith("./run ")])
def test_run_knows_the_command(command):
    known = runpy.run_path(str(ROOT / "run"))["COMMANDS"]
    _, name, *rest = command.split()
    assert name in known or (name == "bench" and (ROOT / "benchmarks" / f"{rest[0]}.py").exists())
    assert f"./run {name}" in ast.get_docstring(ast.parse((ROOT / "run").read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page)], ids=lambda page: page.stem)
def test_snippets_of_a_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = "\n".join(snippets(page))
    exec(compile(program, page.name, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_class_and_function_is_in_the_api_reference(module):
    public = import_module(module)
    names = [name for name in public.__all__ if callable(getattr(public, name))]
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert [name for name in names if not re.search(rf"^   {name}$", page, re.MULTILINE)] == []
