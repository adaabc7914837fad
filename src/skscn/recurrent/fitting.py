"""A recurrent fit: pilots choose configurations, later rows the number of nodes and the penalty; then all rows count.

One-step models are grown again on all rows. Models whose outputs come back keep the nodes that later free runs have
proved, with output weights from all rows, and are checked to stay within their limits.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from skscn.factor import Factor
from skscn.fit.checkpoint import CheckpointFile
from skscn.growth import HISTORY, Step, StopReason, grow, history_columns, history_of, resume
from skscn.progress import Callbacks, Progress, current_listener, round_of, run_observed
from skscn.recurrent.free_runs import Starts, free_run
from skscn.recurrent.growing import GrowingReservoir, ReservoirSearch
from skscn.recurrent.later import LaterChoice, LaterRows, later_errors, pilot_error
from skscn.recurrent.nodes import RecurrentNodes, ReservoirConfig
from skscn.recurrent.reservoir import limits
from skscn.recurrent.sequences import SHARE, Prepared, Sequences
from skscn.search import StepSchedule
from skscn.stopping import StoppingMonitor

# Lengths of the delay line, and scopes, to choose from.
LENGTHS = (0, 2, 4, 7, 10, 14, 20, 28, 40)
LARGE, SMALL = (0.1, 10.0), (0.003, 1.0)
# A delay line has at most this many columns, and at most one for this number of scored rows.
_WIDEST, _ROWS_PER_COLUMN = 320, 5
# Rows, candidates and nodes of pilot networks, and how many nodes a step adds.
_PILOT_ROWS, _PILOT_POOL, _PILOT_NODES, _PILOT_STEP = 3000, 200, 16, 8
# The kinds of nodes in which pilot networks compare all lengths; how many lengths are tried in which other kinds; and
# how many of these configurations are tried with and without recurrence, in networks of full size.
_TWO_KINDS = ((LARGE, False, True), (SMALL, True, True))
_LENGTHS_KEPT, _KINDS = 3, tuple(product((LARGE, SMALL), (False, True), (False, True)))
_TRIED = 3
# Shares of time after which intervals look at errors. Weights of the rows before need this many rows for each degree of
# freedom, or their errors say more about too few rows than about later ones.
_FOLDS, _ROWS_PER_FREEDOM = (0.4, 0.55, SHARE), 2.0
# Free runs from the end of training must stay within their limits for this number of rows.
_STABLE = 2000


@dataclass(frozen=True)
class GrowthBudget:
    """How networks are grown: parameters of the estimator."""

    max_nodes: int
    max_candidates: int
    nodes_per_step: int
    tol: float
    patience: int
    algorithm: str
    window: int


class GrownNodes(NamedTuple):
    """Nodes that were grown before, and the history of their steps."""

    nodes: RecurrentNodes
    history: np.ndarray


class ReplayLog:
    """What a fit has done so far, to be repeated by one that continues it: errors of pilots, and networks.

    Draws follow from the seed and the number of nodes, so that nodes which join again lead to the same network.

    Parameters
    ----------
    file : CheckpointFile or None
        Where the log is kept.
    draw_seed : callable
        Returns the seed of a fit that begins.

    Attributes
    ----------
    seed : int
    errors : list of float
        Of the pilots.
    networks : list of GrownNodes
    suspended : bool
        Whether somebody has ended the fit: what follows is not what it would have done, and is not kept.
    """

    def __init__(self, file: CheckpointFile | None, draw_seed: Callable[[], int]):
        self._file, self.suspended = file, False
        self.errors: list[float] = []
        self.networks: list[GrownNodes] = []
        read = None if file is None else file.read()
        if file is None or read is None:
            self.seed = draw_seed()
            return
        about, arrays = read
        with file.complete():
            self.seed, self.errors = int(about["seed"]), arrays["errors"].tolist()
            self.networks = [_grown_of(arrays, f"{number}_") for number in range(about["networks"])]

    def note(self, number: int, grown: GrownNodes) -> None:
        """Keep the present state of a network, now and then in the file."""
        if not self.suspended:
            self.networks[number : number + 1] = [grown]
            self.save(now=False)

    def save(self, *, now: bool = True) -> None:
        """Write the file, if there is one, and it is due."""
        if self._file is None or self.suspended or not (now or self._file.is_due):
            return
        arrays = {"errors": np.array(self.errors)}
        for number, (nodes, history) in enumerate(self.networks):
            own = {**nodes.arrays(), **{f"history_{name}": values for name, values in history_columns(history).items()}}
            arrays |= {f"{number}_{name}": values for name, values in own.items()}
        self._file.write({"seed": self.seed, "networks": len(self.networks)}, arrays)


def _grown_of(arrays: Mapping[str, np.ndarray], prefix: str) -> GrownNodes:
    own = {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}
    history = history_of({name: own[f"history_{name}"] for name in HISTORY.names or ()})
    return GrownNodes(RecurrentNodes(*(own[name] for name in RecurrentNodes.empty(0).arrays())), history)


@dataclass(frozen=True, eq=False)
class FittedReservoir:
    """What a fit has found.

    Attributes
    ----------
    config : ReservoirConfig
    nodes : RecurrentNodes
    output_weights : ndarray of shape (1 + p + L, m)
    kept : ndarray of int
        Which of these columns the factor has.
    factor : Factor
        Of all scored rows.
    alpha : float
        The penalty per row.
    residuals : dict of float to ndarray of shape (r, m)
        By shares of time: on the rows after that share, in order of time, scaled, with weights from the rows before.
    early_weights : ndarray of shape (1 + p + L, m) or None
        Of models whose outputs come back: output weights of the same nodes from the first part of time.
    """

    config: ReservoirConfig
    nodes: RecurrentNodes
    output_weights: np.ndarray
    kept: np.ndarray
    factor: Factor
    alpha: float
    residuals: dict[float, np.ndarray]
    early_weights: np.ndarray | None = None


class _Finalist(NamedTuple):
    """A network that was grown on the first part of time and judged on later rows."""

    growing: GrowingReservoir
    monitor: LaterRows
    choice: LaterChoice
    reason: StopReason


class ReservoirFit:
    """One fit of a reservoir, followed by progress, callbacks and listeners, each of which can end it.

    Parameters
    ----------
    name : str
        What is fitted.
    data : Prepared
    budget : GrowthBudget
    log : ReplayLog
    verbose : int
    callbacks : Callbacks or None
    learnt : callable
        Returns what an estimator with a reservoir would have learnt.
    """

    def __init__(
        self,
        name: str,
        data: Prepared,
        budget: GrowthBudget,
        log: ReplayLog,
        verbose: int,
        callbacks: Callbacks | None = None,
        learnt: Callable[[FittedReservoir], dict[str, Any]] = lambda fitted: {},
    ):
        self.name, self.data, self.sequences, self.budget, self.log = name, data, data.sequences, budget, log
        self.verbose, self.callbacks, self.learnt = verbose, callbacks, learnt
        self.histories: list[np.ndarray] = []
        self._begun: dict[tuple[int, float, int], GrowingReservoir] = {}
        self.reason = StopReason.MAX_NODES
        self._ends = False

    @property
    def is_stopped(self) -> bool:
        """Whether somebody has ended the fit."""
        listener = current_listener()
        self._ends = self._ends or (listener is not None and listener.stopped())
        self.log.suspended |= self._ends
        return self._ends

    @property
    def history(self) -> np.ndarray:
        """The steps of all networks."""
        return np.concatenate([np.empty(0, HISTORY), *self.histories])

    # Pilots -----------------------------------------------------------------------------------------------------------

    def choose_configs(self) -> list[ReservoirConfig]:
        """The configurations whose pilot networks have the smallest errors on later rows, the best first.

        Recurrence may pay only in larger networks, so it is not decided by pilots: as many have it as not. Where
        outputs come back, three configurations are tried, since all of their networks are grown to the end.
        """
        some, fed_back = self.sequences.last(_PILOT_ROWS), self.sequences.fed_back
        budget = replace(
            self.budget,
            max_nodes=min(_PILOT_NODES, self.budget.max_nodes),
            max_candidates=min(_PILOT_POOL, self.budget.max_candidates),
            nodes_per_step=_PILOT_STEP,
        )
        lengths = lengths_for(some)
        errors = dict[ReservoirConfig, float]()
        most = len(_TWO_KINDS) * len(lengths) + (len(_KINDS) - len(_TWO_KINDS)) * min(_LENGTHS_KEPT, len(lengths))
        progress = Progress(f"{self.name}, pilot networks", most, self.verbose)

        def best_first(configs: Iterable[ReservoirConfig]) -> list[ReservoirConfig]:
            """Configurations by the errors of their pilot networks, which are grown unless they are there already."""
            ranked = list(configs)
            for config in ranked:
                pilot = len(errors)
                if config in errors:
                    continue
                if pilot == len(self.log.errors) and not self.is_stopped:
                    growing = self._growing(some, config, budget, SHARE)
                    for _ in self._steps(growing, StoppingMonitor(), budget, self.log.seed + pilot):
                        pass
                    self.log.errors.append(pilot_error(growing))
                    self.log.save(now=False)
                    shown = f"{pilot + 1}/{most}: {config}, validation {self.data.unit * self.log.errors[-1]:.5g}"
                    progress.show(pilot + 1, shown)
                errors[config] = self.log.errors[pilot] if pilot < len(self.log.errors) else np.inf
            return sorted(ranked, key=lambda config: errors[config])

        two = best_first(ReservoirConfig(length, *kind) for length in lengths for kind in _TWO_KINDS)
        kept = list(dict.fromkeys(config.length for config in two))[:_LENGTHS_KEPT]
        ranked = best_first(ReservoirConfig(length, *kind) for length in kept for kind in _KINDS)
        ahead = []
        for recurrent in (True, False):
            ahead += [config for config in ranked if config.recurrent == recurrent][: 1 if fed_back else _TRIED]
        if fed_back:
            ahead += [config for config in ranked if config not in ahead][:1]
        chosen = sorted(ahead, key=ranked.index)
        progress.end(f"chose {'; '.join(map(str, chosen))}")
        return chosen

    # Networks of full size --------------------------------------------------------------------------------------------

    def run(self, configs: Sequence[ReservoirConfig]) -> FittedReservoir:
        """Fit a reservoir of the best of these configurations; one that is stopped has the network so far."""
        # The best configuration has a second network, since draws differ, but not where free runs compare networks.
        draws = len(configs) + (0 if self.sequences.fed_back else 1)
        rounds = draws + (0 if self.sequences.fed_back else 1)
        finalists: list[_Finalist] = []
        for number in range(1, draws + 1):
            if finalists and self.is_stopped:
                break
            best = min(finalists, default=None, key=lambda finalist: finalist.choice.error)
            config = configs[number - 1] if best is None or number <= len(configs) else best.growing.config
            growing = self._growing(self.sequences, config, self.budget, SHARE, round=number)
            monitor = LaterRows(self.budget.patience, growing, self.data.unit, best and best.monitor)
            reason = self._follow(growing, monitor, self.budget, rounds)
            finalists.append(_Finalist(growing, monitor, monitor.choose(), reason))
        growing, _, choice, reason = min(finalists, key=lambda finalist: finalist.choice.error)
        fitted = self._refit(growing, choice) if self.sequences.fed_back else self._grow_again(growing, choice, rounds)
        fewer = len(fitted.nodes) < growing.output_weights.nodes
        self.reason = StopReason.CALLBACK if self.is_stopped else StopReason.EARLY_STOPPING if fewer else reason
        return fitted

    def _growing(
        self, sequences: Sequences, config: ReservoirConfig, budget: GrowthBudget, share: float, round: int = 1
    ) -> GrowingReservoir:
        outputs = self.data.outputs if len(self.data.outputs.scale) == 1 else None

        def begun(most: int) -> GrowingReservoir:
            return GrowingReservoir.of(
                sequences, config, share, most, budget.algorithm, budget.window, outputs=outputs, round=round
            )

        # The linear columns of networks with delay lines of the same length are the same; of many rows, none are kept.
        if len(sequences.u) > _PILOT_ROWS:
            return begun(budget.max_nodes)
        key = len(sequences.u), share, config.length
        if key not in self._begun:
            self._begun[key] = begun(0)
        return self._begun[key].copied(config, budget.max_nodes, round)

    def _steps(
        self, growing: GrowingReservoir, monitor: StoppingMonitor, budget: GrowthBudget, seed: int
    ) -> Generator[Step, None, StopReason]:
        return grow(
            growing.rows,
            ReservoirSearch(growing.config, budget.max_candidates),
            growing.output_weights,
            max_nodes=budget.max_nodes,
            tol=budget.tol,
            pace=StepSchedule(budget.nodes_per_step),
            seed=seed,
            monitor=monitor,
            state=growing.state,
        )

    def _follow(
        self, growing: GrowingReservoir, monitor: StoppingMonitor, budget: GrowthBudget, rounds: int
    ) -> StopReason:
        """Grow a network, from where an earlier fit was; return why growth ended."""
        number, state, rule = growing.state.round, growing.state, growing.output_weights
        monitor.begin(state.fixed, rule, growing.rows)
        if number <= len(self.log.networks):
            nodes, history = self.log.networks[number - 1]
            nodes, pace = replace(nodes, layer=growing.course), StepSchedule(budget.nodes_per_step)
            resume(growing.rows, rule, nodes, history, pace, monitor, state)

        def learnt() -> dict[str, Any]:
            return self.learnt(so_far(growing, monitor.choices[-1].alpha if isinstance(monitor, LaterRows) else 0.0))

        reason = run_observed(
            self._steps(growing, monitor, budget, self.log.seed + 1000 * number),
            label=f"{self.name}, {round_of(number, rounds)}",
            verbose=self.verbose,
            nodes=rule.nodes,
            max_nodes=budget.max_nodes,
            rounds=(number, rounds),
            callbacks=self.callbacks,
            learnt=learnt,
            save=lambda _: self.log.note(number - 1, GrownNodes(growing.nodes, state.history)),
        )
        self._ends |= reason is StopReason.CALLBACK
        self.histories.append(state.history)
        return reason

    def _grow_again(self, growing: GrowingReservoir, choice: LaterChoice, rounds: int) -> FittedReservoir:
        """The same configuration, number of nodes and penalty on all rows, unless the fit is to end.

        Draws differ: new nodes are kept if they explain all rows better, under the same penalty, and predict later
        rows, which they have seen, as well as those that had not seen them.
        """
        size, alpha = choice.columns, choice.alpha
        kept, factor = growing, growing.factor_of(self.sequences.scored(), size)
        if not self.is_stopped:
            same = replace(self.budget, max_nodes=size - growing.linear)
            again = self._growing(self.sequences, growing.config, same, 1.0, round=rounds)
            self._follow(again, StoppingMonitor(), same, rounds)
            whole = again.factor(1.0)
            if (
                again.size >= size
                and squared_error(again, whole, alpha) <= squared_error(growing, factor, alpha)
                and later_errors(again, size, [alpha])[0] <= choice.error
            ):
                kept, factor = again, whole
        (weights,) = kept.weights(factor, [alpha])
        nodes, columns = kept.nodes.take(slice(size - kept.linear)), kept.kept[:size]
        residuals = later_residuals(growing, choice)
        return FittedReservoir(growing.config, nodes, kept.full(weights), columns, factor, alpha, residuals)

    def _refit(self, growing: GrowingReservoir, choice: LaterChoice) -> FittedReservoir:
        """The nodes that free runs have chosen, with output weights from all rows, under the best stable penalty.

        Weights from the first part of time, which free runs have tested, are kept if none is.
        """
        size, alphas = choice.columns, [choice.alpha, *choice.others]
        factor, nodes = growing.factor_of(self.sequences.scored(), size), growing.nodes
        nodes = nodes.take(slice(size - growing.linear))
        tried = growing.full(growing.weights(factor, alphas))
        stable = (place for place, weights in enumerate(tried) if stays_bounded(growing, nodes, weights))
        place = next(stable, None)
        alpha = choice.alpha if place is None else alphas[place]
        (before,) = growing.full(growing.weights(growing.factor(SHARE).leading(size), [alpha]))
        weights = before if place is None else tried[place]
        residuals = later_residuals(growing, replace(choice, alpha=alpha))
        return FittedReservoir(growing.config, nodes, weights, growing.kept[:size], factor, alpha, residuals, before)


def lengths_for(sequences: Sequences) -> list[int]:
    """Lengths of the delay line that the number of rows allows."""
    widest = min(_WIDEST, len(sequences.scored(0.0, SHARE)) // _ROWS_PER_COLUMN)
    shortest = min(segment.stop - segment.start for segment in sequences.segments)
    return [
        length
        for length in LENGTHS
        if length == 0 or ((length + 1) * sequences.u.shape[1] <= widest and length < shortest)
    ]


def so_far(growing: GrowingReservoir, alpha: float) -> FittedReservoir:
    """What a fit that stopped now would have found."""
    factor = growing.factor(growing.share)
    (weights,) = growing.full(growing.weights(factor, [alpha]))
    numbers = growing.sequences.scored(0.0, growing.share)
    left = growing.sequences.targets[numbers] - growing.columns[numbers] @ weights[growing.kept]
    return FittedReservoir(growing.config, growing.nodes, weights, growing.kept, factor, alpha, {SHARE: left})


def squared_error(growing: GrowingReservoir, factor: Factor, alpha: float) -> float:
    """On all rows of a factor, with output weights under a penalty."""
    (weights,) = growing.weights(factor, [alpha])
    left = factor.coefficients - factor.triangle @ weights
    return float(factor.residual_squares.sum() + (left**2).sum())


def stays_bounded(growing: GrowingReservoir, nodes: RecurrentNodes, weights: np.ndarray) -> bool:
    """Whether a free run from the end of training, with the last inputs again and again, stays within its limits."""
    sequences, last = growing.sequences, [len(growing.sequences.u) - 1]
    starts = Starts(growing.course.z[last], growing.course.states[last, : len(nodes)], sequences.outputs[last])
    n_inputs = sequences.u.shape[1] - sequences.targets.shape[1]
    inputs = np.resize(sequences.u[:, :n_inputs], (1, _STABLE, n_inputs)) if n_inputs else None
    low, high = limits(sequences.targets)
    course = free_run(nodes, starts, weights[np.newaxis], (low, high), _STABLE, inputs)
    return bool(((course > low) & (course < high)).all())


def later_residuals(growing: GrowingReservoir, choice: LaterChoice) -> dict[float, np.ndarray]:
    """Residuals on all rows after some shares of time, with weights from the rows before, where these are enough.

    What is predicted later is as far from the training rows as these are; weights that learn from rows in between would
    promise too much where the process drifts.
    """
    found, size, sequences = {}, choice.columns, growing.sequences
    for share in _FOLDS:
        before, rows = growing.factor_of(sequences.scored(0.0, share), size), sequences.scored(share)
        if share == SHARE or before.weight > _ROWS_PER_FREEDOM * before.degrees_of_freedom(choice.alpha):
            (weights,) = growing.weights(before, [choice.alpha])
            found[share] = sequences.targets[rows] - growing.columns[rows, :size] @ weights
    return found
