"""Every example of the gallery runs, without a warning, and draws; so does the notebook."""

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
    monkeypatch.delenv("SKSCN_BENCH_DATA", raising=False)
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.switch_backend("agg")
    yield
    plt.close("all")


def run(path):
    """What the script defined; it left nothing behind but its figures, which are finished here as a viewer would."""
    names = runpy.run_path(str(path), run_name="__main__")
    assert plt.get_fignums()
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
    assert not list(Path.cwd().iterdir())
    return names


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_example_runs(path):
    run(path)


def test_the_soft_sensor_reads_the_plants_file(monkeypatch, tmp_path):
    data, rng = tmp_path / "data", np.random.default_rng(0)
    (data / "regression").mkdir(parents=True)
    u = np.cumsum(rng.normal(size=(400, 2)), axis=0)
    y = np.tanh(u[:, 0] / 5) + 0.01 * rng.normal(size=400)
    table = np.column_stack([u, y])
    np.savetxt(data / "regression" / "debutanizer.csv", table, delimiter=",", header="u1,u2,y", comments="")
    monkeypatch.setenv("SKSCN_BENCH_DATA", str(data))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    names = run(EXAMPLES / "plot_5_soft_sensor.py")
    # Three lags of two inputs and three of the results; row i predicts what was measured 12 samples after row i.
    assert names["X"].shape == (388, 9)
    np.testing.assert_array_equal(names["y"], y[12:])
    np.testing.assert_array_equal(names["X"][:, :2], u[12:])
    np.testing.assert_array_equal(names["X"][:, 6], y[4:-8])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_as_a_script(path):
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "Test RMSE" in done.stdout
    assert "Warning" not in done.stderr
