"""What keeps fits of recurrent networks in tests short."""

import pytest


@pytest.fixture(scope="module")
def few_pilots():
    """Few and small pilot networks, and few free runs, which are short."""
    few = {"LENGTHS": (0, 2), "_SHORT": 5, "_LONG": 5, "_RUNS": 4, "_STEPS": 10, "_FREE_PENALTIES": (0.0, 1e-8, 1e-4)}
    with pytest.MonkeyPatch.context() as patched:
        for name, value in few.items():
            patched.setattr(f"skscn.recurrent.choosing.{name}", value)
        patched.setattr("skscn.recurrent.fitting._STABLE", 100)
        yield
