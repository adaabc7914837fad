"""The parameters that make a growing network a stochastic configuration network."""

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from skscn.configuration import CONFIGURATIONS, Configuration, resolve_configuration
from skscn.estimators._early_stopping import CRITERIA
from skscn.estimators._typing import (
    ActivationLike,
    Auto,
    CategoricalFeatures,
    Criterion,
    HeldOut,
    PathLike,
    ScalingName,
    Seed,
)
from skscn.estimators.growing import GrowingNetwork
from skscn.layers import LAYERS
from skscn.losses import LOSSES
from skscn.output_weights import ALGORITHMS
from skscn.scaling import SCALINGS

# Υ and r, as in the paper.
SCOPES = (1, 5, 15, 30, 50, 100, 150, 200)
CONTRACTIONS = (0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)


class BaseSCN(GrowingNetwork):
    """Base of :class:`SCNRegressor` and :class:`SCNClassifier`."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GrowingNetwork._parameter_constraints,
        # Views of the registries, so that a part can be registered later.
        "algorithm": [StrOptions(ALGORITHMS.keys())],
        "layer": [StrOptions(LAYERS.keys())],
        "loss": [StrOptions(LOSSES.keys())],
        "max_candidates": [Interval(Integral, 1, None, closed="left")],
        "scopes": ["array-like"],
        "contractions": ["array-like"],
        "window": [Interval(Integral, 1, None, closed="left")],
        "max_nodes": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "nodes_per_step": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "configuration": [StrOptions(CONFIGURATIONS.keys()), Configuration],
        "direct_link": ["boolean", StrOptions({"auto"})],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"auto", "gcv"})],
        "scaling": [StrOptions({"auto", *(name for name in SCALINGS if name is not None)}), None],
        "early_stopping": ["boolean", StrOptions({"auto", *CRITERIA})],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        *,
        algorithm: str,
        max_nodes: int | Auto,
        tol: float,
        max_candidates: int,
        scopes: Sequence[float],
        contractions: Sequence[float],
        window: int,
        nodes_per_step: int | Auto,
        configuration: str | Configuration,
        direct_link: bool | Auto,
        alpha: float | Literal["auto", "gcv"],
        loss: str,
        layer: str,
        activation: ActivationLike,
        categorical_features: CategoricalFeatures,
        scaling: ScalingName | Auto,
        early_stopping: Criterion | Auto,
        validation_fraction: float | Auto,
        validation: HeldOut,
        n_iter_no_change: int,
        warm_start: bool,
        checkpoint: PathLike | None,
        n_jobs: int | None,
        random_state: Seed,
        verbose: int,
    ):
        super().__init__(
            max_nodes=max_nodes,
            tol=tol,
            activation=activation,
            categorical_features=categorical_features,
            scaling=scaling,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            validation=validation,
            n_iter_no_change=n_iter_no_change,
            warm_start=warm_start,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.algorithm = algorithm
        self.max_candidates = max_candidates
        self.scopes = scopes
        self.contractions = contractions
        self.window = window
        self.nodes_per_step = nodes_per_step
        self.configuration = configuration
        self.direct_link = direct_link
        self.alpha = alpha
        self.loss = loss
        self.layer = layer

    def _configuration(self) -> Configuration:
        scopes, contractions = _numbers("scopes", self.scopes), _numbers("contractions", self.contractions)
        if not all(0.0 < scope <= 1e6 for scope in scopes):
            raise ValueError(
                f"scopes must be numbers above 0 and up to 1e6, for example (1, 5, 15); got {self.scopes}."
            )
        rising = all(a < b for a, b in pairwise(contractions))
        if not (rising and all(0.0 < r < 1.0 for r in contractions)):
            raise ValueError(
                "contractions must increase and lie between 0 and 1, both excluded, for example (0.9, 0.99, 0.999); "
                f"got {self.contractions}."
            )
        return resolve_configuration(
            self.configuration, scopes=scopes, contractions=contractions, max_candidates=self.max_candidates
        )


def _numbers(name: str, values: object) -> tuple[float, ...]:
    """A parameter that is a sequence of numbers, as a tuple."""
    numbers = np.asarray(values)
    if numbers.ndim != 1 or numbers.size == 0 or numbers.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be a sequence of at least one number; got {values!r}.")
    return tuple(float(number) for number in numbers)
