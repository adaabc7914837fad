"""A fit that dies goes on from its checkpoint to the same network."""

import os
import subprocess
import sys
from threading import Thread

import numpy as np
import pytest

from skscn import Activation, Chunks, IRVFLRegressor, SCNClassifier, SCNEnsembleRegressor, SCNRegressor
from skscn.fit import checkpoint, trainer
from skscn.fit.checkpoint import CheckpointError
from skscn.progress import Listener, listening
from skscn.search.pool import Pooled

RNG = np.random.default_rng(2)
X = RNG.uniform(size=(400, 4))
Y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.05 * RNG.normal(size=400)
SMALL = {"max_nodes": 25, "max_candidates": 40, "random_state": 3}


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Save after every step."""
    monkeypatch.setattr(checkpoint, "_EVERY", 0.0)


class CrashError(Exception):
    pass


def crash_after(monkeypatch, steps):
    """Let a fit die after so many steps, when the last one has been saved."""
    counted = []
    write = checkpoint.CheckpointFile.write

    def writing(self, *arguments):
        write(self, *arguments)
        counted.append(1)
        if len(counted) == steps:
            raise CrashError

    monkeypatch.setattr(checkpoint.CheckpointFile, "write", writing)


def same(ours, theirs):
    for name in ("weights", "biases", "output_weights"):
        np.testing.assert_array_equal(getattr(ours.network_, name), getattr(theirs.network_, name))
    for name in set(theirs.history_.dtype.names) - {"seconds"}:
        np.testing.assert_array_equal(ours.history_[name], theirs.history_[name])
    assert ours.stop_reason_ == theirs.stop_reason_


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"algorithm": "SC-I"},
        {"algorithm": "SC-II", "window": 4},
        {"configuration": "ladder"},
        {"configuration": "renewal"},
        {"early_stopping": True, "n_iter_no_change": 5},
        {"nodes_per_step": 3, "early_stopping": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("steps", [1, 4])
def test_a_fit_goes_on_to_the_same_network(parameters, steps, tmp_path, monkeypatch):
    parameters = SMALL | parameters
    undisturbed = SCNRegressor(**parameters).fit(X, Y)
    model = SCNRegressor(**parameters, checkpoint=tmp_path / "fit.ckpt")
    with monkeypatch.context() as patch:
        crash_after(patch, steps)
        with pytest.raises(CrashError):
            model.fit(X, Y)
    same(model.fit(X, Y), undisturbed)
    # A fit that had ended is only taken in again.
    same(SCNRegressor(**parameters, checkpoint=tmp_path / "fit.ckpt").fit(X, Y), undisturbed)
    assert [path.name for path in tmp_path.iterdir()] == ["fit.ckpt"]


def test_whatever_the_seed_is(tmp_path, monkeypatch):
    """Without random_state the seed is that of the checkpoint."""
    parameters = {"max_nodes": 12, "checkpoint": tmp_path / "fit.ckpt"}
    with monkeypatch.context() as patch:
        crash_after(patch, 5)
        with pytest.raises(CrashError):
            SCNRegressor(**parameters).fit(X, Y)
    kept = []
    monkeypatch.setattr(trainer, "read_checkpoint", lambda *a: kept.append(checkpoint.read_checkpoint(*a)) or kept[0])
    model = SCNRegressor(**parameters).fit(X, Y)
    np.testing.assert_array_equal(model.network_.weights[:, :5], kept[0].nodes.weights[:, : model.n_nodes_][:, :5])
    assert model._seed == kept[0].seed


def test_classes_chunks_baselines_and_ensembles(tmp_path, monkeypatch):
    labels = np.where(Y > 0.7, "high", "low")
    cases = [
        (SCNClassifier(**SMALL), (X, labels)),
        (IRVFLRegressor(max_nodes=12, random_state=0), (X, Y)),
        (SCNRegressor(**SMALL), (Chunks(X, Y, memory_limit=1000),)),
    ]
    for number, (model, data) in enumerate(cases):
        undisturbed = model.fit(*data).network_
        model.set_params(checkpoint=str(tmp_path / f"{number}.ckpt"))
        with monkeypatch.context() as patch:
            crash_after(patch, 3)
            with pytest.raises(CrashError):
                model.fit(*data)
        np.testing.assert_array_equal(model.fit(*data).network_.output_weights, undisturbed.output_weights)
    member = SCNRegressor(**SMALL, checkpoint=tmp_path / "member")
    SCNEnsembleRegressor(member, n_members=3, random_state=0).fit(X, Y)
    assert len(list(tmp_path.glob("member-*"))) == 3


def finished(path, **parameters):
    return SCNRegressor(**SMALL | parameters, checkpoint=path).fit(X, Y)


def test_a_checkpoint_of_another_fit_is_refused(tmp_path):
    path = tmp_path / "fit.ckpt"
    finished(path)
    with pytest.raises(CheckpointError, match=r"max_candidates=40 there and 41 here; tol=0.0001 there and 0.01 here"):
        finished(path, max_candidates=41, tol=0.01)
    with pytest.raises(CheckpointError, match=r"random_state=3 there and 4 here"):
        finished(path, random_state=4)
    with pytest.raises(CheckpointError, match="the training rows are different"):
        SCNRegressor(**SMALL, checkpoint=path).fit(X + 1e-9, Y)
    with pytest.raises(CheckpointError, match="SCNRegressor there and SCNClassifier here"):
        SCNClassifier(**SMALL, checkpoint=path).fit(X, (Y > 0).astype(int))
    # Threads and progress do not matter.
    finished(path, n_jobs=2)


def test_parameters_are_described_without_addresses():
    for value in (np.tanh, signal_like, Activation("mine", signal_like), Pooled((1.0, 5.0)), (1, 2.5), "text"):
        assert "0x" not in checkpoint._description(value)
    assert checkpoint._description(Pooled((1.0, 5.0))) != checkpoint._description(Pooled((1.0, 6.0)))


def signal_like(z):
    return np.tanh(z)


def test_the_folder_must_be_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="make it first"):
        finished(tmp_path / "missing" / "fit.ckpt")


def test_a_path_is_tried_before_growth(tmp_path):
    """Nothing has grown when the error comes, and nothing is left in the folder."""
    (tmp_path / "folder").mkdir()
    for name in ("n" * 300, "folder", "none/fit.ckpt"):
        with listening(Never()), pytest.raises(OSError, match=r"is a folder|cannot be written"):
            finished(tmp_path / name)
    assert os.listdir(tmp_path) == ["folder"]


class Never(Listener):
    def step(self, step, max_nodes):
        raise AssertionError("it has grown")


class At(Listener):
    """Do something after so many steps."""

    def __init__(self, nodes, action):
        self.nodes, self.action = nodes, action

    def step(self, step, max_nodes):
        if step.nodes == self.nodes:
            self.action()
        return False


@pytest.mark.parametrize(("gone", "back"), [(1, None), (10, None), (25, None), (3, 8)])
def test_a_disk_that_vanishes_does_not_end_the_fit(tmp_path, gone, back):
    """Once it is back, checkpoints are written again."""
    folder, settings = tmp_path / "disk", {"early_stopping": False, "tol": 0.0, "nodes_per_step": 1}
    folder.mkdir()
    path = folder / "fit.ckpt"
    events = At(gone, lambda: folder.rename(tmp_path / "elsewhere")), At(back, folder.mkdir)
    with listening(Both(*events)), pytest.warns(RuntimeWarning, match="The fit continues without it") as warnings:
        model = finished(path, **settings)
    (warning,) = warnings
    assert f"The checkpoint {path} cannot be written: there is no folder {folder}" in str(warning.message)
    same(model, SCNRegressor(**SMALL | settings).fit(X, Y))
    assert path.exists() == (back is not None)


class Both(Listener):
    def __init__(self, *listeners):
        self.listeners = listeners

    def step(self, step, max_nodes):
        return any(listener.step(step, max_nodes) for listener in self.listeners)


def test_two_fits_do_not_share_a_checkpoint(tmp_path):
    path, refusals = tmp_path / "fit.ckpt", []

    def second():
        with listening(None), pytest.raises(CheckpointError, match="of another fit that is still running") as refusal:
            finished(path)
        refusals.append(refusal)

    def in_a_thread():
        thread = Thread(target=second)
        thread.start()
        thread.join()

    with listening(Both(At(3, second), At(6, in_a_thread))):
        finished(path)
    assert len(refusals) == 2
    assert os.listdir(tmp_path) == ["fit.ckpt"]
    finished(path)


HOLDER = """
import sys
from pathlib import Path
from skscn.locks import locked
with locked(Path(sys.argv[1]), ValueError()):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_a_dead_process_holds_no_checkpoint(tmp_path):
    path = tmp_path / "fit.ckpt"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        with pytest.raises(CheckpointError, match="of another fit that is still running"):
            finished(path)
        process.kill()
    finished(path)
    assert os.listdir(tmp_path) == ["fit.ckpt"]


def test_a_damaged_checkpoint_is_refused(tmp_path):
    path = tmp_path / "fit.ckpt"
    finished(path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(content)
        place = int(rng.integers(len(damaged)))
        if rng.random() < 0.3:
            damaged = damaged[:place]
        else:
            damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        with pytest.raises(CheckpointError):
            finished(path)
    path.write_bytes(b"something else")
    with pytest.raises(CheckpointError, match="damaged"):
        finished(path)


PROGRAM = """
import sys, numpy as np
from skscn import SCNRegressor
from skscn.fit import checkpoint
from skscn.progress import Listener, listening
checkpoint._EVERY = 0.02
rng = np.random.default_rng(5)
X = rng.uniform(size=(3000, 6))
y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2]
class Telling(Listener):
    def step(self, step, max_nodes):
        print(step.nodes, flush=True)
        return False
model = SCNRegressor(max_nodes=60, early_stopping=False, random_state=0, checkpoint=sys.argv[1] or None)
with listening(Telling()):
    model.fit(X, y)
np.save(sys.argv[2], model.network_.output_weights)
"""


def started(checkpoint, result, steps=0):
    """The program, after some of its steps."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(checkpoint), str(result)], stdout=subprocess.PIPE)
    for _ in range(steps):
        assert process.stdout.readline()
    return process


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_process_that_is_killed(tmp_path, seed):
    """After a random number of steps, twice, then left alone."""
    with started("", tmp_path / "undisturbed.npy") as process:
        assert process.wait() == 0
    rng = np.random.default_rng(seed)
    for _ in range(2):
        with started(tmp_path / "fit.ckpt", tmp_path / "result.npy", steps=rng.integers(1, 9)) as process:
            process.kill()
    with started(tmp_path / "fit.ckpt", tmp_path / "result.npy") as process:
        assert process.wait() == 0
    np.testing.assert_array_equal(np.load(tmp_path / "result.npy"), np.load(tmp_path / "undisturbed.npy"))
