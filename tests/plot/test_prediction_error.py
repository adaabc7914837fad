import numpy as np
import pytest
from matplotlib.colors import to_rgb

from skscn.plot import PredictionErrorDisplay
from skscn.plot.style import ORANGE


def test_it_is_scikit_learns_display(diabetes, network, ax):
    X, y = diabetes
    display = PredictionErrorDisplay.from_estimator(network, X, y, subsample=None, ax=ax)
    assert set(map(tuple, display.scatter_.get_offsets())) == set(zip(network.predict(X), y, strict=True))
    assert display.interval_lines_ is None


def test_orange_intervals_are_those_that_miss(diabetes, ensemble, ax):
    X, y = diabetes
    display = PredictionErrorDisplay.from_estimator(ensemble, X, y, coverage=0.5, subsample=100, random_state=0, ax=ax)
    lower, upper = display.interval
    assert len(lower) == 100
    orange = (display.interval_lines_.get_colors()[:, :3] == to_rgb(ORANGE)).all(axis=1)
    np.testing.assert_array_equal(orange, (display.y_true < lower) | (display.y_true > upper))
    assert 0 < orange.sum() < 100


def test_intervals_of_residuals_are_around_zero(diabetes, ensemble, ax):
    X, y = diabetes
    display = PredictionErrorDisplay.from_estimator(
        ensemble, X, y, coverage=0.9, kind="residual_vs_predicted", subsample=0.1, ax=ax
    )
    ends = np.array(display.interval_lines_.get_segments())[:, :, 1]
    assert len(ends) == round(0.1 * len(y))
    # Where no target is negative, an interval may end at 0.
    assert (ends[:, 0] < 0.0).all()
    assert (ends[:, 1] > 0.0).all()
    cut = np.isclose(display.interval[0], 0.0)
    assert cut.sum() < len(cut) / 2
    np.testing.assert_allclose(ends[~cut, 0], -ends[~cut, 1])


def test_one_output_at_a_time(diabetes):
    _, y = diabetes
    with pytest.raises(ValueError, match="one output"):
        PredictionErrorDisplay.from_predictions(np.column_stack([y, y]), np.column_stack([y, y]))


def test_many_intervals_are_a_band_with_the_misses_as_points(diabetes, ensemble, ax):
    X, y = diabetes
    display = PredictionErrorDisplay.from_estimator(ensemble, X, y, coverage=0.8, subsample=None, ax=ax)
    assert display.interval_lines_ is None
    lower, upper = display.interval
    orange = (display.scatter_.get_facecolors()[:, :3] == to_rgb(ORANGE)).all(axis=1)
    np.testing.assert_array_equal(orange, (display.y_true < lower) | (display.y_true > upper))
    edges = display.interval_band_.get_paths()[0].vertices
    assert (edges[:, 0].min(), edges[:, 0].max()) == (display.y_pred.min(), display.y_pred.max())
    assert lower.min() <= edges[:, 1].min() < edges[:, 1].max() <= upper.max()
