"""``skscn fit --group``: several series in one table, each with its own earlier rows, or rows that belong together."""

import csv
import datetime as dt
import json

import numpy as np
import pandas as pd
import pytest

from skscn import load_model

START = dt.datetime(2024, 3, 1)
HEADER = ("when", "machine", "flow", "purity")
QUICK = ["--set", "max_nodes=4", "--set", "max_candidates=10", "--cv", "2"]


def simulated(n_rows=220):
    """Rows of three machines, mixed, in order of time; the last one began later."""
    rng, rows = np.random.default_rng(3), []
    for machine, first in ((1, 0), (2, 0), (30, 40)):
        flow, purity = rng.normal(size=n_rows).round(4), np.zeros(n_rows)
        for n in range(3, n_rows):
            purity[n] = 0.6 * purity[n - 1] + flow[n - 3] + machine / 10
        times = [START + dt.timedelta(hours=n) for n in range(n_rows)]
        rows += list(zip(times, [machine] * n_rows, flow, purity.round(4), strict=True))[first:]
    return sorted(rows, key=lambda row: row[0])


ROWS = simulated()
CUT = START + dt.timedelta(hours=160)
KNOWN, LATER = [row for row in ROWS if row[0] < CUT], [row for row in ROWS if row[0] >= CUT]


def write(path, rows, header=HEADER):
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(header)
        table.writerows([row[: len(header)] for row in rows])
    return path


@pytest.fixture(scope="module")
def fitted(skscn, tmp_path_factory):
    """A recurrent model without and one with feedback, one with lags, and what fit said of them."""
    folder, said = tmp_path_factory.mktemp("groups"), {}
    write(folder / "known.csv", KNOWN)
    write(folder / "later.csv", LATER)
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr("skscn.recurrent.fitting.LENGTHS", (0, 4))
    about = ["-t", "purity", "--time", "when", "--group", "machine", "--json"]
    recurrent = ["--estimator", "recurrent", *QUICK]
    kinds = {
        "model": recurrent,
        "told": [*recurrent, "--feedback", "--set", "cycles=false"],
        "lags": [
            "--lags",
            "1,3",
            "--delay",
            "2",
            "--estimator",
            "network",
            "--set",
            "max_nodes=4",
            "--set",
            "cycles=false",
        ],
    }
    for name, more in kinds.items():
        done = skscn("fit", folder / "known.csv", "-m", folder / f"{name}.scn", *about, *more)
        said[name] = json.loads(done.stdout)
    monkeypatch.undo()
    return folder, said


def in_python(folder, name, rows):
    """The predictions of the same model for the same rows, in Python."""
    *before, model = (step for _, step in load_model(folder / f"{name}.scn").steps)
    groups = np.array([str(row[1]) for row in rows])
    inputs, targets = np.array([[row[2]] for row in rows]), np.array([row[3] for row in rows])
    if len(before) == 2:
        table = before[0].transform(pd.DataFrame([row[:3] for row in rows], columns=HEADER[:3]))
        return model.predict(before[1].transform(table, groups=groups, targets=targets))
    return model.predict(inputs, groups, y=targets if name == "told" else None, state="end")


@pytest.mark.parametrize("name", ["model", "told", "lags"])
def test_every_series_goes_on_from_its_own_end(name, skscn, fitted, monkeypatch):
    folder, said = fitted
    assert said[name]["columns"] == ["flow"]
    expected = in_python(folder, name, LATER)
    interval = [] if name == "lags" else ["--interval", "0.9"]
    # All rows at once, and a few at a time.
    for numbers in (2**22, 2**7):
        monkeypatch.setattr("skscn.table_model.arriving.ENCODED_AT_A_TIME", numbers)
        skscn("predict", folder / f"{name}.scn", folder / "later.csv", "-o", folder / "out.csv", *interval)
        out = pd.read_csv(folder / "out.csv")
        np.testing.assert_allclose(out["prediction"], expected, atol=1e-10)
        assert name == "lags" or (out["lower"] < out["prediction"]).all()
    # The rows of one machine alone are predicted in the same way, whether its label is read as a number or as text.
    chosen = np.array([row[1] == 2 for row in LATER])
    write(folder / "two.csv", [(row[0], "2.0", *row[2:]) for row in LATER if row[1] == 2])
    skscn("predict", folder / f"{name}.scn", folder / "two.csv", "-o", folder / "out.csv")
    np.testing.assert_allclose(pd.read_csv(folder / "out.csv")["prediction"], expected[chosen], atol=1e-10)
    done = json.loads(skscn("evaluate", folder / f"{name}.scn", folder / "later.csv", "--json").stdout)
    error = np.array([row[3] for row in LATER]) - expected
    assert np.isclose(done["rmse"], np.sqrt(np.mean(error**2)))


def test_every_series_is_forecast(skscn, fitted):
    folder, _ = fitted
    write(folder / "ahead.csv", LATER, HEADER[:3])
    skscn("forecast", folder / "told.scn", "--inputs", folder / "ahead.csv", "-n", 4, "-o", folder / "out.csv")
    out, model = pd.read_csv(folder / "out.csv", dtype={"machine": str}), load_model(folder / "told.scn")[-1]
    assert out.groupby("machine").size().to_dict() == {"1": 4, "2": 4, "30": 4}
    for machine, part in out.groupby("machine"):
        inputs = np.array([[row[2]] for row in LATER if str(row[1]) == machine])[:4]
        np.testing.assert_allclose(part["prediction"], model.forecast(4, inputs, group=machine))
        assert part["when"].iloc[0] == str(CUT)


def test_what_cannot_be_followed_is_refused(skscn, fitted, tmp_path):
    folder, _ = fitted
    strange = write(tmp_path / "strange.csv", [(row[0], 7, *row[2:]) for row in LATER[:9]])
    nameless = write(tmp_path / "nameless.csv", [(row[0], *row[2:]) for row in LATER], ("when", "flow", "purity"))
    known, both = folder / "known.csv", ["-t", "purity", "--time", "when", "-m", tmp_path / "new.scn"]
    gaps = write(
        tmp_path / "gaps.csv", [(row[0], "" if place == 4 else row[1], *row[2:]) for place, row in enumerate(KNOWN)]
    )
    cases = [
        (
            ["predict", folder / "model.scn", strange, "-o", tmp_path / "out.csv"],
            "'machine' has the value '7', which was",
        ),
        (["predict", folder / "model.scn", nameless, "-o", tmp_path / "out.csv"], "lacks the column 'machine'"),
        (["report", folder / "model.scn", folder / "later.csv", "-o", tmp_path / "out.html"], "--series LABEL"),
        (
            ["report", folder / "model.scn", folder / "later.csv", "--series", "7"],
            "There is no series '7' in model.scn; it has '1', '2', '30'",
        ),
        (["fit", known, *both, "--estimator", "recurrent"], "tells them apart: --group COLUMN"),
        (["fit", gaps, *both, "--estimator", "recurrent", "--group", "machine"], "'machine' is missing in 1 row"),
        (["fit", known, *both, "--lags", "auto"], "tells them apart: --group COLUMN"),
        (["fit", known, *both, "--group", "machine"], "whole groups are held out"),
        (["fit", known, *both, "--estimator", "recurrent", "--group", "purity"], "is the target"),
    ]
    for arguments, message in cases:
        done = skscn(*arguments, code=1)
        assert message in " ".join(done.stderr.replace("│", "").split()), arguments


def test_an_updated_model_goes_on_from_the_new_end_of_every_series(skscn, fitted, tmp_path):
    """A day of rows is learnt; rows that follow it are then predicted as if they had been in one file."""
    folder, _ = fitted
    cut = CUT + dt.timedelta(hours=30)
    first = write(tmp_path / "first.csv", [row for row in LATER if row[0] < cut])
    rest = write(tmp_path / "rest.csv", [row for row in LATER if row[0] >= cut])
    skscn("update", folder / "lags.scn", first, "-o", tmp_path / "updated.scn")
    done = skscn("predict", tmp_path / "updated.scn", rest, "-o", tmp_path / "out.csv")
    assert "follow" not in done.stderr
    assert "first.csv, 90 rows" in skscn("inspect", tmp_path / "updated.scn").stdout
    expected = in_python(tmp_path, "updated", [row for row in LATER if row[0] >= cut])
    np.testing.assert_allclose(pd.read_csv(tmp_path / "out.csv")["prediction"], expected, atol=1e-10)


@pytest.mark.parametrize("name", ["model", "lags"])
def test_a_report_is_about_one_of_the_series(name, skscn, fitted, tmp_path):
    folder, _ = fitted
    skscn("report", folder / f"{name}.scn", folder / "later.csv", "-o", tmp_path / "report.html", "--series", "2")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "purity of 2 from later.csv" in page
    own = [row for row in LATER if row[1] == 2]
    error = np.array([row[3] for row in own]) - in_python(folder, name, LATER)[[row[1] == 2 for row in LATER]]
    assert f"{np.sqrt(np.mean(error**2)):.3g}" in page


def test_series_that_differ_in_what_no_input_shows_are_noticed(skscn, tmp_path):
    rng, rows = np.random.default_rng(0), []
    for n in range(150):
        for machine, level in (("A", 0.0), ("B", 3.0), ("C", -2.0)):
            flow = rng.normal()
            rows.append((START + dt.timedelta(hours=n), machine, flow, flow + level))
    rows.sort(key=lambda row: row[1])
    known = write(tmp_path / "known.csv", rows)
    about = ["-t", "purity", "--time", "when", "--group", "machine", "--lags", "1", "--estimator", "network"]
    done = skscn("fit", known, "-m", tmp_path / "m.scn", *about, "--set", "max_nodes=3")
    assert "machine tells series apart and is not an input" in done.stderr
    assert "rows moved" not in done.stderr
    assert "The series differ in something that the inputs do not show" in " ".join(done.stdout.split())
    assert "told apart by 'machine': 'A', 'B', 'C'" in skscn("inspect", tmp_path / "m.scn").stdout
    assert "--series LABEL" in skscn("report", tmp_path / "m.scn", known, code=1).stderr


@pytest.fixture(scope="module")
def patients(tmp_path_factory):
    """Patients with several rows each, who differ in what no column shows, and whose age betrays who they are."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("patients") / "patients.csv"
    rows = [
        (f"p{patient}", age, dose, np.tanh(dose - 2) + own + 0.1 * noise)
        for patient, (age, own) in enumerate(zip(np.arange(20, 80, 3), 3 * rng.normal(size=20), strict=True))
        for dose, noise in zip(rng.uniform(0, 4, 10), rng.normal(size=10), strict=True)
    ]
    return write(path, rows, ("patient", "age", "dose", "response"))


@pytest.mark.parametrize("estimator", ["network", pytest.param("ensemble", marks=pytest.mark.slow)])
def test_whole_groups_are_held_out(estimator, skscn, patients, tmp_path):
    """Where rows of the same patients are on both sides, the tests promise what other patients do not keep."""
    about = ["-t", "response", "-m", tmp_path / "m.scn", "--json", "--estimator", estimator, "--set", "max_nodes=40"]
    about += ["--set", "n_members=3"] if estimator == "ensemble" else []
    rows = json.loads(skscn("fit", patients, *about, "--drop", "patient").stdout)
    groups = json.loads(skscn("fit", patients, *about, "--group", "patient").stdout)
    assert rows["tested"]["rmse"]["mean"] < 0.6 * groups["tested"]["rmse"]["mean"]
    assert groups["columns"] == ["age", "dose"]
    # The model is one like any other: its rows need no group.
    skscn("predict", tmp_path / "m.scn", patients, "-o", tmp_path / "out.csv")


def test_groups_of_classes_and_too_few_of_them(skscn, patients, tmp_path):
    classes = tmp_path / "classes.csv"
    table = pd.read_csv(patients)
    table.assign(response=np.where(table["response"] > 0, "good", "bad")).to_csv(classes, index=False)
    about = ["-t", "response", "-m", tmp_path / "m.scn", "--set", "max_nodes=5", "--estimator", "network"]
    said = skscn("fit", classes, *about, "--group", "patient")
    assert "5-fold cross-validation of whole groups (patient)" in said.stdout
    table[table["patient"] == "p3"].to_csv(tmp_path / "one.csv", index=False)
    done = skscn("fit", tmp_path / "one.csv", *about, "--group", "patient", code=1)
    assert "'patient' is 'p3' in all rows" in done.stderr
