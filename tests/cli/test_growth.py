"""What is shown of a fit, and what Ctrl-C does to it."""

import io

import numpy as np
import pytest
from rich.console import Console

from skscn import SCNEnsembleRegressor, SCNRegressor
from skscn.cli._growth import growing


@pytest.fixture
def rows():
    X = np.random.default_rng(0).uniform(size=(120, 2))
    return X, np.sin(5 * X[:, 0]) + X[:, 1]


def terminal(**settings):
    return Console(file=io.StringIO(), force_terminal=True, width=100, **settings)


def test_a_terminal_sees_nodes_and_errors(rows):
    console = terminal()
    with growing(console, 1) as growth:
        growth.begin("Growing", model := SCNRegressor(max_nodes=5, random_state=0))
        model.fit(*rows)
        assert growth._bar.tasks[0].completed == 1
        assert "5 nodes, validation RMSE 0." in growth._bar.tasks[0].fields["state"]
    assert "Growing" in console.file.getvalue()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_ensemble_is_counted_by_members(rows, n_jobs):
    with growing(terminal(), n_jobs) as growth:
        model = SCNEnsembleRegressor(SCNRegressor(max_nodes=4), n_members=3, random_state=0, n_jobs=n_jobs)
        growth.begin("Growing", model)
        model.fit(*rows)
        assert growth._bar.tasks[0].completed == 3
        assert growth._bar.tasks[0].fields["state"].startswith("3/3 networks, ")


def test_a_file_and_quiet_see_nothing(rows):
    for console in (Console(file=io.StringIO()), terminal(quiet=True)):
        with growing(console, 1) as growth:
            growth.begin("Growing", model := SCNRegressor(max_nodes=3, random_state=0))
            model.fit(*rows)
        assert console.file.getvalue() == ""


def test_the_first_interrupt_ends_growth_and_the_second_everything(rows):
    console = terminal()
    with growing(console, 1) as growth:
        growth.interrupt()
        assert SCNRegressor(early_stopping=False, random_state=0).fit(*rows).n_nodes_ == 1
        with pytest.raises(KeyboardInterrupt):
            growth.interrupt()
    assert "what has grown is kept" in console.file.getvalue()
