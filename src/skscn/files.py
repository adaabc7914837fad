"""Files that are replaced at once: a reader sees the old one or the new one, never a part.

What is written goes to a file of its own beside the target, which nobody else can have opened, then to the disk, and
then takes the target's place. So any number of processes may write and read one path at the same time.
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
from typing import BinaryIO, TextIO, TypeVar

# Windows refuses to replace or to open a file at the very moment in which somebody else opens or replaces it. Seconds
# to wait before each new attempt there.
_PAUSES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0) if os.name == "nt" else ()
# A disk that is full still takes empty files.
_TRIAL = bytes(4096)
_Result = TypeVar("_Result")


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, which takes the place of another at the end.

    A file that exists keeps its permissions; of a symbolic link, the file it points to is replaced. If anything fails,
    the old file stays as it was and nothing else is left behind. Errors in writing name the path and the reason.
    """
    target, mode = _checked(path)
    with _beside(target) as partial:
        with io.BufferedWriter(_Partial(partial, path, mode)) as file:
            yield file  # type: ignore[misc]
            file.flush()
            file.raw.sync()
        with _naming(path):
            patiently(lambda: os.replace(partial, target))
        _sync_folder(target.parent)


@contextmanager
def replacing_text(path: Path) -> Iterator[TextIO]:
    """As :func:`replacing`, for text, which becomes UTF-8 and keeps its line ends."""
    with replacing(path) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="")
        yield text
        text.detach()


def replace_file(path: Path, content: bytes) -> None:
    """Put a file in place, in one moment."""
    with replacing(path) as file:
        file.write(content)


def check_writable(path: Path) -> None:
    """Raise OSError, naming path and reason, if a file cannot be written here; nothing changes."""
    target, mode = _checked(path)
    with _beside(target) as partial, _Partial(partial, path, mode) as file:
        file.write(_TRIAL)
        file.sync()


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, unless they exist; errors name it and the reason."""
    if path.is_file():
        raise NotADirectoryError(f"{path} is a file; give the name of a folder.")
    with _naming(path):
        path.mkdir(parents=True, exist_ok=True)


def patiently(action: Callable[[], _Result], pauses: Sequence[float] = _PAUSES) -> _Result:
    """Do something that Windows may refuse for a moment, since somebody else is at the same file."""
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
    """A file that did not exist before, whose errors name the file that it will become."""

    def __init__(self, path: Path, target: Path, mode: int | None):
        self._target = target
        with _naming(target):
            super().__init__(path, "xb")
            if mode is not None:
                # Before there is anything to read in it.
                os.chmod(path, mode)

    def write(self, content) -> int:
        with _naming(self._target):
            return super().write(content)

    def sync(self) -> None:
        """Let what was written reach the disk."""
        with _naming(self._target):
            os.fsync(self.fileno())


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A name that nobody has, in the same folder; whatever is there at the end is removed."""
    partial = target.with_name(f".{target.name[:32]}.{secrets.token_hex(8)}.partial")
    try:
        yield partial
    finally:
        # A disk that has vanished, or turned read-only, has told its error already.
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _checked(path: Path) -> tuple[Path, int | None]:
    """The file at the end of all links and its permissions, if it exists; refused if it clearly cannot be written."""
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
    """Let the new name reach the disk too, where the system can do that."""
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
    """Say in one sentence which file an error of the system is about, and why."""
    try:
        yield
    except OSError as error:
        named = type(error)(f"{path} cannot be written: {reason(error)}.")
        named.errno = error.errno
        raise named from error
