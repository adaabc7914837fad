"""Missing numbers filled in by regression on other columns, and which of them are marked."""

import numpy as np
import pytest

from skscn.scaling import medians_of
from skscn.tables.filling import learn_filling

RNG = np.random.default_rng(0)
FACTORS = RNG.normal(size=(600, 2))
X = FACTORS @ RNG.normal(size=(2, 5)) + 0.1 * RNG.normal(size=(600, 5))
Y = np.sin(2.0 * X[:, :1])
HOLES = RNG.random(X.shape) < 0.2
GAPS = np.where(HOLES, np.nan, X)


def learn(rows, targets=Y, weights=None):
    return learn_filling(rows, targets, np.ones(len(rows)) if weights is None else weights)


def test_known_numbers_stay_and_missing_ones_are_near_the_truth():
    filled = learn(GAPS)(GAPS)[:, :5]
    np.testing.assert_array_equal(filled[~HOLES], X[~HOLES])
    medians = np.broadcast_to(np.nanmedian(GAPS, axis=0), X.shape)
    assert np.mean((filled - X)[HOLES] ** 2) < 0.1 * np.mean((medians - X)[HOLES] ** 2)


def test_a_row_is_filled_in_whatever_the_other_rows_are():
    filling = learn(GAPS)
    np.testing.assert_allclose(
        np.vstack([filling(row[np.newaxis]) for row in GAPS[:20]]), filling(GAPS)[:20], atol=1e-12
    )


def test_what_is_filled_in_stays_within_the_range_of_training():
    filling = learn(GAPS)
    row = np.array([[np.nan, 1e9, 1e9, 1e9, 1e9]])
    assert np.nanmin(GAPS[:, 0]) <= filling(row)[0, 0] <= np.nanmax(GAPS[:, 0])


def test_columns_without_gaps_in_training_get_their_median():
    rows = GAPS.copy()
    rows[:, 3] = X[:, 3]
    filling = learn(rows)
    assert 3 not in filling.columns
    assert filling(np.full((1, 5), np.nan))[0, 3] == np.median(X[:, 3])


@pytest.mark.parametrize(
    "rows", [np.full((5, 2), np.nan), np.array([[np.nan, 1.0]]), np.array([[1e308, 1], [-1e308, np.nan]] * 9)]
)
def test_hardly_anything_known(rows):
    filled = learn(rows, np.arange(float(len(rows)))[:, np.newaxis])(rows)
    assert np.isfinite(filled).all()


def test_many_columns_get_medians():
    rows = np.where(RNG.random((50, 60)) < 0.1, np.nan, 1.0)
    assert len(learn(rows, Y[:50]).slopes) == 0


def test_rows_of_weight_0_and_repeated_rows():
    weights = np.arange(600) % 3.0
    repeated = np.repeat(np.arange(600), weights.astype(int))
    some, others = learn(GAPS, Y, weights), learn(GAPS[repeated], Y[repeated])
    np.testing.assert_allclose(some.slopes[0], others.slopes[0], rtol=0.2, atol=0.05)
    strange = np.where(weights[:, np.newaxis] == 0.0, 1e6, GAPS)
    np.testing.assert_array_equal(learn(strange, Y, weights).slopes, some.slopes)


def test_marks_are_kept_where_they_tell():
    alone = RNG.normal(size=(600, 3))
    holes = RNG.random(600) < 0.3
    rows = alone.copy()
    rows[holes, 0] = np.nan
    assert list(learn(rows, (alone[:, 1] + 3.0 * holes)[:, np.newaxis]).marked) == [0]
    assert len(learn(rows, alone[:, 1:2]).marked) == 0
    # Columns that are missing in the same rows have one mark.
    rows[holes, 2] = np.nan
    assert list(learn(rows, (alone[:, 1] + 3.0 * holes)[:, np.newaxis]).marked) == [0]


def test_marks_are_kept_where_the_function_is_far_from_linear():
    u = RNG.uniform(-1.0, 1.0, size=(1000, 1))
    rows = np.hstack([u, u**2 + 0.05 * RNG.normal(size=u.shape), RNG.normal(size=u.shape)])
    rows[RNG.random(1000) < 0.3, 0] = np.nan
    assert 0 in learn(rows, np.cos(4.0 * u)).marked


def test_medians():
    np.testing.assert_array_equal(medians_of(np.array([[1.0, np.nan], [3.0, np.nan]])), [2.0, 0.0])
    assert medians_of(np.full((2, 1), 1.7e308))[0] == 1.7e308
