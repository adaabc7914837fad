"""A fit, from validated rows to fitted attributes.

fit_network        plans, begins or continues a fit, and sets the fitted attributes, all of them at the end
Fit                splits and scales the rows; runs the rounds of a loss, and grows one layer after the other
  GrowingLayer     rows, output weights and monitor of one layer, which growth.grow extends node by node
    .network()     freezes the nodes to keep
  Refit            output weights of fixed nodes under another loss than squared error

Further layers are grown by ``Fit.grow_layer`` as well; ``deepen.py`` judges them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from skscn.factor import Factor
from skscn.fit.checkpoint import CheckpointFile, Saved, open_checkpoint, read_checkpoint, write_checkpoint
from skscn.fit.data import ArrayData, HoldOut, Split, TrainingData, split_rows
from skscn.fit.deepen import Check, deepen
from skscn.fit.plan import FEW_ROWS, Plan, Recipe, signs_of
from skscn.fit.updating import MARGIN, factor_of
from skscn.growth import HISTORY, GrowthState, StopReason, begin, best_nodes, grow, last_round, restore, resume
from skscn.jumps import NO_JUMPS, Jumps, find_jumps, rows_needed
from skscn.losses import Loss, Penalised
from skscn.monotone import monotone_weights
from skscn.network import Constant, LinearColumns, Network, Outputs, WeightedNodes, feature_importances, sampled
from skscn.nodes import Inputs, Layer, Nodes
from skscn.output_weights import LeastSquares, Solution, solved
from skscn.progress import Callbacks, round_of, run_observed
from skscn.refit import (
    Candidate,
    Columns,
    HeldOut,
    Reweighting,
    blend,
    prefix_shares,
    quadratic_factor,
    solve_candidates,
    solve_path,
)
from skscn.rows import Rows
from skscn.scaling import SCALINGS, InputScaling, Scaling, WithJumps, medians_of, moved, scale_targets, with_room
from skscn.stopping import INFORMATION, Criterion, Stalled, StoppingMonitor, Validation
from skscn.supervision import Inequality

if TYPE_CHECKING:
    from skscn.estimators.base import GrowingNetwork


# Members of an ensemble keep this many times the nodes with which each is best: what they overfit is averaged out. Of
# few rows they keep an average over numbers of nodes, as single networks do.
_MEMBERS_KEEP = 2.0


def fit_network(
    estimator: GrowingNetwork, recipe: Recipe, data: TrainingData, hold_out: HoldOut, *, updatable: bool
) -> None:
    """Grow a network on the rows, and set the fitted attributes.

    What further rows join is always kept where it costs little; with ``updatable`` in any case.
    """
    plan, averaged = recipe.plan(data, hold_out), estimator._averaged
    names = getattr(estimator, "feature_names_in_", None)
    plan = replace(plan, signs=signs_of(estimator.monotone, data.shape[1], names, data.encoder))
    if plan.signs is not None and len(plan.linear) == 1:
        raise ValueError(
            "monotone needs direct links from all inputs, but this network has none: there are too few rows for each "
            "input; use more rows."
        )
    fingerprint = None
    # Members of an ensemble are not continued. Rows on a cluster or in files are read once more, and sparse ones made
    # dense, only where it is needed.
    if not averaged and (isinstance(data.X, np.ndarray) or estimator.warm_start):
        fingerprint = data.fingerprint(hold_out)
    continued = estimator.is_continued()
    if continued:
        recipe.check_continues(estimator.network_, data.n_outputs)
        if estimator.network_.directions is None or estimator._fingerprint not in (None, fingerprint):
            raise ValueError(
                "warm_start=True continues a network on the data it was grown on, but these rows are different; learn "
                "from further rows with partial_fit, or use warm_start=False to start again."
            )
    with ExitStack() as resources:
        checkpoint = None
        if estimator.checkpoint is not None:
            checkpoint = resources.enter_context(open_checkpoint(estimator, lambda: data.fingerprint(hold_out)))
        # Growth begins with the network that is continued, with a checkpoint, or with nothing.
        saved = None if continued or checkpoint is None else read_checkpoint(checkpoint, recipe.layer)
        if continued:
            saved = Saved(estimator._seed, estimator.network_.stack[0].nodes, estimator.history_)
        elif saved is None:
            saved = Saved(int(check_random_state(estimator.random_state).randint(np.iinfo(np.int32).max)))
        # Further rounds continue with the weights that follow from the network itself.
        model = estimator.network_ if continued and recipe.loss.rounds > 1 else None
        # Layers that are tried and not kept have steps as well.
        most_steps = recipe.loss.rounds * plan.max_nodes if plan.max_layers == 1 else None
        given = data.X if data.given is None else data.given
        callbacks = Callbacks(estimator, given, data.y, {"sample_weight": data.sample_weight}, most_steps)
        fit = Fit(estimator, recipe, plan, data, hold_out, saved, model, checkpoint, callbacks)
        this, layer = fit.run_rounds()
        fitted = layer.fitted if plan.max_layers == 1 else deepen(fit, this, layer).fitted
        network = fitted["network_"]
        if network.factor is None and network.loss.plain and (updatable or isinstance(data, ArrayData)):
            # The held-out rows of a member of an ensemble stay unseen.
            unseen = fitted["held_out_"] if averaged else np.zeros(0, dtype=int)
            network = fitted["network_"] = replace(network, factor=factor_of(network, data, unseen))
        if recipe.loss.weighs:
            # What each of the user's rows counted for; nothing, if its sample weight was 0.
            fitted["row_weights_"] = np.zeros(data.n_given)
            fitted["row_weights_"][data.row_numbers()] = data.row_values(network.loss.row_weights, network)
        # What a few rows tell: the importances of the inputs, and their medians, for later missing values.
        importances = medians = None
        if data.movable:
            sample = data.take(sampled(data.shape[0]))
            importances = feature_importances(network, sample.X, sample.sample_weight)
            if data.encoder is None and not averaged and isinstance(sample.X, np.ndarray):
                medians = medians_of(sample.X)
        fitted |= {
            "n_rows_seen_": data.shape[0],
            "_weight_unit": data.unit,
            "_fingerprint": fingerprint,
            "_feature_importances": importances,
            "_medians": medians,
        }
        callbacks.end(lambda: fitted)
    estimator.__dict__.pop("row_weights_", None)
    for name, value in fitted.items():
        setattr(estimator, name, value)
    useless = not estimator.n_iter_ and not network.linear.direct_weights.any()
    if useless and estimator.stop_reason_ == StopReason.NO_CANDIDATE:
        warnings.warn(
            "No candidate passed the supervisory inequality and its guards, so the network has no nodes and "
            "predicts a constant; try more rows, other scopes, more max_candidates, or contractions closer to 1.",
            ConvergenceWarning,
            stacklevel=5,
        )


@dataclass(frozen=True)
class NetworkSpec:
    """All of a network, or of one of its layers, but its nodes and output weights.

    Attributes
    ----------
    layer : Layer
        The layer that grows.
    loss : Loss
    inputs, outputs : scalings
    linear : Nodes
        Intercept and direct links.
    bounded, single_output, single_precision : bool
        As in the network.
    below : tuple of Nodes
        The layers below, which are finished.
    room : tuple of arrays
        How far scaled targets may go below and above the range of training.
    """

    layer: Layer
    loss: Loss
    inputs: InputScaling
    outputs: Scaling
    linear: Nodes
    bounded: bool
    single_output: bool
    single_precision: bool
    below: tuple[Nodes, ...] = ()
    room: tuple[np.ndarray | float, np.ndarray | float] = (0.0, 0.0)

    @property
    def n_inputs(self) -> int:
        """What the first layer sees."""
        return len(self.inputs.sources)

    def network(
        self, loss: Loss, linear: Nodes, blocks: Sequence[Nodes], solution: Solution, factor: Factor | None
    ) -> Network:
        """The network of these blocks of nodes, without bounds."""
        # Products with arrays in another memory order differ in their last bits, and copies in files are contiguous.
        beta = np.ascontiguousarray(solution.output_weights)
        first, *others = np.split(beta, np.cumsum([len(linear), *map(len, blocks)])[:-1])
        return Network(
            linear=LinearColumns(linear, first),
            layers=tuple(WeightedNodes(*pair) for pair in zip(blocks, others, strict=True)),
            inputs=self.inputs,
            outputs=self.outputs,
            loss=loss,
            bounds=None,
            directions=solution.directions,
            coefficients=np.ascontiguousarray(solution.coefficients),
            factor=factor,
            single_output=self.single_output,
            single_precision=self.single_precision,
        )

    def with_bounds(self, network: Network, data: TrainingData) -> Network:
        """The network with its bounds: the range of the training targets, or of what the loss has instead.

        It is scaled and extended by a margin. Where no training target is negative, no prediction is.
        """
        if not self.bounded:
            return network
        loss, outputs = network.loss, network.outputs
        ends = np.stack(data.statistics_of(None if loss.refit is None else network)(loss.bounding).range())
        low, high = outputs.transform(ends)
        lower, upper = low - MARGIN * (high - low) - self.room[0], high + MARGIN * (high - low) + self.room[1]
        if data.classes is None and not loss.has_link:
            # The smallest scaled outputs that are not negative when they are scaled back.
            zero = outputs.transform(np.zeros((1, len(outputs.offset))))
            while (negative := outputs.inverse_transform(zero) < 0.0).any():
                zero = np.where(negative, np.nextafter(zero, np.inf), zero)
            # Outputs of outliers, which are among the ends, may be negative although no target is.
            smallest = np.maximum(ends[0], data.statistics().targets.range()[0])
            lower = np.where(smallest >= 0.0, np.maximum(lower, zero[0]), lower)
        return replace(network, bounds=(lower, upper))


class PreviousRounds(NamedTuple):
    """The history of earlier rounds, the nodes of the last network, if there was one, and the history of lower layers.

    The layers below have been grown in the same round.
    """

    history: np.ndarray
    blocks: tuple[Nodes, ...]
    lower: np.ndarray


class Round(NamedTuple):
    """One round of a fit: its number, the model before it, what it minimises, its rows, and what was there before.

    Only the ``final`` one may have several layers.
    """

    number: int
    model: Outputs | None
    goal: Loss
    train: TrainingData
    held_out: ArrayData
    previous: PreviousRounds
    final: bool


class Fit:
    """One fit: its decisions, its rows, what is held out of them, where it begins, and its observers.

    ``model`` is the network of the round before, if it is known. With a ``check`` the fit only helps another one to
    decide.
    """

    def __init__(
        self,
        estimator: GrowingNetwork,
        recipe: Recipe,
        plan: Plan,
        data: TrainingData,
        hold_out: HoldOut,
        start: Saved,
        model: Network | None,
        checkpoint: CheckpointFile | None,
        callbacks: Callbacks,
        check: Check | None = None,
    ):
        self.estimator, self.recipe, self.plan, self.data, self.hold_out = estimator, recipe, plan, data, hold_out
        self.start, self.model, self.checkpoint, self.callbacks, self.check = start, model, checkpoint, callbacks, check
        # How many rounds an earlier fit has finished.
        self.done = int(start.history["round"][-1]) - 1 if len(start.history) else 0
        if plan.criterion != "validation":
            self.rows = Split(data, data.take(np.zeros(0, dtype=int)))
        elif hold_out.rows is not None:
            self.rows = Split(data, hold_out.rows)
        else:
            groups, share = hold_out.groups, plan.share_held_out
            kept, others = split_rows(data.shape[0], share, data.labels(), start.seed, recipe.validation, groups)
            self.rows = Split(data.keep(kept), data.take(others), None if groups is None else groups[kept])
        loss, train = recipe.loss, self.rows.training
        # The scaling of the outputs that the loss asks for, if it does.
        self.own_scaling = None if loss.plain else loss.scaling(train.statistics_of(None))
        # Where the last rows are held out, rows are in order of time: what rises or falls may go on.
        halves = None
        if recipe.validation == "last" and self.rows.held_out.shape[0] and train.shape[0] > 1:
            halves = [train.keep(half).statistics() for half in np.array_split(np.arange(train.shape[0]), 2)]
        if check is None and estimator.is_continued():
            inputs, outputs = estimator.network_.inputs, estimator.network_.outputs
        else:
            scaling, own = SCALINGS[recipe.scaling](train.statistics().inputs), self.own_scaling
            if halves is not None:
                scaling = with_room(scaling, *moved(*(half.inputs for half in halves)))
            jumps = found_jumps(recipe, train) if estimator._jumps is None else estimator._jumps
            inputs = WithJumps(scaling, *jumps) if len(jumps.columns) else scaling
            outputs = own or scale_targets(recipe.scaling, train.working(loss, None).statistics().targets)
        linear, refit_linear = recipe.linear_columns(data.shape[0], len(inputs.sources))
        signs = None if plan.signs is None else plan.signs[inputs.sources]
        self.plan = plan = replace(plan, linear=linear, refit_linear=refit_linear, signs=signs)
        self.spec = NetworkSpec(
            recipe.layer,
            loss,
            inputs,
            outputs,
            plan.linear,
            bounded=recipe.configuration.bounded,
            single_output=train.single_output,
            single_precision=train.single_precision,
        )
        if halves is not None and train.classes is None and not loss.has_link:
            # As far as in as many rows again; the scaling of inputs has half its range to spare.
            below, above = (2.0 * distance / outputs.scale for distance in moved(*(half.targets for half in halves)))
            self.spec = replace(self.spec, room=(below, above))
        # Held-out rows are seen in the end, but not those of an ensemble's member, nor those that were given.
        self.sees_everything = not estimator._averaged and hold_out.rows is None
        self.refit = Refit(
            train,
            self.rows.held_out,
            data if self.sees_everything and len(self.rows.held_out.targets) else None,
            replace(self.spec, linear=plan.refit_linear),
            recipe.alpha,
            estimator.n_jobs,
            estimator._averaged,
        )

    def run_rounds(self) -> tuple[Round, GrowingLayer]:
        """The last round, and its network of one layer.

        Each round grows on working targets and weights, which follow from the network of the round before.
        """
        loss, training, held_out = self.recipe.loss, self.rows.training, self.rows.held_out
        history = self.start.history[self.start.history["round"] <= self.done]
        # The network of the round before, or the constant output that the loss begins with.
        model: Outputs | None = self.model
        if model is None and self.start.previous:
            blocks = self.start.previous
            model = self.refit.network(blocks, loss.in_round(self.done), final=False, earlier=len(blocks) - 1)
        elif model is None and self.own_scaling is not None:
            model = Constant(self.spec.outputs.offset)
        for number in range(self.done + 1, loss.rounds + 1):
            if isinstance(model, Network):
                blocks, present = tuple(block.nodes for block in model.layers), model.loss
            else:
                blocks, present = (), loss.in_round(0)
                present = present if model is None else present.adapted(training.statistics_of(model))
            this = Round(
                number,
                model,
                loss.in_round(number),
                training.working(present, model),
                held_out.working(present, model),
                PreviousRounds(history, blocks, np.empty(0, HISTORY)),
                final=number == loss.rounds,
            )
            layer = self.grow_layer(this, self.spec, this.previous)
            network, history = layer.fitted["network_"], layer.fitted["history_"]
            if this.final:
                break
            if layer.is_stopped or self._is_last(present, model, network, loss.in_round(number + 1)):
                this = this._replace(goal=loss, final=True)
                if loss.refit is not None:
                    network = self.refit_round(this, layer.candidates, len(layer.best))
                    layer.fitted |= {"network_": network, "n_nodes_": network.n_nodes}
                break
            model = network
        return this, layer

    def _is_last(self, present: Loss, model: Outputs | None, network: Network, following: Loss) -> bool:
        """Whether no further round is needed: neither before nor after this one has its loss found outliers.

        Or it has stayed almost as it was.
        """
        training = self.rows.training
        before, after = training.statistics_of(model), training.statistics_of(network)
        if following.adapted(after).is_finished(after) and present.is_finished(before):
            return True
        if not isinstance(model, Network) or type(model.loss) is not type(network.loss):
            return False
        old, new = (training.mean_loss(network.loss, some) for some in (model, network))
        return abs(old - new) <= network.loss.hardly * abs(new)

    def grow_layer(
        self, this: Round, spec: NetworkSpec, previous: PreviousRounds, most: int | None = None
    ) -> GrowingLayer:
        """Grow one layer of a round, with at most ``most`` nodes if that is given.

        Only the first layer that has as many nodes as there may be is continued by another fit; all others, and layers
        with ``most`` nodes, are grown again.
        """
        estimator, plan, start = self.estimator, self.plan, self.start
        monitor = self._monitor(this, last=len(spec.below) == plan.max_layers - 1)
        layer = GrowingLayer(self, this, spec, previous, monitor)
        rows, rule, state = layer.rows, layer.output_weights, layer.state
        with rows:
            begin(rows, rule, state, plan.pace)
            monitor.begin(state.fixed, rule, rows)
            continued = not spec.below and most is None
            if continued and this.number == self.done + 1 and start.nodes is not None:
                resume(rows, rule, start.nodes, last_round(start.history), plan.pace, monitor, state, start.polished)
            steps = grow(
                rows,
                self.recipe.configuration,
                rule,
                max_nodes=min(plan.nodes_per_layer if most is None else most, plan.max_nodes - layer.n_below),
                tol=estimator.tol,
                pace=plan.pace,
                # Nodes of different rounds and layers are not drawn alike.
                seed=start.seed + this.number - 1 + len(spec.below),
                monitor=monitor,
                state=state,
            )
            shown, part = (partial(estimator._fitted_attributes, layer), "") if self.check is None else self.check
            rounds, number = (state.round, spec.loss.rounds), len(spec.below) + 1
            names = [type(estimator).__name__, part, round_of(*rounds), f"layer {number}" if number > 1 else ""]
            reason = run_observed(
                steps,
                label=", ".join(filter(None, names)),
                nodes=layer.n_below + rule.nodes,
                max_nodes=None if estimator.max_nodes == "auto" else estimator.max_nodes,
                rounds=rounds,
                verbose=estimator.verbose,
                callbacks=self.callbacks,
                learnt=shown,
                save=partial(self._save, layer) if continued and self.checkpoint is not None else None,
            )
            layer.fitted = {**estimator._fitted_attributes(layer), "stop_reason_": str(reason)}
        return layer

    def _save(self, layer: GrowingLayer, final: bool) -> None:
        """Write the checkpoint, unless that was done only recently; in any case when growth has ended."""
        if self.checkpoint is not None and (final or self.checkpoint.is_due):
            previous, polished = layer.previous.blocks, layer.state.polished
            write_checkpoint(self.checkpoint, Saved(self.start.seed, layer.grown, layer.history, previous, polished))

    def _monitor(self, this: Round, *, last: bool) -> StoppingMonitor:
        """What decides when a layer is finished, and how many of its nodes are kept."""
        held_out, model, goal, outputs = this.held_out, this.model, this.goal, self.spec.outputs
        loss, criterion = self.recipe.loss, self.plan.criterion
        if criterion is None:
            return StoppingMonitor() if last else Stalled(outputs)
        factor = loss.patience if this.number == loss.rounds else loss.earlier_patience
        patience = max(1, round(factor * self.estimator.n_iter_no_change))
        if criterion in INFORMATION:
            degrees_per_node = self.recipe.configuration.degrees_per_node(held_out.shape[1])
            return Criterion(patience, degrees_per_node, INFORMATION[criterion])
        own_loss: Callable[[np.ndarray], np.ndarray] | None = None
        if isinstance(model, Network) and goal.refit == "reweighted":
            # With what the loss knows of the training rows at the model so far.
            adapted = goal.adapted(self.rows.training.statistics_of(model))
            own_loss = partial(_losses, adapted, self.rows.held_out.targets, outputs)
        inputs = Inputs(held_out.X, self.spec.inputs).prepared()
        stretched = self.estimator._averaged and goal.plain and held_out.labels() is None
        stretch = _MEMBERS_KEEP if stretched and self.data.shape[0] >= FEW_ROWS else 1.0
        scaled = outputs.transform(held_out.targets)
        return Validation(patience, inputs, scaled, held_out.sample_weight, outputs, own_loss, stretch)

    def refit_round(self, this: Round, grown: Nodes, kept: int, below: tuple[Nodes, ...] = ()) -> Network:
        """The network of a round: as many nodes of earlier rounds as there may be, and its own, layer by layer.

        These are the ones that early stopping keeps; in the end the loss may weigh all numbers of nodes.
        """
        model, loss, lower = this.model, this.goal, sum(map(len, below))
        if isinstance(loss, Penalised) and loss.tries_sizes:
            return self.refit.network([*below, grown], loss, final=this.final, sizes=(0, lower + kept))
        earlier: list[Nodes] = []
        if isinstance(model, Network):
            # The network that warm_start continues has the nodes of this round already.
            blocks = model.layers[:-1] if model is self.model else model.layers
            earlier = [block.nodes for block in blocks]
        most = self.plan.max_nodes - lower
        room = (most - kept) - np.cumsum([0, *map(len, earlier)])
        earlier = [block.take(slice(max(left, 0))) for block, left in zip(earlier, room[:-1], strict=True)]
        averages = this.final and loss.refit == "reweighted" and len(self.rows.held_out.targets) > 0
        own = grown.take(slice(most - sum(map(len, earlier)) if averages else kept))
        return self.refit.network([*earlier, *below, own], loss, final=this.final, earlier=len(earlier))

    def without(self, rest: np.ndarray, check: Check) -> Fit:
        """A fit on these of the rows to train on, with the same held-out rows."""
        training, held_out, _ = self.rows
        data, hold_out, start = training.keep(rest), HoldOut(rows=held_out), Saved(self.start.seed)
        return Fit(self.estimator, self.recipe, self.plan, data, hold_out, start, None, None, self.callbacks, check)


class GrowingLayer:
    """One layer of a network while it grows: its rows, output weights and monitor, and the state of growth.

    Attributes
    ----------
    data : TrainingData
        The rows to train on, with working targets and weights.
    fitted : dict
        After growth, the fitted attributes of an estimator that stopped after this layer.
    """

    fitted: dict[str, Any]

    def __init__(self, fit: Fit, this: Round, spec: NetworkSpec, previous: PreviousRounds, monitor: StoppingMonitor):
        self.fit, self.round, self.spec, self.previous, self.monitor = fit, this, spec, previous, monitor
        self.data = this.train
        self.output_weights = fit.recipe.rule(self.data.n_outputs, fit.recipe.window, fit.recipe.alpha)
        backend = self.data.open_backend(spec.inputs, spec.outputs, fit.estimator.n_jobs)
        self.rows = Rows(backend, spec.layer, Inequality(fit.recipe.supervision, spec.loss.together), fit.plan.signs)
        number = int(previous.history["round"].max(initial=0)) + 1
        self.state = GrowthState(spec.linear, spec.below, spec.outputs, number)
        # How many nodes the layers below have.
        self.n_below = sum(map(len, spec.below))

    @property
    def grown(self) -> Nodes:
        """All nodes so far, including those that early stopping will not keep."""
        rule = self.output_weights
        return rule.grown if rule.nodes else Nodes.none(self.spec.layer, self.spec.n_inputs)

    @property
    def best(self) -> Nodes:
        """The nodes to keep: all; with early stopping, those of the network with the lowest validation error."""
        return best_nodes(self.output_weights, self.state, self.monitor) if self.output_weights.nodes else self.grown

    @property
    def is_best_present(self) -> bool:
        """Whether the nodes to keep are still as they were, and not polished since."""
        return self.state.polished is None or self.state.polished.best is None

    @property
    def candidates(self) -> Nodes:
        """The nodes to keep, and those that were added to them."""
        return self.grown if self.is_best_present else self.best

    @property
    def is_stopped(self) -> bool:
        """Whether a callback has ended the fit."""
        return bool(self.fitted["stop_reason_"] == StopReason.CALLBACK)

    @property
    def history(self) -> np.ndarray:
        """One row per step, those of earlier rounds and of layers below first."""
        own = self.state.history
        own["nodes"] += self.n_below
        return np.concatenate([self.previous.history, self.previous.lower, own])

    def at_best(self) -> GrowingLayer:
        """The layer as it was after the nodes to keep."""
        best, history = self.best, self.state.history
        if self.is_best_present and len(best) == self.output_weights.nodes:
            return self
        layer = GrowingLayer(self.fit, self.round, self.spec, self.previous, StoppingMonitor())
        with layer.rows:
            begin(layer.rows, layer.output_weights, layer.state, self.fit.plan.pace)
            kept = history[history["nodes"] <= len(best)]
            restore(layer.rows, layer.output_weights, best, kept, self.fit.plan.pace)
        return layer

    def network(self) -> Network:
        """The network with the nodes to keep.

        In regression with regularised output weights, it is the average over numbers of nodes that are plausible on
        held-out rows. Its factor has the held-out rows as well, unless they are to stay unseen.
        """
        spec, best = self.spec, self.best
        if self.round.goal.refit is not None:
            return self.fit.refit_round(self.round, self.candidates, len(best), spec.below)
        layer = self if self.is_best_present else self.at_best()
        rule, sizes, shares = layer.output_weights, {len(best): 1.0}, None
        held_out = self.monitor if isinstance(self.monitor, Validation) else None
        regularised = isinstance(rule, LeastSquares) and rule.alpha != 0.0 and self.output_weights.nodes > 0
        averages = regularised and held_out is not None and held_out.stretch == 1.0 and self.data.labels() is None
        if held_out is not None and layer is not self:
            held_out = held_out.watching(self.state.fixed, best)
        elif held_out is not None and averages:
            sizes = held_out.shares
        most = max(nodes for nodes, share in sizes.items() if share > 0.0)
        factor = whole = rule.final_factor(layer.rows, most)
        if factor is not None and held_out is not None and self.fit.sees_everything:
            whole = held_out.joined(factor)
        signs = self.fit.plan.signs
        # Jumps along a column have its sign.
        columns_signs = None if signs is None else signs[: self.data.shape[1]]
        if averages:
            # A node has the shares of all networks that are larger than those before it.
            weights = [sum(share for nodes, share in sizes.items() if nodes > node) for node in range(most)]
            shares = np.append(np.ones(rule.fixed), weights)
        if signs is not None and isinstance(rule, LeastSquares) and whole is not None:
            alpha = rule.chosen(whole)
            penalised = whole.regularised(alpha) if alpha > 0.0 else whole
            beta = monotone_weights(penalised, layer.state.fixed[0], layer.grown.take(slice(most)), signs, shares)
            solution = Solution(beta, sparse.csc_array(sparse.identity(len(beta))), beta, alpha)
        elif shares is not None and isinstance(rule, LeastSquares) and whole is not None:
            solution = _shrunk(solved(whole, rule.chosen(whole)), shares)
        else:
            solution = rule.solution(layer.rows, most)
        blocks = [*spec.below, layer.grown.take(slice(most))]
        network = spec.network(spec.loss, layer.state.fixed[0], blocks, solution, whole)
        return spec.with_bounds(replace(network, alpha=solution.alpha, shares=shares, signs=columns_signs), self.data)


def found_jumps(recipe: Recipe, data: TrainingData) -> Jumps:
    """The jumps that some of the rows confirm, in regression with one output and inputs that are not sparse."""
    count = rows_needed(*data.shape)
    if not (count and recipe.finds_jumps and data.movable) or data.classes is not None or data.n_outputs > 1:
        return NO_JUMPS
    if sparse.issparse(data.X):
        return NO_JUMPS
    some = data.take(sampled(data.shape[0], count))
    # As an array, where rows are in files.
    return find_jumps(some.X[0:count], some.targets[:, 0], some.sample_weight)


def _shrunk(solution: Solution, shares: np.ndarray) -> Solution:
    """The output weights that move along each direction by its share; last columns with a share of 0 are left out."""
    size = len(shares) - int((np.cumsum(shares[::-1]) == 0.0).sum())
    coefficients = shares[:size, np.newaxis] * solution.coefficients[:size]
    directions = solution.directions[:size, :size]
    return replace(solution, output_weights=directions @ coefficients, directions=directions, coefficients=coefficients)


def _losses(loss: Loss, targets: np.ndarray, outputs: Scaling, scaled: np.ndarray) -> np.ndarray:
    """The losses of rows for scaled outputs."""
    return loss.value(targets, outputs.inverse_transform(scaled))


@dataclass(frozen=True)
class Refit:
    """Output weights of fixed nodes, evaluated under a loss on rows with their own targets.

    Attributes
    ----------
    data, held_out : TrainingData, ArrayData
        The rows to train on, and those that early stopping holds out.
    everything : TrainingData or None
        All rows, if the output weights of the final network are to be evaluated on them.
    spec : NetworkSpec
        Its linear part is that of the network.
    alpha : float or "gcv"
        Regularisation of the output weights, where the loss does not choose it by held-out rows.
    n_jobs : int or None
    averaged : bool
        Whether the network will be averaged with others.
    """

    data: TrainingData
    held_out: ArrayData
    everything: TrainingData | None
    spec: NetworkSpec
    alpha: float | str
    n_jobs: int | None
    averaged: bool

    def network(
        self,
        blocks: Sequence[Nodes],
        loss: Loss,
        *,
        final: bool,
        sizes: Sequence[int] = (),
        earlier: int = 0,
    ) -> Network:
        """The network of these blocks of nodes under a loss; nodes that depend on others before them are left out.

        Losses that choose penalties may also choose among smaller networks with these numbers of nodes. The
        first ``earlier`` blocks are those of earlier rounds.
        """
        data = self.everything if final and self.everything is not None else self.data
        if isinstance(loss, Penalised):
            network = self._penalised(blocks, loss, data, sizes)
        else:
            network = self._reweighted(blocks, loss, data, averages=final, earlier=earlier)
        network = replace(network, loss=loss.adapted(data.statistics_of(network)))
        return self.spec.with_bounds(network, data)

    def lowest(self, blocks: Sequence[Nodes], loss: Penalised, sizes: Sequence[int]) -> np.ndarray:
        """The losses of the held-out rows with the lowest mean, with output weights of the training rows."""
        loss = loss.adapted(self.data.statistics_of(Constant(self.spec.outputs.offset)))
        with self._columns(self.data, self.spec.linear, blocks) as columns:
            held_out = self._held_out(columns)
            assert held_out is not None
            best = min(solve_path(columns, loss, held_out, sizes), key=lambda candidate: candidate.score)
        return held_out.losses(loss, held_out.outputs_of(best.coefficients))

    @contextmanager
    def _columns(self, data: TrainingData, linear: Nodes, blocks: Sequence[Nodes]) -> Iterator[Columns]:
        """Columns on some rows, for as long as these are open."""
        spec, count = self.spec, data.n_outputs
        unscaled = Scaling(None, np.zeros(count), np.ones(count), -np.inf, np.inf)
        with Rows(data.open_backend(spec.inputs, unscaled, self.n_jobs), spec.layer) as rows:
            yield Columns(rows, spec.outputs, linear, blocks)

    def _held_out(self, columns: Columns) -> HeldOut | None:
        rows = self.held_out
        if not len(rows.targets):
            return None
        return HeldOut(columns, rows.X, rows.targets, rows.sample_weight, self.spec.inputs)

    def _network(self, columns: Columns, loss: Loss, solution: Solution, factor: Factor | None) -> Network:
        return self.spec.network(loss, columns.linear, columns.blocks, solution, factor)

    # Under a convex loss and a ridge

    def _penalised(self, blocks: Sequence[Nodes], loss: Penalised, data: TrainingData, sizes: Sequence[int]) -> Network:
        """Penalties are chosen on the training rows and the held-out rows; the network is that of the rows ``data``."""
        loss = loss.adapted(self.data.statistics_of(Constant(self.spec.outputs.offset)))
        factor = loss.factor_if_averaged if self.averaged else 1.0
        with self._columns(self.data, self.spec.linear, blocks) as columns:
            held_out = self._held_out(columns)
            candidates = solve_path(columns, loss, held_out, sizes)
            shares = blend(candidates, loss, columns.rows.weight if held_out is None else held_out.weight)
            chosen = [candidate for candidate, share in zip(candidates, shares, strict=True) if share > 0.0]
            shares = [share for share in shares if share > 0.0]
            if data is self.data:
                solved = chosen if factor == 1.0 else solve_candidates(columns, loss, chosen, factor, columns)
                return self._blended(columns, loss, solved, shares, factor)
        before = columns
        with self._columns(data, before.linear, before.blocks) as columns:
            solved = solve_candidates(columns, loss, chosen, factor, before)
            return self._blended(columns, loss, solved, shares, factor)

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

    # By reweighted least squares

    def _reweighted(
        self, blocks: Sequence[Nodes], loss: Loss, data: TrainingData, *, averages: bool, earlier: int
    ) -> Network:
        """The network of the rows ``data``; or an average over numbers of nodes, as plausible on held-out rows."""
        if not (averages and len(self.held_out.targets)):
            with self._columns(data, self.spec.linear, blocks) as columns:
                reweighting = self._minimised(columns, loss, data, earlier)
                return self._network(columns, loss, reweighting.solution(), reweighting.factor)
        with self._columns(self.data, self.spec.linear, blocks) as columns:
            solution = self._minimised(columns, loss, self.data, earlier).solution()
            model, held_out = self._network(columns, loss, solution, None), self._held_out(columns)
            assert held_out is not None
            shares = prefix_shares(held_out, loss.adapted(self.data.statistics_of(model)), columns, solution)
        if data is not self.data:
            before = columns
            with self._columns(data, before.linear, before.blocks) as columns:
                shares = shares[columns.numbers]
                if len(columns.triangle) == len(before.triangle):
                    # All rows have much the same solution as the training rows.
                    reweighting = Reweighting(columns, self.alpha)
                    reweighting.coefficients = columns.triangle @ solution.output_weights[columns.numbers]
                    self._minimise(reweighting, loss, data)
                else:
                    reweighting = self._minimised(columns, loss, data, earlier)
                solution = reweighting.solution()
        solution = _shrunk(solution, shares)
        return self._network(columns.first(len(solution.coefficients)), loss, solution, None)

    def _minimised(self, columns: Columns, loss: Loss, data: TrainingData, earlier: int) -> Reweighting:
        """The loss is minimised in its stages; before that the first one, for the nodes of earlier rounds alone.

        So the scale is narrow from the beginning, and rows that were set aside return where new nodes explain them.
        The last stage only adapts the scale once more, which is needed without earlier rounds.
        """
        reweighting, stages = Reweighting(columns, self.alpha), loss.stages()
        ends = len(columns.linear) + np.cumsum([len(block) for block in columns.blocks])
        for end in ends[:earlier].tolist():
            known = Reweighting(columns.first(end), self.alpha)
            known.coefficients = reweighting.coefficients[:end]
            self._minimise(known, stages[0], data)
            reweighting.coefficients[:end] = known.coefficients
        for stage in (stages[:-1] or stages) if earlier else stages:
            self._minimise(reweighting, stage, data)
        return reweighting

    def _minimise(self, reweighting: Reweighting, loss: Loss, data: TrainingData) -> None:
        """Minimise a loss from the present output weights, with what it knows of the rows at that time."""
        columns = reweighting.columns
        model = self._network(columns, loss, columns.solution(reweighting.coefficients), None)
        reweighting.minimise(loss.adapted(data.statistics_of(model)))
