"""Following growth step by step: progress, checkpoints and callbacks, each of which only reads the steps."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from skscn.estimators._checkpoint import Checkpoint
from skscn.estimators.data import TrainingData
from skscn.estimators.training import Training
from skscn.growth import Step, StopReason
from skscn.progress import Progress, current_listener

if TYPE_CHECKING:
    from skscn.estimators.growing import GrowingNetwork


def follow(
    estimator: GrowingNetwork,
    steps: Generator[Step, None, StopReason],
    training: Training,
    data: TrainingData,
    learnt: Callable[[], dict[str, Any]],
    checkpoint: Checkpoint | None,
    seed: int,
) -> StopReason:
    """Run every step; return why growth ended. ``learnt`` returns what the estimator has learnt so far."""
    progress, listener = Progress(type(estimator).__name__, estimator.max_nodes, estimator.verbose), current_listener()
    context = estimator._init_callback_context(max_subtasks=estimator.max_nodes)
    state = {"estimator": estimator, "X": data.X, "y": data.y, "metadata": {"sample_weight": data.sample_weight}}
    context.call_on_fit_task_begin(**state)
    reason: StopReason | None = None
    while reason is None:
        try:
            step = next(steps)
        except StopIteration as end:
            reason = end.value
            break
        progress.update(step)
        if checkpoint is not None:
            checkpoint.note(training, seed)
        task = context.subcontext(task_name="step").call_on_fit_task_begin(**state)
        if task.call_on_fit_task_end(**state, reconstruction_attributes=learnt):
            reason = StopReason.CALLBACK
        if listener is not None and listener.step(step, estimator.max_nodes):
            reason = StopReason.CALLBACK
    if checkpoint is not None:
        checkpoint.save(training, seed)
    progress.close(training.output_weights.nodes, reason)
    context.call_on_fit_task_end(**state, reconstruction_attributes=learnt)
    return reason
