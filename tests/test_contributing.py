"""What CONTRIBUTING.md says is so: its commands, and which tests run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]


def test_it_lists_as_many_commands_as_it_says():
    (number,) = re.findall(r"^(\w+) commands:$", TEXT, re.MULTILINE)
    assert NUMBERS.index(number.lower()) == len(re.findall(r"^ {4}\S", TEXT, re.MULTILINE))


@pytest.mark.slow
def test_folders_that_are_not_collected_are_named_at_the_end():
    nothing = {**os.environ, "SKSCN_DATA": "", "SKSCN_BROWSER": "", "SKSCN_CC": "", "PATH": ""}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "-q", "tests/test_words.py"]
    done = subprocess.run(command, cwd=ROOT, env=nothing, capture_output=True, text=True, encoding="utf-8")
    assert "tests/paper_data was not collected; to run it, name the folder" in done.stdout
    assert "tests/browser was not collected; to run it, install Chromium" in done.stdout
    assert "tests/c_code was not collected; to run it, install a C compiler" in done.stdout
    assert "Slow tests were left out; to run them: ./run test -m slow." in done.stdout
    there = nothing | {"SKSCN_DATA": str(ROOT), "SKSCN_BROWSER": sys.executable, "SKSCN_CC": sys.executable}
    done = subprocess.run(command, cwd=ROOT, env=there, capture_output=True, text=True, encoding="utf-8")
    # Python makes no programs of 32 bits.
    assert re.findall(r"tests/(\S+) was not collected", done.stdout) == ["c_code/test_32_bits.py"]
