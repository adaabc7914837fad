"""Where the commands may write: never over what they read, and never after work that is lost."""

import errno
import os
import re
import shutil

import pytest

from skscn.cli.console import check_files
from skscn.cli.fitting import path_to_write


@pytest.fixture
def here(houses, houses_model, tmp_path, monkeypatch):
    shutil.copy(houses, tmp_path / "a.csv")
    shutil.copy(houses_model, tmp_path / "m.scn")
    shutil.copy(houses_model, tmp_path / "m.onnx")
    shutil.copy(houses_model, tmp_path / "m.html")
    (tmp_path / "none.scn").touch()
    for name in ("folder", "folder.csv", "folder.png"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


# What systems say in their own words.
POSIX = [
    (f"fit none.csv -t y -m {'n' * 300}", f"{'n' * 300} cannot be written: {os.strerror(errno.ENAMETOOLONG)}."),
    ("fit none.csv -t y -m a.csv/m.scn", f"a.csv/m.scn cannot be written: {os.strerror(errno.ENOTDIR)}."),
    ("demo --out a.csv/b/demo.png", f"a.csv/b cannot be written: {os.strerror(errno.ENOTDIR)}."),
    ("reproduce table1 --out a.csv/b", f"a.csv/b cannot be written: {os.strerror(errno.ENOTDIR)}."),
]


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    "command",
    [
        "fit a.csv -t price -m a.csv",
        "fit a.csv -t price -m ./../{folder}/a.csv",
        "fit . -t price -m a.csv",
        "predict m.scn a.csv -o a.csv",
        "outliers m.scn a.csv -o a.csv",
        "report m.html a.csv -o m.html",
        "export m.onnx m.onnx",
    ],
)
def test_what_is_read_is_not_written_over(skscn, here, command):
    before = contents(here)
    done = skscn(*command.format(folder=here.name).split(), code=1)
    assert re.search(r"is one of the input files; writing to it would destroy it", done.stderr)
    assert done.stderr.count("\n") == 1
    assert contents(here) == before


def test_another_name_of_the_same_file(here):
    os.link("a.csv", "b.csv")
    with pytest.raises(ValueError, match="would destroy it"):
        check_files(here / "b.csv", [here / "a.csv"])
    check_files(here / "m.scn", [here / "a.csv"])


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("fit none.csv -t y -m nodir/m.scn", "nodir/m.scn cannot be written: there is no folder nodir; make it first."),
        (
            "predict none.scn none.csv -o nodir/p.csv",
            "nodir/p.csv cannot be written: there is no folder nodir; make it first.",
        ),
        (
            "report none.scn none.csv -o nodir/r.html",
            "nodir/r.html cannot be written: there is no folder nodir; make it first.",
        ),
        ("export none.scn nodir/m.onnx", "nodir/m.onnx cannot be written: there is no folder nodir; make it first."),
        ("predict none.scn none.csv -o p.xlsx", "p.xlsx must end in one of .csv, .tsv, .parquet."),
        ("outliers none.scn none.csv -o o.xlsx", "o.xlsx must end in one of .csv, .tsv, .parquet."),
        ("report none.scn none.csv -o r.txt", "r.txt must end in one of .html, .htm."),
        ("export none.scn m.txt", "m.txt must end in one of .onnx, .c."),
        ("fit none.csv -t y -m folder", "folder is a folder; give the name of the file to write."),
        ("predict none.scn none.csv -o folder.csv", "folder.csv is a folder; give the name of the file to write."),
        ("demo --out demo.txt", "demo.txt must end in one of .png, .svg, .pdf, .jpg, .webp."),
        ("demo --out folder.png", "folder.png is a folder; give the name of the file to write."),
        ("reproduce table1 --out a.csv", "a.csv is a file; give the name of a folder."),
        ("fit none.csv -t y -m .", "The path is empty or the current folder; give the name of the file to write."),
        *(POSIX if os.name == "posix" else []),
    ],
)
def test_a_place_that_will_not_do_is_the_first_thing_said(skscn, here, command, sentence):
    assert skscn(*command.split(), code=1).stderr.replace("\\", "/") == f"Error: {sentence}\n"


def test_what_was_cut_short_goes_beside_a_model(tmp_path):
    path = tmp_path / "m.scn"
    assert path_to_write(path) == path
    path.touch()
    assert path_to_write(path) == tmp_path / "m.partial.scn"
