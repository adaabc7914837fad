"""The series: simulated ones from their equations, the laser and the debutanizer column from files."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

TRAINING, TESTING = 2000, 1000
# Steps of the integrators for one row.
_FINE = 10


@dataclass(frozen=True)
class Task:
    """Rows in order of time, of which the first are for training.

    X is None for free runs, whose only inputs are earlier outputs; ``unit`` is the time of a row then. ``delay`` is the
    number of rows after which targets are known to a stream, if that is measured as well.
    """

    name: str
    X: np.ndarray | None
    y: np.ndarray
    training: int = TRAINING
    unit: float = 1.0
    delay: int | None = None


def runge_kutta(slope: Callable[[np.ndarray], np.ndarray], x: np.ndarray, step: float) -> np.ndarray:
    k1 = slope(x)
    k2 = slope(x + step / 2 * k1)
    k3 = slope(x + step / 2 * k2)
    k4 = slope(x + step * k3)
    return x + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def mackey_glass(count: int, seed: int, tau: int = 17) -> np.ndarray:
    """dy/dt = 0.2 y(t − τ)/(1 + y(t − τ)¹⁰) − 0.1 y(t), one value for each unit of time."""
    delay, dropped = tau * _FINE, 500
    rng = np.random.default_rng(seed)
    y = list(1.2 + 0.2 * (rng.random(delay + 1) - 0.5))
    for t in range(delay, delay + (count + dropped) * _FINE):
        past = (y[t - delay], (y[t - delay] + y[t - delay + 1]) / 2, y[t - delay + 1])
        first, middle, last = (0.2 * value / (1 + value**10) for value in past)
        h, now = 1 / _FINE, y[t]
        k1 = first - 0.1 * now
        k2 = middle - 0.1 * (now + h / 2 * k1)
        k3 = middle - 0.1 * (now + h / 2 * k2)
        k4 = last - 0.1 * (now + h * k3)
        y.append(now + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    return np.array(y[delay + dropped * _FINE :: _FINE][:count])


def lorenz(count: int, seed: int, unit: float = 0.02) -> np.ndarray:
    """The three coordinates, every 0.02 units of time."""

    def slope(s: np.ndarray) -> np.ndarray:
        return np.array([10 * (s[1] - s[0]), s[0] * (28 - s[2]) - s[1], s[0] * s[1] - 8 / 3 * s[2]])

    x, rows = 1 + 0.1 * np.random.default_rng(seed).normal(size=3), []
    for step in range((count + 1000) * _FINE):
        if step % _FINE == 0:
            rows.append(x)
        x = runge_kutta(slope, x, unit / _FINE)
    return np.array(rows[1000:])


def mackey_glass_one(seed: int) -> Task:
    y = mackey_glass(TRAINING + TESTING + 6, seed)
    return Task("Mackey–Glass, one input", y[:-6, np.newaxis], y[6:])


def mackey_glass_four(seed: int) -> Task:
    y = mackey_glass(TRAINING + TESTING + 24, seed)
    now = np.arange(18, len(y) - 6)
    return Task("Mackey–Glass, four lags", np.column_stack([y[now - lag] for lag in (0, 6, 12, 18)]), y[now + 6])


def narma(seed: int) -> Task:
    count, dropped = TRAINING + TESTING, 200
    u = np.random.default_rng(seed).uniform(0, 0.5, count + dropped)
    y = np.zeros(len(u) + 1)
    for t in range(9, len(u)):
        y[t + 1] = 0.3 * y[t] + 0.05 * y[t] * y[t - 9 : t + 1].sum() + 1.5 * u[t - 9] * u[t] + 0.1
    return Task("NARMA-10", u[dropped:, np.newaxis], y[dropped + 1 :])


def plant(seed: int) -> Task:
    """Random inputs and a slow sine in training; four other signals afterwards."""
    n, k = np.arange(1000), np.arange(250)
    u = np.concatenate(
        [
            np.random.default_rng(seed).uniform(-2, 2, 1000),
            1.05 * np.sin(np.pi * n / 45),
            np.sin(np.pi * k / 25),
            np.ones(250),
            -np.ones(250),
            0.6 * np.cos(np.pi * k / 10) + 0.1 * np.cos(np.pi * k / 32) + 0.3 * np.sin(np.pi * k / 25),
        ]
    )
    y = np.zeros(len(u) + 1)
    for t in range(3, len(u)):
        y[t + 1] = 0.72 * y[t] + 0.025 * y[t - 1] * u[t - 1] + 0.01 * u[t - 2] ** 2 + 0.2 * u[t - 3]
    return Task("plant", np.column_stack([y[:-1], u]), y[1:])


def laser(folder: Path) -> Task:
    y = np.loadtxt(folder / "series" / "santafe_laser_series.csv", skiprows=1)[: TRAINING + TESTING + 1]
    return Task("Santa Fe laser", y[:-1, np.newaxis], y[1:])


def debutanizer(folder: Path) -> Task:
    table = np.loadtxt(folder / "regression" / "debutanizer.csv", delimiter=",", skiprows=1)
    return Task("debutanizer", table[:, :-1], table[:, -1], training=1600, delay=5)


def mackey_glass_free(seed: int) -> Task:
    return Task("Mackey–Glass, free", None, mackey_glass(TRAINING + 3000, seed)[:, np.newaxis])


def lorenz_free(seed: int) -> Task:
    # The largest Lyapunov exponent is 0.9056.
    return Task("Lorenz, free", None, lorenz(TRAINING + 4000, seed), unit=0.02 * 0.9056)


def lorenz_ahead(seed: int) -> Task:
    """The first coordinate ten rows (0.2 units of time) ahead, from this coordinate alone."""
    x = lorenz(TRAINING + TESTING + 10, seed)[:, 0]
    return Task("Lorenz, ten steps ahead", x[:-10, np.newaxis], x[10:])


def henon(seed: int) -> Task:
    """x(n + 1) = 1 − 1.4 x(n)² + 0.3 x(n − 1), observed with noise, two steps ahead."""
    rng, count, dropped = np.random.default_rng(seed), TRAINING + TESTING + 2, 100
    x = list(0.1 * rng.random(2))
    for _ in range(count + dropped):
        x.append(1 - 1.4 * x[-1] ** 2 + 0.3 * x[-2])
    course = np.array(x[-count:])
    return Task("Hénon, two steps, noisy", (course + 0.05 * rng.normal(size=count))[:-2, np.newaxis], course[2:])


def hidden_state(seed: int) -> Task:
    """An autoregression with two inputs, one of them multiplied, and noise in the state, from the inputs alone."""
    rng, count = np.random.default_rng(seed), TRAINING + TESTING
    u, noise = rng.normal(size=(count, 2)), 0.1 * rng.normal(size=count)
    y = np.zeros(count)
    for n in range(7, count):
        y[n] = 0.9 * y[n - 1] - 0.3 * y[n - 2] + np.tanh(u[n - 3, 0]) + 0.5 * u[n - 5, 0] * u[n - 7, 1] + noise[n]
    return Task("ARX with noise", u, y)


def drifting_tank(seed: int) -> Task:
    """Two tanks in series behind a pipe, a product of two slow inputs, an offset that wanders, and noisy samples."""
    rng, count = np.random.default_rng(seed), TRAINING + TESTING
    u = np.zeros((count, 3))
    for n in range(1, count):
        u[n] = 0.97 * u[n - 1] + np.sqrt(1 - 0.97**2) * rng.normal(size=3)
    drift, first, second = 0.03 * np.cumsum(rng.normal(size=count)), np.zeros(count), np.zeros(count)
    for n in range(8, count):
        first[n] = 0.85 * first[n - 1] + 0.15 * np.tanh(u[n - 8, 0])
        second[n] = 0.9 * second[n - 1] + 0.1 * first[n - 1] * (1.5 + u[n - 4, 1])
    y = 3 * second + 0.3 * u[:, 2] + drift + 0.05 * rng.normal(size=count)
    return Task("drifting tanks", u, y, delay=5)


def one_step_tasks(seed: int, folder: Path | None) -> list[Task]:
    simulated = [make(seed) for make in (mackey_glass_one, mackey_glass_four, narma, plant)]
    return simulated if folder is None else [*simulated, laser(folder), debutanizer(folder)]


def extra_tasks(seed: int) -> list[Task]:
    """Series that no rule of the search was chosen with."""
    return [make(seed) for make in (lorenz_ahead, henon, hidden_state, drifting_tank)]


def free_tasks(seed: int) -> list[Task]:
    return [mackey_glass_free(seed), lorenz_free(seed)]
