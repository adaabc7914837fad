"""Where the training rows live; one file a backend.

A backend owns the rows, the residual e and an orthonormal basis of the hidden columns that output weights are solved
for. Only row sums leave it. Whatever the backend, it offers what :class:`~skscn.rows.memory.MemoryRows` does.
"""

from skscn.rows.memory import MemoryRows

ROWS = {"memory": MemoryRows}

__all__ = ["ROWS", "MemoryRows"]
