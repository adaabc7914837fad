import io

import numpy as np
import pytest

from skscn import SCNEnsembleRegressor, SCNRegressor
from skscn.growth import Step
from skscn.nodes import IDENTITY, Nodes
from skscn.progress import Listener, Progress, listening


class Terminal(io.StringIO):
    def isatty(self):
        return True


def step(nodes, validation=np.nan):
    return Step(Nodes.none(IDENTITY, 1), nodes, 5.0, 0.9, 0.1, 0.25, 200, 0.01, validation)


def show(stream, verbose, total=20):
    progress = Progress("Model", total, verbose, stream)
    for nodes in range(1, total + 1):
        progress.update(step(nodes))
    progress.end(f"stopped at {total} nodes: max_nodes")
    return stream.getvalue()


def test_a_terminal_gets_one_bar():
    text = show(Terminal(), 1)
    assert text.count("\r") == 20
    assert text.count("\n") == 2
    assert "20/20 nodes, RMSE 0.25, scope 5" in text
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
    assert "validation 0.5," in stream.getvalue()


def test_verbose_writes_to_standard_error_only(capsys):
    SCNRegressor(max_nodes=3, verbose=1).fit(np.arange(30.0).reshape(10, 3), np.arange(10.0))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "SCNRegressor stopped at" in captured.err


def test_rounds_are_shown_where_a_loss_needs_several(rows, capsys):
    X, y = rows
    y = np.where(np.arange(len(y)) % 10, y, y + 20.0)
    model = SCNRegressor(loss="welsch", max_nodes=3, nodes_per_step=1, verbose=2, random_state=0).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("SCNRegressor, round 2 of at most 4 1/3 nodes, RMSE ")]
    ended = [line for line in lines if "stopped at" in line]
    assert len(ended) == model.history_["round"].max() > 1
    SCNRegressor(max_nodes=3, verbose=2, random_state=0).fit(X, y)
    assert "round" not in capsys.readouterr().err


def test_a_listener_hears_of_each_round(rows):
    class Rounds(Listener):
        heard = ()

        def begin_round(self, number, most):
            self.heard += ((number, most),)

    X, y = rows
    y = np.where(np.arange(len(y)) % 10, y, y + 20.0)
    with listening(listener := Rounds()):
        model = SCNRegressor(loss="welsch", max_nodes=3, random_state=0).fit(X, y)
    assert listener.heard == tuple((number, 4) for number in range(1, model.history_["round"].max() + 1))


class Patience(Listener):
    """Counts, and ends fits once it has heard of so many steps or members."""

    def __init__(self, steps=np.inf, members=np.inf):
        self.most_steps, self.most_members = steps, members
        self.steps = self.members = 0

    def step(self, step, max_nodes):
        self.steps += 1
        return self.steps >= self.most_steps

    def member(self, member, done, n_members):
        self.members = done
        return self.members >= self.most_members or self.steps >= self.most_steps


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(120, 2))
    return X, np.sin(5 * X[:, 0]) + X[:, 1] + 0.05 * rng.normal(size=120)


def test_a_listener_who_ends_a_fit_gets_the_network_of_that_many_steps(rows):
    with listening(Patience(steps=4)):
        ended = SCNRegressor(early_stopping=False, random_state=0).fit(*rows)
    assert (ended.stop_reason_, ended.n_iter_) == ("callback", 4)
    alone = SCNRegressor(max_nodes=ended.n_nodes_, early_stopping=False, random_state=0).fit(*rows)
    np.testing.assert_array_equal(ended.predict(rows[0]), alone.predict(rows[0]))
    assert SCNRegressor(early_stopping=False, max_nodes=6, random_state=0).fit(*rows).n_nodes_ == 6


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_ensemble_that_is_ended_is_that_of_the_members_done(rows, n_jobs):
    member = SCNRegressor(max_nodes=5, early_stopping=True)
    with listening(Patience(members=2)):
        ended = SCNEnsembleRegressor(member, n_members=40, random_state=0, n_jobs=n_jobs).fit(*rows)
    # In processes, those that are being grown are finished.
    assert 2 <= len(ended.members_) < (40 if n_jobs > 1 else 3)
    same = SCNEnsembleRegressor(member, n_members=len(ended.members_), random_state=0).fit(*rows)
    np.testing.assert_array_equal(ended.predict(rows[0]), same.predict(rows[0]))
    np.testing.assert_array_equal(ended.predict_interval(rows[0]), same.predict_interval(rows[0]))


@pytest.mark.parametrize(("steps", "members"), [(3, 1), (12, 1), (18, 2)])
def test_a_member_that_was_cut_short_is_kept_only_if_it_is_all_there_is(rows, steps, members):
    with listening(Patience(steps=steps)):
        model = SCNEnsembleRegressor(
            SCNRegressor(max_nodes=8, nodes_per_step=1, early_stopping=False),
            n_members=4,
            bootstrap=True,
            random_state=0,
        ).fit(*rows)
    assert len(model.members_) == members
    assert [member.n_nodes_ for member in model.members_] == ([3] if steps == 3 else [8] * members)
