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
    assert reason == "as requested" if task != "auto" else reason.startswith("the target ")
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


def test_numbers_with_a_unit():
    target, reason = learn_target("y", pa.chunked_array([[f"{value / 4} °C" for value in MANY]]))
    assert (target.task, reason) == ("regression", "the target is numeric, in °C")
    y, _ = target.values(pa.chunked_array([["84.4 °C", None, "12"]]))
    assert y.tolist() == [84.4, 12.0]
    assert Target.from_json(target.to_json()) == target
    with pytest.raises(ValueError, match="'3 bar', where it held numbers in °C"):
        target.values(pa.chunked_array([["3 bar"]]))


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


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([2**53, 2**53 + 1, 2**53 + 2], "whole"),
        ([-(2**63), 2**63 - 1], "whole"),
        (pa.array([10**19 + 1, 10**19 + 2], pa.uint64()), "text"),
        (pa.array([10**30 + 1, 10**30 + 2], pa.decimal128(38)), "text"),
        ([str(10**30 + 1), str(10**30 + 2)], "text"),
        ([2.0**60, 2.0**61], "whole"),
        ([1e30, 2e30], "text"),
    ],
)
def test_whole_numbers_of_any_size_are_different_classes(values, kind):
    values = pa.array(values)
    column = pa.chunked_array([values] * 4)
    target, _ = learn_target("y", column)
    assert (target.kind, target.task) == (kind, "classification")
    y, present = target.values(column)
    assert present.all()
    expected = values.to_pylist() if kind == "whole" else values.cast(pa.string()).to_pylist()
    assert y.tolist() == expected * 4


def test_whole_numbers_are_read_exactly_from_text():
    target = Target("y", "whole")
    assert target.read_type == "string"
    y, present = target.values(pa.chunked_array([["9007199254740993", None, " 7 ", "-1"]]))
    assert y.tolist() == [2**53 + 1, 7, -1]
    assert present.tolist() == [True, False, True, True]
    assert target.values(pa.chunked_array([["1.0", "2.00", ""]]))[0].tolist() == [1, 2]
    assert target.values(pa.chunked_array([["1,0", "2,00"]]))[0].tolist() == [1, 2]
    y, present = target.values(pa.chunked_array([["7", "1e400", "9" * 400]]))
    assert (y.tolist(), present.tolist()) == ([7], [True, False, False]), "missing, as in every column"
    for texts in (["99999999999999999999"], ["1e25", "1"]):
        with pytest.raises(ValueError, match="a larger whole number than it did in training"):
            target.values(pa.chunked_array([texts]))


def test_labels_that_arrays_would_change_or_that_are_no_labels_are_refused():
    for label, sentence in (("a\0", "NUL character"), ("x" * 5000, "text of 5,000 characters")):
        with pytest.raises(ValueError, match=sentence):
            Target("y", "text").values(pa.chunked_array([["a", label]]))
