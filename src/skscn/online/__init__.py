"""Networks that learn from a stream of rows and follow it when it drifts."""

from skscn.online._drift import ErrorRise
from skscn.online._estimators import OnlineSCNClassifier, OnlineSCNRegressor
from skscn.online._learner import EventLog, StreamColumns, StreamLearner, StreamModel
from skscn.online.prequential import StreamRecord, prequential
from skscn.recursive import ExpertMixture, RecursiveWeights

__all__ = [
    "ErrorRise",
    "EventLog",
    "ExpertMixture",
    "OnlineSCNClassifier",
    "OnlineSCNRegressor",
    "RecursiveWeights",
    "StreamColumns",
    "StreamLearner",
    "StreamModel",
    "StreamRecord",
    "prequential",
]
