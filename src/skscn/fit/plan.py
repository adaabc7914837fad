"""The decisions of a fit: every name and every "auto" is resolved here, once, before any work.

Incompatible settings are rejected here too; the message says what would work. A :class:`Recipe` follows from the
parameters alone, a :class:`Plan` from these and the number of rows and inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from skscn.activations import ACTIVATIONS, check_activation, resolve_activation
from skscn.fit.data import ArrayData, HoldOut, TrainingData
from skscn.losses import LOSSES, LogLoss, Loss, name_of
from skscn.monotone import STEEPEST
from skscn.network import Network
from skscn.nodes import IDENTITY, LAYERS, Dense, Layer, Nodes
from skscn.output_weights import ALGORITHMS, LeastSquares, OutputWeights
from skscn.search import Configuration, StepSchedule
from skscn.supervision import SUPERVISIONS, Supervision
from skscn.tables.columns import Column, Moment, Number
from skscn.tables.row_encoder import RowEncoder
from skscn.words import listed, quoted

if TYPE_CHECKING:
    from skscn.estimators.base import GrowingNetwork


# Fewer rows are not split for early stopping unless the user asks for it.
_ENOUGH_TO_HOLD_OUT = 100
# Of fewer rows, ensembles have more members, which keep averages over numbers of nodes.
FEW_ROWS = 300
# From this number of rows on, "auto" saves memory: no rows are held out at random, and there are no direct links.
MANY_ROWS = 100_000
# max_nodes="auto" is this number without early stopping, and at least this number with it.
_NODES = 100
# It is at most this number, and limited further so that there are enough rows for each node, and so that growth, which
# takes time in proportion to the number of rows and the square of the number of nodes, takes seconds.
_MOST_NODES, _ROWS_PER_NODE, _MOST_WORK = 1000, 2, 2.5e8
# Direct links are fitted by plain least squares, so they need more rows than inputs.
_ROWS_PER_LINK = 4
_MANY_INPUTS = 200


@dataclass(frozen=True)
class Recipe:
    """What the parameters of an estimator stand for.

    Attributes
    ----------
    layer : Layer
    loss : Loss
    configuration : Configuration
    supervision : Supervision
    rule : type of OutputWeights
    window : int
    alpha : float or "gcv"
    scaling : str or None
    direct_link, early_stopping : bool or str
        For the plan; ``by_size`` says which of them depend on the number of rows.
    by_size : frozenset of str
    validation, validation_fraction
        As given.
    nodes_per_step : int or None
        None if the configuration decides.
    max_nodes : int or None
        None if only early stopping decides, within the limits of a plan.
    max_layers : int
    nodes_per_layer : int or None
        None if early stopping decides, or else equal shares of ``max_nodes``.
    inputs : str
        What the nodes of further layers see.
    monotone : bool
        Whether there are monotone inputs.
    """

    layer: Layer
    loss: Loss
    configuration: Configuration
    supervision: Supervision
    rule: type[OutputWeights]
    window: int
    alpha: float | str
    scaling: str | None
    direct_link: bool
    early_stopping: bool | str
    by_size: frozenset[str]
    validation: str
    validation_fraction: float
    nodes_per_step: int | None
    max_nodes: int | None
    max_layers: int
    nodes_per_layer: int | None
    inputs: str
    monotone: bool

    @classmethod
    def of(cls, estimator: GrowingNetwork) -> Recipe:
        """The recipe of an estimator; ValueError if its parameters contradict each other."""
        configuration, activation = estimator._configuration(), resolve_activation(estimator.activation)
        if not isinstance(estimator.activation, str):
            check_activation(activation)
        rule, loss = ALGORITHMS[estimator.algorithm], LOSSES[estimator.loss].of(estimator.quantile)
        own = estimator.supervision
        if isinstance(own, type):
            raise ValueError(
                f"supervision is the class {own.__name__}; it must be an object: supervision={own.__name__}()."
            )
        # What "auto" stands for.
        settings: dict[str, Any] = {
            "nodes_per_step": None,
            "max_nodes": None,
            "nodes_per_layer": None,
            "alpha": configuration.alpha if rule.regularises else 0.0,
            "scaling": configuration.scaling,
            "direct_link": configuration.direct_link,
            "early_stopping": configuration.early_stopping,
            "validation_fraction": loss.share_held_out,
        }
        auto = set()
        for name in settings:
            value = getattr(estimator, name)
            if isinstance(value, str) and value == "auto":
                auto.add(name)
            else:
                settings[name] = value
        recipe = cls(
            layer=LAYERS[estimator.layer].of(activation),
            loss=loss,
            configuration=configuration,
            supervision=SUPERVISIONS[own]() if isinstance(own, str) else own,
            rule=rule,
            window=estimator.window,
            by_size=frozenset(auto & {"direct_link", "early_stopping"}),
            validation=estimator.validation,
            max_layers=estimator.max_layers,
            monotone=estimator.monotone is not None,
            inputs=estimator.inputs,
            **settings,
        )
        for contradiction in recipe._contradictions(estimator):
            raise ValueError(contradiction)
        return recipe

    @property
    def finds_jumps(self) -> bool:
        """Whether jumps of the function along single inputs become inputs."""
        return self.configuration.finds_jumps and self.loss.plain and self.scaling is not None

    def _contradictions(self, estimator: GrowingNetwork) -> Iterator[str]:
        """What does not go together, and what would work."""
        layer, search = type(self.layer).__name__, type(self.configuration).__name__
        algorithm, loss = estimator.algorithm, estimator.loss
        if self.configuration.needs_derivative and not self.layer.differentiable:
            activation = self.layer.activation
            what = f"layer {layer}, its slope_and_value; define it"
            if activation is not None:
                what = f"activation {activation.name!r}; pass skscn.Activation(name, value, derivative)"
            yield f'{search} needs the derivative of the {what}, or use configuration="polished".'
        if self.alpha == "gcv" and not self.rule.regularises:
            yield (
                f'alpha="gcv" is chosen for all output weights together, and {algorithm} never evaluates older ones '
                'again; use a number, algorithm="SC-III", or alpha="auto".'
            )
        if self.max_layers > 1 and not isinstance(self.layer, Dense):
            yield f'Further layers are on top of dense ones, not of {layer}; use layer="dense", or max_layers=1.'
        if self.max_layers > 1 and self.configuration.needs_derivative:
            yield f'{search} is for one layer; use configuration="polished", or max_layers=1.'
        if estimator.monotone is not None:
            yield from self._not_monotone(estimator)
        if is_classifier(estimator) and not self.loss.classifies:
            known = " or ".join(f"loss={name!r}" for name, cls in LOSSES.items() if cls.classifies)
            yield f"loss={loss!r} is for regression; use {known} for classes."
        if not is_classifier(estimator) and not self.loss.regresses:
            yield f'loss={loss!r} is for classes; use SCNClassifier, or for numbers loss="squared".'

    def _not_monotone(self, estimator: GrowingNetwork) -> Iterator[str]:
        """What does not go together with monotone inputs."""
        if self.rule is not LeastSquares:
            yield f'monotone needs all output weights, and {estimator.algorithm} leaves some; use algorithm="SC-III".'
        if not self.loss.plain:
            yield f'monotone is for loss="squared", not for loss={estimator.loss!r}.'
        if not isinstance(self.layer, Dense) or self.layer.activation not in [ACTIVATIONS[name] for name in STEEPEST]:
            known = ", ".join(f'"{name}"' for name in STEEPEST)
            yield f'monotone needs nodes that increase with wᵀx + b; use layer="dense" and an activation among {known}.'
        if not self.direct_link:
            yield "monotone needs direct links; use direct_link=True."
        if estimator.warm_start:
            yield "A network with monotone inputs cannot be continued; use warm_start=False."

    def for_labels(self, multilabel: bool) -> Recipe:
        """For classes that exclude each other, or for several labels that do not."""
        if not multilabel:
            return self
        if not isinstance(self.loss, LogLoss):
            raise ValueError('Targets with several labels need loss="log_loss".')
        return replace(self, loss=replace(self.loss, exclusive=False))

    def plan(self, data: TrainingData, hold_out: HoldOut) -> Plan:
        """With the decisions that depend on the rows: their number, and the numbers of inputs and outputs."""
        if data.n_outputs > 1 and not self.loss.several_outputs:
            raise ValueError(
                f"loss={name_of(self.loss)!r} is for one output, but y has {data.n_outputs}; wrap the estimator in "
                "sklearn.multioutput.MultiOutputRegressor, which fits one model for each."
            )
        if data.n_outputs > 1 and self.monotone:
            raise ValueError(
                f"monotone is for one output, but y has {data.n_outputs}; wrap the estimator in "
                "sklearn.multioutput.MultiOutputRegressor, which fits one model for each."
            )
        refusal = None if self.loss.plain else self.loss.reason_to_refuse(data.statistics_of(None))
        if refusal is not None:
            raise ValueError(refusal)
        # Weights with mean 1 sum to the number of rows up to rounding.
        n_rows, weight = data.shape[0], float(np.rint(data.weight))
        criterion = self._criterion(weight, isinstance(data, ArrayData), hold_out)
        max_nodes = _NODES if criterion is None and self.max_nodes is None else most_nodes(self.max_nodes, n_rows)
        # Without early stopping, layers have equal shares of the nodes.
        of_layer = max_nodes if criterion is not None else -(-max_nodes // self.max_layers)
        # Above MANY_ROWS, "auto" holds out a constant number of rows, to save memory.
        most_held_out = MANY_ROWS if "early_stopping" in self.by_size else np.inf
        linear, refit_linear = self.linear_columns(*data.shape)
        return Plan(
            criterion=criterion,
            share_held_out=self.validation_fraction * min(1.0, most_held_out / n_rows),
            linear=linear,
            refit_linear=refit_linear,
            pace=(
                self.configuration.pace(self.layer, weight)
                if self.nodes_per_step is None
                else StepSchedule(self.nodes_per_step)
            ),
            max_nodes=max_nodes,
            max_layers=self.max_layers,
            nodes_per_layer=of_layer if self.nodes_per_layer is None else self.nodes_per_layer,
        )

    def _criterion(self, weight: float, local: bool, hold_out: HoldOut) -> str | None:
        """What early stopping monitors on rows of this weight, which are here (``local``) or on a cluster.

        What ``fit`` was given for held-out rows is refused if it would not be used.
        With few rows none can be spared, and many rows are hardly overfitted; "auto" then uses generalised
        cross-validation. Rows in order of time are correlated and count for fewer, so the last of many are held out,
        unless they are on a cluster.
        """
        given = "X_val and y_val" if hold_out.rows is not None else "" if hold_out.groups is None else "groups"
        if given and not (self.early_stopping is True or self.early_stopping == "validation"):
            used = "early_stopping=False" if not self.early_stopping else f"early_stopping={self.early_stopping!r}"
            raise ValueError(
                f"{given} are for early stopping on held-out rows, but this network is grown with {used}; use "
                "early_stopping=True, or leave them out."
            )
        if given == "groups" and self.validation == "last":
            raise ValueError(
                'groups hold out whole groups drawn at random, and validation="last" holds out the last rows; use one '
                "of the two."
            )
        if given:
            return "validation"
        if self.early_stopping and "early_stopping" in self.by_size:
            most = np.inf if self.validation == "last" and local else MANY_ROWS
            return "validation" if _ENOUGH_TO_HOLD_OUT <= weight <= most else "gcv"
        if isinstance(self.early_stopping, str):
            return self.early_stopping
        return "validation" if self.early_stopping else None

    def linear_columns(self, n_rows: int, n_inputs: int) -> tuple[Nodes, Nodes]:
        """The linear columns of a plan, in growth and in the refit, for this number of inputs."""
        # With a penalty, links need no minimum of rows.
        least = 0 if self.loss.refit == "penalised" else _ROWS_PER_LINK
        return (
            self._linear_columns(n_rows, n_inputs, _ROWS_PER_LINK),
            self._linear_columns(n_rows, n_inputs, least),
        )

    def _linear_columns(self, n_rows: int, n_features: int, rows_per_link: int) -> Nodes:
        """An intercept, and a direct link from each input if there are enough rows to fit them; or none of these.

        With very many rows or inputs, "auto" uses no links and leaves the linear part to the nodes, since each link is
        another column of the basis; monotone networks need them.
        """
        if not self.direct_link:
            return Nodes.none(IDENTITY, n_features)
        few = n_rows <= MANY_ROWS and n_features <= _MANY_INPUTS
        wanted = "direct_link" not in self.by_size or self.monotone or few
        links = n_features if wanted and n_rows >= rows_per_link * (n_features + 1) else 0
        return Nodes(IDENTITY, np.eye(n_features, links + 1, k=1), np.eye(1, links + 1)[0])

    def check_continues(self, network: Network, n_outputs: int) -> None:
        """Reject a network that cannot be continued like this."""
        grown = (network.n_outputs, network.nodes.layer, network.inputs.name, type(network.loss))
        if grown != (n_outputs, self.layer, self.scaling, type(self.loss)):
            raise ValueError(
                "warm_start=True continues a network with the same number of outputs, layer, activation, loss and "
                "scaling (which may depend on the configuration); use warm_start=False to start again."
            )
        if len(network.stack) > 1 and self.loss.rounds > 1:
            raise ValueError(
                f"warm_start=True cannot continue a network of several layers with loss={name_of(self.loss)!r}, which "
                "is minimised in several rounds; use warm_start=False to start again."
            )
        if self.max_nodes is not None and self.max_nodes < network.n_nodes:
            raise ValueError(
                f"max_nodes={self.max_nodes} is below the {network.n_nodes} nodes that warm_start=True continues from; "
                "increase max_nodes, or use warm_start=False."
            )


@dataclass(frozen=True)
class Plan:
    """What a recipe means for some rows.

    Attributes
    ----------
    criterion : str or None
        What early stopping monitors: one of CRITERIA, or None without early stopping.
    share_held_out : float
        If it monitors held-out rows, their share.
    linear, refit_linear : Nodes
        Intercept and direct links, in growth and in the network that is settled.
    pace : StepSchedule
        How many nodes a step adds.
    max_nodes : int
        The largest number of nodes.
    max_layers, nodes_per_layer : int
        The largest number of layers, and of nodes in each.
    signs : ndarray of shape (d,) or None
        1, −1 or 0 for each input of the network, jumps along columns included; None if it need not be monotone
        in any.
    """

    criterion: str | None
    share_held_out: float
    linear: Nodes
    refit_linear: Nodes
    pace: StepSchedule
    max_nodes: int
    max_layers: int
    nodes_per_layer: int
    signs: np.ndarray | None = None


def most_nodes(max_nodes: int | str | None, n_rows: int) -> int:
    """The limit on the number of nodes, on a number of rows and with early stopping."""
    if isinstance(max_nodes, int | np.integer):
        return int(max_nodes)
    return max(_NODES, min(_MOST_NODES, n_rows // _ROWS_PER_NODE, int((_MOST_WORK / n_rows) ** 0.5)))


def signs_of(
    monotone: Mapping[str, int] | Sequence[int] | None,
    n_inputs: int,
    names: Sequence[str] | None = None,
    encoder: RowEncoder | None = None,
) -> np.ndarray | None:
    """The sign of each input of a network, from those of the user's columns, which an encoder may have encoded."""
    if monotone is None:
        return None
    groups = [[place] for place in range(n_inputs)] if encoder is None else encoder.groups
    given = list(monotone.values() if isinstance(monotone, Mapping) else monotone)
    if any(sign not in {-1, 0, 1} for sign in given):
        raise ValueError(f"monotone must have 1, -1 or 0 for each input; got {monotone}.")
    if isinstance(monotone, Mapping):
        known = [] if names is None else list(names)
        if unknown := [name for name in monotone if name not in known]:
            where = f"the columns are {listed(known)}" if known else "the inputs have no names; give a list of signs"
            raise ValueError(f"monotone names {listed(unknown)}, but {where}.")
        places = [known.index(name) for name in monotone]
    else:
        places = list(range(len(groups)))
        if len(given) != len(groups):
            raise ValueError(f"monotone has {len(given)} signs, but there are {len(groups)} inputs.")
    signs = np.zeros(n_inputs)
    for place, sign in zip(places, given, strict=True):
        column = None if encoder is None else encoder.column(place)
        if sign and column is not None and not can_be_monotone(column):
            raise not_a_number(column)
        if sign:
            signs[groups[place][0]] = sign
    return signs


def can_be_monotone(column: Column) -> bool:
    """Whether a column becomes one number; dates do if they span too little to show a season or a daily course."""
    return type(column) is Number or (type(column) is Moment and not column.cycles)


def not_a_number(column: Column) -> ValueError:
    """What to raise for a sign of a column that does not become one number."""
    why, more = "is not numeric", ""
    if isinstance(column, Moment):
        why = "has dates, whose place in the year, the week or the day is an input too"
        more = ", or replace it by a number, such as days since the first date"
    return ValueError(f"monotone is for numeric columns, but column {quoted(column.name)} {why}; leave it out{more}.")
