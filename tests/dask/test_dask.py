"""Networks grown on a cluster are those grown in memory, bit for bit; workers that die cost time only."""

import os
import pickle
import signal
from typing import ClassVar

import dask
import dask.array as da
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pytest

from skscn import (
    ACTIVATIONS,
    IRVFLRegressor,
    ModifiedQuickpropRegressor,
    SCNClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
)
from skscn.fit.plan import MANY_ROWS
from skscn.nodes import Dense, Nodes
from skscn.output_weights import ALGORITHMS
from skscn.rows import open_rows
from skscn.rows.dask import Fixed, Message, StatefulPart
from skscn.rows.operations import Deflate, Gather, Join, Open, Weigh
from skscn.rows.partitions import Part, Partitions, at_home, paused_workers, persisted, task, wait_for
from skscn.scaling import SCALINGS, scale_inputs, scale_targets
from skscn.search import Polished

# One cluster for all of them.
pytestmark = pytest.mark.xdist_group("dask")
RNG = np.random.default_rng(3)
N = 5000
X = RNG.normal(size=(N, 4)) * [1.0, 10.0, 0.1, 3.0]
Y = np.sin(X[:, 0]) + 0.1 * X[:, 1] * X[:, 2]
LABELS = np.array(["low", "middle", "high"])[np.digitize(Y, [-0.4, 0.4])]
P = RNG.integers(0, 4, N)
UNEVEN = (700, 0, 2500, 1, 1799)


def cut(values, chunks=UNEVEN):
    return da.from_array(values, chunks=(chunks, *values.shape[1:]))


def same(one, other):
    for name in ("weights", "biases", "output_weights", "coefficients"):
        np.testing.assert_array_equal(getattr(one.network_, name), getattr(other.network_, name))
    np.testing.assert_array_equal(one.held_out_, other.held_out_)
    for name in set(one.history_.dtype.names) - {"seconds"}:
        np.testing.assert_array_equal(one.history_[name], other.history_[name])


@pytest.fixture
def here():
    """No cluster: Dask's threads in this process."""
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("estimator", [SCNRegressor, pytest.param(SCNClassifier, marks=pytest.mark.slow)])
def test_all_algorithms_on_a_cluster(client, algorithm, estimator):
    parameters = {"algorithm": algorithm, "window": 3, "max_nodes": 6, "random_state": 0}
    y = LABELS if estimator is SCNClassifier else Y
    same(estimator(**parameters).fit(X, y), estimator(**parameters).fit(cut(X), cut(y)))


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_scaling(here, scaling, weighted):
    parameters = {"scaling": scaling, "max_nodes": 4, "max_candidates": 30, "random_state": 0}
    weights, parts = (P, cut(P)) if weighted else (None, None)
    same(SCNRegressor(**parameters).fit(X, Y, weights), SCNRegressor(**parameters).fit(cut(X), cut(Y), parts))


@pytest.mark.parametrize(
    "model",
    [
        SCNRegressor(configuration="ladder", max_candidates=30),
        SCNRegressor(nodes_per_step=3),
        SCNRegressor(early_stopping="gcv", alpha=1e-3),
        SCNRegressor(early_stopping=True, validation="last"),
        SCNRegressor(activation="gaussian", direct_link=False),
        IRVFLRegressor(),
        ModifiedQuickpropRegressor(max_iter=5),
    ],
    ids=["ladder", "blocks", "gcv", "last rows", "gaussian", "IRVFL", "quickprop"],
)
def test_every_way_to_grow(here, model):
    model.set_params(max_nodes=4, random_state=1)
    expected = model.fit(X, Y)
    again = type(model)(**model.get_params())
    same(expected, again.fit(cut(X), cut(Y)))


def test_jumps_along_columns(here):
    targets = 3.0 * (X[:, 0] > 0.0) + X[:, 1]
    jumping = SCNRegressor(max_nodes=5, random_state=0).fit(X, targets)
    assert jumping.network_.inputs.columns.tolist() == [0]
    elsewhere = SCNRegressor(max_nodes=5, random_state=0).fit(cut(X), cut(targets))
    np.testing.assert_array_equal(elsewhere.network_.inputs.thresholds, jumping.network_.inputs.thresholds)
    same(elsewhere, jumping)


def test_float32_and_several_outputs(here):
    x, y = X.astype(np.float32), np.column_stack([Y, Y**2]).astype(np.float32)
    one, other = (SCNRegressor(max_nodes=4, random_state=0) for _ in range(2))
    same(one.fit(x, y), other.fit(cut(x), cut(y)))
    assert other.predict(cut(x)).compute().dtype == np.float32


@pytest.mark.parametrize("weights", [RNG.random(N), 1e5 * RNG.random(N) * (RNG.random(N) < 0.5)])
def test_weights_that_are_no_counts(here, weights):
    one, other = (SCNRegressor(max_nodes=3, random_state=0) for _ in range(2))
    one.fit(X, Y, weights)
    other.fit(cut(X), cut(Y), cut(weights))
    np.testing.assert_allclose(other.predict(X), one.predict(X), atol=1e-8)


def test_ties_of_weights_and_what_weight_is_enough_are_not_decided_by_rounding(here):
    rng = np.random.default_rng(58)
    for size in (100, 200):
        x, weights = rng.uniform(size=(size, 3)), rng.permutation(np.repeat([0.5, 1.0], size // 2)) * 0.6
        y, chunks = np.sin(5 * x[:, 0]), (size // 4,) * 4
        one, other = (SCNRegressor(max_nodes=2, max_candidates=20, random_state=0) for _ in range(2))
        same(one.fit(x, y, weights), other.fit(cut(x, chunks), cut(y, chunks), cut(weights, chunks)))


def test_a_class_without_weight_is_no_class(here):
    weights = (LABELS != "low").astype(float)
    one, other = (SCNClassifier(max_nodes=3, random_state=0) for _ in range(2))
    same(one.fit(X, LABELS, weights), other.fit(cut(X), cut(LABELS), cut(weights)))
    assert other.classes_.tolist() == ["high", "middle"]


def test_many_classes_are_no_reason_to_warn(here):
    labels = np.arange(N) % 30
    assert len(SCNClassifier(max_nodes=1, random_state=0).fit(cut(X), cut(labels)).classes_) == 30


def test_frames_of_float32_and_booleans(here):
    frame = pd.DataFrame(X.astype(np.float32), columns=list("abcd")).assign(e=Y > 0)
    one, other = (SCNRegressor(max_nodes=3, random_state=0) for _ in range(2))
    same(one.fit(frame, Y), other.fit(dd.from_pandas(frame.assign(y=Y), npartitions=2), "y"))


def test_lazy_predictions_are_those_of_the_model_as_it_was(here):
    model = SCNRegressor(max_nodes=3, random_state=0).fit(X, Y)
    expected, lazy = model.predict(X), model.predict(cut(X))
    model.fit(X, 100 + Y)
    np.testing.assert_allclose(lazy.compute(), expected, atol=1e-9)
    with pytest.raises(ValueError, match="the model expects 4 features"):
        model.predict(cut(X)[:, :2])


def test_frames_with_the_target_in_them(here):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=Y, p=P)
    parts = dd.from_pandas(frame, npartitions=3)
    other = SCNRegressor(max_nodes=3, random_state=0).fit(parts, "y", sample_weight="p")
    same(SCNRegressor(max_nodes=3, random_state=0).fit(frame[list("abcd")], frame.y, frame.p), other)
    assert list(other.feature_names_in_) == list("abcd")
    lazy = other.predict(parts[list("abcd")])
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(lazy.compute(), other.predict(frame[list("abcd")]), atol=1e-12)


def test_arrays_whose_sizes_are_not_known(here):
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")).assign(y=Y), npartitions=2)
    x, y = frame[list("abcd")].to_dask_array(), frame["y"].to_dask_array()
    assert np.isnan(x.shape[0])
    same(SCNRegressor(max_nodes=3, random_state=0).fit(X, Y), SCNRegressor(max_nodes=3, random_state=0).fit(x, y))


def test_inputs_cut_across_columns_and_targets_cut_elsewhere(here):
    x, y = da.from_array(X, chunks=(1300, 2)), da.from_array(Y, chunks=999)
    same(SCNRegressor(max_nodes=3, random_state=0).fit(X, Y), SCNRegressor(max_nodes=3, random_state=0).fit(x, y))


def test_warm_start_goes_on_from_rows_in_memory(here):
    one = SCNRegressor(max_nodes=4, warm_start=True, random_state=0).fit(X, Y)
    other = SCNRegressor(max_nodes=4, warm_start=True, random_state=0).fit(X, Y)
    same(one.set_params(max_nodes=7).fit(X, Y), other.set_params(max_nodes=7).fit(cut(X), cut(Y)))


def test_a_checkpoint_goes_on_on_another_backend(here, tmp_path):
    path = tmp_path / "fit.ckpt"
    SCNRegressor(max_nodes=6, checkpoint=path, random_state=0).fit(cut(X), cut(Y))
    written = path.read_bytes()
    other = SCNRegressor(max_nodes=6, checkpoint=path, random_state=0).fit(X, Y)
    same(SCNRegressor(max_nodes=6, random_state=0).fit(X, Y), other)
    with pytest.raises(ValueError, match="the training rows are different"):
        SCNRegressor(max_nodes=6, checkpoint=path, random_state=0).fit(cut(X), cut(Y + 1e-9))
    assert len(path.read_bytes()) == len(written)


def test_predictions_are_lazy(here):
    model = SCNClassifier(max_nodes=5, random_state=0).fit(X, LABELS)
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform"):
        lazy = getattr(model, name)(cut(X))
        assert isinstance(lazy, da.Array)
        expected = getattr(model, name)(X)
        assert lazy.shape == expected.shape
        if name == "predict":
            np.testing.assert_array_equal(lazy.compute(), expected)
        else:
            np.testing.assert_allclose(lazy.compute(), expected, atol=1e-12)


def text():
    frame = pd.DataFrame(X, columns=list("abcd")).assign(town="here", y=Y)
    return dd.from_pandas(frame, npartitions=2), "y"


def doubled():
    return dd.from_pandas(pd.DataFrame(X, columns=list("abca")), npartitions=2)


def missing():
    x = X.copy()
    x[4321, 2] = np.nan
    return cut(x), cut(Y)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (text, "Columns town are not numeric; encode them"),
        (missing, "column 2 holds NaN in some rows"),
        (lambda: (cut(X), Y), "y is ndarray; make it one with the same partitions"),
        (lambda: (cut(X), cut(Y[:-1], (N - 1,))), "X has 5000 rows and y has 4999"),
        (lambda: (cut(X), "price"), "There is no column 'price' in X; a Dask array has none"),
        (lambda: (cut(X)[:0], cut(Y)[:0]), "There are no rows"),
        (lambda: (cut(X)[:, 0], cut(Y)), "X must have 2 dimensions"),
        (lambda: (doubled(), cut(Y)), "The columns of X must have different names"),
        (lambda: (cut(X), cut(LABELS)), "The target has values of type <U6, not numbers; use a classifier"),
    ],
    ids=["text", "missing", "mixed", "lengths", "name", "empty", "vector", "doubled", "labels"],
)
def test_what_cannot_be_fitted_says_what_to_do(here, rows, message):
    with pytest.raises((ValueError, TypeError), match=message):
        SCNRegressor(max_nodes=2).fit(*rows())


def test_partitions_that_do_not_match(here):
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")).assign(y=Y), npartitions=3)
    with pytest.raises(ValueError, match=r"have \[2, 3\] partitions"):
        SCNRegressor(max_nodes=2).fit(frame[list("abcd")], frame["y"].repartition(npartitions=2))


def test_too_many_rows_to_hold_out_by_their_numbers(here):
    x = da.arange(MANY_ROWS + 1, chunks=40_000)
    with pytest.raises(ValueError, match='use early_stopping="gcv"'):
        SCNRegressor(early_stopping=True).fit(x[:, np.newaxis], x)


# ---- faults


class Killing(Polished):
    """The default search, during which a worker dies before each of the second and third steps."""

    def __init__(self, client):
        super().__init__((1.0, 50.0))
        self.client, self.killed = client, []

    def propose(self, rows, node, rng, count):
        if node > 1 and len(self.killed) < 2:
            # The one that died before has been replaced.
            self.client.wait_for_workers(2, timeout=60)
            workers = self.client.run(os.getpid)
            victim = next(address for address in workers if address not in self.killed)
            self.killed.append(victim)
            os.kill(workers[victim], signal.SIGKILL)
        yield from super().propose(rows, node, rng, count)


@pytest.mark.parametrize(
    "algorithm", [name if name == "SC-III" else pytest.param(name, marks=pytest.mark.slow) for name in ALGORITHMS]
)
def test_workers_that_die_one_after_the_other(client, algorithm):
    client.wait_for_workers(2, timeout=60)
    parameters = {"algorithm": algorithm, "window": 3, "max_nodes": 9, "random_state": 0}
    search = Killing(client)
    found = SCNRegressor(configuration=search, **parameters).fit(cut(X), cut(Y))
    assert len(search.killed) == 2
    same(SCNRegressor(configuration=Polished((1.0, 50.0)), **parameters).fit(X, Y), found)


class Restarting(Polished):
    """The default search, during which a cluster is restarted once."""

    # Not of the instance, whose attributes are in the checkpoint.
    clients: ClassVar[list] = []

    def propose(self, rows, node, rng, count):
        if node > 4 and self.clients:
            self.clients.pop().restart()
        yield from super().propose(rows, node, rng, count)


@pytest.mark.slow
def test_a_cluster_that_is_restarted(client, tmp_path, monkeypatch):
    monkeypatch.setattr("skscn.fit.checkpoint._EVERY", 0.0)
    client.wait_for_workers(2, timeout=60)
    parameters = {"max_nodes": 9, "checkpoint": tmp_path / "fit.ckpt", "random_state": 0}
    Restarting.clients.append(client)
    model = SCNRegressor(configuration=Restarting((1.0, 50.0)), **parameters)
    with pytest.raises(RuntimeError, match=r"it was restarted, for example by client.restart\(\)"):
        model.fit(cut(X), cut(Y))
    assert (tmp_path / "fit.ckpt").exists()
    found = model.fit(cut(X), cut(Y))
    same(SCNRegressor(configuration=Polished((1.0, 50.0)), **{**parameters, "checkpoint": None}).fit(X, Y), found)


def test_tasks_that_were_cancelled_end_a_fit_with_a_sentence(client):
    rows = Partitions([task(np.ones)(3)], [3])
    client.cancel(client.futures_of(rows.values), force=True)
    with pytest.raises(RuntimeError, match="dropped the rows of this fit"):
        rows.map(len)


def part_of_rows():
    targets = Y[:300, np.newaxis]
    scalings = scale_inputs("minmax", X[:300]), scale_targets("minmax", targets)
    fixed = Fixed(*scalings, 300)
    return StatefulPart(Part(X[:300], targets, None, np.arange(300)), fixed, 0)


def sigmoids(n_inputs):
    return Nodes(Dense(ACTIVATIONS["sigmoid"]), np.ones((n_inputs, 1)), np.zeros(1))


def asked(done, call, opened=(), log=None):
    return Message(done, 1, opened, call, log)


def share(part, message):
    """The share of a part, in a form that can be compared; None if it needs the log."""
    found = part.share(message)
    return None if found is None else {place: value.tolist() for place, value in found.items()}


def test_a_part_that_was_moved_asks_for_the_log_and_goes_on_as_if_nothing_had_happened():
    part = part_of_rows()
    begin = Open(0, sigmoids(4))
    deflate = Deflate(0, np.zeros((0, 1)))
    take_out = Join(0, np.ones((1, 1)) / 10.0, np.ones((1, 1)), True)
    squares = Weigh()
    share(part, asked(0, begin))
    share(part, asked(0, deflate, (begin,)))
    moved = pickle.loads(pickle.dumps(part))
    expected = share(part, asked(0, take_out, (begin, deflate)))
    # Without state, but at the very beginning of the log: what is open is opened again.
    assert share(moved, asked(0, take_out, (begin, deflate))) == expected
    log = (begin, deflate, take_out)
    again = pickle.loads(pickle.dumps(moved))
    assert share(again, asked(3, squares)) is None
    assert again.answer(np.arange(3), asked(3, Gather(1))) is None
    assert share(again, asked(3, squares, (), log)) == share(part, asked(3, squares))
    # A task that is done twice, or again because another part had lost its state.
    assert share(again, asked(0, take_out, (begin, deflate), ())) == expected
    assert share(part, asked(0, take_out, (begin, deflate), ())) == expected
    assert share(part, asked(3, squares)) == share(again, asked(3, squares))


def test_a_call_that_fails_leaves_no_state_behind():
    part = part_of_rows()
    before = share(part, asked(0, Weigh()))
    with pytest.raises(ValueError, match="matmul"):
        share(part, asked(0, Open(0, sigmoids(9))))
    assert share(part, asked(0, Weigh())) == before


def may_be_moved(keys, dask_scheduler):
    """For each task, whether the scheduler would let another worker have it if it were long."""
    found = []
    for key in keys:
        task, known = dask_scheduler.tasks[key], dask_scheduler.tasks[key].prefix.duration_average
        task.prefix.duration_average = 3600.0
        found.append(dask_scheduler.extensions["stealing"].steal_time_ratio(task)[0] is not None)
        task.prefix.duration_average = known
    return found


def test_tasks_on_parts_are_not_moved_to_other_workers(client):
    """A part that is moved loses its state; the name that prevents it is one of Dask's."""
    (part,) = persisted([task(part_of_rows)()])
    kept = persisted([task(StatefulPart.share)(part, asked(0, Weigh()))])
    kept += persisted([at_home(StatefulPart.share, part, asked(0, Weigh()))])
    client.gather(client.futures_of(kept))
    assert client.run_on_scheduler(may_be_moved, [value.key for value in kept]) == [True, False]


def test_what_was_summed_on_some_rows_is_combined_from_the_parts(here):
    settings = {"layer": Dense(ACTIVATIONS["sigmoid"]), "scaling": scale_inputs("minmax", X)}
    targets, numbers = Y[:, np.newaxis], RNG.integers(0, N, 400)
    one = open_rows(X, targets, sample_weight=P + 1.0, **settings)
    other = open_rows(cut(X), cut(targets), sample_weight=cut(P + 1.0), **settings)
    nodes = one.nodes(RNG.normal(size=(4, 6)), RNG.normal(size=6))
    ours, theirs = (rows.sampled_sums(numbers, nodes, precision=np.float64) for rows in (one, other))
    np.testing.assert_allclose(theirs.sums.projections, ours.sums.projections, rtol=1e-12)
    np.testing.assert_allclose(theirs.sums.squares, ours.sums.squares, rtol=1e-12)
    assert (theirs.weight, theirs.square) == pytest.approx((ours.weight, ours.square))
    for some in (numbers, numbers[:0]):
        ours, theirs = (rows.sample(some) for rows in (one, other))
        for name in ("X", "residual", "basis", "sqrt_weight"):
            np.testing.assert_array_equal(getattr(theirs, name), getattr(ours, name))


def test_members_of_an_ensemble_are_grown_over_the_cluster(client):
    parameters = {"estimator": SCNRegressor(max_nodes=5), "n_members": 4, "random_state": 0}
    here = SCNEnsembleRegressor(**parameters).fit(X[:500], Y[:500])
    with joblib.parallel_config(backend="dask"):
        there = SCNEnsembleRegressor(**parameters).fit(X[:500], Y[:500])
    np.testing.assert_allclose(there.predict(X), here.predict(X), atol=1e-8)
    lower, upper = there.predict_interval(cut(X), coverage=0.8)
    assert isinstance(lower, da.Array)
    expected = there.predict_interval(X, coverage=0.8)
    np.testing.assert_allclose(np.stack([lower.compute(), upper.compute()]), np.stack(expected), atol=1e-9)


def test_ensembles_say_what_to_do_with_collections():
    with pytest.raises(TypeError, match='joblib.parallel_config\\(backend="dask"\\)'):
        SCNEnsembleRegressor().fit(cut(X), cut(Y))


def worker(status, memory=3.9e9):
    return {"status": status, "memory_limit": 4e9, "metrics": {"memory": memory}}


def test_paused_workers_are_told_from_what_the_scheduler_knows():
    assert paused_workers({"workers": {}}) is None
    assert paused_workers({"workers": {"tcp://a": worker("running")}}) is None
    said = paused_workers({"workers": {"tcp://a": worker("running"), "tcp://b": worker("paused")}})
    assert said.startswith(
        "1 of 2 Dask workers are paused for lack of memory, and the fit waits for them (tcp://b uses "
    )
    assert "3.9 GB of 4.0 GB); give the workers more memory" in said


def test_waiting_for_paused_workers_warns_once_and_goes_on():
    answers, asked = [TimeoutError, TimeoutError, TimeoutError, None], []

    def wait():
        answer = answers.pop(0)
        if answer:
            raise answer

    def info():
        asked.append(len(answers))
        return {"workers": {"tcp://a": worker("running" if len(asked) == 1 else "paused")}}

    with pytest.warns(RuntimeWarning, match="1 of 1 Dask workers are paused") as said:
        wait_for(wait, info)
    assert (len(said), answers, asked) == (1, [], [3, 2])


def set_status(dask_worker, name):
    dask_worker.status = type(dask_worker.status)[name]


def test_a_fit_says_that_the_workers_are_paused(client):
    """The warning, an error in these tests, ends a fit that would wait for ever."""
    client.run(set_status, name="paused")
    paused = pytest.raises(RuntimeWarning, match="[12] of 2 Dask workers are paused for lack of memory")
    try:
        with dask.config.set({"skscn.check-workers-every": 0.01}), paused:
            SCNRegressor(max_nodes=2, random_state=0).fit(cut(X), cut(Y))
    finally:
        client.run(set_status, name="running")


def test_labels_of_different_types_are_refused(here):
    labels = LABELS.astype(object)
    labels[4000:] = 7
    with pytest.raises(ValueError, match="different types, number, str"):
        SCNClassifier(max_nodes=2).fit(cut(X), cut(labels))


def test_held_out_groups_and_rows_are_those_in_memory(here):
    parameters, groups = {"max_nodes": 6, "random_state": 0}, np.arange(N) // 50
    same(
        SCNRegressor(**parameters).fit(X, Y, groups=groups),
        SCNRegressor(**parameters).fit(cut(X), cut(Y), groups=groups),
    )
    given = {"X_val": X[:500], "y_val": LABELS[:500]}
    collections = {"X_val": cut(X[:500], (200, 300)), "y_val": cut(LABELS[:500], (200, 300))}
    rows, labels = X[500:], LABELS[500:]
    chunks = (1000, 3500)
    one = SCNClassifier(**parameters).fit(rows, labels, **given)
    same(one, SCNClassifier(**parameters).fit(cut(rows, chunks), cut(labels, chunks), **collections))
