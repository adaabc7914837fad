import numpy as np
import pytest

from skscn.activations import ACTIVATIONS
from skscn.nodes import Dense
from skscn.rows import ROWS, open_rows
from skscn.scaling import scale_inputs
from skscn.search import CONFIGURATIONS, Free, Ladder, resolve_configuration
from skscn.supervision import admissible, alive

RNG = np.random.default_rng(2)
X, T = RNG.uniform(size=(100, 2)), RNG.uniform(size=(100, 1))
SCOPES, CONTRACTIONS, POOL = (1.0, 10.0), (0.5, 0.99), 30


@pytest.fixture
def rows():
    return open_rows(X, T, layer=Dense(ACTIVATIONS["sigmoid"]), scaling=scale_inputs(None, X))


def refused(proposals):
    """All lists of a strategy that is told each time that no candidate was accepted."""
    found, last = [], next(proposals, None)
    while last is not None:
        found.append(last)
        try:
            last = proposals.send(0)
        except StopIteration:
            last = None
    return found


@pytest.mark.parametrize("backend", ROWS)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_proposals_have_the_shape_that_growth_expects(name, backend, rows_in):
    rows = rows_in(backend, X, T, layer=Dense(ACTIVATIONS["sigmoid"]), scaling=scale_inputs(None, X))
    configuration = resolve_configuration(name, scopes=SCOPES, contractions=CONTRACTIONS, max_candidates=POOL)
    proposal = next(configuration.propose(rows, 1, np.random.default_rng(0), 2))
    assert proposal.nodes.weights.shape == (2, len(proposal.nodes.biases))
    assert proposal.nodes.scopes.shape == proposal.nodes.biases.shape
    assert min(SCOPES) <= proposal.nodes.scopes.min() <= proposal.nodes.scopes.max() <= max(SCOPES)
    assert len(proposal.nodes.biases) <= proposal.candidates


@pytest.mark.parametrize("strategy", [Ladder, Free])
def test_draws_stay_in_their_scope(strategy, rows):
    proposal = next(strategy(SCOPES, CONTRACTIONS, POOL).propose(rows, 1, np.random.default_rng(0), 2))
    assert np.abs(proposal.nodes.weights).max() <= proposal.nodes.scopes.min()
    assert np.abs(proposal.nodes.biases).max() <= proposal.nodes.scopes.min()


def test_an_instance_is_taken_as_it_is():
    mine = Free((3.0,), (0.9,), 5)
    assert resolve_configuration(mine, scopes=SCOPES, contractions=CONTRACTIONS, max_candidates=POOL) is mine


def test_ladder_climbs_contractions_over_one_pool_and_then_scopes(rows):
    proposals = refused(Ladder(SCOPES, CONTRACTIONS, POOL).propose(rows, 1, np.random.default_rng(0), 1))
    climb = [(p.nodes.scopes[0], *p.contractions) for p in proposals]
    assert climb == sorted(climb)
    assert {p.candidates for p in proposals if p.nodes.scopes[0] == 1.0} == {POOL}
    assert {p.candidates for p in proposals if p.nodes.scopes[0] == 10.0} == {2 * POOL}


def test_ladder_proposes_every_admissible_candidate_best_first(rows):
    proposals = refused(Ladder((10.0,), (0.99,), POOL).propose(rows, 1, np.random.default_rng(0), 1))
    proposed = np.hstack([p.nodes.weights for p in proposals])
    rng = np.random.default_rng(0)
    weights, biases = rng.uniform(-10, 10, (2, POOL)), rng.uniform(-10, 10, POOL)
    sums = rows.sums(rows.nodes(weights, biases))
    slacks = rows.inequality.slack(sums, rows.residual_squares, 0.99, 1)
    expected = np.flatnonzero(admissible(slacks) & alive(sums, rows.weight, 1.0))
    expected = expected[np.argsort(-slacks[0, expected])]
    np.testing.assert_array_equal(proposed, weights[:, expected])


def test_free_draws_in_the_first_scope_without_supervision(rows):
    proposal = next(Free((1.0, 50.0), (0.9,), POOL).propose(rows, 1, np.random.default_rng(0), 1))
    assert (proposal.nodes.scopes, proposal.contractions, proposal.candidates) == ([1.0], (1.0,), 1)
