import importlib
import subprocess
import sys

import pytest

import skscn

OPTIONAL = {"typer", "rich", "matplotlib", "jinja2", "pandas", "polars", "pyarrow", "dask", "onnx", "sklearn", "scipy"}


def test_importing_the_package_imports_nothing_else():
    program = "import sys, skscn; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not OPTIONAL & set(loaded)


@pytest.mark.parametrize("name", skscn.__all__)
def test_every_name_is_there(name):
    assert getattr(skscn, name) is not None
    assert name in dir(skscn)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'SCNRegresor'"):
        _ = skscn.SCNRegresor


@pytest.mark.slow
@pytest.mark.parametrize("name", skscn._MODULES)
def test_every_module_is_there_after_importing_the_package_alone(name):
    program = f"import skscn; assert skscn.{name}.__name__ == 'skscn.{name}'"
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(("old", "new"), [("configuration", "search"), ("layers", "nodes"), ("kernels", "nodes")])
def test_names_of_version_0_2_can_be_imported(old, new):
    before, now = (importlib.import_module(f"skscn.{name}") for name in (old, new))
    assert before.__all__
    assert all(getattr(before, name) is getattr(now, name) for name in before.__all__)


def test_the_schedule_of_steps_has_its_earlier_name():
    from skscn.configuration import Pace

    assert Pace is skscn.search.StepSchedule
