"""What the theorems promise, over random shapes, weights and parts."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.linalg import lstsq

from skscn import ACTIVATIONS, SCNRegressor
from skscn.growth import grow
from skscn.nodes import Dense
from skscn.output_weights import ALGORITHMS
from skscn.rows import ROWS, LocalBackend, MemoryStorage, Operation, Rows, open_rows
from skscn.scaling import scale_inputs
from skscn.search import CONFIGURATIONS, Configuration, Proposal, StepSchedule

problems = st.builds(
    lambda seed, n, d, m, weighted: _problem(seed, n, d, m, weighted),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(5, 80),
    d=st.integers(1, 6),
    m=st.integers(1, 3),
    weighted=st.booleans(),
)
often = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _problem(seed, n, d, m, weighted):
    """Rows, targets and weights; the weights have a mean of 1, to which weights that are no counts are scaled."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * rng.choice([1e-3, 1.0, 1e3], size=d)
    Y = np.tanh(X @ rng.normal(size=(d, m))) + 0.1 * rng.normal(size=(n, m))
    p = rng.uniform(1.0, 3.0, size=n)
    return X, Y, p / p.mean() if weighted else None


def _fit(problem, **parameters):
    X, Y, p = problem
    parameters = {
        "max_nodes": 8,
        "max_candidates": 30,
        "configuration": "ladder",
        "alpha": 0,
        "random_state": 0,
    } | parameters
    return SCNRegressor(**parameters).fit(X, Y, sample_weight=p)


def _residuals(model, problem):
    """e_0, e_1, …: scaled residuals after each node, as the frozen network gives them."""
    X, Y, _ = problem
    network = replace(model.network_, bounds=None)
    targets = network.outputs.transform(Y)
    start = network.inputs.transform(X) @ network.linear.weights + network.linear.biases
    size = network.linear.size
    first = start @ network.directions[:size, :size] @ network.coefficients[:size]
    staged = (targets - network.outputs.transform(p.reshape(Y.shape)) for p in network.staged_predict(X))
    return [targets - first, *staged]


@often
@given(
    problem=problems,
    configuration=st.sampled_from(["ladder", "renewal", "pooled", "polished"]),
    algorithm=st.sampled_from(list(ALGORITHMS)),
    activation=st.sampled_from(list(ACTIVATIONS)),
)
def test_every_node_passes_the_supervisory_inequality(problem, configuration, algorithm, activation):
    model = _fit(problem, configuration=configuration, algorithm=algorithm, activation=activation, early_stopping=False)
    X, _, p = problem
    p = np.ones(len(X)) if p is None else p
    H, residuals, targets = model.transform(X), _residuals(model, problem), model.network_.outputs.transform(problem[1])
    for L, row in enumerate(model.history_, start=1):
        e, h, r = residuals[L - 1], H[:, L - 1], row["contraction"]
        squares = p @ e**2
        # The frozen network gives the residual that growth saw to about 16 digits of the targets.
        rounding = 1e-9 * squares + 1e-18 * (p @ targets**2)
        xi = (p @ (e * h[:, None])) ** 2 / (p @ h**2) - (1 - r - (1 - r) / (L + 1)) * squares
        assert (xi >= -rounding).all()
        assert row["slack"] == pytest.approx(xi.sum(), rel=1e-5, abs=rounding.sum())
        assert row["slack"] >= 0


@often
@given(problem=problems, activation=st.sampled_from(list(ACTIVATIONS)), alpha=st.sampled_from([0.0, 0.01, 1.0]))
def test_sc1_brings_every_output_down_by_its_contraction(problem, activation, alpha):
    model = _fit(problem, algorithm="SC-I", activation=activation, alpha=alpha)
    p = np.ones(len(problem[0])) if problem[2] is None else problem[2]
    squares = np.array([p @ e**2 for e in _residuals(model, problem)])
    for L, row in enumerate(model.history_, start=1):
        r = row["contraction"]
        assert (squares[L] <= (r + (1 - r) / (L + 1)) * squares[L - 1] * (1 + 1e-9) + 1e-20 * squares[0]).all()


@often
@given(problem=problems, activation=st.sampled_from(list(ACTIVATIONS)), alpha=st.sampled_from([0.01, 1.0]))
def test_sc2_brings_the_penalised_error_down_by_its_contraction(problem, activation, alpha):
    window = 3
    model = _fit(problem, algorithm="SC-II", window=window, activation=activation, alpha=alpha)
    p = np.ones(len(problem[0])) if problem[2] is None else problem[2]
    network, squares = model.network_, [p @ e**2 for e in _residuals(model, problem)]
    weights = [network.directions[:k, :k] @ network.coefficients[:k] for k in range(len(squares))]
    for L, row in enumerate(model.history_, start=1):
        # The oldest weight of the window before is not evaluated again.
        before = squares[L - 1] + alpha * (weights[L - 1][max(0, L - window) :] ** 2).sum(axis=0)
        after = squares[L] + alpha * (weights[L][max(0, L - window) :] ** 2).sum(axis=0)
        r = row["contraction"]
        assert (after <= (r + (1 - r) / (L + 1)) * before * (1 + 1e-9) + 1e-18 * squares[0]).all()


@often
@given(
    problem=problems,
    algorithm=st.sampled_from(list(ALGORITHMS)),
    activation=st.sampled_from(list(ACTIVATIONS)),
    nodes_per_step=st.integers(1, 3),
)
def test_the_training_error_never_rises(problem, algorithm, activation, nodes_per_step):
    model = _fit(problem, algorithm=algorithm, activation=activation, nodes_per_step=nodes_per_step, window=3)
    p = np.ones(len(problem[0])) if problem[2] is None else problem[2]
    residuals = _residuals(model, problem)
    rmse = [np.sqrt(np.average((e**2).mean(axis=1), weights=p)) for e in residuals]
    assert (np.diff(rmse) <= 1e-9 * rmse[0]).all()
    scale = model.network_.outputs.scale
    wanted = [np.sqrt(np.average(((e * scale) ** 2).mean(axis=1), weights=p)) for e in residuals]
    tolerance = 1e-9 * scale.max()
    np.testing.assert_allclose(model.history_["train_rmse"], np.array(wanted)[model.history_["nodes"]], atol=tolerance)


@often
@given(problem=problems, activation=st.sampled_from(list(ACTIVATIONS)))
def test_sc3_is_the_least_squares_solution_of_its_nodes(problem, activation):
    model = _fit(problem, activation=activation)
    X, Y, p = problem
    roots = np.sqrt(np.ones(len(X)) if p is None else p)[:, None]
    targets = model.network_.outputs.transform(Y)
    H = model.transform(X)
    norms = np.linalg.norm(H, axis=0) + 1e-300
    truth = roots * (targets - H @ (lstsq(roots * H / norms, roots * targets)[0] / norms[:, None]))
    ours = roots * _residuals(model, problem)[-1]
    assert np.linalg.norm(ours) <= np.linalg.norm(truth) * (1 + 1e-6) + 1e-7


@often
@given(problem=problems, activation=st.sampled_from(list(ACTIVATIONS)))
def test_a_window_as_large_as_the_network_makes_sc2_sc3(problem, activation):
    second = _fit(problem, algorithm="SC-II", window=8, activation=activation)
    third = _fit(problem, algorithm="SC-III", activation=activation)
    np.testing.assert_array_equal(second.network_.weights, third.network_.weights)
    scale = np.abs(third.network_.outputs.scale).max()
    np.testing.assert_allclose(second.predict(problem[0]), third.predict(problem[0]), atol=1e-6 * scale)


SETTINGS = {"max_nodes": 4, "tol": 0.0, "pace": StepSchedule(1), "seed": 0}
# Two stretches, which Dask keeps in two parts.
MANY = _problem(0, 4200, 3, 2, weighted=True)
# What keeps a strategy short.
SHORT = {"quickprop": {"max_iter": 3}}


def combined(rows, configuration, algorithm):
    """The steps and the output weights of a network that grows on rows from registered parts."""
    search = CONFIGURATIONS[configuration](
        (1.0, 10.0), (0.9, 0.99, 0.999, 0.999999), 20, **SHORT.get(configuration, {})
    )
    rule = ALGORITHMS[algorithm](2, 2)
    with rows:
        steps = list(grow(rows, search, rule, **SETTINGS))
        return steps, rule.output_weights()


def in_threads(problem, n_jobs):
    """Rows in short stretches, so that there is work for several threads."""
    X, Y, p = problem
    scaling, residual = scale_inputs("minmax", X), Y if p is None else Y * np.sqrt(p)[:, None]
    storage = MemoryStorage(X, scaling, residual, p)
    backend = LocalBackend(storage, (*X.shape, Y.shape[1]), n_jobs=n_jobs, stretch=8)
    return Rows(backend, Dense(ACTIVATIONS["sigmoid"]))


@often
@given(problem=problems, algorithm=st.sampled_from(list(ALGORITHMS)))
def test_the_same_seed_gives_the_same_network_with_any_number_of_threads(problem, algorithm):
    networks = []
    for n_jobs in (1, 3):
        rule, rows = ALGORITHMS[algorithm](problem[1].shape[1], 3), in_threads(problem, n_jobs)
        with rows:
            steps = list(grow(rows, CONFIGURATIONS["ladder"]((1.0, 10.0)), rule, **SETTINGS))
            networks.append([rule.output_weights(), *(step.added.weights for step in steps)])
    for one, other in zip(*networks, strict=True):
        np.testing.assert_array_equal(one, other)


class Meet(Operation):
    """Which threads work on the rows; each waits for the others, so that none can do the work of two."""

    def __init__(self, count):
        self.met, self.threads = threading.Barrier(count), {}

    def __call__(self, storage, rows):
        if threading.get_ident() not in self.threads:
            self.threads[threading.get_ident()] = rows
            self.met.wait(timeout=60)
        return 1


def test_threads_are_used_where_there_are_rows_for_them():
    for n_rows, expected in ((60, 3), (17, 2), (15, 1)):
        rows, meeting = in_threads(_problem(0, n_rows, 3, 1, weighted=False), n_jobs=3), Meet(expected)
        with rows:
            rows.backend.total(meeting)
        assert len(meeting.threads) == expected
        # Without the context, here.
        here = Meet(1)
        rows.backend.total(here)
        assert list(here.threads) == [threading.get_ident()]


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_combination_of_registered_parts_grows_the_same_network_on_all_rows(
    activation, configuration, algorithm, rows_in
):
    X, Y, p = MANY
    settings = {"layer": Dense(ACTIVATIONS[activation]), "scaling": scale_inputs("minmax", X), "sample_weight": p}
    first, *others = (combined(rows_in(name, X, Y, **settings), configuration, algorithm) for name in ROWS)
    assert [step.nodes for step in first[0]] == [1, 2, 3, 4]
    rmse = [step.train_rmse for step in first[0]]
    assert rmse == sorted(rmse, reverse=True)
    assert first[1].shape == (4, 2)
    for steps, output_weights in others:
        np.testing.assert_array_equal(output_weights, first[1])
        for ours, theirs in zip(steps, first[0], strict=True):
            np.testing.assert_array_equal(ours.added.weights, theirs.added.weights)
            np.testing.assert_array_equal(ours.added.biases, theirs.added.biases)
            assert replace(ours, added=theirs.added, seconds=theirs.seconds) == theirs


class Fixed(Configuration):
    """Proposes the nodes that it was given, without asking for any fall of the error."""

    def __init__(self, *nodes):
        self.nodes = nodes

    def propose(self, rows, node, rng, count):
        for weight, bias in self.nodes:
            yield Proposal(rows.nodes(np.array([[weight]]), np.array([bias]), 1.0), (1.0,), 1)


@pytest.mark.parametrize(
    "nodes",
    [
        [(1.0, -8.0)],  # almost zero on all rows
        [(4000.0, -3992.0)],  # carried by a few rows only
        [(0.0, 0.0)] * 2,  # the same column twice
        [(1.0, 0.0), (1.0 + 1e-9, 0.0)],  # almost the same column
    ],
    ids=["dead", "lonely", "dependent", "nearly dependent"],
)
def test_growth_refuses_what_a_strategy_should_not_have_proposed(nodes):
    X = np.linspace(0.0, 1.0, 1000)[:, None]
    rows = open_rows(X, np.sin(7 * X), layer=Dense(ACTIVATIONS["sigmoid"]), scaling=scale_inputs(None, X))
    *good, _ = nodes
    rule = ALGORITHMS["SC-III"](1, 15)
    growth = grow(rows, Fixed(*nodes), rule, max_nodes=9, tol=0.0, pace=StepSchedule(1), seed=0)
    assert len(list(growth)) == len(good)


def test_growth_says_why_it_ended():
    X, Y, _ = _problem(0, 60, 3, 1, weighted=False)

    def reason(max_nodes, tol, contractions=(0.999999,)):
        rows = open_rows(X, Y, layer=Dense(ACTIVATIONS["sigmoid"]), scaling=scale_inputs("minmax", X))
        growth = grow(
            rows,
            CONFIGURATIONS["ladder"]((1.0,), contractions, 20),
            ALGORITHMS["SC-III"](1, 15),
            max_nodes=max_nodes,
            tol=tol,
            pace=StepSchedule(1),
            seed=0,
        )
        while True:
            try:
                next(growth)
            except StopIteration as end:
                return end.value

    assert reason(3, 0.0) == "max_nodes"
    assert reason(3, 10.0) == "tol"
    assert reason(3, 0.0, contractions=(1e-9,)) == "no candidate"
