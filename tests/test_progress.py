import io

import numpy as np
import pytest

from skscn import SCNRegressor
from skscn.growth import Step
from skscn.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def step(nodes, validation=np.nan):
    return Step(np.zeros((1, 1)), np.zeros(1), nodes, 5.0, 0.9, 0.1, 0.25, 200, 0.01, validation)


def show(stream, verbose, total=20):
    progress = Progress("Model", total, verbose, stream)
    for nodes in range(1, total + 1):
        progress.update(step(nodes))
    progress.close(total, "max_nodes")
    return stream.getvalue()


def test_a_terminal_gets_one_bar():
    text = show(Terminal(), 1)
    assert text.count("\r") == 20
    assert text.count("\n") == 2
    assert "20/20 nodes, RMSE 0.25000, scope 5" in text
    assert text.endswith("Model stopped at 20 nodes: max_nodes\n")


def test_a_bar_never_wraps(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    lines = show(Terminal(), 1).split("\r")[1:-1]
    assert {len(line.removesuffix("\x1b[K")) for line in lines} == {39}


def test_a_program_without_a_console_shows_nothing(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    Progress("Model", 5, 1).update(step(1))


@pytest.mark.parametrize(("verbose", "lines"), [(0, 0), (1, 11), (2, 21)])
def test_elsewhere_there_are_plain_lines(verbose, lines):
    text = show(io.StringIO(), verbose)
    assert text.count("\n") == lines
    assert "\r" not in text


def test_the_validation_error_is_shown_where_there_is_one():
    stream = io.StringIO()
    Progress("Model", 1, 1, stream).update(step(1, validation=0.5))
    assert "validation 0.50000" in stream.getvalue()


def test_verbose_writes_to_standard_error_only(capsys):
    SCNRegressor(max_nodes=3, verbose=1).fit(np.arange(30.0).reshape(10, 3), np.arange(10.0))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "SCNRegressor stopped at" in captured.err
