"""Rows on one machine: one shard, whose stretches are divided among threads."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import final

import numpy as np
from joblib import effective_n_jobs

from skscn.rows._backend import Backend
from skscn.rows._shard import Shard, Storage
from skscn.rows._stretches import STRETCH, Share, stretches, total
from skscn.rows.operations import Answer, Operation, Selection


@final
class LocalBackend(Backend):
    """N training rows in a storage.

    Parameters
    ----------
    storage : Storage
        With the first residual e_0, the scaled targets times √p.
    shape : tuple of int
        N, d and m.
    sample_weight : ndarray of shape (N,) or None
        Positive weights p: ⟨a, b⟩ = Σ p a b.
    n_jobs : int or None
        Threads, within the context; each has at least one stretch of the largest length.
    stretch : int
        The largest number of rows in a stretch; on it depends in which order sums are added up.
    """

    def __init__(
        self,
        storage: Storage,
        shape: tuple[int, int, int],
        *,
        sample_weight: np.ndarray | None = None,
        n_jobs: int | None = None,
        stretch: int = STRETCH,
    ):
        self.storage, self.shape = storage, shape
        self._shard = Shard(storage, sample_weight)
        self._stretches = stretches(shape[0], stretch)
        self._threads = max(1, min(effective_n_jobs(n_jobs), shape[0] // stretch))
        self._executor: ThreadPoolExecutor | None = None

    @contextmanager
    def resources(self) -> Iterator[None]:
        """Threads, if there are rows for several."""
        with ThreadPoolExecutor(self._threads) if self._threads > 1 else nullcontext() as self._executor:
            try:
                yield
            finally:
                self._executor = None

    def total(self, operation: Operation[Share]) -> Share:
        """Run an operation on all stretches, divided among the threads, and add up its shares."""
        shard = self._shard
        operation.prepare(shard)
        if self._executor is None or operation.ordered:
            return total([operation(shard, rows) for rows in self._stretches])
        # Each thread gets consecutive stretches: submitting them one by one would take longer than most kernels.
        size = -(-len(self._stretches) // self._threads)
        runs = [self._stretches[start : start + size] for start in range(0, len(self._stretches), size)]
        shares = self._executor.map(lambda run: [operation(shard, rows) for rows in run], runs)
        return total([share for run in shares for share in run])

    def select(self, selection: Selection[Answer], rows: np.ndarray) -> Answer:
        """The answer of a selection, from the one shard."""
        return selection(self._shard, rows)
