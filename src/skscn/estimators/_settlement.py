"""The network of some nodes under a loss that evaluates their output weights again: what a round of a fit ends with.

It depends on the rows and the nodes only, so a fit that continues from a checkpoint gets the same network.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from skscn.estimators._assembling import Frame, assembled, bounds
from skscn.estimators.data import ArrayData, TrainingData
from skscn.factor import Factor
from skscn.layers import Nodes
from skscn.losses import Loss, Penalised
from skscn.network import Constant, Network
from skscn.output_weights import Solution
from skscn.scaling import Scaling
from skscn.settling import (
    Candidate,
    Columns,
    HeldOut,
    Reweighting,
    blend,
    prefix_shares,
    quadratic_factor,
    shrunk,
    solve_candidates,
    solve_path,
)


@dataclass(frozen=True)
class Settlement:
    """The rows with their own targets, and what surrounds the nodes.

    Attributes
    ----------
    data, held_out : TrainingData, ArrayData
        The rows to train on, and those that early stopping holds out.
    everything : TrainingData or None
        All rows, if the output weights of the final network are to be evaluated on them.
    frame : Frame
        Its linear part is that of the settled network.
    alpha : float or "gcv"
        Regularisation of the output weights, where the loss does not choose it by held-out rows.
    n_jobs : int or None
    averaged : bool
        Whether the network will be averaged with others.
    """

    data: TrainingData
    held_out: ArrayData
    everything: TrainingData | None
    frame: Frame
    alpha: float | str
    n_jobs: int | None
    averaged: bool

    def network(self, blocks: Sequence[Nodes], loss: Loss, *, final: bool, sizes: Sequence[int] = ()) -> Network:
        """The network of these blocks of nodes under a loss; nodes that depend on others before them are left out.

        Losses that choose penalties may also choose among smaller networks with these numbers of nodes.
        """
        data = self.everything if final and self.everything is not None else self.data
        if isinstance(loss, Penalised):
            network = self._penalised(blocks, loss, data, sizes)
        else:
            network = self._reweighted(blocks, loss, data, averages=final)
        network = replace(network, loss=loss.adapted(data.statistics_of(network)))
        return replace(network, bounds=bounds(network, data)) if self.frame.bounded else network

    def lowest(self, blocks: Sequence[Nodes], loss: Penalised, sizes: Sequence[int]) -> np.ndarray:
        """The losses of the held-out rows with the lowest mean, with output weights of the training rows."""
        loss = self._beginning(loss)
        with self._columns(self.data, self.frame.linear, blocks) as columns:
            held_out = self._held_out(columns)
            assert held_out is not None
            best = min(solve_path(columns, loss, held_out, sizes), key=lambda candidate: candidate.score)
        return held_out.losses(loss, best.coefficients)

    def _beginning(self, loss: Penalised) -> Penalised:
        """The loss with what it knows of the training rows before there are any nodes."""
        return loss.adapted(self.data.statistics_of(Constant(self.frame.outputs.offset)))

    def _held_out(self, columns: Columns) -> HeldOut | None:
        rows = self.held_out
        if not len(rows.targets):
            return None
        return HeldOut(columns, rows.X, rows.targets, rows.sample_weight, self.frame.inputs)

    @contextmanager
    def _columns(self, data: TrainingData, linear: Nodes, blocks: Sequence[Nodes]) -> Iterator[Columns]:
        """Columns on some rows, for as long as these are open."""
        frame, count = self.frame, data.n_outputs
        unscaled = Scaling(None, np.zeros(count), np.ones(count), -np.inf, np.inf)
        with data.open_rows(unscaled, layer=frame.layer, scaling=frame.inputs, n_jobs=self.n_jobs) as rows:
            yield Columns(rows, frame.outputs, linear, blocks)

    def _reweighted(self, blocks: Sequence[Nodes], loss: Loss, data: TrainingData, *, averages: bool) -> Network:
        """The network of the rows ``data``; or an average over numbers of nodes, as plausible on held-out rows."""
        if not (averages and len(self.held_out.targets)):
            with self._columns(data, self.frame.linear, blocks) as columns:
                reweighting = self._minimised(columns, loss, data)
                return self._network(columns, loss, reweighting.solution(), reweighting.factor)
        with self._columns(self.data, self.frame.linear, blocks) as columns:
            reweighting = self._minimised(columns, loss, self.data)
            shares = self._shares(columns, reweighting, loss)
            if data is self.data:
                return self._shrunk(columns, loss, reweighting, shares)
        with self._columns(data, columns.linear, columns.blocks) as columns:
            return self._shrunk(columns, loss, self._minimised(columns, loss, data), shares)

    def _shrunk(self, columns: Columns, loss: Loss, reweighting: Reweighting, shares: np.ndarray) -> Network:
        solution = shrunk(reweighting.solution(), shares[: len(columns.triangle)])
        return self._network(columns.first(len(solution.coefficients)), loss, solution, None)

    def _shares(self, columns: Columns, reweighting: Reweighting, loss: Loss) -> np.ndarray:
        """The share of each direction in the average over the numbers of nodes of the last block."""
        solution = reweighting.solution()
        loss = loss.adapted(self.data.statistics_of(self._network(columns, loss, solution, None)))
        held_out = self._held_out(columns)
        assert held_out is not None
        return prefix_shares(held_out, loss, columns, solution)

    def _minimised(self, columns: Columns, loss: Loss, data: TrainingData) -> Reweighting:
        """The loss is minimised in its stages, each with what it knows of the rows at that time."""
        reweighting = Reweighting(columns, self.alpha)
        for stage in loss.stages():
            model = self._network(columns, loss, columns.solution(reweighting.coefficients), None)
            reweighting.minimise(stage.adapted(data.statistics_of(model)))
        return reweighting

    def _penalised(self, blocks: Sequence[Nodes], loss: Penalised, data: TrainingData, sizes: Sequence[int]) -> Network:
        """Penalties are chosen on the training rows and the held-out rows; the network is that of the rows ``data``."""
        loss = self._beginning(loss)
        with self._columns(self.data, self.frame.linear, blocks) as columns:
            held_out = self._held_out(columns)
            weight = columns.rows.weight if held_out is None else held_out.weight
            candidates = solve_path(columns, loss, held_out, sizes)
            shares = blend(candidates, loss, weight)
            chosen = [candidate for candidate, share in zip(candidates, shares, strict=True) if share > 0.0]
            shares = [share for share in shares if share > 0.0]
            factor = loss.factor_if_averaged if self.averaged else 1.0
            if data is self.data:
                again = chosen if factor == 1.0 else solve_candidates(columns, loss, chosen, factor)
                return self._blended(columns, loss, again, shares, factor)
        with self._columns(data, columns.linear, columns.blocks) as columns:
            again = solve_candidates(columns, loss, chosen, factor)
            return self._blended(columns, loss, again, shares, factor)

    def _blended(
        self, columns: Columns, loss: Penalised, candidates: list[Candidate], shares: list[float], factor: float
    ) -> Network:
        """The average of some candidates; nodes that none of them has are left out."""
        pairs = list(zip(candidates, shares, strict=True))
        coefficients = np.sum([share * candidate.coefficients for candidate, share in pairs], axis=0)
        size = max(candidate.size for candidate in candidates)
        used = columns.first(size)
        solution = used.solution(coefficients[:size])
        if not loss.quadratic:
            return self._network(used, loss, solution, None)
        penalties = factor * loss.penalties(columns.rows.weight)
        penalty = float(sum(share * penalties[candidate.penalty] for candidate, share in pairs))
        return self._network(used, loss, solution, quadratic_factor(used, loss, solution, penalty))

    def _network(self, columns: Columns, loss: Loss, solution: Solution, factor: Factor | None) -> Network:
        return assembled(self.frame, loss, columns.linear, columns.blocks, solution, factor)
