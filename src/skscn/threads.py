"""BLAS limited to one thread: with more it would sum in another order, and last digits would differ."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from threadpoolctl import threadpool_limits


class _Limit:
    """The limit on this process, and how many threads rely on it; the last of them lifts it."""

    def __init__(self) -> None:
        self._lock, self._users = Lock(), 0
        self._limits: threadpool_limits | None = None

    def acquire(self) -> None:
        with self._lock:
            if self._users == 0:
                self._limits = threadpool_limits(limits=1, user_api="blas")
            self._users += 1

    def release(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._limits is not None:
                self._limits.restore_original_limits()
                self._limits = None


_LIMIT = _Limit()


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit BLAS to one thread; several threads of a process may do so at the same time."""
    _LIMIT.acquire()
    try:
        yield
    finally:
        _LIMIT.release()
