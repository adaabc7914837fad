"""Files that are damaged, or that somebody has made to do harm, with checksums that are right."""

import importlib.util
import io
import json
import os
import struct
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import save

from skscn import DeepSCNRegressor, ModelFileError, SCNRegressor, archive, describe_model, load_model, save_model

FILES = Path(__file__).parents[1] / "files" / "0.2.0"
# More of them with ./run bench mutations, or so: SKSCN_MUTATIONS=10000 ./run test tests/persistence -k random
COUNT = int(os.environ.get("SKSCN_MUTATIONS", "700"))


def load_benchmark():
    path = Path(__file__).parents[2] / "benchmarks" / "mutations.py"
    spec = importlib.util.spec_from_file_location("mutations", path)
    module = sys.modules["mutations"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


mutations = load_benchmark()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.scn"


def test_random_mutations():
    found = mutations.run(COUNT, seed=COUNT)
    assert sum(sum(outcomes.values()) for outcomes in found.values()) == COUNT
    damages = [found[damage.__name__] for damage in mutations.DAMAGES]
    assert all(outcomes.keys() <= {"refused", "the same"} for outcomes in damages)
    # Forgeries come in all outcomes, or else they were too crude to test anything.
    assert set().union(*found.values()) == {"refused", "the same", "another model"}


def test_the_benchmark_prints_what_became_of_them(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["mutations.py", "--count", "14"])
    mutations.main()
    printed = capsys.readouterr().out.splitlines()[1:]
    assert [line.split()[0] for line in printed] == [k.__name__ for k in mutations.DAMAGES + mutations.FORGERIES]
    assert sum(int(number) for line in printed for number in line.split()[1:]) == 14


def refusal(path, content):
    """What is said about a file with this content."""
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    assert str(caught.value).startswith(str(path))
    return str(caught.value)


def outer(header):
    """A file that consists of the header of safetensors."""
    return struct.pack("<Q", len(header)) + header


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "damaged"),
        (b"a,b\n1,2\n3,4\n", "not a scikit-scn model file, or is damaged"),
        (b"\xff" * 64, "not a scikit-scn model file, or is damaged"),
        (struct.pack("<Q", 2**24), "not a scikit-scn model file, or is damaged"),
        (struct.pack("<Q", 2) + b"{}", "not a scikit-scn model file"),
        (outer(b'{"__metadata__":null}'), "not a scikit-scn model file"),
        (outer(b'{"__metadata__":[1]}'), "not a scikit-scn model file"),
        (outer(b'{"__metadata__":{"skscn":5}}'), "not a scikit-scn model file"),
        (outer(b"[]"), "an unexpected structure"),
        (outer(b"7"), "an unexpected structure"),
        (outer(b"{"), "its header cannot be read"),
        (outer(b"\xff\xfe{}"), "its header cannot be read"),
        (outer(b"[" * 2**20), "its header cannot be read"),
        (save({"x": np.zeros(3)}), "not a scikit-scn model file"),
        (save({"x": np.zeros(3)}, {"skscn": "[]"}), "an unexpected structure"),
        (save({"x": np.zeros(3)}, {"skscn": "{}"}), "not a scikit-scn model file"),
        (save({"x": np.zeros(3)}, {"skscn": '{"kind": "model"}'}), "its format is not a number"),
        (save({"x": np.zeros(3)}, {"skscn": '{"kind": "model", "format": 1}'}), "checksum of its header"),
        (save({"x": np.zeros(3)}, {"skscn": '{"kind": "model", "kind": "model"}'}), "a key occurs twice"),
        (save({"x": np.zeros(3)}, {"skscn": '{"kind": NaN}'}), "NaN is not JSON"),
        (save({"x": np.zeros(3)}, {"skscn": "[" * 200_000}), "its header cannot be read"),
        (save({"x": np.zeros(3)}, {"skscn": "[" * 100 + "]" * 100}), "an unexpected structure"),
        (save({"x": np.zeros(3)}, {"skscn": '{"format": ' + "1" * 9999 + "}"}), "its header cannot be read"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_model(content, reason, path):
    assert reason in refusal(path, content)


def test_a_folder_a_checkpoint_and_nothing(tmp_path):
    with pytest.raises(ModelFileError, match="is not a file"):
        load_model(tmp_path)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "missing.scn")
    X = np.linspace(0, 1, 60)[:, np.newaxis]
    SCNRegressor(max_nodes=2, checkpoint=tmp_path / "fit.ckpt").fit(X, X[:, 0] ** 2)
    with pytest.raises(ModelFileError, match="is not a scikit-scn model file"):
        load_model(tmp_path / "fit.ckpt")


def test_a_checkpoint_does_not_replace_another_file(tmp_path):
    """Not even where nothing is read from it, as when a network is continued."""
    X = np.linspace(0, 1, 60)[:, np.newaxis]
    model = SCNRegressor(max_nodes=2, warm_start=True).fit(X, X[:, 0] ** 2)
    (tmp_path / "precious").write_text("something else")
    with pytest.raises(ValueError, match="not a scikit-scn checkpoint file"):
        model.set_params(max_nodes=3, checkpoint=tmp_path / "precious").fit(X, X[:, 0] ** 2)
    assert (tmp_path / "precious").read_text() == "something else"


def taken_apart(name):
    return mutations.taken_apart((FILES / f"{name}.scn").read_bytes())


def test_a_newer_format_asks_for_a_newer_version(path):
    about, arrays = taken_apart("SCNRegressor")
    about |= {"format": 7, "versions": {"skscn": "9.9"}}
    said = refusal(path, mutations.put_together(about, arrays))
    assert "has format 7, written by skscn 9.9; this version reads up to format 2: upgrade" in said
    with pytest.raises(ModelFileError, match="upgrade"):
        describe_model(path)


def test_a_header_that_nothing_can_be_said_about(path):
    about, arrays = taken_apart("SCNRegressor")
    models = (None, {}, {"class": "Pipeline", "steps": [1]}, {"class": "SCNRegressor", "fitted": []})
    for change in [{"notes": "none", "model": None}, *({"model": model} for model in models)]:
        path.write_bytes(mutations.put_together(about | change, arrays))
        with pytest.raises(ModelFileError, match="an unexpected structure"):
            describe_model(path)
        with pytest.raises(ModelFileError, match="cannot be used"):
            load_model(path)


def at(value, *keys):
    for key in keys:
        value = value[key]
    return value


FITTED, PARAMETERS = ("model", "fitted"), ("model", "parameters")
NETWORK = (*FITTED, "network_")
NODES = (*NETWORK, "layers", 0, "nodes")
MEMBER = (*FITTED, "members_", 0, "fitted")


@pytest.mark.parametrize(
    ("name", "place", "value", "reason"),
    [
        ("SCNRegressor", ("model", "class"), "builtins.eval", "not one of the supported models"),
        ("SCNRegressor", ("model", "class"), "Pipeline", "consists of"),
        ("SCNRegressor", ("model", "class"), ["SCNRegressor"], "not one of the supported models"),
        ("SCNRegressor", (*PARAMETERS, "max_node"), 3, "has no parameter 'max_node'"),
        ("SCNRegressor", (*PARAMETERS, "__class__"), "x", "has no parameter '__class__'"),
        ("SCNRegressor", (*PARAMETERS, "max_nodes"), "many", "max_nodes"),
        ("SCNRegressor", (*PARAMETERS, "max_nodes"), 1e300, "max_nodes"),
        ("SCNRegressor", (*PARAMETERS, "scopes"), {"tuple": [-1]}, "scopes must be"),
        ("SCNRegressor", (*PARAMETERS, "scopes"), {"array": {"type": "float64", "values": ["1"]}}, "parameters|scopes"),
        ("SCNRegressor", (*PARAMETERS, "scopes"), {"array": {"type": "int8", "values": [1000]}}, "scopes is"),
        ("SCNRegressor", (*PARAMETERS, "scopes"), {"array": {"type": "object", "values": []}}, "scopes is"),
        (
            "SCNRegressor",
            (*PARAMETERS, "activation"),
            {"function": {"name": "exec", "registered": True}},
            "'exec' is not one",
        ),
        ("SCNRegressor", (*PARAMETERS, "configuration"), {"configuration": {"name": "os", "attributes": {}}}, "'os'"),
        (
            "SCNRegressor",
            (*PARAMETERS, "configuration"),
            {"configuration": {"name": "ladder", "attributes": {"propose": 1}}},
            "no attribute 'propose'",
        ),
        ("SCNRegressor", (*PARAMETERS, "random_state"), {"random_state": {"keys": [624]}}, "random_state consists"),
        ("SCNRegressor", (*PARAMETERS, "tol"), {"float": "nan"}, "tol"),
        ("SCNRegressor", (*PARAMETERS, "tol"), {"open": "/etc/passwd"}, "tol is"),
        ("SCNRegressor", (*NODES, "weights"), [3, 10**9], "weights is an array of float64 and shape"),
        ("SCNRegressor", (*NETWORK, "inputs", "low"), 10**400, "low is"),
        ("SCNRegressor", (*NETWORK, "inputs", "low"), 2.0, "limits the wrong way round"),
        ("SCNRegressor", (*NETWORK, "inputs", "name"), "magic", "name is 'magic'"),
        ("SCNRegressor", (*NODES, "layer", "activation", "name"), "eval", "'eval' is not one of skscn's"),
        ("SCNRegressor", (*NODES, "layer", "name"), "os", "'os', which is not one of the layers"),
        ("SCNRegressor", (*NETWORK, "loss", "name"), ["squared"], "which is not one of the losses"),
        ("SCNRegressor", (*NETWORK, "factor", "linear"), 1, "different linear columns"),
        ("SCNRegressor", (*NETWORK, "factor", "triangle", "side"), 2**30, "does not fit the other arrays"),
        ("SCNRegressor", (*NETWORK, "layers"), [], "no hidden layer|nothing refers to"),
        ("SCNRegressor", (*NETWORK, "bounds"), [], "does not have exactly two bounds|nothing refers to"),
        ("SCNRegressor-two-outputs", (*NETWORK, "single_output"), True, "several where it should have one"),
        ("SCNRegressor", (*FITTED, "_seed"), -1, "_seed is -1"),
        ("SCNRegressor", (*FITTED, "_seed"), True, "_seed is True"),
        ("SCNRegressor", (*FITTED, "stop_reason_"), "boredom", "stop_reason_ is 'boredom'"),
        ("SCNRegressor", (*FITTED, "feature_names_in_"), ["a"], "1 names for 3 inputs"),
        ("SCNRegressor", (*FITTED, "feature_names_in_"), ["a", 1, "c"], "does not hold names"),
        ("SCNRegressor", (*FITTED, "predict"), "x", "consists of"),
        ("SCNClassifier", (*FITTED, "classes_", "values"), ["few", "some", "many"], "increasing order"),
        ("SCNClassifier", (*FITTED, "classes_", "values"), ["a", "b", "c", "d"], "a network for 4 classes has 3"),
        ("SCNClassifier", (*FITTED, "classes_", "type"), "int64", "classes_ holds 'few'"),
        ("SCNClassifier", (*FITTED, "classes_", "type"), "datetime64", "classes_ is"),
        ("SCNClassifier", (*FITTED, "classes_"), {"type": "int8", "values": [1, 2, 300]}, "classes_ is"),
        ("SCNClassifier", (*FITTED, "classes_"), {"type": "object", "values": [1, 2, "3"]}, "classes_ is"),
        ("SCNClassifier-squared", (*FITTED, "calibration_", "floor"), 0.0, "floor is 0.0"),
        ("SCNEnsembleRegressor", (*FITTED, "n_features_in_"), 1, "medians for 1 inputs"),
        ("SCNEnsembleRegressor", (*FITTED, "members_"), {}, "not a list"),
        (
            "SCNEnsembleRegressor",
            (*FITTED, "members_", 0, "class"),
            "SCNClassifier",
            "not one of the supported members",
        ),
        ("SCNEnsembleRegressor", (*FITTED, "members_", 0, "class"), "Pipeline", "not one of the supported members"),
        ("SCNEnsembleClassifier", (*MEMBER, "classes_", "values"), ["a", "b", "c"], "different classes"),
        ("Pipeline", ("model", "steps"), [], "no steps"),
        ("Pipeline", ("model", "steps", 0), 5, "a step of a Pipeline is 5"),
        ("Pipeline", ("model", "steps", 0, 0), "a\nb", "a step of a Pipeline is"),
        ("Pipeline", ("model", "steps", 0, 0), "network", "is missing|not a Pipeline|array"),
        ("Pipeline", ("model", "steps", 0, 1), "passthrough", "nothing refers to"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_header_that_says_something_impossible(name, place, value, reason, path):
    about, arrays = taken_apart(name)
    at(about, *place[:-1])[place[-1]] = value
    said = refusal(path, mutations.put_together(about, arrays))
    assert any(words in said for words in reason.split("|"))


def zero(array):
    return np.zeros_like(array)


def appended(array):
    return np.concatenate([array, array[-1:]])


@pytest.mark.parametrize(
    ("name", "array", "change", "reason"),
    [
        ("SCNRegressor", "network_.layers.0.nodes.weights", np.transpose, "does not fit"),
        ("SCNRegressor", "network_.layers.0.nodes.biases", appended, "does not fit"),
        ("SCNRegressor", "network_.layers.0.nodes.weights", lambda a: a.astype(np.float32), "the type F32"),
        ("SCNRegressor", "network_.layers.0.nodes.weights", lambda a: a.astype(np.int64), "an array of int64"),
        ("SCNRegressor", "network_.layers.0.nodes.weights", lambda a: a * np.nan, "not finite"),
        ("SCNRegressor", "network_.layers.0.nodes.weights", np.ravel, "does not fit"),
        ("SCNRegressor", "network_.inputs.scale", zero, "not above 0"),
        ("SCNRegressor", "network_.inputs.offset", appended, "does not fit"),
        ("SCNRegressor", "network_.directions.indices", lambda a: a + 1000, "not a sparse matrix"),
        ("SCNRegressor", "network_.directions.indices", lambda a: a - 1000, "not a sparse matrix"),
        ("SCNRegressor", "network_.directions.indptr", lambda a: a[::-1], "not a sparse matrix"),
        ("SCNRegressor", "network_.directions.indptr", lambda a: a[:0], "does not fit"),
        ("SCNRegressor", "network_.directions.indptr", appended, "does not fit"),
        ("SCNRegressor", "network_.coefficients", appended, "does not fit"),
        ("SCNRegressor", "network_.linear.nodes.weights", appended, "more or fewer inputs"),
        ("SCNRegressor", "network_.factor.triangle.upper", appended, "does not fit"),
        ("SCNRegressor", "network_.factor.residual_squares", lambda a: a - 1e6, "below 0"),
        ("SCNRegressor", "history_.nodes", zero, "do not increase"),
        ("SCNRegressor", "history_.scope", appended, "does not fit"),
        ("SCNRegressor", "held_out_", lambda a: np.array([-1]), "below 0"),
        ("SCNRegressor-two-outputs", "network_.inputs.knots", lambda a: a[::-1], "do not increase"),
        ("SCNEnsembleRegressor", "features_.0", lambda a: a + 10, "columns of a member"),
        ("SCNEnsembleRegressor", "features_.0", zero, "columns of a member"),
        ("SCNEnsembleRegressor", "weights_", lambda a: -a, "below 0.0"),
        ("SCNEnsembleRegressor", "weights_", appended, "does not fit|numbers of members"),
        (
            "SCNEnsembleRegressor",
            "oob_prediction_",
            lambda a: np.column_stack([a, a]),
            "does not fit|different outputs",
        ),
        ("SCNEnsembleRegressor", "_conformal.sample_weight", zero, "no rows of any weight"),
        ("SCNEnsembleRegressor", "_conformal.scores", lambda a: np.hstack([a, a]), "does not fit"),
        (
            "SCNEnsembleClassifier",
            "members_.0.fitted.network_.layers.0.output_weights",
            lambda a: a[:, :2],
            "numbers of outputs",
        ),
    ],
)
def test_arrays_that_do_not_go_together(name, array, change, reason, path):
    """The header is changed with them."""
    about, arrays = taken_apart(name)
    *containers, last = (int(key) if key.isdigit() else key for key in array.split("."))
    array = array.replace(".fitted", "")
    arrays[array] = np.ascontiguousarray(change(arrays[array]))
    at(about, *FITTED, *containers)[last] = list(arrays[array].shape)
    said = refusal(path, mutations.put_together(about, arrays))
    assert any(words in said for words in reason.split("|"))


@pytest.mark.parametrize(
    ("importances", "reason"),
    [
        ([0.5, 0.5], "does not fit"),
        ([0.5, 0.7, -0.2], "below 0.0"),
        ([0.5, np.nan, 0.5], "not finite"),
        ([0.2, 0.2, 0.2], "sum of feature importances is not 1"),
    ],
)
def test_feature_importances_that_are_no_shares(importances, reason, path):
    rows = np.random.default_rng(0).uniform(size=(50, 3))
    save_model(SCNRegressor(max_nodes=3, random_state=0).fit(rows, rows[:, 0]), path)
    about, arrays = mutations.taken_apart(path.read_bytes())
    arrays["_feature_importances"] = np.array(importances)
    at(about, *FITTED)["_feature_importances"] = [len(importances)]
    assert reason in refusal(path, mutations.put_together(about, arrays))


def encoded(path):
    """The header and the arrays of a model that encodes a table with many categories and missing numbers."""
    rng = np.random.default_rng(0)
    size = np.where(rng.random(200) < 0.2, np.nan, rng.normal(size=200))
    table = pa.table({"size": pa.array(size, from_pandas=True), "zip": [f"z{k}" for k in rng.integers(0, 30, 200)]})
    save_model(SCNRegressor(max_nodes=3, random_state=0).fit(table, rng.normal(size=200)), path)
    return mutations.taken_apart(path.read_bytes())


@pytest.mark.parametrize(
    ("array", "change", "reason"),
    [
        ("filling.medians", appended, "does not fit"),
        ("filling.medians", lambda a: a * np.nan, "not finite"),
        ("filling.columns", lambda a: a + 100, "columns that there are not"),
        ("filling.columns", lambda a: a - 100, "below 0"),
        ("filling.slopes", lambda a: a[:, :-1], "does not fit"),
        ("filling.intercepts", appended, "does not fit"),
        ("filling.scores.knots", lambda a: a[::-1], "do not increase"),
        ("filling.scores.shares", lambda a: a[::-1], "do not increase"),
        ("filling.marked", lambda a: np.array([0, 0]), "not in their order"),
        ("filling.marked", lambda a: np.array([0, 1]), "more or fewer numbers than the network has inputs"),
    ],
)
def test_encoders_whose_arrays_do_not_go_together(array, change, reason, path):
    about, arrays = encoded(path)
    *containers, last = array.split(".")
    arrays[f"encoder_.{array}"] = np.ascontiguousarray(change(arrays[f"encoder_.{array}"]))
    at(about, *FITTED, "encoder_", *containers)[last] = list(arrays[f"encoder_.{array}"].shape)
    assert reason in refusal(path, mutations.put_together(about, arrays))


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (("n_columns",), 3, "columns that its table does not have"),
        (("names",), None, "without names"),
        (("names",), ["size", "area"], "columns that its table does not have"),
        (("table",), None, "without a table"),
        (("table", "json", "columns", 1, "means"), [[0.0]], "as many means"),
        (("table", "json", "columns", 1, "absent"), [0.0, 0.0], "as many means"),
        (("table", "json", "columns", 1, "unknown"), [], "cannot have"),
        (("table", "json", "columns", 1, "levels"), [1], "cannot have"),
        (("table", "json", "columns", 1, "others"), False, "are encoded"),
    ],
)
def test_encoders_that_say_something_impossible(place, value, reason, path):
    about, arrays = encoded(path)
    at(about, *FITTED, "encoder_", *place[:-1])[place[-1]] = value
    assert reason in refusal(path, mutations.put_together(about, arrays))


def test_arrays_that_are_missing_or_too_many(path):
    about, arrays = taken_apart("SCNRegressor")
    more = mutations.put_together(about, {**arrays, "more": np.zeros(1)})
    assert "nothing refers to the array 'more'" in refusal(path, more)
    del arrays["network_.layers.0.nodes.weights"]
    assert "the array network_.layers.0.nodes.weights is missing" in refusal(
        path, mutations.put_together(about, arrays)
    )


@pytest.mark.parametrize("shape", [[0, 2**62], [2**62, 0, 2**62], [0, 10**6]])
@pytest.mark.parametrize("dtype", ["F64", "BF16", "F8_E4M3"])
def test_arrays_of_absurd_shapes_and_types(shape, dtype, path):
    """As only a file made by hand can have them."""
    about, _ = taken_apart("SCNRegressor")
    about.pop("checksum")
    text = json.dumps({**about, "checksum": archive._checksum(about)})
    header = json.dumps(
        {"__metadata__": {"skscn": text}, "x": {"dtype": dtype, "shape": shape, "data_offsets": [0, 0]}}
    ).encode()
    assert "damaged" in refusal(path, struct.pack("<Q", len(header)) + header)


@pytest.mark.parametrize(
    "bomb",
    [
        {"type": "str", "values": sorted(["a" * 100_000, *(f"{i:05}" for i in range(20_000))])},
        {"type": "object", "values": [[]] * 20_000},
    ],
    ids=["wide", "many"],
)
def test_memory_is_bounded_by_the_size_of_the_file(bomb, path):
    about, arrays = taken_apart("SCNClassifier")
    at(about, *FITTED)["classes_"] = bomb
    content = mutations.put_together(about, arrays)
    tracemalloc.start()
    try:
        refusal(path, content)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 60 * len(content) + 2**20


class HugeFile(io.BytesIO):
    """The beginning of a file of 40 GB, of which only some bytes may be read."""

    size, most = 40 * 2**30, 2**20

    def seek(self, place, whence=os.SEEK_SET):
        return self.size if whence == os.SEEK_END else super().seek(place)

    def read(self, size=-1):
        if not 0 <= size <= self.most:
            raise MemoryError
        return super().read(size)


def huge(path, content):
    """The path of a file of 40 GB that begins with this."""
    path.touch()

    class HugePath(type(path)):
        def open(self, mode="r", **options):
            return HugeFile(content)

    return HugePath(path)


@pytest.mark.parametrize("read", [archive.read_archive, archive.read_header])
def test_a_huge_file_is_refused_by_its_header(read, path):
    kind = archive.Kind("model", 2, ModelFileError, "do something")
    content = (FILES / "SCNRegressor.scn").read_bytes()
    for beginning, reason in ((content, "its arrays have"), (outer(b"{}"), "not a scikit-scn model file")):
        with pytest.raises(ModelFileError, match=reason):
            read(huge(path, beginning), kind)


def test_a_model_that_does_not_fit_in_memory(path):
    """The header declares an array of the size of the file."""
    kind = archive.Kind("model", 2, ModelFileError, "do something")
    header, _ = mutations.outer_header((FILES / "SCNRegressor.scn").read_bytes())
    header["large"] = {"dtype": "U8", "shape": [HugeFile.size], "data_offsets": [0, HugeFile.size]}
    length = len(json.dumps(header))
    header["large"]["data_offsets"][1] -= length + 8
    content = outer(json.dumps(header).encode().ljust(length))
    with pytest.raises(ModelFileError, match="does not fit in memory"):
        archive.read_archive(huge(path, content), kind)


def test_an_online_model_without_output_weights(path):
    about, arrays = taken_apart("OnlineSCNRegressor")
    models = at(about, "model", "fitted", "learner_")["models"]
    models[0]["sets"] = []
    assert "sets has fewer than 1 elements" in refusal(path, mutations.put_together(about, arrays))


def test_errors_that_become_infinite_in_units_of_the_target(path):
    about, arrays = mutations.taken_apart((FILES.parent / "0.1.0" / "SCNRegressor.scn").read_bytes())
    arrays = {name: np.full_like(array, 1e308) if "rmse" in name else array for name, array in arrays.items()}
    arrays["network_.outputs.scale"][:] = 1e10
    assert "too large for a number" in refusal(path, mutations.put_together(about, arrays))


def test_a_header_that_could_not_be_read_again_is_not_written(path):
    _, arrays = taken_apart("SCNRegressor")
    kind = archive.Kind("model", 1, ModelFileError, "do something")
    with pytest.raises(ModelFileError, match="would exceed"):
        archive.write_archive(path, kind, {"notes": "x" * 2**24}, arrays)
    assert not path.exists()


def test_steps_that_do_not_fit_together(path):
    about, arrays = taken_apart("Pipeline-table")
    about["model"]["steps"][0][1]["json"]["columns"].pop()
    assert "columns, the next one expects" in refusal(path, mutations.put_together(about, arrays))


SCALED, COLUMNS = ("model", "steps"), ("model", "steps", 0, 1)
IMPUTER, SCALER = (*SCALED, 0, 1), (*SCALED, 1, 1)
PARTS = (*COLUMNS, "transformers")
ENCODER = (*PARTS, 1, 1)


@pytest.mark.parametrize(
    ("name", "place", "value", "reason"),
    [
        ("Pipeline-scaled", (*SCALER, "learnt", "n_features_in_"), 9, "for 9 inputs and has arrays for"),
        ("Pipeline-scaled", (*SCALER, "learnt", "transform"), 1, "consists of"),
        ("Pipeline-scaled", (*SCALER, "learnt", "mean_", "type"), "object", "type is 'object'"),
        ("Pipeline-scaled", (*SCALER, "learnt", "n_samples_seen_"), "60", "n_samples_seen_ is '60'"),
        ("Pipeline-scaled", (*SCALER, "parameters", "with_mean"), "maybe", "with_mean"),
        ("Pipeline-scaled", (*SCALER, "parameters", "__init__"), 1, "has no parameter"),
        ("Pipeline-scaled", (*IMPUTER, "parameters", "strategy"), {"function": {"name": "eval"}}, "strategy"),
        ("Pipeline-scaled", (*IMPUTER, "learnt", "type"), "datetime64[ns]", "type is"),
        ("Pipeline-scaled", (*IMPUTER, "learnt", "statistics", "values"), [1.0], "for columns other than"),
        ("Pipeline-scaled", (*IMPUTER, "learnt", "statistics", "values"), [1.0, "a", 2.0], "statistics holds 'a'"),
        ("Pipeline-scaled", (*IMPUTER, "learnt", "indicated"), None, "for columns other than"),
        ("Pipeline-scaled", (*IMPUTER, "learnt", "indicated", "values"), [0, 99], "columns that it does not have"),
        ("Pipeline-columns", (*COLUMNS, "transformers"), {}, "no list of transformers"),
        ("Pipeline-columns", (*COLUMNS, "n_features_in_"), 2**40, "inputs, and columns or names for others"),
        ("Pipeline-columns", (*COLUMNS, "feature_names_in_"), ["a"], "columns or names for others"),
        ("Pipeline-columns", (*COLUMNS, "sparse_output_"), 2, "sparse_output_ is 2"),
        ("Pipeline-columns", (*PARTS, 0), "drop", "a transformer of"),
        ("Pipeline-columns", (*PARTS, 0, 0), "category", "not a ColumnTransformer|array"),
        ("Pipeline-columns", (*PARTS, 0, 1), "eval", "not one of the supported models"),
        ("Pipeline-columns", (*PARTS, 0, 2), [7], "not among the 3 inputs"),
        ("Pipeline-columns", (*PARTS, 0, 2), ["a"], "not among the 3 inputs"),
        ("Pipeline-columns", (*PARTS, 0, 2), [[0]], "has the columns"),
        ("Pipeline-columns", (*PARTS, 0, 2), [0, 1], "expects 1 columns and gets 2"),
        ("Pipeline-columns", (*PARTS, 2, 2), [0, 2], "not what the other columns leave"),
        ("Pipeline-columns", (*ENCODER, "learnt", "categories_"), [], "more or fewer columns"),
        ("Pipeline-columns", (*ENCODER, "learnt", "categories_", 0, "values"), [[]], "holds"),
        ("Pipeline-columns", (*ENCODER, "learnt", "categories_", 0, "values"), [0.5], "columns, the next one expects"),
        ("Pipeline-columns", (*ENCODER, "parameters", "min_frequency"), 2, "min_frequency"),
        ("Pipeline-columns", (*ENCODER, "parameters", "dtype"), {"dtype": "object"}, "dtype is 'object'"),
        ("Pipeline-columns", (*ENCODER, "parameters", "dtype"), {"dtype": ["float64"]}, "dtype is"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_transformer_that_says_something_impossible(name, place, value, reason, path):
    about, arrays = mutations.taken_apart((FILES / f"{name}.scn").read_bytes())
    at(about, *place[:-1])[place[-1]] = value
    said = refusal(path, mutations.put_together(about, arrays))
    assert any(words in said for words in reason.split("|")), said


@pytest.mark.parametrize(
    ("array", "change", "reason"),
    [
        ("standardscaler.scale_", zero, "holds numbers below"),
        ("standardscaler.scale_", lambda a: a * np.nan, "not finite"),
        ("standardscaler.mean_", lambda a: a[:1], "which is unexpected"),
        ("minmaxscaler.data_range_", lambda a: -1.0 - a, "holds numbers below 0.0"),
    ],
)
def test_arrays_of_a_scaler_that_no_scaler_has(array, change, reason, path):
    about, arrays = mutations.taken_apart((FILES / "Pipeline-scaled.scn").read_bytes())
    arrays[array] = np.ascontiguousarray(change(arrays[array]))
    assert reason in refusal(path, mutations.put_together(about, arrays))


@pytest.mark.parametrize(
    ("below", "reason"),
    [([], "there are no nodes below"), ([7], "is 7, and there are no such nodes"), ([True], "no such nodes")],
)
def test_nodes_below_a_layer_that_do_not_exist(below, reason, path):
    X = np.linspace(0, 1, 60)[:, np.newaxis]
    settings = {"max_layers": 3, "max_nodes": 6, "early_stopping": False, "inputs": "all"}
    save_model(DeepSCNRegressor(**settings, random_state=0).fit(X, np.sin(9 * X[:, 0])), path)
    about, arrays = mutations.taken_apart(path.read_bytes())
    at(about, *NETWORK, "layers", 2, "nodes", "layer")["below"] = below
    assert reason in refusal(path, mutations.put_together(about, arrays))
