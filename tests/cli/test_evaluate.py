"""What evaluate says besides numbers: about the rows, the baseline and the tests of fit."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score, recall_score, roc_auc_score

from skscn import SCNRegressor, save_model
from skscn.judging.scores import RareClass, compared, unconfirmed


@pytest.fixture(scope="module")
def later(houses, tmp_path_factory):
    """Rows of the same kind as the houses, none of which was there in training."""
    table = pd.read_csv(houses)
    rng = np.random.default_rng(1)
    table["size"] = (table["size"] + rng.uniform(-0.4, 0.4, len(table))).clip(31, 199).round(3)
    table["price"] += rng.normal(0, 10, len(table)).round()
    table["number"] = table["number"].clip(3, 395)
    path = tmp_path_factory.mktemp("later") / "later.csv"
    table.to_csv(path, index=False)
    return path


def evaluated(skscn, model, data, *more):
    return json.loads(skscn("evaluate", model, data, "--json", *more).stdout)


def written(table, path):
    table.to_csv(path, index=False)
    return path


@pytest.mark.slow
def test_rows_of_training_are_recognised_under_any_name(skscn, houses_model, houses, tmp_path):
    table = pd.read_csv(houses)
    shuffled = written(table.sample(frac=1.0, random_state=0)[table.columns[::-1]], tmp_path / "other.csv")
    parquet = tmp_path / "same.parquet"
    pd.read_csv(houses, parse_dates=["sold"]).to_parquet(parquet)
    for data in (houses, shuffled, parquet):
        assert evaluated(skscn, houses_model, data)["share_trained_on"] == 1.0
        done = skscn("evaluate", houses_model, data)
        assert (
            f"Caution    The model was trained on the rows of {data.name}: these scores say how well it" in done.stdout
        )
    part = written(table[:200], tmp_path / "part.csv")
    assert evaluated(skscn, houses_model, part)["share_trained_on"] == 1.0


def test_classes_too(skscn, iris_model, iris):
    assert "The model was trained on the rows of iris.csv" in skscn("evaluate", iris_model, iris).stdout


def test_rows_that_are_read_from_disk_are_recognised(skscn, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40_000, 6)), columns=list("abcdef")).round(6)
    table["f"] = table["a"] + np.arange(40_000) / 1000.0
    table["y"] = table["a"] + table["b"]
    data, model = written(table, tmp_path / "large.csv"), tmp_path / "large.scn"
    done = skscn("fit", data, "-t", "y", "-m", model, "--memory-limit", "4", "--set", "max_nodes=1", "--jobs", "1")
    assert "is read from disk" in done.stderr
    facts = evaluated(skscn, model, data)
    assert facts["share_trained_on"] == 1.0
    assert facts["outside"] == []


@pytest.mark.slow
def test_new_rows_are_not_taken_for_those_of_training(skscn, houses_model, later):
    facts = evaluated(skscn, houses_model, later)
    assert facts["share_trained_on"] < 0.02
    assert facts["test_confirmed"] is True
    assert facts["better_than_baseline"] is True
    assert facts["outside"] == []
    done = skscn("evaluate", houses_model, later)
    assert "trained on" not in done.stderr
    assert "Better than always predicting the mean: its RMSE is" in done.stdout


def test_another_unit_is_said(skscn, houses_model, later, tmp_path):
    table = pd.read_csv(later)
    data = written(table.assign(size=1000.0 * table["size"]), tmp_path / "mm.csv")
    facts = evaluated(skscn, houses_model, data)
    (column,) = facts["outside"]
    assert (column["name"], column["unit"], column["above"]) == (
        "size",
        True,
        int(table[table.price > 0]["size"].count()),
    )
    sentence = "rows are above the largest training value 19"
    assert sentence in skscn("evaluate", houses_model, data).stderr
    predicted = skscn("predict", houses_model, data).stderr
    assert sentence in predicted
    assert "Is the unit the same as in training?" in predicted
    assert skscn("predict", houses_model, later).stderr == "- Missing values filled in: size (20 rows).\n"
    done = json.loads(skscn("predict", houses_model, data, "-o", tmp_path / "out.csv", "--json").stdout)
    assert done["outside"][0]["name"] == "size"
    assert (done["rows"], done["out"]) == (len(table), str(tmp_path / "out.csv"))
    assert "--json" in skscn("predict", houses_model, data, "--json", code=2).stderr


def test_one_row_has_no_r2(skscn, houses_model, later, tmp_path):
    data = written(pd.read_csv(later).dropna().head(1), tmp_path / "one.csv")
    assert evaluated(skscn, houses_model, data)["r2"] is None
    assert "R²" not in skscn("evaluate", houses_model, data).stdout


def test_an_estimate_that_is_not_confirmed(skscn, houses_model, later, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.read_csv(later)
    data = written(table.assign(size=rng.permutation(table["size"])), tmp_path / "shuffled.csv")
    facts = evaluated(skscn, houses_model, data)
    assert facts["r2"] < 0.0
    assert (facts["test_confirmed"], facts["better_than_baseline"]) == (False, False)
    done = skscn("evaluate", houses_model, data, "--quiet")
    assert "Verdict    Worse than always predicting the mean: its RMSE is" in done.stdout
    assert "Not confirmed: when the model was fitted, its tests gave R² 0.9" in done.stdout
    assert [caution["code"] for caution in facts["cautions"]][-2:] == ["unconfirmed", "intervals"]


def test_classes_worse_than_the_most_frequent_one(skscn, iris_model, iris, tmp_path):
    text = iris.read_text(encoding="utf-8-sig").replace("virginica", "v").replace("versicolor", "virginica")
    data = tmp_path / "wrong.csv"
    data.write_text(text.replace("setosa", "versicolor").replace(";v\n", ";setosa\n"), encoding="utf-8")
    done = skscn("evaluate", iris_model, data)
    assert re.search(
        r"Worse than always predicting the most frequent class: it makes (49|50) % more errors\.", done.stdout
    )
    assert "Not confirmed: when the model was fitted, its tests gave accuracy 0.9" in done.stdout


def test_models_without_notes_say_nothing(skscn, tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": X[:, 0]})
    save_model(SCNRegressor(max_nodes=1, random_state=0).fit(table[["a", "b"]], table["y"]), tmp_path / "m.scn")
    data = written(table * 1000.0, tmp_path / "d.csv")
    facts = evaluated(skscn, tmp_path / "m.scn", data, "-t", "y")
    assert (facts["share_trained_on"], facts["test_confirmed"], facts["notes"]) == (None, None, [])


@pytest.mark.parametrize(
    ("error", "better", "words"),
    [
        (2.0, False, "Worse than always predicting the mean: its RMSE is 100 % larger."),
        (50.0, False, "Worse than always predicting the mean: its RMSE is more than 10 times larger."),
        (1.0, False, "No better than always predicting the mean."),
        (0.4, True, "Better than always predicting the mean: its RMSE is 60 % smaller."),
    ],
)
def test_verdicts(error, better, words):
    assert compared({"rmse": error}, {"rmse": 1.0}, "predicting the mean") == (better, words)


@pytest.mark.parametrize("scores", [{"accuracy": 1.0}, {"rmse": 0.0}])
def test_a_constant_target_has_no_baseline(scores):
    better, words = compared(dict.fromkeys(scores, 0.5), scores, "predicting the mean")
    assert better is None
    assert words == "All rows have the same target; there is no baseline to compare with."


def test_what_counts_as_not_confirmed():
    tested = {"r2": {"mean": 0.85, "std": 0.01}, "rmse": {"mean": 1.0, "std": 0.1}}
    assert unconfirmed({"r2": 0.75, "rmse": 1.2}, tested) is None
    assert unconfirmed({"r2": -0.3, "rmse": 1.2}, tested) == ("r2", 0.85)
    assert unconfirmed({"r2": 0.84, "rmse": 5.0}, tested) == ("rmse", 1.0)
    assert unconfirmed({"r2": -0.3, "rmse": 1.2}, {**tested, "r2": {"mean": 0.85, "std": 0.5}}) is None
    for unknown in (None, {}, {"r2": 0.9}, [1]):
        assert unconfirmed({"r2": -0.3, "rmse": 5.0}, unknown) is None


def test_probabilities_that_are_worse_than_frequencies_are_said():
    baseline = {"accuracy": 0.6, "log_loss": 0.67}
    guessing = "predicting the most frequent class"
    better, sentence = compared({"accuracy": 0.7, "log_loss": 0.9}, baseline, guessing)
    assert better
    assert sentence.endswith("Its probabilities are worse than the class frequencies: the log loss is larger.")
    assert "probabilities" not in compared({"accuracy": 0.7, "log_loss": 0.5}, baseline, guessing)[1]
    assert "probabilities" not in compared({"rmse": 1.0}, {"rmse": 2.0}, "predicting the mean")[1]


# ---- classes that differ much in how frequent they are


def test_imbalanced_classes_are_judged_by_more_than_accuracy(skscn, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    ill = np.where(X @ [1.2, 0.8] + rng.logistic(size=500) > 2.8, "yes", "no")
    path, model = tmp_path / "ill.csv", tmp_path / "m.scn"
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "ill": ill}).to_csv(path, index=False)
    fit = ["fit", path, "--target", "ill", "--model", model, "--estimator", "network", "--cv", "2"]
    said = skscn(*fit).stdout
    for text in ("balanced accuracy", "ROC AUC", "rare recall", f"{np.mean(ill == 'yes'):.1%} of the rows are yes"):
        assert text in said
    assert "--class-weight balanced finds more" in said
    scores = evaluated(skscn, model, path)
    predicted = pd.read_csv(io.StringIO(skscn("predict", model, path, "--proba").stdout))
    assert scores["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(ill, predicted["prediction"]))
    assert scores["roc_auc"] == pytest.approx(roc_auc_score(ill == "yes", predicted["probability of yes"]))
    assert scores["rare_recall"] == pytest.approx(recall_score(ill, predicted["prediction"], pos_label="yes"))
    said = skscn(*fit, "--class-weight", "balanced").stdout
    assert "finds more" not in said
    assert "no better" not in said
    weighted = evaluated(skscn, model, path)
    assert weighted["rare_recall"] > scores["rare_recall"]
    assert "fewer errors if all classes count the same" in weighted["verdict"]


def test_balanced_classes_keep_their_scores(skscn, iris_model, iris):
    assert "balanced_accuracy" not in evaluated(skscn, iris_model, iris)
    assert "Imbalance" not in skscn("evaluate", iris_model, iris).stdout


@pytest.mark.parametrize("classes", [["a", "b"], ["a", "b", "c"]])
def test_rare_classes_that_are_missing_or_unknown(classes):
    y = np.array(["a"] * 18 + ["z"])
    rare = RareClass("b", 0.1, weighted=False)
    scores = rare.scores(y, np.full(19, "a"), np.array(classes), np.full((19, len(classes)), 1 / len(classes)))
    assert scores["balanced_accuracy"] == 0.5
    assert np.isnan([scores["roc_auc"], scores["rare_recall"]]).all()
