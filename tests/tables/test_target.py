import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from skscn.tables import Target, learn_target

FRACTIONS = [0.5, 1.25, 2.0, None, 3.75, 4.5] * 3
MANY = list(range(20))


@pytest.mark.parametrize(
    ("values", "task", "kind"),
    [
        (FRACTIONS, "auto", "number"),
        (MANY, "auto", "number"),
        ([f"{1000 * value:,}" for value in MANY], "auto", "number"),
        ([0, 1, 2] * 4, "auto", "whole"),
        ([0.0, 1.0, None] * 4, "auto", "whole"),
        ([1, 2, 3], "auto", "number"),
        (["a", "b", None] * 4, "auto", "text"),
        (pa.array(["1", "2"] * 4).dictionary_encode(), "auto", "text"),
        ([True, False, None] * 4, "auto", "boolean"),
        ([True, False] * 4, "regression", "number"),
        ([0, 1, 2] * 4, "regression", "number"),
        (["1", "2"] * 4, "regression", "number"),
        (MANY, "classification", "whole"),
        (["1,5", "2,5"] * 4, "classification", "text"),
    ],
)
def test_the_task_is_what_the_values_are(values, task, kind):
    column = pa.chunked_array([values])
    target, reason = learn_target("y", column, task)
    assert target.kind == kind
    assert target.task == ("regression" if kind == "number" else "classification")
    assert reason == "as asked" if task != "auto" else reason.startswith("holds ")
    y, present = target.values(column)
    np.testing.assert_array_equal(present, [value is not None for value in column.to_pylist()])
    assert len(y) == present.sum()
    if kind != "number":
        assert y.tolist() == [value for value in column.to_pylist() if value is not None]
    assert Target.from_json(target.to_json()) == target


def test_numbers_written_as_text():
    target, _ = learn_target("y", pa.chunked_array([[f"{value}.000,5" for value in range(1, 15)]]))
    y, _ = target.values(pa.chunked_array([["2.500,25"]]))
    assert y.tolist() == [2500.25]


@pytest.mark.parametrize(
    ("values", "task", "sentence"),
    [
        ([None, None], "auto", "no value in any row"),
        (["a", "1"], "regression", "holds 'a', which is not a number"),
        ([1.5, 2.0], "classification", "holds fractions such as 1.5"),
        ([dt.date(2020, 1, 1)], "auto", "holds dates"),
    ],
)
def test_what_cannot_be_a_target_is_said(values, task, sentence):
    with pytest.raises(ValueError, match=sentence):
        learn_target("y", pa.chunked_array([values]), task)


def test_fractions_where_classes_were_whole_numbers():
    with pytest.raises(ValueError, match="fractions, where it held whole numbers"):
        Target("y", "whole").values(pa.chunked_array([[1.5]]))


@pytest.mark.parametrize(
    "state",
    [
        None,
        {},
        {"name": "y", "kind": "number"},
        {"name": 1, "kind": "number", "decimal": None},
        {"name": "y", "kind": "date", "decimal": None},
        {"name": "y", "kind": [], "decimal": None},
        {"name": "y", "kind": "number", "decimal": ";"},
        {"name": "y", "kind": "number", "decimal": None, "more": 1},
    ],
)
def test_a_hostile_state_is_refused(state):
    with pytest.raises(ValueError, match=r"\.$"):
        Target.from_json(state)
