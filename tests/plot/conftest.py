import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from skscn import SCNEnsembleRegressor, SCNRegressor

matplotlib.use("agg")


@pytest.fixture(scope="session")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="session")
def network(diabetes):
    # Without a ridge, the network is not an average over numbers of nodes.
    settings = {"alpha": 0.0, "early_stopping": True, "n_iter_no_change": 5, "nodes_per_step": 1}
    return SCNRegressor(max_nodes=12, random_state=0, **settings).fit(*diabetes)


@pytest.fixture(scope="session")
def ensemble(diabetes):
    member = SCNRegressor(max_nodes=4, early_stopping=True, validation_fraction=0.2)
    return SCNEnsembleRegressor(member, n_members=3, random_state=0).fit(*diabetes)


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    figure = Figure()
    yield figure.subplots()
    # Drawing is part of the test: labels and colours are put together only then.
    figure.canvas.draw()
    assert np.isfinite(figure.get_tightbbox().bounds).all()
