"""Set-up of the tests: array API checks are on; tests that need the paper's data or a browser run where they are."""

import os
import shutil

# Before SciPy is imported: scikit-learn's checks of array API support ask for it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import pytest

from skscn.datasets import make_db1

BROWSER = os.environ.get("SKSCN_BROWSER") or shutil.which("chromium") or shutil.which("google-chrome")
collect_ignore = [
    *([] if os.environ.get("SKSCN_DATA") else ["paper_data"]),
    *([] if BROWSER else ["browser"]),
]


@pytest.fixture(scope="session")
def db1():
    return make_db1(random_state=0)


@pytest.fixture(scope="session")
def browser_path():
    """The program of the browser that was found."""
    return BROWSER
