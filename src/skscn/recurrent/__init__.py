"""Recurrent stochastic configuration networks: a reservoir grown node by node, for rows in order of time."""

from skscn.recurrent.ensemble import RecurrentSCNEnsembleRegressor
from skscn.recurrent.estimator import RecurrentSCNRegressor
from skscn.recurrent.nodes import RecurrentNodes
from skscn.recurrent.reservoir import Reservoir, ReservoirState
from skscn.recurrent.stream import RecurrentStream

__all__ = [
    "RecurrentNodes",
    "RecurrentSCNEnsembleRegressor",
    "RecurrentSCNRegressor",
    "RecurrentStream",
    "Reservoir",
    "ReservoirState",
]
