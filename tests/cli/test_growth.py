"""What is shown of a fit, and what Ctrl-C does to it."""

import io
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
from joblib import parallel_config
from rich.console import Console as RichConsole

from skscn import SCNClassifier, SCNEnsembleClassifier, SCNEnsembleRegressor, SCNRegressor, describe_model
from skscn.cli.console import Console
from skscn.cli.growth import Growth
from skscn.cli.interrupts import later
from skscn.progress import listening


@pytest.fixture
def rows():
    X = np.random.default_rng(0).uniform(size=(120, 2))
    return X, np.sin(5 * X[:, 0]) + X[:, 1]


def terminal(**settings):
    return RichConsole(file=io.StringIO(), force_terminal=True, width=100, **settings)


@contextmanager
def growing(screen):
    console = Console()
    console.errors = screen
    with Growth(console, lambda model: None) as growth, listening(growth):
        yield growth


def test_a_terminal_sees_nodes_and_errors(rows):
    console = terminal()
    with growing(console) as growth:
        growth.begin("Growing", model := SCNRegressor(max_nodes=5, random_state=0))
        model.fit(*rows)
        assert growth._bar.tasks[0].completed == 1
        assert "5 nodes, validation RMSE 0." in growth._bar.tasks[0].fields["state"]
    assert "Growing" in console.file.getvalue()


def test_a_terminal_sees_which_round_it_is(rows, monkeypatch):
    X, y = rows
    y = np.where(np.arange(len(y)) % 10, y, y + 20.0)
    states, shares = [], []
    with growing(terminal()) as growth:
        update = growth._bar.update

        def noted(task, **values):
            states.append(values["state"])
            shares.append(values["completed"])
            update(task, **values)

        monkeypatch.setattr(growth._bar, "update", noted)
        growth.begin("Growing", model := SCNRegressor(loss="welsch", max_nodes=5, random_state=0))
        model.fit(X, y)
    assert {state.partition(",")[0] for state in states} >= {"round 1 of at most 4", "round 2 of at most 4"}
    assert shares == sorted(shares)
    assert shares[-1] <= 1.0


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_an_ensemble_is_counted_by_members(rows, n_jobs):
    with growing(terminal()) as growth:
        model = SCNEnsembleRegressor(SCNRegressor(max_nodes=4), n_members=3, random_state=0, n_jobs=n_jobs)
        growth.begin("Growing", model)
        model.fit(*rows)
        assert growth._bar.tasks[0].completed == 3
        assert growth._bar.tasks[0].fields["state"].startswith("3/3 networks, ")


def test_a_file_and_quiet_see_nothing(rows):
    for console in (RichConsole(file=io.StringIO()), terminal(quiet=True)):
        with growing(console) as growth:
            growth.begin("Growing", model := SCNRegressor(max_nodes=3, random_state=0))
            model.fit(*rows)
        assert console.file.getvalue() == ""


def test_the_first_interrupt_ends_growth_and_the_second_everything(rows):
    console = terminal()
    with growing(console) as growth:
        growth.interrupt()
        assert SCNRegressor(early_stopping=False, random_state=0).fit(*rows).n_iter_ == 1
        with pytest.raises(KeyboardInterrupt):
            growth.interrupt()
    assert "what has been trained so far is kept" in console.file.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["regression", "classification"])
@pytest.mark.parametrize(("backend", "n_jobs"), [("loky", 1), ("loky", 2), ("threading", 2)])
def test_members_that_had_finished_are_kept(rows, kind, backend, n_jobs, monkeypatch):
    """The same ones in every mode, but for those that happened to finish at the same time."""
    X, y = rows
    if kind == "regression":
        ensemble = SCNEnsembleRegressor(SCNRegressor(max_nodes=4), n_members=12, random_state=0)
    else:
        ensemble, y = SCNEnsembleClassifier(SCNClassifier(max_nodes=4), n_members=12, random_state=0), y > 0.7
    whole = {member.random_state: member for member in ensemble.fit(X, y).members_}
    with parallel_config(backend), growing(terminal()) as growth:
        hear = growth.member

        def member(member, done, n_members):
            if done == 3:
                growth.interrupt()
            return hear(member, done, n_members)

        monkeypatch.setattr(growth, "member", member)
        ensemble.set_params(n_jobs=n_jobs).fit(X, y)
    assert 3 <= len(ensemble.members_) < 12
    seeds = [member.random_state for member in ensemble.members_]
    assert seeds == [seed for seed in whole if seed in seeds]
    for member in ensemble.members_:
        np.testing.assert_array_equal(member.network_.weights, whole[member.random_state].network_.weights)
    assert len(ensemble.weights_) == len(ensemble.features_) == len(ensemble.out_of_bag_) == len(seeds)
    assert len(ensemble.predict(X)) == len(X)


@pytest.mark.parametrize(
    ("backend", "n_jobs"), [("loky", 1), pytest.param("loky", 2, marks=pytest.mark.slow), ("threading", 2)]
)
def test_a_member_in_another_process_is_cut_short(rows, backend, n_jobs, monkeypatch):
    """It is kept, since there is no other; without it, the fit would take hours."""
    endless = SCNRegressor(max_nodes=10**6, tol=0, early_stopping=False, configuration="ladder", max_candidates=5)
    ensemble = SCNEnsembleRegressor(endless, n_members=3, random_state=0, n_jobs=n_jobs)
    with parallel_config(backend), growing(terminal()) as growth:
        # The file is what other processes see; here growth is as if not interrupted, so that members are begun.
        growth._stop.path.touch()
        if n_jobs == 1:
            growth.interrupted = True
            monkeypatch.setattr(growth, "stopped", lambda: False)
        ensemble.fit(*rows)
    assert {member.n_nodes_ for member in ensemble.members_} == {1}


def test_an_ensemble_of_which_nothing_has_grown(rows):
    with growing(terminal()) as growth:
        growth.interrupt()
        with pytest.raises(KeyboardInterrupt):
            SCNEnsembleRegressor(SCNRegressor(max_nodes=4), n_members=3).fit(*rows)


def test_an_interrupt_may_wait():
    waiting = later()
    waiting.__enter__()
    signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        waiting.__exit__(None, None, None)


if os.name == "posix":
    # The program, and a user who presses Ctrl-C when three networks are there; a terminal tells all processes.
    PROGRAM = """
import os, signal
from skscn.cli import growth, main

class Pressed(growth.Growth):
    def member(self, member, done, n_members):
        if done == 3:
            for _ in range({presses}):
                os.killpg(0, signal.SIGINT)
        return super().member(member, done, n_members)

growth.Growth = Pressed
main()
"""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("presses", "jobs", "task"), [(1, 2, "regression"), (2, 2, "classification"), (2, 1, "auto")]
    )
    def test_ctrl_c_in_a_terminal_keeps_finished_networks(tmp_path, presses, jobs, task):
        path, model = tmp_path / "a.csv", tmp_path / "m.scn"
        table = np.random.default_rng(0).integers(4, size=(60, 3))
        np.savetxt(path, table, fmt="%d", delimiter=",", header="a,b,y", comments="")
        command = ["fit", path, "-t", "y", "-m", model, "--task", task, "--jobs", jobs, "--set", "n_members=40"]
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(presses=presses), *map(str, command), "--set", "max_nodes=3"],
            start_new_session=True,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 130, done.stderr
        assert f"Interrupted: {model} contains what had been trained." in done.stderr
        assert "Traceback" not in done.stderr
        assert 3 <= len(describe_model(model)["nodes"]) < 40
