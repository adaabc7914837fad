import numpy as np
import pytest

from skscn import RecurrentSCNRegressor
from skscn.following import state_after
from skscn.plot import ConvergenceDisplay, ForecastDisplay, HorizonDisplay, ScopeDisplay

RNG = np.random.default_rng(0)
WAVE = np.sin(np.arange(500) / 5)


@pytest.fixture(scope="module")
def model():
    return RecurrentSCNRegressor(max_nodes=10, max_candidates=60, feedback=True, random_state=0).fit(None, WAVE[:300])


def test_a_forecast_follows_the_known_rows_and_its_intervals_widen(model, ax):
    times = np.datetime64("2025-01-01") + np.arange(80)
    display = ForecastDisplay.from_estimator(
        model, 50, y_before=WAVE[270:300], y_after=WAVE[300:350], times=times, coverages=(0.9, 0.5), ax=ax
    )
    np.testing.assert_array_equal(display.forecast, model.forecast(50))
    np.testing.assert_array_equal(display.forecast_line_.get_xdata(), times[30:])
    np.testing.assert_array_equal(display.true_line_.get_ydata(), WAVE[270:350])
    assert display.start_line_.get_xdata()[0] == times[29]
    wide, narrow = (np.ptp(band.get_paths()[0].vertices[:, 1]) for band in display.bands_)
    assert wide > narrow
    lower, upper = display.intervals[0.9]
    assert (np.diff(upper - lower) >= -1e-12).all()
    assert upper[-1] - lower[-1] > upper[0] - lower[0]


def test_rows_are_numbered_without_times(model, ax):
    display = ForecastDisplay.from_estimator(model, 5, y_before=WAVE[298:300], ax=ax)
    assert display.times.tolist() == [-1, 0, 1, 2, 3, 4, 5]
    assert np.isnan(display.y_true[2:]).all()


def test_a_forecast_may_start_elsewhere(model, ax):
    state = state_after(model, np.empty((50, 0)), WAVE[300:350], "end")
    display = ForecastDisplay.from_estimator(model, 30, state=state, ax=ax)
    np.testing.assert_allclose(display.forecast, WAVE[350:380], atol=0.1)


def test_what_does_not_fit_is_refused(model):
    with pytest.raises(ValueError, match="one value for each step"):
        ForecastDisplay.from_estimator(model, 5, y_after=WAVE[:4])
    with pytest.raises(ValueError, match="There are 5 rows, and times has the shape"):
        ForecastDisplay.from_estimator(model, 5, times=np.arange(4))
    with pytest.raises(ValueError, match="one output"):
        HorizonDisplay.from_estimator(model, None, np.ones((30, 2)))
    with pytest.raises(ValueError, match="30 rows are too few for steps=100"):
        HorizonDisplay.from_estimator(model, None, WAVE[300:330])


def test_errors_by_horizon_are_those_of_forecasts(model, ax):
    """Against forecasts one by one."""
    display = HorizonDisplay.from_estimator(model, None, WAVE[300:], steps=40, runs=3, state="end", ax=ax)
    runs = display.runs
    squares, last = [], []
    for start in (1, 80, 160):
        state = state_after(model, np.empty((start, 0)), WAVE[300 : 300 + start], "end")
        truth = WAVE[300 + start : 340 + start]
        squares.append((model.forecast(40, state=state) - truth) ** 2)
        last.append((WAVE[299 + start] - truth) ** 2)
    np.testing.assert_allclose(runs.rmse, np.sqrt(np.mean(squares, axis=0)), rtol=1e-6)
    np.testing.assert_allclose(runs.persistence_rmse, np.sqrt(np.mean(last, axis=0)))
    np.testing.assert_array_equal(display.line_.get_ydata(), runs.rmse)
    assert display.mean_line_.get_ydata()[0] == pytest.approx(runs.truths.std())
    assert runs.horizons.tolist() == [1, 2, 5, 10, 20, 40]


def test_unknown_targets_are_left_out(model, ax):
    y = WAVE[300:].copy()
    y[np.arange(200) % 10 != 0] = np.nan
    runs = HorizonDisplay.from_estimator(model, None, y, steps=40, runs=1, state="end", ax=ax).runs
    assert np.flatnonzero(np.isfinite(runs.rmse)).tolist() == [9, 19, 29, 39]
    assert runs.horizons.tolist() == [10, 20, 40]
    assert 0.0 <= runs.held <= 1.0


def test_intervals_that_are_not_known_are_not_counted(model, monkeypatch, ax):
    monkeypatch.setattr(model, "forecast_interval", lambda steps, *_, **__: (np.full(steps, np.nan),) * 2)
    assert np.isnan(HorizonDisplay.from_estimator(model, None, WAVE[300:], steps=40, state="end", ax=ax).runs.held)


def test_the_growth_of_a_recurrent_network(ax):
    u = RNG.normal(size=(300, 1))
    model = RecurrentSCNRegressor(max_nodes=12, max_candidates=30, nodes_per_step=4, random_state=0)
    model.fit(u, np.tanh(2 * np.roll(u[:, 0], 2)) + 0.1 * RNG.normal(size=300))
    display = ConvergenceDisplay.from_estimator(model, ax=ax)
    assert display.what == "networks compared"
    assert len(display.train_lines_) == len(display.validation_lines_) == len(set(model.history_["round"])) - 1
    ax.clear()
    scopes = ScopeDisplay.from_estimator(model, ax=ax)
    nodes = model.reservoir_.nodes
    np.testing.assert_array_equal(scopes.scopes, nodes.scopes[~nodes.products])


def test_a_network_that_needs_no_nodes(model, ax):
    """Two earlier values make the next one of a sine."""
    assert model.n_nodes_ == 0
    assert ConvergenceDisplay.from_estimator(model, ax=ax).validation_lines_ == []
    ax.clear()
    assert len(ScopeDisplay.from_estimator(model, ax=ax).scopes) == 0
