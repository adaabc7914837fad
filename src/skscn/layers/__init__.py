"""How nodes compute their outputs from a row; one file per layer.

Activations are applied only here: kernels, searches, validation and the network all use a layer.
"""

from skscn.layers._base import Code, Graph, Layer, Nodes
from skscn.layers.deep import Deep, readout
from skscn.layers.dense import Dense
from skscn.layers.identity import IDENTITY, Identity

# The layers that hidden nodes can belong to; intercept and direct links are nodes of IDENTITY.
LAYERS: dict[str, type[Layer]] = {"dense": Dense}

__all__ = ["IDENTITY", "LAYERS", "Code", "Deep", "Dense", "Graph", "Identity", "Layer", "Nodes", "readout"]
