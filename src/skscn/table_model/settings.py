"""Which estimator a table model trains, and the parameters of its parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from skscn.estimators import (
    DeepSCNClassifier,
    DeepSCNRegressor,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
)
from skscn.losses import LOSSES
from skscn.recurrent import RecurrentSCNEnsembleRegressor, RecurrentSCNRegressor
from skscn.recurrent.predicting import ReservoirRegressor
from skscn.table_model.series import Series
from skscn.tables import TableEncoder, Target
from skscn.words import listed, not_found, quoted

if TYPE_CHECKING:
    from skscn.table_model.model import TableModel

# Tables of up to this many numbers get an ensemble unless the user says otherwise: a few minutes on one processor.
_ENSEMBLE_NUMBERS = 500_000
# With up to this many numbers an ensemble grows in less time than other processes take to start.
_ONE_PROCESS_NUMBERS = 20_000
_CLASSES: dict[str, dict[str, type[Any]]] = {
    "network": {"regression": SCNRegressor, "classification": SCNClassifier},
    "ensemble": {"regression": SCNEnsembleRegressor, "classification": SCNEnsembleClassifier},
    "deep": {"regression": DeepSCNRegressor, "classification": DeepSCNClassifier},
    "recurrent": {"regression": RecurrentSCNRegressor},
    "recurrent-ensemble": {"regression": RecurrentSCNEnsembleRegressor},
}
# Parameters of Lags among those of a table model; the others are parameters of the model itself.
_OF_LAGS = {"max_lag", "max_terms"}
# Parameters of estimators that are set by those of the table model, or have no use in it.
_ELSEWHERE = {
    "random_state": "use random_state=…",
    "n_jobs": "use n_jobs=…",
    "verbose": "it shows the growth of single networks",
    "estimator": "use estimator=…",
    "loss": "use loss=…",
    "monotone": "use monotone=…",
    "quantile": 'use loss="quantile:0.9"',
    "feedback": "use feedback=True",
    "warm_start": "fit always trains a new model",
    "checkpoint": "use it with an estimator, such as SCNRegressor",
}


@dataclass(frozen=True)
class FitSettings:
    """Parameters that the user has set, by the parts of a model that they belong to."""

    encoder: dict[str, Any]
    ensemble: dict[str, Any]
    network: dict[str, Any]
    lags: dict[str, Any]
    recurrent: dict[str, Any]

    @property
    def dates(self) -> str:
        """How dates are read that can be read day first or month first."""
        return str(self.encoder.get("dates", "auto"))

    @classmethod
    def of(cls, model: TableModel) -> FitSettings:
        """The parameters of a table model; ValueError for one that its parts do not have."""
        deep = _names(DeepSCNRegressor(), DeepSCNClassifier()) if model.estimator == "deep" else set[str]()
        recurrent = _names(
            _CLASSES["recurrent-ensemble" if model.ensemble_of_recurrent else "recurrent"]["regression"]()
        )
        # The time is a parameter of the model itself.
        own = [
            _names(TableEncoder()) - {"time"},
            _names(SCNEnsembleRegressor()),
            _names(SCNRegressor(), SCNClassifier()) | deep,
            _OF_LAGS,
            recurrent,
        ]
        values = _checked(model.parameters or {}, set[str]().union(*own))
        if model.class_weight is not None:
            values["class_weight"] = model.class_weight
        _check_kind(model, values, encoder=own[0], recurrent=recurrent, others=own[1] | own[2])
        if model.lags is None and (names := _OF_LAGS & {*values}):
            raise ValueError(f'{min(names)} is a parameter of lags; add lags="auto".')
        if model.dates != "auto":
            values["dates"] = model.dates
        if isinstance(model.loss, str) and model.loss.startswith("quantile:"):
            values |= {"loss": "quantile", "quantile": _share(model.loss)}
        elif model.loss is not None:
            if isinstance(model.loss, str) and model.loss not in LOSSES:
                raise ValueError(not_found("loss", model.loss, list(LOSSES)))
            values["loss"] = model.loss
        if model.monotone is not None:
            values["monotone"] = dict(model.monotone)
        return cls(*({name: value for name, value in values.items() if name in names} for names in own))


def _checked(given: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    """The parameters; ValueError for one that nothing has."""
    for name in given:
        if name in _ELSEWHERE:
            raise ValueError(f"{name} cannot be set here; {_ELSEWHERE[name]}.")
        if name not in known:
            raise ValueError(not_found("parameter", name, sorted(known - set(_ELSEWHERE))))
    return dict(given)


def _share(loss: str) -> float:
    """The quantile in quantile:0.9."""
    text = loss.partition(":")[2]
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0.0 < share < 1.0:
        raise ValueError(f"The quantile must lie between 0 and 1, for example quantile:0.9; got {quoted(loss)}.")
    return share


def _check_kind(
    model: TableModel, values: Iterable[str], *, encoder: set[str], recurrent: set[str], others: set[str]
) -> None:
    """Raise ValueError for a parameter that the kind of model does not have."""
    for name in values:
        if model.recurrent and name not in encoder | recurrent:
            theirs = listed(sorted(recurrent - set(_ELSEWHERE)))
            raise ValueError(f"{name} is not a parameter of recurrent networks, which have {theirs}.")
        if not model.recurrent and name in recurrent - others:
            raise ValueError(f'{name} is a parameter of recurrent networks; add estimator="recurrent".')


def _names(*estimators: Any) -> set[str]:
    return set[str]().union(*(estimator.get_params(deep=False) for estimator in estimators))


def check_combination(model: TableModel) -> None:
    """Raise ValueError for parameters of a table model that exclude each other."""
    recurrent, loss = model.recurrent, model.loss if isinstance(model.loss, str) else None
    if model.delay is not None and model.lags is None:
        raise ValueError("delay needs lags.")
    if model.feedback and not recurrent:
        raise ValueError('feedback=True needs estimator="recurrent".')
    if model.time is False and (model.lags is not None or recurrent):
        other = 'estimator="recurrent"' if recurrent else "lags"
        raise ValueError(f"time=False cannot be combined with {other}; use one of them.")
    if recurrent and model.lags is not None:
        raise ValueError(
            'lags cannot be combined with estimator="recurrent", which remembers earlier rows by itself; use one of '
            "them."
        )
    if recurrent and loss not in (None, "squared"):
        raise ValueError(
            f'loss="{loss}" cannot be combined with estimator="recurrent", which minimises the squared error; for '
            'another loss, use lags="auto".'
        )
    if recurrent and model.weight is not None:
        raise ValueError(
            'weight cannot be combined with estimator="recurrent", which does not support weights; use lags="auto" '
            "instead."
        )
    if model.folds is not None and (model.folds < 0 or model.folds == 1):
        raise ValueError("folds must be 0 or at least 2.")
    bounds: Any = model.bounds
    if bounds is not None and not (len(bounds) == 2 and bounds[0] < bounds[1]):
        raise ValueError("bounds must be two numbers in increasing order, such as bounds=(0, 100).")
    if model.monotone is not None:
        _check_monotone(model, model.monotone)


def _check_monotone(model: TableModel, monotone: Mapping[str, int]) -> None:
    """Raise ValueError for signs that are none, and for kinds of models that cannot be monotone."""
    for name, sign in monotone.items():
        if sign not in (-1, 0, 1):
            raise ValueError(f"monotone must have 1, -1 or 0 for each column; got {sign!r} for {quoted(name)}.")
    kind = "recurrent" if model.recurrent else model.estimator
    if kind in ("recurrent", "deep"):
        lags = ', with lags="auto" for a series' if model.recurrent else ""
        raise ValueError(f'monotone cannot be combined with estimator="{kind}"; use estimator="ensemble"{lags}.')
    if model.loss not in (None, "squared"):
        raise ValueError("monotone supports only the squared error; leave loss out.")
    if not isinstance(kind, str) and not isinstance(kind, SCNRegressor | SCNEnsembleRegressor):
        raise ValueError(f"monotone is for SCNRegressor and SCNEnsembleRegressor, not for {type(kind).__name__}.")


def check_target(model: TableModel, settings: FitSettings, target: Target) -> None:
    """Raise ValueError if the loss, or the kind of model, is not for targets of this kind."""
    classes, name = target.task == "classification", settings.network.get("loss")
    whole = target.kind == "whole"
    if classes and model.recurrent:
        numbers = ', or add task="regression" if they are numbers' if whole else ""
        raise ValueError(
            f'estimator="recurrent" predicts numbers, but the target {quoted(target.name)} has classes; use '
            f'lags="auto" instead, which works with classes{numbers}.'
        )
    if classes and model.bounds is not None:
        raise ValueError(f"bounds are for numbers, but the target {quoted(target.name)} has classes; leave them out.")
    if classes and model.monotone is not None:
        raise ValueError(f"monotone is for numbers, but the target {quoted(target.name)} has classes; leave it out.")
    known = [known for known, loss in LOSSES.items() if (loss.classifies if classes else loss.regresses)]
    if not isinstance(name, str) or name in known:
        return
    theirs, ours, other = ("numbers", "classes", "regression") if classes else ("classes", "numbers", "classification")
    task = f', or add task="{other}"' if not classes or whole else ""
    raise ValueError(
        f'loss="{name}" is for {theirs}, but the target {quoted(target.name)} has {ours}; use one of '
        f"{listed(known)}{task}."
    )


def choose(asked: Any, numbers: int) -> tuple[str, str]:
    """The kind of model to grow, and why."""
    if not isinstance(asked, str):
        return "given", "as requested"
    if asked != "auto":
        return asked, "as requested"
    if numbers <= _ENSEMBLE_NUMBERS:
        return "ensemble", 'more accurate; estimator="network" is faster'
    return "network", 'faster on a table of this size; estimator="ensemble" is more accurate'


def build_estimator(
    model: TableModel, task: str, kind: str, numbers: int | None, settings: FitSettings, series: Series
) -> Any:
    """The estimator with the parameters that the user set, for a table with this many numbers, if that is known.

    Early stopping holds out the last rows of a series.
    """
    if kind == "given":
        return clone(model.estimator)
    kinds = _CLASSES[kind]
    if kind.startswith("recurrent"):
        estimator = kinds[task](feedback=model.feedback, random_state=model.random_state)
        return estimator.set_params(**settings.recurrent)
    validation = settings.network.get("validation", "random" if series.time is None else "last")
    small = numbers is not None and numbers <= _ONE_PROCESS_NUMBERS
    n_jobs = 1 if model.n_jobs == -1 and small else model.n_jobs
    common = {"random_state": model.random_state, "n_jobs": n_jobs, "validation": validation}
    if kind == "ensemble":
        estimator = kinds[task](**{**common, **settings.ensemble})
        member = estimator._default_estimator()
        _check_parameters(member, settings.network, task)
        return estimator.set_params(estimator=member.set_params(**settings.network) if settings.network else None)
    if only := [name for name in settings.ensemble if name not in settings.network]:
        raise ValueError(f'{only[0]} is a parameter of ensembles; add estimator="ensemble".')
    network = kinds[task](**common)
    _check_parameters(network, settings.network, task)
    return network.set_params(**settings.network)


def _check_parameters(estimator: Any, names: Iterable[str], task: str) -> None:
    """Raise ValueError for a parameter that only models of the other task have."""
    if foreign := set(names) - set(estimator.get_params(deep=False)):
        raise ValueError(f"{min(foreign)} is not a parameter of {task}; leave it out.")


def is_recurrent_kind(estimator: Any) -> bool:
    """Whether a name, or an estimator, stands for recurrent networks."""
    return (
        str(estimator).startswith("recurrent")
        if isinstance(estimator, str)
        else isinstance(estimator, ReservoirRegressor)
    )
