"""What the program does, done in Python by TableModel: predictions, intervals, scores and cautions must be the same.

    ./run bench in_python                  the stories of invocations.py; exit code 1 where something differs
    ./run bench in_python --only lags      those whose names or command lines contain a word

The program runs as a process of its own. Here, the same model is fitted from a data frame's point of view: with
parameters in place of options. Floats are compared bit for bit, and an error of the program must be one in Python, in
the same words. Left out are commands that only show or export a model, and errors that only a program can have: options
that exclude each other, and files that would be destroyed; these are printed.
"""

import argparse
import csv
import io
import json
import shlex
import shutil
import sys
import tempfile
from contextlib import chdir
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from invocations import STORIES, command_lines, run, selected, write_tables

from skscn import TableModel, assess
from skscn.cli.console import as_options
from skscn.words import finite

FLAGS = ("--json", "--quiet", "--feedback", "--shuffle", "--proba", "--follow", "--learn", "--spreadsheet")
SHORT = {"-t": "--target", "-m": "--model", "-o": "--out"}
REPEATED = ("--set", "--drop", "--keep")
MEGABYTE = 2**20
AS_JSON = ("fit", "evaluate", "update")
KINDS = ("same", "different", "left out")


def options_of(words: list[str]) -> tuple[list[str], dict[str, Any]]:
    """The arguments and the options of a command line; those that can be repeated are lists."""
    arguments, options, words = [], {name.strip("-"): [] for name in REPEATED}, list(words)
    while words:
        word = words.pop(0)
        name = SHORT.get(word, word)
        if name in FLAGS:
            options[name.strip("-")] = True
        elif name in REPEATED:
            options[name.strip("-")].append(words.pop(0))
        elif name.startswith("--"):
            options[name.strip("-")] = words.pop(0)
        else:
            arguments.append(word)
    return arguments, options


def parameters_of(options: dict[str, Any]) -> dict[str, Any]:
    """The parameters of TableModel that options of fit stand for."""
    names = ("target", "estimator", "loss", "task", "group", "weight", "time")
    given = {name: options[name] for name in names if name in options}
    numbers = {"cv": "folds", "delay": "delay", "seed": "random_state"}
    given |= {name: int(options[option]) for option, name in numbers.items() if option in options}
    given |= {"feedback": "feedback" in options, "class_weight": options.get("class-weight"), "n_jobs": 1}
    if "quantile" in options:
        given["loss"] += f":{options['quantile']}"
    if "shuffle" in options:
        given["time"] = False
    if "lags" in options:
        given["lags"] = options["lags"] if options["lags"] == "auto" else [*map(int, options["lags"].split(","))]
    if "memory-limit" in options:
        given["memory_limit"] = MEGABYTE * int(options["memory-limit"])
    settings = (text.split("=") for text in options["set"])
    return given | {"drop": options["drop"], "parameters": {name: number_or_text(value) for name, value in settings}}


def number_or_text(text: str) -> float | str:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return text
    return int(number) if text.isdecimal() else number


class InPython:
    """The models of a story, by the names of their files, and what the commands are in Python."""

    def __init__(self) -> None:
        self.models = dict[str, TableModel]()
        Path("python").mkdir()

    def fit(self, arguments: list[str], options: dict[str, Any], given: str) -> dict[str, Any]:
        model = TableModel(**parameters_of(options)).fit(arguments[0])
        model.save(Path("python") / options["model"])
        self.models[options["model"]] = model
        found = [{"code": caution.code, "text": str(caution)} for caution in model.assessment_.cautions]
        return {"tested": model.record_["tested"], "cautions": found, "rows": model.n_rows_, "loss": model.loss_}

    def predict(self, arguments: list[str], options: dict[str, Any], given: str) -> dict[str, Any]:
        model = self.models[arguments[0]]
        coverage = float(options["interval"]) if "interval" in options else None
        if "follow" in options:
            return self._follow(model, given, coverage, options)
        path = self._given(given) if arguments[1] == "-" else arguments[1]
        found = {"prediction": model.predict(path)}
        if coverage is not None:
            found["lower"], found["upper"] = model.predict_interval(path, coverage)
        if "proba" in options:
            shares = model.predict_proba(path)
            found |= {f"probability of {label}": column for label, column in zip(model.classes_, shares.T, strict=True)}
        return {name: values.tolist() for name, values in found.items()}

    def _given(self, text: str) -> Path:
        path = Path("standard_input.csv")
        path.write_text(text)
        return path

    def _follow(self, model: TableModel, given: str, coverage: float | None, options: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        live = model.follow(coverage or 0.9, learn="learn" in options)
        for cells in csv.DictReader(io.StringIO(given), delimiter=";" if ";" in given.splitlines()[0] else ","):
            row = {name: number_or_text(cell) for name, cell in cells.items()}
            # The program says so of the header, before there is a row.
            if not set(live.columns) <= row.keys():
                raise LookupError("columns are missing")
            values = {"prediction": live.predict_one(row)}
            if coverage is not None:
                values["lower"], values["upper"] = live.interval()
            if "proba" in options:
                labels = (f"probability of {label}" for label in model.classes_)
                values |= dict(zip(labels, live.probabilities().tolist(), strict=True))
            if "learn" in options:
                live.learn_one(row, row[model.target])
            for name, value in values.items():
                found.setdefault(name, []).append(value)
        return found

    def evaluate(self, arguments: list[str], options: dict[str, Any], given: str) -> dict[str, Any]:
        return assess(self.models[arguments[0]], arguments[1]).to_json()

    def update(self, arguments: list[str], options: dict[str, Any], given: str) -> dict[str, Any]:
        model, out = deepcopy(self.models[arguments[0]]), options.get("out", arguments[0])
        path, force = arguments[1], "out" in options
        found = model.update(path, weight=options.get("weight"), force=force)
        self.models[out] = model
        return {"rows": found.n_rows, "before": found.before, "after": found.after, "while_learning": found.learning}

    def forecast(self, arguments: list[str], options: dict[str, Any], given: str) -> dict[str, Any]:
        steps = int(options["steps"]) if "steps" in options else None
        coverage = float(options["interval"]) if "interval" in options else None
        return self.models[arguments[0]].forecast(steps, options.get("inputs"), coverage).to_pydict()


def printed(command: str, options: dict[str, Any], out: bytes) -> dict[str, Any]:
    """What the program has found: a JSON object, or the columns of the table that it has written."""
    if command in AS_JSON:
        return plain(json.loads(out))
    if "out" in options and "follow" not in options:
        path = Path(options["out"])
        if path.suffix == ".parquet":
            return pyarrow.parquet.read_table(path).to_pydict()
        out = path.read_bytes()
    text = out.decode()
    header, *rows = csv.reader(io.StringIO(text), delimiter="\t" if "\t" in text else ",")
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def plain(value: Any) -> Any:
    """A value as JSON, in the words of the program."""
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, bool | np.bool_):
        return str(value).lower()
    return as_options(value) if isinstance(value, str) else value


def same(value: Any, text: Any) -> bool:
    """Whether a value is what the program has written."""
    if isinstance(value, dict):
        return value.keys() == text.keys() and all(same(value[name], text[name]) for name in value)
    if isinstance(value, list):
        return len(value) == len(text) and all(map(same, value, text))
    if isinstance(value, float | int) and isinstance(text, str):
        return value == float(text)
    return value == text


def compare(name: str) -> dict[str, int]:
    """Run a story in both ways in this folder, print what differs, and count the commands."""
    counts, here = dict.fromkeys(KINDS, 0), InPython()
    for line in command_lines(STORIES[name]):
        command_line, _, source = line.partition(" < ")
        command, *words = shlex.split(command_line)
        words += ["--json"] if command in AS_JSON and "--json" not in words else []
        given = Path(source).read_bytes() if source else b""
        done = run([command, *words], Path(), given)
        if not hasattr(here, command):
            counts["left out"] += 1
            continue
        arguments, options = options_of(words)
        kind, differs, said = "same", [], done.stderr.decode()
        try:
            found = plain(finite(getattr(here, command)(arguments, options, given.decode())))
        except (ValueError, OSError) as error:
            if not done.returncode or (done.returncode == 1 and as_options(str(error)) not in said):
                kind, differs = "different", [f"Python says: {error!r}", f"the program: {said[-400:]}"]
        except LookupError:
            # A model that could not be fitted, or an argument that is not there.
            kind = "left out" if done.returncode else "different"
        else:
            if done.returncode:
                kind, differs = "left out", [f"only the program refuses: {said[-200:]}"]
            else:
                pairs = {
                    key: (found[key], value)
                    for key, value in printed(command, options, done.stdout).items()
                    if key in found
                }
                missing = [key for key in found if key not in pairs]
                differs = [*missing, *(f"{key}: {pair!r:.600}" for key, pair in pairs.items() if not same(*pair))]
                kind = "different" if differs else "same"
        counts[kind] += 1
        if differs:
            print(f"  {line}", *differs, sep="\n      ", flush=True)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a word: only stories whose names or command lines contain it")
    names = selected(parser.parse_args().only)
    total = dict.fromkeys(KINDS, 0)
    with tempfile.TemporaryDirectory() as tables:
        write_tables(Path(tables))
        for name in names:
            with tempfile.TemporaryDirectory() as folder, chdir(folder):
                shutil.copytree(tables, folder, dirs_exist_ok=True)
                found = compare(name)
            print(f"{name}: {', '.join(f'{number} {kind}' for kind, number in found.items() if number)}", flush=True)
            total = {kind: total[kind] + found[kind] for kind in KINDS}
    print(f"{len(names)} stories: {', '.join(f'{number} {kind}' for kind, number in total.items())}")
    return bool(total["different"])


if __name__ == "__main__":
    sys.exit(main())
