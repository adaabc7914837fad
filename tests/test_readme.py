"""What README.md and the pages of docs/ tell people to type works, and every public name is in the API reference.

Python snippets are run, all of a page in one go. Commands of the README are found in its code, and each is run as it
stands or, where it would take long, with the smallest sizes; a new command needs an entry here.
"""

import ast
import io
import re
import runpy
import shlex
import subprocess
import sys
import tokenize
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MODULES = (
    *("configuration", "datasets", "export", "onnx", "output_weights", "paper", "plot", "report", "rows", "series"),
    "tables",
)
PUBLIC = ["skscn", *(f"skscn.{module}" for module in MODULES)]
TUTORIALS = "paper", "plant", "table"
PROGRAMS = ("./run", "skscn", "pip", "python", "marimo")

# What is run for a command of the README.
SMALL = {
    "./run demo": "skscn demo",
    "skscn demo": "skscn demo",
    "skscn reproduce table1 --trials 10 --out results": "skscn reproduce table1 --trials 1 --jobs 1 --out results",
    "skscn reproduce all --trials 100 --out results": (
        "skscn reproduce table1 figure3 --trials 1 --jobs 1 --out results"
    ),
}
QUICK = "--folds 0 --set n_members=2 --jobs 1"
# The commands of the tutorials, each in a folder of its own, one after the other.
STARTS = {
    "a table": {
        "skscn example flats": None,
        "skscn fit flats.csv --target rent --model flats.scn": QUICK,
        "skscn predict flats.scn flats_new.csv -o predicted.csv --interval 0.9": None,
        "skscn report flats.scn flats_new.csv -o report.html": None,
    },
    "a plant": {
        "skscn example plant": None,
        "skscn fit plant.csv --target quality --time time --lags auto --model plant.scn": QUICK,
        "skscn evaluate plant.scn plant_new.csv": None,
        "skscn report plant.scn plant_new.csv -o report.html": None,
        "skscn follow plant.scn --interval 0.9 --keep time < plant_new.csv > answers.csv": None,
        "skscn update plant.scn plant_new.csv": None,
        "skscn export plant.scn plant.c": None,
    },
}
WRITTEN = {
    "a table": ("predicted.csv", "report.html"),
    "a plant": ("answers.csv", "plant.scn", "report.html", "plant.c"),
}
NOT_RUN = {
    "./run test": "this is it",
    "./run docs": "takes as long as all tests; .ci/run runs it",
    "python run demo": "./run demo, on Windows",
    'pip install ".[cli,plot]" pandas': "changes the environment that the tests run in",
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


def run(command, folder):
    """Run a command, which may read standard input from a file, and write standard output to one."""
    command, _, out = command.partition(" > ")
    command, _, rows = command.partition(" < ")
    text = (folder / rows.strip()).read_text(encoding="utf-8") if rows else None
    done = subprocess.run(arguments(command), cwd=folder, capture_output=True, text=True, encoding="utf-8", input=text)
    assert done.returncode == 0, done.stderr
    if out:
        (folder / out.strip()).write_text(done.stdout, encoding="utf-8")
    return done


def test_commands_are_found_wherever_they_are():
    text = "Say `skscn a --b c`, not `skscn.b`:\n\n    ./run x   # so\n"
    text += "\n```sh\n$ pip install .\n```\n\n```python\npip x\n```\n"
    assert commands(text) == ["pip install .", "./run x", "skscn a --b c"]


def test_every_command_of_readme_and_tutorials_is_known_here():
    known = {*SMALL, *NOT_RUN, *(command for start in STARTS.values() for command in start)}
    pages = [README, *((ROOT / "docs" / f"tutorial_{name}.md").read_text(encoding="utf-8") for name in TUTORIALS)]
    assert {command for text in pages for command in commands(text)} == known, "add it to SMALL, STARTS or NOT_RUN"


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 110


@pytest.mark.parametrize(
    "command", [pytest.param(name, marks=pytest.mark.slow) if "reproduce" in name else name for name in SMALL]
)
def test_command_of_readme_or_tutorial(command, tmp_path):
    assert run(SMALL[command], tmp_path).stdout


@pytest.mark.slow
@pytest.mark.parametrize("start", STARTS)
def test_start_of_readme_or_tutorial(start, tmp_path):
    for command, quick in STARTS[start].items():
        run(f"{command} {quick or ''}", tmp_path)
    for name in WRITTEN[start]:
        assert (tmp_path / name).stat().st_size > 0


@pytest.mark.parametrize("command", [command for command in commands(README) if command.startswith("./run ")])
def test_run_knows_the_command(command):
    known = runpy.run_path(str(ROOT / "run"))["COMMANDS"]
    _, name, *rest = command.split()
    assert name in known or (name == "bench" and (ROOT / "benchmarks" / f"{rest[0]}.py").exists())
    assert f"./run {name}" in ast.get_docstring(ast.parse((ROOT / "run").read_text(encoding="utf-8")))


# What people read first; the others are run with the slow tests.
FIRST = ("README", "index", "estimators", "tutorial_paper")


@pytest.mark.parametrize(
    "page",
    [
        page if page.stem in FIRST else pytest.param(page, marks=pytest.mark.slow, id=page.stem)
        for page in PAGES
        if snippets(page)
    ],
    ids=lambda page: page.stem,
)
def test_snippets_of_a_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = "\n".join(snippets(page))
    exec(compile(program, page.name, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_class_and_function_is_in_the_api_reference(module):
    public = import_module(module)
    names = [name for name in public.__all__ if callable(getattr(public, name))]
    page = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("api.md", "internals.md"))
    assert [name for name in names if not re.search(rf"^   {name}$", page, re.MULTILINE)] == []


def test_it_does_not_call_itself_the_reference():
    pages = [*PAGES, ROOT / "CITATION.cff", ROOT / "pyproject.toml"]
    assert [page.name for page in pages if "reference implementation" in page.read_text(encoding="utf-8")] == []
    assert "an open implementation" in README


def test_what_is_missing_is_said():
    _, missing = (ROOT / "docs" / "literature.md").read_text(encoding="utf-8").split("## Not included")
    assert "| two-dimensional SCN" in missing
    assert "docs/literature.md" in README


# Pages whose words nobody has to read from beginning to end.
LOOKED_UP = ("api.md", "changelog.md", "internals.md")


def test_the_site_can_be_read():
    pages = [page.read_text(encoding="utf-8") for page in PAGES[1:] if page.name not in LOOKED_UP]
    assert sum(len(text.split()) for text in pages) <= 30_000


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in LOOKED_UP], ids=lambda page: page.stem)
def test_every_page_has_a_picture_or_an_example(page):
    text = page.read_text(encoding="utf-8")
    assert re.search(r"^!\[|^```(python|c|\{literalinclude\})|^    \S", text, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_and_pictures_of_a_page_are_there(page):
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8")):
        name = target.replace("gallery/", "../examples/").replace(".rst", ".py")
        assert (page.parent / name).exists() or target == "gallery/index.rst", target


def test_the_mathematics_states_the_conditions_of_the_theorems():
    page = " ".join((ROOT / "docs" / "mathematics.md").read_text(encoding="utf-8").split())
    assert "bound $b_g^2$ of the activation" not in page
    assert "$b_g$ bounds the $L_2$ norm of every node" in page
    assert "One exists, because the activation's span is dense" not in page
    assert "no fixed $r < 1$ is close enough for every residual" in page
    assert "*if* their residuals meet the same two conditions" in page


# Wording that readers stumbled over; compared without regard to line breaks.
UNNATURAL = (
    "truth values", "so many", "what it goes by", "by heart", "is no model of", "to be mended", "One advice", "rooms",
    "beside the paper", "beside other", "beside that of", "beside the code", "beside what", "rows held out", "texts",
    "for nothing", "the named rows", "columns at work", "in the making", "is there twice",
    "as asked", "both are said", "double logarithmic", "rows to come", "twins among",
)  # fmt: skip


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "changelog.md"], ids=lambda page: page.stem)
def test_pages_are_free_of_wording_that_readers_stumbled_over(page):
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert [wording for wording in UNNATURAL if wording.lower() in text.lower()] == []


SOURCES = sorted((ROOT / "src" / "skscn").rglob("*.py"))


def prose(source: Path) -> str:
    """The comments, docstrings and messages of a module; code, with its names, is not prose."""
    text = source.read_text(encoding="utf-8")
    strings = [node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)]
    comments = [
        token.string for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type == tokenize.COMMENT
    ]
    return " ".join(" ".join([*filter(lambda value: isinstance(value, str), strings), *comments]).split())


@pytest.mark.parametrize(
    "source",
    SOURCES,
    ids=lambda source: f"{source.parent.name}-{source.stem}",
)
def test_docstrings_and_messages_are_free_of_wording_that_readers_stumbled_over(source):
    text = prose(source).lower()
    assert [wording for wording in (*UNNATURAL, "beside ") if wording.lower() in text] == []
