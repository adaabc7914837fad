"""Reports about recurrent networks: rows in order of time, forecasts and their errors by horizon."""

import re

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error

from skscn import RecurrentSCNRegressor

RNG = np.random.default_rng(0)
U = RNG.normal(size=(420, 2))
Y = np.zeros(420)
for n in range(3, 420):
    Y[n] = 0.7 * Y[n - 1] + U[n - 3, 0]
TIMES = np.datetime64("2025-01-01T00:00") + np.arange(420) * np.timedelta64(10, "m")


@pytest.fixture(scope="module")
def network():
    return RecurrentSCNRegressor(max_nodes=5, max_candidates=30, random_state=0).fit(U[:300], Y[:300])


@pytest.fixture(scope="module")
def told():
    return RecurrentSCNRegressor(max_nodes=5, max_candidates=30, feedback=True, random_state=0).fit(U[:300], Y[:300])


def test_rows_go_on_from_the_end_of_training(report, network):
    y = Y.copy()
    y[301::3] = np.nan
    page = report(network, U[300:], y[300:], times=TIMES[300:], state="end", feature_names=["lime", "level"])
    known = ~np.isnan(y[300:])
    error = mean_absolute_error(y[300:][known], network.predict(U[300:], state="end")[known])
    assert f"On 80 rows, predictions of the target are off by {error:#.3g} on average" in page.text
    assert re.search("The most important inputs? (is|are) lime", page.text)
    assert "moved along time" in page.text
    assert "True and predicted values over time" in page.text
    assert "delay line" in page.text.lower()
    assert "Forecasts" not in page.text
    assert "skscn export model.scn model.onnx" in page.text


def test_a_model_with_feedback_shows_a_fan_and_errors_by_horizon(report, told):
    page = report(told, U[300:], Y[300:], times=TIMES[300:], state="end", model_path="m.scn")
    assert "Predictions are one step ahead" in page.text
    assert "A forecast from within these rows" in page.text
    assert "Error by horizon" in page.text
    assert "persistence" in page.text
    assert "The 50 % interval widens from" in page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert "skscn forecast m.scn --inputs future.csv" in page.text


def test_no_inputs_but_the_past(report):
    wave = np.sin(np.arange(400) / 5)
    model = RecurrentSCNRegressor(max_nodes=8, max_candidates=40, feedback=True, random_state=0).fit(None, wave[:300])
    page = report(model, np.empty((100, 0)), wave[300:], state="end", target_name="wave")
    assert "The model has no inputs but the past of wave." in page.text
    assert "Up to 33 rows ahead, forecasts have a smaller error than the last known value." in page.text
