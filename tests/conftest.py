"""Set-up of the tests: array API checks are on; tests that need data, a browser or a C compiler run where these are."""

import os
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

# Before SciPy is imported: scikit-learn's checks of array API support ask for it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest

from skscn.datasets import make_db1
from skscn.rows import ROWS, Chunks, Rows, opened

BROWSER = os.environ.get("SKSCN_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
C_COMPILERS = filter(None, map(shutil.which, ("cc", "gcc", "clang", "tcc")))
C_COMPILER = os.environ.get("SKSCN_CC") or next(C_COMPILERS, None)


def makes_32_bits():
    """Whether the C compiler makes programs of 32 bits that run here, and rounds what is assigned, as C demands."""
    if C_COMPILER is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "none.c"), Path(folder, "none")
        source.write_text(
            "#include <stdio.h>\nint main(void)\n{\n    volatile float a = 0.1f, b = a * a;\n"
            "    const float c = a * a;\n    return b != c;\n}\n"
        )
        made = subprocess.run([C_COMPILER, "-std=c99", "-O2", "-m32", source, "-o", program], capture_output=True)
        return made.returncode == 0 and subprocess.run([program]).returncode == 0


# Folders and files of tests that cannot run here -> what they need.
NOT_COLLECTED = {
    **(
        {} if os.environ.get("SKSCN_DATA") else {"paper_data": "name the folder of the paper's data sets in SKSCN_DATA"}
    ),
    **({} if BROWSER else {"browser": "install Chromium or Chrome, or name a browser in SKSCN_BROWSER"}),
    **({} if C_COMPILER else {"c_code": "install a C compiler such as gcc or tcc, or name one in SKSCN_CC"}),
    **({} if makes_32_bits() else {"c_code/test_32_bits.py": "install gcc and gcc-multilib"}),
}
collect_ignore = list(NOT_COLLECTED)


def pytest_terminal_summary(terminalreporter, config):
    """Say which tests were left out, and how to run them."""
    if config.option.markexpr == "not slow":
        terminalreporter.write_line("Slow tests were left out; to run them: ./run test -m slow.", yellow=True)
    for folder, remedy in NOT_COLLECTED.items():
        terminalreporter.write_line(f"tests/{folder} was not collected; to run it, {remedy}.", yellow=True)


# Module of tests -> the state of its RNG before its first test.
_STATES = {}


@pytest.fixture(autouse=True)
def own_random_numbers(request):
    """Each test draws from the RNG of its module as if no other test had run before it in the same process."""
    module = getattr(request.node, "module", None)
    if rng := getattr(module, "RNG", None):
        rng.bit_generator.state = _STATES.setdefault(module, rng.bit_generator.state)


@pytest.fixture(scope="session")
def db1():
    return make_db1(random_state=0)


@pytest.fixture(scope="session")
def recurrent_models():
    """Fitted recurrent networks by what they have, each with inputs and the targets that come back."""
    import pyarrow as pa
    from sklearn.pipeline import Pipeline

    from skscn import RecurrentSCNRegressor
    from skscn.tables import TableEncoder

    small = {"max_nodes": 10, "max_candidates": 60, "nodes_per_step": 5, "random_state": 0}
    x = np.random.default_rng(3).uniform(-1, 1, (300, 2))
    y = np.zeros(300)
    for n in range(3, 300):
        y[n] = 0.7 * y[n - 1] + 0.2 * np.tanh(2 * x[n - 2, 0]) + 0.5 * x[n - 1, 0] * x[n - 3, 1]
    two = np.column_stack([y, np.roll(x[:, 1], 1)])
    some = np.where(np.arange(300)[:, np.newaxis] % 5 == 0, two, np.nan)
    waves = np.sin(np.arange(300) / 4) + 0.5 * np.sin(np.arange(300) / 9)
    table = pa.table({"flow": x[:, 0], "valve": np.where(x[:, 1] > 0, "open", "shut")})
    encoder = TableEncoder().fit(table)
    after = RecurrentSCNRegressor(**small).fit(encoder.transform(table), y)
    return {
        "plain": (RecurrentSCNRegressor(**small).fit(x, y), x, None),
        "groups": (RecurrentSCNRegressor(**small).fit(x, two, groups=np.repeat(["a", "b"], 150)), x, None),
        "feedback": (RecurrentSCNRegressor(feedback=True, **small).fit(x, two), x, two),
        "holds": (RecurrentSCNRegressor(feedback=True, **small).fit(x, some), x, some),
        "free": (RecurrentSCNRegressor(feedback=True, **small).fit(None, waves[:200]), None, waves),
        "table": (Pipeline([("table", encoder), ("model", after)]), table, None),
    }


@pytest.fixture(scope="session")
def c_compiler():
    """The C compiler that was found."""
    return C_COMPILER


@pytest.fixture(scope="session")
def browser_path():
    """The program of the browser that was found."""
    return BROWSER


def as_chunks(stack, X, targets, weights):
    inputs = stack.enter_context(opened(Chunks(X, targets, memory_limit=1000), lambda n_rows: 10)).X
    return inputs, targets, weights


def as_dask(stack, X, targets, weights):
    """Partitions of which one is empty and others end within a stretch, computed in this thread."""
    import dask
    import dask.array as da

    stack.enter_context(dask.config.set(scheduler="synchronous"))
    cuts = np.array([0, 0.3, 0.3, 0.8, 1.0]) * len(X)
    rows = tuple(np.diff(cuts.astype(int)).tolist())
    return tuple(
        None if values is None else da.from_array(values, chunks=(rows, *values.shape[1:]))
        for values in (X, targets, weights)
    )


# Backend -> how it gets inputs, targets and weights.
AS = {"memory": lambda stack, *arrays: arrays, "chunks": as_chunks, "dask": as_dask}


@pytest.fixture
def rows_in():
    """A function that opens rows in a backend of the registry, from arrays."""
    with ExitStack() as stack:

        def open_rows(backend, X, targets, *, layer, scaling, sample_weight=None):
            inputs, targets, weights = AS[backend](stack, X, targets, sample_weight)
            return Rows(ROWS[backend](inputs, targets, scaling=scaling, sample_weight=weights), layer)

        yield open_rows


@pytest.fixture
def assert_plain_ticks():
    """A check that the ticks of a figure are labelled 0.05, not 5 × 10⁻²."""

    def check(figure):
        figure.canvas.draw()
        labels = [
            text.get_text()
            for ax in figure.axes
            for axis in (ax.xaxis, ax.yaxis)
            for text in (*axis.get_ticklabels(), *axis.get_ticklabels(minor=True))
        ]
        assert not [label for label in labels if "times" in label or "^" in label]

    return check
