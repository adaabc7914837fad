"""Locks on files: one holder at a time, on this machine and, where the file system supports locks, on others.

A lock is held by the operating system for an open file. It is released when the process ends, however that happens.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Some network file systems do not support locks; nothing is locked then.
_NO_LOCKS = {errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK}

if sys.platform == "win32":
    import msvcrt

    def _try(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _release(lock: Path, descriptor: int) -> None:
        # A file that is open elsewhere cannot be removed, so a process that opened it meanwhile keeps its lock.
        os.close(descriptor)
        lock.unlink()

else:
    import fcntl

    def _try(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _release(lock: Path, descriptor: int) -> None:
        # A process that locked it meanwhile finds that the file is gone, and starts again.
        try:
            lock.unlink()
        finally:
            os.close(descriptor)


@contextmanager
def locked(path: Path, refusal: Exception) -> Iterator[None]:
    """Hold the lock of a file; raise ``refusal`` if it is already held, in this process or another.

    The lock is a file in the same folder, which is removed at the end. One left by a dead process is ignored.
    """
    target = Path(os.path.realpath(path))
    digest = hashlib.blake2b(os.fsencode(target.name), digest_size=6).hexdigest()
    lock = target.with_name(f".{target.name[:32]}.{digest}.lock")
    descriptor = _acquired(lock)
    if descriptor is None:
        raise refusal
    try:
        yield
    finally:
        # The folder may have vanished or become read-only.
        with suppress(OSError):
            _release(lock, descriptor)


def _acquired(lock: Path) -> int | None:
    """An open file that holds the lock, or None if another process holds it."""
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            _try(descriptor)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                os.close(descriptor)
                return None
        if _is_open(lock, descriptor):
            return descriptor
        os.close(descriptor)


def _is_open(lock: Path, descriptor: int) -> bool:
    """Whether the open file is still the one at this path, and not one that was removed meanwhile."""
    try:
        return os.path.samestat(lock.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
