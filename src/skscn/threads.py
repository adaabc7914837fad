"""BLAS limited to one thread: with more it would sum in another order, and last digits would differ."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

import threadpoolctl


class _Limit:
    """The limit on this process, and how many rely on it; the first of them sets it, the last of them lifts it."""

    def __init__(self) -> None:
        self._lock, self._users = Lock(), 0
        self._limits: Any = None

    def acquire(self) -> None:
        with self._lock:
            if self._users == 0:
                _let_any_thread_decide()
                self._limits = _libraries().limit(limits=1, user_api="blas")
            self._users += 1

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._limits is not None:
                _let_any_thread_decide()
                self._limits.restore_original_limits()
                self._limits = None
                _let_any_thread_decide()


@cache
def _libraries() -> threadpoolctl.ThreadpoolController:
    """The libraries that NumPy and SciPy have loaded; to look for them takes longer than to fit a small network."""
    return threadpoolctl.ThreadpoolController()


def _let_any_thread_decide() -> None:
    """Let this thread set the limit: recent versions of threadpoolctl ignore all but the first that set one."""
    forget = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if forget is not None:
        forget(force=True)


_LIMIT = _Limit()


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit BLAS to one thread; several threads of a process may do so at the same time."""
    _LIMIT.acquire()
    try:
        yield
    finally:
        _LIMIT.release()
