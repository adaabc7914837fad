"""Random models of all kinds: C and ONNX agree with predict, for rows with gaps and categories not seen in training."""

import numpy as np
import onnxruntime
import pyarrow as pa
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from skscn import (
    DeepSCNClassifier,
    DeepSCNRegressor,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
)
from skscn.losses import LOSSES
from skscn.onnx import to_onnx
from skscn.output_weights import ALGORITHMS
from skscn.tables import TableEncoder, as_table
from skscn.tables.columns import Category

LOSS_NAMES = {
    regresses: [name for name in LOSSES if LOSSES[name].regresses is regresses] for regresses in (True, False)
}
# Models whose training rows are complete, and which have one of each kind of input.
QUICK = [0, 1, 2, 3]
COUNT = 40


def table_of(rng, count, *, gaps, unseen):
    """Columns of several kinds; ``town`` has so many categories that the means of the target are encoded."""
    towns = [f"town {number}" for number in rng.integers(35 if unseen else 30, size=count)]
    colours = rng.choice(["red", "green", "blue", *(["violet"] if unseen else [])], count)
    columns = {
        "size": rng.normal(size=count),
        "age": rng.exponential(size=count),
        "colour": colours.tolist(),
        "town": towns,
        "new": (rng.random(count) < 0.3).tolist(),
        "sold": (np.datetime64("2020-01-01") + rng.integers(900, size=count).astype("timedelta64[D]")).tolist(),
    }
    if gaps:
        columns = {
            name: [None if rng.random() < 0.15 else value for value in values] for name, values in columns.items()
        }
    return pa.table(columns)


def rows_of(rng, kind, count, *, gaps, unseen):
    if kind != "array":
        return table_of(rng, count, gaps=gaps, unseen=unseen)
    X = rng.normal(size=(count, 4)) * [1.0, 100.0, 1e-3, 1.0] + [0.0, 500.0, 0.0, 3.0]
    X[:, 1] += 50.0 * X[:, 0]
    # The last column is complete in training.
    some = (rng.random(X.shape) < 0.15) & (unseen | (np.arange(4) < 3))
    return np.where(some, np.nan, X) if gaps else X


def model_of(rng, *, classes, ensemble):
    """A small estimator with random settings."""
    small = {"max_nodes": int(rng.integers(2, 12)), "max_candidates": 20, "random_state": int(rng.integers(1000))}
    loss = str(rng.choice(LOSS_NAMES[not classes] + ["squared"]))
    if loss == "squared":
        small["algorithm"] = str(rng.choice(list(ALGORITHMS)))
    deep = small.get("algorithm", "SC-III") == "SC-III" and rng.random() < 0.3
    classifier, regressor = (DeepSCNClassifier, DeepSCNRegressor) if deep else (SCNClassifier, SCNRegressor)
    small["activation"] = str(rng.choice(["sigmoid", "tanh", "relu", "gaussian"]))
    alone = (classifier if classes else regressor)(loss=loss, **small)
    if not ensemble:
        return alone
    several = SCNEnsembleClassifier if classes else SCNEnsembleRegressor
    return several(alone, n_members=2, max_features=0.7, random_state=small["random_state"])


def fitted(number):
    """A model, and rows with gaps and unseen categories. Quick ones are of all kinds, with complete training rows."""
    rng = np.random.default_rng(number)
    kind = ["array", "table", "encoded", "array"][number % 4]
    gaps = number not in QUICK and bool(rng.random() < 0.5)
    classes, ensemble = bool(number // 2 % 2), bool(rng.random() < 0.3)
    X = rows_of(rng, kind, 250, gaps=gaps, unseen=False)
    first = np.nan_to_num(X[:, 0] if kind == "array" else X["size"].to_numpy())
    y = 100.0 + 5.0 * np.sin(2.0 * first) + rng.normal(size=len(first))
    model = model_of(rng, classes=classes, ensemble=ensemble)
    if kind == "encoded":
        model = make_pipeline(TableEncoder(), model)
    elif kind == "array" and rng.random() < 0.5:
        model = make_pipeline([StandardScaler, MinMaxScaler][rng.integers(2)](), model)
    model.fit(X, np.array(["low", "high", "top"])[np.digitize(y, [97.0, 103.0])] if classes else y)
    return model, rows_of(rng, kind, 60, gaps=True, unseen=True)


def in_onnx(model, encoder, rows):
    """What the graph of a model answers: numbers, and labels of a classifier."""
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"])
    inputs = {"X": rows} if encoder is None else {}
    for column in () if encoder is None else encoder.columns_:
        values = as_table(rows).column(column.name)
        if isinstance(column, Category):
            texts = [text or "" for text in column.texts(values).to_list()]
            inputs[column.name] = np.array(texts, dtype=object)[:, np.newaxis]
        else:
            inputs[column.name] = column.floats(values)[:, np.newaxis]
    *labels, numbers = session.run(None, inputs)
    return numbers, labels


def check(number, compiled, tested):
    model, rows = fitted(number)
    function = compiled({"model": model})["model"]
    found, _ = function(rows if function.encoder is None else function.rows(rows))
    expected = getattr(model, "predict_proba", model.predict)(rows).reshape(len(rows), -1)
    numbers, labels = in_onnx(model, function.encoder, rows)
    size = np.abs(expected).max()
    np.testing.assert_allclose(found / size, expected / size, atol=1e-10, rtol=0)
    np.testing.assert_allclose(numbers / size, expected / size, atol=1e-10, rtol=0)
    for answers in labels:
        np.testing.assert_array_equal(answers, model.predict(rows))
    own_test = tested(model)
    assert own_test.returncode == 0, own_test.stdout


@pytest.mark.parametrize("number", QUICK)
def test_models_of_complete_rows(number, compiled, tested):
    check(number, compiled, tested)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(QUICK), COUNT))
def test_models_of_all_kinds(number, compiled, tested):
    check(number, compiled, tested)
