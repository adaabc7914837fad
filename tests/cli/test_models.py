"""What is done with a model file: predict, evaluate, inspect, export."""

import csv
import io
import json
import re
import subprocess
import sys

import numpy as np
import onnxruntime
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes
from sklearn.metrics import log_loss, mean_absolute_error, r2_score
from sklearn.pipeline import make_pipeline
from typer.testing import CliRunner

from skscn import DeepSCNRegressor, SCNEnsembleRegressor, SCNRegressor, describe_model, load_model, save_model
from skscn.cli.app import app
from skscn.datasets import make_flats
from skscn.tables import as_table, open_table

QUICK = ["--estimator", "network", "--set", "max_nodes=8", "--cv", "0"]


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_intervals_and_columns_to_keep(skscn, houses_model, houses):
    done = skscn("predict", houses_model, houses, "--interval", 0.9, "--keep", "remark", "--keep", "number")
    predicted = rows(done.stdout)
    assert list(predicted[0]) == ["remark", "number", "prediction", "lower", "upper"]
    assert [row["number"] for row in predicted] == [str(i) for i in range(400)]
    assert predicted[7]["remark"].startswith("house 7 ")
    truth = open_table(houses).read()["price"].to_pylist()
    held = [float(row["lower"]) <= y <= float(row["upper"]) for row, y in zip(predicted, truth, strict=True) if y]
    assert 0.8 < np.mean(held) < 1


def test_probabilities(skscn, iris_model, iris):
    predicted = rows(skscn("predict", iris_model, iris, "--proba").stdout)
    classes = ["setosa", "versicolor", "virginica"]
    for row in predicted:
        probabilities = [float(row[f"probability of {name}"]) for name in classes]
        assert sum(probabilities) == pytest.approx(1)
        assert row["prediction"] == classes[int(np.argmax(probabilities))]


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_predictions_in_a_file(skscn, iris_model, iris, tmp_path, ending):
    out = tmp_path / f"p.{ending}"
    done = skscn("predict", iris_model, iris, "-o", out)
    assert done.stdout == ""
    assert "150 predictions" in done.stderr
    expected = [row["prediction"] for row in rows(skscn("predict", iris_model, iris).stdout)]
    assert open_table(out).read()["prediction"].to_pylist() == expected
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


def test_a_file_that_fails_half_way_leaves_nothing_behind(skscn, iris_model, iris, tmp_path):
    broken = tmp_path / "broken.csv"
    broken.write_text(iris.read_text(encoding="utf-8-sig") + "\r\na;b;c;d;e", encoding="utf-8")
    done = skscn("predict", iris_model, broken, "-o", tmp_path / "p.csv", code=1)
    assert "column 'length', line 152: 'a' is not a number" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["broken.csv"]


def test_columns_in_another_order_and_other_files(skscn, houses_model, houses, tmp_path):
    table = open_table(houses).read()
    other = table.select(table.column_names[::-1]).drop_columns(["price", "remark"])
    pa.parquet.write_table(other, tmp_path / "other.parquet")
    assert (
        skscn("predict", houses_model, tmp_path / "other.parquet").stdout
        == skscn("predict", houses_model, houses).stdout
    )


def test_a_regression_is_evaluated(skscn, houses_model, houses):
    facts = json.loads(skscn("evaluate", houses_model, houses, "--json").stdout)
    table = open_table(houses).read().filter(pa.compute.is_valid(open_table(houses).read()["price"]))
    y, predictions = table["price"].to_numpy(), load_model(houses_model).predict(table)
    assert facts["rows"] == 392
    assert facts["mae"] == pytest.approx(mean_absolute_error(y, predictions))
    assert facts["r2"] == pytest.approx(r2_score(y, predictions))
    assert facts["baseline"]["rmse"] == pytest.approx(y.std())
    done = skscn("evaluate", houses_model, houses)
    assert "predicting the mean" in done.stdout
    assert "8 rows without a value of price" in done.stderr


def test_classes_are_evaluated(skscn, iris_model, iris):
    facts = json.loads(skscn("evaluate", iris_model, iris, "--json").stdout)
    table, model = open_table(iris).read(), load_model(iris_model)
    y = np.array(table["kind"].to_pylist())
    assert facts["accuracy"] == pytest.approx(np.mean(model.predict(table) == y))
    assert facts["log_loss"] == pytest.approx(log_loss(y, model.predict_proba(table)))


def test_a_model_is_described(skscn, houses_model, iris_model, fitted):
    facts = json.loads(skscn("inspect", houses_model, "--json").stdout)
    assert facts["nodes"] == fitted["houses"]["nodes"]
    assert facts["columns"] == {
        "number": "number", "size": "number", "town": "category", "sold": "date", "garden": "boolean"
    }  # fmt: skip
    scopes = json.loads(skscn("inspect", iris_model, "--json").stdout)["scopes"]
    assert scopes["smallest"] <= scopes["median"] <= scopes["largest"]
    text = skscn("inspect", houses_model).stdout
    for part in (
        "SCNEnsembleRegressor: 2 networks",
        "price (regression)",
        "houses.csv, 392 rows",
        "n_members=2",
        "skscn 0",
    ):
        assert part in text


def test_a_model_saved_from_python(skscn, tmp_path):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = SCNRegressor(max_nodes=5, random_state=0)
    X.assign(target=y).to_csv(tmp_path / "all.csv", index=False)
    for name, rows_given in (("named", X), ("unnamed", X.to_numpy())):
        path = tmp_path / f"{name}.scn"
        save_model(model.fit(rows_given, y), path)
        facts = json.loads(skscn("evaluate", path, tmp_path / "all.csv", "--target", "target", "--json").stdout)
        assert facts["r2"] == pytest.approx(model.score(rows_given, y))
        assert "--target" in skscn("evaluate", path, tmp_path / "all.csv", code=1).stderr
        assert "network with" in skscn("inspect", path).stdout
    assert len(skscn("predict", tmp_path / "named.scn", tmp_path / "all.csv").stdout.splitlines()) == 443
    assert "needs 10 columns" in skscn("predict", tmp_path / "unnamed.scn", tmp_path / "all.csv", code=1).stderr


@pytest.mark.parametrize(
    ("notes", "shown"),
    [
        ({"data": "a plant"}, "data: a plant"),
        ({"target": "y"}, "target: y"),
        ({"tested": 7, "rows": "all"}, "rows: all"),
        ({"skscn": "mine", "clock": 3, "group": "a"}, "clock: 3"),
    ],
)
def test_notes_from_python_are_not_those_of_the_program(skscn, notes, shown, tmp_path):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X.assign(target=y).to_csv(tmp_path / "all.csv", index=False)
    path, later = tmp_path / "m.scn", tmp_path / "later.scn"
    save_model(SCNRegressor(max_nodes=5, random_state=0).fit(X, y), path, notes=notes)
    for model in (path, later):
        assert shown in skscn("inspect", model).stdout
        found = json.loads(skscn("inspect", model, "--json").stdout)["notes"]
        assert found.items() >= {**notes, "skscn": found["skscn"]}.items()
        skscn("predict", model, tmp_path / "all.csv")
        if model == path:
            assert found["skscn"] == {}
            skscn("update", path, tmp_path / "all.csv", "--target", "target", "-o", later)


def test_files_of_version_0_2_keep_their_notes(skscn, houses_model, houses, tmp_path):
    """They had the notes of the program among those of the file."""
    about, old = describe_model(houses_model)["notes"], tmp_path / "old.scn"
    save_model(load_model(houses_model).pipeline(), old, notes=about["skscn"])
    assert skscn("evaluate", old, houses).stdout == skscn("evaluate", houses_model, houses).stdout
    assert "houses.csv, 392 rows" in skscn("inspect", old).stdout
    found = [json.loads(skscn("inspect", path, "--json").stdout)["notes"] for path in (old, houses_model)]
    assert found[0] == found[1]


def test_the_sizes_of_layers_are_described(skscn, tmp_path):
    X, y = load_diabetes(return_X_y=True)
    settings = {"max_nodes": 9, "nodes_per_layer": 5, "max_layers": 2, "early_stopping": False, "random_state": 0}
    model = DeepSCNRegressor(**settings).fit(X, y)
    save_model(model, tmp_path / "deep.scn")
    assert "a network with 9 nodes in 2 layers, of 5, 4" in skscn("inspect", tmp_path / "deep.scn").stdout
    assert json.loads(skscn("inspect", tmp_path / "deep.scn", "--json").stdout)["layers"] == [[5, 4]]
    save_model(SCNEnsembleRegressor(model, n_members=2, random_state=0).fit(X, y), tmp_path / "both.scn")
    assert "2 networks with 9 nodes each, in 2 layers" in skscn("inspect", tmp_path / "both.scn").stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["predict", "{iris}", "{houses_csv}"], "lacks the columns 'length', 'width'"),
        (["predict", "{iris}", "{iris_csv}", "--interval", 0.9], "provides no intervals"),
        (["predict", "{houses}", "{houses_csv}", "--proba"], "not class probabilities"),
        (["predict", "{iris}", "{iris_csv}", "-o", "p.xlsx"], "must end in one of .csv"),
        (["predict", "{iris}", "{iris_csv}", "--keep", "lenght"], "did you mean 'length'"),
        (["predict", "{iris}x", "{iris_csv}"], "There is no model file .*did you mean .*iris.scn"),
        (["predict", "{iris_csv}", "{iris_csv}"], "is not a scikit-scn model file"),
        (["evaluate", "{iris}", "{iris_csv}", "--target", "width"], "predicts 'kind', not 'width'"),
        (["evaluate", "{houses}", "{iris_csv}"], "no column 'price'"),
        (["inspect", "{houses_csv}"], "is not a scikit-scn model file"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(skscn, houses_model, iris_model, houses, iris, arguments, sentence):
    places = {"iris": iris_model, "houses": houses_model, "iris_csv": iris, "houses_csv": houses}
    done = skscn(*(str(part).format(**places) for part in arguments), code=1)
    assert re.search(sentence, done.stderr), done.stderr
    assert done.stderr.count("\n") == 1


def test_a_model_that_takes_a_data_frame_is_for_python(skscn, tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["a", "b"])
    columns = ColumnTransformer([("numbers", "passthrough", ["a", "b"])])
    path, data = tmp_path / "frame.scn", tmp_path / "data.csv"
    frame.to_csv(data)
    save_model(make_pipeline(columns, SCNRegressor(max_nodes=2)).fit(frame, frame.index), path)
    assert "saved from Python with a ColumnTransformer" in skscn("predict", path, data, code=1).stderr
    assert "Pipeline" in skscn("inspect", path).stdout


def test_one_column_that_is_called_otherwise(skscn, iris_model, iris, tmp_path):
    (tmp_path / "a.csv").write_text(
        iris.read_text(encoding="utf-8-sig").replace("petal width", "petal_width"), encoding="utf-8"
    )
    done = skscn("predict", iris_model, tmp_path / "a.csv", code=1)
    assert "lacks the column 'petal width'" in done.stderr
    assert "'petal_width' is there" in done.stderr


@pytest.mark.parametrize("name", ["houses", "iris"])
def test_an_exported_model_takes_columns_and_predicts_the_same(skscn, request, name, tmp_path):
    model_path, data = request.getfixturevalue(f"{name}_model"), request.getfixturevalue(name)
    done = skscn("export", model_path, tmp_path / "m.onnx")
    assert done.stdout == f"{tmp_path / 'm.onnx'}\n"
    model, table = load_model(model_path), open_table(data).read()
    inputs = {}
    for column in model[0].columns_:
        values = as_table(table).column(column.name)
        is_text = column.kind == "category"
        given = [value or "" for value in values.to_list()] if is_text else column.floats(values)
        inputs[column.name] = np.array(given, dtype=object if is_text else float)[:, np.newaxis]
    outputs = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, inputs)
    if name == "houses":
        np.testing.assert_allclose(outputs[0][:, 0], model.predict(table), rtol=1e-9)
        assert "(days since 1970-01-01): sold" in done.stderr
    else:
        np.testing.assert_array_equal(outputs[0], model.predict(table))
        np.testing.assert_allclose(outputs[1], model.predict_proba(table), atol=1e-9)


def test_a_reader_that_has_seen_enough_is_no_error(iris_model, iris):
    program = f"{sys.executable} -m skscn.cli predict {iris_model} {iris}"
    with subprocess.Popen(program.split(), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_a_table_from_standard_input(skscn, houses_model, houses):
    arguments = ["predict", str(houses_model), "-"]
    done = CliRunner().invoke(app, arguments, input=houses.read_bytes(), catch_exceptions=False)
    assert done.stdout == skscn("predict", houses_model, houses).stdout
    nothing = CliRunner().invoke(app, arguments, input=b"", catch_exceptions=False)
    assert nothing.exit_code == 1
    assert "standard input is empty" in nothing.stderr


def test_kept_columns_are_copied_as_they_are_written(skscn, tmp_path):
    path = tmp_path / "parts.csv"
    rows = [f"{i:05d},{i % 7}.50,{'NA' if i % 3 else i % 5},{i % 11 + 0.5 * (i % 7)}" for i in range(60)]
    path.write_text("\n".join(["number,size,colour,price", *rows]), encoding="utf-8")
    skscn("fit", path, "--target", "price", "--model", tmp_path / "m.scn", *QUICK)
    done = skscn("predict", tmp_path / "m.scn", path, *(f"--keep={name}" for name in ("number", "size", "colour")))
    assert [line.split(",")[:3] for line in done.stdout.splitlines()[1:]] == [row.split(",")[:3] for row in rows]


@pytest.mark.parametrize("words", [("False", "True"), ("FALSE", "TRUE"), ("false", "true")])
def test_booleans_come_back_as_they_are_written(skscn, tmp_path, words):
    path, model = tmp_path / "sold.csv", tmp_path / "m.scn"
    path.write_text("\n".join(["x,sold", *(f"{i},{words[i > 40]}" for i in range(80))]), encoding="utf-8")
    facts = json.loads(skscn("fit", path, "--target", "sold", "--model", model, "--json", *QUICK).stdout)
    assert facts["task"] == "classification"
    header, *rows = list(csv.reader(skscn("predict", model, path, "--proba").stdout.splitlines()))
    assert header == ["prediction", *(f"probability of {word}" for word in words)]
    assert {row[0] for row in rows} == set(words)
    assert json.loads(skscn("evaluate", model, path, "--json").stdout)["accuracy"] > 0.9
    assert load_model(model).estimator_.classes_.dtype == bool


def test_words_in_place_of_numbers_are_missing_in_every_command(skscn, tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 120))
    texts = ["kaputt" if i == 5 else "No Data" if i % 5 == 0 else f"{x:.3f}" for i, x in enumerate(a)]
    lines = [f"{text},{x:.3f},{y:.3f}" for text, x, y in zip(texts, b, a + b, strict=True)]
    lines[7] = lines[7].rpartition(",")[0] + ",Bad Input"
    path, later, model = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "m.scn"
    path.write_text("\n".join(["flow,level,yield", *lines]), encoding="utf-8")
    done = skscn("fit", path, "--target", "yield", "--model", model, *QUICK)
    assert "yield: regression" in done.stderr
    assert "Left out: 1 row without a value of yield" in done.stderr
    assert "flow (24)" in done.stderr
    others = [f"{x:.3f},{word},1.0" for x, word in zip(a, ["kaputt", "Bad Input", "inf", "", "NaN"] * 24, strict=True)]
    later.write_text("\n".join(["flow,level,yield", *others]), encoding="utf-8")
    for command in ("predict", "evaluate", "update"):
        assert "Missing values filled in: level (120 rows)" in skscn(command, model, later).stderr
    later.write_text("\n".join(["flow,level,yield", *others, "1.0,other,1.0"]), encoding="utf-8")
    assert "column 'level', line 122: 'other' is not a number" in skscn("predict", model, later, code=1).stderr


def test_categories_not_seen_in_training_are_said(skscn, houses_model, houses, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text(houses.read_text(encoding="utf-8").replace(",Rome,", ",Paris,"), encoding="utf-8")
    n_rows = path.read_text(encoding="utf-8").count("Paris")
    said = f"- town: {n_rows} rows have categories not seen in training, for example 'Paris'.\n"
    assert skscn("predict", houses_model, path).stderr.startswith(said)
    assert skscn("predict", houses_model, path, "--quiet").stderr == ""
    assert "town" not in skscn("predict", houses_model, houses).stderr


@pytest.mark.parametrize("content", [b"", b"PK", bytes(range(256)), (2).to_bytes(8, "little") + b"{}" + bytes(9)])
def test_what_is_no_model_is_said_with_what_to_do(skscn, tmp_path, content):
    path = tmp_path / "m.scn"
    path.write_bytes(content)
    for wrong in (path, tmp_path):
        (line,) = skscn("inspect", wrong, code=1).stderr.splitlines()
        assert line.startswith(f"Error: {wrong} is ")
        assert line.endswith("; give a file made by skscn fit or save_model.")


def test_a_model_that_was_fitted_in_python_on_a_table(skscn, tmp_path):
    """Every command takes it: what encodes the table is found in the model."""
    flats = pd.DataFrame(make_flats(260, random_state=0))
    flats.loc[::9, "size"] = np.nan
    X, y = flats.drop(columns="rent"), flats["rent"]
    model = SCNEnsembleRegressor(SCNRegressor(max_nodes=8, early_stopping=True), n_members=2, random_state=0)
    save_model(model.fit(X[:200], y[:200]), tmp_path / "model.scn")
    flats[200:].to_csv(tmp_path / "new.csv", index=False)
    skscn("predict", tmp_path / "model.scn", tmp_path / "new.csv", "-o", tmp_path / "out.csv")
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "out.csv").iloc[:, 0], model.predict(X[200:]))
    about = json.loads(skscn("inspect", tmp_path / "model.scn", "--json").stdout)
    assert about["columns"]["district"] == "category"
    new = [tmp_path / "model.scn", tmp_path / "new.csv", "--target", "rent"]
    skscn("report", *new, "-o", tmp_path / "report.html")
    skscn("update", *new, "-o", tmp_path / "updated.scn")
    skscn("evaluate", tmp_path / "updated.scn", *new[1:])
    skscn("export", tmp_path / "updated.scn", tmp_path / "model.c")
