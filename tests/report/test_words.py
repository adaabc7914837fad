import numpy as np
import pytest

from skscn.report._words import alike, enumerated, number, percent, share
from skscn.words import count


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
    assert alike([1e-9, np.nan]) == ["1.00e−09", "–"]
    assert [share(value) for value in (0.5, np.nan)] == ["50.0\N{NO-BREAK SPACE}%", "–"]


def test_what_is_no_number():
    assert [number(value) for value in (np.inf, -np.inf, np.nan)] == ["∞", "−∞", "–"]
    assert percent(np.nan) == "–"


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.5, "50"), (0.123, "12"), (0.95, "95"), (0.9512, "95.1"), (0.0, "0"), (1.0, "100"), (-0.02, "−2")],
)
def test_shares(share, text):
    assert percent(share) == f"{text}\N{NO-BREAK SPACE}%"


def test_counts_and_lists():
    assert (count(1, "class", "classes"), count(2000, "class", "classes")) == ("1 class", "2,000 classes")
    assert [enumerated(list(names)) for names in ("", "a", "ab", "abc")] == ["", "a", "a and b", "a, b and c"]
