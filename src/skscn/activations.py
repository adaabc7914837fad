"""The activations of :mod:`skscn.nodes`, where nodes apply them."""

from skscn.nodes import ACTIVATIONS, Activation, Folded, Function, check_activation, resolve_activation

__all__ = ["ACTIVATIONS", "Activation", "Folded", "Function", "check_activation", "resolve_activation"]
