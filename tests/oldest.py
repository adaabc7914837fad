"""Run the core tests with the oldest packages that pyproject.toml allows: ``./run oldest``.

The packages are installed in .venv-oldest, an environment of its own. Further arguments go to pytest.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENT = ROOT / ".venv-oldest"
EXTRAS = "cli,dask,federated,io,onnx,plot"
# Old versions of matplotlib use old names of the newest pyparsing.
WARNINGS = ["-W", "default::pyparsing.warnings.PyparsingDeprecationWarning"]
# What depends most on other packages; the rest is as good with the newest ones, with which ./run test runs everything.
TESTS = [
    "tests/search",
    "tests/estimators",
    "tests/output_weights",
    "tests/persistence",
    "tests/plot",
    "tests/readers/test_keel.py",
    "tests/rows",
    "tests/tables",
    "tests/test_activations.py",
    "tests/test_datasets.py",
    "tests/test_growth.py",
    "tests/test_network.py",
    "tests/test_nodes.py",
    "tests/test_onnx.py",
    "tests/test_scaling.py",
    "tests/test_supervision.py",
]


def main(arguments):
    uv = [sys.executable, "-m", "uv", "--quiet"]
    lowest = ["--resolution", "lowest-direct", "--group", "test", "--editable", f".[{EXTRAS}]"]
    run([*uv, "venv", "--python", sys.executable, "--clear", ENVIRONMENT])
    run([*uv, "pip", "install", "--python", ENVIRONMENT, *lowest])
    pytest = ["python", "-m", "pytest", "-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider", *WARNINGS]
    run([*uv, "run", "--no-project", "--python", ENVIRONMENT, *pytest, *(arguments or TESTS)])


def run(command):
    code = subprocess.call(command, cwd=ROOT)
    if code:
        sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
