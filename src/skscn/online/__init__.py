"""Networks that learn from a stream of rows and follow it when it drifts."""

from skscn.online._classifier import OnlineSCNClassifier
from skscn.online._drift import ErrorRise
from skscn.online._learner import StreamLearner
from skscn.online._model import StreamModel
from skscn.online._recursive import RecursiveWeights
from skscn.online._regressor import OnlineSCNRegressor
from skscn.online.prequential import StreamRecord, prequential

__all__ = [
    "ErrorRise",
    "OnlineSCNClassifier",
    "OnlineSCNRegressor",
    "RecursiveWeights",
    "StreamLearner",
    "StreamModel",
    "StreamRecord",
    "prequential",
]
