"""Fits that are followed, ended and continued: callbacks, listeners, checkpoints."""

import numpy as np
import pytest
import sklearn

from skscn import RecurrentSCNEnsembleRegressor, RecurrentSCNRegressor
from skscn.fit import checkpoint
from skscn.fit.checkpoint import CheckpointError, CheckpointFile
from skscn.progress import Listener, listening
from skscn.recurrent.nodes import draw

pytestmark = pytest.mark.usefixtures("few_pilots")
RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, (200, 2))
NOISE = 0.05 * RNG.normal(size=200)
Y = np.convolve(np.tanh(2 * X[:, 0]), 0.7 ** np.arange(30))[:200] + X[:, 1] * np.roll(X[:, 0], 2)
WAVES = np.sin(np.arange(200) / 4) + 0.5 * np.sin(np.arange(200) / 9)
TINY = {"max_nodes": 6, "max_candidates": 10, "nodes_per_step": 2, "random_state": 0}
FITS = [({}, X, Y + NOISE), pytest.param({"feedback": True}, None, WAVES + NOISE, marks=pytest.mark.slow)]


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Save after every step."""
    monkeypatch.setattr(checkpoint, "_EVERY", 0.0)


class CrashError(Exception):
    pass


def counted_writes(monkeypatch, last=np.inf):
    """Let a fit die when its checkpoint has been written so many times; the writes are in the list returned."""
    writes, write = [], CheckpointFile.write

    def writing(self, about, arrays):
        write(self, about, arrays)
        writes.append(self.path)
        if len(writes) == last:
            raise CrashError

    monkeypatch.setattr(CheckpointFile, "write", writing)
    return writes


def same(one, other):
    for name in ("weights", "feedback", "source_weights", "factors"):
        np.testing.assert_array_equal(getattr(one.reservoir_.nodes, name), getattr(other.reservoir_.nodes, name))
    np.testing.assert_array_equal(one.reservoir_.output_weights, other.reservoir_.output_weights)
    np.testing.assert_array_equal(one._residuals, other._residuals)
    np.testing.assert_array_equal(one._spread, other._spread)
    for mine, its in zip(getattr(one, "members_", [one]), getattr(other, "members_", [other]), strict=True):
        assert mine.stop_reason_ == its.stop_reason_
        for name in set(mine.history_.dtype.names) - {"seconds"}:
            np.testing.assert_array_equal(mine.history_[name], its.history_[name])


@pytest.mark.parametrize(("parameters", "inputs", "targets"), FITS)
def test_a_fit_that_dies_continues_to_the_same_reservoir(parameters, inputs, targets, tmp_path, monkeypatch):
    model = RecurrentSCNRegressor(**TINY, **parameters)
    whole = model.fit(inputs, targets)
    model = RecurrentSCNRegressor(**TINY, **parameters, checkpoint=tmp_path / "fit.ckpt")
    with monkeypatch.context() as patched:
        writes = counted_writes(patched)
        model.fit(inputs, targets)
    same(model, whole)
    for last in (6, *(len(writes) - steps for steps in (1, 4))):
        (tmp_path / "fit.ckpt").unlink()
        with monkeypatch.context() as patched:
            counted_writes(patched, last)
            with pytest.raises(CrashError):
                model.fit(inputs, targets)
        same(model.fit(inputs, targets), whole)
    # Nothing is left to do, unless a network ended with fewer nodes than wanted, which max_nodes may have cut short.
    drawn = []
    with monkeypatch.context() as patched:
        patched.setattr("skscn.recurrent.growing.draw", lambda *arguments: drawn.append(arguments) or draw(*arguments))
        same(model.fit(inputs, targets), whole)
    if (np.diff(whole.history_["nodes"])[np.diff(whole.history_["round"]) == 0] == TINY["nodes_per_step"]).all():
        assert not drawn


def test_a_checkpoint_without_a_seed_continues_with_its_own(tmp_path, monkeypatch):
    model = RecurrentSCNRegressor(**TINY | {"random_state": None}, checkpoint=tmp_path / "fit.ckpt")
    whole = model.fit(X, Y).predict(X)
    assert (model.fit(X, Y).predict(X) == whole).all()


def test_an_ensemble_that_dies_continues(tmp_path, monkeypatch):
    path = tmp_path / "fit.ckpt"
    whole = RecurrentSCNEnsembleRegressor(2, **TINY).fit(X, Y)
    model = RecurrentSCNEnsembleRegressor(2, **TINY, checkpoint=path)
    with monkeypatch.context() as patched:
        writes = counted_writes(patched)
        same(model.fit(X, Y), whole)
    assert len(set(writes)) == 3
    for file in set(writes):
        file.unlink()
    with monkeypatch.context() as patched:
        counted_writes(patched, len(writes) - 2)
        with pytest.raises(CrashError):
            model.fit(X, Y)
    same(model.fit(X, Y), whole)


def test_the_checkpoint_of_another_fit_is_refused(tmp_path):
    path = tmp_path / "fit.ckpt"
    RecurrentSCNRegressor(**TINY, checkpoint=path).fit(X, Y)
    with pytest.raises(CheckpointError, match="the training rows are different"):
        RecurrentSCNRegressor(**TINY, checkpoint=path).fit(X, Y + NOISE)
    with pytest.raises(CheckpointError, match="the training rows are different"):
        RecurrentSCNRegressor(**TINY, checkpoint=path).fit(X, Y, groups=np.repeat([0, 1], 100))
    with pytest.raises(CheckpointError, match="max_nodes=6 there and 8 here"):
        RecurrentSCNRegressor(**TINY | {"max_nodes": 8}, checkpoint=path).fit(X, Y)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(CheckpointError, match="is damaged"):
        RecurrentSCNRegressor(**TINY, checkpoint=path).fit(X, Y)


class Steps(Listener):
    """Asks to stop after so many steps; in pilots already, if there are to be none."""

    def __init__(self, most):
        self.most, self.count, self.rounds = most, 0, []

    def begin_round(self, number, most):
        self.rounds.append((number, most))

    def step(self, step, max_nodes):
        self.count += 1
        return self.count >= self.most

    def stopped(self):
        return self.most == 0


@pytest.mark.parametrize(("parameters", "inputs", "targets"), FITS)
def test_a_listener_that_ends_the_fit_keeps_the_network_so_far(parameters, inputs, targets, tmp_path):
    path = tmp_path / "fit.ckpt"
    whole = RecurrentSCNRegressor(**TINY, **parameters).fit(inputs, targets)
    rounds = whole.history_["round"]
    for most in (0, 2, len(rounds) - 1):
        listener = Steps(most)
        model = RecurrentSCNRegressor(**TINY, **parameters, checkpoint=path)
        with listening(listener):
            model.fit(inputs, targets)
        assert model.stop_reason_ == "callback"
        assert model.n_nodes_ <= 6
        assert len(model.history_) == max(most, 1)
        assert np.isfinite(model.predict(inputs, y=targets)).all()
        assert listener.rounds[0] == (1, 3 if parameters else 4)
        assert (model.history_["train_rmse"] == whole.history_["train_rmse"][:most])[:most].all()
        # What was done when the pilots were cut short is forgotten; otherwise the fit continues.
        same(model.fit(inputs, targets), whole)
        path.unlink()


def test_an_ensemble_ends_with_the_members_finished_so_far():
    class Two(Listener):
        def member(self, member, done, n_members):
            return done == 2

    with listening(Two()):
        model = RecurrentSCNEnsembleRegressor(4, **TINY).fit(X, Y)
    assert len(model.members_) == 2
    same(model, RecurrentSCNEnsembleRegressor(2, **TINY).fit(X, Y))


def test_the_ensemble_does_not_depend_on_n_jobs():
    same(
        RecurrentSCNEnsembleRegressor(2, **TINY, n_jobs=2).fit(X, Y), RecurrentSCNEnsembleRegressor(2, **TINY).fit(X, Y)
    )


if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9):

    class EndAt:
        """A callback that ends the fit, and looks at the estimator as it would be."""

        def __init__(self, steps, task="step"):
            self.steps, self.task, self.nodes = steps, task, []

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, fitted_estimator):
            if context.task_name == self.task:
                assert np.isfinite(fitted_estimator.predict(X)).all()
                self.nodes.append(fitted_estimator.n_nodes_)
            return len(self.nodes) >= self.steps

    def test_a_callback_can_end_the_fit():
        callback = EndAt(2)
        model = RecurrentSCNRegressor(**TINY).set_callbacks(callback).fit(X, Y)
        assert model.stop_reason_ == "callback"
        assert callback.nodes == model.history_["nodes"].tolist() == [2, 4]

    @pytest.mark.parametrize("jobs", [None, 2])
    def test_a_callback_can_end_an_ensemble_after_a_member(jobs):
        callback = EndAt(2, "member")
        model = RecurrentSCNEnsembleRegressor(12, **TINY, n_jobs=jobs).set_callbacks(callback).fit(X, Y)
        # Members that other processes have begun are finished; how many these are depends on the processes.
        assert len(model.members_) == 2 if jobs is None else len(model.members_) >= 2
        assert len(callback.nodes) == len(model.members_)
        assert callback.nodes[-1] == model.n_nodes_
        if jobs is None:
            same(model, RecurrentSCNEnsembleRegressor(2, **TINY).fit(X, Y))


@pytest.mark.parametrize("kind", [RecurrentSCNRegressor, RecurrentSCNEnsembleRegressor])
def test_pilot_networks_are_shown(kind, capsys):
    more = {"n_estimators": 1} if kind is RecurrentSCNEnsembleRegressor else {}
    kind(**TINY, **more, verbose=2).fit(X, Y)
    shown = capsys.readouterr().err.splitlines()
    pilots = [line for line in shown if "pilot networks" in line]
    # Two for each of two lengths, six more for each of those kept, and what they have chosen.
    assert len(pilots) == 2 * 2 + 6 * 2 + 1
    assert "1/16: delay line of 0 rows" in pilots[0]
    assert "chose delay line of" in pilots[-1]
