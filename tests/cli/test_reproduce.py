"""``skscn reproduce`` on DB 1, which needs no files."""

import os
import signal
import subprocess
import sys

import pytest

ENVIRONMENT = {**os.environ, "PYTHONUNBUFFERED": "1", "SKSCN_DATA": ""}

# The program, which says when a trial is kept, and hears Ctrl-C even if it was started in the background.
TELLING = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from skscn.cli import main
from skscn.paper.trials import TrialStore
keep = TrialStore.keep
def told(*arguments):
    keep(*arguments)
    print("kept", flush=True)
TrialStore.keep = told
main()
"""


def command(*arguments):
    return [sys.executable, "-m", "skscn.cli", "reproduce", *map(str, arguments)]


def after(trials, *arguments):
    """The command, running, when it has kept some trials."""
    process = subprocess.Popen(
        [sys.executable, "-c", TELLING, "reproduce", *map(str, arguments)],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    for _ in range(trials):
        assert process.stdout.readline() == "kept\n"
    return process


def run(*arguments, environment=ENVIRONMENT):
    return subprocess.run(command(*arguments), capture_output=True, text=True, encoding="utf-8", env=environment)


@pytest.mark.slow
def test_tables_figures_and_page_are_written(tmp_path):
    done = run("table1", "table4", "figure1", "figure3", "figure4", "--trials", 2, "--jobs", 2, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    names = ["table1.csv", "table4.csv", "index.html"]
    names += [f"figure{number}.{kind}" for number in (1, 3, 4) for kind in ("svg", "png")]
    for name in names:
        assert str(tmp_path / name) in done.stdout
        assert (tmp_path / name).stat().st_size > 0
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http://www.w3.org", "")
    assert page.count("<img") == page.count('alt="') == 3
    assert "0.0097 ± 0.0036" in page


@pytest.mark.slow
@pytest.mark.parametrize("trials", [3])
def test_killed_and_started_again_it_gives_the_same_tables(tmp_path, trials):
    arguments = ("table1", "--trials", 6, "--jobs", 1)
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    assert run(*arguments, "--out", undisturbed).returncode == 0
    with after(trials, *arguments, "--out", killed) as process:
        process.kill()
    assert run(*arguments, "--out", killed).returncode == 0
    assert (killed / "table1.csv").read_bytes() == (undisturbed / "table1.csv").read_bytes()


def test_one_method_alone(tmp_path):
    done = run("table1", "--method", "SC-III", "--trials", 2, "--jobs", 1, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "SC-III.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 5
    assert all(",SC-III," in line for line in lines[1:])


@pytest.mark.slow
def test_the_page_shows_both_searches_once_both_have_been_run(tmp_path):
    arguments = ("table1", "--trials", 1, "--jobs", 1, "--out", tmp_path)
    for search in ("ladder", "renewal"):
        done = run(*arguments, "--search", search)
        assert done.returncode == 0, done.stderr
    # What the first run has completed is shown again.
    assert str(tmp_path / "table1.csv") in done.stdout
    assert str(tmp_path / "table1_renewal.csv") in done.stdout
    assert "Search: renewal" in (tmp_path / "index.html").read_text(encoding="utf-8")
    lines = [(tmp_path / f"table1{end}.csv").read_text(encoding="utf-8").splitlines() for end in ("", "_renewal")]
    same = [one.split(",")[2] for one, other in zip(*lines, strict=True) if one == other]
    assert set(same) == {"method", "MQ", "IRVFL"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("tabel1",), "tabel1 is not one of"),
        (("table1", "--method", "SC"), "SC is not one of"),
        (("table1", "--search", "lader"), "lader is not one of ladder, renewal"),
    ],
)
def test_typing_errors_are_usage_errors(tmp_path, arguments, sentence):
    done = run(*arguments, "--out", tmp_path)
    assert done.returncode == 2
    assert sentence in " ".join(done.stderr.replace("│", " ").split())


def test_a_missing_data_set_is_one_sentence(tmp_path):
    (tmp_path / "stock.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    done = run(
        "table5",
        "--trials",
        1,
        "--jobs",
        1,
        "--out",
        tmp_path / "out",
        environment=ENVIRONMENT | {"SKSCN_DATA": str(tmp_path)},
    )
    assert done.returncode == 1
    assert "is not the data set stock" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


if sys.platform != "win32":

    def test_ctrl_c_says_that_nothing_is_lost(tmp_path):
        process = after(1, "table1", "--trials", 200, "--jobs", 1, "--out", tmp_path)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        assert process.returncode == 130
        assert "the same command continues from there" in " ".join(errors.split())
