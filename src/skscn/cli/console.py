"""What the program prints and writes: results on standard output or in files, everything else on standard error."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console as RichConsole
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from skscn.files import check_writable
from skscn.readers import existing_table
from skscn.readers.writing import write_bytes
from skscn.table_model.parameters import DECLARATIONS
from skscn.words import finite, printable

# Parameters of the library whose options have other names, and those that have none but are options of commands.
OPTION_NAMES = {"random_state": "seed", "n_jobs": "jobs", "parameters": "set"}
_OF_COMMANDS = ("steps", "force", "coverage", "series", "learn", "dtype", "rows")
_PARAMETER = re.compile(
    rf"\b({'|'.join([*DECLARATIONS, *_OF_COMMANDS])})="
    r"""(?:"([^"]*)"|(True|False)|(-?[\w.]+|…)|\{"(\w+)": ([^}]+)\}|[\[(]([-\d., ]+)[\])])"""
)
# Facts that are sentences of the library.
_SENTENCES = ("notes", "warnings", "counts", "cautions")
_WORDS = {"memory_limit": "--memory-limit"}


def as_options(text: str) -> str:
    """A message of the library with options of the program in place of parameters: lags="auto" is --lags auto."""

    def option(found: re.Match[str]) -> str:
        name, quoted, boolean, plain, key, value, numbers = found.groups()
        if key is not None:
            return f"--set {key}={value}"
        flag = f"--{OPTION_NAMES.get(name, name).replace('_', '-')}"
        if boolean is not None:
            return flag if boolean == "True" else f"--no-{name}"
        if plain == "…":
            return flag
        given = quoted if plain is None else plain
        return f"{flag} {given if numbers is None else numbers.replace(' ', '')}"

    text = _PARAMETER.sub(option, text)
    return re.sub(rf"\b({'|'.join(_WORDS)})\b", lambda found: _WORDS[found.group()], text)


def _translated(sentences: Any) -> Any:
    if isinstance(sentences, list):
        return list(map(_translated, sentences))
    if isinstance(sentences, dict) and "text" in sentences:
        return {**sentences, "text": as_options(sentences["text"])}
    return as_options(sentences) if isinstance(sentences, str) else sentences


class Console:
    """Notes on standard error, results on standard output.

    Parameters
    ----------
    quiet : bool
        Whether notes and progress are hidden.
    as_json : bool
        Whether results are one JSON object.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False):
        self.quiet, self.as_json = quiet, as_json
        self.errors = RichConsole(stderr=True, highlight=False, soft_wrap=True, quiet=quiet)

    def note(self, text: str) -> None:
        """Print something that is good to know."""
        self.errors.print(printable(as_options(text)), markup=False)

    def notes(self, texts: Iterable[str]) -> None:
        """Print several notes, one line each."""
        for text in texts:
            self.note(f"- {text}")

    def result(self, facts: dict[str, Any], lines: Iterable[tuple[str, str]]) -> None:
        """Print the result: facts as JSON if asked for, else lines of a heading and a text."""
        if self.as_json:
            facts |= {name: _translated(facts[name]) for name in _SENTENCES if name in facts}
            write_text(json.dumps(finite(facts), indent=2, ensure_ascii=False, default=_plain) + "\n")
            return
        lines = list(lines)
        width = max(len(heading) for heading, _ in lines)
        # Parameters are shown as Python has them.
        said = [(heading, text if heading == "Parameters" else as_options(text)) for heading, text in lines]
        write_text("".join(f"{heading:{width}}  {text}".rstrip() + "\n" for heading, text in said))


def write_text(text: str) -> None:
    """Write to standard output as UTF-8, whatever the terminal says about itself."""
    write_bytes(printable(text).encode())


def _plain(value: Any) -> Any:
    """A value of NumPy as JSON can hold it."""
    return value.item() if hasattr(value, "item") else str(value)


def progress_bar() -> Progress:
    """A bar on standard error, with a description, counts, and times elapsed and remaining."""
    return Progress(
        TextColumn("{task.description:14}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=RichConsole(stderr=True),
    )


def check_files(out: Path | None, inputs: Iterable[Path], endings: Sequence[str] = ()) -> None:
    """Raise ValueError or OSError for a file that cannot be written or read, or that writing would destroy.

    Parameters
    ----------
    out : Path or None
        The file to write; None for standard output.
    inputs : iterable of Path
        Files that the command reads, or folders of them; "-" is standard input.
    endings : sequence of str
        How the name of ``out`` may end; empty for anything.
    """
    if out is not None:
        if endings and out.suffix.lower() not in endings:
            one = f"one of {', '.join(endings)}" if len(endings) > 1 else endings[0]
            raise ValueError(f"{out.name} must end in {one}.")
        check_writable(out)
    for path in inputs:
        if out is not None and out.exists() and any(out.samefile(file) for file in _files(path)):
            raise ValueError(f"{out} is one of the input files; writing to it would destroy it. Choose another name.")
        if str(path) != "-":
            existing_table(path)


def _files(path: Path) -> list[Path]:
    """The file, or those of a folder."""
    return [file for file in (path.iterdir() if path.is_dir() else [path]) if file.exists()]
