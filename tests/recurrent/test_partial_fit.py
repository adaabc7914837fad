"""partial_fit: rows that follow, and output weights of least squares over all rows seen."""

from copy import copy
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import lstsq

from skscn import RecurrentSCNEnsembleRegressor, RecurrentSCNRegressor, load_model, save_model

pytestmark = pytest.mark.usefixtures("few_pilots")
RNG = np.random.default_rng(3)
X = RNG.uniform(-1, 1, (900, 2))
Y = np.convolve(np.tanh(2 * X[:, 0]), 0.7 ** np.arange(30))[:900] + X[:, 1] * np.roll(X[:, 0], 2)
NOISY = Y + 0.1 * RNG.normal(size=900)
SMALL = {"max_nodes": 12, "max_candidates": 40, "nodes_per_step": 4, "random_state": 0}


TARGETS = {"exact": Y, "noisy": NOISY, "two": np.column_stack([NOISY, Y])}


@cache
def fitted(name, feedback=False):
    return RecurrentSCNRegressor(**SMALL, feedback=feedback).fit(X[:500], TARGETS[name][:500])


def ridge(model, H, T):
    """Predictions for the rows H of least squares with the model's penalty, on all rows but the washout."""
    kept, alpha = model.reservoir_.kept[1:], model.reservoir_.alpha
    H, means = H[:, kept], H[100:, kept].mean(axis=0)
    units = H[100:].std(axis=0)
    columns, targets = (H - means) / units, T[100:] - T[100:].mean(axis=0)
    below = np.sqrt(alpha * len(targets)) * np.eye(len(kept))
    weights = lstsq(np.vstack([columns[100:], below]), np.vstack([targets, np.zeros((len(kept), T.shape[1]))]))[0]
    return columns @ weights + T[100:].mean(axis=0)


@pytest.mark.parametrize("parts", [1, 50])
@pytest.mark.parametrize("feedback", [False, True])
@pytest.mark.parametrize("name", TARGETS)
def test_output_weights_are_those_of_all_rows_seen(parts, feedback, name):
    model, targets = copy(fitted(name, feedback)), TARGETS[name]
    nodes = model.reservoir_.nodes
    for start, end in pairwise(np.linspace(500, 900, parts + 1).astype(int)):
        model.partial_fit(X[start:end], targets[start:end])
    assert model.reservoir_.nodes is nodes
    assert model.n_rows_seen_ == 900
    T = targets.reshape(900, -1)
    known = (T - model.reservoir_.outputs.offset) / model.reservoir_.outputs.scale
    H, end = model.reservoir_.columns(X, known)
    expected = ridge(model, H, T)
    found = model.predict(X, y=targets).reshape(900, -1)
    assert np.abs(found - expected)[100:].max() < 1e-8 * np.abs(T).max()
    assert np.allclose(model.state_.nodes, end.nodes, rtol=0, atol=1e-12)


def test_the_first_call_is_a_fit():
    model = RecurrentSCNRegressor(**SMALL).partial_fit(X[:500], NOISY[:500])
    assert (model.predict(X) == fitted("noisy").predict(X)).all()
    assert model.n_rows_seen_ == fitted("noisy").n_rows_seen_ == 500


def test_groups_go_on_each_from_its_own_end():
    labels = np.resize(["a", "b", "b"], 900)
    model = RecurrentSCNRegressor(**SMALL).fit(X[:500], NOISY[:500], groups=labels[:500])
    model.partial_fit(X[500:700], NOISY[500:700], groups=labels[500:700])
    model.partial_fit(X[700:][labels[700:] == "b"], NOISY[700:][labels[700:] == "b"], groups=["b"] * 134)
    for label, end in (("a", 700), ("b", 900)):
        _, state = model.reservoir_.columns(X[:end][labels[:end] == label])
        assert np.allclose(model.states_[label].nodes, state.nodes, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="Group 'c' was not in training"):
        model.partial_fit(X[:5], Y[:5], groups=["c"] * 5)


def test_rows_without_targets_drive_the_state_only():
    model = copy(fitted("noisy"))
    weights = model.reservoir_.output_weights
    model.partial_fit(X[500:600], np.full(100, np.nan))
    assert model.reservoir_.output_weights is weights
    assert np.allclose(model.predict(X[600:], state="end"), model.predict(X)[600:], rtol=0, atol=1e-12)


def test_a_loaded_model_learns_on(tmp_path):
    model = copy(fitted("noisy"))
    save_model(model, tmp_path / "model.scn")
    loaded = load_model(tmp_path / "model.scn")
    for each in (model, loaded):
        each.partial_fit(X[500:], NOISY[500:])
    assert (loaded.predict(X) == model.predict(X)).all()
    assert loaded.n_rows_seen_ == 900


@pytest.mark.parametrize("feedback", [False, True])
def test_an_ensemble_learns_as_its_members_do(feedback):
    model = RecurrentSCNEnsembleRegressor(2, **SMALL, feedback=feedback).fit(X[:500], NOISY[:500])
    model.partial_fit(X[500:], NOISY[500:])
    members = [member.predict(X, y=NOISY) for member in model.members_]
    # At first, one of them may be at its limits.
    assert np.allclose(model.predict(X, y=NOISY)[10:], np.mean(members, axis=0)[10:], rtol=0, atol=1e-9)
    assert [member.n_rows_seen_ for member in model.members_] == [900, 900]
    assert model.n_rows_seen_ == 900
    assert model.reservoir_.factor.weight == 800


def test_bad_rows_are_refused():
    model = copy(fitted("noisy"))
    cases = [
        ((X[:5], None), "requires y"),
        ((X[:5], Y[:4]), "X has 5 rows and y has 4"),
        ((X[:5, :1], Y[:5]), "features"),
        ((X[:5], np.ones((5, 2))), "y has 2 outputs; the model has 1"),
    ]
    for arguments, message in cases:
        with pytest.raises(ValueError, match=message):
            model.partial_fit(*arguments)
    assert model.n_rows_seen_ == 500
