"""Each loss by itself: its formulas against independent ones."""

from functools import partial

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import gaussian_kde, median_abs_deviation
from sklearn.metrics import log_loss, mean_pinball_loss, mean_poisson_deviance

from skscn.losses import LOSSES, Absolute, Bisquare, Huber, KernelDensity, LogLoss, Penalised, Poisson, Quantile, Welsch
from skscn.scaling import ArrayStatistics

RNG = np.random.default_rng(0)
E = RNG.normal(size=(500, 1)) * 2.0
ZERO = np.zeros_like(E)


def adapted(loss, y=E, f=ZERO, weights=None):
    return loss.adapted(lambda function: ArrayStatistics(function(y, f), weights))


def slope(function, f, step=1e-6):
    return (function(f + step) - function(f - step)) / (2 * step)


@pytest.mark.parametrize("loss", [Huber, Welsch, Bisquare])
def test_the_scale_is_the_median_absolute_deviation(loss):
    expected = median_abs_deviation(E[:, 0], scale=1 / 1.4826)
    assert adapted(loss()).scales[0] == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("loss", [Huber, Welsch, Bisquare, KernelDensity])
def test_outliers_do_not_set_the_scale(loss):
    wrong = E.copy()
    wrong[:100] += 1e9
    assert adapted(loss(), wrong).scales[0] < 1.5 * adapted(loss()).scales[0]


@pytest.mark.parametrize("loss", [Huber, Welsch, Bisquare])
def test_a_weight_is_the_slope_of_the_loss_over_the_residual(loss):
    loss = adapted(loss())
    f = np.linspace(-9, 9, 400)[:, np.newaxis]
    y = np.zeros_like(f)
    by_slope = slope(partial(loss.value, y), f) * loss.scales[0] ** 2 / f[:, 0]
    np.testing.assert_allclose(loss.row_weights(y, f), by_slope, atol=2e-3)


@pytest.mark.parametrize("loss", [Huber, Welsch, Bisquare])
def test_the_weighted_square_lies_above_the_loss_and_touches_it(loss):
    """So each step of reweighting lowers the loss."""
    loss = adapted(loss())
    f, others = E[:50], np.linspace(-9, 9, 60)
    y, s = np.zeros_like(f), loss.scales[0]
    z, c = loss.working(y, f)
    here = loss.value(y, f)
    for other in others:
        bound = here + 0.5 * c * (((z - other) ** 2 - (z - f) ** 2)[:, 0]) / s**2
        assert (loss.value(y, np.full_like(f, other)) <= bound + 1e-9).all()


def test_several_outputs_have_one_weight_a_row():
    y = RNG.normal(size=(300, 3)) * [1.0, 10.0, 0.1]
    wrong = y.copy()
    wrong[7, 2] += 10.0
    for name in ("huber", "welsch", "bisquare", "kde"):
        loss = adapted(LOSSES[name](), wrong, np.zeros_like(y))
        weights = loss.row_weights(wrong, np.zeros_like(y))
        assert weights.shape == (300,)
        assert weights[7] < 0.2
        assert np.median(weights) > 0.6


def test_weights_by_density_are_those_of_a_kernel_density():
    y = np.concatenate([RNG.normal(size=900), RNG.uniform(5, 9, 100)])[:, np.newaxis]
    loss = adapted(KernelDensity(), y, np.zeros_like(y))
    bandwidth = 1.06 * loss.scales[0] * 1000**-0.2
    density = gaussian_kde(y[:, 0], bw_method=bandwidth / y.std(ddof=1))
    grid = np.linspace(-9, 9, 2001)
    expected = np.minimum(density(y[:, 0]) / (0.1 * density(grid).max()), 1.0)
    np.testing.assert_allclose(loss.row_weights(y, np.zeros_like(y)), expected, atol=0.05)


def test_repeated_rows_are_weights():
    counts = RNG.integers(1, 4, len(E)).astype(float)
    twice = np.repeat(E, counts.astype(int), axis=0)
    for name in ("huber", "kde", "quantile"):
        ours = adapted(LOSSES[name](), weights=counts)
        theirs = adapted(LOSSES[name](), twice, np.zeros_like(twice))
        scale = "spreads" if name == "quantile" else "scales"
        np.testing.assert_allclose(getattr(ours, scale), getattr(theirs, scale))
        if name == "kde":
            np.testing.assert_allclose(ours.table, theirs.table, atol=1e-6)


@pytest.mark.parametrize("q", [0.05, 0.5, 0.9])
def test_pinball_loss(q):
    f = RNG.normal(size=E.shape)
    assert Quantile(q).value(E, f).mean() == pytest.approx(mean_pinball_loss(E, f, alpha=q))


def test_half_the_absolute_error():
    assert Absolute.of(0.9).value(E, ZERO).mean() == pytest.approx(0.5 * np.abs(E).mean())


def test_half_the_poisson_deviance():
    y, f = RNG.poisson(3.0, (200, 1)).astype(float), RNG.normal(size=(200, 1))
    assert Poisson().value(y, f).mean() == pytest.approx(0.5 * mean_poisson_deviance(y, np.exp(f)))


def test_log_loss_of_classes():
    f, labels = RNG.normal(size=(300, 4)), RNG.integers(0, 4, 300)
    assert LogLoss().value(np.eye(4)[labels], f).mean() == pytest.approx(log_loss(labels, softmax(f, axis=1)))
    two = LogLoss().value((labels[:, np.newaxis] > 1).astype(float), f[:, :1])
    assert two.mean() == pytest.approx(log_loss(labels > 1, 1 / (1 + np.exp(-f[:, 0]))))


@pytest.mark.parametrize(
    ("loss", "outputs"),
    [
        (Quantile(0.2, factor=0.5, widths=(0.3, 0.7), spreads=(1.0, 1.0)), 2),
        (Poisson(), 1),
        (LogLoss(), 1),
        (LogLoss(), 3),
        (LogLoss(exclusive=False), 3),
    ],
)
def test_slopes_are_derivatives(loss, outputs):
    f = RNG.normal(size=(40, outputs))
    y = RNG.integers(0, 2, (40, outputs)).astype(float)
    if isinstance(loss, LogLoss) and loss.exclusive and outputs > 1:
        y = np.eye(outputs)[RNG.integers(0, outputs, 40)]
    _, slopes = loss.smooth(y, f)
    for j in range(outputs):
        move = np.zeros(outputs)
        move[j] = 1e-6
        by_hand = (loss.smooth(y, f + move)[0] - loss.smooth(y, f - move)[0]) / 2e-6
        np.testing.assert_allclose(slopes[:, j], by_hand, atol=1e-6)


def test_the_working_targets_of_quantiles_bound_the_smoothed_loss():
    loss = adapted(Quantile(0.1))
    h = 1.5 * np.sqrt(2 / np.pi) * loss.spreads[0]
    smooth = Quantile(0.1, factor=1.0, widths=(h,), spreads=loss.spreads)
    f = RNG.normal(size=E.shape)
    z, c = loss.working(E, f)
    assert c is None
    here, _ = smooth.smooth(E, f)
    for other in np.linspace(-8, 8, 30):
        bound = here + ((z - other) ** 2 - (z - f) ** 2)[:, 0] / (2 * h * np.sqrt(2 * np.pi))
        assert (smooth.smooth(E, np.full_like(f, other))[0] <= bound + 1e-9).all()


def test_probabilities_are_not_below_what_the_rows_can_tell():
    f = np.array([[60.0, -60.0, 0.0]])
    loss = LogLoss(smallest=1e-4)
    probabilities = loss.mean(f)
    assert probabilities.min() == pytest.approx(1e-4)
    assert probabilities.sum() == pytest.approx(1.0)
    labels = LogLoss(exclusive=False, smallest=1e-4).mean(f)
    np.testing.assert_allclose(labels, [[1 - 1e-4, 1e-4, 0.5]])


def test_which_losses_there_are():
    assert list(LOSSES) == [
        "squared", "huber", "welsch", "bisquare", "kde", "absolute", "quantile", "poisson", "log_loss",
    ]  # fmt: skip
    assert [name for name, cls in LOSSES.items() if cls.weighs] == ["huber", "welsch", "bisquare", "kde"]
    assert [name for name, cls in LOSSES.items() if cls.classifies] == ["squared", "log_loss"]
    assert all(cls.refit in (None, "reweighted", "penalised") for cls in LOSSES.values())
    assert all(issubclass(cls, Penalised) == (cls.refit == "penalised") for cls in LOSSES.values())
