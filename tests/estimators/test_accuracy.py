"""The paper's first data set, DB 1, with the paper's search: mean training errors of ten networks."""

import numpy as np
import pytest

from skscn import SCNRegressor


def rmse_after(model, nodes):
    history = model.history_
    return history["train_rmse"][history["nodes"] <= nodes][-1]


@pytest.mark.parametrize(
    ("algorithm", "at_25", "at_50"), [("SC-I", 0.11, 0.105), ("SC-II", 0.060, 0.045), ("SC-III", 0.045, 0.012)]
)
def test_db1(db1, algorithm, at_25, at_50):
    models = [
        SCNRegressor(
            algorithm=algorithm, configuration="ladder", scopes=(100, 150, 200), max_nodes=50, random_state=seed
        ).fit(db1.data, db1.target)
        for seed in range(10)
    ]
    assert np.mean([rmse_after(model, 25) for model in models]) <= at_25
    assert np.mean([rmse_after(model, 50) for model in models]) <= at_50
    for model in models:
        span = np.ptp(db1.target)
        test = np.sqrt(np.mean((model.predict(db1.test_data) - db1.test_target) ** 2)) / span
        assert test < 1.5 * rmse_after(model, 50) + 0.005
