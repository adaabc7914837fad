"""``skscn fit --estimator recurrent``: a memory of earlier rows, tested on later ones, and continued from their end."""

import csv
import datetime as dt
import json
import re
import signal

import numpy as np
import pandas as pd
import pytest

from skscn import RecurrentSCNRegressor, load_model, save_model
from skscn.persistence import describe_model
from skscn.table_model.rows import TableRows, WholeSeries, training_course, unlike_tests
from skscn.words import short

START = dt.datetime(2024, 3, 1)
QUICK = ["--set", "max_nodes=5", "--set", "max_candidates=20", "--cv", "2"]
HEADER = ("when", "flow", "heat", "purity")


def simulated(n_rows=400, seed=0, every=1):
    """The target answers some rows after the flow, and slowly; it is measured in some rows."""
    rng = np.random.default_rng(seed)
    flow, heat = rng.normal(size=(2, n_rows)).round(4)
    purity = np.zeros(n_rows)
    for n in range(4, n_rows):
        purity[n] = 0.6 * purity[n - 1] + flow[n - 4] - 0.5 * heat[n - 2]
    purity = (purity + 0.1 * rng.normal(size=n_rows)).round(4)
    times = [START + dt.timedelta(minutes=5 * row) for row in range(n_rows)]
    known = [value if row % every == 0 else "" for row, value in enumerate(purity)]
    return list(zip(times, flow, heat, known, strict=True))


def write(path, rows, header=HEADER):
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(header)
        table.writerows(rows)
    return path


def recurrent(*more):
    return ["-t", "purity", "--time", "when", "--estimator", "recurrent", *QUICK, *more]


def fit_in(folder, skscn, rows, n_known, *more):
    """Write known and later rows, fit on the former; what fit said."""
    write(folder / "known.csv", rows[:n_known])
    write(folder / "later.csv", rows[n_known:])
    write(folder / "all.csv", rows)
    done = skscn("fit", folder / "known.csv", "-m", folder / "model.scn", *recurrent("--json", *more))
    return folder, json.loads(done.stdout), done.stderr


@pytest.fixture(scope="module")
def fitted(skscn, tmp_path_factory):
    return fit_in(tmp_path_factory.mktemp("recurrent"), skscn, simulated(), 300)


@pytest.fixture(scope="module")
def told(skscn, tmp_path_factory):
    """A model with feedback, which is told earlier targets."""
    return fit_in(tmp_path_factory.mktemp("feedback"), skscn, simulated(), 300, "--feedback")


def predictions(skscn, folder, name, *options):
    skscn("predict", folder / "model.scn", folder / f"{name}.csv", "-o", folder / "out.csv", *options)
    return pd.read_csv(folder / "out.csv")


# ---- what comes of it


def test_what_fit_says_is_confirmed_by_the_rows_that_follow(fitted, skscn):
    folder, said, notes = fitted
    assert said["estimator"] == "RecurrentSCNRegressor"
    assert said["loss"] == "squared"
    assert said["tested"]["ordered"]
    assert said["tested"]["r2"]["mean"] > 0.8
    assert 0.7 < said["tested"]["interval_90"] <= 1.0
    assert "Trained in " in notes
    assert "--folds 0 skips it" in notes
    found = json.loads(skscn("evaluate", folder / "model.scn", folder / "later.csv", "--json").stdout)
    assert found["r2"] > said["tested"]["r2"]["mean"] - 0.05
    assert found["test_confirmed"]
    assert found["share_trained_on"] == 0.0
    again = json.loads(skscn("evaluate", folder / "model.scn", folder / "known.csv", "--json").stdout)
    assert again["share_trained_on"] == 1.0


def test_a_model_of_single_rows_explains_little(fitted, skscn):
    folder, said, _ = fitted
    single = ["-t", "purity", "--time", "when", "--estimator", "network", "--set", "max_nodes=5", "--json"]
    done = skscn("fit", folder / "known.csv", "-m", folder / "single.scn", *single)
    assert said["tested"]["r2"]["mean"] > 0.3 + json.loads(done.stdout)["tested"]["r2"]["mean"]


def test_predictions_go_on_from_the_end_of_training(fitted, skscn):
    """They are those of the model itself, and those that the rows of training would lead to."""
    folder, _, _ = fitted
    later = predictions(skscn, folder, "later", "--interval", "0.9")
    model = load_model(folder / "model.scn")
    X = model[:-1].transform(pd.read_csv(folder / "later.csv"))
    np.testing.assert_allclose(later["prediction"], model[-1].predict(X, state="end"), rtol=1e-9)
    lower, upper = model[-1].predict_interval(X, state="end")
    np.testing.assert_allclose(later[["lower", "upper"]], np.column_stack([lower, upper]), rtol=1e-9)
    whole = predictions(skscn, folder, "all")
    np.testing.assert_allclose(later["prediction"], whole["prediction"][300:], rtol=1e-7)


@pytest.mark.parametrize("which", ["fitted", "told"])
def test_batches_change_nothing(which, request, skscn, monkeypatch):
    folder, _, _ = request.getfixturevalue(which)
    whole = predictions(skscn, folder, "later", "--interval", "0.9")
    monkeypatch.setattr("skscn.table_model.arriving.ENCODED_AT_A_TIME", 300)
    np.testing.assert_allclose(predictions(skscn, folder, "later", "--interval", "0.9"), whole, rtol=1e-9)


def test_rows_that_do_not_follow_start_cold_and_it_is_said(fitted, skscn):
    folder, _, _ = fitted
    rows = simulated()
    late = write(folder / "late.csv", rows[350:])
    done = skscn("predict", folder / "model.scn", late, "-o", folder / "out.csv")
    assert "Rows are missing between the end of training (2024-03-02 00:55:00) and the first row" in done.stderr
    assert "starts from a cold state" in done.stderr
    model = load_model(folder / "model.scn")
    X = model[:-1].transform(pd.read_csv(late))
    np.testing.assert_allclose(pd.read_csv(folder / "out.csv")["prediction"], model[-1].predict(X), rtol=1e-9)
    done = skscn("predict", folder / "model.scn", folder / "known.csv", "-o", folder / "out.csv")
    assert "The rows do not follow the end of training, so the network starts from a cold state" in done.stderr


def test_rows_without_a_target_drive_the_state(skscn, tmp_path):
    folder, said, notes = fit_in(tmp_path, skscn, simulated(1200, every=5), 900)
    assert said["rows"] == 180
    assert "Used as earlier rows only: 720 rows without a value of purity" in notes
    found = json.loads(skscn("evaluate", folder / "model.scn", folder / "later.csv", "--json").stdout)
    assert found["rows"] == 60
    assert found["r2"] > 0.8


def test_feedback_is_compared_with_the_last_known_value(told, skscn):
    folder, said, _ = told
    tested = said["tested"]
    assert tested["rmse"]["mean"] < tested["persistence"]["rmse"]
    assert [horizon["rows"] for horizon in tested["forecast"]["horizons"]] == [1, 2, 5, 10, 20, 50]
    assert 0.5 < tested["forecast"]["interval_90"] <= 1.0
    found = json.loads(skscn("evaluate", folder / "model.scn", folder / "later.csv", "--json").stdout)
    assert found["rmse"] < found["persistence"]["rmse"]
    assert "Values of 'purity' are read from later.csv; each is an input of the next row." in found["notes"]
    text = skscn("evaluate", folder / "model.scn", folder / "later.csv").stdout
    assert "of predicting the last known value" in text


def test_without_targets_a_model_with_feedback_runs_freely(told, skscn):
    folder, _, _ = told
    rows = [row[:3] for row in simulated()[300:]]
    write(folder / "inputs.csv", rows, HEADER[:3])
    done = skscn("predict", folder / "model.scn", folder / "inputs.csv", "-o", folder / "free.csv")
    assert "inputs.csv does not contain 'purity': predictions come back in its place (a free run)" in done.stderr
    skscn("forecast", folder / "model.scn", "--inputs", folder / "inputs.csv", "-o", folder / "forecast.csv")
    free, forecast = (pd.read_csv(folder / f"{name}.csv")["prediction"] for name in ("free", "forecast"))
    np.testing.assert_allclose(free, forecast, rtol=1e-6)
    done = skscn("predict", folder / "model.scn", folder / "inputs.csv", "--interval", "0.9", code=1)
    assert "a forecast gives such intervals" in done.stderr


def test_inspect_and_report(fitted, told, skscn):
    for folder, feedback in ((fitted[0], False), (told[0], True)):
        text = skscn("inspect", folder / "model.scn").stdout
        assert ("with feedback" in text) == feedback
        assert "Echo state" in text
    skscn("report", folder / "model.scn", folder / "later.csv", "-o", folder / "report.html")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "True and predicted values over time" in page
    assert "Error by horizon" in page
    assert "The model was not trained on these rows." in page
    assert "skscn forecast" in page


def test_models_from_python(skscn, fitted, tmp_path):
    folder, _, _ = fitted
    known, later = (pd.read_csv(folder / f"{name}.csv") for name in ("known", "later"))
    model = RecurrentSCNRegressor(max_nodes=5, max_candidates=20, random_state=0)
    model.fit(known[["flow", "heat"]], known["purity"])
    save_model(model, tmp_path / "model.scn")
    done = skscn("predict", tmp_path / "model.scn", folder / "later.csv", "-o", tmp_path / "out.csv")
    assert "The rows of later.csv are taken to follow the training rows" in done.stderr
    expected = model.predict(later[["flow", "heat"]], state="end")
    np.testing.assert_allclose(pd.read_csv(tmp_path / "out.csv")["prediction"], expected, rtol=1e-9)


def test_models_that_the_program_cannot_follow(skscn, fitted, tmp_path):
    folder, _, _ = fitted
    model = load_model(folder / "model.scn")[-1]
    save_model(model.stream(), tmp_path / "stream.scn")
    done = skscn("predict", tmp_path / "stream.scn", folder / "later.csv", code=1)
    assert "stream.scn contains a stream, which takes one row at a time" in done.stderr
    known = pd.read_csv(folder / "known.csv")
    model = RecurrentSCNRegressor(max_nodes=2, max_candidates=20, random_state=0)
    model.fit(known[["flow", "heat"]], known["purity"], groups=["a", "b", "c"] * 100)
    save_model(model, tmp_path / "groups.scn")
    done = skscn("predict", tmp_path / "groups.scn", folder / "later.csv", code=1)
    assert "fitted on 3 sequences, which no column tells apart" in done.stderr


def test_ctrl_c_keeps_what_has_grown(skscn, fitted, tmp_path, monkeypatch):
    """The first interrupt comes with the first step; the model file that is there stays."""
    folder, _, _ = fitted
    from skscn.cli.growth import Growth

    step = Growth.step

    def interrupted(self, *arguments):
        if not self.interrupted:
            signal.raise_signal(signal.SIGINT)
        return step(self, *arguments)

    monkeypatch.setattr(Growth, "step", interrupted)
    model = tmp_path / "model.scn"
    model.write_bytes((folder / "model.scn").read_bytes())
    common = ["-t", "purity", "--time", "when", "--estimator", "recurrent", "--set", "max_candidates=20"]
    done = skscn("fit", folder / "known.csv", "-m", model, *common, code=130)
    assert "model.partial.scn contains what had been trained" in done.stderr
    assert describe_model(tmp_path / "model.partial.scn")["notes"]["skscn"]["interrupted"]
    skscn("predict", tmp_path / "model.partial.scn", folder / "later.csv", "-o", tmp_path / "out.csv")


def test_a_model_that_is_unlike_those_tested_is_a_caution(fitted):
    folder, said, _ = fitted
    assert not any("larger error on its own training rows" in warning for warning in said["warnings"])
    model = load_model(folder / "model.scn")
    table = pd.read_csv(folder / "known.csv")
    X, y = model[:-1].transform(table), table["purity"].to_numpy()
    whole = WholeSeries(table, ["purity"], y[:, np.newaxis])
    rows = TableRows(table, y, None, np.arange(300) + 1, whole, np.arange(300))
    error = float(np.sqrt(np.mean((y - model[-1].predict(X))[75:] ** 2)))
    training = training_course(model[-1], X, rows)
    assert unlike_tests(training, error) is None
    assert f"(RMSE {short(error)})" in str(unlike_tests(training, error / 2))


# ---- what is refused, in one sentence


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--lags", "auto"], "remembers earlier rows by itself"),
        (["--loss", "huber"], "minimises the squared error"),
        (["--weight", "flow"], "does not support weights"),
        (["--shuffle"], "cannot be combined with --time"),
    ],
)
def test_options_that_do_not_go_together(fitted, skscn, options, sentence):
    folder, _, _ = fitted
    done = skscn("fit", folder / "known.csv", "-m", folder / "new.scn", *recurrent(*options), code=2)
    assert sentence in " ".join(done.stderr.replace("│", " ").split())


def refused(skscn, path, *options):
    done = skscn("fit", path, "-m", path.with_suffix(".scn"), *options, code=1)
    assert done.stderr.count("Error: ") == 1
    return done.stderr


def misused(skscn, path, *options):
    done = skscn("fit", path, "-m", path.with_suffix(".scn"), *options, code=2)
    return re.sub(r"[\s│]+", " ", done.stderr)


def test_other_models_have_no_feedback(fitted, skscn):
    folder, _, _ = fitted
    done = skscn("fit", folder / "known.csv", "-t", "purity", "-m", folder / "new.scn", "--feedback", code=2)
    assert "needs --estimator recurrent" in done.stderr
    said = misused(skscn, folder / "known.csv", "-t", "purity", "--set", "washout=10")
    assert "washout is a parameter of recurrent networks; add --estimator recurrent" in said
    said = misused(skscn, folder / "known.csv", *recurrent("--set", "n_members=3"))
    assert "n_members is not a parameter of recurrent networks, which have " in said
    assert "max_candidates, max_nodes, " in said
    done = skscn("fit", folder / "known.csv", "-m", folder / "n.scn", *recurrent("--set", "feedback=True"), code=2)
    assert "use --feedback" in done.stderr


def test_tables_that_recurrent_networks_cannot_have(fitted, skscn, tmp_path, monkeypatch):
    folder, _, _ = fitted
    rows = simulated(200)
    classes = write(tmp_path / "classes.csv", [(*row[:3], "high" if row[3] > 0 else "low") for row in rows])
    assert "has classes; use --lags auto instead" in refused(skscn, classes, *recurrent())
    timeless = write(tmp_path / "timeless.csv", [row[1:] for row in rows], HEADER[1:])
    said = refused(skscn, timeless, "-t", "purity", "--estimator", "recurrent")
    assert "A recurrent network needs the order of the rows; name the column with their times" in said
    with monkeypatch.context() as patch:
        patch.setattr("skscn.table_model.fitting._SHARE_OF_TABLE", 1e-9)
        said = refused(skscn, folder / "known.csv", *recurrent())
    assert "for a recurrent network, which is grown in memory; raise --memory-limit" in said
    few = write(tmp_path / "few.csv", rows[:50])
    assert "needs at least 100 rows with a target; there are 50" in refused(skscn, few, *recurrent())
    alone = write(tmp_path / "alone.csv", [(row[0], row[3]) for row in rows], ("when", "purity"))
    assert "Add --feedback to predict the target from its own past" in refused(skscn, alone, *recurrent())


def test_times_that_repeat_fall_or_are_missing(fitted, skscn, tmp_path):
    folder, _, _ = fitted
    rows = simulated(200)
    twice = write(tmp_path / "twice.csv", [*rows, *rows[5:7]])
    assert "'when' repeats: 2 rows have the time of another row" in refused(skscn, twice, *recurrent())
    missing = write(tmp_path / "missing.csv", [("", *row[1:]) if n == 50 else row for n, row in enumerate(rows)])
    assert "a recurrent network needs a time in every row" in refused(skscn, missing, *recurrent())
    later = simulated()[300:]
    for how, bad in (("falls", [later[1], later[0]]), ("repeats", [later[0], later[0]])):
        path = write(tmp_path / "bad.csv", bad)
        done = skscn("predict", folder / "model.scn", path, code=1)
        assert f"'when' {how} in row 2; a recurrent network needs rows in order of time" in done.stderr
    path = write(tmp_path / "without.csv", [row[1:] for row in later], HEADER[1:])
    done = skscn("predict", folder / "model.scn", path, code=1)
    assert "lacks the column 'when', the time of the rows, which a recurrent network needs" in done.stderr


def test_missing_inputs_are_filled_and_it_is_said(skscn, tmp_path):
    rows = [(row[0], "" if n % 50 == 0 else row[1], *row[2:]) for n, row in enumerate(simulated(300))]
    done = skscn("fit", write(tmp_path / "p.csv", rows), "-m", tmp_path / "m.scn", *recurrent())
    assert "Missing values replaced by the median and marked in an extra column: flow (6)" in done.stderr


def test_gaps_in_later_rows_are_noted_and_harmless(skscn, tmp_path):
    """Ten days of hourly rows: the hour of the day is no input, as its jump after a gap would do harm."""
    rows = [(START + dt.timedelta(hours=n), *row[1:]) for n, row in enumerate(simulated(400))]
    folder, _, _ = fit_in(tmp_path, skscn, rows, 300)
    assert list(load_model(folder / "model.scn")[0].get_feature_names_out()) == ["flow", "heat"]
    write(folder / "later.csv", [*rows[300:340], *rows[345:]])
    done = skscn("evaluate", folder / "model.scn", folder / "later.csv", "--json")
    found = json.loads(done.stdout)
    assert found["r2"] > 0.8
    assert any(note.startswith("Rows are missing before row 41 (2024-03-15 09:00:00)") for note in found["notes"])
    with_cycles = recurrent("--set", "cycles=true", "--cv", "0")
    skscn("fit", folder / "known.csv", "-m", folder / "cycles.scn", *with_cycles)
    assert "when sine of day" in load_model(folder / "cycles.scn")[0].get_feature_names_out()


def test_gaps_are_noted(skscn, tmp_path):
    rows = [row for place, row in enumerate(simulated(300)) if place != 100]
    done = skscn("fit", write(tmp_path / "gap.csv", rows), "-m", tmp_path / "m.scn", *recurrent("--cv", "0"))
    said = " ".join(done.stderr.split())
    assert "A recurrent network counts rows, and rows are missing: the usual time between rows is 5 minutes" in said
    assert "like all others; to prevent this, add the missing rows with only their time." in said
