"""Tables as users have them, and models fitted on them by the program."""

import csv
import datetime as dt
import importlib
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from skscn.cli.app import app

QUICK = ["--set", "n_members=2", "--set", "max_nodes=8", "--cv", "2", "--jobs", "1"]


@pytest.fixture(scope="session")
def skscn():
    """Run the program in this process; its result has exit_code, stdout and stderr."""

    def run(*arguments, code=0):
        done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
        assert done.exit_code == code, done.stdout + done.stderr
        return done

    return run


@pytest.fixture(scope="session")
def plants():
    """The simulators of the benchmark, and what it writes and says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
        return importlib.import_module("plants")


def write_houses(path, n_rows, seed):
    """Texts, dates, truth values and missing values; the price is known up to a little noise."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["number", "size", "town", "sold", "garden", "remark", "price"])
        for i in range(n_rows):
            size, town, garden = rng.uniform(30, 200), rng.choice(["Rome", "Oslo", "Bern"]), rng.random() < 0.4
            day = dt.date(2018, 1, 1) + dt.timedelta(days=int(rng.integers(1500)))
            price = 20 * size + {"Rome": 0, "Oslo": 500, "Bern": 900}[town] + 300 * garden + rng.normal(0, 30)
            given = [f"{size:.1f}" if i % 20 else "NA", town if i % 9 else "", day, str(bool(garden)).lower()]
            rows.writerow([i, *given, f"house {i} {rng.integers(10**6)}", f"{price:.0f}" if i % 50 else ""])
    return path


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="session")
def houses(folder):
    return write_houses(folder / "houses.csv", 400, seed=0)


@pytest.fixture(scope="session")
def sold(folder):
    """Other houses, from the same towns."""
    return write_houses(folder / "sold.csv", 150, seed=3)


@pytest.fixture(scope="session")
def iris(folder):
    """Three classes in a file as spreadsheets of many countries write it."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    path = folder / "iris.csv"
    lines = ["length;width;petal length;petal width;kind"]
    names = ["setosa", "versicolor", "virginica"]
    lines += [";".join([*(f"{x:.1f}".replace(".", ",") for x in row), names[k]]) for row, k in zip(X, y, strict=True)]
    path.write_bytes("\r\n".join(lines).encode("utf-8-sig"))
    return path


@pytest.fixture(scope="session")
def fitted(skscn, houses, iris, folder):
    """What fit says about the two, as JSON."""
    return {
        name: json.loads(
            skscn("fit", path, "--target", target, "--model", folder / f"{name}.scn", "--json", *QUICK).stdout
        )
        for name, path, target in (("houses", houses, "price"), ("iris", iris, "kind"))
    }


@pytest.fixture(scope="session")
def houses_model(fitted, folder):
    return folder / "houses.scn"


@pytest.fixture(scope="session")
def iris_model(fitted, folder):
    return folder / "iris.scn"
