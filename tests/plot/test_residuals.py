import numpy as np
import pytest
from scipy.integrate import trapezoid
from sklearn.linear_model import LinearRegression

from skscn import SCNRegressor
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


@pytest.fixture(scope="module")
def with_outliers(diabetes):
    """A model that weighs rows, on rows of which the first 5 are outliers, the first one far away."""
    X, y = diabetes
    y = y.copy()
    y[:5] += [20000.0, 500.0, 500.0, -500.0, 500.0]
    return SCNRegressor(loss="welsch", max_nodes=6, random_state=0).fit(X, y), X, y


def test_outliers_are_marked_and_counted(with_outliers, ax):
    model, X, y = with_outliers
    display = ResidualDisplay.from_estimator(model, X, y, ax=ax)
    assert display.outliers.tolist() == np.flatnonzero(model.row_weights_ < 0.2).tolist()
    assert set(range(5)) <= set(display.outliers.tolist())
    assert len(display.outlier_marks_.get_xdata()) == len(display.outliers)
    (label,) = [text.get_text() for text in ax.get_legend().get_texts() if "outlier" in text.get_text()]
    assert label.startswith(f"{len(display.outliers)} outliers")
    assert "beyond the axis" in label


def test_a_far_outlier_does_not_hide_the_others(with_outliers, ax):
    model, X, y = with_outliers
    display = ResidualDisplay.from_estimator(model, X, y, ax=ax)
    low, high = ax.get_xlim()
    others = np.delete(display.residuals, display.outliers)
    assert low < others.min() < others.max() < high < 2000.0
    assert sum(bar.get_width() * bar.get_height() for bar in display.bars_) == pytest.approx(1.0)
    marks = display.outlier_marks_.get_xdata()
    assert ((low < marks) & (marks < high)).all()
    low, middle, high = display.quantiles
    np.testing.assert_array_equal([low, middle, high], np.quantile(y - model.predict(X), (0.05, 0.5, 0.95)))


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_outliers_that_are_all_on_one_side(sign, ax):
    residuals = np.r_[np.linspace(-1.0, 1.0, 50), sign * 1e4, sign * 2e4]
    display = ResidualDisplay(residuals=residuals, row_weights=np.r_[np.ones(50), 0.0, 0.0]).plot(ax)
    np.testing.assert_allclose(display.outlier_marks_.get_xdata(), sign * 2.0)
    assert np.abs(ax.get_xlim()).max() < 3.0


def test_other_models_have_no_marks(diabetes, network, ax):
    for model in (network, LinearRegression().fit(*diabetes)):
        display = ResidualDisplay.from_estimator(model, *diabetes, ax=ax)
        assert display.outlier_marks_ is None
        assert display.outliers.size == 0
        assert ax.get_legend() is None


@pytest.mark.parametrize("residuals", [np.linspace(0.0, 1.0, 20), np.zeros(20)])
def test_rows_that_are_all_outliers(residuals, ax):
    display = ResidualDisplay(residuals=residuals, row_weights=np.zeros(20)).plot(ax)
    assert len(display.outlier_marks_.get_xdata()) == 20


def test_there_is_a_weight_for_each_row():
    with pytest.raises(ValueError, match="There are 3 rows"):
        ResidualDisplay.from_predictions(np.ones(3), np.ones(3), row_weights=np.ones(2))
