"""skscn update and skscn predict --follow: models that learn from new rows."""

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from skscn import SCNRegressor, describe_model, load_model, save_model
from skscn.cli.app import app

FAST = ["--set", "max_nodes=8", "--cv", "0", "--jobs", "1", "--quiet"]


@pytest.fixture(scope="module")
def model(skscn, houses, tmp_path_factory):
    path = tmp_path_factory.mktemp("update") / "houses.scn"
    skscn("fit", houses, "-t", "price", "-m", path, "--estimator", "network", *FAST)
    return path


def changed(source, path, change):
    """A copy of a table with its rows, as dictionaries, changed."""
    with source.open(newline="", encoding="utf-8") as file:
        rows = [change(number, dict(row)) for number, row in enumerate(csv.DictReader(file))]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_the_updated_model_has_learnt_the_rows(skscn, model, sold, tmp_path):
    before, out = model.read_bytes(), tmp_path / "new.scn"
    facts = json.loads(skscn("update", model, sold, "-o", out, "--json").stdout)
    assert model.read_bytes() == before
    evaluated = {path: json.loads(skscn("evaluate", path, sold, "--json").stdout) for path in (model, out)}
    assert facts["before"]["rmse"] == pytest.approx(evaluated[model]["rmse"])
    assert facts["after"]["rmse"] == pytest.approx(evaluated[out]["rmse"])
    assert facts["after"]["rmse"] < facts["before"]["rmse"]
    assert evaluated[out]["share_trained_on"] > 0.9
    assert facts["while_learning"]["rows"] == 147 - 147 // 7
    assert not facts["while_learning"]["worse"]
    steps = load_model(out)
    assert facts["rows_seen"] == steps[-1].n_rows_seen_ == load_model(model)[-1].n_rows_seen_ + 147
    assert "Left out: 3 rows without a value of price." in facts["notes"]
    # A second time, in place and in words.
    said = skscn("update", out, sold)
    assert "before learning these rows" in said.stdout
    assert "Learning part by part" in said.stderr
    assert "About 100 % of these rows were learnt before; from now on they count twice." in said.stderr
    assert load_model(out)[-1].n_rows_seen_ == facts["rows_seen"] + 147


def test_targets_in_another_unit_are_noticed(skscn, model, sold, tmp_path):
    def in_thousands(_, row):
        return {**row, "price": row["price"] and str(float(row["price"]) / 1000)}

    other = changed(sold, tmp_path / "thousands.csv", in_thousands)
    assert "in the same unit" in skscn("update", model, other, "-o", tmp_path / "new.scn").stderr
    assert "in the same unit" not in skscn("update", model, sold, "-o", tmp_path / "new.scn").stderr


def test_a_worse_model_replaces_nothing_unless_it_is_forced(skscn, model, sold, tmp_path):
    wrong = changed(
        sold,
        tmp_path / "wrong.csv",
        lambda number, row: row | ({"price": float(row["price"]) * 100} if 0 < number < 15 else {}),
    )
    copy = shutil.copy(model, tmp_path / "copy.scn")
    said = skscn("update", copy, wrong, code=1)
    assert "was left as it is, because learning from these rows makes it worse" in said.stderr
    assert copy.read_bytes() == model.read_bytes()
    facts = json.loads(skscn("update", copy, wrong, "-o", tmp_path / "other.scn", "--json").stdout)
    assert facts["while_learning"]["worse"]
    assert facts["while_learning"]["updated"]["rmse"] > facts["while_learning"]["unchanged"]["rmse"]
    skscn("update", copy, wrong, "--force")
    assert copy.read_bytes() != model.read_bytes()


def test_columns_and_categories_that_do_not_fit(skscn, model, sold, tmp_path):
    renamed = tmp_path / "renamed.csv"
    renamed.write_text(sold.read_text(encoding="utf-8").replace("town", "twon", 1), encoding="utf-8")
    assert "lacks the column 'town'" in skscn("update", model, renamed, code=1).stderr
    paris = changed(sold, tmp_path / "paris.csv", lambda _, row: row | {"town": row["town"].replace("Rome", "Paris")})
    said = skscn("update", model, paris, "-o", tmp_path / "new.scn")
    assert "have categories not seen in training, for example 'Paris'" in said.stderr
    nothing = changed(sold, tmp_path / "nothing.csv", lambda _, row: row | {"price": ""})
    assert "no row with a value of 'price'" in skscn("update", model, nothing, code=1).stderr
    assert "There is no model file" in skscn("update", tmp_path / "missing.scn", sold, code=1).stderr


def test_classes_weights_and_models_of_python(skscn, iris, iris_model, tmp_path):
    out = tmp_path / "iris.scn"
    facts = json.loads(skscn("update", iris_model, iris, "-o", out, "--json").stdout)
    assert set(facts["before"]) == {"accuracy", "log_loss"}
    assert len(load_model(out)[-1].members_) == 2
    X = np.random.default_rng(0).uniform(size=(80, 2))
    plain = SCNRegressor(max_nodes=5, random_state=0).fit(X[:40], X[:40].sum(axis=1) ** 2)
    plain.feature_names_in_ = np.array(["a", "b"], dtype=object)
    save_model(plain, tmp_path / "plain.scn")
    table = np.column_stack([X[40:, ::-1], X[40:].sum(axis=1) ** 2, np.full(40, 2.0)])
    np.savetxt(tmp_path / "more.csv", table, delimiter=",", header="b,a,y,w", comments="")
    skscn("update", tmp_path / "plain.scn", tmp_path / "more.csv", "-t", "y", "--weight", "w", "--force", "-q")
    del plain.feature_names_in_
    plain.partial_fit(X[40:], X[40:].sum(axis=1) ** 2, sample_weight=np.full(40, 2.0))
    loaded = load_model(tmp_path / "plain.scn")
    assert list(loaded.feature_names_in_) == ["a", "b"]
    np.testing.assert_allclose(loaded.estimator_.network_.predict(X), plain.predict(X), rtol=1e-8)


def test_a_model_that_cannot_be_updated_says_so(skscn, iris, folder, tmp_path):
    save_model(load_model(folder / "iris.scn"), tmp_path / "fixed.scn", updatable=False)
    said = skscn("update", tmp_path / "fixed.scn", iris, "-t", "kind", code=1)
    assert "must be fitted once more before it can be updated" in said.stderr


def follow(model, text, *options, code=0):
    done = CliRunner().invoke(app, ["predict", str(model), "--follow", *map(str, options)], input=text)
    assert done.exit_code == code, done.stdout + done.stderr
    return done


def test_followed_rows_that_were_learnt_are_recognised(skscn, model, sold, tmp_path):
    out = tmp_path / "followed.scn"
    follow(model, sold.read_text(encoding="utf-8"), "--learn", "-o", out)
    assert json.loads(skscn("evaluate", model, sold, "--json").stdout)["share_trained_on"] == 0.0
    assert json.loads(skscn("evaluate", out, sold, "--json").stdout)["share_trained_on"] > 0.5
    (update,) = describe_model(out)["notes"]["skscn"]["updated_with"]
    assert update == {"data": "standard input", "rows": 147}


def test_followed_rows_are_read_like_those_of_a_table(model, sold):
    header, first, second, *_ = sold.read_text(encoding="utf-8").splitlines()
    words = ["Bad Input", "No Data", "inf", "-Infinity", "NA", ""]
    cells = second.split(",")
    rows = [",".join([cells[0], word, *cells[2:]]) for word in words]
    done = follow(model, "\n".join([header, first, *rows, '7,"x']), "--keep", "size")
    _, _, *answers, last = list(csv.reader(done.stdout.splitlines()))
    assert [size for size, _ in answers] == words
    assert len({prediction for _, prediction in answers}) == 1
    assert last == ["", ""]
    assert "a quote is opened and never closed" in done.stderr
    assert "Missing values filled in: size (7 rows)" in done.stderr


def test_followed_rows_are_answered_and_learnt(skscn, model, sold, tmp_path):
    text, out = sold.read_text(encoding="utf-8"), tmp_path / "followed.scn"
    done = follow(model, text, "--keep", "number")
    predicted = list(csv.DictReader(io.StringIO(done.stdout)))
    expected = skscn("predict", model, sold, "--keep", "number").stdout
    for ours, theirs in zip(predicted, csv.DictReader(io.StringIO(expected)), strict=True):
        assert ours["number"] == theirs["number"]
        assert float(ours["prediction"]) == pytest.approx(float(theirs["prediction"]))
    learnt = follow(model, text, "--learn", "-o", out)
    assert "learnt from 147" in learnt.stderr
    at_once = json.loads(skscn("update", model, sold, "-o", tmp_path / "once.scn", "--json").stdout)
    evaluated = json.loads(skscn("evaluate", out, sold, "--json").stdout)
    assert evaluated["rmse"] == pytest.approx(at_once["after"]["rmse"], rel=1e-6)


def test_a_loss_that_cannot_be_updated_is_refused_as_in_update(skscn, houses, sold, tmp_path):
    path = tmp_path / "robust.scn"
    skscn("fit", houses, "-t", "price", "-m", path, "--estimator", "network", "--loss", "welsch", *FAST)
    refused = skscn("update", path, sold, code=1).stderr
    assert "fit all rows again" in refused
    assert follow(path, sold.read_text(encoding="utf-8"), "--learn", code=1).stderr == refused


def test_names_are_written_before_the_first_row(model, sold):
    header, row = sold.read_text(encoding="utf-8").splitlines()[:2]
    options = ["--keep", "town"]
    names, predicted = follow(model, f"{header}\n{row}\n", *options).stdout.splitlines()
    assert follow(model, f"{header}\n", *options).stdout == f"{names}\n"
    assert len(predicted.split(",")) == len(names.split(",")) == 2


def test_the_journal_is_named_where_its_rows_are_counted(model, sold, tmp_path):
    options = ["--learn", "--journal", str(tmp_path / "journal")]
    done = CliRunner().invoke(app, ["follow", str(model), *options], input=sold.read_text(encoding="utf-8"))
    assert "learnt from 147, including those in the journal." in done.stderr


def test_inputs_outside_the_training_range_are_named_at_once_and_at_the_end(model, sold):
    header, _, first, second, *_ = sold.read_text(encoding="utf-8").splitlines()
    huge = second.replace(second.split(",")[1], "90000")
    done = follow(model, "\n".join([header, first, huge, huge]))
    assert done.stderr.count("is outside the training range") == 1
    assert "Row 2 is outside the training range: size." in done.stderr
    assert "- size: 2 of 3 rows are above the largest training value" in done.stderr


def test_a_row_that_is_wrong_is_named_and_the_others_are_answered(model, sold):
    header, first, second, *_ = sold.read_text(encoding="utf-8").splitlines()
    done = follow(model, "\n".join([header, first, "1,2", second.replace(second.split(",")[1], "wide"), second]))
    assert [bool(line.strip('"')) for line in done.stdout.splitlines()] == [True, True, False, False, True]
    assert "Row 2 was neither predicted nor learnt: A row of standard input has 2 values for 7 columns" in done.stderr
    assert "Row 3 was neither" in done.stderr
    dear = f"{second.rpartition(',')[0]},dear"
    done = follow(model, "\n".join([header, first, dear, second]), "--learn")
    assert all(done.stdout.splitlines())
    assert "Row 2 was predicted, but not learnt: Column 'price' holds 'dear'" in done.stderr
    assert "learnt from 1" in done.stderr
    assert "lacks 'number', 'size'" in follow(model, "a,b\n1,2\n", code=1).stderr
    assert "--learn needs a column 'price'" in follow(model, header.rpartition(",")[0] + "\n", "--learn", code=1).stderr
    for options in (["--follow", "-o", "x.scn"], ["--learn"], []):
        assert CliRunner().invoke(app, ["predict", str(model), *options]).exit_code == 2


def price_of(line, price):
    """A line of the table with another price, which is the last column."""
    return f"{line.rpartition(',')[0]},{price}"


def predictions(done):
    return np.array([float(line) for line in done.stdout.splitlines()[1:]])


@pytest.mark.parametrize("price", ["1e9", "-9999999", "1e300"])
def test_one_bad_target_is_set_aside(skscn, model, sold, tmp_path, price):
    header, *lines = [line for line in sold.read_text(encoding="utf-8").splitlines() if not line.endswith(",")]
    bad, out = [*lines[:20], price_of(lines[20], price), *lines[21:]], tmp_path / "followed.scn"
    without = predictions(
        follow(model, "\n".join([header, *lines[:20], price_of(lines[20], ""), *lines[21:]]), "--learn")
    )
    done = follow(model, "\n".join([header, *bad]), "--learn", "-o", out)
    np.testing.assert_array_equal(predictions(done), without)
    assert "Row 21 was predicted, but not learnt: The target is far outside the range of earlier ones" in done.stderr
    assert f"learnt from {len(lines) - 1}; set aside 1." in done.stderr
    table = tmp_path / "bad.csv"
    table.write_text("\n".join([header, *bad]), encoding="utf-8")
    facts = json.loads(skscn("update", model, table, "-o", tmp_path / "once.scn", "--json").stdout)
    assert (facts["rows"], facts["set_aside"]) == (len(lines) - 1, 1)
    assert any("Set aside: The target is far outside" in note for note in facts["notes"])
    of_table, of_rows = (load_model(path)[-1] for path in (tmp_path / "once.scn", out))
    assert of_table.n_rows_seen_ == of_rows.n_rows_seen_
    np.testing.assert_allclose(of_table.network_.output_weights, of_rows.network_.output_weights, rtol=1e-4)


def test_targets_that_go_on_are_learnt_and_a_file_remembers_them(skscn, model, sold, tmp_path):
    header, *lines = [line for line in sold.read_text(encoding="utf-8").splitlines() if not line.endswith(",")]
    dear = [price_of(line, 1000.0 * float(line.rpartition(",")[2])) for line in lines]
    halves = [tmp_path / "one.scn", tmp_path / "two.scn"]
    first = follow(model, "\n".join([header, *dear[:6]]), "--learn", "-o", halves[0])
    assert "learnt from 0; set aside 6." in first.stderr
    second = follow(halves[0], "\n".join([header, *dear[6:40]]), "--learn", "-o", halves[1])
    at_once = follow(model, "\n".join([header, *dear[:40]]), "--learn")
    learnt = int(at_once.stderr.partition("learnt from ")[2].partition(";")[0])
    assert 20 <= learnt < 40
    assert f"learnt from {learnt};" in second.stderr
    skscn("update", model, write(tmp_path / "few.csv", [header, *dear[:3]]), code=1)


def write(path, lines):
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


PROGRAM = [sys.executable, "-m", "skscn.cli"]


def followed_live(model, sold, out, signal_number, *options):
    """Let the program answer five rows and end it by a signal; its exit code, and how many rows it has learnt."""
    lines = [line for line in sold.read_bytes().splitlines(keepends=True) if not line.rstrip().endswith(b",")]
    command = [*PROGRAM, "predict", str(model), "--follow", "--learn", "-o", str(out), *options]
    # An interrupt within the measurement of coverage would leave its lock closed for ever.
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    with subprocess.Popen(
        command, env=unmeasured, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdin.write(lines[0] + lines[1])
        process.stdin.flush()
        assert process.stdout.readline() == b"prediction\n"
        for line in lines[2:6]:
            assert float(process.stdout.readline())
            process.stdin.write(line)
            process.stdin.flush()
        assert float(process.stdout.readline())
        process.send_signal(signal_number)
        process.communicate(timeout=60)
    return process.returncode, load_model(out)[-1].n_rows_seen_ - load_model(model)[-1].n_rows_seen_


# Windows has none of these signals for one process.
if sys.platform != "win32":

    @pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
    def test_each_row_is_answered_before_the_next_and_signals_keep_what_was_learnt(model, sold, tmp_path, name):
        code, learnt = followed_live(model, sold, tmp_path / "live.scn", getattr(signal, name))
        assert code == 0
        assert learnt >= 4

    def test_killed_between_saves_there_is_the_latest_save(model, sold, tmp_path):
        code, learnt = followed_live(model, sold, tmp_path / "live.scn", signal.SIGKILL, "--save-every", "0")
        assert code == -signal.SIGKILL
        assert learnt >= 4


@pytest.mark.slow
def test_killed_at_any_time_there_is_the_old_or_the_new_model(skscn, model, sold, tmp_path):
    """Twenty times, at times spread over the whole run."""
    path, rows = tmp_path / "model.scn", load_model(model)[-1].n_rows_seen_
    command = [*PROGRAM, "update", str(path), str(sold), "-q"]
    shutil.copy(model, path)
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    duration = time.perf_counter() - started
    seen = []
    for number in range(20):
        shutil.copy(model, path)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(duration * (0.3 + 0.8 * number / 20))
        process.kill()
        process.wait()
        seen.append(load_model(path)[-1].n_rows_seen_)
    assert set(seen) <= {rows, rows + 147}
