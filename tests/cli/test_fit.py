"""``skscn fit``."""

import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from skscn.cli.options import read_settings
from skscn.persistence import describe_model, load_model
from skscn.table_model.settings import choose
from skscn.tables import TableEncoder, open_table

QUICK = ["--set", "n_members=2", "--set", "max_nodes=8", "--cv", "2", "--jobs", "1"]


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_said_about_a_regression(fitted):
    facts = fitted["houses"]
    assert facts["task"] == "regression"
    assert facts["rows"] == 392
    assert facts["columns"] == ["number", "size", "town", "sold", "garden"]
    assert facts["estimator"] == "SCNEnsembleRegressor"
    assert len(facts["nodes"]) == 2
    assert facts["tested"]["folds"] == 2
    assert facts["tested"]["rmse"]["mean"] < 0.5 * facts["tested"]["baseline"]["rmse"]
    assert any("remark" in note for note in facts["notes"])


def test_what_is_said_about_classes(fitted):
    facts = fitted["iris"]
    assert facts["task"] == "classification"
    assert facts["rows"] == 150
    assert facts["tested"]["accuracy"]["mean"] > 0.85
    assert facts["tested"]["baseline"]["accuracy"] == pytest.approx(1 / 3, abs=0.02)
    assert facts["tested"]["log_loss"]["mean"] < facts["tested"]["baseline"]["log_loss"]


def test_results_are_on_stdout_and_notes_on_stderr(skscn, iris, tmp_path):
    done = skscn("fit", iris, "-t", "kind", "-m", tmp_path / "m.scn", *QUICK)
    assert "2-fold cross-validation" in done.stdout
    assert "predicting the most frequent class" in done.stdout
    assert "separated by semicolons, with decimal commas" in done.stderr
    assert "classification (the target has 3 different text values)" in done.stderr
    assert "Training SCNEnsembleClassifier (more accurate; " in done.stderr


def test_quiet_leaves_the_result_alone(skscn, iris, tmp_path):
    done = skscn("fit", iris, "-t", "kind", "-m", tmp_path / "m.scn", "--quiet", "--json", *QUICK)
    assert done.stderr == ""
    assert json.loads(done.stdout)["target"] == "kind"


def test_the_file_holds_what_is_needed_later(houses_model):
    description = describe_model(houses_model)
    assert description["steps"] == [("table", "TableEncoder"), ("model", "SCNEnsembleRegressor")]
    notes = description["notes"]["skscn"]
    assert notes["target"] == {"name": "price", "kind": "number", "decimal": None}
    assert notes["data"] == "houses.csv"
    assert notes["rows"] == 392
    assert notes["tested"]["parts"] == 2


def test_a_model_is_a_pipeline_for_python_too(skscn, houses_model, houses):
    model = load_model(houses_model)
    predictions = [float(line) for line in skscn("predict", houses_model, houses).stdout.splitlines()[1:]]
    np.testing.assert_array_equal(model.predict(open_table(houses).read()), predictions)


def test_the_same_seed_gives_the_same_model(skscn, houses, tmp_path):
    network = ["--estimator", "network", "--set", "max_nodes=5", "--cv", "0", "--quiet"]
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        skscn("fit", houses, "-t", "price", "-m", tmp_path / f"{name}.scn", "--seed", seed, *network)
    a, b, c = (skscn("predict", tmp_path / f"{name}.scn", houses).stdout for name in "abc")
    assert a == b != c


def test_weights_and_columns_left_out(skscn, tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{x},{2 * x if w else 99},{w},{rng.normal()}" for x in range(40) for w in (0, 1)]
    path = write(tmp_path / "a.csv", "\n".join(["x,y,w,noise", *lines]))
    facts = json.loads(
        skscn(
            "fit", path, "-t", "y", "-m", tmp_path / "m.scn", "--weight", "w", "--drop", "noise", "--json", "--cv", 0,
            "--estimator", "network",
        ).stdout
    )  # fmt: skip
    assert facts["columns"] == ["x"]
    assert facts["tested"] is None
    predictions = [float(line) for line in skscn("predict", tmp_path / "m.scn", path).stdout.splitlines()[1:]]
    np.testing.assert_allclose(predictions, [2 * x for x in range(40) for _ in "01"], atol=1)


def test_a_file_larger_than_memory_gives_the_model_of_one_in_memory(skscn, houses, tmp_path):
    # The limit is so low that a file of several megabytes stays on disk.
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40_000, 4))
    y = np.sin(5 * X[:, 0]) + X[:, 1]
    path = tmp_path / "many.csv"
    kinds = rng.choice(["a", "b"], len(X))
    lines = (f"{','.join(map(str, row))},{kind},{target}" for row, kind, target in zip(X, kinds, y, strict=True))
    write(path, "\n".join(["p,q,r,s,kind,y", *lines]))
    options = ["-t", "y", "--set", "max_nodes=6", "--estimator", "network", "--cv", "0", "--jobs", "1"]
    on_disk = skscn("fit", path, "-m", tmp_path / "disk.scn", "--memory-limit", 4, *options)
    assert "is read from disk" in on_disk.stderr
    assert "40,000 rows" in on_disk.stdout
    skscn("fit", path, "-m", tmp_path / "memory.scn", *options)
    disk, memory = (load_model(tmp_path / f"{name}.scn")[-1].network_ for name in ("disk", "memory"))
    np.testing.assert_allclose(disk.output_weights, memory.output_weights, rtol=1e-6)
    refused = skscn(
        "fit", path, "-m", tmp_path / "m.scn", "--memory-limit", 4, "-t", "y", "--estimator", "ensemble", code=1
    )
    assert "--estimator network" in refused.stderr


MANY = "\n".join(f"{i},{i % 7}.5,{'ab'[i % 2]}" for i in range(30))


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        ("", ["-t", "y"], "is empty"),
        ("x,y\n", ["-t", "y"], "has 0 rows; training needs at least 10"),
        ("x,y\n1,2\n", ["-t", "y"], "has 1 row; training needs at least 10"),
        ("y\n" + "1\n" * 20, ["-t", "y"], "no column to predict 'y' from"),
        ("x,y\n" + "1,7\n" * 20, ["-t", "y"], "'y' is 7 in all rows"),
        ("x,y\n" + "1,a\n" * 20, ["-t", "y"], "'y' is a in all rows"),
        ("x,x,y\n1,2,3\n", ["-t", "y"], "several columns 'x'"),
        ("x,y\n" + "1,\n" * 20 + "1,2\n", ["-t", "y"], "'y' has a value in only 1 row"),
        ("x,y\n" + "\n".join(f"{i},name {i}" for i in range(20)), ["-t", "y"], "20 classes in 20 rows"),
        ("x,y,z\n" + MANY, ["-t", "Z "], "no column 'Z '; did you mean 'z'"),
        ("x,y,z\n" + MANY, ["-t", "z", "--drop", "yy"], "no column 'yy'; did you mean 'y'"),
        ("x,y,z\n" + MANY, ["-t", "z", "--drop", "z"], "'z' is the target"),
        ("x,y,z\n" + MANY, ["-t", "z", "--task", "regression"], "holds 'a', which is not a number"),
        ("x,y,z\n" + MANY, ["-t", "x", "--weight", "z"], "The weights 'z' are text; they must be numbers"),
        ("x,y,z\n" + MANY, ["-t", "y", "--set", "max_nodes=many"], "'max_nodes' parameter .* must be .*an int"),
        ("x,y,z\n" + MANY, ["-t", "y", "--estimator", "network", "--set", "n_members=3"], "parameter of ensembles"),
    ],
)
def test_what_cannot_be_fitted_is_one_sentence(skscn, tmp_path, text, options, sentence):
    done = skscn("fit", write(tmp_path / "a.csv", text), "-m", tmp_path / "m.scn", "--quiet", *options, code=1)
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("Error: ")
    assert re.search(sentence, done.stderr), done.stderr
    assert not (tmp_path / "m.scn").exists()


def test_where_a_model_cannot_be_written_is_said_before_the_work(skscn, houses, tmp_path):
    done = skscn("fit", houses, "-t", "price", "-m", tmp_path / "no" / "m.scn", code=1)
    assert f"{tmp_path / 'no' / 'm.scn'} cannot be written: there is no folder" in done.stderr
    assert "is a folder" in skscn("fit", houses, "-t", "price", "-m", tmp_path, code=1).stderr


def test_a_limit_on_nodes_that_was_reached_is_said(skscn, houses, tmp_path):
    options = ["-m", tmp_path / "m.scn", "--estimator", "network", "--cv", 0, "--set", "early_stopping=false"]
    done = skscn("fit", houses, "-t", "price", *options, "--set", "max_nodes=3")
    assert "Growth ended at max_nodes=3; more nodes may be better: --set max_nodes=6." in done.stderr
    assert "Growth" not in skscn("fit", houses, "-t", "price", *options, "--set", "tol=1e9").stderr


def test_an_interrupt_before_anything_has_grown(skscn, houses, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(TableEncoder, "fit", interrupted)
    done = skscn("fit", houses, "-t", "price", "-m", tmp_path / "m.scn", code=130)
    assert done.stderr.endswith("Interrupted: nothing had finished, so no model was written.\n")
    assert not list(tmp_path.iterdir())


def test_an_interrupt_of_tests_keeps_the_whole_model(skscn, houses, tmp_path, monkeypatch):
    def interrupted(encoder, estimator, rows, folds, growth):
        growth.interrupt()
        growth.interrupt()

    monkeypatch.setattr("skscn.table_model.fitting.cross_validate", interrupted)
    done = skscn("fit", houses, "-t", "price", "-m", tmp_path / "m.scn", *QUICK, code=130)
    assert "m.scn contains the whole model; only its tests were cut short." in done.stderr
    assert not describe_model(tmp_path / "m.scn")["notes"]["skscn"]["interrupted"]
    kept = (tmp_path / "m.scn").read_bytes()
    done = skscn("fit", houses, "-t", "price", "-m", tmp_path / "m.scn", *QUICK, "--seed", "1", code=130)
    assert "m.partial.scn contains the whole model; only its tests were cut short; " in done.stderr
    assert "m.scn is unchanged" in done.stderr
    assert (tmp_path / "m.scn").read_bytes() == kept
    monkeypatch.undo()
    skscn("fit", houses, "-t", "price", "-m", tmp_path / "m.scn", *QUICK, "--seed", "1")
    assert (tmp_path / "m.scn").read_bytes() != kept
    assert list(tmp_path.iterdir()) == [tmp_path / "m.scn"]


def test_the_choice_of_a_model_is_explained():
    assert choose("auto", 1000) == ("ensemble", 'more accurate; estimator="network" is faster')
    assert choose("auto", 10**8)[0] == "network"
    assert choose("recurrent", 1000) == ("recurrent", "as requested")


def test_values_of_settings():
    texts = ["a=1", "b=0.5", "c=true", "d=None", "e=(1, 2)", "f=SC-III", "g= gcv ", "h='x=y'"]
    values = {"a": 1, "b": 0.5, "c": True, "d": None, "e": (1, 2), "f": "SC-III", "g": "gcv", "h": "x=y"}
    assert read_settings(texts) == values


# The program, which says when a network of its own or a member of an ensemble has grown.
TELLING = """
import sys
from skscn.cli import main
from skscn.cli.growth import Growth
hear = {name: getattr(Growth, name) for name in ("step", "member")}
def step(growth, step, max_nodes):
    if not growth._in_ensemble:
        print("grown", file=sys.stderr, flush=True)
    return hear["step"](growth, step, max_nodes)
def member(*arguments):
    print("grown", file=sys.stderr, flush=True)
    return hear["member"](*arguments)
Growth.step, Growth.member = step, member
main()
"""

if sys.platform != "win32":

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (["--estimator", "network", "--set", "tol=0"], "a network with"),
            (["--estimator", "ensemble", "--set", "n_members=2000"], "networks with"),
        ],
    )
    def test_ctrl_c_keeps_what_has_grown(skscn, tmp_path, options, said):
        rng = np.random.default_rng(0)
        path = tmp_path / "noise.csv"
        write(tmp_path / "m.scn", "finished")
        np.savetxt(path, rng.normal(size=(2000, 4)), delimiter=",", header="a,b,c,y", comments="")
        forever = ["--set", "max_nodes=100000", "--set", "early_stopping=false", "--set", "configuration=ladder"]
        if "network" not in options:
            forever = ["--set", "max_nodes=3", "--set", "early_stopping=false"]
        command = ["fit", path, "-t", "y", "-m", tmp_path / "m.scn", "--jobs", "1", *options, *forever]
        process = subprocess.Popen(
            [sys.executable, "-c", TELLING, *map(str, command)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert process.stderr is not None
        while "as requested" not in process.stderr.readline():
            assert process.poll() is None
        for _ in range(3):
            assert process.stderr.readline() == "grown\n"
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate()
        assert process.returncode == 130, errors
        assert said in out
        assert "contains what had been trained" in errors
        assert "Traceback" not in errors
        assert (tmp_path / "m.scn").read_text() == "finished"
        assert "m.scn is unchanged" in errors
        assert describe_model(tmp_path / "m.partial.scn")["notes"]["skscn"]["interrupted"]
        assert "Ctrl-C" in skscn("inspect", tmp_path / "m.partial.scn").stdout
        model = load_model(tmp_path / "m.partial.scn")
        assert np.isfinite(model.predict(open_table(path).read())).all()
