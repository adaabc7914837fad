"""The name of :mod:`skscn.nodes` before version 0.3, for programs that import it."""

from skscn.nodes import IDENTITY, LAYERS, Code, Deep, Dense, Graph, Identity, Layer, Nodes, readout

__all__ = ["IDENTITY", "LAYERS", "Code", "Deep", "Dense", "Graph", "Identity", "Layer", "Nodes", "readout"]
