"""Means of targets for categories of high cardinality."""

import numpy as np
import pyarrow as pa
import pytest

from skscn.tables.columns import Category
from skscn.tables.row_encoder import encode_table
from skscn.tables.target_means import folds_of, learn_target_means
from skscn.tables.values import text_values

RNG = np.random.default_rng(0)
N = 1000
CODES = RNG.integers(0, 200, N)
TEXTS = [f"level {code:03}" for code in CODES]
EFFECTS = RNG.normal(size=200)
COLUMN = Category("zip", (), others=True, missing=False)


def learn(targets, weights=None, texts=TEXTS):
    rows = np.column_stack([np.arange(len(texts)), targets])
    weights = np.ones(len(texts)) if weights is None else weights
    return learn_target_means(COLUMN, text_values(texts), targets.reshape(len(texts), -1), weights, folds_of(rows))


def test_means_recover_effects_and_unknown_categories_get_the_overall_mean():
    y = EFFECTS[CODES] + 0.1 * RNG.normal(size=N)
    column, shown = learn(y)
    means = column.encode(text_values([*column.levels, "unheard of"]))[:, -1]
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
    others, _ = learn(y[repeated], None, [TEXTS[row] for row in repeated])
    found = dict(zip(some.levels, some.means, strict=True))
    for level, means in zip(others.levels, others.means, strict=True):
        np.testing.assert_allclose(found[level], means, rtol=1e-9)


def test_a_missing_category_has_a_mean_of_its_own():
    texts = [None if code < 100 else f"level {code}" for code in CODES]
    column, _ = learn(np.where(CODES < 100, 5.0, EFFECTS[CODES]), None, texts)
    assert column.absent[0] == pytest.approx(5.0, abs=0.1)
    assert column.encode(text_values([None, ""]))[:, -1] == pytest.approx(5.0, abs=0.1)


def frame_with_names(effect, rows=300, names=400):
    """Numbers that the target depends on, and names most of which occur once."""
    rng = np.random.default_rng(1)
    codes = rng.choice(names, rows, p=rng.dirichlet(np.ones(names)))
    numbers = rng.normal(size=(rows, 3))
    y = numbers[:, 0] + np.sin(numbers[:, 1]) + effect * rng.normal(size=names)[codes] + 0.3 * rng.normal(size=rows)
    columns = {f"x{place}": column for place, column in enumerate(numbers.T)}
    return pa.table({**columns, "name": [f"car {code}" for code in codes]}), y[:, np.newaxis]


def test_names_that_hardly_repeat_are_used_if_their_means_help():
    for effect, used in ((0.0, False), (5.0, True)):
        frame, y = frame_with_names(effect)
        encoder, _ = encode_table(frame, (), y, np.ones(len(y)))
        assert ("name" in encoder.table.groups_) == used
        assert ("name" in encoder.table.left_out_) != used
        assert any("name" in note and note.startswith("Left out") for note in encoder.table.notes_) != used
        assert encoder.transform(frame).shape == (300, encoder.width)


def test_names_are_kept_where_there_is_nothing_else():
    frame, y = frame_with_names(0.0)
    encoder, _ = encode_table(frame.select(["name"]), (), y, np.ones(len(y)))
    assert list(encoder.table.groups_) == ["name"]


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
