"""Which estimator to train: a network or an ensemble, and its parameters."""

from __future__ import annotations

from typing import Any

from skscn.cli._fit_options import FitOptions, FitSettings
from skscn.cli._series import Series
from skscn.estimators import SCNClassifier, SCNEnsembleClassifier, SCNEnsembleRegressor, SCNRegressor

# Tables of up to this many numbers get an ensemble unless the user says otherwise: a few minutes on one processor.
_ENSEMBLE_NUMBERS = 500_000
_NETWORKS = {"regression": SCNRegressor, "classification": SCNClassifier}
_ENSEMBLES = {"regression": SCNEnsembleRegressor, "classification": SCNEnsembleClassifier}


def choose(asked: str, numbers: int) -> tuple[bool, str]:
    """Whether to grow an ensemble, and why."""
    if asked != "auto":
        return asked == "ensemble", "as requested"
    if numbers <= _ENSEMBLE_NUMBERS:
        return True, "more accurate; --estimator network is faster"
    return False, "faster on a table of this size; --estimator ensemble is more accurate"


def build_estimator(task: str, ensemble: bool, settings: FitSettings, series: Series, options: FitOptions) -> Any:
    """The estimator with the parameters that the user set; early stopping holds out the last rows of a series."""
    validation = settings.network.get("validation", "random" if series.time is None else "last")
    common = {"random_state": options.seed, "n_jobs": options.jobs, "validation": validation}
    if ensemble:
        model = _ENSEMBLES[task](**{**common, **settings.ensemble})
        member = model._default_estimator().set_params(**settings.network) if settings.network else None
        return model.set_params(estimator=member)
    if only := [name for name in settings.ensemble if name not in settings.network]:
        raise ValueError(f"{only[0]} is a parameter of ensembles; add --estimator ensemble.")
    return _NETWORKS[task](**{**common, **settings.network})
