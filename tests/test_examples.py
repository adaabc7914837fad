"""Every example of the gallery runs, without a warning, and draws; so does the notebook."""

import ast
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt

EXAMPLES = Path(__file__).parents[1] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("plot_*.py"))
NOTEBOOKS = sorted((EXAMPLES / "notebooks").glob("*.py"))


@pytest.fixture(autouse=True)
def pictures(monkeypatch, tmp_path):
    """Figures without a window, in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_example_runs(path, assert_plain_ticks):
    """It leaves nothing behind but its figures, which are finished here as a viewer would."""
    runpy.run_path(str(path), run_name="__main__")
    assert plt.get_fignums()
    for number in plt.get_fignums():
        assert_plain_ticks(plt.figure(number))
    assert not list(Path.cwd().iterdir())


@pytest.fixture(scope="module")
def soft_sensor():
    """What the example of the soft sensor computes."""
    plt.switch_backend("agg")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plt, "show", lambda: None)
        return runpy.run_path(str(EXAMPLES / "plot_5_soft_sensor.py"))


def test_the_soft_sensor_says_what_its_numbers_say(soft_sensor):
    r2, (plain, widened) = soft_sensor["r2"], soft_sensor["covered"].values()
    assert r2["inputs now, last third"] < 0.5 < 0.9 < r2["with lags, last third"]
    assert r2["with lags, shuffled folds"] > r2["with lags, last third"] > r2["with lags, later folds"]
    assert plain < 0.85 < widened
    assert soft_sensor["factor"] > 1


def test_rows_of_the_soft_sensor_hold_the_past_only(soft_sensor):
    inputs, lags, X = soft_sensor["inputs"], soft_sensor["LAGS"], soft_sensor["X"]
    assert len(X) == len(soft_sensor["y"]) == len(inputs) - max(lags)
    for place, lag in enumerate(lags):
        np.testing.assert_array_equal(X[-1, 3 * place : 3 * place + 3], inputs[-1 - lag])
    assert soft_sensor["train"].max() < soft_sensor["test"].min()


def test_no_example_reads_files_from_elsewhere():
    assert not [path.name for path in SCRIPTS if "environ" in path.read_text(encoding="utf-8")]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_as_a_script(path):
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "Test RMSE" in done.stdout
    assert "Warning" not in done.stderr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_sliders_show_their_values(path):
    sliders = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if is_slider(node)]
    assert sliders
    assert all("show_value" in [keyword.arg for keyword in slider.keywords] for slider in sliders)


def is_slider(node):
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "").endswith("slider")
