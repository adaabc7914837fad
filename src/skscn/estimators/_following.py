"""Following growth step by step: progress, checkpoints and callbacks, each of which only reads the steps."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from skscn.estimators._checkpoint import Checkpoint
from skscn.estimators.callbacks import Callbacks, Learnt
from skscn.estimators.training import Training
from skscn.growth import Step, StopReason
from skscn.progress import Progress, current_listener, round_of

if TYPE_CHECKING:
    from skscn.estimators.growing import GrowingNetwork


def follow(
    estimator: GrowingNetwork,
    steps: Generator[Step, None, StopReason],
    training: Training,
    callbacks: Callbacks,
    learnt: Learnt,
    checkpoint: Checkpoint | None,
    seed: int,
    part: str = "",
) -> StopReason:
    """Run every step; return why growth ended.

    ``learnt`` returns what the estimator has learnt so far; ``part`` names a part of the fit, for progress.
    """
    rounds, listener = (training.round, training.frame.loss.rounds), current_listener()
    limit = None if estimator.max_nodes == "auto" else estimator.max_nodes
    layer = f"layer {len(training.frame.below) + 1}" if training.frame.below else ""
    label = ", ".join(filter(None, [type(estimator).__name__, part, round_of(*rounds), layer]))
    progress = Progress(label, limit, estimator.verbose)
    if listener is not None:
        listener.begin_round(*rounds)
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
        if callbacks.stop_after_step(learnt):
            reason = StopReason.CALLBACK
        if listener is not None and listener.step(step, limit):
            reason = StopReason.CALLBACK
    if checkpoint is not None:
        checkpoint.save(training, seed)
    progress.close(training.below + training.output_weights.nodes, reason)
    return reason
