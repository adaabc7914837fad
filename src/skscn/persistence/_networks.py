"""Networks in a model file, and the estimators and ensembles that have them, with the conditions on their arrays."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from skscn.estimators import (
    DeepSCNClassifier,
    DeepSCNRegressor,
    IRVFLRegressor,
    ModifiedQuickpropRegressor,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
)
from skscn.estimators.classifier import Calibration
from skscn.estimators.ensemble.out_of_bag import Conformal, LocalScale
from skscn.estimators.networks import is_multilabel
from skscn.factor import Factor
from skscn.growth import HISTORY, StopReason, history_columns, history_of
from skscn.losses import LOSSES, Squared
from skscn.network import LinearColumns, Network, WeightedNodes
from skscn.nodes import IDENTITY, LAYERS, Deep, Dense, Identity, Layer, Nodes
from skscn.persistence import _fields as f
from skscn.persistence._estimators import FittedEstimator
from skscn.persistence._fields import (
    Field,
    Place,
    Record,
    UnusableError,
    check_keys,
    read_fields,
    refuse_if,
    shorten,
    write_fields,
)
from skscn.scaling import SCALINGS, QuantileScaling, Scaling, WithJumps, WithQuantiles
from skscn.tables.filling import Filling
from skscn.tables.row_encoder import RowEncoder

# Letters of shapes: d columns, j jumps along them, i inputs of a network, which are both, w inputs of the nodes of a
# layer, L nodes, p linear columns, q = p + L, m outputs, c classes, k members, n rows, f columns of a member, s knots
# of a scaling, t steps, h, r held-out rows.
_SHARE = 1.0 + 1e-9
TINY = float(np.finfo(np.float64).tiny)


def _check_scaling(scaling: Scaling) -> None:
    wrong = not (scaling.scale > 0.0).all() or scaling.low > scaling.high
    refuse_if(wrong, "a scaling divides by numbers that are not above 0, or has its limits the wrong way round")


def scaling(letter: str) -> Record:
    """An affine scaling of columns that this letter counts."""
    return Record(
        Scaling,
        _check_scaling,
        name=f.Choice(*SCALINGS, "centred"),
        offset=letter,
        scale=f.Array(letter, finite=False),
        low=f.Scalar(),
        high=f.Scalar(),
    )


def _check_quantiles(scaling: QuantileScaling) -> None:
    wrong = len(scaling.knots) == 0 or (np.diff(scaling.knots, axis=0) < 0.0).any()
    refuse_if(wrong, "the knots of a scaling do not increase")


_QUANTILES = Record(QuantileScaling, _check_quantiles, name=f.Choice(*SCALINGS), knots="sd", shares="sd")
_SCALINGS: dict[str, Field] = {"Scaling": scaling("d"), "QuantileScaling": _QUANTILES}


def _check_jumps(scaling: WithJumps) -> None:
    unknown = (scaling.columns >= len(scaling.scaling.sources)).any()
    refuse_if(unknown, "a network has jumps along columns that there are not")


_JUMPS = Record(
    WithJumps,
    _check_jumps,
    scaling=f.OneOf("scalings", _SCALINGS),
    columns=f.Array("j", np.int64, lowest=0),
    thresholds="j",
)


_INPUTS: dict[str, Field] = {**_SCALINGS, "WithJumps": _JUMPS}
_BOTH = Record(WithQuantiles, scaling=f.OneOf("scalings", _INPUTS), quantiles=_QUANTILES)


def _check_filling(filling: Filling) -> None:
    for numbers in (filling.columns, filling.marked):
        wrong = (np.diff(numbers) <= 0).any() or (numbers >= filling.n_features).any()
        refuse_if(wrong, "missing values are filled in for columns that there are not, or not in their order")
    falling = (np.diff(filling.scores.shares, axis=0) < 0.0).any()
    refuse_if(falling, "the scores of values that are filled in do not increase")


def _check_encoder(encoder: RowEncoder) -> None:
    """Its parts have to do with the same columns."""
    table, names, filled = encoder.table, encoder.names, encoder.filling.n_features
    unnamed = (table is None) != (names is None)
    refuse_if(unnamed, "an encoder has a table without names of its columns, or names without a table")
    width = encoder.n_columns if table is None else len(table.get_feature_names_out())
    refuse_if(filled != width, f"{width} columns are encoded, and missing values of {filled} filled in")
    named = set(names or ())
    wrong = table is not None and (len(named) != encoder.n_columns or not table.groups_.keys() <= named)
    refuse_if(wrong, "an encoder has columns that its table does not have")


class _EncoderField(Record):
    """An encoder of rows, in which letters have sizes of their own."""

    def read(self, stored: Any, place: Place) -> Any:
        return super().read(stored, place.apart())


_ENCODER = _EncoderField(
    RowEncoder,
    _check_encoder,
    n_columns=f.INPUTS,
    names=f.Optional(f.Converted(f.Several(f.Text()), list, tuple)),
    table=f.Optional(f.ByJson("skscn.tables", "TableEncoder")),
    filling=Record(
        Filling,
        _check_filling,
        medians="d",
        columns=f.Array("k", np.int64, lowest=0),
        scores=_QUANTILES,
        slopes="rdk",
        intercepts="rk",
        marked=f.Array("j", np.int64, lowest=0),
    ),
)
# What version 0.1 did not have: encoders, and the number of rows.
_ROWS: dict[str, Field] = {"encoder_": f.Added(_ENCODER), "_medians": f.Added(f.Array("d"))}
_SEEN: dict[str, Field] = {"n_rows_seen_": f.Added(f.COUNT, 0), "_weight_unit": f.Added(f.Scalar(TINY), 1.0)}


def _encoded_width(estimator: Any, n_columns: int) -> int:
    """How many numbers the networks of an estimator see of a row with this many columns."""
    encoder = estimator.encoder_
    if encoder is None:
        return n_columns
    refuse_if(encoder.n_columns != n_columns, f"the columns of {n_columns} inputs are encoded as {encoder.n_columns}")
    return int(encoder.width)


class _LayerField(Field):
    """A registered layer; or one on top of others, with the nodes below it, each of which a file contains once."""

    plain = f.Registered("layers", LAYERS)
    tops = f.Registered("layers", {**LAYERS, "identity": Identity})

    def write(self, value: Layer, place: Place) -> dict[str, Any]:
        if not isinstance(value, Deep):
            return self.plain.write(value, place)
        below = [self._write_nodes(nodes, place.at("below", k)) for k, nodes in enumerate(value.below)]
        top = self.tops.write(value.top, place.at("top"))
        return {"name": "deep", "top": top, "with_inputs": value.with_inputs, "below": below}

    def _write_nodes(self, nodes: Nodes, place: Place) -> Any:
        shared = place.store.shared
        for number, known in enumerate(shared):
            if known is nodes:
                return number
        stored = _NODES.write(nodes, place)
        shared.append(nodes)
        return stored

    def read(self, stored: Any, place: Place) -> Any:
        if not isinstance(stored, dict) or stored.get("name") != "deep":
            return self.plain.read(stored, place)
        check_keys(stored, ("name", "top", "with_inputs", "below"), place)
        if not isinstance(stored["below"], list) or not stored["below"]:
            raise UnusableError(f"there are no nodes below {place}")
        below = [self._read_nodes(nodes, place.at("below", k)) for k, nodes in enumerate(stored["below"])]
        top = self.tops.read(stored["top"], place.at("top"))
        return Deep(top, tuple(below), f.FLAG.read(stored["with_inputs"], place))

    def _read_nodes(self, stored: Any, place: Place) -> Nodes:
        shared = place.store.shared
        if isinstance(stored, dict):
            shared.append(_NODES.read(stored, place.apart()))
            stored = len(shared) - 1
        if type(stored) is not int or not 0 <= stored < len(shared):
            raise UnusableError(f"{place} is {shorten(stored)}, and there are no such nodes")
        nodes: Nodes = shared[stored]
        return nodes


LAYER = _LayerField.plain
_NODES = Record(Nodes, weights="wL", biases="L", scopes=f.Array("L", finite=False), layer=_LayerField())
_LINEAR_NODES = Record(partial(Nodes, IDENTITY), weights="ip", biases="p", scopes=f.Array("p", finite=False))


def factor(letter: str) -> Record:
    """The factor of all rows, with columns that this letter counts."""
    squares = f.Array("m", lowest=0.0)
    return Record(
        Factor,
        triangle=f.Triangle(letter),
        coefficients=letter + "m",
        residual_squares=squares,
        weight=f.POSITIVE,
        linear=f.SMALL,
    )


def _check_network(network: Network) -> None:
    sizes = {block.output_weights.shape[1] for block in (network.linear, *network.layers)}
    wrong = not network.layers or len(sizes) > 1
    refuse_if(wrong, "a network has no hidden layer, or layers with different numbers of outputs")
    columns = network.linear.size + network.n_nodes
    refuse_if(len(network.coefficients) != columns, "a network has more or fewer directions than columns")
    wrong = len(network.inputs.sources) != network.n_inputs
    refuse_if(wrong, "a network has more or fewer inputs than its scaling makes of the columns")
    fits = all(block.nodes.layer.fits(block.nodes, network.n_inputs) for block in network.layers)
    refuse_if(not fits, "the nodes of a network do not fit its inputs, or those below them")
    deep = all(isinstance(block.nodes.layer, Deep) for block in network.layers)
    refuse_if(deep, "a network has no first layer")
    wrong = network.n_features == 0 or network.n_outputs == 0 or (network.single_output and network.n_outputs != 1)
    refuse_if(wrong, "a network has no inputs or no outputs, or several where it should have one")
    wrong = network.bounds is not None and len(network.bounds) != 2
    refuse_if(wrong, "a network does not have exactly two bounds")
    wrong = network.factor is not None and network.factor.linear != network.linear.size
    refuse_if(wrong, "a network and its factor have different linear columns")
    wrong = network.directions is None and network.factor is None
    refuse_if(wrong, "a network has neither directions nor a factor that they follow from")


# What has not changed since the first version.
_COMMON: dict[str, Field | str] = {
    "inputs": f.OneOf("scalings", {**_INPUTS, "WithQuantiles": _BOTH}),
    "outputs": scaling("m"),
    "bounds": f.Optional(f.Converted(f.Several(f.Array("m")), list, tuple)),
    "coefficients": "qm",
    "single_output": f.FLAG,
    "single_precision": f.FLAG,
}


def _network_of_0_1(weights: Any, biases: Any, output_weights: Any, activation: Any, **rest: Any) -> Network:
    """One dense layer under squared error, without a factor."""
    layers = (WeightedNodes(Nodes(Dense(activation), weights, biases), output_weights),)
    return Network(layers=layers, loss=Squared(), factor=None, **rest)


class _NetworkField(Record):
    """A network, as this version or version 0.1 writes it."""

    former = Record(
        _network_of_0_1,
        _check_network,
        weights="dL",
        biases="L",
        output_weights="Lm",
        linear=Record(
            lambda weights, biases, output_weights: LinearColumns(Nodes(IDENTITY, weights, biases), output_weights),
            weights="dp",
            biases="p",
            output_weights="pm",
        ),
        activation=f.ActivationField(),
        directions=f.Sparse("q"),
        **_COMMON,
    )

    def write(self, value: Network, place: Place) -> dict[str, Any]:
        return super().write(value if place.store.updatable else value.without_factor(), place)

    def read(self, stored: Any, place: Place) -> Any:
        former = isinstance(stored, dict) and "layers" not in stored
        return self.former.read(stored, place) if former else super().read(stored, place)


_BLOCK = Record(WeightedNodes, nodes=_NODES, output_weights="Lm")
_NETWORK = _NetworkField(
    Network,
    _check_network,
    linear=Record(LinearColumns, nodes=_LINEAR_NODES, output_weights="pm"),
    # Layers have different numbers of nodes; whether they fit together is checked afterwards.
    layers=f.Converted(f.Several(_BLOCK, apart=True), list, tuple),
    loss=f.Registered("losses", LOSSES),
    factor=f.Optional(factor("q")),
    directions=f.Optional(f.Sparse("q")),
    alpha=f.Added(f.POSITIVE, 0.0),
    shares=f.Added(f.Array("q", lowest=0.0, highest=_SHARE)),
    signs=f.Added(f.Array("d", lowest=-1.0, highest=1.0)),
    **_COMMON,
)


def describe_network(stored: dict[str, Any]) -> tuple[int, int]:
    """Columns of X and nodes of a network, from the header of a file."""
    if "layers" not in stored:
        d, nodes = stored["weights"]
        return d, nodes
    jumps = stored["inputs"].get("columns", [0])[0]
    nodes = sum(block["nodes"]["biases"][0] for block in stored["layers"])
    return stored["linear"]["nodes"]["weights"][0] - jumps, nodes


class _HistoryField(Field):
    """A history, as plain arrays."""

    # Version 0.1 had neither losses with several rounds nor nodes that are polished together.
    added = {"round": 1, "polished": False}
    columns: dict[str, Field] = {name: f.Array("t", HISTORY[name].type, finite=False) for name in HISTORY.names or ()}

    def write(self, value: np.ndarray, place: Place) -> dict[str, Any]:
        return write_fields(self.columns, history_columns(value), place)

    def read(self, stored: Any, place: Place) -> np.ndarray:
        absent = self.added.keys() - set(stored if isinstance(stored, dict) else ())
        present = {name: each for name, each in self.columns.items() if name not in absent}
        columns = read_fields(present, stored, place)
        nodes = columns["nodes"]
        columns |= {name: np.full(len(nodes), self.added[name]) for name in absent}
        steps = np.diff(columns["round"], prepend=1)
        wrong = (nodes < 1).any() or (steps < 0).any() or ((np.diff(nodes, prepend=0) <= 0) & (steps == 0)).any()
        refuse_if(wrong, f"the nodes of {place} do not increase")
        return history_of(columns)


# How a network has grown.
GROWTH: dict[str, Field] = {"history_": _HistoryField(), "stop_reason_": f.Choice(*map(str, StopReason))}
_GROWN: dict[str, Field] = {
    **_ROWS,
    "network_": _NETWORK,
    **GROWTH,
    "held_out_": f.Array("h", np.int64, lowest=0),
    "_seed": f.SMALL,
    **_SEEN,
    # Nor did version 0.1 have these.
    "_fingerprint": f.Added(f.Text()),
    "_feature_importances": f.Added(f.Array("d", lowest=0.0, highest=_SHARE)),
}


def _derive_network(estimator: Any, sizes: dict[str, int]) -> dict[str, Any]:
    network, history = estimator.network_, _history_in_units(estimator)
    most = sum(history["nodes"][history["round"] == number].max() for number in set(history["round"]))
    refuse_if(network.n_nodes > most, "a network has more nodes than its history")
    importances = estimator._feature_importances
    wrong = importances is not None and abs(importances.sum() - 1.0) > 1e-9
    refuse_if(wrong, "the sum of feature importances is not 1")
    n_columns = network.n_features if estimator.encoder_ is None else estimator.encoder_.n_columns
    wrong = _encoded_width(estimator, n_columns) != network.n_features
    refuse_if(wrong, "rows are encoded as more or fewer numbers than the network has inputs")
    derived = {"n_nodes_": network.n_nodes, "n_iter_": len(history), "n_features_in_": n_columns}
    return {"history_": history, **derived}


def _history_in_units(estimator: Any) -> np.ndarray:
    """The history, with errors in units of the target.

    In version 0.1, which did not count rows, they were those of the scaled target; of several outputs they stay so.
    """
    history, scale = estimator.history_, estimator.network_.outputs.scale
    if not estimator.n_rows_seen_ and len(scale) == 1:
        for name in ("train_rmse", "validation_rmse"):
            with np.errstate(over="ignore"):
                history[name] *= scale[0]
            infinite = np.isinf(history[name]).any()
            refuse_if(infinite, "an error in the history of a network is too large for a number")
    return np.asarray(history)


def _derive_classifier(estimator: SCNClassifier, sizes: dict[str, int]) -> dict[str, Any]:
    network, count = estimator.network_, len(estimator.classes_)
    outputs = (network.n_outputs, network.single_output)
    fits = outputs == ((1, True) if count == 2 else (count, False))
    fits |= is_multilabel(estimator) and outputs == (count, False)
    refuse_if(not fits, f"a network for {count} classes has {network.n_outputs} outputs")
    return _derive_network(estimator, sizes)


_CLASSIFIER: dict[str, Field] = {
    **_GROWN,
    "classes_": f.Labels(),
    "calibration_": f.Optional(
        Record(Calibration, exponent=f.POSITIVE, floor=f.Scalar(1e-6, 1e6), equal_share=f.Scalar(0.0, 1.0))
    ),
    "_class_factors": f.Added(f.Array("c", lowest=0.0)),
}
_REGRESSORS: dict[str, Field] = {
    cls.__name__: FittedEstimator(cls, _GROWN, _derive_network)
    for cls in (SCNRegressor, DeepSCNRegressor, IRVFLRegressor, ModifiedQuickpropRegressor)
}
_CLASSIFIERS: dict[str, Field] = {
    cls.__name__: FittedEstimator(cls, _CLASSIFIER, _derive_classifier) for cls in (SCNClassifier, DeepSCNClassifier)
}


def _members(networks: dict[str, Field]) -> dict[str, Field]:
    return {
        **_ROWS,
        "n_features_in_": f.INPUTS,
        "members_": f.Several(f.OneOf("members", networks)),
        "features_": f.Several(f.Array("f", np.int64, lowest=0), apart=True),
        "weights_": f.Array("k", lowest=0.0, highest=_SHARE),
        "out_of_bag_": f.Array("kn", np.bool_),
        "oob_score_": f.Scalar(nan=True),
        **_SEEN,
    }


_ERRORS = f.Array("m", lowest=0.0)
_CONFORMAL = Record(
    Conformal,
    scale=Record(
        LocalScale,
        networks=f.Several(f.OneOf("networks", {"SCNRegressor": _REGRESSORS["SCNRegressor"]})),
        units=_ERRORS,
        largest=_ERRORS,
        share=_ERRORS,
        constant=_ERRORS,
    ),
    scores=f.Array("rm", lowest=0.0),
    sample_weight=f.Array("r", lowest=0.0),
    above=f.Added(f.Array("rm", np.bool_)),
)


def _check_members(estimator: Any, sizes: dict[str, int]) -> dict[str, Any]:
    """Each member has columns of the model, and all have the same outputs."""
    members, n_features = estimator.members_, estimator.n_features_in_
    fits = len(members) == len(estimator.features_) == sizes["k"] > 0
    refuse_if(not fits, "there are different numbers of members, columns and weights")
    medians = sizes.get("d", n_features)
    refuse_if(medians != n_features, f"there are {medians} medians for {n_features} inputs")
    width = _encoded_width(estimator, n_features)
    for member, features in zip(members, estimator.features_, strict=True):
        rising = len(features) == member.n_features_in_ and (np.diff(features) > 0).all()
        refuse_if(not rising or features[-1] >= width, "the columns of a member are not columns of the model")
    outputs = {(member.network_.n_outputs, member.network_.single_output) for member in members}
    refuse_if(len(outputs) > 1, "the members have different outputs")
    return {}


def _check_regressors(estimator: SCNEnsembleRegressor, sizes: dict[str, int]) -> dict[str, Any]:
    derived = _check_members(estimator, sizes)
    network, conformal = estimator.members_[0].network_, estimator._conformal
    outputs = (sizes["m"], estimator.oob_prediction_.ndim == 1)
    refuse_if(
        (network.n_outputs, network.single_output) != outputs, "the members have different outputs than the model"
    )
    if conformal is not None:
        refuse_if(not conformal.sample_weight.sum() > 0.0, "intervals have no rows of any weight")
        expected = (_encoded_width(estimator, estimator.n_features_in_), sizes["m"], False)
        networks = [learnt.network_ for learnt in conformal.scale.networks]
        wrong = any((each.n_features, each.n_outputs, each.single_output) != expected for each in networks)
        refuse_if(wrong, "a network for intervals has different inputs or outputs than the model")
    return derived


def _check_classifiers(estimator: SCNEnsembleClassifier, sizes: dict[str, int]) -> dict[str, Any]:
    alike = all(np.array_equal(member.classes_, estimator.classes_) for member in estimator.members_)
    refuse_if(not alike, "the members have different classes than the model")
    return _check_members(estimator, sizes)


NETWORKS: dict[str, Field] = {
    **_REGRESSORS,
    **_CLASSIFIERS,
    "SCNEnsembleRegressor": FittedEstimator(
        SCNEnsembleRegressor,
        {
            **_members(_REGRESSORS),
            "oob_prediction_": f.Array("nm", finite=False, flat=True),
            "_conformal": f.Optional(_CONFORMAL),
        },
        _check_regressors,
    ),
    "SCNEnsembleClassifier": FittedEstimator(
        SCNEnsembleClassifier,
        {**_members(_CLASSIFIERS), "classes_": f.Labels(), "oob_decision_function_": f.Array("nc", finite=False)},
        _check_classifiers,
    ),
}
