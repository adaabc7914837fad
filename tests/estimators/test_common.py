from functools import partial

import pytest
from sklearn.utils.estimator_checks import check_regressors_train, estimator_checks_generator, parametrize_with_checks

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
    SCNClassifier(algorithm="SC-I"),
    SCNClassifier(algorithm="SC-II"),
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


def function_of(check):
    return function_of(check.func) if isinstance(check, partial) else check


# This check sets alpha=0.01, which the other algorithms refuse.
CHECKS = [
    pytest.param(estimator, check, id=f"{algorithm} {function_of(check).__name__} {number}")
    for algorithm in ALGORITHMS
    if not ALGORITHMS[algorithm].regularises
    for number, (estimator, check) in enumerate(estimator_checks_generator(SCNRegressor(algorithm=algorithm)))
    if function_of(check) is not check_regressors_train
]


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_contract_of_the_other_algorithms(estimator, check):
    check(estimator)
