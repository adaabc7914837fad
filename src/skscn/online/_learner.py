"""One stream: its last rows, models, mixture, drift detector and events; predicts and learns row by row."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular

from skscn.activations import Folded
from skscn.estimators import SCNRegressor
from skscn.factor import Factor
from skscn.growth import grow
from skscn.nodes import IDENTITY, Dense, Nodes
from skscn.online._drift import ErrorRise
from skscn.output_weights import LeastSquares
from skscn.plausibility import TargetGate, is_usable, plausible_together
from skscn.recursive import ONLINE_MIXTURE, SMALLEST_PENALTY, ExpertMixture, RecursiveWeights
from skscn.rows import open_rows
from skscn.scaling import Scaling, scale_inputs
from skscn.search import Configuration

EVENTS = np.dtype(
    [
        ("row", np.int64),
        ("event", "U9"),
        ("reason", "U9"),
        ("n_nodes", np.int64),
        ("error_before", np.float64),
        ("error_after", np.float64),
    ]
)
# Only the last of them are kept, so that memory stays bounded.
MOST_EVENTS = 1000


class EventLog:
    """The last events, oldest first.

    Parameters
    ----------
    events : iterable of tuples
        To begin with.
    """

    def __init__(self, events: Iterable[tuple[int, str, str, int, float, float]] = ()):
        self._events = deque(events, maxlen=MOST_EVENTS)

    def note(
        self, row: int, event: str, reason: str, n_nodes: int, before: float = np.nan, after: float = np.nan
    ) -> None:
        """Add an event; rows that are set aside one after the other are one."""
        if event == "set aside" and self._events and self._events[-1][:3] == (row, event, reason):
            self._events.pop()
        self._events.append((row, event, reason, n_nodes, before, after))

    @property
    def table(self) -> np.ndarray:
        """As a structured array."""
        return np.array(list(self._events), dtype=EVENTS)


# The last rows of a stream, in memory that is reserved once.


class RecentRows:
    """Arrays of which each row adds one entry; entries older than ``length`` rows are overwritten.

    Parameters
    ----------
    length : int
    widths : int
        The number of columns of each array.
    """

    def __init__(self, length: int, *widths: int):
        self.length, self.count = length, 0
        # Twice the length, so that the last entries are always together and are moved only once in ``length`` rows.
        self._arrays = [np.empty((2 * length, width)) for width in widths]
        self._end = 0

    def append(self, *entries: np.ndarray) -> None:
        """Add one row to each array."""
        if self._end == 2 * self.length:
            for array in self._arrays:
                array[: self.length] = array[self.length :]
            self._end = self.length
        for array, entry in zip(self._arrays, entries, strict=True):
            array[self._end] = entry
        self._end += 1
        self.count = min(self.count + 1, self.length)

    def last(self, count: int | None = None) -> list[np.ndarray]:
        """Views of the last rows of each array, at most ``count`` of them."""
        kept = self.count if count is None else min(count, self.count)
        return [array[self._end - kept : self._end] for array in self._arrays]

    def forget_all_but(self, count: int) -> None:
        """Keep at most this number of rows."""
        self.count = min(self.count, count)


# The columns of a row: an intercept, the scaled inputs and the nodes.


@dataclass(frozen=True, eq=False)
class StreamColumns:
    """How columns are computed from rows; inputs far outside the range of the rows it was made for are clipped.

    Attributes
    ----------
    inputs : Scaling
    nodes : Nodes
        Of the dense layer; there may be none.
    """

    inputs: Scaling
    nodes: Nodes

    @classmethod
    def linear(cls, layer: Dense, X: np.ndarray) -> StreamColumns:
        """Without nodes, with the scaling that suits these rows: robust, and clipped."""
        inputs = scale_inputs("robust", X)
        assert isinstance(inputs, Scaling)
        return cls(inputs, Nodes.none(layer, X.shape[1]))

    @property
    def count(self) -> int:
        """How many columns there are."""
        return 1 + len(self.inputs.offset) + len(self.nodes)

    def of(self, X: np.ndarray) -> np.ndarray:
        """The columns of rows X, shape (n, count); each has the same bits alone and among others."""
        width = 1 + X.shape[1]
        columns = np.empty((len(X), self.count))
        columns[:, 0] = 1.0
        columns[:, 1:width] = self.inputs.transform(X)
        if len(self.nodes):
            folded, core = self._folded
            inner = (columns[:, np.newaxis, :width] @ folded)[:, 0]
            np.multiply(core.value(inner), core.outer, out=columns[:, width:])
        return columns

    @cached_property
    def _folded(self) -> tuple[np.ndarray, Folded]:
        """Biases above weights, as the intercept is the first column, and the activation that is left to apply."""
        layer = self.nodes.layer
        assert isinstance(layer, Dense)
        return np.roll(layer.folded(self.nodes), 1, axis=0), layer.activation.core


# A model of fixed columns whose output weights follow the rows.


# Outputs stay within the range of the targets, extended by this share of it on both sides.
_MARGIN = 0.1


class StreamModel:
    """Columns with one or several sets of output weights, which forget at different rates.

    Parameters
    ----------
    columns : StreamColumns
    targets : Scaling
        Of the targets.
    low, high : ndarray of shape (m,)
        The range of the scaled targets.
    sets : sequence of RecursiveWeights
    """

    def __init__(
        self,
        columns: StreamColumns,
        targets: Scaling,
        low: np.ndarray,
        high: np.ndarray,
        sets: Sequence[RecursiveWeights],
    ):
        self.columns, self.targets, self.low, self.high, self.sets = columns, targets, low, high, list(sets)
        # One array of all output weights, so that one product evaluates them; each set changes its part in place.
        self._weights = np.hstack([recursive.weights for recursive in self.sets])
        for recursive, part in zip(self.sets, np.split(self._weights, len(self.sets), axis=1), strict=True):
            recursive.weights = part

    @classmethod
    def of_rows(cls, columns: StreamColumns, X: np.ndarray, T: np.ndarray, forgettings: Sequence[float]) -> StreamModel:
        """With the output weights of these rows, the latest last."""
        deviations = T.std(axis=0)
        targets = Scaling.centred(T.mean(axis=0), np.where(deviations > 0.0, deviations, 1.0))
        H, scaled = columns.of(X), targets.transform(T)
        sets = [RecursiveWeights.of_rows(H, scaled, forgetting) for forgetting in forgettings]
        return cls(columns, targets, scaled.min(axis=0), scaled.max(axis=0), sets)

    def outputs(self, H: np.ndarray) -> np.ndarray:
        """What each set of weights predicts from the columns of rows, shape (n, sets, m)."""
        # A product for each row, so that it has the same bits alone and among others.
        scaled: np.ndarray = (H[:, np.newaxis] @ self._weights).reshape(len(H), len(self.sets), -1)
        margin = _MARGIN * (self.high - self.low)
        np.maximum(scaled, self.low - margin, out=scaled)
        np.minimum(scaled, self.high + margin, out=scaled)
        scaled *= self.targets.scale
        scaled += self.targets.offset
        return scaled

    def errors(self, h: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Scaled errors, shape (sets, m), for a row with columns h, shape (k,), and targets t, shape (m,), to learn.

        The range of outputs includes the targets from now on.
        """
        scaling = self.targets
        with np.errstate(over="ignore"):
            scaled = np.minimum(np.maximum((t - scaling.offset) / scaling.scale, scaling.low), scaling.high)
        self.low, self.high = np.minimum(self.low, scaled), np.maximum(self.high, scaled)
        errors: np.ndarray = scaled - (h @ self._weights).reshape(len(self.sets), -1)
        return errors

    def left_out(self, X: np.ndarray, T: np.ndarray) -> np.ndarray:
        """Leave-one-out errors of the last of the rows it was made of, shape (n, sets, m)."""
        H, scaled = self.columns.of(X), self.targets.transform(T)
        errors: np.ndarray = np.stack([recursive.left_out(H, scaled) for recursive in self.sets], axis=1)
        errors *= self.targets.scale
        return errors


# Columns that might replace the present ones: nodes grown anew, added and removed, on recent rows.


# There are at least this number of rows for each node.
ROWS_PER_NODE = 6
# Nodes without a lower validation error before growth ends: fewer than in a fit, as the next network comes soon.
_PATIENCE = 10
# Nodes that are added to a network: this share of those there are, and at least _FEWEST.
_SHARE, _FEWEST = 0.25, 5


def regrown(X: np.ndarray, T: np.ndarray, layer: Dense, max_nodes: int, seed: int) -> StreamColumns:
    """A new network, grown like any other."""
    network = SCNRegressor(
        max_nodes=max(1, min(max_nodes, len(X) // ROWS_PER_NODE)),
        activation=layer.activation,
        scaling="robust",
        n_iter_no_change=_PATIENCE,
        random_state=seed,
    )
    found = network.fit(X, T[:, 0] if T.shape[1] == 1 else T).network_
    assert isinstance(found.inputs, Scaling)
    return StreamColumns(found.inputs, found.nodes)


def extended(
    columns: StreamColumns,
    X: np.ndarray,
    T: np.ndarray,
    configuration: Configuration,
    max_nodes: int,
    seed: int,
) -> StreamColumns:
    """The present nodes and some more, accepted by the supervisory inequality, without those that are of no use."""
    nodes = columns.nodes
    most = min(len(nodes) + max(_FEWEST, int(_SHARE * len(nodes))), len(X) // ROWS_PER_NODE)
    rows = open_rows(X, T, layer=nodes.layer, scaling=columns.inputs)
    rule, d = LeastSquares(T.shape[1]), X.shape[1]
    with rows:
        rule.append_linear(rows, Nodes(IDENTITY, np.eye(d, d + 1, k=1), np.eye(1, d + 1)[0]))
        for j in range(len(nodes)):
            # A node whose column depends on those before it on these rows is left out.
            rule.append(rows, nodes.take(slice(j, j + 1)))
        pace = configuration.pace(nodes.layer, float(len(X)))
        for _ in grow(rows, configuration, rule, max_nodes=most, tol=0.0, pace=pace, seed=seed):
            pass
        if not rule.nodes:
            return StreamColumns(columns.inputs, nodes.take(slice(0)))
        factor = rule.final_factor(rows, rule.nodes)
    kept = useful(factor, configuration.degrees_per_node(d), max_nodes)
    return StreamColumns(columns.inputs, rule.grown.take(kept))


def cross_validated(columns: StreamColumns, X: np.ndarray, T: np.ndarray, degrees_per_node: float) -> float:
    """The score of generalised cross-validation of columns on rows, by which proposals are compared."""
    H = columns.of(X)
    scaled = (T - T.mean(axis=0)) / np.maximum(T.std(axis=0), np.finfo(float).tiny)
    weights = RecursiveWeights.of_rows(H, scaled, forgetting=1.0, alpha=SMALLEST_PENALTY).weights
    squares = float(((scaled - H @ weights) ** 2).sum())
    return _score(squares, len(X), H.shape[1] - len(columns.nodes), len(columns.nodes), degrees_per_node)


def _score(squares: float, weight: float, linear: int, nodes: int, degrees_per_node: float) -> float:
    return squares / max(weight - linear - degrees_per_node * nodes, 1.0) ** 2


def useful(factor: Factor, degrees_per_node: float, most: int) -> np.ndarray:
    """The numbers of the nodes to keep: one after the other, the node is removed that increases the error least.

    Until there are at most ``most``, and then as long as generalised cross-validation improves. Removing node j and
    solving for the others increases the sum of squared errors by exactly ‖βⱼ‖²/[(HᵀH)⁻¹]ⱼⱼ.
    """
    triangle, coefficients, linear = factor.triangle, factor.coefficients, factor.linear
    squares = float(factor.residual_squares.sum())
    kept = np.arange(len(triangle) - linear)
    while len(kept):
        increases = error_increases(triangle, coefficients)[linear:]
        j = int(increases.argmin())
        before, after = (
            _score(squares + more, factor.weight, linear, count, degrees_per_node)
            for more, count in ((0.0, len(kept)), (float(increases[j]), len(kept) - 1))
        )
        if len(kept) <= most and after >= before:
            break
        rotation, triangle = qr(np.delete(triangle, linear + j, axis=1), mode="economic")
        coefficients, squares = rotation.T @ coefficients, squares + float(increases[j])
        kept = np.delete(kept, j)
    return kept


def error_increases(triangle: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """By how much the sum of squared errors increases if a column is removed, for each column; from R and C alone."""
    inverse = solve_triangular(triangle, np.eye(len(triangle)))
    weights = inverse @ coefficients
    increases: np.ndarray = (weights**2).sum(axis=1) / (inverse**2).sum(axis=1)
    return increases


# The state of a stream: models, their weights, the last rows, the drift detector, and what has happened.


# The first models after WARM_UP rows, or AFTER_DRIFT rows after a change; further ones whenever there are PACE times as
# many rows.
WARM_UP, AFTER_DRIFT, PACE = 20, 50, 1.75
# Networks side by side.
NETWORKS = 2
# The mean of the targets is that of about this number of rows.
_LEVEL = 100
# Forgetting of the linear model; and by default of the two sets of output weights of a network: one hardly forgets, and
# the other has a memory of this number of rows for each column.
_LINEAR, _SLOW, _FAST = 0.995, 0.9999, 3.0
# Rows on which a new network is first judged.
_JUDGED = 100
# Rows whose columns are computed together.
_TOGETHER = 1024
# Numbers and flags that a learner keeps.
_NUMBERS = ("rows", "attempts", "regime", "next", "drifted", "trial_rows", "newest", "set_aside")


@dataclass(frozen=True)
class StreamSettings:
    """What does not change during a stream.

    Attributes
    ----------
    layer : Dense
    configuration : Configuration
        How nodes are searched for that are added to a network.
    max_nodes, window : int
    forgetting : float or None
        None for two sets of output weights, which forget slowly and quickly.
    seed : int
    """

    layer: Dense
    configuration: Configuration
    max_nodes: int
    window: int
    forgetting: float | None
    seed: int

    @property
    def bounds(self) -> list[int]:
        """Where the experts of each model begin and end: the mean, the linear model, and the networks."""
        n_sets = 2 if self.forgetting is None else 1
        return [0, 1, *range(2, 3 + NETWORKS * n_sets, n_sets)]

    def forgettings(self, columns: StreamColumns) -> tuple[float, ...]:
        """How fast each set of output weights of a network forgets."""
        if self.forgetting is not None:
            return (self.forgetting,)
        return _SLOW, 1.0 - 1.0 / (_FAST * columns.count)


class _Evaluated(NamedTuple):
    """A row, as bytes, or None for several; the columns of each model, the parts of the mixture and predictions."""

    key: bytes | None
    columns: list[np.ndarray]
    parts: np.ndarray
    predictions: np.ndarray


class StreamLearner:
    """Predicts and learns row by row: experts are the mean, a linear model and two networks.

    Parameters
    ----------
    settings : StreamSettings
    n_features, n_outputs : int
    """

    def __init__(self, settings: StreamSettings, n_features: int, n_outputs: int):
        self.settings, self.n_features, self.n_outputs = settings, n_features, n_outputs
        # The experts of each model; those of all networks come last.
        self._experts = [slice(*ends) for ends in pairwise(settings.bounds)]
        self._networks = slice(self._experts[2].start, None)
        self.attempts, self.units = 0, np.ones(n_outputs)
        # The linear model and the networks, as far as they exist.
        self.models: list[StreamModel] = []
        self.detector = ErrorRise()
        # The last rows; before there are models, those with implausible targets as well.
        self.recent = RecentRows(settings.window, n_features, n_outputs)
        # How many rows there have to be since the last change for the next models.
        self.next, self.drifted = float(WARM_UP), False
        self.newest, self.set_aside = 0, 0
        self.log = EventLog()
        self._begin()

    def _begin(self) -> None:
        """What rows change before there are models, as it is before the first row."""
        n_experts, n_outputs = self.settings.bounds[-1], self.n_outputs
        # Rows that were learnt, and those since the last change.
        self.rows, self.regime = 0, 0
        self.level = np.zeros(n_outputs)
        self.mixture = ExpertMixture.new(n_experts, n_outputs, ONLINE_MIXTURE)
        # Squared errors of the experts since the last network joined, and the number of rows.
        self.squares, self.trial_rows = np.zeros(n_experts), 0
        self.gate, self.input_gate = TargetGate.empty(n_outputs), TargetGate.empty(self.n_features)
        self._latest: _Evaluated | None = None

    @classmethod
    def restored(cls, settings: StreamSettings, state: Mapping[str, Any]) -> StreamLearner:
        """One that goes on where another one was; ValueError if these do not fit together."""
        X, T = state["last_inputs"], state["last_targets"]
        learner = cls(settings, X.shape[1], T.shape[1])
        sets = [stop - start for start, stop in pairwise(settings.bounds)][1:]
        if len(X) > settings.window or len(state["models"]) > len(sets):
            raise ValueError("a stream has more rows than its window, or more models than there can be")
        if any(len(model.sets) != count for model, count in zip(state["models"], sets, strict=False)):
            raise ValueError("a model of a stream does not have the sets of output weights that it should have")
        if state["mixture"].corrections.shape != learner.mixture.corrections.shape:
            raise ValueError("the mixture of a stream does not fit its models")
        for name in (*_NUMBERS, "level", "units", "squares", "models", "mixture", "detector", "log"):
            setattr(learner, name, state[name])
        for x, t in zip(X, T, strict=True):
            learner.recent.append(x, t)
        # Files of version 0.2 have no gates.
        learner.gate = state["gate"] or TargetGate.of_training(T.min(axis=0), T.max(axis=0), learner.units)
        ends = X.min(axis=0), X.max(axis=0)
        learner.input_gate = state["input_gate"] or TargetGate.of_training(*ends, ends[1] - ends[0])
        if len(learner.gate.low) != T.shape[1] or len(learner.input_gate.low) != X.shape[1]:
            raise ValueError("the ranges of the rows of a stream do not fit its inputs and outputs")
        return learner

    @property
    def seed(self) -> int:
        """That of the settings."""
        return self.settings.seed

    @property
    def last_inputs(self) -> np.ndarray:
        """The inputs of the last rows, shape (n, d)."""
        return self.recent.last()[0]

    @property
    def last_targets(self) -> np.ndarray:
        """Their targets, shape (n, m)."""
        return self.recent.last()[1]

    @property
    def n_nodes(self) -> int:
        """Nodes of the network that has been best lately."""
        networks = self.models[1:]
        if not networks:
            return 0
        losses = self.mixture.by_expert(self.mixture.losses)
        lowest = [losses[experts].min() for experts in self._experts[2 : 2 + len(networks)]]
        return len(networks[int(np.argmin(lowest))].columns.nodes)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """For rows that come next, shape (n, m)."""
        blocks = (X[start : start + _TOGETHER] for start in range(0, len(X), _TOGETHER))
        return np.concatenate([self._evaluate(block).predictions for block in blocks])

    def _evaluate(self, X: np.ndarray) -> _Evaluated:
        """What the models say about rows; a row that is predicted and then learnt is evaluated once."""
        key = X.tobytes() if len(X) == 1 else None
        if key is None or self._latest is None or self._latest.key != key:
            columns = [model.columns.of(X) for model in self.models]
            self._latest = _Evaluated(key, columns, *self._combine(columns, len(X)))
        return self._latest

    def _combine(self, columns: list[np.ndarray], n_rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Parts of the mixture and predictions; experts that do not exist yet repeat the ones before them."""
        outputs = np.empty((n_rows, len(self.squares), self.n_outputs))
        outputs[:] = self.level
        for model, H, experts in zip(self.models, columns, self._experts[1:], strict=False):
            outputs[:, experts] = model.outputs(H)
        if len(self.models) == 1:
            outputs[:, self._networks] = outputs[:, self._experts[1]]
        elif len(self.models) == 2:
            outputs[:, self._experts[3]] = outputs[:, self._experts[2]]
        parts = self.mixture.parts(outputs)
        return parts, self.mixture.combine(parts)

    def learn(self, X: np.ndarray, T: np.ndarray) -> np.ndarray:
        """Learn rows (n, d) and their targets (n, m), one after the other.

        Returns target − prediction, shape (n, m), as it was before a row was learnt: NaN for the first row of all, and
        for rows that were set aside, because they are not finite, or an input or the target is not plausible.
        """
        errors = np.full(T.shape, np.nan)
        usable = is_usable(X), is_usable(T)
        columns: list[np.ndarray] = []
        start, stop, attempts = 0, 0, self.attempts
        for i, (x, t) in enumerate(zip(X, T, strict=True)):
            if not (usable[0][i] and usable[1][i]):
                self._set_aside(1, "target" if usable[0][i] else "input")
                continue
            if not self.models:
                errors[i] = self._learn_first(x, t)
                continue
            if not self.input_gate.admits(x, self.input_gate.middle):
                self._set_aside(1, "input")
                continue
            if len(X) == 1:
                _, row, parts, predictions = self._evaluate(X)
            else:
                if i >= stop or attempts != self.attempts:
                    start, stop, attempts = i, i + _TOGETHER, self.attempts
                    ahead = np.where(usable[0][start:stop, np.newaxis], X[start:stop], 0.0)
                    columns = [model.columns.of(ahead) for model in self.models]
                row = [H[i - start : i - start + 1] for H in columns]
                parts, predictions = self._combine(row, 1)
            if not self.gate.admits(t, predictions[0]):
                self._set_aside(1, "target", float(np.abs(t - predictions[0]).max()))
                continue
            self.recent.append(x, t)
            errors[i] = self._take_in(t, row, parts[0], predictions[0])
        return errors

    def _learn_first(self, x: np.ndarray, t: np.ndarray) -> np.ndarray | float:
        """Learn all rows so far that are plausible, as there is no model yet; NaN if this one is not, or is the first.

        Each further row may change which of the ones before it are plausible.
        """
        error: np.ndarray = t - self._evaluate(x[np.newaxis]).predictions[0]
        before = plausible_together(self.last_targets) & plausible_together(self.last_inputs)
        self.recent.append(x, t)
        X, T = (part.copy() for part in self.recent.last())
        targets, inputs = plausible_together(T), plausible_together(X)
        kept = targets & inputs
        self._set_aside(int(before.sum()) + 1 - int(kept.sum()), "input" if targets.all() else "target")
        X, T = X[kept], T[kept]
        if len(X) >= self.next:
            self.recent.forget_all_but(0)
            for row in zip(X, T, strict=True):
                self.recent.append(*row)
        if not np.array_equal(kept[:-1], before):
            self._begin()
        if len(X):
            self.input_gate = TargetGate(X.min(axis=0), X.max(axis=0), np.abs(X - np.median(X, axis=0)))
        for target in T[self.rows :]:
            if not self.rows:
                self.level = target.copy()
            parts, predictions = self._combine([], 1)
            self.gate.admit(target, np.abs(self._take_in(target, [], parts[0], predictions[0])))
        return error if kept[-1] and self.rows > 1 else np.nan

    def _set_aside(self, count: int, reason: str, error: float = np.nan) -> None:
        """Note that rows were set aside; a negative number were found to be plausible later."""
        self.set_aside += count
        if count > 0:
            self.log.note(self.rows, "set aside", reason, self.n_nodes, after=error)

    def _take_in(
        self, t: np.ndarray, columns: list[np.ndarray], parts: np.ndarray, prediction: np.ndarray
    ) -> np.ndarray:
        """Learn a row that is plausible, look for a change, and for better models when it is time."""
        error: np.ndarray = t - prediction
        self._latest = None
        to_learn = [
            (recursive, H[0], own)
            for model, H in zip(self.models, columns, strict=True)
            for recursive, own in zip(model.sets, model.errors(H[0], t), strict=True)
        ]
        for recursive, h, own in to_learn:
            recursive.follow(h, own)
        self.mixture.learn(parts, t, self.units)
        self.squares += (((t - parts[:: len(ONLINE_MIXTURE.gains)]) / self.units) ** 2).sum(axis=1)
        self.rows, self.regime, self.trial_rows = self.rows + 1, self.regime + 1, self.trial_rows + 1
        self.level += (t - self.level) / min(self.rows, _LEVEL)
        if self.models and self.detector.alarm(float(np.sqrt(((error / self.units) ** 2).sum()))):
            self.regime = self.detector.since
            self.recent.forget_all_but(self.regime)
            self.next, self.drifted = float(AFTER_DRIFT), True
            self.log.note(self.rows, "alarm", "drift", self.n_nodes)
        if self.regime >= self.next:
            self.next = PACE * self.regime
            self._renew()
        return error

    def _reason(self) -> str:
        if self.regime > self.settings.window:
            return "more rows"
        return "drift" if self.drifted else "warm-up"

    def _renew(self) -> None:
        """The linear model and the scalings anew, on the rows since the last change, and a network on probation."""
        X, T = self.recent.last()
        deviations = T.std(axis=0)
        units = np.where(deviations > 0.0, deviations, self.units)
        factor = float(np.sqrt(((self.units / units) ** 2).mean()))
        self.detector.rescale(factor)
        self.mixture.rescale(factor)
        self.units = units
        linear = StreamColumns.linear(self.settings.layer, X)
        self.models[:1] = [StreamModel.of_rows(linear, X, T, (_LINEAR,))]
        place = self._place()
        name, columns = self._proposed(X, T, place)
        network = StreamModel.of_rows(columns, X, T, self.settings.forgettings(columns))
        self.models[1 + place : 2 + place] = [network]
        judged = network.left_out(X[-_JUDGED:], T[-_JUDGED:])
        self.mixture.admit(self._experts[2 + place], judged, self.units, peers=self._networks)
        self.attempts, self.newest = self.attempts + 1, place
        self.squares[:], self.trial_rows = 0.0, 0
        self.log.note(self.rows, name, self._reason(), len(columns.nodes))

    def _place(self) -> int:
        """The place of the next network: that of the worse one, on the rows since the last one joined."""
        if len(self.models) < 1 + NETWORKS:
            return len(self.models) - 1
        errors = [self.squares[experts].min() for experts in self._experts[2:]]
        worst = int(np.argmax(errors))
        unit = float(np.sqrt((self.units**2).mean() / max(self.trial_rows, 1)))
        before, after = (unit * errors[place] ** 0.5 for place in (1 - self.newest, self.newest))
        event = "rejected" if worst == self.newest else "kept"
        nodes = len(self.models[1 + self.newest].columns.nodes)
        self.log.note(self.rows, event, self._reason(), nodes, before, after)
        return worst

    def _proposed(self, X: np.ndarray, T: np.ndarray, place: int) -> tuple[str, StreamColumns]:
        """Columns for a new network: grown from nothing, or those of the other one with nodes added and removed."""
        settings, seed = self.settings, self.settings.seed + self.attempts
        grown = regrown(X, T, settings.layer, settings.max_nodes, seed)
        others = [model.columns for j, model in enumerate(self.models[1:]) if j != place]
        if self._reason() == "warm-up" or not others or not len(others[0].nodes):
            return "grown", grown
        more = extended(others[0], X, T, settings.configuration, settings.max_nodes, seed)
        degrees = settings.configuration.degrees_per_node(self.n_features)
        scores = [cross_validated(columns, X, T, degrees) for columns in (grown, more)]
        return ("grown", grown) if scores[0] <= scores[1] else ("extended", more)
