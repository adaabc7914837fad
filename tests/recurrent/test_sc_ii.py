"""Fits whose output weights are those of SC-II."""

import numpy as np
import pytest

from skscn import RecurrentSCNRegressor, load_model, save_model

pytestmark = pytest.mark.usefixtures("few_pilots")
RNG = np.random.default_rng(6)
X = RNG.uniform(-1, 1, (500, 2))
Y = np.convolve(np.tanh(2 * X[:, 0]), 0.7 ** np.arange(30))[:500] + X[:, 1] * np.roll(X[:, 0], 2)
SC_II = {
    "algorithm": "SC-II",
    "window": 3,
    "max_nodes": 10,
    "max_candidates": 40,
    "nodes_per_step": 2,
    "random_state": 0,
}


@pytest.mark.parametrize("feedback", [False, True])
def test_output_weights_are_those_of_the_windows(feedback, tmp_path):
    model = RecurrentSCNRegressor(**SC_II, feedback=feedback).fit(X[:300], Y[:300])
    model.partial_fit(X[300:], Y[300:])
    reservoir = model.reservoir_
    linear = int((reservoir.kept <= reservoir.nodes.width).sum())
    expected = reservoir.factor.windowed(linear, 3)
    assert np.array_equal(reservoir.output_weights[reservoir.kept], expected)
    assert np.square(model.predict(X, y=Y) - Y)[100:].mean() < 0.5 * Y.var()
    save_model(model, tmp_path / "model.scn")
    assert np.array_equal(load_model(tmp_path / "model.scn").predict(X, y=Y), model.predict(X, y=Y))
