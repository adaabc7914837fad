from sklearn.utils.estimator_checks import parametrize_with_checks

from skscn import IRVFLRegressor, ModifiedQuickpropRegressor, SCNClassifier, SCNRegressor
from skscn.output_weights import ALGORITHMS

ESTIMATORS = [
    *(estimator(algorithm=algorithm) for estimator in (SCNRegressor, SCNClassifier) for algorithm in ALGORITHMS),
    IRVFLRegressor(),
    ModifiedQuickpropRegressor(max_nodes=20),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
