"""Whether a table holds rows that a model was trained on."""

import json

import numpy as np
import pytest

from skscn.judging.sketch import RowSketch, seen_caution


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(5000, 3)), rng.normal(size=5000)


@pytest.fixture(scope="module")
def kept(rows):
    return json.loads(json.dumps(RowSketch().add(*rows).to_json()))


def share(X, y, notes):
    return RowSketch().add(X, y).share_in(notes)


def test_the_same_rows_in_any_order_and_in_batches(rows, kept):
    X, y = rows
    order = np.random.default_rng(1).permutation(len(y))
    sketch = RowSketch()
    for part in np.array_split(order, 7):
        sketch.add(X[part], y[part])
    assert sketch.share_in(kept) == 1.0
    assert sketch.to_json() == kept
    assert len(json.dumps(kept)) < 8000


def test_a_part_of_the_rows_and_new_rows(rows, kept):
    X, y = rows
    assert share(X[:1000], y[:1000], kept) == 1.0
    mixed = np.vstack([X[:1000], X[:3000] + 1.0]), np.append(y[:1000], y[:3000])
    assert share(*mixed, kept) == pytest.approx(0.25, abs=0.1)
    assert share(X + 1.0, y, kept) == 0.0
    assert share(X, -y, kept) == 0.0


def test_too_few_rows_of_the_sample_tell_nothing(rows, kept):
    X, y = rows
    assert share(X[:20], y[:20], kept) is None


def test_rows_that_repeat_are_not_taken_for_those_of_training():
    """Two independent tables of few different rows; only the same table is recognised."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(3, size=(900, 2)).astype(float), rng.integers(2, size=900)
    notes = RowSketch().add(X, y).to_json()
    assert RowSketch().add(X[::-1], y[::-1]).share_in(notes) == 1.0
    assert RowSketch().add(X[:300], y[:300]).share_in(notes) is None


def test_classes_may_be_words(rows):
    X, classes = rows[0], np.array(["a", "b"])
    y = classes[(X[:, 0] > 0.0).astype(int)]
    notes = RowSketch().add(X, y).to_json()
    assert RowSketch().add(X, y).share_in(notes) == 1.0


def test_notes_of_earlier_versions_tell_nothing(rows):
    assert share(*rows, None) is None
    assert share(*rows, {}) is None


@pytest.mark.parametrize(
    "forged", [{"rows": "5"}, {"sum": 5}, {"smallest": [1]}, {"smallest": "?"}, {"distinct": None}]
)
def test_forged_notes_tell_nothing(rows, kept, forged):
    assert share(rows[0][:1000], rows[1][:1000], {**kept, **forged}) is None


def test_sentences():
    assert seen_caution(None, "a.csv") is None
    assert seen_caution(0.0, "a.csv") is None
    assert "was trained on the rows of a.csv" in str(seen_caution(1.0, "a.csv"))
    assert "on about 25 % of the rows of a.csv" in str(seen_caution(0.25, "a.csv"))
