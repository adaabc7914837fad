"""The order of the examples: by their numbers, so that plot_10 comes after plot_9."""

import re
from os import PathLike, fspath


def by_number(filename: str | PathLike[str]) -> int:
    """The number in the name of an example."""
    found = re.search(r"plot_(\d+)", fspath(filename))
    return int(found[1]) if found else 0
