import numpy as np
import pytest
from scipy.integrate import trapezoid

from skscn.plot import ResidualDisplay


def test_residuals_are_true_minus_predicted(diabetes, network, ax):
    X, y = diabetes
    display = ResidualDisplay.from_estimator(network, X, y, ax=ax)
    np.testing.assert_array_equal(display.residuals, y - network.predict(X))
    low, _, high = display.quantiles
    assert np.mean((display.residuals >= low) & (display.residuals <= high)) == pytest.approx(0.9, abs=0.01)


def test_bars_and_curve_have_area_one(ax):
    residuals = np.random.default_rng(0).normal(3.0, 2.0, 5000)
    display = ResidualDisplay(residuals=residuals).plot(ax)
    assert sum(bar.get_width() * bar.get_height() for bar in display.bars_) == pytest.approx(1.0)
    assert trapezoid(display.curve_.get_ydata(), display.curve_.get_xdata()) == pytest.approx(1.0, abs=1e-3)


def test_an_outlier_does_not_take_all_bars(ax):
    display = ResidualDisplay(residuals=np.append(np.linspace(0.0, 1.0, 999), 1e9)).plot(ax)
    assert len(display.bars_) == 60


def test_residuals_that_are_all_the_same(ax):
    display = ResidualDisplay.from_predictions(np.ones(5), np.ones(5), ax=ax)
    assert display.curve_ is None
    np.testing.assert_array_equal(display.quantiles, 0.0)


def test_one_output_at_a_time():
    with pytest.raises(ValueError, match="one output"):
        ResidualDisplay.from_predictions(np.ones((3, 2)), np.ones((3, 2)))
