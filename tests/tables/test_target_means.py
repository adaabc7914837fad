"""Means of targets for categories of high cardinality."""

import numpy as np
import pyarrow as pa
import pytest

from skscn.tables.columns import Category
from skscn.tables.row_encoder import encode_table
from skscn.tables.target_means import folds_of, learn_target_means

RNG = np.random.default_rng(0)
N = 1000
CODES = RNG.integers(0, 200, N)
TEXTS = pa.chunked_array([[f"level {code:03}" for code in CODES]])
EFFECTS = RNG.normal(size=200)
COLUMN = Category("zip", (), others=True, missing=False)


def learn(targets, weights=None, texts=TEXTS):
    rows = np.column_stack([np.arange(len(texts)), targets])
    weights = np.ones(len(texts)) if weights is None else weights
    return learn_target_means(COLUMN, texts, targets.reshape(len(texts), -1), weights, folds_of(rows))


def test_means_recover_effects_and_unknown_categories_get_the_overall_mean():
    y = EFFECTS[CODES] + 0.1 * RNG.normal(size=N)
    column, shown = learn(y)
    means = column.encode(pa.chunked_array([[*column.levels, "unheard of"]]))[:, -1]
    places = [int(level.split()[1]) for level in column.levels]
    np.testing.assert_allclose(means[:-1], EFFECTS[places], atol=0.4)
    assert means[-1] == pytest.approx(y.mean())
    assert np.corrcoef(shown[:, 0], y)[0, 1] > 0.9


def test_training_rows_do_not_find_their_own_target():
    noise = RNG.normal(size=N)
    column, shown = learn(noise)
    assert abs(np.corrcoef(shown[:, 0], noise)[0, 1]) < 0.15
    # Categories that do not differ are all drawn to the mean.
    assert np.ptp(column.table[:, 0]) < 0.5


def test_a_weight_is_a_number_of_equal_rows():
    y, weights = EFFECTS[CODES] + RNG.normal(size=N), (np.arange(N) % 3).astype(float)
    repeated = np.repeat(np.arange(N), weights.astype(int))
    some, _ = learn(y, weights)
    others, _ = learn(y[repeated], None, TEXTS.take(pa.array(repeated)))
    found = dict(zip(some.levels, some.means, strict=True))
    for level, means in zip(others.levels, others.means, strict=True):
        np.testing.assert_allclose(found[level], means, rtol=1e-9)


def test_a_missing_category_has_a_mean_of_its_own():
    texts = pa.chunked_array([[None if code < 100 else f"level {code}" for code in CODES]])
    column, _ = learn(np.where(CODES < 100, 5.0, EFFECTS[CODES]), None, texts)
    assert column.absent[0] == pytest.approx(5.0, abs=0.1)
    assert column.encode(pa.chunked_array([pa.array([None, ""], pa.string())]))[:, -1] == pytest.approx(5.0, abs=0.1)


def test_equal_rows_are_in_one_fold_wherever_they_stand():
    rows = RNG.integers(0, 3, (500, 4)).astype(float)
    order = RNG.permutation(500)
    np.testing.assert_array_equal(folds_of(rows)[order], folds_of(rows[order]))
    assert set(folds_of(RNG.normal(size=(100, 2)))) == set(range(5))
    np.testing.assert_array_equal(folds_of(np.array([[0.0], [-0.0]])), folds_of(np.zeros((2, 1))))


def test_few_categories_have_columns_of_their_own_and_many_means():
    table = pa.table({"few": [f"a{code % 20}" for code in CODES], "many": [f"b{code % 21}" for code in CODES]})
    encoder, numbers = encode_table(table, (), RNG.normal(size=(N, 1)), np.ones(N))
    few, many = encoder.table.columns_
    assert (len(few.encoded_names), len(many.encoded_names)) == (20, 12)
    assert numbers.shape == (N, encoder.width) == (N, 32)
    assert list(map(len, encoder.groups)) == [20, 12]
    assert list(encoder.table.outside(pa.table({"few": ["a1"], "many": ["b20"]}))) == []
