"""Which estimator to train: a network or an ensemble, and its parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from skscn.cli._fit_options import FitOptions, FitSettings
from skscn.cli._series import Series
from skscn.estimators import SCNClassifier, SCNEnsembleClassifier, SCNEnsembleRegressor, SCNRegressor
from skscn.losses import LOSSES
from skscn.recurrent import RecurrentSCNRegressor
from skscn.tables import Target
from skscn.words import listed, quoted

# Tables of up to this many numbers get an ensemble unless the user says otherwise: a few minutes on one processor.
_ENSEMBLE_NUMBERS = 500_000
_NETWORKS: dict[str, type[Any]] = {"regression": SCNRegressor, "classification": SCNClassifier}
_ENSEMBLES = {"regression": SCNEnsembleRegressor, "classification": SCNEnsembleClassifier}


def check_loss(settings: FitSettings, target: Target) -> None:
    """Raise ValueError if the loss is not for targets of this kind."""
    name = settings.network.get("loss")
    if name is None:
        return
    classes = target.task == "classification"
    known = [known for known, loss in LOSSES.items() if (loss.classifies if classes else loss.regresses)]
    if name in known:
        return
    theirs, ours, other = ("numbers", "classes", "regression") if classes else ("classes", "numbers", "classification")
    task = f", or add --task {other}" if not classes or target.kind == "whole" else ""
    raise ValueError(
        f"--loss {name} is for {theirs}, and the target {quoted(target.name)} has {ours}; use one of "
        f"{listed(known)}{task}."
    )


def check_task(options: FitOptions, target: Target) -> None:
    """Raise ValueError if the kind of model is not for targets of this kind."""
    if not options.recurrent or target.task == "regression":
        return
    numbers = ", or add --task regression if they are numbers" if target.kind == "whole" else ""
    raise ValueError(
        f"--estimator recurrent predicts numbers, and the target {quoted(target.name)} has classes; use --lags auto "
        f"instead, which works with classes{numbers}."
    )


def choose(asked: str, numbers: int) -> tuple[str, str]:
    """Which kind of model to grow, and why."""
    if asked != "auto":
        return asked, "as requested"
    if numbers <= _ENSEMBLE_NUMBERS:
        return "ensemble", "more accurate; --estimator network is faster"
    return "network", "faster on a table of this size; --estimator ensemble is more accurate"


def build_estimator(task: str, kind: str, settings: FitSettings, series: Series, options: FitOptions) -> Any:
    """The estimator with the parameters that the user set; early stopping holds out the last rows of a series."""
    if kind == "recurrent":
        return RecurrentSCNRegressor(feedback=options.feedback, random_state=options.seed).set_params(
            **settings.recurrent
        )
    validation = settings.network.get("validation", "random" if series.time is None else "last")
    common = {"random_state": options.seed, "n_jobs": options.jobs, "validation": validation}
    if kind == "ensemble":
        model = _ENSEMBLES[task](**{**common, **settings.ensemble})
        member = model._default_estimator()
        _check_parameters(member, settings.network, task)
        return model.set_params(estimator=member.set_params(**settings.network) if settings.network else None)
    if only := [name for name in settings.ensemble if name not in settings.network]:
        raise ValueError(f"{only[0]} is a parameter of ensembles; add --estimator ensemble.")
    network = _NETWORKS[task](**common)
    _check_parameters(network, settings.network, task)
    return network.set_params(**settings.network)


def _check_parameters(estimator: Any, names: Iterable[str], task: str) -> None:
    """Raise ValueError for a parameter that only models of the other task have."""
    if foreign := set(names) - set(estimator.get_params(deep=False)):
        raise ValueError(f"{min(foreign)} is not a parameter of {task}; leave it out.")
