"""``skscn example``: tables to try the program with."""

import csv
import json

import pytest

from skscn.datasets import EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_writes_two_tables_and_says_what_to_type_next(skscn, tmp_path, name):
    done = skscn("example", name, "--folder", tmp_path / "new", "--json")
    facts = json.loads(done.stdout)
    for path, rows in zip(facts["files"], facts["rows"], strict=True):
        with open(path, newline="", encoding="utf-8") as file:
            assert len(list(csv.DictReader(file))) == rows
    assert facts["next"].startswith(f"skscn fit {facts['files'][0]} --target ")


def test_another_name_is_refused(skscn):
    assert "fluts is not one of flats, plant" in " ".join(skscn("example", "fluts", code=2).stderr.split())
