"""A model that was saved and loaded is the same model."""

import pickle
import sys
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import skscn
from skscn import (
    ACTIVATIONS,
    Activation,
    IRVFLRegressor,
    ModelFileError,
    ModifiedQuickpropRegressor,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
    describe_model,
    load_model,
    save_model,
)
from skscn.persistence import _fields, _pipelines
from skscn.scaling import SCALINGS
from skscn.search import CONFIGURATIONS, Pooled

RNG = np.random.default_rng(3)
X = RNG.uniform(size=(120, 4))
Y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2]
OUTPUTS = np.column_stack([Y, X[:, 3] ** 2])
LABELS = (3 * X[:, 0]).astype(int)
SMALL = {"max_nodes": 6, "max_candidates": 20, "random_state": 0}
ROWS = RNG.uniform(-0.5, 1.5, size=(30, 4))

MODELS = [
    SCNRegressor(**SMALL).fit(X, Y),
    SCNRegressor(**SMALL, alpha=0.1).fit(X, OUTPUTS),
    SCNRegressor(**SMALL, algorithm="SC-I", configuration="ladder").fit(X, OUTPUTS),
    SCNRegressor(**SMALL, algorithm="SC-II", window=2, nodes_per_step=2).fit(X, Y[:, np.newaxis]),
    SCNRegressor(**SMALL).fit(X.astype(np.float32), Y.astype(np.float32)),
    SCNRegressor(**SMALL).fit(X, np.full(120, 2.5)),
    SCNRegressor(**SMALL).fit(pd.DataFrame(X, columns=["a", "b", "température", "d"]), Y),
    IRVFLRegressor(max_nodes=6, random_state=0).fit(X, Y),
    ModifiedQuickpropRegressor(max_nodes=3, random_state=0).fit(X, Y),
    *(SCNClassifier(**SMALL).fit(X, labels) for labels in (LABELS, LABELS > 0, np.array(list("zax"))[LABELS])),
    *(SCNClassifier(**SMALL).fit(X, labels) for labels in (LABELS.astype(np.uint8), LABELS.astype(float))),
    SCNClassifier(**SMALL).fit(X, np.array(["rouge", "vert", "bleu clair"], dtype=object)[LABELS]),
    *(
        SCNEnsembleRegressor(SCNRegressor(**SMALL), n_members=3, random_state=0, **settings).fit(X, y)
        for settings, y in [({}, Y), ({"bootstrap": True, "max_features": 0.5, "combination": "nonnegative"}, OUTPUTS)]
    ),
    SCNEnsembleRegressor(IRVFLRegressor(max_nodes=3), n_members=2, random_state=0).fit(X, Y),
    SCNEnsembleClassifier(SCNClassifier(**SMALL), n_members=2, random_state=0).fit(X, LABELS),
    SCNEnsembleClassifier(SCNClassifier(**SMALL), n_members=2, bootstrap=True, random_state=0).fit(X, LABELS > 0),
    Pipeline([("features", IRVFLRegressor(max_nodes=4)), ("nothing", "passthrough"), ("scn", SCNRegressor(**SMALL))])
    .set_params(features__random_state=0)
    .fit(X, Y),
    *(SCNRegressor(**SMALL, activation=activation).fit(X, Y) for activation in ACTIVATIONS.values()),
    *(SCNRegressor(**SMALL, scaling=scaling).fit(X, Y) for scaling in SCALINGS),
    *(SCNRegressor(**SMALL, configuration=cls((1.0, 5.0))).fit(X, Y) for cls in CONFIGURATIONS.values()),
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.scn"


def same(ours, theirs):
    """Every attribute of two objects, and of what they hold; nothing may differ but identity."""
    assert type(ours) is type(theirs)
    if isinstance(ours, np.ndarray):
        for name in ours.dtype.names or [...]:
            np.testing.assert_array_equal(ours[name], theirs[name])
        # Texts may have been wider than they needed, and single precision may be kept as double.
        assert ours.dtype.kind == theirs.dtype.kind
        assert ours.dtype == np.float64 or ours.dtype == theirs.dtype or ours.dtype.kind == "U"
    elif isinstance(ours, np.random.RandomState):
        same(ours.get_state()[1], theirs.get_state()[1])
    elif isinstance(ours, list | tuple):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            same(one, other)
    elif isinstance(ours, Activation) or not type(ours).__module__.startswith(("skscn", "sklearn", "scipy")):
        assert ours == theirs or ours != ours
    else:
        # What a network derives from its arrays when it first predicts need not be there yet.
        state, other = (value.__getstate__() if hasattr(value, "weights") else vars(value) for value in (ours, theirs))
        # Nor does a file contain the training rows of an ensemble.
        names = state.keys() - {"_training"}
        assert names == other.keys() - {"_training"}
        for name in names:
            same(state[name], other[name])


def answers(model, rows=ROWS):
    """Everything a model can say about rows."""
    rows = pd.DataFrame(rows, columns=model.feature_names_in_) if hasattr(model, "feature_names_in_") else rows
    methods = ("predict", "predict_proba", "predict_log_proba", "decision_function", "predict_interval", "transform")
    known = [name for name in methods if hasattr(model, name) and getattr(model, "_conformal", 0) is not None]
    said = [getattr(model, name)(rows) for name in known or ["predict"]]
    if hasattr(model, "predict_interval"):
        said.append(model.predict(rows, return_std=True))
    staged = hasattr(model, "staged_predict") and model.network_.loss.staged
    return said + (list(model.staged_predict(rows)) if staged else [])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_loaded_model_is_the_same(model, path):
    save_model(model, path)
    loaded = load_model(path)
    same(answers(loaded), answers(model))
    same(loaded, model)


@pytest.mark.parametrize("cls", [SCNRegressor, IRVFLRegressor, ModifiedQuickpropRegressor, SCNClassifier])
def test_a_loaded_model_can_be_continued(cls, path):
    model = cls(max_nodes=4, warm_start=True, early_stopping=False, random_state=0).fit(X, LABELS)
    save_model(model, path)
    continued = [m.set_params(max_nodes=7).fit(X, LABELS) for m in (load_model(path), model)]
    assert continued[0].n_nodes_ == 7
    same(*(answers(m) for m in continued))


def test_float32_rows_have_float32_predictions_as_before(path):
    model = MODELS[4]
    save_model(model, path)
    rows = ROWS.astype(np.float32)
    assert load_model(path).predict(rows).dtype == np.float32
    same(load_model(path).predict(rows), model.predict(rows))


def own(z):
    return np.arctan(z)


@pytest.mark.parametrize("activation", [own, Activation("own", own), Activation("tanh", np.cbrt)])
def test_an_activation_of_ones_own_is_given_again(activation, path):
    model = SCNRegressor(**SMALL, activation=activation).fit(X, Y)
    save_model(model, path)
    name = model.network_.activation.name
    with pytest.raises(ModelFileError, match=rf"pass it when loading: load_model\(path, activations={{'{name}': func"):
        load_model(path)
    loaded = load_model(path, activations={name: activation})
    same(loaded.predict(ROWS), model.predict(ROWS))
    assert loaded.activation is activation


@pytest.mark.parametrize(
    "parameters",
    [
        {"scopes": [1, 2.5], "contractions": np.array([0.9, 0.99])},
        {"scopes": np.arange(1, 4), "tol": np.float64(1e-3), "max_nodes": np.int64(3)},
        {"checkpoint": Path("fit.ckpt")},
        {"random_state": np.random.RandomState(5)},
        {"configuration": Pooled((1.0, 2.0), (0.5, 0.9), 11)},
    ],
    ids=lambda parameters: next(iter(parameters)),
)
def test_parameters_are_the_same(parameters, path):
    model = SCNRegressor(**{**SMALL, "max_nodes": 2, **parameters, "checkpoint": None}).fit(X, Y)
    model.set_params(**parameters)
    save_model(model, path)
    loaded = load_model(path).get_params()
    assert loaded.keys() == model.get_params().keys()
    for name, value in model.get_params().items():
        plain = value.item() if isinstance(value, np.generic) else value
        same(loaded[name], plain)
    clone(load_model(path))


def test_attributes_that_were_set_on_a_search_are_kept(path):
    search = Pooled((1.0, 5.0))
    search.bounded, search.most_rows = False, 500
    save_model(SCNRegressor(**SMALL, configuration=search).fit(X, Y), path)
    loaded = load_model(path).configuration
    assert (loaded.bounded, loaded.most_rows) == (False, 500)


class OwnSearch(Pooled):
    pass


class SCNRegressorOfMine(SCNRegressor):
    pass


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (SCNRegressor(), "is not fitted"),
        (StandardScaler(), "this StandardScaler is not fitted"),
        (LinearRegression().fit(X, Y), "not one of the models that files can hold: SCNRegressor"),
        (make_pipeline(SCNRegressor(**SMALL), memory="here"), "set them to None"),
        (SCNRegressor(**SMALL, configuration=OwnSearch((1.0,))).fit(X, Y), "add its class to"),
        (SCNRegressorOfMine(**SMALL).fit(X, Y), "SCNRegressorOfMine is not one of the models"),
        (type("SCNRegressor", (SCNRegressor,), {})(**SMALL).fit(X, Y), "not skscn.estimators"),
        (SCNRegressor(**SMALL).fit(X, Y).set_params(random_state=np.random.RandomState(np.random.PCG64(0))), "PCG64"),
        (SCNRegressor(**SMALL).fit(X, Y).set_params(scopes=range(3)), "cannot be kept in a file; numbers"),
        (SCNRegressor(**SMALL).fit(X, Y).set_params(max_nodes=0), "max_nodes.*must be .*an int"),
        (SCNRegressor(**SMALL).fit(X, Y).set_params(scopes=(0.0,)), "scopes must be numbers above 0"),
        (SCNClassifier(**SMALL).fit(X, np.array(["2020-01", "2020-02"], "M8[M]")[LABELS % 2]), "numbers, booleans"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_kept_is_refused_when_saving(model, reason, path):
    with pytest.raises(ModelFileError, match=f"cannot be saved: .*{reason}"):
        save_model(model, path)
    assert not path.exists()


def test_notes_are_json(path):
    with pytest.raises(ModelFileError, match="cannot be written as JSON"):
        save_model(MODELS[0], path, notes={"scores": {1, 2}})
    with pytest.raises(ModelFileError, match="cannot be written as JSON"):
        save_model(MODELS[0], path, notes={"score": np.nan})


def test_a_description_is_read_without_the_model(path):
    save_model(MODELS[6], path, notes={"target": "y"})
    about = describe_model(path)
    assert about["class"] == "SCNRegressor"
    assert about["versions"]["skscn"] == skscn.__version__
    assert about["feature_names"] == ["a", "b", "température", "d"]
    assert (about["n_features"], about["nodes"], about["classes"]) == (4, [MODELS[6].n_nodes_], None)
    assert about["parameters"]["max_candidates"] == 20
    assert about["notes"] == {"target": "y"}
    assert about["bytes"] == path.stat().st_size


def test_descriptions_of_ensembles_and_pipelines(path):
    ensemble = SCNEnsembleClassifier(SCNClassifier(**SMALL), n_members=2, random_state=0).fit(X, LABELS)
    save_model(ensemble, path)
    assert describe_model(path)["nodes"] == [member.n_nodes_ for member in ensemble.members_]
    assert describe_model(path)["classes"] == [0, 1, 2]
    pipeline = Pipeline([("features", IRVFLRegressor(max_nodes=3)), ("scn", SCNRegressor(**SMALL))]).fit(X, Y)
    save_model(pipeline, path)
    assert describe_model(path)["steps"] == [("features", "IRVFLRegressor"), ("scn", "SCNRegressor")]
    assert describe_model(path)["parameters"]["max_candidates"] == 20


def test_the_same_model_is_the_same_bytes(tmp_path):
    for name in "ab":
        save_model(MODELS[0], tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "b"]


class Doubler:
    """A transformer that is made of JSON."""

    def __init__(self, factor=2.0):
        self.factor = factor

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return self.factor * X

    def to_json(self):
        return {"factor": self.factor}

    @classmethod
    def from_json(cls, stored):
        return cls(float(stored["factor"]))


def test_a_part_that_is_made_of_json_takes_one_line(path, monkeypatch):
    monkeypatch.setitem(_pipelines.MODELS, "Doubler", _fields.ByJson(__name__, "Doubler"))
    monkeypatch.setitem(sys.modules, __name__, SimpleNamespace(Doubler=Doubler))
    model = Pipeline([("doubler", Doubler(3.0)), ("scn", SCNRegressor(**SMALL))]).fit(X, Y)
    save_model(model, path)
    same(load_model(path).predict(ROWS), model.predict(ROWS))
    save_model(model[0], path)
    assert (describe_model(path)["class"], describe_model(path)["nodes"]) == ("Doubler", None)
    monkeypatch.setattr(Doubler, "to_json", lambda self: {"fctor": 1.0})
    with pytest.raises(ModelFileError, match="not a Doubler: 'factor'"):
        save_model(model, path)


def by_pickle(model):
    return pickle.loads(pickle.dumps(model))


def by_joblib(model):
    file = BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def by_skops(model):
    """As the README says: whatever of skscn a model is made of has to be trusted, and nothing else."""
    content = skops.io.dumps(model)
    trusted = skops.io.get_untrusted_types(data=content)
    assert all(name.startswith(("skscn.", "numpy.", "scipy.sparse.")) for name in trusted), trusted
    return skops.io.loads(content, trusted=trusted)


@pytest.mark.parametrize("copied", [by_pickle, by_joblib, by_skops])
@pytest.mark.parametrize("model", MODELS[:20], ids=lambda model: type(model).__name__)
def test_other_ways_of_keeping_models(model, copied):
    same(answers(copied(model)), answers(model))
