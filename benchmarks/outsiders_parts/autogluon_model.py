"""SCN as a model of AutoGluon, which TabArena runs as well: pass the class where either takes models.

    predictor.fit(frame, hyperparameters={SCNModel: {}})

Hyperparameters are the parameters of the estimators; "ensemble": False makes it one network.
"""

from time import time
from typing import Any

import pandas as pd
from autogluon.core.models import AbstractModel
from sklearn.base import BaseEstimator

import skscn
from skscn.growth import Step
from skscn.progress import Listener, listening


class Deadline(Listener):
    """After a number of seconds, networks stop growing, and an ensemble consists of the members that are finished."""

    def __init__(self, seconds: float):
        self.end = time() + seconds

    def step(self, step: Step, max_nodes: int | None) -> bool:
        return time() > self.end

    def member(self, member: BaseEstimator, done: int, n_members: int) -> bool:
        return time() > self.end

    def elsewhere(self) -> "Deadline":
        return self


class SCNModel(AbstractModel):
    """A stochastic configuration network or an ensemble of them; it takes categories and missing values as they are."""

    ag_key = ag_name = "SCN"
    ag_priority = 75
    seed_name = "random_state"
    _supported_problem_types = ["binary", "multiclass", "regression"]
    _default_auxiliary_params_extra = {"valid_raw_types": ["int", "float", "bool", "category"]}

    def _set_default_params(self) -> None:
        self._set_default_param_value("ensemble", True)

    def _fit(
        self,
        X: pd.DataFrame,
        y: pd.Series,
        time_limit: float | None = None,
        sample_weight: Any = None,
        num_cpus: int | None = 1,
        **others: Any,
    ) -> None:
        """Rows for validation are not used: a network holds out some of its own, and then trains on them too."""
        parameters = self._get_model_params()
        kind = "Regressor" if self.problem_type == "regression" else "Classifier"
        estimator = getattr(skscn, f"SCN{'Ensemble' if parameters.pop('ensemble') else ''}{kind}")
        self.model = estimator(**{"n_jobs": num_cpus, **parameters})
        with listening(None if time_limit is None else Deadline(time_limit)):
            self.model.fit(self.preprocess(X, y=y), y, sample_weight)

    def _more_tags(self) -> dict[str, bool]:
        return {"can_refit_full": True}
