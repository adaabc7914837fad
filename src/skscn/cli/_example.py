"""``skscn example``: a simulated table to train on, and another one of further rows."""

import csv
from pathlib import Path
from typing import Any

from skscn.cli._outputs import check_output
from skscn.cli._voice import Voice
from skscn.datasets import EXAMPLES
from skscn.files import make_folder, replacing_text

# Rows to train on, and further ones.
_ROWS = {"flats": (800, 200), "plant": (3000, 1000)}
# What to type next.
_NEXT = {
    "flats": "skscn fit {0} --target rent --model flats.scn",
    "plant": "skscn fit {0} --target quality --time time --lags auto --model plant.scn",
}


def run_example(name: str, folder: Path, seed: int, voice: Voice) -> None:
    """Write NAME.csv and NAME_new.csv; the rows of the second follow those of the first."""
    make_folder(folder)
    paths = [folder / f"{name}.csv", folder / f"{name}_new.csv"]
    for path in paths:
        check_output(path, [])
    training, further = _ROWS[name]
    columns = EXAMPLES[name](training + further, random_state=seed)
    for path, rows in zip(paths, (slice(training), slice(training, None)), strict=True):
        _write(path, {column: values[rows] for column, values in columns.items()})
    command = _NEXT[name].format(paths[0])
    facts = {"files": list(map(str, paths)), "rows": [training, further], "next": command}
    written = [(str(path), f"{rows} rows") for path, rows in zip(paths, _ROWS[name], strict=True)]
    voice.result(facts, [*written, ("next", command)])


def _write(path: Path, columns: dict[str, list[Any]]) -> None:
    with replacing_text(path) as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))
