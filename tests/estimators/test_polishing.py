"""Networks whose nodes are all polished on the way: the same however they are grown, and never worse for it."""

import numpy as np
import pytest

from skscn import Chunks, SCNClassifier, SCNRegressor
from skscn.progress import Listener, listening
from skscn.rows.files import Scratch
from skscn.search import pool as module

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(3000, 3))
Y = np.sin(7 * X[:, 0] * X[:, 1]) + X[:, 2] ** 2
SETTINGS = {"max_nodes": 40, "max_candidates": 40, "random_state": 0}


def same(one, other):
    np.testing.assert_array_equal(one.network_.weights, other.network_.weights)
    np.testing.assert_array_equal(one.network_.output_weights, other.network_.output_weights)
    for name in set(one.history_.dtype.names) - {"seconds"}:
        np.testing.assert_array_equal(one.history_[name], other.history_[name])


class StopAt(Listener):
    def __init__(self, nodes):
        self.nodes = nodes

    def step(self, step, max_nodes):
        return step.nodes >= self.nodes


@pytest.mark.parametrize("early_stopping", [False, True, "gcv"])
@pytest.mark.parametrize("nodes", [9, 18, 33])
def test_a_checkpoint_continues_as_if_nothing_had_happened(tmp_path, early_stopping, nodes):
    settings = SETTINGS | {"early_stopping": early_stopping}
    path = tmp_path / "fit.ckpt"
    with listening(StopAt(nodes)):
        SCNRegressor(**settings, checkpoint=path).fit(X, Y)
    resumed = SCNRegressor(**settings, checkpoint=path).fit(X, Y)
    whole = SCNRegressor(**settings).fit(X, Y)
    assert whole.history_["polished"].any()
    same(resumed, whole)


@pytest.mark.parametrize("nodes", [12, 20, 30])
def test_warm_start_continues_as_if_it_had_never_stopped(nodes):
    settings = SETTINGS | {"early_stopping": False}
    model = SCNRegressor(**settings | {"max_nodes": nodes}, warm_start=True).fit(X, Y)
    same(model.set_params(max_nodes=40).fit(X, Y), SCNRegressor(**settings).fit(X, Y))


def test_rows_in_files_give_the_same_network():
    in_memory = SCNRegressor(**SETTINGS).fit(X, Y)
    assert in_memory.history_["polished"].any()
    same(SCNRegressor(**SETTINGS).fit(Chunks(X, Y, memory_limit=1)), in_memory)


def test_a_result_that_is_worse_on_all_rows_is_not_taken(monkeypatch):
    """Draws depend on the number of nodes alone, so the network is the one that is not polished at all."""

    def spoilt(self, rows, nodes, factor, gain, rng):
        return rows.nodes(nodes.weights * 0.01, nodes.biases)

    monkeypatch.setattr(module.Polished, "polish", spoilt)
    refused = SCNRegressor(**SETTINGS).fit(X, Y)
    monkeypatch.setattr(module.Polished, "polish", lambda *_: None)
    same(refused, SCNRegressor(**SETTINGS).fit(X, Y))
    assert not refused.history_["polished"].any()


def test_the_best_network_may_be_one_from_before_the_last_polishing(monkeypatch):
    """On noise, early stopping goes back to it."""
    monkeypatch.setattr(module, "_ROWS_PER_WEIGHT", 1)
    noise = np.random.default_rng(1).normal(size=3000)
    model = SCNRegressor(**SETTINGS, alpha=0.0).fit(X, noise)
    assert model.n_nodes_ < 12
    kept = model.history_[model.history_["nodes"] == model.n_nodes_] if model.n_nodes_ else None
    if kept is not None:
        assert kept["validation_rmse"][0] == np.nanmin(model.history_["validation_rmse"])


def test_output_weights_of_a_network_from_before_the_last_polishing_are_those_of_all_rows(monkeypatch):
    monkeypatch.setattr(module, "_ROWS_PER_WEIGHT", 1)
    for seed in range(30):
        y = np.random.default_rng(seed).normal(size=3000) + 3 * np.sin(4 * X[:, 0])
        model = SCNRegressor(**SETTINGS, alpha=1.0).fit(X, y)
        if model.history_["polished"].any() and 0 < model.n_nodes_ < 12:
            break
    assert model.history_["polished"].any()
    assert 0 < model.n_nodes_ < 12
    inputs, outputs = model.network_.inputs.transform(X), model.network_.outputs.transform(y[:, np.newaxis])
    H = np.column_stack([np.ones(len(X)), inputs, model.transform(X)])
    penalty = np.eye(model.n_nodes_, H.shape[1], k=H.shape[1] - model.n_nodes_)
    target = np.vstack([outputs, np.zeros((model.n_nodes_, 1))])
    expected = np.linalg.lstsq(np.vstack([H, penalty]), target, rcond=None)[0][-model.n_nodes_ :]
    np.testing.assert_allclose(model.network_.layers[0].output_weights, expected, rtol=1e-6)


def test_every_step_keeps_the_inequality_and_polishing_only_lowers_the_error():
    model = SCNRegressor(**SETTINGS, early_stopping=False).fit(X, Y)
    history = model.history_
    assert (history["slack"] >= 0.0).all()
    assert (np.diff(history["train_rmse"]) < 0.0).all()


def test_classes_are_polished_too():
    classes = (np.median(Y) < Y).astype(int) + (np.quantile(Y, 0.8) < Y)
    model = SCNClassifier(max_nodes=30, max_candidates=40, random_state=0).fit(X, classes)
    assert model.history_["polished"].any()
    assert model.score(X, classes) > 0.8


def test_rows_in_files_are_opened_once(monkeypatch):
    """Whether polishing is accepted or refused, the files of the basis are used again."""
    opened, panels = [], Scratch.panels
    monkeypatch.setattr(Scratch, "panels", lambda self, n_rows: opened.append(n_rows) or panels(self, n_rows))
    model = SCNRegressor(**SETTINGS, early_stopping=False).fit(Chunks(X, Y, memory_limit=100_000))
    assert model.n_nodes_ == 40
    # One for the basis and one for the open columns.
    assert opened == [len(X), len(X)]
