"""Two processes that write a file and one that reads it, and checkpoints on disks that fail.

First a model file and then a checkpoint are written by two processes and read by a third for 1,000 rounds each:
nothing may be torn, and nothing may raise. Then fits whose checkpoint disk fills up, turns read-only or vanishes; each
has to end with the network of an undisturbed fit and one warning. (The disks are small tmpfs mounts, which need Linux
and root; elsewhere only folders that vanish are tried.)

    ./run bench concurrency             1,000 rounds, 10 fits
    ./run bench concurrency 100 4       100 rounds, 4 fits
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np

from skscn import ACTIVATIONS, SCNRegressor, load_model
from skscn.fit import checkpoint
from skscn.fit.checkpoint import CheckpointFile, Saved, read_checkpoint, write_checkpoint
from skscn.nodes import Dense
from skscn.progress import Listener, listening

# Its arguments are what to write, the path, the seed of the model and the number of rounds.
WRITER = """
import sys
sys.path.insert(0, {folder!r})
from concurrency import fitted, write
from skscn import save_model
path, seed, rounds = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
model = fitted(seed)
for _ in range(rounds):
    save_model(model, path) if sys.argv[1] == "model" else write(model, path)
"""
ORIGIN, LAYER = {"data": "the same"}, Dense(ACTIVATIONS["sigmoid"])
_X = np.random.default_rng(0).uniform(size=(300, 3))
_Y = np.sin(6 * _X[:, 0]) + _X[:, 1] * _X[:, 2]


def fitted(seed: int, **settings) -> SCNRegressor:
    """A network of 20 or 200 nodes for the seeds 1 and 10."""
    return SCNRegressor("SC-I", max_nodes=20 * seed, early_stopping=False, tol=0, random_state=seed, **settings).fit(
        _X, _Y
    )


def write(model: SCNRegressor, path: str) -> None:
    """Write a checkpoint as fits do, one that warns where they would."""
    with warnings.catch_warnings(action="error"):
        write_checkpoint(CheckpointFile(path, ORIGIN), Saved(model._seed, model.network_.nodes, model.history_))


def read(kind: str, path: str) -> int:
    """The number of nodes in a file; whatever is wrong with it raises."""
    if kind == "model":
        return load_model(path).n_nodes_
    return len(read_checkpoint(CheckpointFile(path, ORIGIN), LAYER).nodes)


def two_writers(kind: str, rounds: int, folder: Path) -> list[str]:
    """What went wrong while two processes wrote and this one read."""
    path, program = str(folder / kind), WRITER.format(folder=str(Path(__file__).parent))
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", program, kind, path, seed, str(rounds)], stderr=subprocess.PIPE, text=True
        )
        for seed in ("1", "10")
    ]
    wrong, seen, reads = [], set(), 0
    while (writing := any(writer.poll() is None for writer in writers)) or reads < rounds:
        if not Path(path).exists():
            if not writing:
                break
            time.sleep(0.01)
            continue
        reads += 1
        try:
            seen.add(read(kind, path))
        except (ValueError, OSError) as error:
            wrong.append(str(error))
    wrong += [errors for writer in writers if (errors := writer.communicate()[1])]
    print(
        f"{kind}: 2 × {rounds} writes, {reads} reads of files with {sorted(seen)} nodes; {len(wrong)} torn or raised."
    )
    left = sorted(set(os.listdir(folder)) - {kind, "model"})
    return [*wrong, *left]


class _At(Listener):
    def __init__(self, nodes: int, action):
        self.nodes, self.action = nodes, action

    def step(self, step, max_nodes):
        if step.nodes >= self.nodes and self.action is not None:
            self.action()
            self.action = None
        return False


def _fill(folder: Path) -> None:
    with open(folder / "filler", "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass


def _mount(folder: Path, options: str) -> bool:
    """Mount a small disk here; whether that is possible."""
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    return sys.platform == "linux" and subprocess.call(command, stderr=subprocess.DEVNULL) == 0


def _unmount(folder: Path) -> None:
    while os.path.ismount(folder):
        subprocess.check_call(["umount", "-l", str(folder)])


FAILURES = {
    "fills up": _fill,
    # A disk that has open files cannot be made read-only by hand; another one on top of it can be.
    "turns read-only": lambda folder: _mount(folder, "ro"),
    "vanishes": shutil.rmtree,
}


def failing_disks(fits: int, folder: Path) -> list[str]:
    """What went wrong in fits whose checkpoint disk failed on the way."""
    (folder / "trial").mkdir()
    mounts = _mount(folder / "trial", "size=256k")
    _unmount(folder / "trial")
    wrong, rng = [], np.random.default_rng(0)
    names = list(FAILURES) if mounts else ["vanishes"]
    whole = fitted(5).network_
    for number in range(fits):
        name, disk, nodes = names[number % len(names)], folder / f"disk{number}", int(rng.integers(1, 101))
        disk.mkdir()
        if name != "vanishes":
            _mount(disk, "size=256k")
        with warnings.catch_warnings(record=True) as told, listening(_At(nodes, partial(FAILURES[name], disk))):
            warnings.simplefilter("always")
            try:
                same = np.array_equal(
                    fitted(5, checkpoint=disk / "fit.ckpt").network_.output_weights, whole.output_weights
                )
            except (ValueError, OSError) as error:
                same = False
                told.append(error)
        _unmount(disk)
        said = [str(getattr(one, "message", one)) for one in told]
        well = same and len(said) == 1 and str(disk / "fit.ckpt") in said[0]
        print(f"{'ok' if well else 'WRONG':5} disk {name} after {nodes} nodes: {said}")
        wrong += [] if well else [name]
    print(f"{fits - len(wrong)} of {fits} fits ended with their network and one warning.")
    return wrong


def main() -> int:
    """Run all of it."""
    rounds, fits = (int(text) for text in (*sys.argv[1:], *("1000", "10")[len(sys.argv) - 1 :]))
    # Checkpoints after every step.
    checkpoint._EVERY = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wrong = [problem for kind in ("model", "checkpoint") for problem in two_writers(kind, rounds, folder)]
        wrong += failing_disks(fits, folder)
    print("\n".join(dict.fromkeys(wrong)) or "Nothing torn, nothing raised, nothing lost.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
