"""How nodes compute their outputs from a row; one file per layer.

Activations are applied only here: kernels, searches, validation and the network all use a layer.
"""

from skscn.layers._base import Layer, Nodes
from skscn.layers.dense import Dense
from skscn.layers.identity import IDENTITY, Identity

LAYERS: dict[str, type[Layer]] = {"dense": Dense, "identity": Identity}

__all__ = ["IDENTITY", "LAYERS", "Dense", "Identity", "Layer", "Nodes"]
