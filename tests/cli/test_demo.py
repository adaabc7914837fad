import subprocess
import sys

import pytest

from skscn.paper.reported import TABLE1


def run(*arguments, cwd):
    return subprocess.run(
        [sys.executable, "-m", "skscn.cli", *arguments], capture_output=True, text=True, encoding="utf-8", cwd=cwd
    )


@pytest.mark.slow
def test_the_demo_prints_errors_beside_the_papers_and_writes_a_picture(tmp_path):
    done = run("demo", "--out", "curves.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert str(tmp_path / "curves.png") in done.stdout
    for method in ("IRVFL", "SC-I", "SC-II", "SC-III"):
        assert f"{TABLE1[method, 'test', 50].mean:.4f}".removeprefix("0") in done.stdout


def test_without_matplotlib_it_says_so_at_once(skscn, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr("skscn.paper.figures.grow_panel", None)
    done = skscn("demo", "--out", tmp_path / "curves.png", code=1)
    assert done.stderr.startswith('Error: The demo needs matplotlib: pip install "scikit-scn[plot]", or ')


def test_no_arguments_show_help(tmp_path):
    done = run(cwd=tmp_path)
    assert "demo" in done.stdout + done.stderr
