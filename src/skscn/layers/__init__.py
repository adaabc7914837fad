"""What a node sees of a row and what it makes of it; one file a layer.

A layer is the only place that applies an activation: kernels, searches, validation and the network go through it.
"""

from skscn.layers._base import Layer, Nodes
from skscn.layers.dense import Dense
from skscn.layers.identity import IDENTITY, Identity

LAYERS: dict[str, type[Layer]] = {"dense": Dense, "identity": Identity}

__all__ = ["IDENTITY", "LAYERS", "Dense", "Identity", "Layer", "Nodes"]
