"""A fit, from validated rows to fitted attributes.

    Recipe, Plan    what is grown, decided before
    Loss            rounds of weighted least squares; squared error is one round
      a split       rows to train on, and held-out rows
      Training      grows a network step by step, followed by progress, checkpoints and callbacks
      Settlement    evaluates the output weights of fixed nodes under other losses

Fitted attributes are set at the end.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from skscn.factor import Factor
from skscn.fit.checkpoint import Checkpoint, opened_checkpoint
from skscn.fit.data import ArrayData, TrainingData
from skscn.fit.deepen import Check, Confirmation, Deepening, Grown, Verdict
from skscn.fit.hold_out import HoldOut, Split
from skscn.fit.observers import Callbacks, follow
from skscn.fit.plan import Plan, Recipe
from skscn.fit.training import Earlier, Frame, Training, assembled, bounds
from skscn.growth import HISTORY, BeforePolishing, StopReason, last_round
from skscn.losses import Loss, Penalised
from skscn.network import Constant, Network, Outputs
from skscn.nodes import Inputs, Nodes
from skscn.output_weights import Solution
from skscn.refit import (
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
from skscn.scaling import Scaling
from skscn.stopping import INFORMATION, Criterion, Stalled, StoppingMonitor, Validation

if TYPE_CHECKING:
    from skscn.estimators.base import GrowingNetwork


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


# A fit, from validated rows to fitted attributes.
#
#     Recipe, Plan    what is grown, decided before
#     Loss            rounds of weighted least squares; squared error is one round
#       a split       rows to train on, and held-out rows
#       Training      grows a network step by step, followed by progress, checkpoints and callbacks
#
# Fitted attributes are set at the end, so a fit that fails keeps the network of an earlier one.


# Members of an ensemble keep this many times the nodes with which each is best: what they overfit is averaged out.
_MEMBERS_KEEP = 2.0
# The relative change of the loss with which rounds end.
_HARDLY = 1e-3


@dataclass(frozen=True)
class Start:
    """Where growth begins: the seed of all draws, and what an earlier fit has left, if there was one.

    Attributes
    ----------
    seed : int
    nodes, history
        Of the network that is continued; the history includes earlier rounds.
    model : Network or None
        The network of the round before.
    previous : tuple of Nodes
        The blocks of nodes of that network, if it has to be settled again.
    polished : BeforePolishing or None
        What was known when the nodes were last polished, if it is known.
    """

    seed: int
    nodes: Nodes | None = None
    history: np.ndarray | None = None
    model: Network | None = None
    previous: tuple[Nodes, ...] = ()
    polished: BeforePolishing | None = None


def fit_network(estimator: GrowingNetwork, recipe: Recipe, data: TrainingData, hold_out: HoldOut) -> None:
    """Grow a network on the rows, and set the fitted attributes."""
    plan = recipe.plan(data, hold_out)
    fingerprint = _fingerprint(estimator, recipe, data, hold_out)
    with opened_checkpoint(estimator, lambda: hold_out.signed(data.fingerprint())) as checkpoint:
        start = _start(estimator, recipe, data, checkpoint)
        metadata = {"sample_weight": data.sample_weight}
        # Layers that are tried and not kept have steps as well.
        most_steps = recipe.loss.rounds * plan.max_nodes if plan.max_layers == 1 else None
        callbacks = Callbacks(estimator, data.X if data.given is None else data.given, data.y, metadata, most_steps)
        fit = Fit(estimator, recipe, plan, data, hold_out, start, checkpoint, callbacks)
        fitted = fit.run()
        if recipe.loss.weighs:
            fitted["row_weights_"] = _row_weights(data, fitted["network_"])
        callbacks.end(lambda: fitted)
    estimator.__dict__.pop("row_weights_", None)
    fitted |= {"n_rows_seen_": data.shape[0], "_weight_unit": data.unit, "_fingerprint": fingerprint}
    for name, value in fitted.items():
        setattr(estimator, name, value)
    useless = not estimator.n_iter_ and not estimator.network_.linear.direct_weights.any()
    if useless and estimator.stop_reason_ == StopReason.NO_CANDIDATE:
        warnings.warn(
            "No candidate passed the supervisory inequality and its guards, so the network has no nodes and "
            "predicts a constant; try more rows, other scopes, more max_candidates, or contractions closer to 1.",
            ConvergenceWarning,
            stacklevel=5,
        )


def _fingerprint(estimator: GrowingNetwork, recipe: Recipe, data: TrainingData, hold_out: HoldOut) -> str | None:
    """That of the rows, with which a network that is continued must have been grown.

    Members of an ensemble are not continued. Rows on a cluster or in files are read once more, and sparse ones made
    dense, only where it is needed.
    """
    if estimator._averaged or not (isinstance(data.X, np.ndarray) or estimator.warm_start):
        return None
    found = hold_out.signed(data.fingerprint())
    if estimator.is_continued():
        recipe.check_continues(estimator.network_, data.n_outputs)
        if estimator.network_.directions is None or estimator._fingerprint not in (None, found):
            raise ValueError(
                "warm_start=True continues a network on the data it was grown on, and these rows are others; learn "
                "from further rows with partial_fit, or use warm_start=False to start again."
            )
    return found


def _start(estimator: GrowingNetwork, recipe: Recipe, data: TrainingData, checkpoint: Checkpoint | None) -> Start:
    """From the network that is continued, from the checkpoint, or from nothing."""
    if estimator.is_continued():
        network = estimator.network_
        # Further rounds continue with the weights that follow from the network itself.
        nodes, model = network.stack[0].nodes, network if recipe.loss.rounds > 1 else None
        return Start(estimator._seed, nodes, estimator.history_, model)
    saved = None if checkpoint is None else checkpoint.load(recipe.layer)
    if saved is not None:
        return Start(saved.seed, saved.nodes, saved.history, previous=saved.previous, polished=saved.polished)
    return Start(int(check_random_state(estimator.random_state).randint(np.iinfo(np.int32).max)))


def _split(recipe: Recipe, plan: Plan, data: TrainingData, seed: int, hold_out: HoldOut) -> Split:
    if plan.criterion != "validation":
        return Split(data, data.take(np.zeros(0, dtype=int)))
    return hold_out.split(data, plan.share_held_out, seed, recipe.validation)


def _row_weights(data: TrainingData, network: Network) -> np.ndarray:
    """What each of the user's rows counted for; nothing, if its sample weight was 0."""
    weights = np.zeros(data.n_given)
    weights[data.row_numbers()] = data.row_values(network.loss.row_weights, network)
    return weights


class Round(NamedTuple):
    """One round of a fit: its number, the model before it, what it minimises, its rows, and what was there before.

    Only the ``final`` one may have several layers.
    """

    number: int
    model: Outputs | None
    goal: Loss
    train: TrainingData
    held_out: ArrayData
    earlier: Earlier
    final: bool


@dataclass(frozen=True)
class Fit:
    """One fit: its decisions, its rows, what is held out of them, where it begins, and who follows it.

    With a ``check`` it only helps another one to decide.
    """

    estimator: GrowingNetwork
    recipe: Recipe
    plan: Plan
    data: TrainingData
    hold_out: HoldOut
    start: Start
    checkpoint: Checkpoint | None
    callbacks: Callbacks
    check: Check | None = None

    def run(self) -> dict[str, Any]:
        """Grow on the working targets and weights of the loss, and again with those that follow from the network.

        Returns the fitted attributes.
        """
        return self._deepened(*self.single()).fitted

    def single(self) -> tuple[Round, Grown]:
        """The last round, and its network of one layer."""
        rounds, history = self.recipe.loss.rounds, self.start.history
        before = np.empty(0, HISTORY) if history is None else history[history["round"] <= self._done]
        model = self._first_model()
        for number in range(self._done + 1, rounds + 1):
            this = self._round(number, model, before)
            fitted, training = grown = self._layer(this, self.frame, this.earlier)
            if this.final:
                break
            network, before = fitted["network_"], fitted["history_"]
            if grown.is_stopped or self._is_finished(model, network):
                fitted |= self._finished(training, model)
                this = this._replace(goal=self.recipe.loss, final=True)
                break
            model = network
        return this, grown

    def _finished(self, training: Training, model: Outputs | None) -> dict[str, Any]:
        """The network of a round that turned out to be the last one."""
        if self.recipe.loss.settling is None:
            return {}
        network = self._settled(training.candidates, training.nodes, model=model, loss=self.recipe.loss, final=True)
        return {"network_": network, "n_nodes_": network.n_nodes}

    @cached_property
    def rows(self) -> Split:
        """The rows to train on, and those held out."""
        return _split(self.recipe, self.plan, self.data, self.start.seed, self.hold_out)

    @property
    def _held_out(self) -> np.ndarray:
        """The numbers of the training rows that are held out."""
        return self.rows.held_out.numbers if self.hold_out.rows is None else np.zeros(0, dtype=int)

    @property
    def _is_everything_seen(self) -> bool:
        """Whether held-out rows are seen in the end; not those of an ensemble's member, nor those that were given."""
        return not self.estimator._averaged and self.hold_out.rows is None

    @property
    def _done(self) -> int:
        """How many rounds an earlier fit has finished."""
        history = self.start.history
        return 0 if history is None or not len(history) else int(history["round"][-1]) - 1

    def _first_model(self) -> Outputs | None:
        """The network of the round before, or the constant output that the loss begins with."""
        if self.start.model is not None:
            return self.start.model
        if self.start.previous:
            return self._settlement.network(self.start.previous, self.recipe.loss.in_round(self._done), final=False)
        return None if self.own_scaling is None else Constant(self.frame.outputs.offset)

    def _is_finished(self, model: Outputs | None, network: Network) -> bool:
        """Whether the loss needs no further round, or has stayed almost as it was."""
        if network.loss.is_finished(self.rows.training.statistics_of(network)):
            return True
        if model is None or isinstance(model, Constant):
            return False
        before, value = (self.rows.training.mean_loss(network.loss, some) for some in (model, network))
        return abs(before - value) <= _HARDLY * abs(value)

    def _round(self, number: int, model: Outputs | None, before: np.ndarray) -> Round:
        """A round, with the working targets and weights that follow from a model."""
        loss, rounds = self._loss(model), self.recipe.loss.rounds
        blocks = tuple(block.nodes for block in model.layers) if isinstance(model, Network) else ()
        return Round(
            number,
            model,
            self.recipe.loss.in_round(number),
            self.rows.training.working(loss, model),
            self.rows.held_out.working(loss, model),
            Earlier(before, blocks, np.empty(0, HISTORY)),
            final=number == rounds,
        )

    def _deepened(self, this: Round, grown: Grown) -> Grown:
        """The last round with further layers, if they are worth it."""
        if self.plan.max_layers == 1:
            return grown
        return self.deepening(this).of(grown, Confirmation.possible(self))

    def deepening(self, this: Round) -> Deepening:
        """The search for further layers in a round."""
        grow, judge = partial(self._layer, this), partial(self._verdict, this)
        return Deepening(grow, judge, self.plan, self.recipe.inputs, self.frame, this.earlier)

    def without(self, rest: np.ndarray, check: Check) -> Fit:
        """A fit on these of the rows to train on, with the same held-out rows."""
        training, held_out, _ = self.rows
        data, hold_out, start = training.keep(rest), HoldOut(rows=held_out), Start(self.start.seed)
        return replace(self, data=data, hold_out=hold_out, start=start, checkpoint=None, check=check)

    def _verdict(self, this: Round, training: Training) -> Verdict | None:
        """What decides on the number of layers: what early stopping monitors; None without it.

        If the loss chooses penalties by held-out rows, it is the lowest loss of these rows.
        """
        if training.lowest is None:
            return None
        losses = training.held_out_losses()
        if losses is None:
            return Verdict(training.lowest)
        if isinstance(this.goal, Penalised):
            sizes = (0, training.below + training.nodes) if this.goal.tries_sizes else ()
            losses = self._settlement.lowest([*training.frame.below, training.candidates], this.goal, sizes)
        return Verdict.of(losses, this.held_out.sample_weight)

    def _layer(self, this: Round, frame: Frame, earlier: Earlier, most: int | None = None) -> Grown:
        """One layer of a round: the fitted attributes of an estimator that stopped after it, and the training.

        Only the first layer that has as many nodes as there may be is continued by another fit; all others, and layers
        with ``most`` nodes, are grown again.
        """
        estimator, recipe, start = self.estimator, self.recipe, self.start
        settle, below = None, frame.below
        continued = not below and most is None
        if this.goal.settling is not None:
            settle = partial(self._settled, model=this.model, loss=this.goal, final=this.final, below=below)
        training = Training(
            this.train,
            frame,
            recipe.output_weights,
            self._monitor(this, last=len(below) == self.plan.max_layers - 1),
            estimator.n_jobs,
            self.plan.pace,
            settle,
            earlier,
            everything=self._is_everything_seen,
        )
        with training:
            if continued and this.number == self._done + 1 and start.nodes is not None and start.history is not None:
                training.resume(start.nodes, last_round(start.history), start.polished)
            steps = training.steps(
                recipe.configuration,
                max_nodes=self.plan.nodes_of_layer(training.below, most),
                tol=estimator.tol,
                # Nodes of different rounds and layers are not drawn alike.
                seed=start.seed + this.number - 1 + len(below),
            )
            learnt = partial(self._learnt, training)
            checkpoint = self.checkpoint if continued else None
            shown, part = self.check or Check(learnt, "")
            reason = follow(estimator, steps, training, self.callbacks, shown, checkpoint, start.seed, part)
            fitted = {**learnt(), "stop_reason_": str(reason), "held_out_": self._held_out}
            return Grown(fitted, training)

    def _learnt(self, training: Training) -> dict[str, Any]:
        """What an estimator that stopped now would have learnt."""
        return {**self.estimator._learnt(training, self.start.seed), "encoder_": self.data.encoder}

    def _loss(self, model: Outputs | None) -> Loss:
        """The loss that the working targets and weights of a round follow from."""
        if isinstance(model, Network):
            return model.loss
        loss = self.recipe.loss.beginning()
        return loss if model is None else self._adapted(loss, model)

    def _adapted(self, loss: Loss, model: Outputs) -> Loss:
        return loss.adapted(self.rows.training.statistics_of(model))

    def _settled(
        self,
        grown: Nodes,
        kept: int,
        *,
        model: Outputs | None,
        loss: Loss,
        final: bool,
        below: tuple[Nodes, ...] = (),
    ) -> Network:
        """The network of a round: as many nodes of earlier rounds as there may be, and its own, layer by layer.

        These are the ones that early stopping keeps; in the end the loss may weigh all numbers of nodes.
        """
        lower = sum(map(len, below))
        if isinstance(loss, Penalised) and loss.tries_sizes:
            return self._settlement.network([*below, grown], loss, final=final, sizes=(0, lower + kept))
        earlier: list[Nodes] = []
        if isinstance(model, Network):
            # The network that warm_start continues has the nodes of this round already.
            blocks = model.layers[:-1] if model is self.start.model else model.layers
            earlier = [block.nodes for block in blocks]
        most = self.plan.max_nodes - lower
        before = Nodes.joined([Nodes.none(self.recipe.layer, self.data.shape[1]), *earlier]).take(slice(most - kept))
        averages = final and loss.settling == "reweighted" and len(self.rows.held_out.targets) > 0
        own = grown.take(slice(most - len(before) if averages else kept))
        return self._settlement.network([*([before] if len(before) else []), *below, own], loss, final=final)

    @cached_property
    def _settlement(self) -> Settlement:
        training, held_out, _ = self.rows
        return Settlement(
            training,
            held_out,
            self.data if self._is_everything_seen and len(held_out.targets) else None,
            replace(self.frame, linear=self.plan.settled_linear),
            self.recipe.alpha,
            self.estimator.n_jobs,
            self.estimator._averaged,
        )

    @cached_property
    def own_scaling(self) -> Scaling | None:
        """The scaling of the outputs that the loss asks for, if it does."""
        loss = self.recipe.loss
        return None if loss.plain else loss.scaling(self.rows.training.statistics_of(None))

    @cached_property
    def frame(self) -> Frame:
        """What surrounds the nodes; as far as possible that of the network that is continued, if any."""
        estimator, recipe, data = self.estimator, self.recipe, self.rows.training
        if self.check is None and estimator.is_continued():
            inputs, outputs = estimator.network_.inputs, estimator.network_.outputs
        else:
            inputs, own = data.scale_inputs(recipe.scaling), self.own_scaling
            outputs = data.working(recipe.loss, None).scale_targets(recipe.scaling) if own is None else own
        return Frame(
            recipe.layer,
            recipe.loss,
            inputs,
            outputs,
            self.plan.linear,
            bounded=recipe.configuration.bounded,
            single_output=data.single_output,
            single_precision=data.single_precision,
        )

    def _patience(self, number: int) -> int:
        """For how many steps early stopping waits in a round."""
        loss = self.recipe.loss
        factor = loss.patience if number == loss.rounds else loss.earlier_patience
        return max(1, round(factor * self.estimator.n_iter_no_change))

    def _monitor(self, this: Round, *, last: bool) -> StoppingMonitor:
        """What decides when a layer is finished, and how many of its nodes are kept."""
        held_out, model, loss = this.held_out, this.model, this.goal
        patience, criterion = self._patience(this.number), self.plan.criterion
        if criterion is None:
            return StoppingMonitor() if last else Stalled(self.frame.outputs)
        if criterion in INFORMATION:
            degrees_per_node = self.recipe.configuration.degrees_per_node(held_out.shape[1])
            return Criterion(patience, degrees_per_node, INFORMATION[criterion])
        targets = self.frame.outputs.transform(held_out.targets)
        own_loss = self._held_out_loss(model, loss) if model is not None and loss.settling == "reweighted" else None
        inputs = Inputs(held_out.X, self.frame.inputs).prepared()
        stretch = _MEMBERS_KEEP if self.estimator._averaged and loss.plain and held_out.labels() is None else 1.0
        outputs = self.frame.outputs
        return Validation(patience, inputs, targets, held_out.sample_weight, outputs, own_loss, stretch)

    def _held_out_loss(self, model: Outputs, loss: Loss) -> Callable[[np.ndarray], np.ndarray]:
        """The losses of the held-out rows for scaled outputs, with what the loss knows of the rows at a model."""
        loss = self._adapted(loss, model)
        targets, outputs = self.rows.held_out.targets, self.frame.outputs
        return lambda scaled: loss.value(targets, outputs.inverse_transform(scaled))
