"""Tables and arrays with missing values, straight into estimators."""

import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.ensemble import VotingRegressor
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import skscn
from skscn import SCNClassifier, SCNEnsembleRegressor, SCNRegressor, load_model, save_model
from skscn.onnx import to_onnx
from skscn.tables import TableEncoder, as_table
from skscn.tables.columns import Category

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
TABLES = ("passengers", "houses", "plant")
FAST = {"max_nodes": 4, "random_state": 0}
SMALL = {"n_members": 2, "random_state": 0}
ESTIMATORS = {
    "regression": {
        "SCNRegressor": FAST,
        "DeepSCNRegressor": {**FAST, "max_layers": 2, "early_stopping": False},
        "IRVFLRegressor": FAST,
        "ModifiedQuickpropRegressor": {**FAST, "max_iter": 10},
        "SCNEnsembleRegressor": {**SMALL, "estimator": SCNRegressor(max_nodes=4, early_stopping=True)},
    },
    "classification": {
        "SCNClassifier": FAST,
        "DeepSCNClassifier": {**FAST, "max_layers": 2, "early_stopping": False},
        "SCNEnsembleClassifier": {**SMALL, "estimator": SCNClassifier(max_nodes=4, early_stopping=True)},
    },
}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
X[:, 1] += 2.0 * X[:, 0]
Y = np.sin(X[:, 0]) + X[:, 2]
GAPS = np.where(RNG.random(X.shape) < 0.2, np.nan, X)


@pytest.fixture
def make(monkeypatch):
    """What makes a table of the benchmark, with few rows."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    made = importlib.import_module("tables_parts.frames").make
    return lambda kind: made(kind, 0, 250, 60)


def models(task):
    return [getattr(skscn, name)(**settings) for name, settings in ESTIMATORS[task].items()]


def response(model, rows):
    return getattr(model, "predict_proba", model.predict)(rows)


def inputs_of(encoder, frame):
    """A table as the inputs of an ONNX graph."""
    table = as_table(frame)
    return {
        column.name: np.array([[text or ""] for text in column.texts(table.column(column.name)).to_list()], object)
        if isinstance(column, Category)
        else column.floats(table.column(column.name))[:, np.newaxis]
        for column in encoder.columns_
    }


# ---- tables


@pytest.mark.parametrize("kind", TABLES)
def test_tables_go_straight_into_every_estimator_and_its_files(make, kind, tmp_path):
    table = make(kind)
    for model in models(table.task):
        model.fit(table.X, table.y)
        assert model.n_features_in_ == table.X.shape[1]
        assert list(model.feature_names_in_) == list(table.X)
        found = response(model, table.tested)
        assert np.isfinite(found).all()
        if hasattr(model, "network_") or hasattr(model.members_[0].network_, "has_gradients"):
            assert model.feature_importances_.shape == (table.X.shape[1],)
            np.testing.assert_allclose(model.feature_importances_.sum(), 1.0)
        save_model(model, tmp_path / "model.scn")
        np.testing.assert_array_equal(response(load_model(tmp_path / "model.scn"), table.tested), found)


@pytest.mark.parametrize("kind", TABLES)
def test_the_onnx_graph_takes_the_columns_of_the_table(make, kind):
    import onnxruntime

    table = make(kind)
    for model in models(table.task):
        model.fit(table.X, table.y)
        session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
        found = session.run(None, inputs_of(model.encoder_.table, table.tested))[-1]
        wanted = response(model, table.tested).reshape(found.shape)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("kind", TABLES)
def test_the_package_that_a_table_comes_from_does_not_matter(make, kind):
    table = make(kind)
    model = models(table.task)[0]
    first = clone(model).fit(table.X, table.y).predict(table.tested)
    for convert in (pl.from_pandas, pa.Table.from_pandas, lambda frame: frame.convert_dtypes(dtype_backend="pyarrow")):
        other = clone(model).fit(convert(table.X), table.y)
        assert list(other.feature_names_in_) == list(table.X)
        np.testing.assert_array_equal(other.predict(convert(table.tested)), first)


@pytest.mark.slow
@pytest.mark.parametrize("kind", TABLES)
def test_pipelines_searches_and_scores_take_tables(make, kind):
    table = make(kind)
    model = models(table.task)[0]
    assert np.isfinite(cross_val_score(model, table.X, table.y, cv=2)).all()
    search = GridSearchCV(make_pipeline(FunctionTransformer(), model), {f"{_step(model)}__max_nodes": [2, 4]}, cv=2)
    assert np.isfinite(search.fit(table.X, table.y).score(table.tested, table.expected))
    found = permutation_importance(search, table.tested, table.expected, n_repeats=1, random_state=0)
    assert found.importances_mean.shape == (table.X.shape[1],)


def _step(model):
    return type(model).__name__.lower()


def test_votes_and_networks_as_transformers_take_tables(make):
    table = make("houses")
    network = SCNRegressor(**FAST)
    assert np.isfinite(
        VotingRegressor([("a", network), ("b", network)]).fit(table.X, table.y).predict(table.tested)
    ).all()
    hidden = clone(network).set_output(transform="pandas").fit(table.X, table.y).transform(table.tested)
    assert hidden.shape == (len(table.tested), 4)
    deep = make_pipeline(network, SCNRegressor(**FAST)).fit(table.X, table.y)
    assert to_onnx(deep).graph.input[0].name == "neighbourhood"


def test_a_table_of_numbers_is_an_array():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1] > 0, "c": np.arange(200)})
    model = SCNRegressor(**FAST).fit(frame, Y)
    assert model.encoder_ is None
    np.testing.assert_array_equal(
        model.predict(frame), SCNRegressor(**FAST).fit(frame.to_numpy(float), Y).predict(frame.to_numpy(float))
    )


def test_columns_must_be_those_of_training_in_their_order(make):
    table = make("plant")
    model = SCNRegressor(**FAST).fit(table.X, table.y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table.tested[list(table.X)[::-1]])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(table.tested[:0])


def test_tables_are_learnt_further(make):
    table = make("plant")
    further = SCNRegressor(**FAST).partial_fit(table.X[:150], table.y[:150])
    before = further.predict(table.tested)
    assert further.partial_fit(table.X[150:], table.y[150:]).n_rows_seen_ == 250
    assert not np.array_equal(further.predict(table.tested), before)
    ensemble = SCNEnsembleRegressor(SCNRegressor(max_nodes=3), n_members=2, random_state=0)
    ensemble.partial_fit(table.X[:150], table.y[:150]).partial_fit(table.X[150:], table.y[150:])
    assert ensemble.n_rows_seen_ == 250


def test_warm_start_continues_on_a_table(make):
    table = make("plant")
    whole = SCNRegressor(max_nodes=6, nodes_per_step=1, random_state=0).fit(table.X, table.y)
    parts = SCNRegressor(max_nodes=3, nodes_per_step=1, random_state=0, warm_start=True).fit(table.X, table.y)
    parts.set_params(max_nodes=6).fit(table.X, table.y)
    np.testing.assert_array_equal(parts.predict(table.tested), whole.predict(table.tested))


def test_rows_of_weight_0_teach_nothing(make):
    table = make("plant")
    weights = np.r_[np.ones(200), np.zeros(50)]
    strange = table.X.copy()
    strange.loc[200:, "load"] = 1e6
    some = SCNRegressor(**FAST).fit(table.X, table.y, sample_weight=weights).predict(table.tested)
    others = SCNRegressor(**FAST).fit(strange, table.y, sample_weight=weights).predict(table.tested)
    np.testing.assert_allclose(some, others, rtol=1e-6)


def test_several_targets_have_means_of_their_own(make):
    table = make("plant")
    model = SCNRegressor(**FAST).fit(table.X, np.column_stack([table.y, -table.y]))
    names = list(model.encoder_.table.get_feature_names_out())
    assert {"feed: mean of target 0", "feed: mean of target 1"} <= set(names)
    classes = np.digitize(table.y, np.quantile(table.y, [0.3, 0.6]))
    names = list(SCNClassifier(**FAST).fit(table.X, classes).encoder_.table.get_feature_names_out())
    assert "feed: mean of target 2" in names


def test_tables_cost_no_accuracy_compared_with_an_encoder_before(make):
    table = make("houses")
    straight = SCNRegressor(random_state=0).fit(table.X, table.y)
    before = make_pipeline(TableEncoder(), SCNRegressor(random_state=0)).fit(table.X, table.y)
    assert straight.score(table.tested, table.expected) >= before.score(table.tested, table.expected) - 0.05


def test_reports_speak_of_the_columns_of_the_table(make, tmp_path):
    from skscn.report import write_report

    table = make("plant")
    write_report(SCNRegressor(**FAST).fit(table.X, table.y), table.tested, table.expected, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert all(name in page for name in table.X)


# ---- categories


@pytest.mark.parametrize("which", [[3], [False, False, False, True]])
def test_columns_of_numbers_can_be_categories(which):
    codes = RNG.integers(0, 5, 200)
    rows, y = np.column_stack([X[:, :3], codes]), np.array([3.0, -2.0, 5.0, 0.0, 1.0])[codes]
    model = SCNRegressor(max_nodes=2, categorical_features=which, random_state=0).fit(rows, y)
    assert model.encoder_.table.columns_[3].categories == ("0", "1", "2", "3", "4")
    np.testing.assert_allclose(model.predict(rows), y, atol=0.05)
    assert np.isfinite(model.predict([[0.0, 0.0, 0.0, 17.0], [0.0, 0.0, 0.0, np.nan]])).all()


def test_columns_are_named_by_name():
    frame = pd.DataFrame({"size": X[:, 0], "zone": RNG.integers(0, 4, 200)})
    model = SCNRegressor(**FAST, categorical_features=["zone"]).fit(frame, Y)
    assert [column.kind for column in model.encoder_.table.columns_] == ["number", "category"]
    with pytest.raises(ValueError, match="categorical_features names area, but the columns of X are size, zone"):
        SCNRegressor(categorical_features=["area"]).fit(frame, Y)
    with pytest.raises(ValueError, match=r"mask categorical_features has shape \(1,\), but X has 2 columns"):
        SCNRegressor(categorical_features=[True]).fit(frame, Y)


# ---- missing numbers


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_missing_numbers_are_filled_in(dtype):
    for name, settings in ESTIMATORS["regression"].items():
        model = getattr(skscn, name)(**settings).fit(GAPS.astype(dtype), Y)
        assert model.n_features_in_ == len(model.feature_importances_) == 4
        assert np.isfinite(model.predict(GAPS.astype(dtype))).all()


def test_missing_numbers_where_training_had_none():
    model = SCNRegressor(**FAST).fit(X, Y)
    assert model.encoder_ is None
    medians = np.where(np.isnan(GAPS), np.median(X, axis=0), GAPS)
    np.testing.assert_array_equal(model.predict(GAPS), model.predict(medians))
    some = X.copy()
    some[::5, 0] = np.nan
    assert np.isfinite(SCNRegressor(**FAST).fit(some, Y).predict(GAPS)).all()
    assert np.isfinite(SCNEnsembleRegressor(SCNRegressor(**FAST), **SMALL).fit(X, Y).predict(GAPS)).all()


def test_filling_in_from_other_columns_beats_medians():
    factor = RNG.normal(size=(600, 1))
    rows = factor + 0.2 * RNG.normal(size=(600, 4))
    gaps, y = np.where(RNG.random(rows.shape) < 0.3, np.nan, rows), np.sin(2.0 * factor[:, 0])
    medians = np.where(np.isnan(gaps), np.nanmedian(gaps[:300], axis=0), gaps)
    errors = [
        np.mean((SCNRegressor(random_state=0).fit(some[:300], y[:300]).predict(some[300:]) - y[300:]) ** 2)
        for some in (gaps, medians)
    ]
    assert errors[0] < 0.7 * errors[1]


def test_arrays_with_gaps_have_files_and_graphs(tmp_path):
    import onnxruntime
    import skl2onnx

    from skscn.onnx import register_converters

    register_converters()
    for model in (SCNRegressor(**FAST), SCNEnsembleRegressor(SCNRegressor(**FAST), **SMALL)):
        wanted = model.fit(GAPS, Y).predict(GAPS)
        save_model(model, tmp_path / "model.scn")
        np.testing.assert_array_equal(load_model(tmp_path / "model.scn").predict(GAPS), wanted)
        for graph in (to_onnx(model), skl2onnx.to_onnx(model, GAPS)):
            session = onnxruntime.InferenceSession(graph.SerializeToString())
            np.testing.assert_allclose(session.run(None, {"X": GAPS})[0][:, 0], wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("other", ["text", 1.0], ids=["text", "numbers"])
def test_columns_of_the_same_name_are_refused(other):
    table = pd.DataFrame({"a": np.arange(60.0), "b": ["x", "y"] * 30})
    model = SCNRegressor(max_nodes=3, random_state=0).fit(table, np.arange(60.0))
    twins = pd.DataFrame({"a": np.arange(60.0), "b": other}).set_axis(["a", "a"], axis=1)
    for refused in (SCNRegressor().fit, SCNRegressor(categorical_features=["a"]).fit, model.partial_fit):
        with pytest.raises(ValueError, match="There are several columns 'a'"):
            refused(twins, np.arange(60.0))
    with pytest.raises(ValueError, match="There are several columns 'a'"):
        model.predict(twins)
