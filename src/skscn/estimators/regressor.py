"""Regression with one network: stochastic configuration, and the paper's two baselines."""

from collections.abc import Mapping, Sequence
from numbers import Real

import numpy as np
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from skscn.declarations import attribute, constant, parameter
from skscn.estimators.base import NetworkRegressor
from skscn.estimators.parameters import AT_LEAST_1, Criterion, ScalingName
from skscn.losses import LOSSES
from skscn.search import Configuration, Free, Quickprop


class SCNRegressor(NetworkRegressor):
    """Regression with a stochastic configuration network.

    A network with one hidden layer that is built node by node: random hidden nodes are drawn from small and large
    scopes, the best one that satisfies a supervisory inequality is added, so that the error provably decreases, and the
    output weights are re-evaluated.

    Attributes
    ----------
    row_weights_ : ndarray of shape (n_samples,)
        With a loss that weighs rows ("huber", "welsch", "bisquare", "kde"): what each training row counted for, 1 for
        an ordinary row, near 0 for an outlier, and 0 for a row of sample weight 0. Model files do not contain them.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import train_test_split
    >>> from skscn import SCNRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = SCNRegressor(random_state=0).fit(X_train, y_train)
    >>> model.score(X_test, y_test) > 0.2
    True
    """

    monotone: Mapping[str, int] | Sequence[int] | None = parameter(
        default=None,
        constraint=[None, Mapping, "array-like"],
        text="""dict of str to int, array-like of shape (n_features,) or None
        Inputs with which predictions never decrease (1) or never increase (−1), whatever the others are: by the names
        of columns, such as {"steam": 1, "price": -1}, or one of −1, 0 and 1 for each input. For squared error, one
        output, algorithm="SC-III", direct links, and activation="sigmoid", "tanh" or "relu".""",
    )
    loss: str = parameter(
        default="squared",
        constraint=[StrOptions(LOSSES.keys())],
        text="""{"squared", "huber", "welsch", "bisquare", "kde", "absolute", "quantile", "poisson"}
        What is minimised. "huber" limits the influence of outliers, "welsch", "bisquare" and "kde" reject them; see
        `row_weights_`. "absolute" estimates the median, "quantile" another `quantile`, and "poisson" the mean of
        counts or rates, through a log link, with the exposure as sample weight.""",
    )
    quantile: float = parameter(
        default=0.5,
        constraint=[Interval(Real, 0, 1, closed="neither")],
        text="""float
        The quantile that loss="quantile" estimates, between 0 and 1.""",
    )
    row_weights_: np.ndarray = attribute()


class UnsupervisedRegressor(NetworkRegressor):
    """Base of the two baselines of the paper, whose nodes satisfy no inequality."""

    max_nodes: int = parameter(default=100)
    scope: float = parameter(
        default=1.0,
        constraint=[Interval(Real, 0, 1e6, closed="right")],
        text="""float
        λ: weights and biases are drawn uniformly from [−λ, λ].""",
    )
    algorithm: str = constant("SC-III")
    max_candidates: int = constant(1)
    scopes: Sequence[float] = constant(())
    contractions: Sequence[float] = constant(())
    supervision: str = constant("paper")
    window: int = constant(1)
    nodes_per_step: int = constant(1)
    configuration: str = constant("free")
    direct_link: bool = constant(False)
    alpha: float = constant(0.0)
    layer: str = constant("dense")
    scaling: ScalingName = parameter(default="minmax")
    early_stopping: Criterion = parameter(default=False)
    validation_fraction: float = parameter(default=0.1)
    n_iter_no_change: int = parameter(default=10)


class IRVFLRegressor(UnsupervisedRegressor):
    """Regression with an incremental random vector functional-link network: the baseline IRVFL of the paper.

    Every node is one random draw from a fixed scope, and only its own output weight is evaluated. Without supervision
    such a network need not approximate its target, however large it grows (Theorem 4).

    Examples
    --------
    >>> from skscn import IRVFLRegressor, SCNRegressor
    >>> from skscn.datasets import make_db1
    >>> db1 = make_db1(random_state=0)
    >>> free = IRVFLRegressor(max_nodes=50, random_state=0).fit(db1.data, db1.target)
    >>> supervised = SCNRegressor(max_nodes=50, random_state=0).fit(db1.data, db1.target)
    >>> free.score(db1.test_data, db1.test_target) < 0.1 < 0.9 < supervised.score(db1.test_data, db1.test_target)
    True
    """

    algorithm: str = constant("SC-I")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # This baseline is meant to show how badly it learns.
        tags.regressor_tags.poor_score = True
        return tags

    def _configuration(self) -> Configuration:
        return Free((self.scope,))


class ModifiedQuickpropRegressor(UnsupervisedRegressor):
    """Regression with a constructive network trained by quickprop: the baseline MQ of the paper.

    The weights and bias of each node are found by quickprop ascent on ⟨e, h⟩²/‖h‖² from one random start, as in Kwok
    and Yeung's constructive networks (IEEE Transactions on Neural Networks 8 (5), 1997, 1131-1148); then all output
    weights are solved for by least squares.

    Examples
    --------
    >>> from skscn import ModifiedQuickpropRegressor
    >>> from skscn.datasets import make_db1
    >>> db1 = make_db1(random_state=0)
    >>> model = ModifiedQuickpropRegressor(max_nodes=10, random_state=0).fit(db1.data, db1.target)
    >>> model.score(db1.test_data, db1.test_target) > 0.5
    True
    """

    configuration: str = constant("quickprop")
    learning_rate: float = parameter(
        default=0.05,
        constraint=[Interval(Real, 0, None, closed="neither")],
        text="""float
        Factor of the gradient step of quickprop.""",
    )
    max_iter: int = parameter(
        default=200,
        constraint=[AT_LEAST_1],
        text="""int
        The largest number of quickprop iterations for a node.""",
    )
    patience: int = parameter(
        default=8,
        constraint=[AT_LEAST_1],
        text="""int
        Iterations without progress before a node is finished.""",
    )

    def _configuration(self) -> Configuration:
        return Quickprop(
            (self.scope,), learning_rate=self.learning_rate, max_iter=self.max_iter, patience=self.patience
        )
