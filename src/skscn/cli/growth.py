"""Progress of a fit, as a bar that shows error and nodes; and Ctrl-C, which keeps what has grown."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import resource_tracker
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from joblib import Parallel, delayed, effective_n_jobs
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from skscn.cli.console import Console
from skscn.cli.interrupts import on_interrupt
from skscn.estimators.networks import growth_of
from skscn.growth import Step
from skscn.progress import Listener, StopFile, round_of, share_done
from skscn.recurrent.predicting import ReservoirRegressor
from skscn.table_model.observing import FitObserver

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

    from skscn.table_model.model import TableModel


class Growth(FitObserver):
    """Shows the networks of a fit while they grow; after an interrupt it ends them.

    Parameters
    ----------
    console : Console
    trained : callable
        Called with the model when it is trained, before it is tested.
    """

    def __init__(self, console: Console, trained: Callable[[TableModel], None]):
        super().__init__()
        self.interrupted, self._console, self._trained = False, console, trained
        screen = console.errors
        # Lines that are not rewritten would fill a file.
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=screen,
            transient=True,
            disable=screen.quiet or not screen.is_terminal,
        )
        self._task = self._bar.add_task("", state="", total=1.0)
        self._done, self._members, self._in_ensemble = 0, 1, False
        self._round, self._rounds, self._nodes, self._recurrent = 1, 1, 0, False
        self._folder = TemporaryDirectory(prefix="skscn-", ignore_cleanup_errors=True)
        self._stop = StopFile(Path(self._folder.name) / "stop")
        self._closing = ExitStack()

    def __enter__(self) -> Growth:
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()
        self._closing.close()
        self._folder.cleanup()

    def note(self, text: str) -> None:
        self._console.notes([text])

    def trained(self, model: TableModel) -> None:
        self._trained(model)

    def begin(self, description: str, estimator: Any) -> None:
        n_members = getattr(estimator, "n_members", None)
        if not self._bar.live.is_started:
            # From here on, Ctrl-C keeps what has grown.
            self._closing.enter_context(on_interrupt(self.interrupt))
            self._bar.start()
        # Until the first of "auto" is finished, the bar is that of ten.
        members = 10 if n_members == "auto" else n_members or 1
        self._done, self._members, self._in_ensemble = 0, members, n_members is not None
        self._round, self._rounds, self._nodes = 1, 1, 0
        self._recurrent = isinstance(estimator, ReservoirRegressor)
        state = "choosing the kind of nodes" if self._recurrent else ""
        if self._recurrent:
            # Networks that are compared and, without feedback, the final one.
            self._rounds = 3 if estimator.feedback else 4
        self._bar.reset(self._task, description=description, state=state, total=float(self._members))

    def begin_processes(self, n_jobs: int | None) -> None:
        """Start them so that Ctrl-C, which a terminal sends to all, is for us alone."""
        with Parallel(n_jobs=n_jobs) as parallel, _uninterruptible_children():
            parallel(delayed(int)() for _ in range(2 * effective_n_jobs(n_jobs)))

    def begin_round(self, number: int, most: int) -> None:
        self._round, self._rounds = number, most

    def step(self, step: Step, max_nodes: int | None) -> bool:
        if self._recurrent and step.nodes <= self._nodes:
            self._round = min(self._round + 1, self._rounds)
        self._nodes = step.nodes
        networks = f"{self._done}/{self._members} networks" if self._in_ensemble else ""
        state = _state(step.nodes, step.train_rmse, step.validation_rmse)
        state = ", ".join(filter(None, [networks, self._which(), state]))
        share = (self._round - 1 + share_done(step.nodes, max_nodes)) / self._rounds
        self._bar.update(self._task, completed=self._done + share, state=state)
        return self.interrupted

    def _which(self) -> str:
        if self._recurrent:
            return f"network {self._round} of {self._rounds}"
        return round_of(self._round, self._rounds)

    def member(self, member: BaseEstimator, done: int, n_members: int) -> bool:
        self._done, self._members = done, n_members
        state = f"{done}/{n_members} networks"
        # Recurrent members have no held-out error of a step.
        growth = None if isinstance(member, ReservoirRegressor) else growth_of(member)
        if growth is not None and growth.kept:
            last = growth.kept_steps[-1]
            state += f", {_state(member.n_nodes_, last['train_rmse'], last['validation_rmse'])}"
        self._bar.update(self._task, total=float(n_members), completed=float(done), state=state)
        return self.interrupted

    def stopped(self) -> bool:
        return self.interrupted

    def elsewhere(self) -> Listener:
        return self._stop

    def interrupt(self, *_: object) -> None:
        """Called at Ctrl-C: the first time growth ends where it is, the second time everything does."""
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True
        # On a full disk members in other processes grow to their end.
        with suppress(OSError):
            self._stop.path.touch()
        self._console.note("Stopping; what has been trained so far is kept. Press Ctrl-C again to stop at once.")


def _state(nodes: int, train_rmse: float, validation_rmse: float) -> str:
    """Nodes, and the error on held-out rows if there are any."""
    kind, error = ("training", train_rmse) if validation_rmse != validation_rmse else ("validation", validation_rmse)
    return f"{nodes} nodes, {kind} RMSE {error:.4g}"


if sys.platform == "win32":

    @contextmanager
    def _uninterruptible_children() -> Iterator[None]:
        """Processes that are started now ignore Ctrl-C; so does this one, until they are there."""
        import ctypes

        ctypes.windll.kernel32.SetConsoleCtrlHandler(None, True)
        try:
            yield
        finally:
            ctypes.windll.kernel32.SetConsoleCtrlHandler(None, False)

else:

    @contextmanager
    def _uninterruptible_children() -> Iterator[None]:
        """Processes that are started now ignore Ctrl-C; this one gets it when they are there.

        They inherit that the signal is held back.
        """
        # Starting it later, as the first worker does, would let the signal through again.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
