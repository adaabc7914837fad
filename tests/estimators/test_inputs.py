"""What is said about inputs that are not numbers, and where estimators take them."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from skscn import Chunks, SCNClassifier, SCNEnsembleClassifier, SCNEnsembleRegressor, SCNRegressor
from skscn.tables import TableEncoder

Y = np.arange(20) % 2
FRAME = pd.DataFrame({"town": ["Rome", "Oslo"] * 10, "size": np.arange(20.0)})
GAPS = np.where(np.arange(40).reshape(20, 2) == 7, np.nan, np.arange(40).reshape(20, 2) % 11)
MODELS = [
    SCNRegressor(max_nodes=2),
    SCNClassifier(max_nodes=2),
    SCNEnsembleRegressor(n_members=2),
    SCNEnsembleClassifier(n_members=2),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_text_in_arrays_is_refused_with_what_would_work(model):
    sentence = "^could not convert string to float: 'Rome'. Text, dates and categories are encoded if fit gets them in"
    with pytest.raises(ValueError, match=sentence):
        model.fit(FRAME.to_numpy(), Y)
    with pytest.raises(ValueError, match='categorical_features="from_dtype"'):
        model.set_params(categorical_features=None).fit(FRAME, Y)
    model.set_params(categorical_features="from_dtype").fit(np.random.default_rng(0).normal(size=(20, 2)), Y)
    with pytest.raises(ValueError, match="TableEncoder"):
        model.predict(FRAME.to_numpy())


def test_missing_values_in_sparse_matrices_are_refused_with_what_would_work():
    with pytest.raises(ValueError, match="NaN in a sparse matrix; use X.toarray()"):
        SCNRegressor().fit(sparse.csr_array(GAPS), Y)
    model = SCNRegressor(max_nodes=2).fit(sparse.csr_array(np.nan_to_num(GAPS)), Y)
    with pytest.raises(ValueError, match="does not know what to fill in: .* fitted on a sparse matrix. Fit it again"):
        model.predict(GAPS)


def test_categories_of_rows_that_are_not_in_memory_are_refused():
    with pytest.raises(ValueError, match="categorical_features needs rows in memory"):
        SCNRegressor(categorical_features=[0]).fit(Chunks(np.nan_to_num(GAPS), Y))


def test_other_errors_stay_as_they_are():
    with pytest.raises(ValueError, match=r"^Input y contains NaN\.$"):
        SCNRegressor().fit(np.zeros((2, 1)), [np.nan, 1.0])
    with pytest.raises(ValueError, match="^Input X contains infinity"):
        SCNRegressor().fit([[np.inf], [1.0]], [0.0, 1.0])


def test_an_encoder_before_the_estimator_works_as_well():
    for X in (FRAME, GAPS):
        assert make_pipeline(TableEncoder(), SCNRegressor(max_nodes=2)).fit(X, Y).predict(X).shape == (20,)
