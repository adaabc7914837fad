"""Files that are replaced atomically: a reader sees the old one or the new one, never a partial one.

The content is written to a separate file next to the target, which nobody else can have opened, flushed to disk, and
then renamed to the target. So any number of processes may write and read one path at the same time.
"""

from __future__ import annotations

import io
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TextIO, TypeVar

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

# Windows refuses to replace or open a file at the very moment when another process opens or replaces it. Seconds
# to wait before each new attempt there.
_PAUSES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0) if os.name == "nt" else ()
# A full disk still accepts empty files.
_TRIAL = bytes(4096)
_Result = TypeVar("_Result")


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that replaces another one at the end.

    An existing file keeps its permissions; for a symbolic link, the file it points to is replaced. If anything fails,
    the old file stays as it was and nothing else is left behind. Errors in writing name the path and the reason.
    """
    target, mode = _checked(path)
    with _beside(target) as partial:
        with io.BufferedWriter(_Partial(partial, path, mode)) as file:
            yield file
            file.flush()
            file.raw.sync()
        with _naming(path):
            patiently(lambda: os.replace(partial, target))
        _sync_folder(target.parent)


@contextmanager
def replacing_text(path: Path) -> Iterator[TextIO]:
    """As :func:`replacing`, for text, which is written as UTF-8 with its line endings unchanged."""
    with replacing(path) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="")
        yield text
        text.detach()


def replace_file(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    with replacing(path) as file:
        file.write(content)


def check_writable(path: Path) -> None:
    """Raise OSError, naming path and reason, if a file cannot be written here; nothing changes."""
    target, mode = _checked(path)
    with _beside(target) as partial, _Partial(partial, path, mode) as file:
        file.write(_TRIAL)
        file.sync()


def make_folder(path: Path) -> None:
    """Make a folder and its parents unless they exist; errors name it and the reason."""
    if path.is_file():
        raise NotADirectoryError(f"{path} is a file; give the name of a folder.")
    with _naming(path):
        path.mkdir(parents=True, exist_ok=True)


def patiently(action: Callable[[], _Result], pauses: Sequence[float] = _PAUSES) -> _Result:
    """Retry an operation that Windows may refuse for a moment, while another process uses the same file."""
    for seconds in pauses:
        try:
            return action()
        except PermissionError:
            time.sleep(seconds)
    return action()


def reason(error: OSError) -> str:
    """Why a file could not be used, in words."""
    return error.strerror or str(error)


class _Partial(io.FileIO):
    """A new file, whose errors name the file that it will replace."""

    def __init__(self, path: Path, target: Path, mode: int | None):
        self._target = target
        with _naming(target):
            super().__init__(path, "xb")
            if mode is not None:
                # Before anything is written to it.
                os.chmod(path, mode)

    def write(self, content: ReadableBuffer) -> int:
        with _naming(self._target):
            return super().write(content)

    def sync(self) -> None:
        """Flush what was written to disk."""
        with _naming(self._target):
            os.fsync(self.fileno())


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """An unused name in the same folder; a file of this name is removed at the end."""
    partial = target.with_name(f".{target.name[:32]}.{secrets.token_hex(8)}.partial")
    try:
        yield partial
    finally:
        # If the disk has vanished or become read-only, the error has been reported already.
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _checked(path: Path) -> tuple[Path, int | None]:
    """The file at the end of all links and its permissions, if it exists; an error if it clearly cannot be written."""
    if path == Path():
        raise IsADirectoryError("The path is empty or the current folder; give the name of the file to write.")
    target = Path(os.path.realpath(path))
    with _naming(path):
        mode = _mode(target)
    if mode is None and not target.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {path.parent}; make it first.")
    if mode is None:
        return target, None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder; give the name of the file to write.")
    if not stat.S_ISREG(mode):
        raise OSError(f"{path} cannot be written: it is not a regular file.")
    if not os.access(target, os.W_OK):
        raise PermissionError(f"{path} cannot be written: it is read-only.")
    return target, stat.S_IMODE(mode)


def _mode(target: Path) -> int | None:
    try:
        return target.stat().st_mode
    except FileNotFoundError:
        return None


def _sync_folder(folder: Path) -> None:
    """Flush the new name to disk too, where the system supports that."""
    if os.name != "posix":
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn a system error into one sentence that names the file and the reason."""
    try:
        yield
    except OSError as error:
        named = type(error)(f"{path} cannot be written: {reason(error)}.")
        named.errno = error.errno
        raise named from error
