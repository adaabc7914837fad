"""Reservoirs: states, the echo state property, growth under the inequality, output weights on later rows."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from skscn.growth import grow, replay
from skscn.recurrent.fitting import squared_error
from skscn.recurrent.growing import GrowingReservoir, ReservoirSearch
from skscn.recurrent.later import later_errors
from skscn.recurrent.nodes import (
    LARGEST_FEEDBACK,
    RecurrentNodes,
    ReservoirConfig,
    all_states,
    block_states,
    candidate_states,
    delay_line,
    draw,
)
from skscn.recurrent.sequences import Sequences
from skscn.recurrent.spreads import widening
from skscn.search import StepSchedule

RNG = np.random.default_rng(0)
CONFIG = ReservoirConfig(2, (0.1, 5.0), products=True)


def drawn(width, count, seed=0, config=CONFIG):
    """A reservoir of random nodes, each of which may use those before it."""
    rng = np.random.default_rng(seed)
    return RecurrentNodes.joined([draw(rng, 2, width, 2 * present, config) for present in range(count // 2)])


def sequences(n=300, parts=1, seed=0):
    u = np.random.default_rng(seed).normal(size=(n, 2))
    y = np.zeros((n, 1))
    for t in range(2, n):
        y[t] = 0.6 * y[t - 1] + np.tanh(u[t - 1, :1] * u[t - 2, 1:]) + 0.3 * u[t, :1]
    ends = np.linspace(0, n, parts + 1).astype(int)
    return Sequences(u, y / y.std(), [slice(int(a), int(b)) for a, b in pairwise(ends)], 10)


def by_hand(z, nodes):
    """States by the formula, one node after the other."""
    states, before = np.zeros((len(z), len(nodes))), np.zeros(len(nodes))
    for n, inputs in enumerate(z):
        for j in range(len(nodes)):
            known = np.concatenate([inputs, before])
            heard = sum(v * before[k] for k, v in zip(nodes.sources[:, j], nodes.source_weights[:, j], strict=True))
            inner = nodes.weights[:, j] @ inputs + nodes.biases[j] + heard + nodes.feedback[j] * before[j]
            one, other = nodes.factors[:, j]
            states[n, j] = np.tanh(inner) if one < 0 else known[one] * known[other]
        before = states[n]
    return states


def test_states_follow_the_formula():
    z, nodes = np.random.default_rng(1).normal(size=(40, 6)), drawn(6, 12)
    assert 0 < nodes.products.sum() < len(nodes)
    assert np.allclose(all_states(z, nodes), by_hand(z, nodes), rtol=0, atol=1e-13)


def test_states_do_not_depend_on_later_nodes_bit_for_bit():
    z, nodes = np.random.default_rng(1).normal(size=(100, 6)), drawn(6, 30)
    states = all_states(z, nodes)
    for count in range(1, 30):
        assert (all_states(z, nodes.take(slice(count))) == states[:, :count]).all()


def test_candidates_have_the_states_of_nodes_across_parts_of_memory(monkeypatch):
    monkeypatch.setattr("skscn.recurrent.nodes._PART", 7)
    rng, segments = np.random.default_rng(1), [slice(0, 25), slice(25, 60)]
    z, lagged = rng.normal(size=(60, 6)), rng.normal(size=(60, 8))
    nodes, rows = draw(rng, 20, 6, 8, CONFIG), np.arange(3, 60, 2)
    exact = block_states(z, lagged, nodes, segments)
    assert np.allclose(candidate_states(z, lagged, nodes, segments, rows), exact[rows], rtol=0, atol=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_echo_state(seed):
    """What two initial states differ by vanishes, although the weights of earlier nodes are not limited."""
    rng = np.random.default_rng(seed)
    nodes = drawn(6, 40, seed, ReservoirConfig(2, (0.003, 1.0), products=True))
    assert nodes.is_triangular()
    assert nodes.has_echo_state().all()
    z = rng.normal(size=(500, 6))
    one, other = (all_states(z, nodes, rng.uniform(-1, 1, 40))[-1] for _ in range(2))
    assert np.abs(one - other).max() < 1e-10


def test_drawn_nodes_satisfy_the_condition():
    nodes = draw(np.random.default_rng(0), 2000, 3, 5, CONFIG)
    assert np.abs(nodes.feedback).max() <= LARGEST_FEEDBACK < 1.0
    assert nodes.sources.max() < 5
    assert nodes.factors.max() < 3 + 5


def growing_steps(data, count, nodes, share=1.0, **rule):
    """A reservoir, and the generator of its steps."""
    growing = GrowingReservoir.of(data, CONFIG, share, nodes, **rule)
    steps = grow(
        growing.rows,
        ReservoirSearch(CONFIG, 100),
        growing.output_weights,
        max_nodes=nodes,
        tol=1e-12,
        pace=StepSchedule(count),
        seed=0,
        state=growing.state,
    )
    return growing, steps


def residual(growing):
    return growing.rows.sample(np.arange(growing.rows.n_rows)).residual


@pytest.mark.parametrize("rule", [{}, {"algorithm": "SC-I"}, {"algorithm": "SC-II", "window": 3}], ids=str)
@pytest.mark.parametrize(("parts", "count"), [(1, 1), (3, 4)])
def test_every_node_satisfies_the_inequality_of_the_paper_and_leaves_earlier_states(parts, count, rule):
    data = sequences(parts=parts)
    growing, steps = growing_steps(data, count, 12, **rule)
    before, known = residual(growing), 0
    for step in steps:
        columns = growing.columns[data.scored(), growing.linear + known :]
        e = before
        for node, h in enumerate(columns.T, start=known + 1):
            # ξ_L with the residual that the nodes before have left, L and the r that was recorded.
            r = step.contraction
            required = (1.0 - r - (1.0 - r) / (node + 1)) * (e**2).sum()
            assert ((h @ e) ** 2).sum() / (h @ h) >= required * (1 - 1e-9)
            e = left_by(growing, data, node)
        assert (residual(growing) ** 2).sum() <= (before**2).sum()
        assert np.allclose(residual(growing), e, rtol=0, atol=1e-10)
        before, known = residual(growing), step.nodes
    assert known == 12
    whole = np.vstack([all_states(growing.course.z[part], growing.nodes) for part in data.segments])
    assert (whole == growing.course.states).all()


def left_by(growing, data, nodes):
    """The residual after the first nodes, by the definition of the rule."""
    rows, rule = data.scored(), growing.output_weights
    weights = rule.output_weights(nodes)
    return data.targets[rows] - growing.columns[rows, : growing.linear + nodes] @ weights


def test_the_delay_line_stays_within_a_sequence():
    u = np.arange(6.0)[:, np.newaxis]
    line = delay_line(u, [slice(0, 3), slice(3, 6)], 2)
    assert line.tolist() == [[0, 0, 0], [1, 0, 0], [2, 1, 0], [3, 3, 3], [4, 3, 3], [5, 4, 3]]
    continued = delay_line(u[2:], [slice(0, 4)], 2, before=u[:2])
    assert continued[0].tolist() == [2, 1, 0]


def grown(parts=1):
    data = sequences(parts=parts)
    growing, steps = growing_steps(data, 5, 10, share=0.7)
    assert len(list(steps)) >= 2
    return data, growing


@pytest.mark.parametrize("penalty", [0.0, 1e-6, 1e-2])
def test_output_weights_are_those_of_ridge_regression(penalty):
    data, growing = grown()
    rows = data.scored(0.0, 0.7)
    H = growing.columns[rows, 1:]
    units = H.std(axis=0)
    ridge = Ridge(alpha=penalty * len(rows), solver="svd", tol=0).fit(H / units, data.targets[rows, 0])
    (weights,) = growing.factor(0.7).ridge_path([penalty])
    assert np.allclose(growing.columns[rows] @ weights[:, 0], ridge.predict(H / units), rtol=0, atol=1e-9)


def test_later_errors_use_weights_from_the_rows_before():
    data, growing = grown(parts=2)
    errors = later_errors(growing, growing.size, [1e-4])
    squares, rows = [], data.scored(0.0, 0.7)
    for block in data.blocks(0.7, 3):
        # Weights are penalised in units of the columns on the rows that they come from.
        scaled = growing.columns[:, 1:] / growing.columns[rows, 1:].std(axis=0)
        ridge = Ridge(alpha=1e-4 * len(rows), solver="svd").fit(scaled[rows], data.targets[rows])
        squares.append((ridge.predict(scaled[block]).reshape(-1, 1) - data.targets[block]) ** 2)
        rows = np.concatenate([rows, block])
    assert errors[0] == pytest.approx(np.sqrt(np.vstack(squares).mean()), rel=1e-8)


def test_blocks_of_later_rows_are_the_end_of_each_sequence():
    data = sequences(n=200, parts=2)
    early, blocks = data.scored(0.0, 0.7), data.blocks(0.7, 3)
    assert early.tolist() == [*range(10, 70), *range(110, 170)]
    assert np.sort(np.concatenate(blocks)).tolist() == [*range(70, 100), *range(170, 200)]
    assert [len(block) for block in blocks] == [20, 20, 20]


@pytest.mark.parametrize("window", [1, 4])
def test_a_window_of_output_weights(window):
    """SC-II by its definition: linear columns once, then each node with those before it that are in the window."""
    data = sequences()
    growing, steps = growing_steps(data, 1, 8, algorithm="SC-II", window=window)
    assert len(list(steps)) == 8
    rows, linear = data.scored(), growing.linear
    H, T = growing.columns[rows], data.targets[rows]
    weights = np.zeros((growing.size, 1))
    weights[:linear] = np.linalg.lstsq(H[:, :linear], T, rcond=None)[0]
    for end in range(linear + 1, growing.size + 1):
        part = slice(max(linear, end - window), end)
        weights[part] += np.linalg.lstsq(H[:, part], T - H @ weights, rcond=None)[0]
    (found,) = growing.weights(growing.factor(1.0), [1e-3])
    assert np.allclose(H @ found, H @ weights, rtol=0, atol=1e-12)
    assert np.allclose(residual(growing), T - H @ weights, rtol=0, atol=1e-12)
    again, _ = growing_steps(data, 1, 8, algorithm="SC-II", window=window)
    for node in range(8):
        replay(again.rows, again.output_weights, growing.output_weights.grown.take(slice(node, node + 1)))
    assert (residual(again) == residual(growing)).all()


def test_intervals_by_horizon_widen_and_have_no_holes():
    errors = np.sort(RNG.exponential(size=(6, 1, 30)) * np.array([1.0, 3.0, 2.0, 5.0, 4.0, 6.0])[:, None, None], axis=2)
    errors[[0, 1, 3]] = np.nan
    widths = widening(errors, 0.9)[:, 0]
    assert (np.diff(widths) >= 0.0).all()
    assert widths[0] == widths[1] == widths[2] == np.sort(errors[2, 0])[27]


def test_nodes_grown_again_are_kept_only_if_they_are_better_under_the_penalty():
    data, alpha = sequences(400), 1e-3
    growing, steps = growing_steps(data, 4, 20)
    assert list(steps)
    factor, scored = growing.factor(1.0), data.scored()
    (weights,) = growing.weights(factor, [alpha])
    left = data.targets[scored] - growing.columns[scored] @ weights
    assert squared_error(growing, factor, alpha) == pytest.approx((left**2).sum())
    assert squared_error(growing, factor, alpha) > factor.residual_squares.sum()
