"""The name, before version 0.3, of what :mod:`skscn.nodes` has for blocks of rows, for programs that import it."""

from skscn.nodes import Inputs, Matrix, blocks, with_one

__all__ = ["Inputs", "Matrix", "blocks", "with_one"]
