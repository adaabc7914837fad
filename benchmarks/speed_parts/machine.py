"""What the numbers were measured on."""

import os
import platform
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

import skscn


def machine() -> list[str]:
    """What the numbers were measured on."""
    blas = [
        f"{library['internal_api']} {library['version']} ({library.get('architecture', 'unknown')})"
        for library in threadpool_info()
        if library["user_api"] == "blas"
    ]
    return [
        f"- processor: {processor()}, {os.cpu_count()} cores",
        f"- system: {platform.system()} {platform.machine()}, Python {platform.python_version()}",
        f"- NumPy {np.__version__}, BLAS {'; '.join(dict.fromkeys(blas)) or 'unknown'}; skscn {skscn.__version__}",
    ]


def processor() -> str:
    """The processor's name, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
