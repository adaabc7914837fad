import pytest

from skscn.words import listed, nearest, not_found, printable, quoted, refuse_twins, shortened


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
