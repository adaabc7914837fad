"""Intervals that follow a stream keep their coverage, whatever the errors do."""

import numpy as np
import pytest

from skscn.adaptive_intervals import RATE, AdaptiveWidth, conformal_rank

RNG = np.random.default_rng(0)
N = 6000
SIZES = {
    "stationary": np.ones(N),
    "abrupt": np.where(np.arange(N) < N // 2, 1.0, 20.0),
    "falling": np.where(np.arange(N) < N // 2, 20.0, 1.0),
    "growing": np.exp(np.arange(N) / 1000),
    "recurring": 1.0 + 4.0 * (np.arange(N) // 700 % 2),
}


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("kind", SIZES)
def test_coverage_of_every_window_of_2000_rows(kind, coverage):
    errors = np.abs(RNG.standard_t(4, size=(N, 1))) * SIZES[kind][:, np.newaxis]
    adaptive = AdaptiveWidth(coverage, errors[:50])
    hits = np.concatenate([adaptive.hit(error) for error in errors])
    windows = np.convolve(hits, np.ones(2000) / 2000, mode="valid")
    assert np.abs(windows - coverage).max() < 0.02


def test_misses_differ_from_the_wanted_share_by_the_change_of_the_level_alone():
    errors = np.abs(RNG.normal(size=(300, 1)))
    adaptive = AdaptiveWidth(0.9, errors[:10])
    hits = [bool(adaptive.hit(error)[0]) for error in errors]
    assert np.mean(hits) - 0.9 == pytest.approx((0.9 - adaptive.level[0]) / (RATE * 300))


def test_outputs_are_steered_apart_and_unknown_targets_change_nothing():
    adaptive = AdaptiveWidth(0.9, [[1.0, 1.0], [2.0, 2.0]])
    adaptive.hit([100.0, 0.0])
    assert adaptive.level[0] > 0.9 > adaptive.level[1]
    before, recent = adaptive.level.copy(), len(adaptive.recent)
    adaptive.hit([np.nan, np.nan])
    assert (adaptive.level == before).all()
    assert len(adaptive.recent) == recent


def test_width_grows_until_it_covers():
    adaptive = AdaptiveWidth(0.9, np.ones((200, 1)))
    rows = next(n for n in range(200) if adaptive.hit([1000.0 + n])[0])
    assert rows < 20


def test_goes_on_where_it_was():
    errors = np.abs(RNG.normal(size=(900, 2)))
    one = AdaptiveWidth(0.9, errors[:20])
    for error in errors[:700]:
        one.hit(error)
    other = AdaptiveWidth.restored(one.coverage, one.level, one.recent)
    for error in errors[700:]:
        assert (one.hit(error) == other.hit(error)).all()
        assert (one.width == other.width).all()


def test_before_the_first_error_and_bad_coverage():
    assert np.isinf(AdaptiveWidth(0.9, np.empty((0, 1))).width).all()
    with pytest.raises(ValueError, match="coverage must be between 0 and 1"):
        AdaptiveWidth(1.0, np.ones((3, 1)))


def test_ranks_that_are_whole_stay_whole_whatever_rounding_does():
    """In floating point, 0.55 · 20 is above 11 and 0.07 · 100 above 7."""
    counts = np.arange(1, 2000)
    for percent in range(1, 100):
        exact = -(-(counts + 1) * percent // 100)
        np.testing.assert_array_equal(np.ceil(conformal_rank(counts, percent / 100)), exact)
