"""One text for the parameters and attributes that every estimator shares."""

_TEMPLATE = """{summary}

    A network of one hidden layer that builds itself: it draws random hidden nodes in growing scopes, keeps the best one
    that passes a supervisory inequality, so that the error provably falls, and re-evaluates the output weights.

    Parameters
    ----------
    algorithm : {{"SC-I", "SC-II", "SC-III"}}, default="SC-III"
        Which output weights are re-evaluated after each node: the new one, those in a sliding window, or all.
    max_nodes : int, default=100
        L_max, the largest number of hidden nodes.
    tol : float, default=1e-4
        ε: growth ends when the training RMSE of the scaled target is at most this.
    max_candidates : int, default=200
        T_max, the number of random candidates in each scope.
    scopes : sequence of float, default=(1, 5, 15, 30, 50, 100, 150, 200)
        Υ, the λ's: weights and biases are drawn uniformly from [−λ, λ].
    contractions : sequence of float, default=(0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)
        r, rising and below 1: each node must bring the squared error down to (r + μ_L) times what it was.
    window : int, default=15
        K, the number of output weights that SC-II re-evaluates.
    nodes_per_step : int, default=1
        Nodes to add in one step; more is faster and a little less compact.
    configuration : str or Configuration, default="ladder"
        How nodes are searched. "ladder" is the search of the paper; "free" takes any draw, in the first of the scopes.
    activation : {{"sigmoid", "tanh", "gaussian", "sine", "cosine", "relu"}}, Activation or callable, default="sigmoid"
        g. A function of an array that returns an array of the same shape can be passed.
    scaling : {{"minmax"}} or None, default="minmax"
        How inputs and target are scaled: to [0, 1] as in the paper, or not at all.
    early_stopping : bool, default=False
        Hold rows out, stop when the error on them no longer falls, and keep the nodes up to the lowest error.
    validation_fraction : float, default=0.1
        Share of the rows to hold out for early stopping.
    n_iter_no_change : int, default=10
        Steps without a lower validation error before early stopping ends growth.
    warm_start : bool, default=False
        Let `fit` continue the network of the call before, on the same data, for instance to a larger `max_nodes`.
    n_jobs : int or None, default=None
        Threads; None means 1, −1 all processors. The network does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws; an int makes the network the same in every call.
    verbose : int, default=0
        1 shows progress on standard error, 2 every step.

    Attributes
    ----------
    network_ : Network
        The trained network; it predicts on its own.
    history_ : structured ndarray
        One row a step: nodes, scope, contraction, slack, train_rmse, validation_rmse, candidates, seconds. Errors are
        those of the scaled target.
    stop_reason_ : {{"tol", "max_nodes", "no candidate", "early stopping", "callback"}}
        Why growth ended.
    n_nodes_ : int
        Number of hidden nodes.
    n_iter_ : int
        Number of steps taken.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of str
        Names of the inputs, where X had them.
{attributes}
    References
    ----------
    D. Wang and M. Li, "Stochastic Configuration Networks: Fundamentals and Algorithms", IEEE Transactions on
    Cybernetics 47 (10), 2017, 3466-3479.

    Examples
    --------
{examples}
    """


def document(summary: str, examples: str, attributes: str = ""):
    """Decorate an estimator with the shared text."""

    def decorate(cls):
        cls.__doc__ = _TEMPLATE.format(summary=summary, examples=_indent(examples), attributes=_indent(attributes))
        return cls

    return decorate


def _indent(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.strip("\n").splitlines())
