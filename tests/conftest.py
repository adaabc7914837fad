"""Set-up of the tests: array API checks are on, and tests that need the paper's data files run where the files are."""

import os

# Before SciPy is imported: scikit-learn's checks of array API support ask for it.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import pytest

from skscn.datasets import make_db1

collect_ignore = [] if os.environ.get("SKSCN_DATA") else ["paper_data"]


@pytest.fixture(scope="session")
def db1():
    return make_db1(random_state=0)
