"""scikit-learn's checks of estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from skscn import RecurrentSCNEnsembleRegressor, RecurrentSCNRegressor

pytestmark = pytest.mark.usefixtures("few_pilots")
TINY = {"max_nodes": 2, "max_candidates": 6, "nodes_per_step": 2}


@parametrize_with_checks([RecurrentSCNRegressor(**TINY)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([RecurrentSCNEnsembleRegressor(2, **TINY)])
def test_scikit_learn_contract_of_ensembles(estimator, check):
    check(estimator)
