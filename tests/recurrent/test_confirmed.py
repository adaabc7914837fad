"""What a fit has validated holds for the network that it keeps."""

import numpy as np
import pytest

from skscn import RecurrentSCNRegressor
from skscn.factor import Factor
from skscn.recurrent import fitting
from skscn.recurrent.inputs import given
from skscn.recurrent.predicting import driven
from skscn.recurrent.sequences import BLOCKS, SHARE, Prepared

RNG = np.random.default_rng(8)
X = RNG.uniform(-1, 1, (400, 2))
Y = np.convolve(np.tanh(2 * X[:, 0]), 0.7 ** np.arange(30))[:400] + X[:, 1] * np.roll(X[:, 0], 2)
Y += 0.05 * RNG.normal(size=400)
TINY = {"max_nodes": 12, "max_candidates": 20, "nodes_per_step": 4}


def later_error(model):
    """The error of the nodes of a model on later rows, with output weights from the rows before."""
    data = Prepared.of(given(model, X, Y, None, reset=False), feedback=False, washout="auto")
    sequences, reservoir = data.sequences, model.reservoir_
    columns = driven(reservoir, data.rows, [None])[0][:, reservoir.kept]
    squares, rows = [], sequences.scored(0.0, SHARE)
    for block in sequences.blocks(SHARE, BLOCKS):
        factor = Factor.empty(columns.shape[1], 1, 1).with_rows(columns[rows], sequences.targets[rows])
        (weights,) = factor.ridge_path([reservoir.alpha])
        squares.append((columns[block] @ weights - sequences.targets[block]) ** 2)
        rows = np.concatenate([rows, block])
    return np.sqrt(np.vstack(squares).mean()) * data.unit


@pytest.mark.usefixtures("few_pilots")
@pytest.mark.parametrize("seed", range(4))
def test_the_nodes_that_are_kept_predict_later_rows_as_well_as_those_validated(seed):
    model = RecurrentSCNRegressor(**TINY, random_state=seed).fit(X, Y)
    assert later_error(model) <= np.nanmin(model.history_["validation_rmse"]) * (1 + 1e-9)


@pytest.mark.usefixtures("few_pilots")
def test_a_penalty_for_stability_is_what_intervals_know_of(monkeypatch):
    wave = np.sin(np.arange(300) / 4) + 0.5 * np.sin(np.arange(300) / 9) + 0.1 * RNG.normal(size=300)
    free, tried = RecurrentSCNRegressor(**TINY, feedback=True, random_state=0).fit(None, wave), []
    monkeypatch.setattr(fitting, "stays_bounded", lambda *given: len(tried) == 2 or tried.append(given))
    other = RecurrentSCNRegressor(**TINY, feedback=True, random_state=0).fit(None, wave)
    alphas = {free.reservoir_.alpha, other.reservoir_.alpha}
    assert len(alphas) == 2
    assert other.reservoir_.n_nodes == free.reservoir_.n_nodes
    assert not np.allclose(other._residuals, free._residuals)
    # None is stable: weights that free runs have tested.
    monkeypatch.setattr(fitting, "stays_bounded", lambda *given: False)
    kept = RecurrentSCNRegressor(**TINY, feedback=True, random_state=0).fit(None, wave)
    np.testing.assert_array_equal(kept._residuals, free._residuals)
    assert not np.allclose(kept.reservoir_.output_weights, free.reservoir_.output_weights)


@pytest.mark.slow
def test_a_chaotic_series_is_predicted_one_step_ahead_whatever_the_seed():
    u, x = np.random.default_rng(0).normal(size=1200), np.full(1200, 0.4)
    for n in range(1, len(x)):
        x[n] = (0.93 + 0.03 * np.tanh(u[n - 1])) * np.sin(np.pi * x[n - 1])
    inputs, later = u[:, np.newaxis], slice(900, None)
    for seed in range(3):
        model = RecurrentSCNRegressor(max_nodes=40, feedback=True, max_candidates=200, random_state=seed)
        model.fit(inputs[:900], x[:900])
        said = np.sqrt(np.mean(model._residuals**2)) * model.reservoir_.outputs.scale[0]
        shown = np.sqrt(np.mean((model.predict(inputs[later], y=x[later], state="end") - x[later]) ** 2))
        # Most horizons of its free runs are beyond what can be predicted; the first steps must not suffer from them.
        assert shown < 0.005
        assert shown < 2 * said
