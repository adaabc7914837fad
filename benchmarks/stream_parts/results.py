"""Results as small CSV files, written line by line."""

import csv
from pathlib import Path


def start(path: Path, columns: tuple[str, ...]) -> None:
    path.write_text(",".join(columns) + "\n", encoding="utf-8")


def add(path: Path, values: tuple) -> None:
    text = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in values]
    with path.open("a", encoding="utf-8") as file:
        file.write(",".join(text) + "\n")
    print(*text, flush=True)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
