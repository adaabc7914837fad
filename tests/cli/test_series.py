"""Rows in order of time: how ``fit`` finds out, what it does then, and whether what it says can be relied on."""

import csv
import datetime as dt
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from skscn import TableModel, load_model
from skscn.judging.held_out import HeldOutPart, HeldOutTests, far_residuals
from skscn.persistence import describe_model
from skscn.table_model.clock import check_series
from skscn.table_model.series import find_series, with_groups
from skscn.table_model.testing import split_series

QUICK = ["--estimator", "network", "--set", "max_nodes=4", "--jobs", "1"]
ENSEMBLE = ["--estimator", "ensemble", "--set", "n_members=2"]
START = dt.datetime(2024, 3, 1)


def write(path, rows, header=("when", "flow", "heat", "purity")):
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(header)
        table.writerows(rows)
    return path


def plant(n_rows=300):
    rng = np.random.default_rng(0)
    flow, heat = rng.normal(size=(2, n_rows)).round(4)
    purity = flow + np.tanh(heat) + 0.1 * rng.normal(size=n_rows)
    times = [START + dt.timedelta(minutes=30 * row) for row in range(n_rows)]
    return list(zip(times, flow, heat, purity.round(4), strict=True))


def fit(skscn, path, *options, target="purity"):
    """What fit says, as JSON and as notes."""
    done = skscn("fit", path, "-t", target, "-m", path.with_suffix(".scn"), "--json", *QUICK, *options)
    return json.loads(done.stdout), done.stderr


# ---- finding a series


def test_dates_that_rise_with_the_rows_make_them_a_series(skscn, tmp_path):
    path = write(tmp_path / "plant.csv", plant())
    said, notes = fit(skscn, path, *ENSEMBLE)
    assert said["tested"]["interval_90"] > 0.5
    assert said["time"] == "when"
    assert said["tested"]["ordered"]
    assert said["tested"]["r2"]["mean"] > 0.8
    assert "The rows are a time series ordered by when" in notes
    assert "not an input" in notes
    model = load_model(path.with_suffix(".scn"))
    assert model[-1].validation == "last"
    assert list(model[0].get_feature_names_out()) == ["when sine of day", "when cosine of day", "flow", "heat"]
    assert describe_model(path.with_suffix(".scn"))["notes"]["skscn"]["time"] == "when"


def test_shuffle_makes_dates_attributes_and_says_what_that_may_do(skscn, tmp_path):
    path = write(tmp_path / "plant.csv", plant())
    said, _ = fit(skscn, path, "--shuffle", "--cv", "2")
    assert said["time"] is None
    assert not said["tested"]["ordered"]
    assert "if rows that are close in time are similar, the error looks too small" in said["warnings"][0]
    assert "when" in load_model(path.with_suffix(".scn"))[0].get_feature_names_out()


def test_rows_that_are_not_in_order_are_sorted_by_the_named_column(skscn, tmp_path):
    rows = plant()
    order = np.random.default_rng(1).permutation(len(rows))
    in_order = write(tmp_path / "order.csv", rows)
    mixed = write(tmp_path / "mixed.csv", [rows[row] for row in order])
    backwards = write(tmp_path / "backwards.csv", rows[::-1])
    expected, _ = fit(skscn, in_order, "--cv", "2")
    assert fit(skscn, mixed, "--cv", "2")[0]["time"] is None
    for path, options, how in ((mixed, ["--time", "when"], "moved"), (backwards, [], "newest rows came first")):
        said, notes = fit(skscn, path, "--cv", "2", *options)
        assert "Sorted by when" in notes
        assert how in notes
        assert said["tested"] == expected["tested"]


def test_tables_with_dates_as_attributes_are_no_series(fitted):
    assert fitted["houses"]["time"] is None


def test_what_cannot_be_a_time_is_a_sentence(skscn, tmp_path):
    path = write(tmp_path / "plant.csv", plant(30))
    for options, code, sentence in (
        (["--time", "flow"], 1, "does not contain different dates"),
        (["--time", "purity"], 1, "cannot be the time of the rows if it is the target"),
        (["--time", "then"], 1, "then"),
        (["--time", "when", "--shuffle"], 2, "cannot be combined with --time"),
    ):
        done = skscn("fit", path, "-t", "purity", "-m", tmp_path / "m.scn", *options, code=code)
        assert sentence in done.stderr


def times(*steps):
    """A table with times at these minutes; None is missing."""
    values = [None if step is None else START + dt.timedelta(minutes=step) for step in steps]
    return pa.table({"flow": np.arange(float(len(steps))), "when": pa.array(values, pa.timestamp("us"))})


def found(table, time=None):
    return find_series(table, table.column_names, time)


def local_times(step, zone="Europe/Berlin"):
    """Local times without their zone, around the hour that comes twice."""
    return pd.date_range("2024-10-24", "2024-11-10", freq=step, tz=zone).tz_localize(None)


@pytest.mark.parametrize("step", ["5min", "15min", "1h"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
def test_an_hour_that_comes_twice_in_autumn_stays_in_order(step, zone):
    when = local_times(step, zone)
    table = pa.table({"flow": np.arange(float(len(when))), "when": pa.array(when)})
    for rows in (np.arange(len(when)), np.arange(len(when))[::-1]):
        series = found(table.take(rows))
        order = rows if series.order is None else rows[series.order]
        np.testing.assert_array_equal(order, np.arange(len(when)))
        (note,) = [note for note in series.notes if "set back" in note]
        assert ("2024-10-27" if "Berlin" in zone else "2024-11-03") in note
        check_series(TableModel("y", lags="auto"), series)


def test_a_single_day_of_local_times_is_a_series():
    when = local_times("15min")[288:380]
    assert np.any(np.diff(when) < pd.Timedelta(0))
    assert found(pa.table({"flow": np.arange(92.0), "when": pa.array(when)})).time == "when"


def test_series_of_several_machines_in_local_time():
    when = local_times("30min")
    both = pa.array(np.repeat(np.asarray(when), 2))
    labels = np.tile(["a", "b"], len(when))
    table = pa.table({"when": both})
    series = find_series(table, ["when"], "when", groups=labels)
    order = np.arange(len(labels)) if series.order is None else series.order
    for label in "ab":
        np.testing.assert_array_equal(order[labels[order] == label], np.flatnonzero(labels == label))
    check_series(TableModel("y", lags="auto"), with_groups(series, labels))


@pytest.mark.parametrize("day", ["2024-10-29", "2024-07-07"])
def test_times_that_repeat_on_other_days_are_refused(day):
    when = pd.date_range(f"{day} 00:00", periods=48, freq="1h").insert(3, pd.Timestamp(f"{day} 02:00"))
    series = found(pa.table({"flow": np.arange(49.0), "when": pa.array(when)}))
    with pytest.raises(ValueError, match="needs one row at a time"):
        check_series(TableModel("y", lags="auto"), series)


def test_months_are_dates():
    months = [f"{year}-{month:02}" for year in range(1949, 1961) for month in range(1, 13)]
    series = found(pa.table({"month": months}))
    assert (series.time, series.order) == ("month", None)
    days = np.array(months, dtype="datetime64[D]").astype(float)
    np.testing.assert_array_equal(series.moments, days)


def test_dates_in_either_order_are_read_as_asked():
    days = [f"{day:02}/{month:02}/2024" for month in range(1, 6) for day in range(1, 13)]
    table = pa.table({"when": days})
    assert find_series(table, ["when"], None).time is None
    series = find_series(table, ["when"], None, dates="day-first")
    assert (series.time, series.order) == ("when", None)
    assert find_series(table, ["when"], "when", dates="day-first").order is None


def test_a_clock_that_is_put_back_and_gaps_do_not_hide_a_series():
    steps = [*range(0, 3000, 10), *range(2940, 6000, 10)]
    steps[100] = steps[200] = None
    series = found(times(*steps))
    assert series.time == "when"
    ordered = [steps[row] for row in series.order if steps[row] is not None]
    assert ordered == sorted(ordered)
    assert series.order[100] == 100


def test_few_moments_or_many_gaps_are_no_series():
    assert found(times(*np.repeat([0, 1, 2], 30).tolist())).time is None
    assert found(times(*[step if step % 2 else None for step in range(100)])).time is None
    assert found(times(*range(100))).time == "when"


def test_rows_without_a_time_among_most_that_have_one_do_not_hide_a_series():
    series = found(times(*[step if step % 5 else None for step in range(100)]))
    assert series.time == "when"
    assert "when is missing in 20 rows" in series.notes[-1]


@pytest.mark.parametrize("format", ["%m/%d/%Y %I:%M %p", "%m/%d/%y %I:%M:%S %p", "%d-%b-%y %H:%M:%S.250"])
def test_a_series_by_dates_as_plants_write_them(format):
    when = [(START + dt.timedelta(hours=7 * row)).strftime(format) for row in range(100)]
    series = found(pa.table({"when": when}))
    assert (series.time, series.order) == ("when", None)


def test_of_several_columns_that_rise_the_one_with_most_moments_is_the_time():
    table = times(*range(100))
    days = pa.array([START + dt.timedelta(days=row // 8) for row in range(100)])
    assert found(table.add_column(0, "day", days)).time == "when"


def fit_from_disk(path, model):
    limit = 3 * path.stat().st_size
    TableModel("purity", parameters={"max_nodes": 3}, memory_limit=limit, verbose=True).fit(path).save(model)


def test_rows_on_disk_have_to_be_in_order(tmp_path, capsys):
    fit_from_disk(write(tmp_path / "plant.csv", plant()), tmp_path / "m.scn")
    assert "The rows are a time series ordered by when" in capsys.readouterr().err
    model = load_model(tmp_path / "m.scn")
    np.testing.assert_array_equal(model[-1].held_out_, np.arange(270, 300))
    backwards = write(tmp_path / "backwards.csv", plant()[::-1])
    with pytest.raises(ValueError, match="sort the file by when first"):
        fit_from_disk(backwards, tmp_path / "n.scn")


# ---- testing on later rows


def test_every_part_is_predicted_from_all_rows_before_it():
    folds = split_series(np.arange(600.0), "regression", 5, every_part=True)
    assert [(len(train), test[0], test[-1]) for train, test in folds.parts] == [
        (300, 300, 399),
        (400, 400, 499),
        (500, 500, 599),
    ]
    assert all(len(split_series(np.arange(99.0), "regression", parts, True).parts) >= 1 for parts in range(2, 12))
    assert len(split_series(np.arange(600.0), "regression", 5, every_part=False).parts) == 1
    assert split_series(np.arange(600.0), "regression", 0, every_part=True).parts == []


@pytest.mark.parametrize("options", [[], ["--cv", "20"], ["--cv", "20", "--shuffle"]])
def test_a_few_rows_are_tested_too(skscn, tmp_path, options):
    said, _ = fit(skscn, write(tmp_path / "plant.csv", plant(11)), *options)
    assert np.isfinite(said["tested"]["r2"]["std"])


def test_a_plant_that_stands_still_at_the_end_has_no_r2(skscn, tmp_path):
    rows = [(*row[:3], row[3] if number < 40 else 2.0) for number, row in enumerate(plant(100))]
    said, _ = fit(skscn, write(tmp_path / "plant.csv", rows))
    assert said["tested"]["r2"]["mean"] is None
    assert any("the target is the same in all test rows" in text for text in said["warnings"])


def test_classes_that_come_up_late_are_counted(skscn, tmp_path):
    states = ["yes" if row[1] > 0 else "no" for row in plant(90)] + ["stop"] * 10
    rows = [(*row[:3], state) for row, state in zip(plant(100), states, strict=True)]
    path = write(tmp_path / "plant.csv", rows, ("when", "flow", "heat", "state"))
    said, _ = fit(skscn, path, target="state")
    assert any("10 rows of the 48 tested have classes not seen in earlier rows" in text for text in said["warnings"])


def validated(errors, y=None, early_variance=1.0, within=None, ordered=True):
    """Tests with these errors in each part."""
    parts = []
    for place, part in enumerate(errors):
        targets = np.random.default_rng(place).normal(size=len(part)) if y is None else y[place]
        rmse = float(np.sqrt(np.mean(np.square(part))))
        scores = {"rmse": rmse, "mae": float(np.abs(part).mean()), "r2": 1 - rmse**2 / targets.var()}
        baseline = {"rmse": float(targets.std()), "mae": 0.8, "r2": 0.0}
        parts.append(HeldOutPart(targets, targets - part, np.arange(len(part)), scores, baseline, within))
    return HeldOutTests(parts, 5, "predicting the mean", ordered, early_variance)


def fading():
    """Tests of a model that knows nothing of a gain which falls, in targets that vary less and less."""
    rng = np.random.default_rng(0)
    signals, gains = rng.normal(size=(3, 400)), np.linspace(1.05, 0.75, 1200).reshape(3, 400)
    y = gains * signals + 0.2 * rng.normal(size=(3, 400)) * np.linspace(1.2, 0.8, 1200).reshape(3, 400)
    return validated(list(y - signals), list(y))


def noise(size, n_rows=400, seed=9):
    return size * np.random.default_rng(seed).normal(size=n_rows)


def test_what_is_not_tested_is_not_said_to_be(skscn, tmp_path):
    _, notes = fit(skscn, write(tmp_path / "plant.csv", plant()), "--cv", "0")
    assert "The rows are a time series ordered by when: early stopping" in notes


def test_a_target_that_stays_the_same_has_no_r2(skscn, tmp_path):
    rows = [(*row[:3], row[3] if place < 100 else 1.5) for place, row in enumerate(plant())]
    facts, notes = fit(skscn, write(tmp_path / "still.csv", rows))
    assert facts["tested"]["r2"]["mean"] is None
    assert facts["tested"]["rmse"]["mean"] > 0
    assert any("R² is not defined" in text for text in facts["warnings"])
    assert "RuntimeWarning" not in notes
    assert describe_model(facts["model"])["notes"]["skscn"]["tested"] == facts["tested"]


def test_good_tests_are_not_doubted():
    assert validated([noise(0.3, seed=seed) for seed in range(3)], within=0.9).cautions() == []


@pytest.mark.parametrize(
    ("tests", "sentence"),
    [
        (validated([noise(0.3, 70) + 0.6, noise(0.3, 70) - 0.6]), "too high or too low for long stretches"),
        (validated([noise(0.3) + 0.6, noise(0.3) - 0.6]), "targets exceed predictions by"),
        (validated([noise(0.2), noise(0.9), noise(0.3)]), "R² depends on the stretch of time"),
        (validated([noise(0.2), noise(0.25), noise(0.3)]), "the error rises with time"),
        (fading(), "where predictions differ by 1, targets differ by"),
        (validated([np.r_[noise(0.2, 390), noise(3.0, 10)]]), "R² depends on the stretch of time"),
        (validated([noise(0.4)], early_variance=0.2), "varies more in the second half"),
        (validated([noise(0.3)], within=0.6), "Intervals are too narrow: those for 90% contained 60%"),
        (validated([noise(0.3)], within=0.99), "Intervals are too wide for the test rows: those for 90% contained 99%"),
        (validated([noise(1.2)]), "no better than predicting the mean"),
    ],
)
def test_why_an_error_cannot_be_trusted_is_said(tests, sentence):
    assert any(sentence in str(caution) for caution in tests.cautions())


def test_r2_of_parts_in_order_is_that_of_all_their_rows():
    y = [np.linspace(0, 1, 50), np.linspace(1, 2, 50)]
    tests = validated([noise(0.3, 50, seed=1), noise(0.3, 50, seed=2)], y)
    from sklearn.metrics import r2_score

    predicted = np.concatenate([part.predicted for part in tests.parts])
    assert tests.value("r2") == pytest.approx(r2_score(np.concatenate(y), predicted))


# ---- outliers and useless models


def test_targets_far_outside_are_counted_and_named(skscn, tmp_path):
    rows = plant()
    for row in (17, 203, 250):
        rows[row] = (*rows[row][:3], rows[row][3] + 90)
    path = write(tmp_path / "plant.csv", rows)
    said, _ = fit(skscn, path, "--shuffle", "--cv", "2")
    (warning,) = [text for text in said["warnings"] if "residuals far outside" in text]
    assert "rows 18, 204, 251, not counting the header" in warning
    without_tests, _ = fit(skscn, path, "--shuffle", "--cv", "0", *ENSEMBLE)
    assert any("far outside the range of the others" in text for text in without_tests["warnings"])


def test_what_is_an_outlier():
    residuals = noise(1.0, 1000)
    assert far_residuals(residuals, np.arange(1000)) is None
    residuals[5] = 30.0
    alone = str(far_residuals(residuals, np.arange(1000)))
    assert "1 row has a residual far outside" in alone
    assert "row 5, not counting the header. Check it; if its target is wrong" in alone
    # Many are no outliers, and of a few rows nothing can be said.
    assert far_residuals(np.where(np.arange(1000) % 10, residuals, 50.0), np.arange(1000)) is None
    assert far_residuals(np.r_[noise(1.0, 20), 30.0], np.arange(21)) is None


@pytest.mark.parametrize("target", ["purity", "grade"])
@pytest.mark.parametrize("options", [["--shuffle"], []])
def test_a_model_that_is_no_better_than_guessing_is_said_to_be_so(skscn, tmp_path, target, options):
    rng = np.random.default_rng(3)
    grades = rng.permutation(["good"] * 240 + ["bad"] * 60)
    values = {"purity": rng.normal(size=300), "grade": grades}[target]
    rows = [(*row[:3], value) for row, value in zip(plant(), values, strict=True)]
    path = write(tmp_path / "plant.csv", rows, ("when", "flow", "heat", target))
    done = skscn("fit", path, "-t", target, "-m", tmp_path / "m.scn", "--cv", "3", *QUICK, *options)
    assert "Caution" in done.stdout
    guess = {"purity": "the mean", "grade": "the most frequent class"}[target]
    assert f"The model is no better than predicting {guess} on rows that it was not trained on" in done.stdout


# ---- plants


@pytest.mark.parametrize(("name", "seed"), [("tanks", 26), ("reactor", 7), ("furnace", 7), ("distillation", 7)])
def test_r2_is_that_of_the_rows_that_follow_or_is_doubted(skscn, plants, tmp_path, name, seed):
    columns = plants.PLANTS[name](2400, seed)
    first, later = (
        plants.write(tmp_path / f"{part}.csv", columns, rows)
        for part, rows in (("first", slice(0, 1600)), ("later", slice(1600, 2400)))
    )
    said, _ = fit(skscn, first, "--set", "max_nodes=30", target=plants.target_of(columns))
    found = json.loads(skscn("evaluate", first.with_suffix(".scn"), later, "--json").stdout)
    doubted = any("cannot be trusted" in text for text in said["warnings"])
    assert doubted or abs(said["tested"]["r2"]["mean"] - found["r2"]) < 0.15
    assert doubted == (name != "tanks")
