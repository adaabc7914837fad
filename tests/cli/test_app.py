"""The program as a whole: help, options, errors."""

import os
import re
import subprocess
import sys

import pytest
from typer.main import get_command

from skscn import __version__
from skscn.cli.app import app

COMMANDS = sorted(get_command(app).commands)


def test_all_commands_are_there():
    names = "demo evaluate example export fit follow forecast inspect outliers predict report reproduce update"
    assert names.split() == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(skscn, command):
    assert f"Example: skscn {command} " in skscn(command, "--help").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_written_for_a_shell(skscn, command):
    assert not re.search(r"<bool>|\b(None|True|False)\b|``|[\[(]\d", skscn(command, "--help").stdout)


def test_version(skscn):
    assert skscn("--version").stdout == f"skscn {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--help"], "Usage"),
        (["fit", "{table}", "--target", "prize", "--model", "m.scn"], "There is no column 'prize'"),
        (["fit", "{table}", "--target", "price", "--model", "m.scn", "--drop", "sise"], "There is no column 'sise'"),
        (["predict", "{table}", "{table}", "--keep", "sise"], "There is no column 'sise'"),
        (["evaluate", "missing.scn", "{table}"], "There is no model file"),
        (["predict", "{table}", "missing.csv"], "There is no file missing.csv"),
        (["evaluate", "{table}", "missing.csv"], "There is no file missing.csv"),
        (["update", "{table}", "missing.csv"], "There is no file missing.csv"),
        (["report", "{table}", "missing.csv"], "There is no file missing.csv"),
        (["forecast", "{table}", "--inputs", "missing.csv"], "There is no file missing.csv"),
    ],
)
def test_help_and_misspelt_names_import_nothing_heavy(arguments, said, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("size,price\n1,2\n3,4\n", encoding="utf-8")
    arguments = [argument.format(table=table) for argument in arguments]
    program = (
        f"import sys; sys.argv = ['skscn', *{arguments!r}]\n"
        "from skscn.cli import main\n"
        "try: main()\n"
        "finally: print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, encoding="utf-8")
    loaded = set(done.stdout.splitlines()[-1].split())
    assert said in done.stdout + done.stderr
    assert "typer" in loaded, done.stderr
    assert not loaded & {"sklearn", "scipy", "pandas", "pyarrow", "matplotlib"}


def test_ctrl_c_while_python_shuts_down_is_not_worth_a_word():
    program = (
        "import atexit, signal, sys; sys.argv = ['skscn', '--version']\n"
        "atexit.register(signal.raise_signal, signal.SIGINT)\n"
        "from skscn.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fti"], "Did you mean 'fit'"),
        (["fit", "a.csv", "--taget", "y"], "--target"),
        (["fit", "a.csv", "--target", "y"], "Missing option '--model'"),
        (["fit", "a.csv", "-t", "y", "-m", "m.scn", "--task", "regresion"], "'regression'"),
        (["predict", "m.scn", "a.csv", "--interval", "90"], "must lie between 0 and 1"),
        (["predict"], "Missing argument"),
        (["fit", "a.csv", "-t", "y", "-m", "m.scn", "--cv", "1"], "must be 0 or at least 2"),
        (["fit", "a.csv", "-t", "y", "-m", "m.scn", "--set", "maxnodes=3"], "did you mean 'max_nodes'"),
        (["fit", "a.csv", "-t", "y", "-m", "m.scn", "--set", "max_nodes"], "needs name=value"),
        (["fit", "a.csv", "-t", "y", "-m", "m.scn", "--set", "random_state=3"], "use --seed"),
        (["fit", "a.csv", "-t", "y", "-m", "m.scn", "--set", "loss=huber"], "use --loss"),
        (["fit", "a.csv", "-t", "y", "-m", "m.scn", "--loss", "hubr"], "did you mean 'huber'"),
        (["fit", "a.csv", "-t", "y", "-m", "m.scn", "--quantile", "0.9"], "needs --loss quantile"),
        (["fit", "a.csv", "-t", "y", "-m", "m.scn", "--loss", "quantile", "--quantile", "90"], "between 0 and 1"),
    ],
)
def test_wrong_usage_has_code_2(skscn, arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n", encoding="utf-8")
    (tmp_path / "m.scn").touch()
    done = skscn(*arguments, code=2)
    assert sentence in re.sub(r"[\s│]+", " ", done.stderr)


def test_a_traceback_for_those_who_ask(skscn, monkeypatch, tmp_path):
    monkeypatch.setenv("SKSCN_TRACEBACK", "1")
    with pytest.raises(ValueError, match="There is no model"):
        skscn("inspect", tmp_path / "no.scn")


@pytest.mark.slow
def test_no_colour_where_it_is_not_wanted(tmp_path):
    command = [sys.executable, "-m", "skscn.cli", "inspect", str(tmp_path / "no.scn")]
    environment = {**os.environ, "NO_COLOR": "1", "FORCE_COLOR": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert "\x1b" not in done.stderr
