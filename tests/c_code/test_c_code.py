"""Models in C, compiled without a warning: they agree with predict and predict_proba."""

import re
import subprocess
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from skscn import (
    ACTIVATIONS,
    Activation,
    IRVFLRegressor,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
    estimators,
)
from skscn.export import to_c
from skscn.export._code import _ACTIVATIONS
from skscn.losses import LOSSES, Loss
from skscn.nodes import LAYERS, Layer
from skscn.output_weights import ALGORITHMS
from skscn.scaling import SCALINGS, WithQuantiles
from skscn.series import Lags
from skscn.tables import TableEncoder

RNG = np.random.default_rng(5)
X = RNG.uniform(size=(120, 4))
# A constant column, and one that is mostly one value.
X[:, 2] = 0.25
X[:100, 3] = 0.5
Y = 10.0 * np.sin(6 * X[:, 0]) + X[:, 1]
OUTPUTS = np.column_stack([Y, X[:, 1] ** 2])
LABELS = (3 * X[:, 0]).astype(int)
# Rows of training, beyond them, and far beyond them.
ROWS = np.vstack([X, RNG.uniform(-1.0, 2.0, (60, 4)), [[1e12] * 4, [-1e300] * 4]])
NEAR = ROWS[:-2].astype(np.float32).astype(np.float64)
SMALL = {"max_nodes": 8, "max_candidates": 20, "random_state": 0}


def agree(functions, models, rows=ROWS, tolerance=1e-12):
    """Predictions relative to the largest one, probabilities absolutely, and the same classes."""
    for name, model in models.items():
        found, labels = functions[name](rows)
        expected = model.predict(rows)
        if hasattr(model, "predict_proba"):
            probabilities = model.predict_proba(rows)
            np.testing.assert_allclose(found, probabilities, atol=tolerance, rtol=0, err_msg=name)
            if expected.ndim == 2:
                np.testing.assert_array_equal(found > 0.5, expected)
            elif tolerance < 1e-10:
                np.testing.assert_array_equal(model.classes_[labels], expected)
        else:
            expected = expected.reshape(len(rows), -1)
            size = np.abs(expected).max(axis=0)
            np.testing.assert_allclose(found / size, expected / size, atol=tolerance, rtol=0, err_msg=name)


def made(name, activation):
    """A small estimator of a class, whatever its parameters are called."""
    cls = getattr(estimators, name)
    if "Ensemble" in name:
        member = (SCNClassifier if "Classifier" in name else SCNRegressor)(**SMALL, activation=activation)
        return cls(member, n_members=2, max_features=0.7, combination="nonnegative", bootstrap=True, random_state=0)
    return cls(max_nodes=4, random_state=0, activation=activation)


def check_activation(compiled, models, activation):
    # Far out, a wave turns the last bits of its argument into first digits.
    agree(compiled(models), models, ROWS[:-2] if activation in ("sine", "cosine") else ROWS)
    agree(compiled(models, "float32"), models, NEAR, 1e-5)


def test_every_estimator(compiled):
    check_activation(compiled, {name: made(name, "tanh").fit(X, LABELS) for name in estimators.__all__}, "tanh")


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation(compiled, activation):
    model = SCNRegressor(configuration="ladder", max_nodes=6, max_candidates=20, activation=activation, random_state=0)
    check_activation(compiled, {activation: model.fit(X, Y)}, activation)


@pytest.mark.slow
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_estimator_with_every_activation(compiled, activation):
    models = {f"{name}_{activation}": made(name, activation).fit(X, LABELS) for name in estimators.__all__}
    check_activation(compiled, models, activation)


def test_every_activation_has_its_expression():
    assert _ACTIVATIONS.keys() == ACTIVATIONS.keys()


def test_scalings_and_outputs(compiled):
    few = {"configuration": "ladder", "max_nodes": 5, "max_candidates": 20, "random_state": 0}
    models = {str(scaling): SCNRegressor(**few, scaling=scaling).fit(X, OUTPUTS) for scaling in SCALINGS}
    models["one"] = SCNRegressor(**SMALL, scaling="quantile").fit(X, Y)
    models["column"] = SCNRegressor(**SMALL).fit(X, Y[:, np.newaxis])
    ensemble = SCNEnsembleRegressor(SCNRegressor(**SMALL), n_members=2, max_features=0.5, random_state=0)
    models["ensemble"] = ensemble.fit(X, OUTPUTS)
    models["linear"] = SCNRegressor(**SMALL).fit(X, X[:, 0])
    models["constant"] = SCNRegressor(**few).fit(X, np.full(len(X), 3.0))
    assert models["linear"].n_nodes_ == models["constant"].n_nodes_ == 0
    agree(compiled(models), models)
    agree(compiled(models, "float32"), models, NEAR, 2e-5)


def test_jumps_along_inputs(compiled):
    rows = np.random.default_rng(0).uniform(size=(4000, 4))
    targets = 3.0 * (rows[:, 0] > 0.5) - 2.0 * (rows[:, 2] > 0.3) + rows[:, 1]
    models = {"one": SCNRegressor(**SMALL).fit(rows, targets)}
    models["three"] = SCNEnsembleRegressor(SCNRegressor(**SMALL), 3, max_features=0.8, random_state=0).fit(
        rows, targets
    )
    models["small"] = models["three"].compact(20)
    assert models["one"].network_.inputs.columns.tolist() == [0, 2]
    assert isinstance(models["small"].network_.inputs, WithQuantiles)
    agree(compiled(models), models, rows[:200])


@pytest.mark.slow
@pytest.mark.parametrize("search", ["polished", "ladder"])
def test_rules_and_bounds(compiled, search):
    models = {
        f"{search}_{place}": SCNRegressor(**SMALL, algorithm=algorithm, configuration=search).fit(X, OUTPUTS)
        for place, algorithm in enumerate(ALGORITHMS)
    }
    agree(compiled(models), models)


def test_every_loss(compiled):
    models = {
        name: SCNRegressor(**SMALL, loss=name).fit(X, np.abs(Y)) for name, loss in LOSSES.items() if loss.regresses
    }
    assert "poisson" in models
    agree(compiled(models), models)


def test_every_kind_of_class(compiled):
    kinds = {
        "ints": LABELS,
        "booleans": LABELS > 0,
        "floats": LABELS + 5.0,
        "texts": np.array(["b", "ä", 'c\\"??/*'])[LABELS],
        "objects": np.array(["y", "n"], object)[LABELS % 2],
    }
    models = {name: SCNClassifier(**SMALL).fit(X, labels) for name, labels in kinds.items()}
    for name in ("texts", "booleans"):
        squared = SCNClassifier(**SMALL, loss="squared")
        models[f"{name}_squared"] = squared.fit(X, kinds[name])
        for loss in ("log_loss", "squared"):
            member = SCNClassifier(max_nodes=4, max_candidates=20, loss=loss)
            models[f"{name}_{loss}_2"] = SCNEnsembleClassifier(member, n_members=2, random_state=0).fit(X, kinds[name])
    functions = compiled(models)
    agree(functions, models, ROWS[:-2])
    classes = (np.ctypeslib.ctypes.c_char_p * 3).in_dll(functions["texts_squared"].library, "texts_squared_classes")
    assert [text.decode() for text in classes] == list(models["texts_squared"].classes_)


def test_several_labels(compiled):
    inputs, y = make_multilabel_classification(200, n_features=5, n_classes=3, random_state=0)
    single = SCNClassifier(**SMALL, early_stopping=True, n_iter_no_change=5)
    models = {"single": single, "several": SCNEnsembleClassifier(single, n_members=2, random_state=0)}
    for model in models.values():
        model.fit(inputs, y)
    agree(compiled(models), models, inputs)


def test_pipelines(compiled):
    scalers = [StandardScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False), RobustScaler()]
    scalers += [RobustScaler(with_centering=False), MinMaxScaler(), MinMaxScaler((-1, 1), clip=True), MaxAbsScaler()]
    models = {f"scaler_{i}": make_pipeline(scaler, SCNRegressor(**SMALL)) for i, scaler in enumerate(scalers)}
    models["hidden"] = make_pipeline(
        StandardScaler(), IRVFLRegressor(max_nodes=5, random_state=0), SCNRegressor(**SMALL)
    )
    models["passed"] = Pipeline([("nothing", "passthrough"), ("net", SCNClassifier(**SMALL))])
    for model in models.values():
        model.fit(X, LABELS)
    agree(compiled(models), models, ROWS[:-2])


def houses(n_rows=200):
    """Numbers, text, booleans, dates, times of the day, and gaps."""
    table = pd.DataFrame(
        {
            "size m²": RNG.uniform(30, 200, n_rows),
            "town": RNG.choice(["Zürich", "Oslo", 'Bern "B"'], n_rows),
            "int": RNG.integers(0, 9, n_rows),
            "size m2": RNG.random(n_rows) < 0.4,
            "sold": pd.Timestamp("2018-01-01") + pd.to_timedelta(RNG.integers(0, 900 * 24, n_rows), unit="h"),
            "rare": RNG.choice([f"kind {i}" for i in range(30)], n_rows),
        }
    )
    table["price"] = 20 * table["size m²"] + 500 * (table["town"] == "Oslo") + 300 * table["size m2"]
    table.loc[::7, "size m²"] = np.nan
    table.loc[::9, "town"] = None
    clock = pa.array((RNG.integers(0, 86400, n_rows) * 10**6), pa.int64()).cast(pa.time64("us"))
    return pa.Table.from_pandas(table, preserve_index=False).append_column("*/ clock", clock)


def test_tables(compiled, tested):
    table = houses()
    columns, price = table.drop_columns(["price"]), table["price"].to_numpy()
    later = houses(100).drop_columns(["price"])
    unseen = pa.array(["Rome", "?", None, "Oslo"] * 25)
    later = later.set_column(later.column_names.index("town"), "town", unseen)
    models = {
        "number": make_pipeline(TableEncoder(max_categories=5), SCNRegressor(**SMALL)).fit(columns, price),
        "kind": make_pipeline(TableEncoder(), StandardScaler(), SCNClassifier(**SMALL)).fit(columns, price > 2000),
    }
    assert {column.kind for column in models["number"][0].columns_} == {"number", "category", "boolean", "date", "time"}
    for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-4)):
        functions = compiled(models, dtype)
        for given in (columns, later):
            number, _ = functions["number"](functions["number"].rows(given))
            expected = models["number"].predict(given)
            np.testing.assert_allclose(number[:, 0] / expected, 1.0, atol=tolerance)
            kind, labels = functions["kind"](functions["kind"].rows(given))
            np.testing.assert_allclose(kind, models["kind"].predict_proba(given), atol=10 * tolerance)
            np.testing.assert_array_equal(labels, models["kind"].predict(given))
    for model in models.values():
        for dtype in ("float64", "float32"):
            assert tested(model, dtype=dtype).returncode == 0


def test_tables_straight_into_estimators(compiled, tested):
    table, later = houses(), houses(100).drop_columns(["price"])
    columns, price = table.drop_columns(["price"]), table["price"].to_numpy()
    model = SCNRegressor(**SMALL).fit(columns, price)
    assert "category with target means" in {column.kind for column in model.encoder_.table.columns_}
    function = compiled({"straight": model})["straight"]
    expected = model.predict(later)
    np.testing.assert_allclose(function(function.rows(later))[0][:, 0] / expected, 1.0, atol=1e-12)
    assert tested(model).returncode == 0


def test_missing_numbers(compiled, tested):
    rows = RNG.normal(size=(300, 3))
    rows[:, 1] += rows[:, 0]
    gaps = np.where(RNG.random(rows.shape) < 0.2, np.nan, rows)
    y = np.column_stack([rows[:, 0], 3.0 * np.isnan(gaps[:, 2])])
    ensemble = SCNEnsembleRegressor(SCNRegressor(**SMALL), n_members=2, random_state=0)
    models = {"alone": SCNRegressor(**SMALL).fit(gaps, y), "together": ensemble.fit(gaps, y)}
    assert len(models["alone"].encoder_.filling.marked)
    functions = compiled(models)
    for name, model in models.items():
        np.testing.assert_allclose(functions[name](gaps)[0], model.predict(gaps), atol=1e-12)
        for dtype in ("float64", "float32"):
            assert tested(model, dtype=dtype).returncode == 0


def test_the_time_of_the_rows_of_a_series(compiled, tested):
    times = pd.date_range("2024-01-01", periods=900, freq="h")
    table = pa.table({"when": times, "flow": RNG.normal(size=900)})
    target = table["flow"].to_numpy() + np.sin(2 * np.pi * times.hour / 24)
    model = make_pipeline(TableEncoder(time="when"), SCNRegressor(**SMALL)).fit(table, target)
    assert [column.kind for column in model[0].columns_] == ["row time", "number"]
    function = compiled({"series": model})["series"]
    np.testing.assert_allclose(function(function.rows(table))[0][:, 0], model.predict(table), atol=1e-11)
    assert tested(model).returncode == 0


def test_members_of_a_row_have_names_of_their_own():
    text = to_c(make_pipeline(TableEncoder(), SCNRegressor(**SMALL)).fit(*parted(houses())), name="house")
    members = re.search(r"typedef struct \{(.*?)\} house_row;", text, re.DOTALL)[1].split(";")
    assert [member.split()[-1].lstrip("*") for member in members[:-1]] == [
        *("size_m", "town", "int_", "size_m2", "sold", "rare", "clock"),
    ]


def parted(table):
    return table.drop_columns(["price"]), table["price"].to_numpy()


def test_steps_of_recurrent_networks(compiled, tested, recurrent_models):
    recurrent = {name: parts for name, parts in recurrent_models.items() if name != "table"}
    models = {name: model for name, (model, _, _) in recurrent.items()}
    assert recurrent["plain"][0].reservoir_.length > 0
    assert recurrent["plain"][0].reservoir_.nodes.products.any()
    functions = compiled(models)
    for name, (model, rows, known) in recurrent.items():
        assert tested(model).returncode == 0
        assert tested(model, dtype="float32").returncode == 0
        reservoir, function = model.reservoir_, functions[name]
        # An input and a target that are far outside.
        rows, known = (None if values is None else values.copy() for values in (rows, known))
        for values, place in ((rows, 20), (known, 40)):
            if values is not None:
                values[place] = 1e6
        given = np.empty((len(known), 0)) if rows is None else rows
        scaled = None if known is None else known.reshape(len(known), -1)
        told = None if scaled is None else reservoir.clip_outputs(reservoir.outputs.transform(scaled))
        for start, label in (("cold", None), ("end", "b" if name == "groups" else 0)):
            begin = None if label is None else model.states_[label]
            columns, _ = reservoir.columns(given, told, begin)
            # Rounding errors are relative to the terms of a sum, which may cancel.
            size = np.abs(columns) @ np.abs(reservoir.output_weights) * reservoir.outputs.scale
            expected = reservoir.outputs.inverse_transform(reservoir.clip_outputs(columns @ reservoir.output_weights))
            state, before = function.state(start, *([1] if label == "b" else [])), None
            for place, row in enumerate([None] * len(given) if rows is None else rows):
                found = function.step(state, row, before)
                assert (np.abs(found - expected[place]) <= 1e-12 * np.maximum(size[place], 1.0)).all(), (name, place)
                before = None if scaled is None else scaled[place]


def test_free_runs_of_recurrent_networks(compiled, recurrent_models):
    models = {name: recurrent_models[name][0] for name in ("feedback", "holds", "free")}
    functions = compiled(models)
    for name, model in models.items():
        rows = None if name == "free" else RNG.uniform(-1, 1, (50, 2))
        state = functions[name].state("end")
        found = [functions[name].step(state, row, forecast=True) for row in ([None] * 50 if rows is None else rows)]
        np.testing.assert_allclose(np.squeeze(found), model.forecast(50, rows), atol=1e-9, err_msg=name)


def test_a_table_before_a_step(compiled, tested, recurrent_models):
    pipeline, table, _ = recurrent_models["table"]
    assert tested(pipeline).returncode == 0
    function = compiled({"plant": pipeline})["plant"]
    state = function.state("cold")
    found = [function.step(state, row)[0] for row in function.rows(table)]
    np.testing.assert_allclose(found, pipeline[-1].predict(pipeline[0].transform(table)), atol=1e-9)


LAGGED = {
    "inputs": Lags([1, 3], means=[4]),
    "columns": Lags({1: [2]}, means=[1], columns=[0]),
    "targets": Lags([2], [2, 5], delay=2),
    "late": Lags(None, [4], delay=4),
    "nothing": Lags(None),
}


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("kind", LAGGED)
def test_steps_of_models_with_lags(compiled, tested, kind, outputs):
    targets = np.column_stack([Y, OUTPUTS[:, 0]])[:, :outputs].copy()
    targets[RNG.random(len(targets)) < 0.3] = np.nan
    lags = clone(LAGGED[kind])
    learnt = np.nan_to_num(targets[:60])
    columns = lags.fit_transform(X[:60], targets[:60])
    model = make_pipeline(lags, SCNRegressor(**SMALL).fit(columns, learnt if outputs > 1 else learnt[:, 0]))
    assert tested(model).returncode == 0
    assert tested(model, dtype="float32").returncode == 0
    if kind == "nothing":
        assert "model_predict" in to_c(model)
        return
    function, depth, delay = compiled({"lagged": model})["lagged"], lags.depth_, lags.delay_ or 0
    rows, known = X[60:100], targets[60:100]
    for start, past in (("end", lags), ("cold", deepcopy(lags).restart())):
        expected = model[-1].predict(past.transform(rows, targets=known)).reshape(len(rows), -1)
        state = function.lag_state(start)
        told = [None] * delay + list(known)
        found = [function.step(state, row, before) for row, before in zip(rows, told, strict=False)]
        np.testing.assert_allclose(found, expected, rtol=1e-9, err_msg=f"{kind} {start} {depth}")


def test_several_series_with_lags(compiled, tested):
    groups, labels = np.repeat(["a", "b"], 50), np.array(["low", "high"])[(Y[:100] > np.median(Y)).astype(int)]
    lags = Lags([1, 2], means=[3]).fit(X[:100], Y[:100], groups=groups)
    columns = lags.fit_transform(X[:100], Y[:100], groups=groups)
    model = make_pipeline(lags, SCNClassifier(**SMALL).fit(columns, labels))
    assert tested(model).returncode == 0
    text = to_c(model, name="lagged")
    assert "int lagged_step(lagged_state *state, const double *x, double *probabilities);" in text
    assert " * Sequences:\n *     0: a\n *     1: b\n" in text
    function = compiled({"lagged": model})["lagged"]
    state = function.lag_state("end", 1)
    found = [function.step(state, row) for row in X[100:120]]
    expected = model[-1].predict_proba(lags.transform(X[100:120], groups=["b"] * 20))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_test_in_a_file_finds_a_difference(cc, tested, tmp_path):
    model = SCNRegressor(**SMALL).fit(X, Y)
    for dtype in ("float64", "float32"):
        done = tested(model, dtype=dtype)
        assert (done.returncode, done.stdout) == (0, "")
    text = to_c(model)
    changed = text.replace("static const real intercept_1[] = {", "static const real intercept_1[] = {0.001 + ")
    assert changed != text
    (tmp_path / "changed.c").write_text(changed, encoding="utf-8")
    cc("-DSKSCN_TEST", tmp_path / "changed.c", "-o", tmp_path / "changed")
    done = subprocess.run([tmp_path / "changed"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "row 0, output 0: " in done.stdout


@pytest.mark.parametrize(
    "model", [SCNClassifier(**SMALL), SCNEnsembleClassifier(SCNClassifier(max_nodes=4), n_members=2, random_state=0)]
)
def test_the_test_in_the_file_of_a_classifier(tested, model):
    for dtype in ("float64", "float32"):
        assert tested(model.fit(X, LABELS), dtype=dtype).returncode == 0


def test_a_network_of_many_nodes(compiled, tested):
    """Output weights of opposite signs cancel, and the errors stay small relative to the predictions."""
    x = RNG.uniform(size=(1000, 5))
    y = np.sin(5 * x[:, 0]) * x[:, 1] + x[:, 2] ** 2
    models = {"deep": SCNRegressor(max_nodes=100, random_state=0).fit(x, y)}
    assert models["deep"].n_nodes_ > 40
    agree(compiled(models), models, x)
    assert tested(models["deep"]).returncode == 0


def test_names_in_the_comment():
    frame = pd.DataFrame(X, columns=["flow */", "heat", "a\\", "b"])
    text = to_c(SCNRegressor(**SMALL).fit(frame, Y), name="boiler_2")
    comment = text[: text.index("*/")]
    assert "x[0]: flow * /" in comment
    assert "void boiler_2_predict(const double *x, double *y);" in comment
    assert "cc -std=c99 -DSKSCN_TEST" in comment


def test_names_of_functions(tmp_path):
    model = SCNRegressor(**SMALL).fit(X, Y)
    text = to_c(model, tmp_path / "my model-2.c")
    assert "void my_model_2_predict(" in text
    assert (tmp_path / "my model-2.c").read_text(encoding="utf-8") == text
    assert "void c_2nd_predict(" in to_c(model, tmp_path / "2nd.c")
    assert "void model_predict(const float *x, float *y);" in to_c(model, dtype="float32")
    for name in ("2nd", "a b", "double", "", "é"):
        with pytest.raises(ValueError, match="cannot begin names in C; use letters, digits and underscores"):
            to_c(model, name=name)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (SCNRegressor(**SMALL, activation=np.arctan).fit(X, Y), "'arctan' has no counterpart in C; use one of sigmoid"),
        (SCNRegressor(**SMALL, activation=Activation("tanh", np.cbrt)).fit(X, Y), "'tanh' has no counterpart"),
        (LinearRegression().fit(X, Y), "LinearRegression is not a scikit-scn estimator"),
        (
            make_pipeline(PCA(3), SCNRegressor(**SMALL)).fit(X, Y),
            "The step PCA has no counterpart in C; there are Table",
        ),
    ],
)
def test_what_cannot_be_written(model, reason, tmp_path):
    with pytest.raises(ValueError, match=reason):
        to_c(model, tmp_path / "model.c")
    assert not list(tmp_path.iterdir())


def test_names_of_outputs():
    model = SCNRegressor(**SMALL).fit(X, OUTPUTS)
    assert " *     y[0]: heat\n *     y[1]: flow\n" in to_c(model, outputs=["heat", "flow"])
    assert " * Classes of kind:\n *     0: 0\n" in to_c(SCNClassifier(**SMALL).fit(X, LABELS), outputs=["kind"])
    with pytest.raises(ValueError, match="The model has 2 outputs; outputs names 1"):
        to_c(model, outputs=["heat"])


def test_bad_options():
    with pytest.raises(ValueError, match="dtype must be 'float64' or 'float32' or 'int16' or 'int8'; got 'double'"):
        to_c(SCNRegressor(**SMALL).fit(X, Y), dtype="double")
    with pytest.raises(ValueError, match='exceed the range of float32; use dtype="float64"'):
        to_c(SCNRegressor(**SMALL).fit(X, 1e300 * Y), dtype="float32")
    with pytest.raises(NotFittedError):
        to_c(SCNRegressor())


@dataclass(frozen=True)
class Ridged(Layer):
    """Nodes h(x) = 1/(1 + z²)."""

    bound: ClassVar[float] = 1.0

    def values(self, x, folded, memory=None):
        """One matrix product."""
        return 1.0 / (1.0 + (x @ folded) ** 2)

    def c_function(self, code, nodes):
        """The same in C."""
        width, table = len(nodes.weights), code.table("ridges", np.vstack([nodes.weights, nodes.biases]).T)
        body = f"""
            const real *w = {table} + {width + 1} * j;
            real z = w[{width}];
            for (int i = 0; i < {width}; i++) z += w[i] * x[i];
            return 1 / (1 + z * z);
        """
        return code.function("ridge", "real", "const real *x, int j", body)


class Silent(Ridged):
    """Says nothing of C."""

    c_function = Layer.c_function


@dataclass(frozen=True)
class Cubic(Loss):
    """Squared error of outputs that are predicted by their cubes."""

    def working(self, y, f):
        """Cube roots."""
        return np.cbrt(y), None

    def value(self, y, f):
        """Of the roots."""
        return ((np.cbrt(y) - f) ** 2).sum(axis=1)

    def mean(self, f):
        """f³."""
        return f**3


class CubicInC(Cubic):
    """The same, and in C."""

    def c_function(self, code, n_outputs):
        """In place."""
        return code.function("cubed", "void", "real *f", f"for (int i = 0; i < {n_outputs}; i++) f[i] *= f[i] * f[i];")


def test_parts_of_your_own_write_themselves(compiled, monkeypatch):
    monkeypatch.setitem(LAYERS, "ridged", Ridged)
    monkeypatch.setitem(LAYERS, "silent", Silent)
    ridged = SCNRegressor(layer="ridged", configuration="ladder", **SMALL).fit(X, Y)
    cubic = SCNRegressor(**SMALL).fit(X, np.cbrt(Y))
    cubic.network_ = replace(cubic.network_, loss=CubicInC())
    models = {"ridged": ridged, "cubic": cubic}
    agree(compiled(models), models)
    cubic.network_ = replace(cubic.network_, loss=Cubic())
    with pytest.raises(ValueError, match="What the loss Cubic predicts has no counterpart in C"):
        to_c(cubic)
    silent = SCNRegressor(layer="silent", configuration="ladder", **SMALL).fit(X, Y)
    with pytest.raises(ValueError, match="Nodes of the layer Silent have no counterpart in C"):
        to_c(silent)


@pytest.mark.slow
def test_the_time_of_a_prediction(cc, tmp_path):
    """A network of 50 nodes takes less than 5 µs with -O2."""
    x = RNG.uniform(size=(500, 8))
    model = SCNRegressor(max_nodes=50, early_stopping=False, tol=0.0, random_state=0).fit(x, np.sin(9 * x).sum(axis=1))
    assert model.n_nodes_ == 50
    to_c(model, tmp_path / "timed.c")
    program = """
    #include <stdio.h>
    #include <time.h>
    void timed_predict(const double *x, double *y);
    int main(void)
    {
        double x[8], y, best = 1e9, sum = 0;
        for (int i = 0; i < 8; i++) x[i] = 0.1 * i;
        for (int k = 0; k < 20; k++) {
            const clock_t start = clock();
            for (int n = 0; n < 10000; n++) {
                x[n % 8] = n * 1e-4;
                timed_predict(x, &y);
                sum += y;
            }
            const double took = (double)(clock() - start) / CLOCKS_PER_SEC / 10000;
            if (took < best) best = took;
        }
        printf("%g", 1e6 * best);
        return sum == 0.5;
    }
    """
    (tmp_path / "main.c").write_text(program, encoding="utf-8")
    cc("-O2", tmp_path / "timed.c", tmp_path / "main.c", "-o", tmp_path / "timed")
    done = subprocess.run([tmp_path / "timed"], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 5.0
