import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from skscn import (
    DeepSCNClassifier,
    DeepSCNRegressor,
    IRVFLRegressor,
    ModifiedQuickpropRegressor,
    SCNClassifier,
    SCNRegressor,
)
from skscn.output_weights import ALGORITHMS

ESTIMATORS = [
    SCNRegressor(),
    SCNClassifier(),
]
OTHERS = [
    IRVFLRegressor(),
    ModifiedQuickpropRegressor(max_nodes=20),
    *(estimator(algorithm=name) for name in ALGORITHMS for estimator in (SCNRegressor, SCNClassifier)),
    *(SCNRegressor(algorithm=name, alpha=0.1) for name in ALGORITHMS),
    DeepSCNRegressor(max_layers=2, nodes_per_layer=10, early_stopping=False),
    DeepSCNClassifier(max_layers=2, nodes_per_layer=10, early_stopping=False),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(OTHERS)
def test_scikit_learn_contract_of_others(estimator, check):
    check(estimator)
