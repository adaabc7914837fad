"""BLAS limited to one thread: with more it would sum in another order, and last digits would differ."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from types import SimpleNamespace

import threadpoolctl

# The limit on this process, and how many rely on it; the first of them sets it, the last of them lifts it.
_LOCK, _LIMIT = Lock(), SimpleNamespace(users=0, limits=None)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit BLAS to one thread; several threads of a process may do so at the same time."""
    with _LOCK:
        if _LIMIT.users == 0:
            _let_any_thread_decide()
            _LIMIT.limits = _libraries().limit(limits=1, user_api="blas")
        _LIMIT.users += 1
    try:
        yield
    finally:
        with _LOCK:
            _LIMIT.users -= 1
            if _LIMIT.users == 0:
                _let_any_thread_decide()
                _LIMIT.limits.restore_original_limits()
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
