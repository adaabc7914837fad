"""Fits in a process of their own, which tells how much memory they take."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from threadpoolctl import threadpool_limits

from skscn.rows import Chunks
from speed_parts.fits import fit_measured, make_data, network

_PROGRAM = Path(__file__).resolve().parent.parent / "speed.py"


def measure_in_process(order: dict) -> dict:
    """A fit in a process of its own, for its memory."""
    command = [sys.executable, str(_PROGRAM), "--fit", json.dumps(order)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def fit_ordered(order: dict) -> dict:
    """The fit of that process, after a small one: its time, and by how much it raised the largest memory."""
    if "folder" in order:
        return fit_from_folder(order)
    network(configuration=order["configuration"], max_nodes=2, n_jobs=1).fit(*make_data(200, order["d"]))
    X, y = make_data(order["N"], order["d"])
    model = network(configuration=order["configuration"], max_nodes=order["L"], max_candidates=order["T"], n_jobs=1)
    before = peak_bytes()
    with threadpool_limits(1):
        result = fit_measured(model, X, y)
    peak = peak_bytes()
    return result | {"bytes": None if peak is None or before is None else peak - before, "peak_bytes": peak}


def fit_from_folder(order: dict) -> dict:
    """The fit of that process: in memory, or in chunks with a memory limit that puts everything in scratch files."""
    mode = "r" if order["memory_limit"] else None
    X, y = (np.load(Path(order["folder"]) / f"{name}.npy", mmap_mode=mode) for name in ("X", "y"))
    model = network(max_nodes=order["L"], n_jobs=1)
    with threadpool_limits(1):
        started, cpu = perf_counter(), process_time()
        model.fit(*((Chunks(X, y, memory_limit=order["memory_limit"]),) if order["memory_limit"] else (X, y)))
    return {
        "seconds": perf_counter() - started,
        "cpu": process_time() - cpu,
        "peak_bytes": peak_bytes(),
        "rmse": float(model.history_["train_rmse"][-1]),
    }


def peak_bytes() -> int | None:
    """The most memory that this process has held, where the system says so."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not getrusage: on Linux it counts what the parent held before this program began.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    if find_spec("resource") is None:
        # Windows has no such module; the columns of memory stay empty.
        return None
    import resource

    # In kilobytes, but on macOS in bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
