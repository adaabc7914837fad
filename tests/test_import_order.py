"""One direction, no call back up: each part may import only those below it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import skscn
from skscn.extras import EXTRAS

SOURCE = Path(skscn.__file__).parent
# From the bottom to the top; what is missing here is above everything.
LAYERS = [
    {"checks", "declarations", "extras", "files", "locks", "threads", "words"},
    {"archive", "graphs"},
    {"readers"},
    {"datasets", "scaling"},
    {"adaptive_intervals", "factor", "jumps", "nodes", "plausibility", "supervision"},
    {"activations", "kernels", "losses", "monotone", "recursive"},
    {"rows", "network"},
    {"tables", "series"},
    {"output_weights", "search"},
    {"refit"},
    {"stopping"},
    {"growth"},
    {"progress"},
    {"fit"},
    {"estimators"},
    {"online", "recurrent"},
    {"fitted_loss", "following"},
    {"persistence", "plot"},
    {"judging"},
    {"table_model"},
    {"report"},
]
OPTIONAL = {*EXTRAS, "pandas"}
FILES = sorted(SOURCE.rglob("*.py"))


def level(module):
    return next((i for i, names in enumerate(LAYERS) if module in names), len(LAYERS))


def imports(path):
    """Modules that a file imports, but for type checkers; those imported when the file itself is, marked True."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    at_import = {id(node) for node in tree.body}
    for_types = {id(node) for part in tree.body if isinstance(part, ast.If) for node in part.body}
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names] if node.module == "skscn" else [node.module]
        for name in names:
            yield name, id(node) in at_import


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path):
    module = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    for name, at_import in imports(path):
        if name.startswith("skscn.") and name != "skscn.__version__":
            imported = name.split(".")[1]
            assert imported == module or level(imported) < level(module) or level(module) == len(LAYERS), name
        if at_import and module != "cli":
            assert name.split(".")[0] not in OPTIONAL, f"{name} is optional and is imported where it is used"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_private_modules_are_imported_within_their_package_only(path):
    package = path.relative_to(SOURCE).parts[0]
    for name, _ in imports(path):
        parts = name.split(".")
        if parts[0] == "skscn" and package not in parts[1:2]:
            assert not any(part.startswith("_") and part != "__version__" for part in parts[1:]), name


def test_only_the_program_imports_the_paper():
    importers = {
        path.relative_to(SOURCE).parts[0]
        for path in FILES
        for name, _ in imports(path)
        if name == "skscn.paper" or name.startswith("skscn.paper.")
    }
    assert importers == {"cli", "paper"}


def test_the_program_imports_the_paper_when_a_command_needs_it():
    program = "import sys, skscn.cli.app; print(any(name.startswith('skscn.paper') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_class_name_stands_for_one_thing():
    """A leading underscore makes no other name of it."""
    found: dict[str, set[str]] = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name.lstrip("_"), set()).add(f"{path.relative_to(SOURCE)}: {node.name}")
    assert {name: places for name, places in found.items() if len(places) > 1} == {}
