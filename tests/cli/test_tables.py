"""Tables on the command line: what is in them comes out as it was, wherever they come from."""

import io
import json
import os
import sys
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

from skscn import SCNClassifier, SCNRegressor
from skscn.cli.app import app
from skscn.datasets import make_flats
from skscn.persistence import load_model
from skscn.table_model import open_model
from skscn.table_model.description import limit_reached
from skscn.tables import open_table

QUICK = ["--estimator", "network", "--set", "max_nodes=3", "--jobs", "1"]


def write(path, text):
    path.write_text(text, encoding="utf-8", newline="")
    return path


def piped(content, *arguments):
    """Run the program with this on standard input."""
    done = CliRunner().invoke(app, list(map(str, arguments)), input=content, catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return done


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_table_is_encoded_as_in_python(task, skscn, tmp_path):
    """Many categories, missing numbers and dates: the program makes the model that Python makes of the table."""
    flats = pd.DataFrame(make_flats(200, random_state=0))
    flats["street"] = [f"street {number}" for number in np.random.default_rng(0).integers(0, 40, 200)]
    if task == "classification":
        flats["rent"] = np.where(flats["rent"] > flats["rent"].median(), "dear", "cheap")
    flats.to_csv(tmp_path / "flats.csv", index=False)
    options = ["-t", "rent", "-m", tmp_path / "m.scn", *QUICK, "--seed", 0, "--cv", 0]
    said = skscn("fit", tmp_path / "flats.csv", *options)
    assert "encoded by the mean of the target for each" in said.stderr
    assert "filled in from the other columns" in said.stderr
    model = (SCNRegressor if task == "regression" else SCNClassifier)(max_nodes=3, random_state=0)
    model.fit(flats.drop(columns="rent"), flats["rent"])
    skscn("predict", tmp_path / "m.scn", tmp_path / "flats.csv", "-o", tmp_path / "out.csv")
    found, expected = pd.read_csv(tmp_path / "out.csv")["prediction"], model.predict(flats.drop(columns="rent"))
    if task == "classification":
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    # Its rows are recognised, although training has seen cross-fitted means.
    assert (
        json.loads(skscn("evaluate", tmp_path / "m.scn", tmp_path / "flats.csv", "--json").stdout)["share_trained_on"]
        == 1
    )
    skscn("report", tmp_path / "m.scn", tmp_path / "flats.csv", "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "39 categories, most often street" in page


@pytest.mark.parametrize(
    "labels",
    [
        [str(2**53 + k) for k in range(3)],
        [str(10**19 + k) for k in range(3)],
        [str(10**30 + k) for k in range(2)],
        ["1e30", "5"],
        ["-9223372036854775808", "9223372036854775807"],
    ],
    ids=["2^53", "10^19", "10^30", "1e30", "int64"],
)
def test_classes_that_are_large_whole_numbers_survive(skscn, tmp_path, labels):
    rng = np.random.default_rng(0)
    y = [labels[i % len(labels)] for i in range(90)]
    rows = [f"{labels.index(label) + rng.normal(0, 0.01)},{rng.normal()},{label}" for label in y]
    path, model = write(tmp_path / "a.csv", "\n".join(["x,z,y", *rows])), tmp_path / "m.scn"
    fitted = json.loads(skscn("fit", path, "-t", "y", "-m", model, *QUICK, "--cv", 2, "--json").stdout)
    assert fitted["tested"]["accuracy"]["mean"] == 1
    assert sorted(map(str, load_model(model).classes_)) == sorted(labels)
    assert skscn("predict", model, path).stdout.split() == ["prediction", *y]
    assert json.loads(skscn("evaluate", model, path, "--json").stdout)["accuracy"] == 1
    skscn("predict", model, path, "--proba", "-o", tmp_path / "p.parquet")
    assert set(parquet.read_table(tmp_path / "p.parquet").column_names[1:]) == {f"probability of {x}" for x in labels}


def test_a_column_that_looks_like_an_identifier_in_a_part_of_the_rows(skscn, tmp_path):
    # Of all rows 88 % have a text of their own; of some parts more than 90 %.
    texts = [f"sample {i % 53}" for i in range(60)]
    path = write(tmp_path / "a.csv", "\n".join(["x,y", *(f"{text},{i % 7}.5" for i, text in enumerate(texts))]))
    done = skscn("fit", path, "-t", "y", "-m", tmp_path / "m.scn", *QUICK, "--cv", 5)
    assert "5-fold cross-validation" in done.stdout


def test_values_with_a_unit_are_numbers_in_every_part(skscn, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.uniform(20, 90, 80).round(1)
    path = write(tmp_path / "unit.csv", "\n".join(["T,y", *(f"{value} °C,{2 * value}" for value in x)]))
    done = skscn("fit", path, "-t", "y", "-m", tmp_path / "m.scn", *QUICK, "--cv", 5, "--json")
    assert json.loads(done.stdout)["tested"]["r2"]["mean"] > 0.9
    assert "Text read as numbers: T (like " in done.stderr


def test_the_order_of_day_and_month_can_be_chosen(skscn, tmp_path):
    dates = [f"0{i % 9 + 1}/0{i % 8 + 1}/2024" for i in range(40)]
    path = write(tmp_path / "a.csv", "\n".join(["day,y", *(f"{day},{i}.5" for i, day in enumerate(dates))]))
    for options, order, format in (([], "month", "%m/%d/%Y"), (["--dates", "day-first"], "day", "%d/%m/%Y")):
        done = skscn("fit", path, "-t", "y", "-m", tmp_path / "m.scn", *QUICK, "--cv", 0, *options)
        assert f"read {order} first" in done.stderr
        assert ("choose with --dates" in done.stderr) == (not options)
        assert open_model(tmp_path / "m.scn").encoder_.columns_[0].format == format


# ---- where tables come from


def test_every_command_reads_standard_input(skscn, houses, tmp_path):
    content, model = houses.read_bytes(), tmp_path / "m.scn"
    piped(content, "fit", "-", "-t", "price", "-m", model, *QUICK, "--cv", 0)
    assert "standard input, 392 rows" in skscn("inspect", model).stdout
    facts = json.loads(piped(content, "evaluate", model, "-", "--json").stdout)
    expected = json.loads(skscn("evaluate", model, houses, "--json").stdout)
    (seen,) = facts["cautions"]
    seen["text"] = seen["text"].replace("standard input", houses.name)
    assert {**facts, "data": expected["data"]} == expected
    piped(content, "report", model, "-", "-o", tmp_path / "r.html")
    assert "price from standard input" in (tmp_path / "r.html").read_text(encoding="utf-8")


if sys.platform != "win32":

    def test_a_table_from_a_pipe(skscn, houses, houses_model, tmp_path):
        pipe = tmp_path / "63"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(houses.read_bytes(),))
        writer.start()
        done = skscn("predict", houses_model, pipe)
        writer.join()
        assert done.stdout == skscn("predict", houses_model, houses).stdout


# ---- what predict writes


def test_a_column_to_keep_that_is_called_like_a_prediction(skscn, iris_model, iris, tmp_path):
    table = open_table(iris).read()
    for name in ("prediction", "probability of setosa", "prediction (kept)"):
        table = table.append_column(name, pa.array([name] * len(table)))
    parquet.write_table(table, tmp_path / "a.parquet")
    keep = ["--keep", "prediction", "--keep", "probability of setosa", "--keep", "prediction", "--keep", "kind"]
    done = skscn("predict", iris_model, tmp_path / "a.parquet", "--proba", "-o", tmp_path / "p.parquet", *keep)
    assert "The column 'prediction' is written as 'prediction (kept)'" in done.stderr
    written = parquet.read_table(tmp_path / "p.parquet")
    classes = ["setosa", "versicolor", "virginica"]
    assert written.column_names == [
        "prediction (kept)", "probability of setosa (kept)", "kind", "prediction",
        *(f"probability of {name}" for name in classes),
    ]  # fmt: skip
    assert set(written["prediction (kept)"].to_pylist()) == {"prediction"}
    assert set(written["prediction"].to_pylist()) <= set(classes)


def test_text_that_a_spreadsheet_would_take_for_a_formula(skscn, iris_model, iris, tmp_path):
    table = open_table(iris).read().slice(0, 6)
    cells = ["=1+1", "+cmd", "-2.5", "@x", "safe", "-"]
    table = table.append_column("=note", pa.array(cells))
    parquet.write_table(table, tmp_path / "a.parquet")
    arguments = ["predict", iris_model, tmp_path / "a.parquet", "--keep", "=note"]

    def kept(*options):
        return [line.split(",")[0] for line in skscn(*arguments, *options).stdout.splitlines()]

    assert kept() == ["=note", *cells]
    assert kept("--spreadsheet") == ["'=note", "'=1+1", "'+cmd", "-2.5", "'@x", "safe", "'-"]
    skscn(*arguments, "--spreadsheet", "-o", tmp_path / "p.parquet")
    assert parquet.read_table(tmp_path / "p.parquet")["=note"].to_pylist() == cells


def test_long_names_do_not_fill_the_screen(skscn, tmp_path):
    name = "x" * 100_000
    rows = "\n".join(f"{i % 5}.5,{i},{'a' * 2000}{i % 3}" for i in range(40))
    path = write(tmp_path / "a.csv", f"{name},b,c\n{rows}\n")
    done = skscn("fit", path, "-t", name, "-m", tmp_path / "m.scn", *QUICK, "--cv", 0)
    assert len(done.stderr) < 1000
    assert len(skscn("fit", path, "-t", "y", "-m", tmp_path / "m.scn", code=1).stderr) < 400
    new = write(tmp_path / "b.csv", path.read_text(encoding="utf-8").replace("a" * 2000, "z" * 2000))
    assert len(skscn("predict", tmp_path / "m.scn", new).stderr) < 400


# ---- what fit says


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ([100], "Growth ended at max_nodes=100; more nodes may be better: parameters="),
        ([86], "Growth ended at max_nodes=100, and early stopping kept 86 of these nodes; more"),
        ([86, 100], "Growth ended at max_nodes=100, and early stopping kept 86 to 100 of these nodes; more"),
    ],
)
def test_a_limit_that_ended_growth_is_told_from_the_nodes_that_were_kept(nodes, said):
    class Network:
        stop_reason_, history_ = "max_nodes", {"nodes": [97, 100]}

        def __init__(self, n_nodes):
            self.n_nodes_ = n_nodes

    assert limit_reached(list(map(Network, nodes)))[0].startswith(said)


def test_what_cannot_be_read_from_standard_input_is_said(skscn):
    done = CliRunner().invoke(app, ["fit", "-", "-t", "y", "-m", "m.scn"], input=io.BytesIO(b"a,b\n1\n2,3\n").read())
    assert done.exit_code == 1
    assert "Error: There is no column 'y'" in done.stderr
