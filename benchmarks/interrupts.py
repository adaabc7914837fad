"""Ctrl-C at random moments, as a terminal sends it: to the program and to all of its processes.

Ensembles and networks, with one job and all, through ``skscn`` and through ``./run skscn``. Each has to leave a model
that can be loaded and predicts, with what had finished, or a sentence that nothing had; no traceback; exit code 130, or
0 where the program had ended before.

    ./run bench interrupts              20 moments
    ./run bench interrupts 100 7        100 moments, seed 7
"""

import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from skscn import describe_model, load_model
from skscn.tables import open_table

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = {"skscn": [sys.executable, "-m", "skscn.cli"], "./run skscn": [sys.executable, str(ROOT / "run"), "skscn"]}
KINDS = {
    "ensemble": ["--estimator", "ensemble", "--set", "n_members=60"],
    "network": ["--estimator", "network", "--set", "configuration=ladder", "--set", "max_candidates=20000"],
}
JOBS = {"one job": ["--jobs", "1"], "all jobs": ["--jobs", "-1"]}
# Seconds. Before the first, Python may not have begun to run the program, and ends in its own way.
EARLIEST, LATEST = 1.0, 20.0


def write_table(path: Path, rng: np.random.Generator) -> None:
    """Rows to learn from: a smooth function of six inputs, and noise."""
    X = rng.uniform(size=(4000, 6))
    y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.05 * rng.normal(size=len(X))
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,c,d,e,f,y", comments="", fmt="%.5f")


def interrupted(command: list[str], seconds: float, folder: Path) -> tuple[str, int, float]:
    """What a command says that is interrupted after some seconds, its exit code, and how long it took from then."""
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, cwd=folder, start_new_session=True)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGINT)
        pressed = time.monotonic()
        process.wait()
        said.seek(0)
        return said.read(), process.returncode, time.monotonic() - pressed


def outcome(said: str, code: int, table: Path, model: Path) -> tuple[bool, str]:
    """Whether all is well, and what is left."""
    if "Traceback" in said or code not in (0, 130):
        return False, f"code {code}: {said}"
    if not model.exists():
        return "Interrupted: n" in said and "written" in said, said.strip().splitlines()[-1]
    predictions = load_model(model).predict(open_table(table).read())
    nodes = describe_model(model)["nodes"]
    told = code == 0 or f"Interrupted: {model} contains" in said
    return told and bool(np.isfinite(predictions).all()), f"{len(nodes)} network(s), {sum(nodes)} nodes"


def main() -> int:
    """Interrupt fits, and count those that leave what they should."""
    moments, seed = (int(text) for text in (*sys.argv[1:], *("20", "0")[len(sys.argv) - 1 :]))
    rng = np.random.default_rng(seed)
    cases = itertools.islice(itertools.cycle(itertools.product(KINDS, JOBS, PROGRAMS)), moments)
    good = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table = folder / "a.csv"
        write_table(table, rng)
        for number, (kind, jobs, program) in enumerate(cases):
            model, seconds = folder / f"{number}.scn", float(rng.uniform(EARLIEST, LATEST))
            options = [*KINDS[kind], *JOBS[jobs], "--set", "max_nodes=2000", "--cv", "0"]
            command = [*PROGRAMS[program], "fit", str(table), "-t", "y", "-m", str(model), *options]
            said, code, taken = interrupted(command, seconds, folder)
            well, left = outcome(said, code, table, model)
            good += well
            verdict = "ok" if well else "WRONG"
            print(
                f"{verdict:5} {program:11} {kind:8} {jobs:8} at {seconds:4.1f} s, ended {taken:4.1f} s later: {left}",
                flush=True,
            )
    print(f"{good} of {moments} moments left what they should.")
    return 0 if good == moments else 1


if __name__ == "__main__":
    sys.exit(main())
