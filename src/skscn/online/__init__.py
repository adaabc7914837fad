"""Networks that learn from a stream of rows and follow it when it drifts."""

from skscn.online._classifier import OnlineSCNClassifier
from skscn.online._columns import StreamColumns
from skscn.online._drift import ErrorRise
from skscn.online._learner import StreamLearner
from skscn.online._log import EventLog
from skscn.online._mixture import ExpertMixture
from skscn.online._model import StreamModel
from skscn.online._recursive import RecursiveWeights
from skscn.online._regressor import OnlineSCNRegressor
from skscn.online.prequential import StreamRecord, prequential

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
