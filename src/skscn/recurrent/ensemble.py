"""Ensembles of recurrent networks, and several reservoirs as one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from dataclasses import KW_ONLY, replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr

from skscn.declarations import attribute, parameter
from skscn.estimators.ensemble.members import Workers, member_checkpoint, member_seeds, member_tasks
from skscn.estimators.parameters import AT_LEAST_1
from skscn.factor import Factor
from skscn.fit.checkpoint import open_checkpoint
from skscn.progress import Callbacks
from skscn.recurrent.estimator import RecurrentSCNRegressor, with_rows
from skscn.recurrent.fitting import FittedReservoir, ReplayLog, ReservoirFit
from skscn.recurrent.inputs import Given
from skscn.recurrent.nodes import RecurrentNodes, ReservoirConfig
from skscn.recurrent.predicting import ReservoirRegressor, driven
from skscn.recurrent.reservoir import Reservoir
from skscn.recurrent.sequences import Prepared
from skscn.recurrent.spreads import free_spread, widest_sizes
from skscn.threads import single_threaded

# Columns that depend on those before, up to this share of their size, are left out of the factor.
_DEPENDENT = 1e-7


def joined_nodes(blocks: Sequence[RecurrentNodes]) -> RecurrentNodes:
    """The nodes of several reservoirs, one block after the other."""
    width, before, placed = max(nodes.width for nodes in blocks), 0, []
    for nodes in blocks:
        inner = nodes.factors - nodes.width
        placed.append(
            replace(
                nodes,
                weights=np.pad(nodes.weights, ((0, width - nodes.width), (0, 0))),
                sources=nodes.sources + before,
                factors=np.where(inner >= 0, inner + width + before, nodes.factors),
            )
        )
        before += len(nodes)
    return RecurrentNodes.joined(placed)


def joined_weights(blocks: Sequence[RecurrentNodes], weights: Sequence[np.ndarray]) -> np.ndarray:
    """Output weights (1 + p + L, m) of the joined nodes, from those of each reservoir."""
    width = max(nodes.width for nodes in blocks)
    linear = np.zeros((1 + width, weights[0].shape[1]))
    inner = []
    for nodes, own in zip(blocks, weights, strict=True):
        linear[: 1 + nodes.width] += own[: 1 + nodes.width]
        inner.append(own[1 + nodes.width :])
    return np.vstack([linear, *inner]) / len(blocks)


def factor_of(columns: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, Factor]:
    """The columns that do not depend on the others, of which the first is constant, and their factor."""
    whole = Factor.empty(columns.shape[1], targets.shape[1], linear=1).with_rows(columns, targets)
    inner = whole.triangle[1:, 1:]
    units = np.sqrt((inner**2).sum(axis=0))
    varying = np.flatnonzero(units > _DEPENDENT * np.sqrt((whole.triangle[:, 1:] ** 2).sum(axis=0)))
    if not len(varying):
        kept = np.zeros(1, dtype=np.int64)
    else:
        triangle, order = qr(inner[:, varying] / units[varying], mode="r", pivoting=True)
        rank = int((np.abs(triangle.diagonal()) > _DEPENDENT).sum())
        kept = np.append(0, 1 + np.sort(varying[order[:rank]]))
    return kept, Factor.empty(len(kept), targets.shape[1], linear=1).with_rows(columns[:, kept], targets)


# An ensemble of recurrent networks, which runs as one reservoir.


# Parameters that are not those of the members.
_OWN = {"n_estimators", "n_jobs", "checkpoint", "random_state", "verbose"}


class GrownReservoir(NamedTuple):
    """A member with its number, and what its fit has found."""

    number: int
    network: RecurrentSCNRegressor
    fitted: FittedReservoir


class RecurrentSCNEnsembleRegressor(ReservoirRegressor):
    """The mean of several recurrent stochastic configuration networks.

    Pilot networks choose configurations once, for all members. Each member has its own draws, compares a network of
    each configuration on later rows, and keeps the best. The members run as one reservoir, ``reservoir_``: where
    outputs come back as inputs, it is their mean that comes back to all of them.

    Attributes
    ----------
    members_ : list of RecurrentSCNRegressor
        The members.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn import RecurrentSCNEnsembleRegressor
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, size=(600, 1))
    >>> y = np.sin(3 * np.convolve(x[:, 0], [0.0, 0.3, 0.7])[:600]) + 0.1 * rng.normal(size=600)
    >>> model = RecurrentSCNEnsembleRegressor(3, max_nodes=20, max_candidates=100, random_state=0)
    >>> model = model.fit(x[:400], y[:400])
    >>> members = [member.predict(x[400:], state="end") for member in model.members_]
    >>> bool(np.allclose(model.predict(x[400:], state="end"), np.mean(members, axis=0)))
    True
    """

    n_estimators: int = parameter(
        default=5,
        constraint=[AT_LEAST_1],
        text="""int
        The number of members.""",
    )
    _: KW_ONLY
    max_nodes: int = parameter(
        default=100,
        text="""int
        L_max, the largest number of nodes of a member.""",
    )
    checkpoint: str | os.PathLike[str] | None = parameter(
        default=None,
        text="""path or None
        A file in which the choice of styles is saved; each member has another one in the same folder, whose name ends
        with its seed. ``fit`` with the same path, rows and parameters continues from there.""",
    )
    n_jobs: int | None = parameter(
        default=None,
        constraint=[None, Integral],
        text="""int or None
        Processes; None means 1, −1 all processors. The ensemble does not depend on it.""",
    )
    verbose: int = parameter(
        default=0,
        text="""int
        1 shows the pilot networks, and how many members are finished; 2 every pilot network.""",
    )

    members_: list[RecurrentSCNRegressor] = attribute()

    @property
    def _most_steps(self) -> int:
        # Each member is a step.
        return self.n_estimators

    def _learn(self, data: Prepared, configs: Sequence[ReservoirConfig] | None, callbacks: Callbacks) -> dict[str, Any]:
        with single_threaded(), open_checkpoint(self, data.fingerprint) as file:
            return _fitted_attributes(data, self._grown(data, configs, ReplayLog(file, self.draw_seed), callbacks))

    def _grown(
        self, data: Prepared, configs: Sequence[ReservoirConfig] | None, log: ReplayLog, callbacks: Callbacks
    ) -> list[GrownReservoir]:
        """The members, each with configurations that pilot networks have chosen once for all."""
        shared = {name: value for name, value in self.get_params().items() if name not in _OWN}
        budget = RecurrentSCNRegressor(**shared).budget()
        if configs is None:
            configs = ReservoirFit(type(self).__name__, data, budget, log, self.verbose).choose_configs()
        log.save()
        networks = [
            RecurrentSCNRegressor(**shared, random_state=seed, checkpoint=member_checkpoint(self.checkpoint, seed))
            for seed in member_seeds(log.seed, self.n_estimators)
        ]
        # Members check rows as the ensemble does.
        columns = {name: value for name, value in vars(self).items() if name in ("n_features_in_", "feature_names_in_")}
        for network in networks:
            network.__dict__.update(columns)
        tasks = member_tasks(_grow, [(number, each, data, configs) for number, each in enumerate(networks)])
        finished: list[GrownReservoir] = []

        def stop_after(member: GrownReservoir) -> bool:
            finished.append(member)
            return callbacks.stop_after_step(lambda: _fitted_attributes(data, finished), "member")

        return Workers(self.n_jobs, self.verbose).grow(tasks, self.n_estimators, stop_after)

    def _learn_further(self, rows: Given, reservoir: Reservoir, columns: np.ndarray) -> dict[str, Any]:
        members = [copy(member) for member in self.members_]
        for member in members:
            member._follow(rows)
        weights = _mean(members, [member.reservoir_.output_weights for member in members])
        return {"members_": members, "reservoir_": replace(with_rows(reservoir, rows, columns), output_weights=weights)}


def _fitted_attributes(data: Prepared, members: Sequence[GrownReservoir]) -> dict[str, Any]:
    """The attributes of an ensemble of these members."""
    networks = [member.network for member in members]
    parts = [network.reservoir_ for network in networks]
    nodes = joined_nodes([part.nodes for part in parts])
    weights = _mean(networks, [part.output_weights for part in parts])
    empty = Factor.empty(0, data.sequences.targets.shape[1])
    alpha = max(part.alpha for part in parts)
    reservoir = data.reservoir(max(part.length for part in parts), nodes, weights, np.zeros(0, int), empty, alpha)
    columns, after = driven(reservoir, data.rows, [None] * len(data.rows.segments))
    scored = data.sequences.scored()
    kept, factor = factor_of(columns[scored], data.sequences.targets[scored])
    spread = np.empty((0, reservoir.n_outputs, 0))
    early = [member.fitted.early_weights for member in members if member.fitted.early_weights is not None]
    if early:
        spread = free_spread(data.sequences, nodes, columns, _mean(networks, early))
    return {
        "members_": networks,
        "reservoir_": replace(reservoir, kept=kept, factor=factor),
        "_configs": list(dict.fromkeys(member.fitted.config for member in members)),
        "states_": dict(zip(data.rows.labels, after, strict=True)),
        "n_nodes_": len(nodes),
        "n_rows_seen_": len(data.rows.X),
        "_residuals": widest_sizes(_mean_residuals([member.fitted.residuals for member in members])),
        "_spread": spread,
    }


def _mean_residuals(residuals: Sequence[dict[float, np.ndarray]]) -> list[np.ndarray]:
    """Residuals of the mean of members, after the shares of time that all of them have."""
    shares = set.intersection(*(set(folds) for folds in residuals))
    return [np.mean([folds[share] for folds in residuals], axis=0) for share in sorted(shares)]


def _mean(members: Sequence[RecurrentSCNRegressor], weights: Sequence[np.ndarray]) -> np.ndarray:
    """Output weights of the joined nodes, from those of each member."""
    return joined_weights([member.reservoir_.nodes for member in members], weights)


def _grow(
    number: int, network: RecurrentSCNRegressor, data: Prepared, configs: Sequence[ReservoirConfig]
) -> GrownReservoir:
    """Grow a member, in this process or in another one."""
    fitted, learnt = network.grow(data, configs, None)
    network.__dict__.update(learnt)
    return GrownReservoir(number, network, fitted)
