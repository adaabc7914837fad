import numpy as np
import pytest

from skscn.plot import SeriesDisplay

START = np.datetime64("2025-01-01T00:00")


def series(n, seed=0):
    rng = np.random.default_rng(seed)
    times = START + 5 * np.arange(n).astype("timedelta64[m]")
    return times, np.cumsum(rng.normal(size=n))


def test_rows_are_sorted_by_time_and_drawn_one_by_one(ax):
    times, y = series(50)
    order = np.random.default_rng(1).permutation(50)
    display = SeriesDisplay.from_predictions(y[order], y[order] + 1.0, times=times[order], ax=ax)
    np.testing.assert_array_equal(display.times, times)
    np.testing.assert_array_equal(display.true_line_.get_ydata(), y)
    np.testing.assert_array_equal(display.predicted_line_.get_ydata(), y + 1.0)
    assert display.band_ is None
    assert display.envelope_ is None


def test_many_rows_become_means_within_their_range(ax):
    times, y = series(50_000)
    interval = y - 2.0, y + 2.0
    display = SeriesDisplay.from_predictions(y, y + 0.5, times=times, interval=interval, ax=ax)
    shown = display.true_line_.get_ydata()
    assert len(shown) == 400
    np.testing.assert_allclose(shown, y.reshape(400, 125).mean(axis=1))
    np.testing.assert_allclose(display.predicted_line_.get_ydata(), shown + 0.5)
    edges = display.envelope_.get_paths()[0].vertices[:, 1]
    assert (edges.min(), edges.max()) == (y.min(), y.max())
    band = display.band_.get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(shown.max() + 2.0)


def test_a_few_values_far_from_all_others_do_not_set_the_scale(ax):
    times, _ = series(1000)
    y = np.sin(np.arange(1000) / 50.0)
    assert SeriesDisplay.from_predictions(y, y, times=times, ax=ax).n_outside_ == 0
    ax.clear()
    y[[10, 500]] = -80.0, 300.0
    assert SeriesDisplay.from_predictions(y, np.zeros(1000), times=times, ax=ax).n_outside_ == 2
    assert ax.get_ylim() == pytest.approx((-1.1, 1.1), abs=0.01)


def test_a_line_does_not_cross_a_gap(ax):
    times, y = series(100)
    times[60:] += np.timedelta64(30, "D")
    display = SeriesDisplay.from_predictions(y, y, times=times, ax=ax)
    assert np.flatnonzero(np.isnan(display.true_line_.get_ydata())).tolist() == [60]


def test_rows_without_a_time_are_left_out(ax):
    times, y = series(30)
    times[3] = np.datetime64("NaT")
    assert len(SeriesDisplay.from_predictions(y, y, times=times, ax=ax).y_true) == 29


@pytest.mark.parametrize("n", [1, 2, 500])
def test_one_moment_only(ax, n):
    y = np.arange(float(n))
    display = SeriesDisplay.from_predictions(y, y, times=np.full(n, START), ax=ax)
    assert len(display.y_true) == n


def test_times_may_be_numbers(ax, diabetes, ensemble):
    X, y = diabetes
    display = SeriesDisplay.from_estimator(ensemble, X, y, times=np.arange(len(y)), coverage=0.9, ax=ax)
    assert display.band_ is not None
    np.testing.assert_array_equal(display.y_pred, ensemble.predict(X))


def test_what_does_not_fit_is_refused():
    times, y = series(10)
    with pytest.raises(ValueError, match="one output"):
        SeriesDisplay.from_predictions(np.column_stack([y, y]), y, times=times)
    with pytest.raises(ValueError, match="one time per row"):
        SeriesDisplay.from_predictions(y, y, times=times[:5])
    with pytest.raises(ValueError, match="No row has a time"):
        SeriesDisplay.from_predictions(y, y, times=np.full(10, np.datetime64("NaT", "s")))
