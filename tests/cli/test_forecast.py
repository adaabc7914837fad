"""``skscn forecast``: rows that follow the training rows, with times that go on."""

import csv
import datetime as dt
import json

import numpy as np
import pandas as pd
import pytest

from skscn import RecurrentSCNRegressor, SCNRegressor, TableModel, load_model, save_model
from skscn.table_model.clock import TrainingClock

QUICK = ["--estimator", "recurrent", "--feedback", "--set", "max_nodes=8", "--set", "max_candidates=40", "--cv", "0"]


def write(path, header, *columns):
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(header)
        table.writerows(zip(*columns, strict=True))
    return path


def times(n, **step):
    return [dt.datetime(2024, 3, 1) + n * dt.timedelta(**step) for n in range(n)]


WAVE = np.sin(np.arange(500) / 5).round(5)


@pytest.fixture(scope="module")
def waves(skscn, tmp_path_factory):
    """A model of a wave alone, sampled for less than a day."""
    folder = tmp_path_factory.mktemp("waves")
    write(folder / "wave.csv", ("t", "wave"), times(400, minutes=2), WAVE[:400])
    done = skscn("fit", folder / "wave.csv", "-t", "wave", "-m", folder / "wave.scn", "--time", "t", *QUICK)
    assert "no columns but the time" in done.stdout
    return folder


@pytest.fixture(scope="module")
def driven(skscn, tmp_path_factory):
    """A model with an input, and the rows that follow."""
    folder = tmp_path_factory.mktemp("driven")
    u = np.random.default_rng(0).normal(size=400).round(4)
    y = np.zeros(400)
    for n in range(1, 400):
        y[n] = 0.7 * y[n - 1] + u[n]
    stamps = times(400, hours=2)
    write(folder / "known.csv", ("t", "u", "y"), stamps[:300], u[:300], y[:300].round(4))
    write(folder / "future.csv", ("t", "u"), stamps[300:], u[300:])
    skscn("fit", folder / "known.csv", "-t", "y", "-m", folder / "model.scn", "--time", "t", *QUICK)
    return folder, y


def test_a_forecast_goes_on_from_the_end_of_training(waves, skscn):
    out = waves / "out.csv"
    done = skscn("forecast", waves / "wave.scn", "--steps", 100, "-o", out, "--interval", "0.9", "--json")
    table, said = pd.read_csv(out), json.loads(done.stdout)
    assert list(table) == ["t", "prediction", "lower", "upper"]
    np.testing.assert_allclose(table["prediction"], WAVE[400:], atol=0.1)
    model = load_model(waves / "wave.scn")[-1]
    np.testing.assert_allclose(table["prediction"], model.forecast(100), rtol=1e-9)
    lower, upper = model.forecast_interval(100)
    np.testing.assert_allclose(table[["lower", "upper"]], np.column_stack([lower, upper]), rtol=1e-9)
    assert (np.diff(table["upper"] - table["lower"]) >= -1e-12).all()
    assert table["t"].tolist() == [str(stamp) for stamp in times(500, minutes=2)[400:]]
    assert (said["steps"], said["first"], said["last"]) == (100, table["t"].iloc[0], table["t"].iloc[-1])
    assert said["notes"] == [
        "t goes on from the end of training (2024-03-01 13:18:00) in steps of 2 minutes, as in training."
    ]


def test_standard_output(waves, skscn):
    lines = skscn("forecast", waves / "wave.scn", "-n", "3").stdout.splitlines()
    assert lines[0] == "t,prediction"
    assert len(lines) == 4


def test_inputs_are_read_from_a_table(driven, skscn):
    folder, y = driven
    out, future = folder / "out.csv", folder / "future.csv"
    skscn("forecast", folder / "model.scn", "--inputs", future, "-o", out)
    table = pd.read_csv(out)
    assert len(table) == 100
    assert table["t"].tolist() == pd.read_csv(future)["t"].tolist()
    assert np.corrcoef(table["prediction"], y[300:])[0, 1] > 0.95
    skscn("forecast", folder / "model.scn", "--inputs", future, "--steps", "7", "-o", folder / "some.csv")
    np.testing.assert_allclose(pd.read_csv(folder / "some.csv")["prediction"], table["prediction"][:7], rtol=1e-9)


def test_the_place_in_the_day_is_known_ahead(skscn, tmp_path):
    hours = np.arange(300)
    load = (3 * np.sin(2 * np.pi * hours / 24) + np.cos(2 * np.pi * hours / 12)).round(4)
    path = write(tmp_path / "load.csv", ("hour", "load"), times(300, hours=1), load)
    skscn("fit", path, "-t", "load", "-m", tmp_path / "m.scn", "--time", "hour", *QUICK)
    assert load_model(tmp_path / "m.scn")[-1].n_features_in_ == 2
    skscn("forecast", tmp_path / "m.scn", "--steps", "48", "-o", tmp_path / "out.csv")
    table = pd.read_csv(tmp_path / "out.csv")
    ahead = np.arange(300, 348)
    truth = 3 * np.sin(2 * np.pi * ahead / 24) + np.cos(2 * np.pi * ahead / 12)
    np.testing.assert_allclose(table["prediction"], truth, atol=0.3)


# ---- times


def test_months_are_calendar_months():
    first = np.arange("2020-01", "2022-01", dtype="datetime64[M]")
    from skscn.table_model.clock import clock_of
    from skscn.table_model.series import Series

    moments = first.astype("datetime64[us]").astype(np.int64) / 86400e6
    options = TableModel("y", estimator="recurrent")
    clock = TrainingClock.read(clock_of(options, Series("month", moments=moments)))
    assert [str(time)[:10] for time in clock.ahead(3)] == ["2022-01-01", "2022-02-01", "2022-03-01"]
    assert clock.pace == "in steps of 1 month, as in training"


def test_irregular_steps_are_said():
    clock = TrainingClock.read({"last_day": 19000.0, "step_days": 0.25, "months": None, "irregular": 12})
    assert clock.pace == "in steps of 6 hours, the median in training, where 12 steps differed from it"
    assert np.isnat(TrainingClock.read(None).last)


# ---- what is refused, in one sentence


def refused(skscn, *arguments):
    done = skscn("forecast", *arguments, code=1)
    assert done.stderr.count("Error: ") == 1
    return done.stderr


@pytest.mark.parametrize("steps", ["0", "-3", "1.5"])
def test_steps_that_are_no_number_of_rows(waves, skscn, steps):
    done = skscn("forecast", waves / "wave.scn", f"--steps={steps}", code=2)
    assert "--steps" in done.stderr


def test_wrong_use(waves, skscn):
    done = skscn("forecast", waves / "wave.scn", "--steps", "3", "--interval", "90", code=2)
    assert "must lie between 0 and 1" in done.stderr
    assert "needs --out" in skscn("forecast", waves / "wave.scn", "--steps", "3", "--json", code=2).stderr
    assert "Say how many rows to forecast" in refused(skscn, waves / "wave.scn")


@pytest.mark.parametrize(
    "model",
    [
        RecurrentSCNRegressor(max_nodes=3, max_candidates=20, random_state=0),
        SCNRegressor(max_nodes=2, random_state=0),
    ],
)
def test_models_that_cannot_forecast(skscn, tmp_path, model):
    rng = np.random.default_rng(0)
    save_model(model.fit(rng.normal(size=(120, 1)), rng.normal(size=120)), tmp_path / "m.scn")
    said = refused(skscn, tmp_path / "m.scn", "-n", "5")
    assert "cannot run ahead of them; to forecast, fit a model with --estimator recurrent and --feedback" in said


def test_intervals_that_are_not_known(waves, skscn, monkeypatch):
    """As of models whose targets are known in few rows."""

    def unknown(self, steps, *_, **__):
        return np.full(steps, np.nan), np.full(steps, np.nan)

    monkeypatch.setattr(RecurrentSCNRegressor, "forecast_interval", unknown)
    assert "leave them out" in refused(skscn, waves / "wave.scn", "-n", "3", "--interval", "0.9")


def test_future_inputs_that_are_missing_or_do_not_follow(driven, skscn):
    folder, _ = driven
    model, future = folder / "model.scn", pd.read_csv(folder / "future.csv")
    assert "needs the values of 'u' in the rows that follow" in refused(skscn, model, "--steps", "5")
    said = refused(skscn, model, "--inputs", folder / "future.csv", "--steps", "200")
    assert "future.csv has 100 rows of inputs, and --steps 200 asks for more; add rows to it" in said
    future[5:].to_csv(folder / "late.csv", index=False)
    said = refused(skscn, model, "--inputs", folder / "late.csv")
    assert "The first row of late.csv does not follow the end of training (2024-03-25 22:00:00)" in said
    future.drop(columns="u").to_csv(folder / "bare.csv", index=False)
    assert "lacks the column 'u'" in refused(skscn, model, "--inputs", folder / "bare.csv")
    future.drop(columns="t").to_csv(folder / "timeless.csv", index=False)
    assert "lacks the column 't'" in refused(skscn, model, "--inputs", folder / "timeless.csv")
    future.iloc[[0, 2, 1]].to_csv(folder / "unordered.csv", index=False)
    assert "'t' falls in row 3; a forecast needs rows in order" in refused(
        skscn, model, "--inputs", folder / "unordered.csv"
    )


def test_a_model_from_python_numbers_its_rows(skscn, tmp_path):
    model = RecurrentSCNRegressor(max_nodes=8, max_candidates=40, feedback=True, random_state=0).fit(None, WAVE[:300])
    save_model(model, tmp_path / "m.scn")
    skscn("forecast", tmp_path / "m.scn", "--steps", "4", "-o", tmp_path / "out.csv")
    table = pd.read_csv(tmp_path / "out.csv")
    assert table["row"].tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(table["prediction"], model.forecast(4), rtol=1e-9)


# ---- local times and time zones


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_forecasts_are_in_the_zone_of_training(skscn, tmp_path, ending):
    when = pd.date_range("2024-11-05", periods=300, freq="15min", tz="Europe/Berlin")
    path, model = tmp_path / f"wave.{ending}", tmp_path / "m.scn"
    if ending == "csv":
        write(path, ("t", "wave"), [stamp.isoformat() for stamp in when], WAVE[:300])
    else:
        pd.DataFrame({"t": when, "wave": WAVE[:300]}).to_parquet(path)
    skscn("fit", path, "-t", "wave", "-m", model, *QUICK)
    done = skscn("forecast", model, "--steps", 2)
    found = [line.split(",")[0] for line in done.stdout.splitlines()[1:]]
    assert found == [str(when[-1] + step * when.freq) for step in (1, 2)]
    assert f"end of training ({when[-1]})" in done.stderr


def test_rows_go_on_while_clocks_are_set_back(skscn, tmp_path):
    when = pd.date_range("2024-10-24", periods=400, freq="15min", tz="Europe/Berlin").tz_localize(None)
    turn = int(np.flatnonzero(np.diff(when) < pd.Timedelta(0))[0]) + 1
    model, later = tmp_path / "m.scn", tmp_path / "later.csv"
    for end in (turn - 10, turn):
        write(tmp_path / "a.csv", ("t", "wave"), when[:end], WAVE[:end])
        write(later, ("t", "wave"), when[end:], WAVE[end:400])
        skscn("fit", tmp_path / "a.csv", "-t", "wave", "-m", model, "--time", "t", *QUICK)
        done = skscn("predict", model, later)
        assert len(done.stdout.splitlines()) == 401 - end
        assert "do not follow" not in done.stderr


def test_clocks_of_unknown_zones_are_written_in_utc():
    clock = TrainingClock.read({"last_day": 0.0, "step_days": 1.0, "zone": "../nowhere"})
    assert clock.written(clock.last) == "1970-01-01 00:00:00+00:00"
