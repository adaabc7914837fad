"""Write a small model file of each kind, with rows and what the models say about them: once for each release.

usage: .venv/bin/python tests/files/write.py [VERSION]

The files go to a folder named after the version, by default that of the package. Files of earlier versions are never
written again: that they keep loading is what tests/persistence/test_released_files.py is for.
"""

import datetime as dt
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

import skscn
from skscn.recurrent import RecurrentStream
from skscn.series import Lags
from skscn.tables import TableEncoder

RNG = np.random.default_rng(7)
X = np.round(RNG.uniform(size=(60, 3)), 3)
Y = np.sin(6 * X[:, 0]) + X[:, 1]
NAMES = np.array(["few", "many", "some"])[(3 * X[:, 0]).astype(int)]
SMALL = {"max_nodes": 4, "max_candidates": 20, "random_state": 0}
ROWS = X[:8] * 1.5
# A column of each kind, and a few rows as they stand in a text file.
MOMENTS = [dt.datetime(2019, 1, 1) + dt.timedelta(hours=400 * i) for i in range(60)]
TABLE = pa.table(
    {
        "number": [None if i % 7 == 0 else x for i, x in enumerate(X[:, 0])],
        "text": ["a", "b", "c", "c", None] * 12,
        "moment": MOMENTS,
        "day": [f"{moment:%d.%m.%Y}" for moment in MOMENTS],
        "time": [moment.time() for moment in MOMENTS],
        "yes": [True, False] * 30,
        "written": [f"{1000 * i:,}" for i in range(60)],
    }
)
AS_TEXT = {
    "number": ["0.25", "", "0.75"],
    "text": ["c", "new", ""],
    "moment": ["2019-05-06 07:08:09", "2020-01-01", ""],
    "day": ["31.12.2019", "", "1.1.2021"],
    "time": ["12:34:56", "00:00", ""],
    "yes": ["true", "false", ""],
    "written": ["1,234", "5", "?"],
}


def models():
    """Name and fitted model."""
    yield "SCNRegressor", skscn.SCNRegressor(**SMALL).fit(X, Y)
    outputs = np.column_stack([Y, X[:, 2]])
    quantile = skscn.SCNRegressor(**SMALL, algorithm="SC-II", scaling="quantile", activation="gaussian")
    yield "SCNRegressor-two-outputs", quantile.fit(X, outputs)
    yield "SCNClassifier", skscn.SCNClassifier(**SMALL).fit(X, NAMES)
    yield "SCNClassifier-two-classes", skscn.SCNClassifier(**SMALL).fit(X, Y > 1.0)
    yield "IRVFLRegressor", skscn.IRVFLRegressor(max_nodes=4, random_state=0).fit(X, Y)
    yield "ModifiedQuickpropRegressor", skscn.ModifiedQuickpropRegressor(max_nodes=3, random_state=0).fit(X, Y)
    members = {"n_members": 2, "random_state": 0, "bootstrap": True, "max_features": 0.7}
    yield "SCNEnsembleRegressor", skscn.SCNEnsembleRegressor(skscn.SCNRegressor(**SMALL), **members).fit(X, Y)
    yield "SCNClassifier-squared", skscn.SCNClassifier(**SMALL, loss="squared").fit(X, NAMES)
    yield "SCNEnsembleClassifier", skscn.SCNEnsembleClassifier(skscn.SCNClassifier(**SMALL), **members).fit(X, NAMES)
    yield "DeepSCNRegressor", skscn.DeepSCNRegressor(**SMALL, nodes_per_layer=2, early_stopping=False).fit(X, Y)
    yield "DeepSCNClassifier", skscn.DeepSCNClassifier(**SMALL, nodes_per_layer=2, early_stopping=False).fit(X, NAMES)
    yield "OnlineSCNRegressor", skscn.OnlineSCNRegressor(random_state=0).fit(X, Y)
    yield "OnlineSCNClassifier", skscn.OnlineSCNClassifier(random_state=0).fit(X, NAMES)
    recurrent = skscn.RecurrentSCNRegressor(**SMALL).fit(X, Y)
    yield "RecurrentSCNRegressor", recurrent
    yield "RecurrentSCNEnsembleRegressor", skscn.RecurrentSCNEnsembleRegressor(2, **SMALL).fit(X, Y)
    stream = recurrent.stream()
    stream.learn_one(X[0], Y[0])
    yield "RecurrentStream", stream
    features = skscn.IRVFLRegressor(max_nodes=3, random_state=0)
    yield "Pipeline", Pipeline([("features", features), ("network", skscn.SCNRegressor(**SMALL))]).fit(X, Y)
    network = skscn.SCNRegressor(**SMALL, early_stopping=False)
    holes = np.where(X > 0.9, np.nan, X)
    scalers = [SimpleImputer(add_indicator=True), StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler()]
    yield "Pipeline-scaled", make_pipeline(*scalers, skscn.SCNRegressor(**SMALL)).fit(holes, Y)
    columns = ColumnTransformer(
        [
            ("scaled", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), [0]),
            ("category", OneHotEncoder(handle_unknown="ignore"), [False, True, False]),
        ],
        remainder="passthrough",
    )
    yield "Pipeline-columns", make_pipeline(columns, skscn.SCNRegressor(**SMALL)).fit(np.round(X, 1), Y)
    lags = Lags({0: [1, 4]}, [3], delay=2, means=[5], columns=[1])
    yield "Pipeline-lags", make_pipeline(lags, skscn.SCNRegressor(**SMALL)).fit(X, Y)
    yield "Pipeline-table", Pipeline([("table", TableEncoder(2)), ("network", network)]).fit(TABLE, Y)
    yield "SCNRegressor-missing", skscn.SCNRegressor(**SMALL).fit(holes, Y)
    yield "SCNRegressor-table", skscn.SCNRegressor(**SMALL).fit(TABLE, Y)
    yield "SCNRegressor-monotone", skscn.SCNRegressor(**SMALL, monotone=[0, 1, 0]).fit(X, Y)
    places = RNG.uniform(size=(4000, 3))
    jumping = skscn.SCNRegressor(**SMALL).fit(places, Y.mean() + (places[:, 0] > 0.5) + places[:, 1])
    yield "SCNRegressor-jumps", jumping
    yield "SCNEnsembleRegressor-table", skscn.SCNEnsembleRegressor(network, **members).fit(TABLE, Y)


def answers(model, rows) -> dict[str, list]:
    """What a model says about the rows, method by method."""
    if isinstance(model, RecurrentStream):
        return {"predict_one": model.predict_one(rows[0])}
    return {
        name: np.asarray(getattr(model, name)(rows)).tolist()
        for name in ("predict", "predict_proba", "decision_function", "predict_interval")
        if hasattr(model, name)
    }


def main():
    folder = Path(__file__).parent / (sys.argv[1] if len(sys.argv) > 1 else skscn.__version__)
    folder.mkdir(exist_ok=True)
    expected = {"rows": ROWS.tolist(), "table": AS_TEXT, "answers": {}}
    for name, model in models():
        skscn.save_model(model, folder / f"{name}.scn")
        expected["answers"][name] = answers(model, pa.table(AS_TEXT) if name.endswith("-table") else ROWS)
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
