"""Growth ends before the patience is exhausted if the network has become significantly worse on held-out rows."""

import numpy as np
import pytest

from skscn import SCNRegressor
from skscn.stopping import _standard_errors


def noisy_rows(n_rows=600):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n_rows, 4))
    return X, X[:, 0] + rng.normal(scale=1.0, size=n_rows)


def test_growth_ends_early_where_further_nodes_only_fit_noise():
    X, y = noisy_rows()
    grown = []
    for seed in range(5):
        model = SCNRegressor(n_iter_no_change=100, random_state=seed).fit(X, y)
        nodes = model.history_["nodes"]
        assert model.stop_reason_ == "early stopping"
        # After 0.3 of the patience at the earliest.
        assert nodes[-1] >= 30
        grown.append(nodes[-1] - nodes[np.argmin(model.history_["validation_rmse"])])
    assert min(grown) < 100


def test_the_mean_of_values_in_standard_errors():
    rng = np.random.default_rng(0)
    values = rng.normal(size=3000) + 0.1
    expected = values.mean() / (values.std() / np.sqrt(len(values)))
    assert _standard_errors(values, None) == pytest.approx(expected, rel=0.3)
    assert _standard_errors(values, np.full(3000, 2.0)) == pytest.approx(_standard_errors(values, None))
    assert _standard_errors(values[:20], None) == 0.0
    assert _standard_errors(np.zeros(3000), None) == 0.0


def test_rows_that_follow_each_other_do_not_count_as_many():
    walk = np.repeat(np.random.default_rng(0).normal(size=30), 100)
    alone = np.abs(walk.mean()) / (walk.std() / np.sqrt(len(walk)))
    assert np.abs(_standard_errors(walk, None)) < 0.2 * alone
