import pytest

from skscn.words import count, short, size


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (51449.7, "51,450"),
        (0.80112, "0.8011"),
        (0.0, "0"),
        (1e-7, "1e-07"),
        (-3.14159, "-3.142"),
        (1234567, "1,235,000"),
    ],
)
def test_numbers_for_people(number, text):
    assert short(number) == text


@pytest.mark.parametrize(
    ("n_bytes", "text"), [(0, "0 bytes"), (1023, "1023 bytes"), (2048, "2 kB"), (5 * 2**20, "5 MB")]
)
def test_sizes_for_people(n_bytes, text):
    assert size(n_bytes) == text


def test_counts_for_people():
    assert count(1, "row") == "1 row"
    assert count(2000, "row") == "2,000 rows"
