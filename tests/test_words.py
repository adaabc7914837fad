import math

import pytest

from skscn.words import (
    alike,
    count,
    enumerated,
    listed,
    nearest,
    not_found,
    number,
    percent,
    printable,
    quoted,
    refuse_twins,
    share,
    shortened,
)


def test_the_last_of_many_names_are_counted():
    assert listed("abc") == "a, b, c"
    assert listed(map(str, range(25))).endswith("18, 19 and 5 more")


def test_what_may_have_been_meant_whatever_the_case():
    assert nearest("PRISE", ["Price", "size"]) == "Price"
    assert nearest("town", ["Price", "size"]) is None
    assert not_found("column", "prize", ["price"]) == (
        "There is no column 'prize'; did you mean 'price'? The columns are price."
    )
    assert not_found("column", "x", ["price"]) == "There is no column 'x'; the columns are price."


def test_a_name_cannot_steer_a_terminal():
    assert printable("a\x1b[31mb\x9bc\td\né") == "a [31mb c d\né"


def test_two_columns_of_one_name():
    refuse_twins(["a", "A"])
    with pytest.raises(ValueError, match="several columns 'a'"):
        refuse_twins(["a", "b", "a"])


def test_long_names_lose_their_middle_and_control_characters():
    assert shortened("short") == "short"
    assert len(shortened("x" * 10**6)) == 60
    assert shortened("a" * 40 + "b" * 40) == "a" * 30 + "…" + "b" * 29
    assert quoted("a\x1b[31m\nb") == "'a [31m b'"
    assert len(listed(["x" * 10**6] * 30)) < 1500
    assert len(not_found("column", "y" * 10**6, ["x" * 10**6, "z"])) < 400


def test_the_work_of_finding_twins_grows_with_the_number_of_names():
    comparisons = []

    class Name(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            comparisons.append(1)
            return str.__eq__(self, other)

    refuse_twins([Name(i) for i in range(2000)])
    assert len(comparisons) < 2000


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (7.0, "7"),
        (1.4, "1.40"),
        (-0.05, "−0.0500"),
        (123.4, "123"),
        (12345.6, "12,346"),
        (3e-9, "3.00e−09"),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


def test_numbers_of_one_kind_have_as_many_digits():
    assert alike([2.69, 2.4, 11.0]) == ["2.69", "2.40", "11.00"]
    assert alike([0.94, 0.919, 0.0, -0.5]) == ["0.940", "0.919", "0.000", "−0.500"]
    assert alike([1200.4, 3.0]) == ["1,200", "3"]
    assert alike([5.0, 1000.0]) == ["5", "1,000"]
    assert alike([1e-9, math.nan]) == ["1.00e−09", "–"]
    assert [share(value) for value in (0.5, math.nan)] == ["50.0\N{NO-BREAK SPACE}%", "–"]


def test_what_is_no_number():
    assert [number(value) for value in (math.inf, -math.inf, math.nan)] == ["∞", "−∞", "–"]
    assert percent(math.nan) == "–"


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.5, "50"), (0.123, "12"), (0.95, "95"), (0.9512, "95.1"), (0.0, "0"), (1.0, "100"), (-0.02, "−2")],
)
def test_shares(share, text):
    assert percent(share) == f"{text}\N{NO-BREAK SPACE}%"


def test_counts_and_lists():
    assert (count(1, "class", "classes"), count(2000, "class", "classes")) == ("1 class", "2,000 classes")
    assert [enumerated(list(names)) for names in ("", "a", "ab", "abc")] == ["", "a", "a and b", "a, b and c"]
