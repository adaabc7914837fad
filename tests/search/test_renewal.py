"""Step 15 of the paper: r is renewed at random where no candidate passes, and kept."""

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.datasets import make_friedman1

from skscn import SCNRegressor, load_model, save_model
from skscn.activations import ACTIVATIONS
from skscn.datasets import make_db1
from skscn.nodes import Dense
from skscn.rows import open_rows
from skscn.scaling import scale_inputs
from skscn.search import Ladder, Renewal

X, Y = make_friedman1(200, noise=1.0, random_state=0)
SCOPES, POOL = (1.0, 10.0), 20
FAST = {"configuration": "renewal", "scopes": SCOPES, "max_candidates": POOL, "random_state": 0}


@pytest.fixture
def rows():
    return open_rows(X, Y[:, None], layer=Dense(ACTIVATIONS["sigmoid"]), scaling=scale_inputs("minmax", X))


@pytest.fixture
def tried(monkeypatch):
    """What a search tries if no candidate ever passes: scopes, contractions, candidates drawn before."""
    seen = []

    def climb(self, rows, node, rng, count, scopes, contractions, drawn=0):
        seen.append((scopes, contractions, drawn))
        return 0
        yield

    monkeypatch.setattr(Ladder, "_climb", climb)
    return seen


def search(rows, *, seed=0, last=0.0, **settings):
    renewal = Renewal(SCOPES, (0.9, 0.99, 0.999999), POOL, **settings).informed(last, None)
    assert list(renewal.propose(rows, 1, np.random.default_rng(seed), 1)) == []


def test_r_rises_from_the_first_contraction_to_the_last(rows, tried):
    search(rows)
    scopes, contractions, drawn = zip(*tried, strict=True)
    assert set(scopes) == {SCOPES}
    assert contractions[0] == (0.9,)
    assert contractions[-1] == (0.999999,)
    assert np.all(np.diff(contractions, axis=0) > 0.0)
    assert list(drawn) == [2 * POOL * number for number in range(len(drawn))]


def test_a_renewal_is_uniform_between_r_and_one(rows, tried):
    shares = []
    for seed in range(200):
        tried.clear()
        search(rows, seed=seed)
        shares.append((tried[1][1][0] - 0.9) / 0.1)
    assert kstest(shares, "uniform").pvalue > 0.01


@pytest.mark.parametrize(("last", "first"), [(0.0, 0.9), (0.95, 0.95), (1.0, 0.999999)])
def test_r_is_that_of_the_last_node(rows, tried, last, first):
    search(rows, last=last)
    assert tried[0][1] == (first,)


def test_as_printed_the_scope_stays_the_first(rows, tried):
    search(rows, as_printed=True)
    assert {scopes for scopes, _, _ in tried} == {(1.0,)}
    assert [drawn for _, _, drawn in tried] == [POOL * number for number in range(len(tried))]


def test_a_network_keeps_its_r_until_no_candidate_passes():
    history = SCNRegressor(max_nodes=30, **FAST).fit(X, Y).history_
    renewed = np.diff(history["contraction"], prepend=0.9) != 0.0
    assert np.all(np.diff(history["contraction"]) >= 0.0)
    assert 0 < renewed.sum() < len(history)
    # All pools have failed before each renewal; one pass over the scopes is enough without one.
    np.testing.assert_array_equal(history["candidates"] > POOL * len(SCOPES), renewed)


def test_growth_ends_when_the_last_contraction_fails():
    model = SCNRegressor(max_nodes=200, contractions=(0.5, 0.9), **FAST).fit(X, Y)
    assert model.stop_reason_ == "no candidate"
    assert 0 < model.n_nodes_ < 200
    assert model.history_["contraction"].max() <= 0.9


def same(one, other):
    np.testing.assert_array_equal(one.network_.weights, other.network_.weights)
    for name in set(other.history_.dtype.names) - {"seconds"}:
        np.testing.assert_array_equal(one.history_[name], other.history_[name])


@pytest.mark.parametrize("algorithm", ["SC-I", "SC-II", "SC-III"])
@pytest.mark.parametrize("parameters", [{}, {"nodes_per_step": 4}, {"early_stopping": True}], ids=str)
def test_a_network_that_is_continued_goes_on_with_its_r(algorithm, parameters):
    parameters = {**FAST, "algorithm": algorithm, **parameters}
    continued = SCNRegressor(max_nodes=15, warm_start=True, **parameters).fit(X, Y)
    assert continued.history_["contraction"][-1] > 0.9
    same(continued.set_params(max_nodes=30).fit(X, Y), SCNRegressor(max_nodes=30, **parameters).fit(X, Y))


def test_a_saved_network_goes_on_with_its_r(tmp_path):
    short = SCNRegressor(max_nodes=15, warm_start=True, **FAST).fit(X, Y)
    save_model(short, tmp_path / "short.scn")
    continued = load_model(tmp_path / "short.scn").set_params(max_nodes=30).fit(X, Y)
    same(continued, SCNRegressor(max_nodes=30, **FAST).fit(X, Y))


def test_each_round_of_a_loss_begins_with_the_first_r():
    spoilt = np.where(np.arange(len(Y)) % 10, Y, 100.0)
    history = SCNRegressor(max_nodes=15, loss="huber", **FAST).fit(X, spoilt).history_
    later = np.flatnonzero(np.diff(history["round"])) + 1
    assert later.size
    assert np.all(history["contraction"][later] < history["contraction"][later - 1])


def test_the_setting_is_kept_in_files(tmp_path):
    model = SCNRegressor(configuration=Renewal(SCOPES, as_printed=True), max_nodes=3, random_state=0).fit(X, Y)
    save_model(model, tmp_path / "printed.scn")
    assert load_model(tmp_path / "printed.scn").configuration.as_printed is True


def test_on_db1_all_scopes_follow_the_spikes_and_the_first_one_does_not():
    db1 = make_db1(random_state=0)
    models = [
        SCNRegressor(algorithm="SC-I", configuration=Renewal((1, 50, 100, 200), as_printed=flag), random_state=0)
        for flag in (False, True)
    ]
    fitted = [model.set_params(max_nodes=25).fit(db1.data, db1.target) for model in models]
    errors = [model.history_["train_rmse"][-1] / model.network_.outputs.scale[0] for model in fitted]
    assert errors[0] < 0.12
    assert errors[1] > 0.16
    assert set(models[1].history_["scope"]) == {1.0}
