"""The wrapper ./run waits for its command, which may have something to save."""

import os
import runpy
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

RUN = Path(__file__).parent.parent / "run"
WRAPPER = f"""
import runpy, sys
sys.exit(runpy.run_path({str(RUN)!r})["call"]([sys.executable, "-c", sys.argv[1]]))
"""
COMMAND = """
import sys
import tomllib
try:
    print("ready", flush=True)
    sys.stdin.readline()
except KeyboardInterrupt:
    print("saving", flush=True)
    sys.stdin.readline()
    print("saved", flush=True)
    sys.exit(7)
"""


def test_exit_codes_are_passed_on():
    call = runpy.run_path(str(RUN))["call"]
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        assert [call([sys.executable, "-c", f"raise SystemExit({code})"]) for code in (0, 3)] == [0, 3]
    finally:
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
            signal.signal(number, handler)


def test_benchmarks_that_compare_exist_and_so_does_what_they_install():
    comparing = runpy.run_path(str(RUN))["COMPARING"]
    assert all((RUN.parent / "benchmarks" / f"{name}.py").exists() for name in comparing)
    groups = tomllib.loads((RUN.parent / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    packages = {package.split(">")[0] for package in groups["bench"]}
    assert packages == {"catboost", "lightgbm", "openml", "pmlb", "reservoirpy", "river", "swimnetworks", "xgboost"}


if os.name == "posix":

    @pytest.fixture
    def wrapper():
        """The wrapper with a command that says when it is ready."""
        process = subprocess.Popen(
            [sys.executable, "-c", WRAPPER, COMMAND],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        with process:
            assert process.stdout.readline() == "ready\n"
            yield process

    def test_ctrl_c_waits_for_the_command(wrapper):
        """A terminal sends the signal to both."""
        os.killpg(wrapper.pid, signal.SIGINT)
        assert wrapper.stdout.readline() == "saving\n"
        out, _ = wrapper.communicate("\n")
        assert (out, wrapper.returncode) == ("saved\n", 7)

    def test_sigterm_is_passed_on(wrapper):
        wrapper.send_signal(signal.SIGTERM)
        assert wrapper.wait() == 128 + signal.SIGTERM
