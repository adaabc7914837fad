"""Recurrent stochastic configuration networks: a reservoir grown node by node, for rows in order of time."""

from skscn.recurrent.estimator import RecurrentSCNRegressor
from skscn.recurrent.nodes import RecurrentNodes
from skscn.recurrent.reservoir import Reservoir, ReservoirState
from skscn.recurrent.stream import RecurrentStream

__all__ = ["RecurrentNodes", "RecurrentSCNRegressor", "RecurrentStream", "Reservoir", "ReservoirState"]
