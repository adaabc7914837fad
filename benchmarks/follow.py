"""A plant that is followed live: 20,000 rows with all that goes wrong, and a program that is killed now and then.

Rows have gaps, spikes, a frozen sensor, repeated stamps and stamps that go back; targets come 5 to 50 rows late. The
process that answers is ended by SIGTERM and SIGKILL at random moments and started again with its journal. Each answer
must be the one that an undisturbed process gives, bit for bit; the one or two that were written nowhere because the
process was killed before are counted. Printed are also the microseconds a row: processor time of ``predict_one`` and
``learn_one``, medians.

    ./run bench follow                          10 runs of 20,000 rows, lags and recurrent
    ./run bench follow --rows 2000 --runs 2
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from skscn import TableModel, load_model
from skscn.datasets import EXAMPLES
from skscn.table_model import LiveModel
from skscn.threads import single_threaded

N_TRAIN = 1000
KINDS = {
    "lags": {"estimator": "network", "lags": "auto", "delay": 5},
    "recurrent": {"estimator": "recurrent"},
}


def disturbed(rows: pd.DataFrame, seed: int) -> list[tuple[str, dict, float | None]]:
    """The calls for rows in which everything goes wrong that goes wrong in plants: method, row, target."""
    rng, calls, waiting = np.random.default_rng(seed), [], []
    names = [name for name in rows.columns if name not in ("time", "quality")]
    frozen_until, frozen = 0, {}
    given = [{**row, "time": str(row["time"])} for row in rows.to_dict("records")]
    for number, row in enumerate(given):
        target = row.pop("quality")
        if number >= frozen_until and rng.random() < 0.001:
            name = str(rng.choice(names))
            frozen_until, frozen = number + int(rng.integers(50, 300)), {name: row[name]}
        row |= frozen if number < frozen_until else {}
        for chance, wrong in ((0.02, None), (0.005, 1e7)):
            if rng.random() < chance:
                row[str(rng.choice(names))] = wrong
        calls.append(("predict", row, None))
        if rng.random() < 0.01:
            calls.append(("predict", row, None))
        if number and rng.random() < 0.01:
            calls.append(("predict", {**row, "time": "2001-01-01 00:00:00"}, None))
        spike = 1e9 if rng.random() < 0.002 else target
        waiting.append((number + int(rng.integers(5, 51)), row, spike))
        calls += [("learn", past, known) for due, past, known in waiting if due <= number]
        waiting = [late for late in waiting if late[0] > number]
    return calls


def answer(live: LiveModel, method: str, row: dict, target: float | None) -> list:
    """What a live model says to a call: a prediction and its interval, nothing, or that it refuses."""
    try:
        if method == "learn":
            live.learn_one(row, target)
            return []
        return [live.predict_one(row), *live.interval()]
    except ValueError as error:
        return [str(error)]


def work(model: Path, journal: Path, calls: Path, answers: Path) -> None:
    """Go on where the journal ends, and append each answer; SIGTERM ends it between two calls, as a service would."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    done = journal.read_bytes().count(b"\n") if journal.exists() else 0
    with single_threaded(), LiveModel(load_model(model), journal=journal) as live, answers.open("a") as out:
        for number, call in enumerate(json.loads(calls.read_text())):
            if number >= done:
                out.write(json.dumps([number, answer(live, *call)]) + "\n")
                out.flush()


def undisturbed(model: Path, calls: list) -> tuple[list[list], dict[str, float]]:
    """The answers of a process that nobody ends, and the median microseconds of each kind of call."""
    live, answers, taken = LiveModel(load_model(model)), [], {"predict": [], "learn": []}
    with single_threaded():
        for call in calls:
            start = time.process_time()
            answers.append(answer(live, *call))
            taken[call[0]].append(time.process_time() - start)
    return answers, {method: 1e6 * float(np.median(seconds)) for method, seconds in taken.items()}


def killed(model: Path, calls: list, expected: list[list], seed: int, kills: int) -> tuple[int, int]:
    """How many answers differ and how many are missing after a run that was ended some times."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [folder / part for part in ("journal", "calls", "answers")]
        paths[1].write_text(json.dumps(calls))
        paths[2].touch()
        command = [sys.executable, __file__, "--work", str(model), *map(str, paths)]
        moments = sorted(draw.randrange(len(calls)) for _ in range(kills))
        for moment in [*moments, None]:
            process = subprocess.Popen(command)
            while moment is not None and process.poll() is None:
                lines = paths[0].read_bytes().count(b"\n") if paths[0].exists() else 0
                if lines >= moment:
                    process.send_signal(draw.choice((signal.SIGTERM, signal.SIGKILL)))
                    break
                time.sleep(0.05)
            process.wait()
        whole = [line for line in paths[2].read_text().splitlines(keepends=True) if line.endswith("]\n")]
        given = dict(json.loads(line) for line in whole if line.startswith("["))
    wrong = sum(given[number] != expected[number] for number in given)
    return wrong, len(calls) - len(given)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--kills", type=int, default=3, help="how often a process is ended in a run")
    parser.add_argument("--only", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--work", nargs=4, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(*options.work)
        return
    rows = pd.DataFrame(EXAMPLES["plant"](N_TRAIN + options.rows, random_state=0))
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.only:
            path = Path(folder) / f"{kind}.scn"
            TableModel("quality", time="time", folds=0, **KINDS[kind]).fit(rows[:N_TRAIN]).save(path)
            wrong = missing = equal = 0
            for seed in range(options.runs):
                calls = disturbed(rows[N_TRAIN:], seed)
                expected, microseconds = undisturbed(path, calls)
                differ, lost = killed(path, calls, expected, seed, options.kills)
                wrong, missing, equal = wrong + differ, missing + lost, equal + (differ == 0)
                print(f"  {kind} run {seed}: {differ} differ, {lost} not written, {_written(microseconds)}", flush=True)
            print(f"{kind}: {equal} of {options.runs} runs equal; {wrong} answers differ, {missing} were not written")


def _written(microseconds: dict[str, float]) -> str:
    return ", ".join(f"{method} {value:.0f} µs" for method, value in microseconds.items())


if __name__ == "__main__":
    main()
