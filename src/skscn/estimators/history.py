"""The history of a network: one row for each step of growth."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

HISTORY = np.dtype(
    [
        ("nodes", np.int64),
        ("scope", np.float64),
        ("contraction", np.float64),
        ("slack", np.float64),
        ("train_rmse", np.float64),
        ("validation_rmse", np.float64),
        ("candidates", np.int64),
        ("seconds", np.float64),
        ("round", np.int64),
        ("polished", np.bool_),
    ]
)


def history_columns(history: np.ndarray) -> dict[str, np.ndarray]:
    """A history as plain arrays."""
    return {name: history[name] for name in HISTORY.names or ()}


def last_round(history: np.ndarray) -> np.ndarray:
    """The steps in which the present network was grown; those of earlier rounds, under some losses, precede them."""
    return history[history["round"] == history["round"][-1]] if len(history) else history


def history_of(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """The history among these arrays."""
    history = np.empty(len(arrays["nodes"]), HISTORY)
    for name in HISTORY.names or ():
        history[name] = arrays[name]
    return history
