"""How much memory training may use by default."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

_SMALLEST = 256 * 2**20


def default_memory_limit(machine_memory: int | None = None) -> int:
    """A quarter of the machine's memory in bytes, and at least 256 MB.

    Parameters
    ----------
    machine_memory : int, optional
        By default that of this machine, or of the container that this process runs in.
    """
    return max((_machine_memory() if machine_memory is None else machine_memory) // 4, _SMALLEST)


def _machine_memory() -> int:
    if sys.platform == "win32":
        return _windows_memory()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        container = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        return memory
    return min(memory, int(container)) if container.isdecimal() else memory


def _windows_memory() -> int:
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = [
            ("size", ctypes.c_uint32),
            ("load", ctypes.c_uint32),
            *((name, ctypes.c_uint64) for name in ("total", "free", "a", "b", "c", "d", "e")),
        ]

    status = Status(size=ctypes.sizeof(Status))
    windows: Any = ctypes
    if not windows.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return 0
    return int(status.total)
