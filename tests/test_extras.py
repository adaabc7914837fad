import sys
import tomllib
from pathlib import Path

import pytest

from skscn.extras import EXTRAS, optional


def test_a_missing_package_is_asked_for_by_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'^A picture needs matplotlib: pip install "scikit-scn\[plot\]"') as missing:
        optional("matplotlib.figure", "A picture")
    assert str(missing.value).endswith('or pip install ".[plot]" in a clone of scikit-scn')


def test_a_module_that_fails_for_another_reason_is_not_blamed_on_the_extra():
    with pytest.raises(ModuleNotFoundError, match="matplotlib.nothing"):
        optional("matplotlib.nothing", "A picture")


def test_every_extra_installs_what_is_said_of_it():
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    installed = {name: " ".join(needs) for name, needs in project["optional-dependencies"].items()}
    for package, extra in EXTRAS.items():
        assert package in installed[extra]
