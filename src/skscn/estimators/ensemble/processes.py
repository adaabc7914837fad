"""Growing members in processes, and keeping those that are finished when a listener ends the fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from sklearn.utils.parallel import Parallel

from skscn.growth import StopReason
from skscn.progress import Listener, current_listener
from skscn.threads import single_threaded


@dataclass(frozen=True)
class Processes:
    """The processes of an ensemble, as its parameters ``n_jobs`` and ``verbose`` say."""

    n_jobs: int | None
    verbose: int

    def run(self, tasks: Iterable[Any], **settings: Any) -> Any:
        """Run the tasks in processes, unless the user has chosen another joblib backend.

        Growth is many short NumPy calls, in which threads wait for each other. With configuration="ladder" on two
        cores, 6 members of 1000 rows took 0.52 s one by one, 0.55 s in two threads and 0.37 s in two processes (1.5 s
        with their start); 4 members of 20000 rows and 15 nodes took 0.92 s, 0.68 s and 0.55 s.
        """
        # Around all of them: threads that each set and restore the limit of the process would undo each other's.
        with single_threaded():
            return Parallel(n_jobs=self.n_jobs, verbose=self.verbose, **settings)(tasks)

    def grow(self, tasks: Iterable[Any], n_members: int, stop_after: Callable[[Any], bool] | None = None) -> list[Any]:
        """Grow members and notify the listener; when it asks to stop, no more are started and finished ones are kept.

        A task returns a member with its ``number`` and its ``network``. ``stop_after`` is given each finished member,
        and may ask to stop as well. A member that was cut short is kept only if there is no other.
        """
        listener = current_listener()
        if listener is None and stop_after is None:
            return list(self.run(tasks))
        listener = Listener() if listener is None else listener
        grown: list[Any] = []
        ended = False
        tasks = takewhile(lambda _: not (ended or listener.stopped()), tasks)
        try:
            # Members arrive one by one, after the limit within run has ended.
            with single_threaded():
                for member in self.run(tasks, return_as="generator_unordered", pre_dispatch="n_jobs"):
                    grown.append(member)
                    ended = listener.member(member.network, len(grown), n_members) or ended
                    ended = (stop_after is not None and stop_after(member)) or ended
        except (KeyboardInterrupt, BrokenExecutor):
            # Whatever has stopped the processes, their finished members are available.
            if not listener.stopped():
                raise
        if not grown:
            raise KeyboardInterrupt
        grown.sort(key=lambda member: member.number)
        return _finished(grown) if ended or listener.stopped() else grown


def _finished(grown: list[Any]) -> list[Any]:
    """The members that were not cut short; the first one if all were."""
    return [member for member in grown if member.network.stop_reason_ != StopReason.CALLBACK] or grown[:1]
