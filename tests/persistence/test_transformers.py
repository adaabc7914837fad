"""Pipelines with scikit-learn's own transformers are kept in files, and predict the same bit for bit."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from skscn import ModelFileError, SCNRegressor, describe_model, load_model, save_model

RNG = np.random.default_rng(0)
X = RNG.random((80, 4))
HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
COUNTS = RNG.integers(0, 3, size=(80, 1))
FRAME = pd.DataFrame(HOLES, columns=list("abcd")).assign(
    kind=RNG.choice(["u", "v", "w"], 80), perhaps=RNG.choice(np.array(["p", None], dtype=object), 80), count=COUNTS
)
Y = np.sin(6.0 * X[:, 0]) + X[:, 1]
NUMBERS = make_pipeline(SimpleImputer(), StandardScaler())


def network():
    return SCNRegressor(max_nodes=2, max_candidates=5, random_state=0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.scn"


def dense(values):
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


def check(transformer, rows, path):
    """What is loaded transforms and predicts the same, has the same parameters, and can be fitted again."""
    model = make_pipeline(transformer, network()).fit(rows, Y)
    save_model(model, path)
    loaded = load_model(path)
    ours, theirs = loaded[0].transform(rows), model[0].transform(rows)
    assert sparse.issparse(ours) == sparse.issparse(theirs)
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(dense(ours), dense(theirs))
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
    np.testing.assert_array_equal(loaded[0].get_feature_names_out(), model[0].get_feature_names_out())
    assert loaded.get_params().keys() == model.get_params().keys()
    np.testing.assert_allclose(loaded.fit(rows, Y).predict(rows), model.predict(rows), rtol=1e-9)


@pytest.mark.parametrize("rows", [X, X.astype(np.float32), pd.DataFrame(X, columns=list("abcd"))])
@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False, with_std=False),
        MinMaxScaler((-1, 1), clip=True),
        MaxAbsScaler(),
        RobustScaler(),
        RobustScaler(with_centering=False, quantile_range=(10.0, 90.0)),
    ],
    ids=str,
)
def test_scalers(scaler, rows, path):
    check(scaler, rows, path)


def test_a_scaler_that_saw_missing_values(path):
    check(ColumnTransformer([("scaled", make_pipeline(StandardScaler(), SimpleImputer()), [0, 1, 2, 3])]), HOLES, path)


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
@pytest.mark.parametrize("add_indicator", [False, True])
@pytest.mark.parametrize("rows", [HOLES, HOLES.astype(np.float32)])
def test_imputers(strategy, add_indicator, rows, path):
    check(SimpleImputer(strategy=strategy, add_indicator=add_indicator), rows, path)


def test_imputers_of_other_missing_values_and_of_strings(path):
    check(SimpleImputer(missing_values=0, strategy="most_frequent", add_indicator=True), COUNTS, path)
    empty = np.column_stack([np.full(80, np.nan), X])
    check(SimpleImputer(keep_empty_features=True), empty, path)
    strings = make_pipeline(SimpleImputer(missing_values=None, strategy="most_frequent"), OneHotEncoder())
    check(strings, np.array(["p", "q", None], dtype=object)[COUNTS], path)


@pytest.mark.parametrize(
    ("encoder", "rows"),
    [
        (OneHotEncoder(handle_unknown="ignore"), FRAME[["kind", "count"]]),
        (OneHotEncoder(drop="if_binary", sparse_output=False, dtype=np.float32), FRAME[["kind", "perhaps"]]),
        (OneHotEncoder(drop="first"), COUNTS),
        (OneHotEncoder(categories=[["w", "v", "u"]], drop=["v"]), FRAME[["kind"]]),
        (OneHotEncoder(), np.round(HOLES[:, :1] * 3)),
    ],
    ids=str,
)
def test_encoders(encoder, rows, path):
    check(encoder, rows, path)


def test_unknown_categories_are_treated_as_before(path):
    check(OneHotEncoder(handle_unknown="ignore"), FRAME[["kind"]], path)
    other = pd.DataFrame({"kind": ["new"]})
    assert dense(load_model(path)[0].transform(other)).sum() == 0
    check(OneHotEncoder(), FRAME[["kind"]], path)
    with pytest.raises(ValueError, match="unknown categories"):
        load_model(path)[0].transform(other)


@pytest.mark.parametrize(
    ("transformer", "rows"),
    [
        (ColumnTransformer([("n", NUMBERS, ["a", "b"]), ("c", OneHotEncoder(), ["kind", "perhaps"])]), FRAME),
        (
            ColumnTransformer(
                [
                    ("n", NUMBERS, slice("a", "c")),
                    ("c", OneHotEncoder(), ["kind"]),
                    ("drop", "drop", ["perhaps"]),
                    ("pass", "passthrough", ["count"]),
                ],
                remainder=SimpleImputer(),
                verbose_feature_names_out=False,
            ),
            FRAME,
        ),
        (
            ColumnTransformer(
                [
                    ("n", NUMBERS, make_column_selector(dtype_include="number")),
                    ("c", OneHotEncoder(), make_column_selector(dtype_exclude="number")),
                ]
            ),
            FRAME,
        ),
        (
            ColumnTransformer(
                [("a", StandardScaler(), [0, -1]), ("b", MinMaxScaler(), [False, True, False, False])],
                remainder="passthrough",
            ),
            X,
        ),
        (ColumnTransformer([("a", StandardScaler(), slice(0, 2)), ("b", MinMaxScaler(), np.array([2]))]), X),
        (
            ColumnTransformer(
                [("in", ColumnTransformer([("n", NUMBERS, ["a"])]), ["a", "b"]), ("c", OneHotEncoder(), ["kind"])],
                sparse_threshold=1.0,
            ),
            FRAME,
        ),
    ],
    ids=["names", "slice and words", "selectors", "numbers and booleans", "slice and array", "nested"],
)
def test_column_transformers(transformer, rows, path):
    check(transformer, rows, path)
    assert describe_model(path)["steps"][0][1] == "ColumnTransformer"


def test_a_part_without_columns_was_never_fitted_and_is_dropped(path):
    parts = [("a", StandardScaler(), [0]), ("b", OneHotEncoder(), []), ("c", NUMBERS, [False] * X.shape[1])]
    model = make_pipeline(ColumnTransformer(parts), network()).fit(X, Y)
    save_model(model, path)
    loaded = load_model(path)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert [part for _, part, _ in loaded[0].transformers][1:] == ["drop", "drop"]


@pytest.mark.parametrize(
    ("model", "rows", "reason"),
    [
        (
            make_pipeline(FunctionTransformer(), network()),
            X,
            "its step 'functiontransformer' .*FunctionTransformer is not",
        ),
        (
            make_pipeline(ColumnTransformer([("own", FunctionTransformer(), [0])]), network()),
            X,
            "its step 'columntransformer' .*its step 'own' .*FunctionTransformer is not one of the models",
        ),
        (
            make_pipeline(OneHotEncoder(min_frequency=2), network()),
            COUNTS,
            "'onehotencoder' .*min_frequency or max_categories cannot be kept",
        ),
        (
            make_pipeline(OneHotEncoder(feature_name_combiner=lambda a, b: f"{a}{b}"), network()),
            COUNTS,
            "feature_name_combiner is a function",
        ),
        (
            make_pipeline(ColumnTransformer([("a", MinMaxScaler(), [0])], transformer_weights={"a": 2.0}), network()),
            X,
            "transformer_weights cannot be kept",
        ),
        (TransformedTargetRegressor(network()), X, "TransformedTargetRegressor is not one of .*such as regressor_"),
    ],
)
def test_what_cannot_be_kept_is_named(model, rows, reason, path):
    with pytest.raises(ModelFileError, match=f"cannot be saved: .*{reason}"):
        save_model(model.fit(rows, Y), path)
    assert not path.exists()
