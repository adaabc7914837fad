"""scikit-learn's checks of estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from skscn import RecurrentSCNEnsembleRegressor, RecurrentSCNRegressor

pytestmark = pytest.mark.usefixtures("few_pilots")
TINY = {"max_nodes": 4, "max_candidates": 10, "nodes_per_step": 2}


@parametrize_with_checks([RecurrentSCNRegressor(**TINY), RecurrentSCNEnsembleRegressor(2, **TINY)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)
