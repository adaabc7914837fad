"""Set-up of the tests: array API checks are on; tests that need the paper's data or a browser run where they are."""

import os
import shutil
from contextlib import ExitStack

# Before SciPy is imported: scikit-learn's checks of array API support ask for it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest

from skscn.datasets import make_db1
from skscn.rows import ROWS, Chunks, opened

BROWSER = os.environ.get("SKSCN_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
# Folders of tests that cannot run here -> what they need.
NOT_COLLECTED = {
    **(
        {} if os.environ.get("SKSCN_DATA") else {"paper_data": "name the folder of the paper's data sets in SKSCN_DATA"}
    ),
    **({} if BROWSER else {"browser": "install Chromium or Chrome, or name a browser in SKSCN_BROWSER"}),
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
            return ROWS[backend](inputs, targets, layer=layer, scaling=scaling, sample_weight=weights)

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
