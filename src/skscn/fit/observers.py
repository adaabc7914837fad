"""Observers of growth: progress, checkpoints, listeners and scikit-learn's callbacks only read the steps."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeAlias

from sklearn.base import BaseEstimator

from skscn.fit.checkpoint import Checkpoint
from skscn.fit.training import Training
from skscn.growth import Step, StopReason
from skscn.progress import Progress, current_listener, round_of

if TYPE_CHECKING:
    from skscn.estimators.base import GrowingNetwork


try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:

    class _NoContext:
        """Stands in for a CallbackContext: no callbacks, no stop."""

        def subcontext(self, **settings: object) -> _NoContext:
            return self

        def call_on_fit_task_begin(self, **state: object) -> _NoContext:
            return self

        def call_on_fit_task_end(self, **state: object) -> bool:
            return False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """The part of scikit-learn's mixin that fitting calls."""

        def _init_callback_context(self, **settings: object) -> _NoContext:
            return _NoContext()


# Returns what an estimator has learnt so far.
Learnt: TypeAlias = Callable[[], dict[str, Any]]


class Callbacks:
    """The callbacks of one fit on these rows, which begins here and ends with :meth:`end`."""

    def __init__(self, estimator: BaseEstimator, X: Any, y: Any, metadata: dict[str, Any], most_steps: int | None):
        self._context = estimator._init_callback_context(max_subtasks=most_steps)
        self._state = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        self._context.call_on_fit_task_begin(**self._state)

    def stop_after_step(self, learnt: Learnt, name: str = "step") -> bool:
        """Notify them of a step, or of a task of another name; return whether one of them asks to stop."""
        task = self._context.subcontext(task_name=name).call_on_fit_task_begin(**self._state)
        return bool(task.call_on_fit_task_end(**self._state, reconstruction_attributes=learnt))

    def end(self, learnt: Learnt) -> None:
        """Notify them of the end of the fit."""
        self._context.call_on_fit_task_end(**self._state, reconstruction_attributes=learnt)


# Following growth step by step: progress, checkpoints and callbacks, each of which only reads the steps.


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
    rounds, listener = (training.state.round, training.frame.loss.rounds), current_listener()
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


__all__ = ["CallbackSupportMixin", "Callbacks", "Learnt", "follow"]
