"""Files that any number of processes write and read at the same time."""

import errno
import io
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from skscn import SCNRegressor, load_model, save_model
from skscn.archive import Kind, read_archive, write_archive
from skscn.files import check_writable, make_folder, patiently, replace_file, replacing, replacing_text

posix = os.name == "posix"


def test_a_file_is_there_when_it_is_complete(tmp_path):
    path = tmp_path / "a"
    replace_file(path, b"old")
    with replacing(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_text_is_utf_8_with_the_line_ends_it_has(tmp_path):
    with replacing_text(tmp_path / "a") as file:
        file.write("ä\n")
    assert (tmp_path / "a").read_bytes() == b"\xc3\xa4\n"


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a"
    replace_file(path, b"old")
    with pytest.raises(TypeError), replacing(path) as file:
        file.write("no bytes")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_writers_of_one_path_do_not_share_a_file(tmp_path):
    path = tmp_path / "a"
    with replacing(path) as first, replacing(path) as second:
        first.write(b"first")
        second.write(b"second")
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


WRITER = """
import sys
from pathlib import Path
import numpy as np
from skscn.archive import Kind, write_archive
kind, number = Kind("model", 2, ValueError, "do something"), int(sys.argv[2])
for round in range(int(sys.argv[3])):
    write_archive(Path(sys.argv[1]), kind, {"number": number}, {"a": np.full(1000 + 5000 * number, float(number))})
"""


def test_two_processes_write_and_one_reads(tmp_path):
    """Every read is one of the two files, whole; benchmarks/concurrency.py has more rounds."""
    path, kind = tmp_path / "a", Kind("model", 2, ValueError, "do something")
    write_archive(path, kind, {"number": 0}, {"a": np.zeros(1000)})
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(number), "60"], stderr=subprocess.PIPE)
        for number in (0, 1)
    ]
    reads = 0
    while any(writer.poll() is None for writer in writers):
        about, arrays = read_archive(path, kind)
        assert (arrays["a"] == about["number"]).all()
        assert len(arrays["a"]) == 1000 + 5000 * about["number"]
        reads += 1
    assert [writer.communicate()[1] for writer in writers] == [b"", b""]
    assert reads > 10
    assert list(tmp_path.iterdir()) == [path]


# Windows has other permissions, and wants rights for links.
if posix:

    def test_those_of_a_file_are_kept(tmp_path):
        path = tmp_path / "a"
        path.touch()
        for mode in (0o600, 0o640, 0o666):
            path.chmod(mode)
            with replacing(path) as file:
                (partial,) = set(tmp_path.iterdir()) - {path}
                assert stat.S_IMODE(partial.stat().st_mode) == mode
                file.write(b"new")
            assert stat.S_IMODE(path.stat().st_mode) == mode

    def test_a_new_file_goes_by_the_umask(tmp_path):
        before = os.umask(0o027)
        try:
            replace_file(tmp_path / "a", b"new")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640

    def test_what_a_link_points_to_is_replaced(tmp_path):
        (tmp_path / "there").mkdir()
        link, target = tmp_path / "link", tmp_path / "there" / "file"
        link.symlink_to(target)
        for content in (b"made", b"replaced"):
            replace_file(link, content)
            assert link.is_symlink()
            assert target.read_bytes() == content
        assert os.listdir(tmp_path / "there") == ["file"]

    def test_a_link_of_the_old_temporary_name_is_left_alone(tmp_path):
        """Up to version 0.1 the file that it points to was overwritten."""
        victim = tmp_path / "victim"
        victim.write_bytes(b"precious")
        (tmp_path / ".a.partial").symlink_to(victim)
        replace_file(tmp_path / "a", b"new")
        assert victim.read_bytes() == b"precious"
        assert (tmp_path / ".a.partial").is_symlink()

    def test_links_in_a_circle_are_refused(tmp_path):
        (tmp_path / "a").symlink_to(tmp_path / "b")
        (tmp_path / "b").symlink_to(tmp_path / "a")
        with pytest.raises(OSError, match="a cannot be written"):
            check_writable(tmp_path / "a")


def unwritable(folder):
    """Paths that cannot be written, and why."""
    (folder / "folder").mkdir()
    (folder / "file").touch()
    yield folder / "folder", "is a folder; give the name of the file to write"
    yield folder / "none" / "a", f"cannot be written: there is no folder {folder / 'none'}; make it first"
    if posix:
        os.mkfifo(folder / "pipe")
        yield folder / "file" / "a", os.strerror(errno.ENOTDIR)
        yield folder / ("n" * 300), os.strerror(errno.ENAMETOOLONG)
        yield folder / "pipe", "it is not a regular file"
    if posix and os.getuid():
        (folder / "file").chmod(0o444)
        yield folder / "file", "it is read-only"
        (folder / "folder").chmod(0o555)
        yield folder / "folder" / "a", os.strerror(errno.EACCES)


def test_errors_name_the_file_and_the_reason(tmp_path):
    model = SCNRegressor(max_nodes=2, random_state=0).fit(np.arange(20.0)[:, np.newaxis], np.arange(20.0))
    for path, why in unwritable(tmp_path):
        for write in (check_writable, lambda path: replace_file(path, b""), lambda path: save_model(model, path)):
            with pytest.raises(OSError, match=r"is a folder|cannot be written") as error:
                write(path)
            assert str(path) in str(error.value)
            assert why in str(error.value)
    with pytest.raises(IsADirectoryError, match="The path is empty or the current folder"):
        save_model(model, "")
    with pytest.raises(OSError, match="folder cannot be written"):
        make_folder(tmp_path / "file" / "folder")


def test_a_file_that_can_be_written_is_left_as_it_is(tmp_path):
    (tmp_path / "old").write_bytes(b"old")
    for name in ("old", "new", "n" * 250):
        check_writable(tmp_path / name)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]
    # A name may be as long as the system allows, and nothing longer is needed meanwhile.
    replace_file(tmp_path / ("n" * 250), b"new")


def fill(path, size):
    """Write a file whose disk is full when it is written to, not when it is created."""
    with replacing(path) as file:
        with open("/dev/full", "wb") as full:
            os.dup2(full.fileno(), file.fileno())
        file.write(bytes(size))


if Path("/dev/full").exists():

    @pytest.mark.parametrize("size", [10, 10**6])
    def test_a_disk_that_is_full_is_named(tmp_path, size):
        with pytest.raises(OSError, match="a cannot be written: ") as error:
            fill(tmp_path / "a", size)
        assert error.value.errno == errno.ENOSPC
        assert list(tmp_path.iterdir()) == []


def test_errors_of_others_are_left_as_they_are(tmp_path):
    with pytest.raises(FileNotFoundError, match="other"), replacing(tmp_path / "a"):
        (tmp_path / "other").read_bytes()


def test_windows_is_asked_again():
    asked = []

    def busy():
        asked.append(1)
        if len(asked) < 3:
            raise PermissionError
        return "done"

    assert patiently(busy, [0.0, 0.0, 0.0]) == "done"
    with pytest.raises(PermissionError):
        patiently(lambda: (_ for _ in ()).throw(PermissionError), [0.0])


def test_a_model_is_read_once(tmp_path):
    """What takes its place while it is being read is not seen."""
    path = tmp_path / "m.scn"
    model = SCNRegressor(max_nodes=2, random_state=0).fit(np.arange(20.0)[:, np.newaxis], np.arange(20.0))
    save_model(model, path)

    class Vanishing(type(path)):
        def open(self, mode="r", **options):
            with super().open(mode, **options) as file:
                content = file.read()
            self.unlink()
            return io.BytesIO(content)

    kind = Kind("model", 2, ValueError, "do something")
    about, _ = read_archive(Vanishing(path), kind)
    assert about["model"]["class"] == "SCNRegressor"
    with pytest.raises(FileNotFoundError):
        load_model(path)
