"""Training on rows in files gives the network of rows in memory."""

import os
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skscn import ACTIVATIONS, SCNClassifier, SCNEnsembleRegressor, SCNRegressor
from skscn.nodes import Dense
from skscn.rows import ROWS, Chunks, ScratchInputs, open_rows, opened
from skscn.scaling import SCALINGS, scale_inputs

RNG = np.random.default_rng(11)
# Four stretches, the last one shorter.
X = RNG.uniform(size=(8999, 5)) * [1.0, 10.0, 0.1, 5.0, 1.0] + [0.0, 3.0, 0.0, -2.0, 1.0]
Y = np.sin(5 * X[:, 0]) + 0.1 * X[:, 1] * X[:, 4] + 0.05 * RNG.normal(size=8999)
# So little that nothing stays in memory but what has to.
LITTLE = 200_000
SMALL = {"max_nodes": 20, "max_candidates": 40, "random_state": 0}


def same(ours, theirs):
    for name in ("weights", "biases", "output_weights"):
        np.testing.assert_array_equal(getattr(ours.network_, name), getattr(theirs.network_, name))
    for name in ("nodes", "train_rmse", "validation_rmse", "slack"):
        np.testing.assert_array_equal(ours.history_[name], theirs.history_[name])


@pytest.fixture
def opened_as(monkeypatch):
    """The backends that were used."""
    used = []
    for name, function in list(ROWS.items()):

        def noted(*arguments, name=name, function=function, **settings):
            used.append(name)
            return function(*arguments, **settings)

        monkeypatch.setitem(ROWS, name, noted)
    return used


@pytest.mark.parametrize("algorithm", ["SC-I", "SC-II", "SC-III"])
@pytest.mark.parametrize("configuration", ["polished", "ladder"])
def test_the_network_is_that_of_rows_in_memory(algorithm, configuration, opened_as):
    parameters = SMALL | {"algorithm": algorithm, "configuration": configuration, "window": 4}
    in_memory = SCNRegressor(**parameters).fit(X, Y)
    in_files = SCNRegressor(**parameters).fit(Chunks(X, Y, memory_limit=LITTLE))
    assert list(dict.fromkeys(opened_as)) == ["memory", "chunks"]
    same(in_files, in_memory)
    np.testing.assert_array_equal(in_files.predict(X[:50]), in_memory.predict(X[:50]))


@pytest.mark.parametrize(
    "settings",
    [
        {"early_stopping": "gcv"},
        {"early_stopping": False, "nodes_per_step": 3},
        {"scaling": "quantile"},
        {"scaling": "standard"},
        {"scaling": None, "activation": "gaussian"},
    ],
    ids=str,
)
def test_whatever_the_settings(settings, opened_as):
    in_memory = SCNRegressor(**SMALL, **settings).fit(X, Y)
    same(SCNRegressor(**SMALL, **settings).fit(Chunks(X, Y, memory_limit=LITTLE)), in_memory)
    assert list(dict.fromkeys(opened_as)) == ["memory", "chunks"]


def test_threads_on_files():
    """Enough rows for two threads."""
    x = np.random.default_rng(2).uniform(size=(33000, 2))
    targets = np.sin(9 * x)
    settings = {"layer": Dense(ACTIVATIONS["sigmoid"]), "scaling": scale_inputs("minmax", x)}
    weights, biases = np.array([[1.0, -2.0, 3.0], [2.0, 0.0, -1.0]]), np.zeros(3)
    with opened(Chunks(x, targets, memory_limit=LITTLE), lambda n_rows: 10) as files:
        opened_rows = [open_rows(x, targets, **settings)]
        opened_rows += [open_rows(files.X, targets, n_jobs=n_jobs, **settings) for n_jobs in (1, 2)]
        found = []
        for rows in opened_rows:
            with rows:
                columns = rows.open(rows.nodes(weights, biases))
                factor = np.linalg.inv(np.linalg.cholesky(columns.gram).T)
                rows.join(factor, factor.T @ columns.inner, keep=True)
                found.append([columns.gram, rows.residual_squares, rows.sample(np.arange(0, 33000, 7)).basis])
    for one, other in ((found[0], found[1]), (found[0], found[2])):
        for ours, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_weights_and_several_outputs():
    weights = np.random.default_rng(1).integers(0, 3, size=8999).astype(float)
    targets = np.column_stack([Y, Y**2])
    in_memory = SCNRegressor(**SMALL).fit(X, targets, sample_weight=weights)
    chunks = Chunks(X, targets, sample_weight=weights, memory_limit=LITTLE)
    same(SCNRegressor(**SMALL).fit(chunks), in_memory)


def test_classes_with_names():
    labels = np.array(["low", "middle", "high"])[np.digitize(Y, np.quantile(Y, [0.3, 0.6]))]
    in_memory = SCNClassifier(**SMALL).fit(X, labels)
    in_files = SCNClassifier(**SMALL).fit(Chunks(X, labels, memory_limit=LITTLE))
    same(in_files, in_memory)
    np.testing.assert_array_equal(in_files.predict_proba(X[:50]), in_memory.predict_proba(X[:50]))


def test_a_folder_of_parquet_files(tmp_path, opened_as):
    names = ["a", "b", "c", "d", "e"]
    for number, rows in enumerate(np.array_split(np.arange(8999), 4)):
        columns = dict(zip(names, X[rows].T, strict=True)) | {"target": Y[rows]}
        pq.write_table(pa.table(columns), tmp_path / f"part-{number}.parquet", row_group_size=700)
    in_memory = SCNRegressor(**SMALL).fit(X, Y)
    by_path = SCNRegressor(**SMALL).fit(tmp_path, "target")
    in_files = SCNRegressor(**SMALL).fit(Chunks(tmp_path, "target", memory_limit=LITTLE))
    assert [name for name, _ in groupby(opened_as)] == ["memory", "chunks"]
    for model in (by_path, in_files):
        same(model, in_memory)
        assert list(model.feature_names_in_) == names


def test_no_file_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    SCNRegressor(**SMALL).fit(Chunks(X, Y, memory_limit=LITTLE))
    assert os.listdir(tmp_path) == []

    def failing(step):
        raise KeyboardInterrupt

    monkeypatch.setattr("skscn.progress.Progress.update", lambda *arguments: failing(arguments))
    with pytest.raises(KeyboardInterrupt):
        SCNRegressor(**SMALL, verbose=1).fit(Chunks(X, Y, memory_limit=LITTLE))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", SCALINGS)
def test_scaling_column_by_column(name):
    with opened(Chunks(X, Y, memory_limit=LITTLE), lambda n_rows: 10) as rows:
        assert isinstance(rows.X, ScratchInputs)
        np.testing.assert_array_equal(scale_inputs(name, rows.X).transform(X), scale_inputs(name, X).transform(X))


def test_rows_by_number():
    numbers = np.random.default_rng(1).permutation(8999)
    with opened(Chunks(X, Y, memory_limit=LITTLE), lambda n_rows: 10) as rows:
        np.testing.assert_array_equal(rows.X[numbers[:100]], X[numbers[:100]])
        moved = rows.X[numbers]
        assert isinstance(moved, ScratchInputs)
        np.testing.assert_array_equal(moved[4000:5000], X[numbers[4000:5000]])


def test_what_cannot_be():
    with pytest.raises(TypeError, match=r"fit\(chunks\)"):
        SCNRegressor().fit(Chunks(X, Y), Y)
    with pytest.raises(TypeError, match="Ensembles"):
        SCNEnsembleRegressor().fit(Chunks(X, Y))


def test_continuing_on_files_goes_by_the_names_of_the_columns(tmp_path):
    for name, columns in (("same", "ab"), ("swapped", "ba")):
        values = {"a": X[:500, 0], "b": X[:500, 1]}
        pq.write_table(pa.table({c: values[c] for c in columns} | {"y": Y[:500]}), tmp_path / f"{name}.parquet")
    model = SCNRegressor(max_nodes=5, early_stopping=False, warm_start=True, random_state=0)
    model.fit(tmp_path / "same.parquet", "y")
    model.set_params(max_nodes=8).fit(tmp_path / "same.parquet", "y")
    assert model.n_nodes_ == 8
    assert list(model.feature_names_in_) == ["a", "b"]
    with pytest.raises(ValueError, match=r"columns \['a', 'b'\] in this order; got \['b', 'a'\]"):
        model.set_params(max_nodes=9).fit(tmp_path / "swapped.parquet", "y")
    assert list(model.feature_names_in_) == ["a", "b"]


@pytest.mark.parametrize("limit", [None, LITTLE // 10])
def test_a_list_of_one_target_column_for_classes(tmp_path, limit):
    pq.write_table(pa.table({"a": X[:, 0], "label": np.where(Y > 0, "p", "n")}), tmp_path / "rows.parquet")
    chunks = Chunks(tmp_path / "rows.parquet", ["label"], memory_limit=limit)
    assert list(SCNClassifier(max_nodes=4, random_state=0).fit(chunks).classes_) == ["n", "p"]
