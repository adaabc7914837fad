"""``skscn fit --lags``: models that use earlier rows, tested on later ones, and continued from the end of training."""

import csv
import datetime as dt
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skscn import SCNRegressor, load_model, save_model
from skscn.series import Lags
from skscn.tables import TableEncoder

START = dt.datetime(2024, 3, 1)
QUICK = ["--estimator", "network", "--set", "max_nodes=15", "--jobs", "1"]


def simulated(n_rows=1200, seed=0):
    """The target answers 7 rows after the flow and 12 rows after the heat, whose valve has a name."""
    rng = np.random.default_rng(seed)
    flow, heat = rng.normal(size=(2, n_rows + 12)).round(4)
    open_ = rng.random(n_rows + 12) < 0.5
    purity = np.tanh(flow[5:-7]) - heat[:-12] + 0.5 * open_[9:-3] + 0.1 * rng.normal(size=n_rows)
    times = [START + dt.timedelta(minutes=5 * row) for row in range(n_rows)]
    valve = np.where(open_, "open", "shut")[12:]
    return list(zip(times, flow[12:], heat[12:], valve, purity.round(4), strict=True))


HEADER = ("when", "flow", "heat", "valve", "purity")


def write(path, rows, header=HEADER):
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(header)
        table.writerows(rows)
    return path


@pytest.fixture(scope="module")
def fitted(skscn, tmp_path_factory):
    """A folder with 900 rows that a model with lags was fitted on, the 300 rows that follow, and what fit said."""
    folder = tmp_path_factory.mktemp("lags")
    rows = simulated()
    write(folder / "known.csv", rows[:900])
    write(folder / "later.csv", rows[900:])
    write(folder / "all.csv", rows)
    done = skscn(
        *("fit", folder / "known.csv", "-t", "purity", "-m", folder / "model.scn", "--time", "when"),
        *("--lags", "auto", "--json", *QUICK),
    )
    return folder, json.loads(done.stdout), done.stderr


def read(path):
    return pd.read_csv(path)["prediction"].to_numpy()


# ---- what comes of it


def test_lags_are_found_and_tested_on_later_rows(fitted, skscn):
    folder, said, notes = fitted
    assert {"flow 7 rows ago", "heat 12 rows ago"} <= set(said["lags"])
    assert any(name.startswith("valve = ") and name.endswith("3 rows ago") for name in said["lags"])
    assert "Lags: " in notes
    assert said["tested"]["ordered"]
    found = json.loads(skscn("evaluate", folder / "model.scn", folder / "later.csv", "--json").stdout)
    assert found["r2"] > 0.9
    assert said["tested"]["r2"]["mean"] == pytest.approx(found["r2"], abs=0.05)
    assert found["notes"] == [] or "Slightly outside" in found["notes"][0]


def test_a_model_without_lags_explains_nothing(fitted, skscn):
    folder, said, _ = fitted
    done = skscn(
        "fit", folder / "known.csv", "-t", "purity", "-m", folder / "without.scn", "--time", "when", "--json", *QUICK
    )
    without = json.loads(done.stdout)
    assert without["lags"] is None
    assert said["tested"]["r2"]["mean"] - without["tested"]["r2"]["mean"] > 0.3


def test_predictions_continue_from_the_end_of_training(fitted, skscn):
    """They are those of the pipeline in the file, and those that the rows of training would give as earlier rows."""
    folder, _, _ = fitted
    skscn("predict", folder / "model.scn", folder / "later.csv", "-o", folder / "later_out.csv")
    done = skscn("predict", folder / "model.scn", folder / "all.csv", "-o", folder / "all_out.csv")
    assert "do not follow the end of training" in done.stderr
    np.testing.assert_allclose(read(folder / "later_out.csv"), read(folder / "all_out.csv")[900:], rtol=1e-9)
    model = load_model(folder / "model.scn")
    np.testing.assert_allclose(read(folder / "later_out.csv"), model.predict(pd.read_csv(folder / "later.csv")))


def test_batches_change_nothing(fitted, skscn, monkeypatch):
    folder, _, _ = fitted
    skscn("predict", folder / "model.scn", folder / "later.csv", "-o", folder / "whole.csv")
    monkeypatch.setattr("skscn.table_model.arriving.ENCODED_AT_A_TIME", 100)
    skscn("predict", folder / "model.scn", folder / "later.csv", "-o", folder / "batches.csv")
    np.testing.assert_allclose(read(folder / "whole.csv"), read(folder / "batches.csv"), rtol=1e-12)


def test_rows_after_a_gap_begin_anew_and_it_is_said(fitted, skscn):
    folder, _, _ = fitted
    late = write(folder / "late.csv", simulated()[1000:])
    done = skscn("predict", folder / "model.scn", late, "-o", folder / "late_out.csv")
    assert "Rows are missing between the end of training (2024-03-04 02:55:00) and the first row" in done.stderr
    skscn("predict", folder / "model.scn", folder / "later.csv", "-o", folder / "later_out.csv")
    depth = load_model(folder / "model.scn")[1].depth_
    np.testing.assert_allclose(
        read(folder / "late_out.csv")[depth:], read(folder / "later_out.csv")[100 + depth :], rtol=1e-9
    )


def test_the_other_commands(fitted, skscn):
    folder, _, _ = fitted
    facts = json.loads(skscn("inspect", folder / "model.scn", "--json").stdout)
    assert "flow 7 rows ago" in facts["lags"]
    assert "Lags" in skscn("inspect", folder / "model.scn").stdout
    assert "The graph is one step" in skscn("export", folder / "model.scn", folder / "model.onnx").stderr
    skscn("export", folder / "model.scn", folder / "model.c")
    assert "void model_step(model_state *state" in (folder / "model.c").read_text(encoding="utf-8")
    page = folder / "report.html"
    skscn("report", folder / "model.scn", folder / "later.csv", "-o", page)
    text = page.read_text(encoding="utf-8")
    assert "flow 7 rows ago" in text
    assert "over time" in text.lower()


def test_outliers_of_a_series(skscn, tmp_path):
    rows = [list(row) for row in simulated(600)]
    rows[500][4] = 50.0
    path = write(tmp_path / "plant.csv", rows)
    common = ["--time", "when", "--lags", "3,7,12", "--loss", "welsch", "--cv", "0", *QUICK]
    skscn("fit", path, "-t", "purity", "-m", tmp_path / "model.scn", *common)
    found = json.loads(skscn("outliers", tmp_path / "model.scn", path, "--json").stdout)
    assert 501 in [row["row"] for row in found["listed"]]


def test_sparse_targets_and_a_delay(skscn, tmp_path):
    """A target that wanders, measured every fifth row and known ten rows later: only earlier targets explain it."""
    rng = np.random.default_rng(3)
    drift = np.cumsum(rng.normal(size=2000)) / 20
    flow = rng.normal(size=2000)
    times = [START + dt.timedelta(minutes=row) for row in range(2000)]
    lab = [f"{value:.4f}" if row % 5 == 0 else "" for row, value in enumerate(drift + 0.3 * flow)]
    rows = list(zip(times, flow.round(4), lab, strict=True))
    header = ("when", "flow", "lab")
    known, later = (
        write(tmp_path / f"{name}.csv", part, header) for name, part in (("known", rows[:1500]), ("later", rows[1500:]))
    )
    model = tmp_path / "model.scn"
    common = ["-t", "lab", "-m", model, "--time", "when", "--lags", "auto", "--json", *QUICK]
    said = json.loads(skscn("fit", known, *common, "--delay", "10").stdout)
    assert any(name.startswith("lab ") for name in said["lags"])
    assert min(int(name.split()[1]) for name in said["lags"] if name.startswith("lab ")) >= 10
    found = json.loads(skscn("evaluate", model, later, "--json").stdout)
    assert found["rows"] == 100
    assert any(
        "Earlier values of 'lab' are read from later.csv; each is used from 10 rows later" in n for n in found["notes"]
    )
    without = write(tmp_path / "without.csv", [row[:2] for row in rows[1500:]], header[:2])
    done = skscn("predict", model, without, "-o", tmp_path / "out.csv")
    assert "does not contain 'lab': its earlier values are those known at the end of training" in done.stderr
    skscn("predict", model, later, "-o", tmp_path / "informed.csv")
    informed, blind = read(tmp_path / "informed.csv"), read(tmp_path / "out.csv")
    np.testing.assert_allclose(informed[:10], blind[:10], rtol=1e-9)
    truth = (drift + 0.3 * flow)[1500:]
    assert np.mean((informed - truth) ** 2) < np.mean((blind - truth) ** 2)


def test_a_class_can_depend_on_earlier_rows(skscn, tmp_path):
    rows = [(*row[:4], "high" if row[4] > 0.2 else "low") for row in simulated(900)]
    known, later = (write(tmp_path / f"{place}.csv", part) for place, part in enumerate((rows[:600], rows[600:])))
    model = tmp_path / "model.scn"
    said = json.loads(
        skscn("fit", known, "-t", "purity", "-m", model, "--time", "when", "--lags", "auto", "--json", *QUICK).stdout
    )
    assert {"flow 7 rows ago", "heat 12 rows ago"} <= set(said["lags"])
    assert json.loads(skscn("evaluate", model, later, "--json").stdout)["accuracy"] > 0.85
    done = skscn("fit", known, "-t", "purity", "-m", model, "--lags", "9", "--delay", "3", *QUICK, code=1)
    assert "delay is for numbers" in done.stderr


def test_models_from_python(skscn, fitted, tmp_path):
    folder, _, _ = fitted
    known, later = (pd.read_csv(folder / f"{name}.csv") for name in ("known", "later"))
    names = ["flow", "heat"]
    model = make_pipeline(Lags([7, 12]), SCNRegressor(max_nodes=5, random_state=0))
    model.fit(known[names], known["purity"])
    save_model(model, tmp_path / "model.scn")
    skscn("predict", tmp_path / "model.scn", folder / "later.csv", "-o", tmp_path / "out.csv")
    np.testing.assert_allclose(read(tmp_path / "out.csv"), model.predict(later[names]), rtol=1e-9)
    nameless = make_pipeline(Lags([7]), SCNRegressor(max_nodes=5, random_state=0))
    nameless.fit(known[names].to_numpy(), known["purity"])
    save_model(nameless, tmp_path / "nameless.scn")
    done = skscn("predict", tmp_path / "nameless.scn", folder / "later.csv", code=1)
    assert "needs 2 columns but does not say which" in done.stderr
    tabular = make_pipeline(TableEncoder(), StandardScaler(), Lags([7]), SCNRegressor(max_nodes=5, random_state=0))
    tabular.fit(known[names], known["purity"])
    save_model(tabular, tmp_path / "tabular.scn")
    done = skscn("predict", tmp_path / "tabular.scn", folder / "later.csv", code=1)
    assert "with Lags after another step" in done.stderr


# ---- gaps


def test_gaps_are_noted_and_many_of_them_are_a_caution(skscn, tmp_path):
    rows = simulated(600)
    few = [row for place, row in enumerate(rows) if place not in (200, 300)]
    common = ["-t", "purity", "-m", tmp_path / "model.scn", "--lags", "7,12", "--cv", "0", "--json", *QUICK]
    done = skscn("fit", write(tmp_path / "few.csv", few), *common)
    assert "the usual time between rows is 5 minutes, but 2 steps are longer" in done.stderr
    assert json.loads(done.stdout)["warnings"] == []
    many = [row for place, row in enumerate(rows) if place % 10]
    done = skscn("fit", write(tmp_path / "many.csv", many), *common)
    assert "59 steps are longer" in json.loads(done.stdout)["warnings"][0]


# ---- what is refused, in one sentence


def refused(skscn, path, *options):
    done = skscn("fit", path, "-t", "purity", "-m", path.with_suffix(".scn"), *QUICK, *options, code=1)
    assert done.stderr.count("Error: ") == 1
    return done.stderr


def test_times_that_repeat_fall_or_are_missing(skscn, tmp_path, fitted):
    rows = simulated(200)
    twice = write(tmp_path / "twice.csv", [*rows, *rows[5:7]])
    said = refused(skscn, twice, "--time", "when", "--lags", "auto")
    assert "'when' repeats: 2 rows have the time of another row, the first at 2024-03-01 00:25:00" in said
    missing = write(
        tmp_path / "missing.csv", [("", *row[1:]) if place == 50 else row for place, row in enumerate(rows)]
    )
    assert "'when' is missing in 1 row, so it is not known" in refused(skscn, missing, "--time", "when", "--lags", "1")
    # A table that falls is sorted, and it is said.
    falling = write(tmp_path / "falling.csv", rows[::-1])
    rising = write(tmp_path / "rising.csv", rows)
    common = ["-t", "purity", "--time", "when", "--lags", "7,12", "--cv", "0", *QUICK]
    done = skscn("fit", falling, "-m", tmp_path / "falling.scn", *common)
    assert "Sorted by when: the newest rows came first" in done.stderr
    skscn("fit", rising, "-m", tmp_path / "rising.scn", *common)
    later = fitted[0] / "later.csv"
    for name in ("falling", "rising"):
        skscn("predict", tmp_path / f"{name}.scn", later, "-o", tmp_path / f"{name}_out.csv")
    np.testing.assert_array_equal(read(tmp_path / "falling_out.csv"), read(tmp_path / "rising_out.csv"))
    model = fitted[0] / "model.scn"
    for path, how in ((falling, "falls in row 2"), (missing, "is missing in row 51")):
        assert f"'when' {how}; a model with lags needs rows" in skscn("predict", model, path, code=1).stderr
    again = write(tmp_path / "again.csv", [*rows[:20], rows[19]])
    assert "'when' repeats in row 21;" in skscn("predict", model, again, code=1).stderr
    timeless = write(tmp_path / "timeless.csv", [row[1:] for row in rows], HEADER[1:])
    assert "lacks the column 'when', the time of the rows" in skscn("predict", model, timeless, code=1).stderr


def test_lags_that_are_impossible(skscn, tmp_path):
    path = write(tmp_path / "plant.csv", simulated(200))
    for text in ("0", "-1,2", "1;2", "1.5", "", "some", "100001"):
        done = skscn("fit", path, "-t", "purity", "-m", tmp_path / "model.scn", f"--lags={text}", code=2)
        assert "must be auto, or numbers of rows" in " ".join(done.stderr.replace("│", " ").split())
    assert "with lags of up to 60 rows needs at least 240 rows" in refused(skscn, path, "--lags", "3,60")
    assert "needs at least 240 rows" in refused(skscn, path, "--lags", "3", "--delay", "60")
    short = write(tmp_path / "short.csv", simulated(60))
    assert "A model with lags needs at least 100 rows with a target; there are 60" in refused(
        skscn, short, "--lags", "auto"
    )
    done = skscn("fit", path, "-t", "purity", "-m", tmp_path / "m.scn", "--set", "max_lag=3", code=2)
    assert "max_lag is a parameter of lags; add --lags auto" in done.stderr
    assert "A model with lags needs the order of the rows" in refused(skscn, path, "--drop", "when", "--lags", "auto")
    assert "too large" in refused(
        skscn, write(tmp_path / "large.csv", simulated(60_000)), "--memory-limit", "1", "--lags", "1"
    )
    for options, sentence in (
        (["--shuffle", "--lags", "1"], "cannot be combined with lags"),
        (["--delay", "2"], "delay needs lags"),
    ):
        done = skscn("fit", path, "-t", "purity", "-m", tmp_path / "model.scn", *options, code=2)
        assert sentence in done.stderr


# ---- plants


@pytest.mark.parametrize("name", ["rectification", "neutralisation"])
def test_lags_of_a_plant_are_worth_at_least_a_third_of_its_variance(skscn, plants, tmp_path, name):
    columns = plants.PLANTS[name](1800, 0)
    known, later = (
        plants.write(tmp_path / f"{part}.csv", columns, rows)
        for part, rows in (("known", slice(0, 1200)), ("later", slice(1200, 1800)))
    )
    found = {}
    for lags in ([], ["--lags", "auto"]):
        common = ["-t", plants.target_of(columns), "-m", tmp_path / "model.scn", "--time", "Timestamp", "--json"]
        said = json.loads(skscn("fit", known, *common, *QUICK, *lags).stdout)
        result = json.loads(skscn("evaluate", tmp_path / "model.scn", later, "--json").stdout)
        found[bool(lags)] = result["r2"]
        assert said["tested"]["r2"]["mean"] == pytest.approx(result["r2"], abs=0.15) or said["warnings"]
    assert found[True] > found[False] + 0.3
    assert found[True] > 0.8
