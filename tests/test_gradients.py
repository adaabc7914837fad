"""Mean squared gradients, compared with finite differences."""

import numpy as np
import pytest

from skscn.activations import ACTIVATIONS, Activation
from skscn.network import mean_squared_gradients, spreads
from skscn.nodes import IDENTITY, Dense, Layer, Nodes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 3))
BETA, GAMMA = RNG.normal(size=(5, 2)), RNG.normal(size=(4, 2))
WEIGHTS, BIASES = RNG.normal(size=(3, 5)), RNG.normal(size=5)
LINEAR = Nodes(IDENTITY, np.column_stack([np.eye(3), np.zeros(3)]), np.array([0.0, 0.0, 0.0, 1.0]))
P = RNG.uniform(0.5, 2.0, 700)


def nodes_of(activation):
    return Nodes(Dense(ACTIVATIONS[activation]), WEIGHTS, BIASES)


def differences(function, width=1e-6):
    """∂f/∂x of shape (d, n, m), by central differences."""
    steps = width * np.eye(3)
    return np.array([(function(X + step) - function(X - step)) / (2 * width) for step in steps])


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_they_are_those_of_finite_differences(activation):
    nodes = nodes_of(activation)
    gradients = differences(lambda x: nodes.layer.hidden(x, nodes) @ BETA + LINEAR.layer.hidden(x, LINEAR) @ GAMMA)
    for weights in (None, P):
        expected = np.average((gradients**2).sum(axis=2), axis=1, weights=weights)
        found = mean_squared_gradients(nodes, BETA, LINEAR, GAMMA, X, sample_weight=weights)
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    units = np.array([2.0, 0.0, 0.5])
    np.testing.assert_allclose(
        mean_squared_gradients(nodes, BETA, LINEAR, GAMMA, X, units=units),
        (gradients**2).sum(axis=2).mean(axis=1) * units**2,
        rtol=1e-6,
    )


def test_nodes_or_linear_columns_may_be_missing():
    nodes = nodes_of("tanh")
    without = mean_squared_gradients(nodes, BETA, None, None, X)
    np.testing.assert_allclose(without, mean_squared_gradients(nodes, BETA, LINEAR, 0 * GAMMA, X))
    none = Nodes.none(nodes.layer, 3)
    np.testing.assert_allclose(
        mean_squared_gradients(none, BETA[:0], LINEAR, GAMMA, X), (GAMMA[:3] ** 2).sum(axis=1), rtol=1e-12
    )


def test_single_precision_is_nearly_the_same():
    nodes = nodes_of("sigmoid")
    single = mean_squared_gradients(nodes, BETA, LINEAR, GAMMA, X.astype(np.float32))
    np.testing.assert_allclose(single, mean_squared_gradients(nodes, BETA, LINEAR, GAMMA, X), rtol=1e-4)


def test_in_units_of_the_spread_the_unit_of_an_input_does_not_matter():
    unit = np.array([1.0, 1000.0, 1e-6])
    found = [
        mean_squared_gradients(
            Nodes(Dense(ACTIVATIONS["tanh"]), WEIGHTS / factor[:, np.newaxis], BIASES),
            BETA,
            None,
            None,
            X * factor,
            units=spreads(X * factor),
        )
        for factor in (np.ones(3), unit)
    ]
    np.testing.assert_allclose(*found, rtol=1e-9)


def test_spreads_are_standard_deviations():
    np.testing.assert_allclose(spreads(X), X.std(axis=0))
    counts = RNG.integers(1, 4, len(X))
    np.testing.assert_allclose(spreads(X, counts), np.repeat(X, counts, axis=0).std(axis=0))
    np.testing.assert_array_equal(spreads(np.full((1000, 2), [0.1, 1e9 / 3])), 0.0)


def test_layers_that_have_no_gradients():
    assert not Dense(Activation("custom", np.arctan)).has_gradients
    assert not IDENTITY.has_gradients
    with pytest.raises(NotImplementedError, match="Identity has no gradients"):
        Layer.gradients(IDENTITY, X, LINEAR, GAMMA)
