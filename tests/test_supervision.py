import numpy as np
import pytest

from skscn import DeepSCNRegressor, SCNClassifier, SCNEnsembleRegressor, SCNRegressor, save_model
from skscn.activations import resolve_activation
from skscn.fit.checkpoint import CheckpointError
from skscn.growth import grow
from skscn.nodes import Dense
from skscn.output_weights import LeastSquares
from skscn.persistence import ModelFileError
from skscn.rows import open_rows
from skscn.scaling import scale_inputs
from skscn.search import Configuration, Proposal, StepSchedule
from skscn.supervision import (
    PAPER,
    SMALLEST_SUPPORT,
    SUPERVISIONS,
    Inequality,
    Sums,
    Supervision,
    admissible,
    alive,
    forward_selection,
    participates,
)

RNG = np.random.default_rng(0)
E, H = RNG.normal(size=(40, 2)), RNG.uniform(size=(40, 5))
SUMS = Sums(E.T @ H, (H**2).sum(axis=0), (H**4).sum(axis=0))


def test_slack_is_the_papers_formula():
    r, node = 0.99, 3
    mu = (1 - r) / (node + 1)
    for q in range(2):
        for j in range(5):
            e, h = E[:, q], H[:, j]
            truth = (e @ h) ** 2 / (h @ h) - (1 - r - mu) * (e @ e)
            assert PAPER.slack(SUMS, (E**2).sum(axis=0), r, node)[q, j] == pytest.approx(truth, rel=1e-12)


def test_each_candidate_can_meet_a_residual_and_a_number_of_nodes_of_its_own():
    r, squares, numbers = np.reshape([0.9, 0.99], (-1, 1, 1)), RNG.uniform(1.0, 2.0, (2, 5)), np.arange(3, 8)
    slacks = PAPER.slack(SUMS, squares, r, numbers)
    for j, number in enumerate(numbers):
        expected = [PAPER.slack(SUMS, squares[:, j], each, int(number))[:, j] for each in (0.9, 0.99)]
        np.testing.assert_array_equal(slacks[:, :, j], expected)


def test_slack_says_exactly_when_the_error_falls_enough():
    r, node = 0.97, 2
    slacks = PAPER.slack(SUMS, (E**2).sum(axis=0), r, node)
    for q in range(2):
        for j in range(5):
            e, h = E[:, q], H[:, j]
            after = e - h * (e @ h) / (h @ h)
            falls = after @ after <= (r + (1 - r) / (node + 1)) * (e @ e)
            assert (slacks[q, j] >= 0) == falls
    assert (admissible(slacks) == (slacks >= 0).all(axis=0)).all()


def test_contraction_one_asks_for_nothing():
    assert admissible(PAPER.slack(SUMS, (E**2).sum(axis=0), 1.0, 1)).all()


def test_a_zero_column_is_not_admissible():
    zero = Sums(np.zeros((1, 1)), np.zeros(1), np.zeros(1))
    assert not admissible(PAPER.slack(zero, np.ones(1), 0.999999, 1)).any()
    assert not alive(zero, 40.0, 1.0).any()


def test_guards_refuse_almost_dead_and_lonely_nodes():
    columns = np.column_stack([np.full(1000, 0.5), np.full(1000, 1e-3), np.r_[np.ones(5), np.zeros(995)]])
    sums = Sums(np.zeros((1, 3)), (columns**2).sum(axis=0), (columns**4).sum(axis=0))
    np.testing.assert_array_equal(alive(sums, 1000.0, 1.0), [True, False, True])
    np.testing.assert_array_equal(
        participates(sums.squares, sums.quartics, SMALLEST_SUPPORT * 1000.0), [True, True, False]
    )


def test_guards_do_not_depend_on_the_unit_of_the_activation():
    sums = Sums(np.zeros((1, 1)), np.array([1000 * 1e-6]))
    assert not alive(sums, 1000.0, 1.0).any()
    assert alive(sums, 1000.0, 1e-3).all()


def relu(z):
    return np.maximum(z, 0.0)


def softplus(z):
    return np.logaddexp(0.0, z)


def rows_of(activation, unit=1.0):
    """Rows of which a few have an input that is the largest."""
    X = np.append(np.linspace(0.0, 0.98, 196), [1.0] * 4)[:, np.newaxis] * unit
    layer = Dense(resolve_activation(activation))
    return open_rows(X, (unit <= X).astype(float), layer=layer, scaling=scale_inputs(None, X))


def are_alive(rows, weights, biases):
    nodes = rows.nodes(np.array([weights]), np.array(biases))
    return alive(rows.sums(nodes), rows.weight, rows.scales(nodes)).tolist()


class Only(Configuration):
    """Proposes one node, again and again."""

    def __init__(self, weight, bias):
        self.node = np.array([[weight]]), np.array([bias])

    def propose(self, rows, node, rng, count):
        yield Proposal(rows.nodes(*self.node), (0.999,), 1)


@pytest.mark.parametrize("activation", ["relu", relu, softplus])
def test_a_node_of_an_unbounded_activation_that_is_almost_zero_is_refused_alone(activation):
    rows = rows_of(activation)
    bias = -60.0 if activation is softplus else -1.0 + 1e-10
    assert rows.sums(rows.nodes(np.ones((1, 1)), np.array([bias]))).squares < 1e-18
    with rows:
        growth = grow(rows, Only(1.0, bias), LeastSquares(1), max_nodes=1, tol=0.0, pace=StepSchedule(1), seed=0)
        assert list(growth) == []


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("activation", ["relu", relu])
def test_neither_the_unit_of_the_inputs_nor_that_of_the_weights_matters(activation, factor, unit):
    weights, biases = np.array([1.0, -1.0, 1.0, 1.0]), np.array([-0.3, 1.0, -0.999, -1.0 + 1e-10])
    found = are_alive(rows_of(activation, unit=unit), factor * weights / unit, factor * biases)
    assert found == [True, True, False, False]


def test_ordinary_nodes_of_all_sorts_of_functions_are_alive():
    functions = [softplus, np.arctan, np.square, np.sin, np.exp, np.sinh, lambda z: np.where(z > 0, z, 0.1 * z)]
    for function in functions:
        rows = rows_of(function)
        assert all(are_alive(rows, [3.0, -3.0, 0.5, 20.0], [-1.0, 1.0, 0.2, -10.0])), function
    # What overflows is not alive, and no reason to warn.
    assert are_alive(rows_of(lambda z: np.exp(np.minimum(z, 700.0))), [1.0], [-1e3]) == [False]


def test_nodes_of_the_layer_below_are_judged_by_what_they_see():
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = DeepSCNRegressor(activation="relu", max_layers=2, nodes_per_layer=5, max_nodes=10, random_state=0)
    model.set_params(early_stopping=False).fit(X, np.sin(3 * X[:, 0]) * X[:, 1])
    assert model.network_.layer_sizes == (5, 5)


@pytest.mark.parametrize("from_matrix", [True, False])
def test_forward_selection_chooses_what_least_squares_with_those_before_explains_best(from_matrix):
    def score(sums, _, chosen):
        left = np.delete(np.arange(H.shape[1]), chosen)
        scores = np.full(H.shape[1], -np.inf)
        scores[left] = (sums.projections[:, left] ** 2).sum(axis=0) / sums.squares[left]
        return scores

    gram = H.T @ H
    products = None if from_matrix else lambda number: H[:, number] @ H
    sums = Sums(SUMS.projections, SUMS.squares, gram=gram if from_matrix else None)
    found = forward_selection(sums, 4, score, orthogonal=True, products=products).tolist()
    for place, number in enumerate(found):
        left = {}
        for other in set(range(H.shape[1])) - set(found[:place]):
            columns = H[:, [*found[:place], other]]
            left[other] = ((E - columns @ np.linalg.lstsq(columns, E, rcond=None)[0]) ** 2).sum()
        assert number == min(left, key=left.get)


X = RNG.uniform(size=(200, 2))
Y = np.column_stack([np.sin(6 * X[:, 0]), X[:, 1] ** 2 + X[:, 0]])
SMALL = {"max_nodes": 12, "max_candidates": 40, "early_stopping": False, "random_state": 0}


class Same:
    """The paper's formula, written again; any object with slack will do."""

    def slack(self, sums, residual_squares, contraction, node):
        score = np.zeros_like(sums.projections)
        np.divide(sums.projections**2, sums.squares, out=score, where=sums.squares > 0)
        return score - (1 - contraction - (1 - contraction) / (node + 1)) * residual_squares


class Constant(Supervision):
    """The same for all candidates, whatever is asked."""

    def __init__(self, value):
        self.value = value

    def slack(self, sums, residual_squares, contraction, node):
        return self.value


@pytest.mark.parametrize("configuration", ["ladder", "polished"])
@pytest.mark.parametrize("y", [Y, Y[:, 0]])
def test_an_object_with_the_papers_formula_gives_the_same_network(configuration, y):
    named, own = (
        SCNRegressor(configuration=configuration, supervision=supervision, **SMALL).fit(X, y)
        for supervision in ("paper", Same())
    )
    assert np.array_equal(own.predict(X), named.predict(X))
    for name in ("scope", "contraction", "slack", "train_rmse", "candidates"):
        np.testing.assert_array_equal(own.history_[name], named.history_[name])


@pytest.mark.parametrize("supervision", SUPERVISIONS)
@pytest.mark.parametrize("configuration", ["ladder", "pooled"])
@pytest.mark.parametrize("algorithm", ["SC-I", "SC-II", "SC-III"])
def test_every_supervision_guarantees_its_decrease(supervision, configuration, algorithm):
    model = SCNRegressor(
        algorithm, configuration=configuration, supervision=supervision, nodes_per_step=1, direct_link=False, **SMALL
    ).fit(X, Y[:, 0])
    history, weaken = model.history_, SUPERVISIONS[supervision]().weakening
    squares = history["train_rmse"] ** 2
    assert len(history) > 5
    bounds = history["contraction"] + weaken(history["contraction"], history["nodes"])
    assert (squares[1:] <= bounds[1:] * squares[:-1] * (1 + 1e-9)).all()


@pytest.mark.parametrize("algorithm", ["SC-I", "SC-II", "SC-III"])
def test_the_orthogonal_score_is_the_decrease_of_the_error(algorithm):
    model = SCNRegressor(algorithm, configuration="pooled", supervision="orthogonal", nodes_per_step=1, **SMALL)
    history = model.fit(X, Y[:, 0]).history_
    squares = history["train_rmse"] ** 2
    shares, nodes = squares[1:] / squares[:-1], history["nodes"][1:]
    # Each node has the smallest r that its decrease satisfies.
    smallest = [
        min(r for r in model.contractions if share <= r + (1 - r) / (node + 1))
        for share, node in zip(shares, nodes, strict=True)
    ]
    np.testing.assert_array_equal(history["contraction"][1:], smallest)


def test_the_orthogonal_score_refuses_fewer_nodes():
    sizes = [
        SCNRegressor(supervision=supervision, **SMALL | {"contractions": (0.9,)}).fit(X, Y[:, 0]).n_nodes_
        for supervision in ("paper", "orthogonal")
    ]
    assert sizes[0] < sizes[1]


def test_a_sequence_that_decays_faster_requires_more():
    squares = (E**2).sum(axis=0)
    quadratic = Inequality(SUPERVISIONS["quadratic"]())
    assert (quadratic.slack(SUMS, squares, 0.9, 1) < PAPER.slack(SUMS, squares, 0.9, 1)).all()
    together = Inequality(together=True)
    np.testing.assert_allclose(together.slack(SUMS, squares, 0.9, 1)[0], PAPER.slack(SUMS, squares, 0.9, 1).sum(axis=0))


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (np.nan * np.ones((2, 40)), "Constant.slack returned NaN for node 1; it must return numbers."),
        (np.ones(40), r"shape \(40,\) and must return \(2, 40\): a number for each output and candidate"),
        (None, r"shape \(\) and must return \(2, 40\)"),
    ],
)
def test_what_is_no_slack_is_refused_in_one_sentence(value, sentence):
    with pytest.raises(ValueError, match=sentence):
        SCNRegressor(configuration="ladder", supervision=Constant(value), **SMALL).fit(X, Y)


@pytest.mark.parametrize(
    ("supervision", "sentence"),
    [
        ("papers", "'supervision' parameter .* among .*'paper'.* or an object implementing 'slack'"),
        (3, "'supervision' parameter .* among .*'paper'.* or an object implementing 'slack'"),
        (Same, r"supervision is the class Same; it must be an object: supervision=Same\(\)."),
    ],
)
def test_another_supervision_is_refused(supervision, sentence):
    with pytest.raises(ValueError, match=sentence):
        SCNRegressor(supervision=supervision).fit(X, Y)


def test_networks_of_all_kinds_have_it():
    refused = Constant(None)
    models = [
        DeepSCNRegressor(supervision=refused),
        SCNClassifier(supervision=refused),
        SCNEnsembleRegressor(SCNRegressor(supervision=refused), n_members=2),
    ]
    for model in models:
        with pytest.raises(ValueError, match=r"Constant.slack returned an array of shape \(\)"):
            model.fit(X, (Y[:, 0] > 0).astype(int))


def test_files_keep_names_and_refuse_objects(tmp_path):
    model = SCNRegressor(supervision=Same(), **SMALL).fit(X, Y)
    with pytest.raises(
        ModelFileError, match=r"supervision=Same\(...\) is an object, and files keep names; add its class to"
    ):
        save_model(model, tmp_path / "model.scn")


def test_a_checkpoint_of_another_supervision_is_refused(tmp_path):
    model = SCNRegressor(supervision=Same(), checkpoint=tmp_path / "checkpoint", **SMALL).fit(X, Y)
    with pytest.raises(CheckpointError, match=r"supervision=Same\(\[\]\) there and 'orthogonal' here"):
        model.set_params(supervision="orthogonal").fit(X, Y)
