import pytest

from skscn.files import replace_file, replacing


def test_a_file_is_there_when_it_is_complete(tmp_path):
    path = tmp_path / "a"
    replace_file(path, b"old")
    with replacing(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a"
    replace_file(path, b"old")
    with pytest.raises(TypeError), replacing(path) as file:
        file.write("no bytes")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
