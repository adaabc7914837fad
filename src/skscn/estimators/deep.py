"""Deep stochastic configuration networks: layers that grow one after the other, all linked to the output."""

from sklearn.utils._param_validation import StrOptions

from skscn.declarations import Estimator, parameter
from skscn.estimators.classifier import SCNClassifier
from skscn.estimators.parameters import AT_LEAST_1, Auto, LayerInputs
from skscn.estimators.regressor import SCNRegressor
from skscn.fit.deepen import SEEN


class LayerParameters(Estimator):
    """The parameters of networks of several layers."""

    max_layers: int = parameter(
        default=5,
        constraint=[AT_LEAST_1],
        text="""int
        The largest number of hidden layers; with 1 the network is that of one layer.""",
    )
    nodes_per_layer: int | Auto = parameter(
        default="auto",
        constraint=[StrOptions({"auto"}), AT_LEAST_1],
        text="""int or "auto"
        The largest number of nodes in a layer. "auto" leaves it to early stopping, which also chooses between
        layers of any size and thin ones; without early stopping, layers have equal shares of `max_nodes`.""",
    )
    inputs: LayerInputs = parameter(
        default="auto",
        constraint=[StrOptions({"auto", *SEEN})],
        text="""{"all", "previous", "output", "auto"}
        What the nodes of a further layer see: the inputs and the columns of all nodes below ("all"), only those of
        the layer before, as published ("previous"), or the inputs and the outputs of the network below ("output").
        "auto" grows each further layer as "all" and as "output", and held-out rows choose; without early stopping
        it is "all". Layers of at most 20 nodes are tried with "auto" and "output".""",
    )


class DeepSCNRegressor(LayerParameters, SCNRegressor):
    """Regression with a deep stochastic configuration network.

    The first layer is grown like that of a network with one layer. The nodes of a further layer see columns of the
    nodes below, and have to satisfy the same inequality on the residual of the whole network. All layers are linked to
    the output, so the training error also decreases where a layer begins. Further layers are tried on top of the first
    one, and as layers of at most 20 nodes from the beginning. They are kept only if they are clearly better on held-out
    rows and on folds of the training rows, without which they are grown again; otherwise the network is that of one
    layer.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn import DeepSCNRegressor, SCNRegressor
    >>> X = np.random.default_rng(0).random((2000, 1))
    >>> y = 1 - abs(1 - 2 * (1 - abs(1 - 2 * (1 - abs(1 - 2 * X[:, 0])))))
    >>> shallow, deep = (kind(max_nodes=40, random_state=0) for kind in (SCNRegressor, DeepSCNRegressor))
    >>> few, others = (X[:1500], y[:1500]), (X[1500:], y[1500:])
    >>> shallow.fit(*few).score(*others) < deep.fit(*few).score(*others)
    True
    """


class DeepSCNClassifier(LayerParameters, SCNClassifier):
    """Classification with a deep stochastic configuration network.

    Layers are grown as in :class:`DeepSCNRegressor`, and kept only if they are clearly better on held-out rows and on
    folds of the training rows; otherwise the network is that of one layer.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import train_test_split
    >>> from skscn import DeepSCNClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = DeepSCNClassifier(max_nodes=30, random_state=0).fit(X_train, y_train)
    >>> model.score(X_test, y_test) > 0.9
    True
    """
