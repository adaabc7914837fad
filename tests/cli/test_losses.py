"""Losses of fit, how models with them are judged, and the rows that look like outliers."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_pinball_loss, mean_poisson_deviance, median_absolute_error

from skscn import SCNRegressor, describe_model, load_model, save_model
from skscn.judging.scores import Baseline, compared, main_error, regression_scores, unconfirmed
from skscn.losses import LOSSES, are_counts

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs" / "command_line.md"
NETWORK = ["--estimator", "network", "--set", "max_nodes=8", "--jobs", "1"]
ENSEMBLE = ["--set", "n_members=2", "--set", "max_nodes=8", "--jobs", "1"]
WRONG = [7, 33, 90, 91, 160]


@pytest.fixture(scope="module")
def table():
    """A smooth target with five wrong values, counts, and a class; the targets of three rows are missing."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(size=(200, 2)), columns=["a", "b"])
    mean = np.sin(5 * table["a"]) + table["b"]
    table["y"] = mean + rng.normal(0.0, 0.05, 200)
    table.loc[WRONG, "y"] += np.array([8.0, -8.0, 6.0, 9.0, 7.0])
    table.loc[[0, 34, 120], "y"] = np.nan
    table["n"] = rng.poisson(np.exp(mean))
    table["skewed"] = mean + rng.exponential(0.3, 200)
    table["few"] = table["n"].clip(upper=4)
    table["kind"] = np.where(mean > 0.6, "high", "low")
    return table


@pytest.fixture(scope="module")
def data(table, tmp_path_factory):
    """The path of a file for each target, with the inputs a and b."""
    folder = tmp_path_factory.mktemp("losses")
    paths = {name: folder / f"{name}.csv" for name in table.columns[2:]}
    for name, path in paths.items():
        table[["a", "b", name]].to_csv(path, index=False)
    return paths


@pytest.fixture(scope="module")
def fits(skscn, data, tmp_path_factory):
    """Fit a loss once: the path of the model, and what was said."""
    folder, known = tmp_path_factory.mktemp("models"), {}

    def fit(loss, *options, target="y", cv=2):
        key = (loss, target, cv, *options)
        if key not in known:
            path = folder / f"{len(known)}.scn"
            arguments = ["-t", target, "-m", path, "--loss", loss, "--cv", cv, *options]
            known[key] = path, skscn("fit", data[target], *arguments)
        return known[key]

    return fit


def listed(skscn, model, data, *more):
    return json.loads(skscn("outliers", model, data, "--json", *more).stdout)


@pytest.mark.parametrize("options", [NETWORK, ENSEMBLE], ids=["network", "ensemble"])
@pytest.mark.parametrize("loss", [name for name, loss in LOSSES.items() if loss.weighs])
def test_wrong_rows_are_counted_and_found(skscn, fits, data, loss, options):
    model, said = fits(loss, *options, cv=0)
    command = f"skscn evaluate {shlex.quote(str(model))} {shlex.quote(str(data['y']))} --outliers outliers.csv"
    (line,) = [line for line in said.stdout.splitlines() if line.startswith("Outliers")]
    assert line.endswith(f"; to list them: {command}")
    facts = listed(skscn, model, data["y"])
    assert line.split()[1:4] == [str(facts["outliers"]), "of", "197"]
    assert {row["row"] for row in facts["listed"]} >= {place + 1 for place in WRONG}
    weights = [row["weight"] for row in facts["listed"]]
    assert weights == sorted(weights)
    assert max(weights) < 0.2
    notes = describe_model(model)["notes"]["skscn"]
    assert (notes["loss"], notes["outliers"]) == (loss, facts["outliers"])


def test_what_is_listed_is_what_the_model_says(skscn, fits, data, table):
    model, _ = fits("welsch", *NETWORK, cv=0)
    facts = listed(skscn, model, data["y"])
    assert (facts["rows"], facts["loss"], facts["target"]) == (197, "welsch", "y")
    predictions = load_model(model).predict(table[["a", "b"]])
    for row in facts["listed"]:
        assert row["prediction"] == pytest.approx(predictions[row["row"] - 1])
        assert row["target"] == pytest.approx(table["y"][row["row"] - 1])
        assert row["residual"] == pytest.approx(row["target"] - row["prediction"])


def test_lists_for_people_and_files(skscn, fits, data, tmp_path):
    model, _ = fits("welsch", *NETWORK, cv=0)
    n_outliers = listed(skscn, model, data["y"])["outliers"]
    done = skscn("outliers", model, data["y"], "--most", 2)
    assert done.stdout.startswith("row,y,prediction,residual,weight\n")
    assert done.stdout.count("\n") == 3
    assert f"{n_outliers} rows of 197 look like outliers." in done.stderr
    assert "Left out: 3 rows without a value of y." in done.stderr
    for name, read in (("o.csv", pd.read_csv), ("o.parquet", pd.read_parquet)):
        done = skscn("outliers", model, data["y"], "-o", tmp_path / name)
        assert f"{n_outliers} rows" in done.stderr
        written = read(tmp_path / name)
        assert list(written.columns) == ["row", "y", "prediction", "residual", "weight"]
        assert set(written["row"]) >= {place + 1 for place in WRONG}
    assert len(listed(skscn, model, data["y"], "--most", 2)["listed"]) == 2


def test_no_outliers_are_a_list_too(skscn, fits, data, table, tmp_path):
    model, _ = fits("welsch", *NETWORK, cv=0)
    path, out = tmp_path / "right.csv", tmp_path / "o.csv"
    right = table.drop(index=WRONG).dropna()
    right.assign(y=load_model(model).predict(right[["a", "b"]])).to_csv(path, index=False)
    done = skscn("outliers", model, path, "-o", out)
    assert "0 rows of" in done.stderr
    assert out.read_text() == "row,y,prediction,residual,weight\n"


def test_a_target_with_the_name_of_a_column_of_the_list(skscn, table, tmp_path):
    renamed = table[["a", "b", "y"]].dropna().rename(columns={"y": "weight"})
    model = SCNRegressor(loss="welsch", max_nodes=4, random_state=0).fit(renamed[["a", "b"]], renamed["weight"])
    save_model(model, tmp_path / "m.scn")
    renamed.to_csv(tmp_path / "d.csv", index=False)
    skscn("outliers", tmp_path / "m.scn", tmp_path / "d.csv", "-t", "weight", "-o", tmp_path / "o.csv")
    names = ["row", "weight (target)", "prediction", "residual", "weight"]
    assert list(pd.read_csv(tmp_path / "o.csv").columns) == names


def test_models_that_cannot_tell_are_refused(skscn, fits, data, iris_model, iris, houses_model, houses):
    quantile, _ = fits("quantile", "--quantile", "0.9", *NETWORK, target="skewed")
    for model, rows in ((quantile, data["skewed"]), (houses_model, houses), (iris_model, iris)):
        done = skscn("outliers", model, rows, code=1)
        assert done.stderr.startswith(f"Error: {model.name} ")
        assert "with --loss welsch, huber, bisquare or kde first" in done.stderr
        assert done.stderr.count("\n") == 1


def test_rows_without_a_target_are_refused(skscn, fits, table, tmp_path):
    model, _ = fits("welsch", *NETWORK, cv=0)
    table[table["y"].isna()].to_csv(tmp_path / "d.csv", index=False)
    assert "has no row with a value of 'y'" in skscn("outliers", model, tmp_path / "d.csv", code=1).stderr
    table[["a", "b"]].to_csv(tmp_path / "d.csv", index=False)
    assert "no column 'y'" in skscn("outliers", model, tmp_path / "d.csv", code=1).stderr


def test_a_robust_model_is_judged_by_its_typical_error(skscn, fits, data):
    model, said = fits("welsch", *ENSEMBLE)
    assert "Estimates     the centre of the target, hardly influenced by outliers; RMSE, MAE and R² include them" in (
        said.stdout
    )
    assert "(baseline predicting the median: " in said.stdout
    assert "R²  " in said.stdout
    assert "far outside the range" not in said.stdout
    tested = describe_model(model)["notes"]["skscn"]["tested"]
    assert tested["median_error"]["mean"] < 0.2 < tested["rmse"]["mean"]
    assert "Better than always predicting the median: its median error is" in skscn("evaluate", model, data["y"]).stdout
    assert "median error  " in skscn("inspect", model).stdout


def test_a_quantile_is_judged_by_pinball_loss_and_share_below(skscn, fits, data, table):
    model, said = fits("quantile", "--quantile", "0.9", *NETWORK, target="skewed")
    assert "Estimates     the 0.9 quantile (loss quantile)" in said.stdout
    assert "pinball loss" in said.stdout
    assert "share below" in said.stdout
    assert "RMSE" not in said.stdout
    facts = json.loads(skscn("evaluate", model, data["skewed"], "--json").stdout)
    predictions = load_model(model).predict(table[["a", "b"]])
    assert facts["pinball"] == pytest.approx(mean_pinball_loss(table["skewed"], predictions, alpha=0.9))
    assert facts["below"] == pytest.approx(np.mean(table["skewed"] <= predictions))
    assert 0.8 < facts["below"] < 1.0
    assert "r2" not in facts
    assert "always predicting the 0.9 quantile" in facts["verdict"]
    assert load_model(model)[-1].quantile == 0.9


def test_a_median_keeps_the_usual_scores(fits):
    _, said = fits("absolute", *NETWORK, target="skewed")
    for words in ("the median (loss absolute)", "pinball loss", "share below", "MAE", "R²"):
        assert words in said.stdout


def test_counts_are_judged_by_their_deviance(skscn, fits, data, table):
    model, said = fits("poisson", *ENSEMBLE, "--task", "regression", target="n")
    assert "the mean of a count or a rate (loss poisson)" in said.stdout
    assert "R²" in said.stdout
    facts = json.loads(skscn("evaluate", model, data["n"], "--json").stdout)
    predictions = load_model(model).predict(table[["a", "b"]])
    assert facts["deviance"] == pytest.approx(mean_poisson_deviance(table["n"], predictions))
    assert "its Poisson deviance is" in facts["verdict"]


def test_rows_in_order_of_time(skscn, data, table, tmp_path):
    dated = table[["a", "b", "skewed"]].assign(time=pd.date_range("2024-01-01", periods=200, freq="h"))
    dated.to_csv(tmp_path / "d.csv", index=False)
    options = ["--loss", "quantile", "--quantile", "0.8", "--json", *NETWORK]
    facts = json.loads(skscn("fit", tmp_path / "d.csv", "-t", "skewed", "-m", tmp_path / "m.scn", *options).stdout)
    assert facts["tested"]["ordered"]
    assert 0.5 < facts["tested"]["below"]["mean"] < 1.0
    # Of an exponential tail, single rows may be far out.
    assert not [warning for warning in facts["warnings"] if "far outside the range of the others" not in warning]


@pytest.mark.parametrize(
    ("target", "loss", "sentence"),
    [
        (
            "kind",
            "welsch",
            "--loss welsch is for numbers, but the target 'kind' has classes; use one of squared, log_loss.",
        ),
        ("few", "poisson", "has classes; use one of squared, log_loss, or add --task regression."),
        ("y", "log_loss", "--loss log_loss is for classes, but the target 'y' has numbers; use one of squared, huber,"),
        ("y", "poisson", "counts and rates, which are not negative"),
    ],
)
def test_a_loss_that_is_not_for_this_target(skscn, data, tmp_path, target, loss, sentence):
    arguments = ["-t", target, "-m", tmp_path / "m.scn", "--loss", loss, "--quiet", *NETWORK]
    done = skscn("fit", data[target], *arguments, code=1)
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "m.scn").exists()


def test_classes(skscn, data, tmp_path):
    options = ["--loss", "squared", "--set", "class_weight=balanced", "--cv", "0", *NETWORK]
    skscn("fit", data["kind"], "-t", "kind", "-m", tmp_path / "m.scn", *options)
    classifier = load_model(tmp_path / "m.scn")[-1]
    assert (classifier.loss, classifier.class_weight) == ("squared", "balanced")
    done = skscn("fit", data["y"], "-t", "y", "-m", tmp_path / "n.scn", *options, code=1)
    assert "class_weight is not a parameter of regression" in done.stderr


@pytest.mark.parametrize("weight", [False, True])
def test_a_file_on_disk(skscn, tmp_path, weight):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(size=(30_000, 5)), columns=list("abcde"))
    table["y"] = np.sin(5 * table["a"]) + rng.normal(0.0, 0.05, len(table))
    table.loc[:99, "y"] += 9.0
    table["w"] = np.where(np.arange(len(table)) % 5, 1, 0)
    table.to_csv(tmp_path / "d.csv", index=False)
    options = [
        "--loss",
        "welsch",
        "--cv",
        "0",
        "--estimator",
        "network",
        "--set",
        "max_nodes=3",
        "--jobs",
        "1",
        "--json",
    ]
    options += ["--weight", "w"] if weight else ["--drop", "w"]
    facts = {}
    for name, limit in (("disk", ["--memory-limit", "4"]), ("memory", [])):
        done = skscn("fit", tmp_path / "d.csv", "-t", "y", "-m", tmp_path / f"{name}.scn", *options, *limit)
        assert ("read from disk" in done.stderr) == (name == "disk")
        facts[name] = json.loads(done.stdout)
    assert facts["disk"]["outliers"] == facts["memory"]["outliers"]
    assert (80 if weight else 100) <= facts["disk"]["outliers"] < 1000
    assert {row["row"] for row in listed(skscn, tmp_path / "disk.scn", tmp_path / "d.csv")["listed"]} >= {
        *range(1, 101)
    }


def test_baselines_are_what_the_loss_estimates():
    y, weights = np.arange(1.0, 102.0), np.r_[np.zeros(51), np.ones(50)]
    for name, constant, words in (
        ("squared", 51.0, "the mean"),
        ("poisson", 51.0, "the mean"),
        ("welsch", 51.0, "the median"),
        ("quantile", 91.0, "the 0.9 quantile"),
    ):
        baseline = Baseline.of(y, "regression", loss=LOSSES[name].of(0.9))
        assert (baseline.constant, baseline.words) == (constant, f"predicting {words}")
    assert Baseline.of(y, "regression", weights, LOSSES["absolute"].of(0.5)).constant == 76.0


def test_scores_of_each_loss():
    rng = np.random.default_rng(0)
    y, f = rng.poisson(3.0, 50).astype(float), rng.uniform(1.0, 5.0, 50)
    scores = {name: regression_scores(y, f, loss.of(0.3)) for name, loss in LOSSES.items() if loss.regresses}
    assert scores["squared"] == regression_scores(y, f)
    assert scores["huber"]["median_error"] == median_absolute_error(y, f)
    assert scores["absolute"]["pinball"] == pytest.approx(0.5 * scores["absolute"]["mae"])
    assert scores["quantile"].keys() == {"pinball", "below"}
    assert np.isnan(regression_scores(-y, f, LOSSES["poisson"].of(0.5))["deviance"])


def test_which_error_decides():
    assert main_error({"median_error": 1.0, "rmse": 9.0}, {"median_error": 2.0, "rmse": 2.0}) == "median_error"
    # More than half of the targets are equal, or counts are negative.
    assert main_error({"median_error": 1.0, "rmse": 9.0}, {"median_error": 0.0, "rmse": 2.0}) == "rmse"
    assert main_error({"deviance": np.nan, "rmse": 9.0}, {"deviance": np.nan, "rmse": 2.0}) == "rmse"
    better, words = compared({"pinball": 1.0}, {"pinball": 4.0}, "predicting the 0.9 quantile")
    assert better
    assert words == "Better than always predicting the 0.9 quantile: its pinball loss is 75 % smaller."
    assert compared({"pinball": 0.0}, {"pinball": 0.0}, "predicting the 0.9 quantile")[0] is None
    tested = {"median_error": {"mean": 1.0, "std": 0.1}, "r2": {"mean": 0.9, "std": 0.0}}
    assert unconfirmed({"median_error": 1.9, "r2": -5.0}, tested) is None
    assert unconfirmed({"median_error": 2.0, "r2": 0.9}, tested) == ("median_error", 1.0)


def test_a_report_numbers_rows_as_the_file_does(skscn, fits, data, tmp_path):
    model, _ = fits("welsch", *NETWORK, cv=0)
    skscn("report", model, data["y"], "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for place in WRONG:
        assert f'<tr><th scope="row" class="number">{place + 1}</th>' in page
    assert f"skscn evaluate {shlex.quote(str(model))} y.csv --outliers outliers.csv" in page


def test_commands_of_the_page_about_the_command_line(skscn, houses, tmp_path, monkeypatch):
    lines = [line.strip() for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith("    skscn ")]
    commands = [line for line in lines if "--loss" in line or "--outliers" in line]
    assert len(commands) == 3
    (tmp_path / "houses.csv").write_bytes(houses.read_bytes())
    monkeypatch.chdir(tmp_path)
    for command in commands:
        name, *arguments = shlex.split(command)[1:]
        skscn(name, *arguments, *([*ENSEMBLE, "--cv", "0"] if name == "fit" else []))
    assert (tmp_path / "outliers.csv").read_text().startswith("row,price,prediction,residual,weight\n")


# ---- counts


def visits(path, shift=0):
    rng = np.random.default_rng(0)
    age, ill = rng.uniform(18, 90, 500), rng.random(500) < 0.2
    number = rng.poisson(np.exp(0.04 * age + 1.2 * ill - 1.5)) + shift
    return pd.DataFrame({"age": age.round(1), "ill": ill, "visits": number}).to_csv(path, index=False)


def test_counts_are_recognised_and_held_out_rows_decide(skscn, tmp_path):
    path = tmp_path / "visits.csv"
    visits(path)
    fit = ["fit", path, "--target", "visits", "--model", tmp_path / "m.scn", "--estimator", "network", "--cv"]
    done = skscn(*fit, "3")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("Counts")]
    assert "whole numbers from 0 to" in line
    deviances = re.search(r"on held-out rows is ([\d.]+), and ([\d.]+) with squared error", line)
    own, squared = map(float, deviances.groups())
    assert ("--loss poisson is recommended" in line) == (own < squared)
    assert "far outside" not in done.stdout
    assert "welsch" not in done.stdout
    assert "--loss poisson is made for them" in json.loads(skscn(*fit, "0", "--json").stdout)["counts"]
    assert json.loads(skscn(*fit, "0", "--json", "--loss", "squared").stdout)["counts"] is None


@pytest.mark.parametrize(
    ("y", "are"),
    [
        (np.random.default_rng(0).poisson(0.7, 300), True),
        (np.random.default_rng(0).negative_binomial(1, 0.2, 300), True),
        (np.random.default_rng(0).poisson(0.7, 300) - 1, False),
        (np.random.default_rng(0).poisson(0.7, 300) + 0.5, False),
        (100 * np.random.default_rng(0).poisson(0.7, 300), False),
        (1950 + np.random.default_rng(0).poisson(0.7, 300), False),
        (np.random.default_rng(0).integers(0, 20, 300), False),
        (np.random.default_rng(0).lognormal(10, 1, 300).round(), False),
        (np.random.default_rng(0).integers(0, 2, 300), False),
    ],
)
def test_what_looks_like_counts(y, are):
    assert are_counts(y.astype(float)) == are
