"""A fit, from validated rows to fitted attributes.

    Recipe, Plan    what is grown, decided before
    Loss            rounds of weighted least squares; squared error is one round
      a split       rows to train on, and held-out rows
      Training      grows a network step by step, followed by progress, checkpoints and callbacks

Fitted attributes are set at the end, so a fit that fails keeps the network of an earlier one.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from skscn.estimators._checkpoint import Checkpoint, opened_checkpoint
from skscn.estimators._early_stopping import INFORMATION, Criterion, Validation, Watch, split_rows
from skscn.estimators._following import Callbacks, follow
from skscn.estimators.data import ArrayData, TrainingData
from skscn.estimators.recipe import Plan, Recipe
from skscn.estimators.training import Frame, Training
from skscn.growth import StopReason
from skscn.layers import Nodes

if TYPE_CHECKING:
    from skscn.estimators.growing import GrowingNetwork

# The relative change of the loss with which rounds end.
_HARDLY = 1e-3


@dataclass(frozen=True)
class Start:
    """Where growth begins: the seed of all draws, and the nodes and history of an earlier fit, if there was one."""

    seed: int
    nodes: Nodes | None = None
    history: np.ndarray | None = None


def fit_network(estimator: GrowingNetwork, recipe: Recipe, data: TrainingData) -> None:
    """Grow a network on the rows, and set the fitted attributes."""
    with opened_checkpoint(estimator, data) as checkpoint:
        start = _start(estimator, recipe, data, checkpoint)
        callbacks = Callbacks(estimator, data, recipe.loss.rounds)
        fitted = _rounds(estimator, recipe, data, start, checkpoint, callbacks)
        callbacks.end(lambda: fitted)
    for name, value in fitted.items():
        setattr(estimator, name, value)
    useless = not estimator.n_iter_ and not estimator.network_.linear.direct_weights.any()
    if useless and estimator.stop_reason_ == StopReason.NO_CANDIDATE:
        warnings.warn(
            "No candidate passed the supervisory inequality and its guards, so the network has no nodes and "
            "predicts a constant; try more rows, other scopes, more max_candidates, or contractions closer to 1.",
            ConvergenceWarning,
            stacklevel=4,
        )


def _start(estimator: GrowingNetwork, recipe: Recipe, data: TrainingData, checkpoint: Checkpoint | None) -> Start:
    """From the network that is continued, from the checkpoint, or from nothing."""
    if estimator.is_continued():
        recipe.check_continues(estimator.network_, data.n_outputs, estimator.max_nodes)
        return Start(estimator._seed, estimator.network_.nodes, estimator.history_)
    saved = None if checkpoint is None else checkpoint.load(recipe.layer)
    if saved is not None:
        return Start(saved.seed, saved.nodes, saved.history)
    return Start(int(check_random_state(estimator.random_state).randint(np.iinfo(np.int32).max)))


def _rounds(
    estimator: GrowingNetwork,
    recipe: Recipe,
    data: TrainingData,
    start: Start,
    checkpoint: Checkpoint | None,
    callbacks: Callbacks,
) -> dict[str, Any]:
    """Grow on the working targets and weights of the loss, and again with those that follow from the network."""
    loss, plan = recipe.loss, recipe.plan(data)
    frame, before = None, np.inf
    fitted: dict[str, Any] = {}
    for number in range(loss.rounds):
        working = data.working(loss, fitted.get("network_"))
        frame, fitted = _grown(estimator, recipe, plan, frame, working, start, checkpoint, callbacks)
        if fitted["stop_reason_"] == StopReason.CALLBACK:
            break
        if number + 1 < loss.rounds:
            value = data.mean_loss(loss, fitted["network_"])
            if abs(before - value) <= _HARDLY * abs(value):
                break
            before = value
    return fitted


def _grown(
    estimator: GrowingNetwork,
    recipe: Recipe,
    plan: Plan,
    frame: Frame | None,
    data: TrainingData,
    start: Start,
    checkpoint: Checkpoint | None,
    callbacks: Callbacks,
) -> tuple[Frame, dict[str, Any]]:
    """One round: the frame of its network, to be used by the next ones, and the fitted attributes."""
    train, validation_rows = data, np.zeros(0, dtype=int)
    if plan.criterion == "validation":
        training_rows, validation_rows = split_rows(
            data.shape[0], plan.share_held_out, data.labels(), start.seed, recipe.validation
        )
        train = data.keep(training_rows)
    held_out = data.take(validation_rows)
    frame = _frame(estimator, recipe, plan, train) if frame is None else frame
    watch = _watch(estimator, recipe, plan, held_out, frame)
    with Training(train, frame, recipe.output_weights, watch, estimator.n_jobs) as training:
        if start.nodes is not None and start.history is not None:
            training.resume(start.nodes, start.history, recipe.nodes_per_step)
        steps = training.steps(
            recipe.configuration,
            max_nodes=estimator.max_nodes,
            tol=estimator.tol,
            nodes_per_step=recipe.nodes_per_step,
            seed=start.seed,
        )
        learnt = partial(estimator._learnt, training, start.seed)
        reason = follow(estimator, steps, training, callbacks, learnt, checkpoint, start.seed)
        return frame, {**learnt(), "stop_reason_": str(reason), "held_out_": held_out.numbers}


def _frame(estimator: GrowingNetwork, recipe: Recipe, plan: Plan, data: TrainingData) -> Frame:
    """What surrounds the nodes; as far as possible that of the network that is continued, if any."""
    if estimator.is_continued():
        inputs, outputs = estimator.network_.inputs, estimator.network_.outputs
    else:
        inputs, outputs = data.scale_inputs(recipe.scaling), data.scale_targets(recipe.scaling)
    return Frame(
        recipe.layer,
        recipe.loss,
        inputs,
        outputs,
        plan.linear,
        bounded=recipe.configuration.bounded,
        single_output=data.single_output,
        single_precision=data.single_precision,
    )


def _watch(estimator: GrowingNetwork, recipe: Recipe, plan: Plan, held_out: ArrayData, frame: Frame) -> Watch | None:
    """What monitors growth for early stopping."""
    patience = estimator.n_iter_no_change
    if plan.criterion is None:
        return None
    if plan.criterion in INFORMATION:
        degrees_per_node = recipe.configuration.degrees_per_node(held_out.shape[1])
        return Criterion(patience, degrees_per_node, INFORMATION[plan.criterion])
    targets = frame.outputs.transform(held_out.targets)
    return Validation(patience, held_out.X, targets, held_out.sample_weight, frame.inputs)
