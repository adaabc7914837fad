"""scikit-learn's checks of estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from skscn import RecurrentSCNEnsembleRegressor, RecurrentSCNRegressor
from skscn.recurrent.fitting import LARGE, SMALL

TINY = {"max_nodes": 2, "max_candidates": 6, "nodes_per_step": 2}


@pytest.fixture(autouse=True)
def without_memory(few_pilots, monkeypatch):
    """Some checks take rows out, or put them in another order, which only a network without memory allows."""
    kinds = (LARGE, False, False), (SMALL, True, False)
    for name, value in {"LENGTHS": (0,), "_TWO_KINDS": kinds, "_KINDS": kinds}.items():
        monkeypatch.setattr(f"skscn.recurrent.fitting.{name}", value)


@parametrize_with_checks([RecurrentSCNRegressor(**TINY)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([RecurrentSCNEnsembleRegressor(2, **TINY)])
def test_scikit_learn_contract_of_ensembles(estimator, check):
    check(estimator)
