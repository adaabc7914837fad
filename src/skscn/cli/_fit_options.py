"""The options of ``skscn fit``: its arguments, the parameters set by ``--set``, and the columns to learn from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skscn.cli._settings import parse_settings
from skscn.words import listed, quoted

if TYPE_CHECKING:
    from skscn.readers import TableFile

# Parameters of Lags that --set may set; the others have options of their own.
_OF_LAGS = {"max_lag", "max_terms"}
_OWN_OPTIONS = {"feedback", "random_state", "verbose"}


@dataclass(frozen=True)
class FitOptions:
    """The arguments and options of the command line."""

    data: Path
    target: str
    model: Path
    task: str = "auto"
    estimator: str = "auto"
    settings: list[str] = field(default_factory=list)
    cv: int | None = None
    seed: int = 0
    jobs: int = 1
    drop: list[str] = field(default_factory=list)
    weight: str | None = None
    time: str | None = None
    group: str | None = None
    shuffle: bool = False
    memory_limit: int | None = None
    dates: str = "auto"
    loss: str | None = None
    quantile: float | None = None
    class_weight: str | None = None
    lags: str | tuple[int, ...] | None = None
    delay: int | None = None
    feedback: bool = False

    @property
    def recurrent(self) -> bool:
        """Whether a recurrent network is to be trained."""
        return self.estimator == "recurrent"

    @property
    def past(self) -> str | None:
        """The option by which predictions depend on earlier rows; None if each row is predicted on its own."""
        return "--estimator recurrent" if self.recurrent else None if self.lags is None else "--lags"

    @property
    def exact(self) -> list[str]:
        """The columns that are needed as they are written: the target, unless it is a number."""
        return [] if self.task == "regression" else [self.target]

    @property
    def target_and_weight(self) -> list[str]:
        """The columns that are read in addition to the inputs."""
        return [name for name in (self.target, self.weight) if name is not None]


@dataclass(frozen=True)
class FitSettings:
    """Parameters that the user set, by what they belong to."""

    encoder: dict[str, Any]
    ensemble: dict[str, Any]
    network: dict[str, Any]
    lags: dict[str, Any] = field(default_factory=dict)
    recurrent: dict[str, Any] = field(default_factory=dict)

    @property
    def dates(self) -> str:
        """How dates are read that can be read day first or month first."""
        return str(self.encoder.get("dates", "auto"))


def read_settings(options: FitOptions) -> FitSettings:
    """The parameters that the user set, by what they belong to."""
    from skscn.estimators import SCNClassifier, SCNEnsembleRegressor, SCNRegressor
    from skscn.recurrent import RecurrentSCNRegressor
    from skscn.tables import TableEncoder

    # The time has an option of its own.
    own = [
        _names(TableEncoder()) - {"time"},
        _names(SCNEnsembleRegressor()),
        _names(SCNRegressor(), SCNClassifier()),
        _OF_LAGS,
        _names(RecurrentSCNRegressor()),
    ]
    values = parse_settings(options.settings, set[str]().union(*own))
    if options.class_weight is not None:
        values["class_weight"] = options.class_weight
    _check_kind(options, values, encoder=own[0], recurrent=own[-1], others=own[1] | own[2])
    if options.lags is None and (names := _OF_LAGS & {*values}):
        raise ValueError(f"{min(names)} is about lags; add --lags auto.")
    if options.dates != "auto":
        values["dates"] = options.dates
    if options.loss is not None:
        values["loss"] = options.loss
    if options.quantile is not None:
        values["quantile"] = options.quantile
    return FitSettings(*({name: value for name, value in values.items() if name in names} for names in own))


def _check_kind(
    options: FitOptions, values: Iterable[str], *, encoder: set[str], recurrent: set[str], others: set[str]
) -> None:
    """Raise ValueError for a parameter that the kind of model does not have."""
    for name in values:
        if options.recurrent and name not in encoder | recurrent:
            theirs = listed(sorted(recurrent - _OWN_OPTIONS))
            raise ValueError(f"{name} is not a parameter of recurrent networks, which have {theirs}.")
        if not options.recurrent and name in recurrent - others:
            raise ValueError(f"{name} is a parameter of recurrent networks; add --estimator recurrent.")


def _names(*estimators: Any) -> set[str]:
    return set[str]().union(*(estimator.get_params(deep=False) for estimator in estimators))


def input_names(file: TableFile, options: FitOptions) -> list[str]:
    """The columns to learn from."""
    apart = [*options.target_and_weight, *options.drop, *([] if options.group is None else [options.group])]
    for name in [*apart, *([] if options.time is None else [options.time])]:
        file.find(name)
    if options.time in apart:
        raise ValueError(
            f"{options.time!r} cannot be the time of the rows if it is the target, the weights, the group or a dropped "
            "column; name another column."
        )
    if options.target in apart[1:]:
        raise ValueError(
            f"{quoted(options.target)} is the target; it cannot also be dropped or contain the weights or the group."
        )
    inputs = [name for name in file.names if name not in set(apart)]
    if not inputs:
        raise ValueError(
            f"{file.label} has no column to predict {quoted(options.target)} from; its columns are "
            f"{listed(file.names)}."
        )
    return inputs
