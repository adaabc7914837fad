import numpy as np
import pytest
from scipy.optimize import minimize

from skscn.configuration._climb import descend

RNG = np.random.default_rng(3)
STARTS = RNG.normal(size=(4, 5))
MATRIX = np.diag([1.0, 3.0, 10.0, 30.0, 100.0]) + 0.1


def quadratic(points):
    return 0.5 * np.einsum("ij,jk,ik->i", points, MATRIX, points), points @ MATRIX


def valley(points):
    """Rosenbrock's function of the first two coordinates, and a bowl of the others."""
    x, y = points[:, 0], points[:, 1]
    values = (1 - x) ** 2 + 100 * (y - x**2) ** 2 + (points[:, 2:] ** 2).sum(axis=1)
    gradients = 2 * points
    gradients[:, 0] = -2 * (1 - x) - 400 * x * (y - x**2)
    gradients[:, 1] = 200 * (y - x**2)
    return values, gradients


@pytest.mark.parametrize("loss", [quadratic, valley])
def test_the_minimum_is_found_from_every_start(loss):
    found = descend(loss, STARTS, 200)
    for start, point in zip(STARTS, found, strict=True):
        best = minimize(lambda p: loss(p[np.newaxis])[0][0], start, method="Powell", tol=1e-10).fun
        assert loss(point[np.newaxis])[0][0] == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("loss", [quadratic, valley])
def test_it_never_goes_up(loss):
    values = [loss(descend(loss, STARTS, evaluations))[0] for evaluations in range(1, 30)]
    assert (np.diff(values, axis=0) <= 0).all()


def test_starts_do_not_disturb_each_other():
    together = descend(valley, STARTS, 12)
    for start, point in zip(STARTS, together, strict=True):
        np.testing.assert_allclose(descend(valley, start[np.newaxis], 12)[0], point, rtol=1e-10)


def test_known_curvature_leads_to_the_minimum_at_once():
    inverses = np.broadcast_to(np.linalg.inv(MATRIX), (4, 5, 5))
    np.testing.assert_allclose(descend(quadratic, STARTS, 2, inverses), 0.0, atol=1e-12)


def test_a_step_is_never_endless():
    inverses = np.broadcast_to(1e300 * np.eye(5), (4, 5, 5))
    assert np.isfinite(descend(quadratic, STARTS, 20, inverses)).all()
