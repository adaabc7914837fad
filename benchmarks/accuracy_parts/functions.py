"""Functions with known structure, from which rows are drawn: Friedman's, smooth ones, and one with jumps."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

# Test rows of every draw.
TEST_ROWS = 10_000
# Steepness of a smooth switch: it goes from 0.1 to 0.9 within 0.22.
STEEPNESS = 20.0


@dataclass(frozen=True)
class Function:
    """A function of uniform inputs, most of which it may ignore.

    Attributes
    ----------
    value : callable
        From the inputs, shape (n_rows, n_inputs), to the noise-free target.
    inputs : int
    rows : int
        Training rows of a draw.
    noise : float
        Standard deviation of the normal noise on the target.
    low : float, default=-1.0
        Inputs are uniform between this and 1.
    """

    value: Callable[[np.ndarray], np.ndarray]
    inputs: int
    rows: int
    noise: float
    low: float = -1.0

    def draw(self, rows: int, seed: int | list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and noisy targets."""
        rng = np.random.default_rng(seed)
        X = rng.uniform(self.low, 1.0, (rows, self.inputs))
        return X, self.value(X) + self.noise * rng.standard_normal(rows)

    def split(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Training inputs, test inputs, training targets and test targets: other rows for every seed."""
        X, y = self.draw(self.rows + TEST_ROWS, seed)
        return X[: self.rows], X[self.rows :], y[: self.rows], y[self.rows :]


def friedman(X: np.ndarray) -> np.ndarray:
    """Friedman's function #1, of inputs between 0 and 1; it depends on the first five."""
    wave = 10.0 * np.sin(np.pi * X[:, 0] * X[:, 1])
    return wave + 20.0 * (X[:, 2] - 0.5) ** 2 + 10.0 * X[:, 3] + 5.0 * X[:, 4]


def waves(X: np.ndarray) -> np.ndarray:
    """A smooth function of the first six inputs: a rippled surface, a hill, and a wave whose height varies."""
    ripple = np.sin(3.0 * X[:, 0] + 2.0 * X[:, 1]) * np.cos(2.0 * X[:, 2])
    hill = 2.0 * np.exp(-3.0 * (X[:, 3] ** 2 + X[:, 4] ** 2))
    return ripple + hill + np.sin(4.0 * X[:, 5]) * X[:, 0]


def switches(X: np.ndarray) -> np.ndarray:
    """A smooth function of the first eight inputs, with steep switches between its parts."""
    switch = expit(STEEPNESS * (X[:, 0] + X[:, 1] - 0.2))
    wave, product = np.sin(3.0 * X[:, 2] + X[:, 3]), 2.0 * X[:, 4] * X[:, 5]
    return switch * wave + (1.0 - switch) * product + expit(STEEPNESS * X[:, 6]) * X[:, 7]


def jumps(X: np.ndarray) -> np.ndarray:
    """A piecewise smooth function of the first six inputs, between 0 and 1, with five hard thresholds."""
    steps = 8.0 * (X[:, 0] > 0.3) - 6.0 * (X[:, 1] > 0.6) + 4.0 * ((X[:, 2] > 0.5) & (X[:, 3] > 0.4))
    return steps + 10.0 * np.where(X[:, 4] > 0.7, X[:, 5], 1.0 - X[:, 5]) + 6.0 * np.sin(np.pi * X[:, 0] * X[:, 5])


# Task -> name -> function: what ./run bench accuracy --task friedman and --task smooth draw from.
FUNCTIONS = {
    "friedman": {f"friedman_{inputs}": Function(friedman, inputs, 2000, 1.0, low=0.0) for inputs in (10, 40, 100)},
    "smooth": {"waves_12": Function(waves, 12, 6000, 0.05), "switches_48": Function(switches, 48, 6000, 0.05)},
}
# What ./run bench large draws from, any number of rows.
LARGE = {
    "friedman": Function(friedman, 10, 1_000_000, 1.0, low=0.0),
    "jumps": Function(jumps, 10, 1_000_000, 1.0, low=0.0),
}
