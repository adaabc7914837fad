"""The parameters of estimators: their types, and one description of each."""

import inspect
import os
from collections.abc import Callable, Sequence
from textwrap import indent
from typing import Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from skscn.activations import Activation, Function
from skscn.rows import Chunks

# Rows in memory, and training rows wherever they are; Dask collections are array-like.
MatrixLike: TypeAlias = ArrayLike | sparse.sparray | sparse.spmatrix
TrainingRows: TypeAlias = MatrixLike | os.PathLike[str] | Chunks
# Parameters that several estimators have.
Auto: TypeAlias = Literal["auto"]
ActivationLike: TypeAlias = str | Activation | Function
ScalingName: TypeAlias = Literal["minmax", "robust", "standard", "quantile"] | None
Criterion: TypeAlias = bool | Literal["validation", "gcv", "aic", "bic"]
CategoricalFeatures: TypeAlias = Literal["from_dtype"] | Sequence[bool | int | str] | None
HeldOut: TypeAlias = Literal["random", "last"]
PathLike: TypeAlias = str | os.PathLike[str]
Seed: TypeAlias = int | np.random.RandomState | None


# One description for each parameter and attribute; an estimator's docstring is assembled from its signature.


Estimator = TypeVar("Estimator")

# name -> (type, meaning)
_PARAMETERS = {
    "algorithm": (
        '{"SC-I", "SC-II", "SC-III"}',
        "Which output weights are re-evaluated after each node: the new one, those in a sliding window, or all.",
    ),
    "max_nodes": ("int", "L_max, the largest number of hidden nodes."),
    "max_layers": ("int", "The largest number of hidden layers; with 1 the network is that of one layer."),
    "nodes_per_layer": (
        'int or "auto"',
        'The largest number of nodes in a layer. "auto" leaves it to early stopping, which also chooses between\n'
        "layers of any size and thin ones; without early stopping, layers have equal shares of `max_nodes`.",
    ),
    "inputs": (
        '{"all", "previous", "output", "auto"}',
        'What the nodes of a further layer see: the inputs and the columns of all nodes below ("all"), only those of\n'
        'the layer before, as published ("previous"), or the inputs and the outputs of the network below ("output").\n'
        '"auto" grows each further layer as "all" and as "output", and held-out rows choose; without early stopping\n'
        'it is "all". Layers of at most 20 nodes are tried with "auto" and "output".',
    ),
    "tol": ("float", "ε: growth ends when the training RMSE of the scaled target is at most this."),
    "max_candidates": (
        "int",
        'T_max, the number of candidates: for each scope with "ladder" and "renewal", otherwise in total.',
    ),
    "scopes": (
        "sequence of float",
        'Υ, the values of λ; weights are drawn from [−λ, λ]. "ladder" and "renewal" try one scope after the\n'
        'other; "pooled" and "polished" draw λ log-uniformly between the smallest and the largest.',
    ),
    "scope": ("float", "λ: weights and biases are drawn uniformly from [−λ, λ]."),
    "contractions": (
        "sequence of float",
        "r, increasing and below 1: each node must reduce the squared error to at most (r + μ_L) times what it was.\n"
        '"renewal" starts with the first and ends with the last; what is in between it draws.',
    ),
    "window": ("int", "K, the number of output weights that SC-II re-evaluates."),
    "nodes_per_step": (
        'int or "auto"',
        'Nodes to add in one step; more are faster and give a slightly less compact network. "auto" follows the\n'
        "configuration: three where they can be polished together, otherwise one.",
    ),
    "configuration": (
        '{"polished", "pooled", "ladder", "renewal", "free", "quickprop"} or Configuration',
        'How nodes are searched for. "polished" selects the candidates of one pool that reduce the error most and\n'
        'improves them by Levenberg–Marquardt steps, and now and then all nodes; "pooled" is the same without these\n'
        'steps; "ladder" is the search of the paper, in the order of its authors\' release, and "renewal" that of its\n'
        'pseudo code; "free" accepts any random node and "quickprop" optimises one; both are unsupervised baselines.',
    ),
    "direct_link": (
        'bool or "auto"',
        'Whether the inputs themselves, and an intercept, are connected to the outputs; "auto" follows '
        "the configuration.",
    ),
    "alpha": (
        'float, "gcv" or "auto"',
        "α of the ridge ‖T − Hβ‖² + α‖β‖², with targets as scaled; intercept and direct links are not penalised.\n"
        "SC-III regularises the final output weights, SC-I and SC-II those that they evaluate with each node.\n"
        '"gcv" chooses α by generalised cross-validation, with SC-III only; "auto" follows the configuration, and is\n'
        "0 with SC-I and SC-II.",
    ),
    "loss": ("str", "What is minimised."),
    "quantile": ("float", 'The quantile that loss="quantile" estimates, between 0 and 1.'),
    "class_weight": (
        'dict, "balanced" or None',
        'Weights of the classes, by their labels, which multiply the sample weights; "balanced" gives all classes the\n'
        "same total weight.",
    ),
    "layer": ('{"dense"}', 'What hidden nodes compute: "dense" is g(wᵀx + b).'),
    "learning_rate": ("float", "Factor of the gradient step of quickprop."),
    "max_iter": ("int", "The largest number of quickprop iterations for a node."),
    "patience": ("int", "Iterations without progress before a node is finished."),
    "activation": (
        '{"sigmoid", "tanh", "gaussian", "sine", "cosine", "relu"}, Activation or callable',
        "g, by name, or a function of an array that returns an array of the same shape.",
    ),
    "categorical_features": (
        '"from_dtype", list of str or int, mask, or None',
        'Which columns hold categories. "from_dtype": in a DataFrame or an Arrow table, those of categorical type and\n'
        "of text; a list of names or numbers, or a mask: these, whatever their type, and in a table also the former.\n"
        "Up to 20 categories become a column of 0 and 1 each; with more, the 10 most frequent do, and the mean of the\n"
        "target for each category is encoded, cross-fitted in training. None: all columns must be numbers. See\n"
        "`encoder_`.",
    ),
    "scaling": (
        '{"minmax", "robust", "standard", "quantile", "auto"} or None',
        "How inputs are scaled: to [0, 1] as in the paper; the middle 96 % of each to [0, 1], with outliers clipped;\n"
        "to mean 0 and standard deviation 1; to quantiles of the training rows; or not at all.\n"
        '"auto" follows the configuration. The target is scaled to [0, 1].',
    ),
    "early_stopping": (
        'bool, "validation", "gcv", "aic", "bic" or "auto"',
        'Keep the nodes up to the lowest error on held-out rows (True, "validation"), the lowest generalised\n'
        'cross-validation ("gcv") or information criterion of Akaike or Bayes ("aic", "bic") on the training rows,\n'
        'and stop when it no longer decreases. "auto" follows the configuration; if that uses early stopping, it is\n'
        "by held-out rows for 100 to 100,000 rows, and otherwise by generalised cross-validation.",
    ),
    "validation_fraction": (
        'float or "auto"',
        'Share of the rows to hold out for early stopping. "auto" is 0.2 with loss="log_loss" and 0.1 otherwise.',
    ),
    "validation": (
        '{"random", "last"}',
        'Which rows early stopping holds out: rows drawn at random, or the last ones. Use "last" for rows in order of\n'
        "time, where a row drawn at random has neighbours among the training rows that are nearly the same.",
    ),
    "n_iter_no_change": ("int", "Nodes without a lower validation error before early stopping ends growth."),
    "warm_start": (
        "bool",
        "Let `fit` continue the network of the previous call, on the same data, for instance to a larger `max_nodes`;\n"
        "other data are refused: see `partial_fit`.\n"
        "A loss that needs several rounds continues the last one, with the row weights that follow from the network,\n"
        "so the result is not that of a single fit.",
    ),
    "checkpoint": (
        "path or None",
        "A file in which the growing network is saved about once a second. `fit` with the same path, data and\n"
        "parameters continues from there, for instance after a crash, and ends with the same network. If it cannot be\n"
        "written any more, `fit` warns once and continues; a second `fit` at the same time is refused.",
    ),
    "n_jobs": ("int or None", "Threads; None means 1, −1 all processors. The network does not depend on it."),
    "random_state": (
        "int, RandomState instance or None",
        "Seed of the random nodes; with an int, every call gives the same network.",
    ),
    "verbose": ("int", "1 shows progress on standard error, 2 every step."),
}
_TEMPLATE = """{summary}

{story}

Parameters
----------
{parameters}

Attributes
----------
network_ : Network
    The trained network, which can predict without the estimator.
history_ : structured ndarray
    One row per step: nodes, scope, contraction, slack, train_rmse, validation_rmse, candidates, seconds, round. Errors
    are in units of the target (of indicators 0 and 1 for classes), those of several outputs averaged; under a loss
    other than squared error, of the working targets and weights of the round, of which some losses need several. If a
    step adds several nodes, scope and contraction are the largest among them, and slack is the smallest.
stop_reason_ : {{"tol", "max_nodes", "no candidate", "early stopping", "callback"}}
    Why growth ended.
held_out_ : ndarray of int
    The rows that early stopping held out; empty without it. Losses other than squared error use them too in the end,
    for the output weights, unless the network is a member of an ensemble.
feature_importances_ : ndarray of shape (n_features,)
    How strongly the outputs depend on each input: the squared gradient on average over the training rows (at most
    2000 of them), in units of the standard deviation of the input, summed over the outputs as they are scaled. Their
    sum is 1; of a column that is encoded as several inputs, it is the sum of theirs. If there are none, for instance
    because the derivative of a custom activation is not known, an AttributeError says why.
n_nodes_ : int
    Number of hidden nodes.
n_iter_ : int
    Number of steps taken.
n_rows_seen_ : int
    Number of rows of positive weight that `fit` and `partial_fit` were given; 0 if a file of version 0.1 does not say.
encoder_ : RowEncoder or None
    What turns rows into the numbers that the network sees: it encodes tables and fills in missing numbers. None if the
    training rows were numbers and none was missing. Missing values of later rows are then replaced by the median.
n_features_in_ : int
    Number of columns of X.
feature_names_in_ : ndarray of str
    Names of the columns, if X has them.
{attributes}
References
----------
D. Wang and M. Li, "Stochastic Configuration Networks: Fundamentals and Algorithms", IEEE Transactions on
Cybernetics 47 (10), 2017, 3466-3479.

Examples
--------
{examples}
"""


_LOSSES = {
    "regression": (
        '{"squared", "huber", "welsch", "bisquare", "kde", "absolute", "quantile", "poisson"}',
        'What is minimised. "huber" limits the influence of outliers, "welsch", "bisquare" and "kde" reject them; see\n'
        '`row_weights_`. "absolute" estimates the median, "quantile" another `quantile`, and "poisson" the mean of\n'
        "counts or rates, through a log link, with the exposure as sample weight.",
    ),
    "classification": (
        '{"log_loss", "squared"}',
        "What is minimised: the log loss, by penalised likelihood, or the squared error of class indicators\n"
        '("squared"), whose outputs are then calibrated.',
    ),
}


# What "auto" means, in estimators where it is the default and others do not have it.
_AUTO = {
    "max_nodes": (
        '"auto" leaves it to early stopping, up to a limit of 1,000, of n_samples/2 and of √(2.5e8/n_samples), but at\n'
        "least 100; without early stopping it is 100."
    ),
}


def document(
    summary: str, story: str, examples: str, attributes: str = ""
) -> Callable[[type[Estimator]], type[Estimator]]:
    """Decorate an estimator with its documentation."""

    def decorate(cls: type[Estimator]) -> type[Estimator]:
        text = _TEMPLATE.format(
            summary=summary,
            story=story.strip(),
            parameters="\n".join(_describe(cls, each) for each in inspect.signature(cls).parameters.values()),
            attributes=attributes.lstrip("\n"),
            examples=examples.strip(),
        )
        cls.__doc__ = indent(text, "    ").lstrip()
        return cls

    return decorate


def _describe(cls: type, parameter: inspect.Parameter) -> str:
    kind, meaning = _PARAMETERS[parameter.name]
    if parameter.name == "loss":
        kind, meaning = _LOSSES["classification" if hasattr(cls, "predict_proba") else "regression"]
    if parameter.default == "auto" and parameter.name in _AUTO:
        kind, meaning = f'{kind} or "auto"', f"{meaning}\n{_AUTO[parameter.name]}"
    return f"{parameter.name} : {kind}, default={parameter.default!r}\n{indent(meaning, '    ')}"
