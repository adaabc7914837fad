"""The members of any ensemble: their seeds, their files, and the processes in which they grow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from skscn.growth import StopReason
from skscn.progress import Listener, current_listener, listening
from skscn.threads import single_threaded


def member_seeds(random_state: int | np.random.RandomState | None, count: int) -> list[int]:
    """A seed for each member; the first ones do not depend on how many there are."""
    seeds: list[int] = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=count).tolist()
    return seeds


def member_checkpoint(checkpoint: str | os.PathLike[str] | None, seed: int) -> str | None:
    """The file of a member, next to that of the ensemble."""
    return None if checkpoint is None else f"{os.fspath(checkpoint)}-{seed}"


def member_tasks(grow: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """Tasks that grow members, one for each tuple of arguments, and report to the listener of this process."""
    listener = current_listener()
    elsewhere = None if listener is None else listener.elsewhere()
    return (delayed(_grow_listening)(grow, elsewhere, *some) for some in arguments)


def _grow_listening(grow: Callable[..., Any], elsewhere: Listener | None, *arguments: Any) -> Any:
    # Sums in BLAS depend on the number of threads, which may be larger in a worker process than here.
    with single_threaded(), listening(current_listener() or elsewhere):
        return grow(*arguments)


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
        if ended or listener.stopped():
            # Without those that were cut short, unless all were.
            return [member for member in grown if member.network.stop_reason_ != StopReason.CALLBACK] or grown[:1]
        return grown
