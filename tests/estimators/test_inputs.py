"""What is said about inputs that are not numbers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from skscn import SCNClassifier, SCNEnsembleClassifier, SCNEnsembleRegressor, SCNRegressor
from skscn.tables import TableEncoder

Y = np.arange(20) % 2
FRAME = pd.DataFrame({"town": ["Rome", "Oslo"] * 10, "size": np.arange(20.0)})
GAPS = np.where(np.arange(40).reshape(20, 2) == 7, np.nan, 1.0)
MODELS = [
    SCNRegressor(max_nodes=2),
    SCNClassifier(max_nodes=2),
    SCNEnsembleRegressor(n_members=2),
    SCNEnsembleClassifier(n_members=2),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_missing_values_and_text_name_the_encoder_of_this_package(model):
    for X, sentence in ((GAPS, "Input X contains NaN"), (FRAME, "could not convert string to float: 'Rome'")):
        with pytest.raises(ValueError, match=rf"^{sentence}\. Put skscn.tables.TableEncoder before the") as refusal:
            model.fit(X, Y)
        assert "HistGradientBoosting" not in str(refusal.value)
    model.fit(np.random.default_rng(0).normal(size=(20, 2)), Y)
    with pytest.raises(ValueError, match="TableEncoder"):
        model.predict(GAPS)


def test_other_errors_stay_as_they_are():
    with pytest.raises(ValueError, match=r"^Input y contains NaN\.$"):
        SCNRegressor().fit(np.zeros((2, 1)), [np.nan, 1.0])
    with pytest.raises(ValueError, match="^Input X contains infinity"):
        SCNRegressor().fit([[np.inf], [1.0]], [0.0, 1.0])


def test_the_advice_works():
    for X in (FRAME, GAPS):
        assert make_pipeline(TableEncoder(), SCNRegressor(max_nodes=2)).fit(X, Y).predict(X).shape == (20,)
