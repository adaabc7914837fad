"""What keeps fits of recurrent networks in tests short."""

import pytest


@pytest.fixture(scope="module")
def few_pilots():
    """Few and small pilot networks, and few free runs, which are short."""
    few = {
        "fitting": {"LENGTHS": (0, 2), "_PILOT_NODES": 5, "_TRIED": 1, "_STABLE": 100},
        "later": {"_RUNS": 4, "_STEPS": 10, "_FREE_PENALTIES": (0.0, 1e-8, 1e-4)},
    }
    with pytest.MonkeyPatch.context() as patched:
        for module, values in few.items():
            for name, value in values.items():
                patched.setattr(f"skscn.recurrent.{module}.{name}", value)
        yield
