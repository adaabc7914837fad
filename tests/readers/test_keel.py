import numpy as np
import pytest

from skscn.datasets import DataFileError, read_keel

HEADER = "@relation demo\n@attribute a real [0, 1]\n@attribute 'b c' integer[1,9]\n@attribute y real\n"


def write(tmp_path, text):
    path = tmp_path / "demo.dat"
    path.write_text(text, encoding="utf-8")
    return path


def test_inputs_and_outputs_are_those_of_the_header(tmp_path):
    bunch = read_keel(write(tmp_path, HEADER + "@inputs y, a\n@outputs b c\n@data\n0.5, 3, 7\n0.25,4,8\n\n"))
    assert bunch.name == "demo"
    assert bunch.feature_names == ["y", "a"]
    assert bunch.target_names == ["b c"]
    np.testing.assert_array_equal(bunch.data, [[7, 0.5], [8, 0.25]])
    np.testing.assert_array_equal(bunch.target, [3, 4])


def test_without_them_the_last_attribute_is_the_output(tmp_path):
    bunch = read_keel(write(tmp_path, "% a comment\n" + HEADER + "@data\n1,2,3\n"))
    assert bunch.feature_names == ["a", "b c"]
    np.testing.assert_array_equal(bunch.target, [3])


def test_several_outputs(tmp_path):
    bunch = read_keel(write(tmp_path, HEADER + "@outputs a, y\n@data\n1,2,3\n"))
    np.testing.assert_array_equal(bunch.target, [[1, 3]])
    assert bunch.feature_names == ["b c"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (HEADER + "@data\n1,2\n", "row 1 after @data has 2 values instead of 3"),
        (HEADER + "@data\n1,2,red\n", "could not convert string to float"),
        (HEADER + "@attribute colour {red, blue}\n@data\n1,2,3,red\n", "not a real or integer attribute"),
        (HEADER + "@outputs z\n@data\n1,2,3\n", "no @attribute line for .*z"),
        ("a,b,c\n1,2,3\n", "not a line of a KEEL header"),
        ("@data\n", "no @attribute line for any column"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, sentence):
    with pytest.raises(DataFileError, match=sentence):
        read_keel(write(tmp_path, text))
