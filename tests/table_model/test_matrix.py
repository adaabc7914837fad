"""Every kind of model can do everything: predict, follow, learn, be saved, exported, reported and assessed.

What a kind cannot do it refuses in a sentence that gives the reason.
"""

import subprocess
from copy import deepcopy

import numpy as np
import onnxruntime
import pandas as pd
import pytest

from skscn import TableModel, assess, load_model
from skscn.datasets import EXAMPLES
from skscn.export import to_c
from skscn.onnx import step_state, to_onnx
from skscn.report import write_report
from skscn.table_model import LiveModel

N_TRAIN, N_LATER = 300, 60
BOUNDS = (88.0, 94.0)
KINDS = {
    "network": {"estimator": "network"},
    "ensemble": {"estimator": "ensemble"},
    "classifier": {"estimator": "network"},
    "ensemble of classifiers": {"estimator": "ensemble"},
    "deep": {"estimator": "deep"},
    "lags": {"estimator": "network", "lags": [1, 3], "delay": 5},
    "lags of an ensemble": {"estimator": "ensemble", "lags": [1, 2]},
    "lags of classes": {"estimator": "network", "lags": [1, 2]},
    "recurrent": {"estimator": "recurrent"},
    "recurrent with feedback": {"estimator": "recurrent", "feedback": True},
    "recurrent ensemble": {"estimator": "recurrent-ensemble"},
}
MEMBERS = {"recurrent ensemble": {"n_estimators": 2}, "ensemble": {"n_members": 3}}
TESTED = {"network", "deep", "lags"}
CLASSES = {"classifier", "ensemble of classifiers", "lags of classes"}


@pytest.fixture(scope="module")
def rows():
    return pd.DataFrame(EXAMPLES["plant"](N_TRAIN + N_LATER, random_state=0))


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def table(kind, rows):
    good = np.where(rows["quality"] > rows["quality"].median(), "good", "bad")
    return rows.assign(quality=good) if kind in CLASSES else rows


@pytest.fixture(scope="module")
def model(kind, table):
    members = {**MEMBERS, **dict.fromkeys(("ensemble of classifiers", "lags of an ensemble"), MEMBERS["ensemble"])}
    parameters = {"max_nodes": 6, **members.get(kind, {})}
    bounds = None if kind in CLASSES else BOUNDS
    # Intervals of a single network come from the errors of its tests.
    options = {"time": "time", "folds": 2 if kind in TESTED else 0, "parameters": parameters, "bounds": bounds}
    return TableModel("quality", **options, **KINDS[kind]).fit(table[:N_TRAIN])


@pytest.fixture
def later(table):
    return table[N_TRAIN:]


@pytest.fixture
def unknown(later):
    """Later rows whose targets are not known."""
    return later.assign(quality=None)


def each(later):
    return [{**row, "time": str(row["time"])} for row in later.to_dict("records")]


def test_predict(model, later, kind):
    predicted = model.predict(later)
    assert len(predicted) == N_LATER
    if kind in CLASSES:
        assert {*predicted} <= {"good", "bad"}
        np.testing.assert_allclose(model.predict_proba(later).sum(axis=1), 1.0)
    else:
        assert (BOUNDS[0] <= predicted).all()
        assert (predicted <= BOUNDS[1]).all()
        assert predicted.std() > 0.0


def test_intervals(model, later, kind):
    if kind in CLASSES:
        with pytest.raises(ValueError, match="predicts classes, which have probabilities"):
            model.predict_interval(later)
        return
    lower, upper = model.predict_interval(later)
    assert (lower <= model.predict(later)).all()
    assert (model.predict(later) <= upper).all()
    assert (model.predict_interval(later, coverage=0.5)[0] >= lower).all()


def test_follow_agrees_with_predict(model, later, unknown):
    live, expected = model.follow(learn=False), model.predict(unknown)
    found = [live.predict_one(row) for row in each(later)]
    if isinstance(found[0], str):
        assert found == expected.tolist()
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_late_targets_are_learnt_and_survive_a_restart(model, later, tmp_path):
    given = each(later)
    undisturbed, found = model.follow(), []
    for number, row in enumerate(given):
        undisturbed.predict_one(row)
        if number >= 7:
            undisturbed.learn_one(given[number - 7], given[number - 7]["quality"])
    assert undisturbed.n_learnt == N_LATER - 7
    for number, row in enumerate(given):
        with LiveModel(model, journal=tmp_path / "journal") as live:
            found.append(live.predict_one(row))
            if number >= 7:
                live.learn_one(given[number - 7], given[number - 7]["quality"])
        if number == 15:
            break
    with LiveModel(model) as live:
        for number, row in enumerate(given[:16]):
            assert live.predict_one(row) == found[number]
            if number >= 7:
                live.learn_one(given[number - 7], given[number - 7]["quality"])


def test_update(model, later):
    updated = deepcopy(model)
    before = model.predict(later)
    found = updated.update(later, force=True)
    assert found.n_rows == N_LATER
    assert len(updated.predict(later)) == N_LATER
    np.testing.assert_array_equal(model.predict(later), before)


def test_save_and_load(model, later, tmp_path):
    model.save(tmp_path / "model.scn")
    np.testing.assert_array_equal(load_model(tmp_path / "model.scn").predict(later), model.predict(later))


def test_c_code(model, c_compiler, tmp_path):
    text = to_c(model, tmp_path / "model.c")
    assert ("model_step" if model.uses_past else "model_predict") in text
    strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-DSKSCN_TEST"]
    subprocess.run([c_compiler, *strict, tmp_path / "model.c", "-o", tmp_path / "model", "-lm"], check=True)
    done = subprocess.run([tmp_path / "model"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def run_graph(model, later, targets):
    """What the graph of a model says about rows; ``targets`` has those of all rows, which become known in time."""
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    names = [end.name for end in session.get_inputs()]
    columns = {
        column.name: column.floats(table_column(later, column))[:, np.newaxis]
        for column in model.encoder_.columns_
        if column.name in names
    }
    output = "label" if model.is_classifier else "variable"
    if not model.uses_past:
        return session.run([output], columns)[0].reshape(-1)
    late = {"y_before": 1, "y_known": 1 if model.lags_ is None else model.lags_.delay_}
    state, found = step_state(model, "end"), []
    for number in range(N_LATER):
        given = {name: values[number : number + 1] for name, values in columns.items()}
        told = {name: targets[N_TRAIN + number - late[name]].reshape(1, 1) for name in names if name in late}
        answer, state = session.run([output, "next_state"], {**given, **told, "state": state})
        found.append(answer.reshape(-1)[0])
    return found


def test_onnx(model, later, unknown):
    found, expected = run_graph(model, later, np.full(N_TRAIN + N_LATER, np.nan)), model.predict(unknown)
    if model.is_classifier:
        assert list(found) == expected.tolist()
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("kind", ["lags", "recurrent with feedback"], scope="module")
@pytest.mark.parametrize("missing", [1, 4])
def test_a_graph_is_told_targets_when_they_are_known(model, table, missing):
    """All of them, or those of every fourth row."""
    targets = table["quality"].where(np.arange(len(table)) % missing == 0)
    found = run_graph(model, table[N_TRAIN:], np.append(table["quality"][:N_TRAIN], targets[N_TRAIN:]))
    expected = model.predict(table.assign(quality=targets)[N_TRAIN:])
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert np.abs(expected - model.predict(table.assign(quality=np.nan)[N_TRAIN:])).max() > 1e-3


def table_column(frame, column):
    from skscn.tables import as_table

    return as_table(frame).column(column.name)


@pytest.mark.slow
def test_report(model, later, tmp_path):
    write_report(model, later, tmp_path / "report.html")
    assert "</html>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_assess(model, later, kind):
    found = assess(model, later)
    assert found.scores["accuracy" if kind in CLASSES else "rmse"] > 0.0
    assert found.n_rows == N_LATER
