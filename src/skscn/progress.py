"""Observers of growth: progress on standard error, a listener, scikit-learn's callbacks, and whatever saves the steps.

They only read the steps; a listener or a callback may end growth.
"""

import shutil
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from sklearn.base import BaseEstimator

from skscn.growth import Step, StopReason

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

_WIDTH = 16
# With this number of nodes a network without a limit is shown as half done.
_HALF = 50


class Listener:
    """Is told about the progress of a fit and may end it; this base class does nothing."""

    def begin_round(self, number: int, most: int) -> None:
        """Called before a network grows in this process, and again for each further round that its loss needs."""

    def step(self, step: Step, max_nodes: int | None) -> bool:
        """Called after each step of a network that grows in this process; whether to stop and keep the nodes so far.

        ``max_nodes`` is None if early stopping alone decides.
        """
        return False

    def member(self, member: BaseEstimator, done: int, n_members: int) -> bool:
        """Called with each finished member of an ensemble; whether to stop with the members finished so far."""
        return False

    def begin_processes(self, n_jobs: int | None) -> None:
        """Called before members grow in this number of processes, which joblib starts unless they are there."""

    def stopped(self) -> bool:
        """Whether to end the fit; called before each member, and when the processes that grow them have died."""
        return False

    def elsewhere(self) -> "Listener | None":
        """The listener for members that grow in other threads or processes, to which a copy is sent."""
        return None


class StopFile(Listener):
    """Ends growth as soon as a file exists, in any process on this machine."""

    def __init__(self, path: Path):
        self.path = path

    def step(self, step: Step, max_nodes: int | None) -> bool:
        """Called after each step; whether the file exists."""
        return self.stopped()

    def stopped(self) -> bool:
        """Whether the file exists."""
        return self.path.exists()


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Tell a listener about all fits within the context; None for no listener.

    Examples
    --------
    >>> from skscn import SCNRegressor
    >>> from skscn.datasets import make_db1
    >>> from skscn.progress import Listener, listening
    >>> class ThreeNodes(Listener):
    ...     def step(self, step, max_nodes):
    ...         return step.nodes == 3
    >>> db1 = make_db1(random_state=0)
    >>> with listening(ThreeNodes()):
    ...     SCNRegressor(configuration="ladder", random_state=0).fit(db1.data, db1.target).n_nodes_
    3
    """
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def current_listener() -> Listener | None:
    """The current listener, if any."""
    return _listener.get()


def round_of(number: int, most: int) -> str:
    """Which round it is, in words; nothing if there is only one."""
    return f"round {number} of at most {most}" if most > 1 else ""


def share_done(nodes: int, limit: int | None) -> float:
    """How much of a network has grown; without a limit a guess, which never reaches 1."""
    return 1.0 - 0.5 ** (nodes / _HALF) if limit is None else nodes / limit


class Progress:
    """Shows the steps of growth.

    Parameters
    ----------
    label : str
        What is growing.
    total : int or None
        L_max; None if it is not known.
    verbose : int
        0 shows nothing, 1 a bar or about ten lines, 2 a line for every step.
    stream : text stream, default: standard error
    """

    def __init__(self, label: str, total: int | None, verbose: int, stream: TextIO | None = None):
        self.stream = sys.stderr if stream is None else stream
        # A program without a console has no standard error.
        self.label, self.total, self.verbose = label, total, verbose if self.stream is not None else 0
        self._bar = self.verbose == 1 and self.stream.isatty()
        self._lines = 0

    def update(self, step: Step) -> None:
        """Show the network after this step."""
        if not self.verbose:
            return
        held_out = "" if step.validation_rmse != step.validation_rmse else f", validation {step.validation_rmse:.5g}"
        limit = "" if self.total is None else f"/{self.total}"
        errors = f"RMSE {step.train_rmse:.5g}{held_out}"
        text = f"{step.nodes}{limit} nodes, {errors}, scope {step.scope:g}, {step.candidates} candidates"
        self.show(step.nodes, text)

    def show(self, done: int, text: str) -> None:
        """Show how much of the total is done, and what there is to say of it."""
        if self.verbose == 0:
            return
        share = share_done(done, self.total)
        if self._bar:
            line = f"{self.label} {'#' * int(_WIDTH * share)}{'.' * (_WIDTH - int(_WIDTH * share))} {text}"
            # A line that wraps could not be overwritten.
            self._write(f"\r{line[: shutil.get_terminal_size().columns - 1]}\x1b[K")
        elif self.verbose > 1 or int(10 * share) > self._lines:
            self._lines = int(10 * share)
            self._write(f"{self.label} {text}\n")

    def end(self, text: str) -> None:
        """Show a last line."""
        if self.verbose:
            lead = "\n" if self._bar else ""
            self._write(f"{lead}{self.label} {text}\n")

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


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


def run_observed(
    steps: Generator[Step, None, StopReason],
    *,
    label: str,
    verbose: int,
    nodes: int,
    max_nodes: int | None,
    rounds: tuple[int, int],
    callbacks: Callbacks | None,
    learnt: Learnt,
    save: Callable[[bool], None] | None,
) -> StopReason:
    """Run every step of growth and show it to the observers; return why growth ended.

    Parameters
    ----------
    steps : generator
        Of growth.
    label, verbose
        What is growing, and how much of it is shown.
    nodes : int
        How many nodes there are before the first step.
    max_nodes : int or None
        None if only early stopping decides.
    rounds : tuple of int
        The number of the present round, and the largest number of rounds.
    callbacks : Callbacks or None
    learnt : callable
        Returns what the estimator has learnt so far.
    save : callable or None
        Called with False after each step, and with True at the end.
    """
    listener, progress = _listener.get(), Progress(label, max_nodes, verbose) if verbose else None
    if listener is not None:
        listener.begin_round(*rounds)
    reason: StopReason | None = None
    while reason is None:
        try:
            step = next(steps)
        except StopIteration as end:
            reason = end.value
            break
        nodes = step.nodes
        if progress is not None:
            progress.update(step)
        if save is not None:
            save(False)
        if callbacks is not None and callbacks.stop_after_step(learnt):
            reason = StopReason.CALLBACK
        if listener is not None and listener.step(step, max_nodes):
            reason = StopReason.CALLBACK
    if save is not None:
        save(True)
    if progress is not None:
        progress.end(f"stopped at {nodes} nodes: {reason}")
    return reason


__all__ = [
    "CallbackSupportMixin",
    "Callbacks",
    "Learnt",
    "Listener",
    "Progress",
    "StopFile",
    "current_listener",
    "listening",
    "round_of",
    "run_observed",
    "share_done",
]
