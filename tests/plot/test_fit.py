import matplotlib
import numpy as np
import pytest

from skscn import SCNRegressor
from skscn.plot import FitDisplay

matplotlib.use("agg")


def test_the_display_holds_and_draws_target_and_prediction(db1):
    from matplotlib import pyplot as plt

    model = SCNRegressor(max_nodes=5, random_state=0).fit(db1.data, db1.target)
    display = FitDisplay.from_estimator(model, db1.data, db1.target, title="five nodes")
    assert (np.diff(display.x) >= 0).all()
    np.testing.assert_array_equal(display.lines_[1].get_ydata(), display.y_pred)
    assert display.ax_.get_title() == "five nodes"
    plt.close(display.ax_.figure)


def test_only_functions_of_one_input(db1):
    X = np.column_stack([np.arange(5.0), np.arange(5.0) ** 2])
    model = SCNRegressor(max_nodes=2, random_state=0).fit(X, np.arange(5.0))
    with pytest.raises(ValueError, match="one input"):
        FitDisplay.from_estimator(model, X, np.arange(5.0))
