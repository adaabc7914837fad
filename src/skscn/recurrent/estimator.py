"""Regression of sequences: a reservoir that grows under the supervisory inequality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from skscn.declarations import attribute
from skscn.fit.checkpoint import open_checkpoint
from skscn.progress import Callbacks
from skscn.recurrent.fitting import FittedReservoir, GrowthBudget, ReplayLog, ReservoirFit
from skscn.recurrent.inputs import Given
from skscn.recurrent.nodes import ReservoirConfig
from skscn.recurrent.predicting import ReservoirRegressor, driven
from skscn.recurrent.reservoir import Reservoir
from skscn.recurrent.sequences import Prepared
from skscn.recurrent.spreads import free_spread, widest_sizes
from skscn.threads import single_threaded


class RecurrentSCNRegressor(ReservoirRegressor):
    """A recurrent stochastic configuration network: regression and forecasts of rows in order of time.

    A reservoir of nodes s(n) = tanh(wᵀz(n) + b + Σ_k v_k s_k(n−1) + a s(n−1)) grows under the supervisory inequality.
    z(n) is a delay line of the inputs. A node uses only nodes that were there before it, so that adding one leaves the
    states of the others unchanged, and ``|a| ≤ 0.95``, which gives the reservoir the echo state property: it forgets
    its initial state, whatever the inputs. Short pilot networks choose the length of the delay line, the scopes of the
    weights, whether nodes use other nodes, and whether products of columns are nodes as well; the error on the last
    part of time chooses the number of nodes and the ridge penalty. See :doc:`/mathematics`.

    Attributes
    ----------
    history_ : ndarray with fields
        The steps of growth: of the networks that were judged on later rows, and in the last round, without
        feedback, of the final one. Errors are in units of the target; with several outputs, of the scaled targets.
    stop_reason_ : {"tol", "max_nodes", "no candidate", "early stopping", "callback"}
        Why growth ended.

    Examples
    --------
    An output that depends on earlier inputs:

    >>> import numpy as np
    >>> from skscn import RecurrentSCNRegressor
    >>> x = np.random.default_rng(0).uniform(size=(600, 1))
    >>> y = np.convolve(x[:, 0], [0.0, 0.3, 0.5, 0.2])[:600] ** 2
    >>> model = RecurrentSCNRegressor(max_nodes=20, max_candidates=200, random_state=0).fit(x[:500], y[:500])
    >>> bool(np.allclose(model.predict(x)[10:], y[10:]))
    True
    >>> stream = model.stream()
    >>> bool(abs(stream.predict_one(x[500]) - y[500]) < 0.05)
    True

    A forecast, from earlier values alone:

    >>> wave = np.sin(np.arange(400) / 5)
    >>> model = RecurrentSCNRegressor(max_nodes=10, feedback=True, max_candidates=100, random_state=0)
    >>> forecast = model.fit(None, wave[:300]).forecast(100)
    >>> bool(np.abs(forecast - wave[300:]).max() < 0.1)
    True
    """

    history_: np.ndarray = attribute()
    stop_reason_: str = attribute()

    @property
    def _most_steps(self) -> int:
        # Of up to six configurations, with a second network of the best one, and one that may be grown on all rows.
        return 8 * self.max_nodes

    def _learn(self, data: Prepared, configs: Sequence[ReservoirConfig] | None, callbacks: Callbacks) -> dict[str, Any]:
        return self.grow(data, configs, callbacks)[1]

    def grow(
        self, data: Prepared, configs: Sequence[ReservoirConfig] | None, callbacks: Callbacks | None
    ) -> tuple[FittedReservoir, dict[str, Any]]:
        """The best of these configurations on prepared rows, None lets pilot networks choose them; the attributes."""
        with single_threaded(), open_checkpoint(self, data.fingerprint) as file:
            log = ReplayLog(file, self.draw_seed)
            learnt = partial(learnt_attributes, data)
            fit = ReservoirFit(type(self).__name__, data, self.budget(), log, self.verbose, callbacks, learnt)
            fitted = fit.run(fit.choose_configs() if configs is None else configs)
            log.save()
        return fitted, {**learnt(fitted), "history_": fit.history, "stop_reason_": str(fit.reason)}

    def _learn_further(self, rows: Given, reservoir: Reservoir, columns: np.ndarray) -> dict[str, Any]:
        window = self.window if self.algorithm == "SC-II" else None
        return {"reservoir_": with_rows(reservoir, rows, columns, window)}

    def budget(self) -> GrowthBudget:
        """How networks are grown."""
        return GrowthBudget(
            self.max_nodes,
            self.max_candidates,
            self.nodes_per_step,
            self.tol,
            self.n_iter_no_change,
            self.algorithm,
            self.window,
        )


def learnt_attributes(data: Prepared, fitted: FittedReservoir) -> dict[str, Any]:
    """The attributes of a fitted estimator."""
    reservoir = data.reservoir(
        fitted.config.length, fitted.nodes, fitted.output_weights, fitted.kept, fitted.factor, fitted.alpha
    )
    columns, after = driven(reservoir, data.rows, [None] * len(data.rows.segments))
    spread = np.empty((0, reservoir.n_outputs, 0))
    if fitted.early_weights is not None:
        spread = free_spread(data.sequences, reservoir.nodes, columns, fitted.early_weights)
    return {
        "reservoir_": reservoir,
        "_configs": [fitted.config],
        "states_": dict(zip(data.rows.labels, after, strict=True)),
        "n_nodes_": reservoir.n_nodes,
        "n_rows_seen_": len(data.rows.X),
        "_residuals": widest_sizes(fitted.residuals.values()),
        "_spread": spread,
    }


def with_rows(reservoir: Reservoir, rows: Given, columns: np.ndarray, window: int | None = None) -> Reservoir:
    """The reservoir with output weights from further rows as well; ``columns`` are [1, z, s] of these rows."""
    assert rows.y is not None
    known = ~np.isnan(rows.y).any(axis=1)
    if not known.any():
        return reservoir
    kept, targets = reservoir.kept, (rows.y[known] - reservoir.outputs.offset) / reservoir.outputs.scale
    factor = reservoir.joinable.with_rows(columns[known][:, kept], targets)
    weights = np.zeros_like(reservoir.output_weights)
    linear = int((kept <= reservoir.nodes.width).sum())
    weights[kept] = factor.paths([len(kept)], [reservoir.alpha], window, linear)[0][0]
    return replace(reservoir, output_weights=weights, factor=factor)
