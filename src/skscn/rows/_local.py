"""Rows on one machine: one shard, whose stretches are divided among threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs

from skscn.layers import Layer, Nodes
from skscn.rows import _stretches
from skscn.rows._base import Sample
from skscn.rows._shard import Shard, Storage
from skscn.rows._stretched import StretchedRows
from skscn.rows._stretches import stretches, total
from skscn.rows.operations import Gather, Operation, ScoreSample
from skscn.supervision import SampledSums


class LocalRows(StretchedRows):
    """N training rows in a storage.

    Parameters
    ----------
    storage : Storage
        With the scaled targets, the first residual e_0.
    shape : tuple of int
        N, d and m.
    layer : Layer
        The layer of the nodes to be added.
    sample_weight : ndarray of shape (N,) or None
        Positive weights p: ⟨a, b⟩ = Σ p a b.
    n_jobs : int or None
        Threads, within the context.
    """

    def __init__(
        self,
        storage: Storage,
        shape: tuple[int, int, int],
        *,
        layer: Layer,
        sample_weight: np.ndarray | None,
        n_jobs: int | None,
    ):
        super().__init__(shape, layer)
        self.storage = storage
        self._shard = Shard(storage, sample_weight)
        self._stretches = stretches(self.n_rows)
        # A thread pays off only for at least one long stretch.
        self._threads = max(1, min(effective_n_jobs(n_jobs), self.n_rows // _stretches.STRETCH))
        self._executor: ThreadPoolExecutor | None = None
        self._begin_fit()

    def __enter__(self) -> Self:
        super().__enter__()
        if self._threads > 1:
            self._executor = self._resources.enter_context(ThreadPoolExecutor(self._threads))
        return self

    def __exit__(self, *exception) -> None:
        """Shut the threads down."""
        self._executor = None
        super().__exit__(*exception)

    def sample(self, rows: np.ndarray) -> Sample:
        """The rows with these numbers, in the form that searches on a sample need."""
        return Sample.of(*Gather(self.basis_size)(self._shard, rows))

    def sampled_sums(self, rows: np.ndarray, nodes: Nodes, *, precision: type) -> SampledSums:
        """Row sums of T candidates on the rows with these numbers."""
        return ScoreSample(nodes, precision)(self._shard, rows)

    def total(self, operation: Operation) -> Any:
        """Run an operation on all stretches, divided among the threads, and sum what it returns."""
        shard, count = self._shard, len(self._stretches)
        operation.prepare(shard)
        if self._executor is None or operation.ordered:
            return total([operation(shard, rows) for rows in self._stretches], count)
        # Each thread gets consecutive stretches: submitting them one by one would take longer than most kernels.
        size = -(-count // self._threads)
        runs = [self._stretches[start : start + size] for start in range(0, count, size)]
        parts = self._executor.map(lambda run: [operation(shard, rows) for rows in run], runs)
        return total([part for run in parts for part in run], count)
