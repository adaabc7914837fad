import numpy as np
import pytest

from skscn import SCNEnsembleRegressor, SCNRegressor
from skscn.plot import FitDisplay
from skscn.scaling import SCALINGS


@pytest.fixture(scope="module")
def model(db1):
    return SCNRegressor(max_nodes=5, random_state=0).fit(db1.data, db1.target)


def test_the_display_holds_and_draws_target_and_prediction(db1, model, ax):
    display = FitDisplay.from_estimator(model, db1.data, db1.target, ax=ax, title="five nodes")
    assert (np.diff(display.x) >= 0).all()
    np.testing.assert_array_equal(display.lines_[1].get_ydata(), display.y_pred)
    assert ax.get_title() == "five nodes"


@pytest.mark.parametrize("scaling", SCALINGS)
def test_half_of_a_sigmoid_is_below_its_node(db1, scaling, ax):
    model = SCNRegressor(max_nodes=5, scaling=scaling, random_state=0).fit(db1.data, db1.target)
    display = FitDisplay.from_estimator(model, db1.data, db1.target, ax=ax)
    inside = (display.nodes > db1.data.min()) & (display.nodes < db1.data.max())
    assert inside.sum() >= 3
    values = model.transform(display.nodes[inside][:, np.newaxis])[:, inside].diagonal()
    np.testing.assert_allclose(values, 0.5, atol=1e-9)
    np.testing.assert_array_equal(display.lines_[2].get_xdata(), display.nodes[inside])


def test_the_nodes_of_all_members(db1, ax):
    member = SCNRegressor(max_nodes=3, early_stopping=False)
    ensemble = SCNEnsembleRegressor(member, n_members=2, random_state=0).fit(db1.data, db1.target)
    assert len(FitDisplay.from_estimator(ensemble, db1.data, db1.target, ax=ax).nodes) == 6


def test_nodes_can_be_left_out(db1, model, ax):
    assert len(FitDisplay.from_estimator(model, db1.data, db1.target, ax=ax, show_nodes=False).lines_) == 2


def test_only_functions_of_one_input():
    X = np.column_stack([np.arange(5.0), np.arange(5.0) ** 2])
    model = SCNRegressor(max_nodes=2, random_state=0).fit(X, np.arange(5.0))
    with pytest.raises(ValueError, match="one input"):
        FitDisplay.from_estimator(model, X, np.arange(5.0))
