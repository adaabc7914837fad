"""scikit-learn's callbacks, if the installed version has them (1.9 and later); otherwise without effect."""

from collections.abc import Callable
from typing import Any, TypeAlias

from sklearn.base import BaseEstimator

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:

    class _NoContext:
        """Stands in for a CallbackContext: no callbacks, no stop."""

        def subcontext(self, **settings: object) -> "_NoContext":
            return self

        def call_on_fit_task_begin(self, **state: object) -> "_NoContext":
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


__all__ = ["CallbackSupportMixin", "Callbacks", "Learnt"]
