"""Layers, and what nodes of them make of rows."""

import numpy as np
import pytest

from skscn.activations import ACTIVATIONS
from skscn.nodes import IDENTITY, LAYERS, Nodes

X = np.random.default_rng(0).normal(size=(9, 3))
MADE = [
    pytest.param(IDENTITY, id="identity"),
    *(
        pytest.param(cls.of(activation), id=f"{name} {activation.name}")
        for name, cls in LAYERS.items()
        for activation in ACTIVATIONS.values()
    ),
]


@pytest.mark.parametrize("layer", MADE)
def test_the_ways_to_the_columns_of_nodes_agree(layer):
    rng = np.random.default_rng(1)
    nodes = Nodes(layer, rng.normal(size=(layer.width(3), 4)), rng.normal(size=4))
    x, folded = np.column_stack([X, np.ones(len(X))]), layer.folded(nodes)
    np.testing.assert_array_equal(layer.columns(x, folded).shape, (4, 9))
    np.testing.assert_allclose(layer.columns(x, folded), layer.values(x, folded).T)
    np.testing.assert_allclose(layer.hidden(X, nodes), layer.outer * layer.values(x, folded), rtol=1e-12, atol=1e-12)
    assert np.abs(layer.hidden(X, nodes)).max() <= layer.bound
