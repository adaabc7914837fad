"""Waiting for a Dask cluster, with a warning if it waits for workers that are paused for lack of memory.

A worker pauses when its memory is nearly full and starts no task until memory is freed; the parts of a fit stay in
memory as long as the fit lasts, so that may never happen.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from skscn.extras import optional

# Seconds of waiting after which the state of the workers is checked, unless Dask's configuration says otherwise.
_INTERVAL, _INTERVAL_KEY = 10.0, "skscn.check-workers-every"


def scheduler() -> Callable[..., Any] | None:
    """What computes graphs here: a cluster that is monitored, or None for Dask's default scheduler."""
    get = optional("dask.base", "Training on Dask collections").get_scheduler()
    client = getattr(get, "__self__", None)
    if client is None or not hasattr(client, "scheduler_info") or _within_a_task():
        return None
    interval = optional("dask.config", "Training on Dask collections").get(_INTERVAL_KEY, _INTERVAL)
    return partial(watched, client, interval=interval)


def _within_a_task() -> bool:
    """Whether this runs on a worker, where a waiting client must release its thread to others, as ``get`` does."""
    try:
        optional("distributed", "Training on a Dask cluster").get_worker()
    except ValueError:
        return False
    return True


def watched(client: Any, graph: object, keys: object, *, interval: float, **settings: object) -> Any:
    """The values of keys of a graph, as from ``client.get``; the workers are checked every ``interval`` seconds."""
    distributed = optional("distributed", "Training on a Dask cluster")
    packed = client.get(graph, keys, sync=False, **settings)
    futures = distributed.futures_of(packed)
    try:
        wait_for(partial(distributed.wait, futures, timeout=interval), client.scheduler_info)
        return client.gather(packed)
    finally:
        for future in futures:
            future.release()


def wait_for(wait: Callable[[], Any], scheduler_info: Callable[[], Mapping[str, Any]]) -> None:
    """Wait until a function no longer raises TimeoutError; warn once if workers are paused in the meantime."""
    warned = False
    while True:
        try:
            wait()
        except TimeoutError:
            paused = None if warned else paused_workers(scheduler_info())
            if paused:
                warnings.warn(paused, RuntimeWarning, stacklevel=2)
                warned = True
        else:
            return


def paused_workers(info: Mapping[str, Any]) -> str | None:
    """A sentence about the paused workers, from the scheduler's information; None if none is paused."""
    workers = info["workers"]
    paused = {address: worker for address, worker in workers.items() if worker.get("status") == "paused"}
    if not paused:
        return None
    address, worker = next(iter(paused.items()))
    return (
        f"{len(paused)} of {len(workers)} Dask workers are paused for lack of memory, and the fit waits for them "
        f"({address} uses {_memory(worker)}); give the workers more memory or the cluster more workers, or lower "
        "max_nodes: each node needs 8 bytes per row."
    )


def _memory(worker: Mapping[str, Any]) -> str:
    used, limit = worker.get("metrics", {}).get("memory", 0), worker.get("memory_limit") or 0
    return f"{used / 1e9:.1f} GB" + (f" of {limit / 1e9:.1f} GB" if limit else "")
