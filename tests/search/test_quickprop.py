import numpy as np
import pytest

from skscn import ACTIVATIONS, Activation, ModifiedQuickpropRegressor, SCNRegressor
from skscn.nodes import Dense
from skscn.rows import open_rows
from skscn.scaling import scale_inputs
from skscn.search.quickprop import Quickprop, _objective, _quickprop_step

RNG = np.random.default_rng(4)
X, T, P = RNG.uniform(size=(150, 3)), RNG.normal(size=(150, 2)), RNG.uniform(1, 3, size=150)


def make(activation="sigmoid", weights=P):
    return open_rows(
        X, T, layer=Dense(ACTIVATIONS[activation]), scaling=scale_inputs("minmax", X), sample_weight=weights
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("weights", [None, P], ids=["plain", "weighted"])
def test_the_gradient_is_that_of_the_score(activation, weights):
    rows, point, step = make(activation, weights), np.random.default_rng(1).normal(size=4), 1e-6
    score, gradient = _objective(rows, point)
    h = ACTIVATIONS[activation].value(scale_inputs("minmax", X).transform(X) @ point[:3] + point[3])
    p = np.ones(150) if weights is None else weights
    assert score == pytest.approx(((p * h) @ T) @ ((p * h) @ T) / (p @ h**2), rel=1e-12)
    for k in range(4):
        moved = step * np.eye(4)[k]
        slope = (_objective(rows, point + moved)[0] - _objective(rows, point - moved)[0]) / (2 * step)
        assert gradient[k] == pytest.approx(slope, rel=1e-4, abs=1e-6)


def fahlman(d, s, p, eps, mu=1.75):
    """The update for one weight, as in the public-domain code of cascade correlation."""
    shrink, step = mu / (1 + mu), 0.0
    if d < 0:
        step -= eps * s if s > 0 else 0
        step += mu * d if s >= shrink * p else d * s / (p - s)
    elif d > 0:
        step -= eps * s if s < 0 else 0
        step += mu * d if s <= shrink * p else d * s / (p - s)
    else:
        step -= eps * s
    return np.clip(step, -10, 10)


def test_the_step_is_fahlmans():
    d, s, p = np.random.default_rng(1).normal(size=(3, 500)) * np.random.default_rng(1).choice(
        [0.0, 1.0], p=[0.1, 0.9], size=(3, 500)
    )
    truth = [fahlman(*values, eps=0.05) for values in zip(d, s, p, strict=True)]
    np.testing.assert_allclose(_quickprop_step(d, s, p, 0.05), truth, rtol=1e-12)


def test_a_node_is_never_worse_than_its_start():
    rows = make()
    for seed in range(20):
        start = np.random.default_rng(seed).uniform(-1, 1, 4)
        found = Quickprop((1.0,))._ascend(rows, start)
        assert _objective(rows, found)[0] >= _objective(rows, start)[0]


def test_an_activation_without_derivative_is_refused():
    with pytest.raises(ValueError, match="needs the derivative"):
        SCNRegressor(configuration="quickprop", activation=np.arctan).fit(X, T)
    own = Activation("arctan", np.arctan, lambda z: 1 / (1 + z**2))
    model = SCNRegressor(configuration="quickprop", activation=own, max_nodes=3, random_state=0).fit(X, T)
    assert model.n_nodes_ == 3


@pytest.mark.slow
def test_its_plateau_on_db1_is_near_the_papers(db1):
    fits = [ModifiedQuickpropRegressor(max_nodes=50, random_state=seed).fit(db1.data, db1.target) for seed in range(10)]
    ends = [model.history_["train_rmse"][-1] / model.network_.outputs.scale[0] for model in fits]
    assert np.mean(ends) == pytest.approx(0.1030, rel=0.08)
