"""The state of a stream: models, their weights, the last rows, the drift detector, and what has happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from skscn.configuration import Configuration
from skscn.layers import Dense
from skscn.online import _proposing
from skscn.online._columns import StreamColumns
from skscn.online._drift import ErrorRise
from skscn.online._log import EventLog
from skscn.online._mixture import ExpertMixture
from skscn.online._model import StreamModel
from skscn.online._recent import RecentRows

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
# Numbers and flags that a learner keeps.
_NUMBERS = ("rows", "attempts", "regime", "next", "drifted", "trial_rows", "newest")


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
    """A row, as bytes, or None for several, with the columns of each model, the outputs of experts and predictions."""

    key: bytes | None
    columns: list[np.ndarray]
    outputs: np.ndarray
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
        n_experts = settings.bounds[-1]
        self.rows, self.attempts = 0, 0
        self.level, self.units = np.zeros(n_outputs), np.ones(n_outputs)
        # The linear model and the networks, as far as they exist.
        self.models: list[StreamModel] = []
        self.mixture = ExpertMixture.new(n_experts, n_outputs)
        self.detector = ErrorRise()
        self.recent = RecentRows(settings.window, n_features, n_outputs)
        # Rows since the last change, and how many of them there have to be for the next models.
        self.regime, self.next, self.drifted = 0, float(WARM_UP), False
        # Squared errors of the experts since the last network joined, and the number of rows; and which one it is.
        self.squares, self.trial_rows, self.newest = np.zeros(n_experts), 0, 0
        self.log = EventLog()
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
        losses = [self.mixture.losses[self._experts[2 + j]].min() for j in range(len(networks))]
        return len(networks[int(np.argmin(losses))].columns.nodes)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """For rows that come next, shape (n, m)."""
        return self._evaluated(X).predictions.copy()

    def _evaluated(self, X: np.ndarray) -> _Evaluated:
        """What the models say about rows; a row that is predicted and then learnt is evaluated once."""
        key = X.tobytes() if len(X) == 1 else None
        if key is None or self._latest is None or self._latest.key != key:
            columns = [model.columns.of(X) for model in self.models]
            outputs = self._outputs(columns, len(X))
            self._latest = _Evaluated(key, columns, outputs, self.mixture.combine(outputs))
        return self._latest

    def _outputs(self, columns: list[np.ndarray], n_rows: int) -> np.ndarray:
        """What the experts say, shape (n, experts, m); those that do not exist yet repeat the ones before them."""
        outputs = np.empty((n_rows, len(self.squares), self.n_outputs))
        outputs[:] = self.level
        for model, H, experts in zip(self.models, columns, self._experts[1:], strict=False):
            outputs[:, experts] = model.outputs(H)
        if len(self.models) == 1:
            outputs[:, self._networks] = outputs[:, self._experts[1]]
        elif len(self.models) == 2:
            outputs[:, self._experts[3]] = outputs[:, self._experts[2]]
        return outputs

    def learn(self, x: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Take in a row, shape (d,), and its targets, shape (m,); return target − prediction, as it was before."""
        if not self.rows:
            self.level = t.copy()
        latest = self._evaluated(x[np.newaxis])
        error: np.ndarray = t - latest.predictions[0]
        errors = t - latest.outputs[0]
        self._latest = None
        self.mixture.learn(errors, self.units)
        self.squares += ((errors / self.units) ** 2).sum(axis=1)
        self.recent.append(x, t)
        self.rows, self.regime, self.trial_rows = self.rows + 1, self.regime + 1, self.trial_rows + 1
        self.level += (t - self.level) / min(self.rows, _LEVEL)
        for model, H in zip(self.models, latest.columns, strict=True):
            model.learn(H[0], t)
        self._follow_up(float(np.sqrt(((error / self.units) ** 2).sum())))
        return error

    def _follow_up(self, size: float) -> None:
        """Look for a change, and for better models when it is time."""
        if self.models and self.detector.alarm(size):
            self.regime = self.detector.since
            self.recent.forget_all_but(self.regime)
            self.next, self.drifted = float(AFTER_DRIFT), True
            self.log.note(self.rows, "alarm", "drift", self.n_nodes)
        if self.regime >= self.next:
            self.next = PACE * self.regime
            self._renew()

    def _reason(self) -> str:
        if self.regime > self.settings.window:
            return "more rows"
        return "drift" if self.drifted else "warm-up"

    def _renew(self) -> None:
        """The linear model and the scalings anew, on the rows since the last change, and a network on probation."""
        X, T = self.recent.last()
        self._set_units(T.std(axis=0))
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

    def _set_units(self, deviations: np.ndarray) -> None:
        units = np.where(deviations > 0.0, deviations, self.units)
        factor = float(np.sqrt(((self.units / units) ** 2).mean()))
        self.detector.rescale(factor)
        self.mixture.rescale(factor)
        self.units = units

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
        grown = _proposing.regrown(X, T, settings.layer, settings.max_nodes, seed)
        others = [model.columns for j, model in enumerate(self.models[1:]) if j != place]
        if self._reason() == "warm-up" or not others or not len(others[0].nodes):
            return "grown", grown
        more = _proposing.extended(others[0], X, T, settings.configuration, settings.max_nodes, seed)
        degrees = settings.configuration.degrees_per_node(self.n_features)
        scores = [_proposing.cross_validated(columns, X, T, degrees) for columns in (grown, more)]
        return ("grown", grown) if scores[0] <= scores[1] else ("extended", more)
