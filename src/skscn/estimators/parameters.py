"""The parameters of networks: default, constraint and text of each, in the order of the signatures."""

import os
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from skscn.activations import ACTIVATIONS, Activation, Function
from skscn.declarations import Estimator, constant, parameter
from skscn.fit.data import HELD_OUT
from skscn.nodes import LAYERS
from skscn.output_weights import ALGORITHMS
from skscn.rows import Chunks, Sites
from skscn.scaling import SCALINGS
from skscn.search import CONFIGURATIONS, Configuration
from skscn.stopping import CRITERIA
from skscn.supervision import SUPERVISIONS, Supervision

# Rows in memory, and training rows wherever they are; Dask collections are array-like.
MatrixLike: TypeAlias = ArrayLike | sparse.sparray | sparse.spmatrix
TrainingRows: TypeAlias = MatrixLike | os.PathLike[str] | Chunks | Sites
Auto: TypeAlias = Literal["auto"]
ScalingName: TypeAlias = Literal["minmax", "robust", "standard", "quantile"] | None
Criterion: TypeAlias = bool | Literal["validation", "gcv", "aic", "bic"]
LayerInputs: TypeAlias = Literal["all", "previous", "output", "auto"]
CategoricalFeatures: TypeAlias = Literal["from_dtype"] | Sequence[bool | int | str] | None
HeldOut: TypeAlias = Literal["random", "last"]
Seed: TypeAlias = int | np.random.RandomState | None

AT_LEAST_1 = Interval(Integral, 1, None, closed="left")
# Υ and r, as in the paper.
SCOPES = (1, 5, 15, 30, 50, 100, 150, 200)
CONTRACTIONS = (0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)


class NetworkParameters(Estimator):
    """The parameters of networks.

    What is constant here is a parameter of some estimators only, and has its place in their signatures. The names of
    parts are views of the registries, so that a part can be registered later.
    """

    algorithm: str = parameter(
        default="SC-III",
        constraint=[StrOptions(ALGORITHMS.keys())],
        text="""{"SC-I", "SC-II", "SC-III"}
        Which output weights are re-evaluated after each node: the new one, those in a sliding window, or all.""",
    )
    max_nodes: int | Auto = parameter(
        default="auto",
        constraint=[StrOptions({"auto"}), AT_LEAST_1],
        text="""int or "auto"
        L_max, the largest number of hidden nodes.
        "auto" leaves it to early stopping, up to a limit of 1,000, of n_samples/2 and of √(2.5e8/n_samples), but at
        least 100; without early stopping it is 100.""",
    )
    max_layers: int = constant(1)
    nodes_per_layer: int | Auto = constant("auto")
    inputs: LayerInputs = constant("auto")
    tol: float = parameter(
        default=1e-4,
        constraint=[Interval(Real, 0, None, closed="left")],
        text="""float
        ε: growth ends when the training RMSE of the scaled target is at most this.""",
    )
    scope: float = constant()
    learning_rate: float = constant()
    max_iter: int = constant()
    patience: int = constant()
    max_candidates: int = parameter(
        default=200,
        constraint=[AT_LEAST_1],
        text="""int
        T_max, the number of candidates: for each scope with "ladder" and "renewal", otherwise of a pool.""",
    )
    scopes: Sequence[float] = parameter(
        default=SCOPES,
        constraint=["array-like"],
        text="""sequence of float
        Υ, the values of λ; weights are drawn from [−λ, λ]. "ladder" and "renewal" try one scope after the
        other; "pooled" and "polished" draw λ log-uniformly between the smallest and the largest.""",
    )
    contractions: Sequence[float] = parameter(
        default=CONTRACTIONS,
        constraint=["array-like"],
        text="""sequence of float
        r, increasing and below 1: each node must reduce the squared error to at most (r + μ_L) times what it was.
        "renewal" starts with the first and ends with the last; what is in between it draws.""",
    )
    window: int = parameter(
        default=15,
        constraint=[AT_LEAST_1],
        text="""int
        K, the number of output weights that SC-II re-evaluates.""",
    )
    nodes_per_step: int | Auto = parameter(
        default="auto",
        constraint=[StrOptions({"auto"}), AT_LEAST_1],
        text="""int or "auto"
        Nodes to add in one step; more are faster and give a slightly less compact network. "auto" follows the
        configuration: three where they can be polished together, otherwise one.""",
    )
    configuration: str | Configuration = parameter(
        default="polished",
        constraint=[StrOptions(CONFIGURATIONS.keys()), Configuration],
        text="""{"polished", "pooled", "ladder", "renewal", "free", "quickprop"} or Configuration
        How nodes are searched for. "polished" selects the candidates of one pool that reduce the error most and
        improves them by Levenberg–Marquardt steps, and now and then all nodes; "pooled" is the same without these
        steps; "ladder" is the search of the paper, in the order of its authors' release, and "renewal" that of its
        pseudo code; "free" accepts any random node and "quickprop" optimises one; both are unsupervised baselines.""",
    )
    direct_link: bool | Auto = parameter(
        default="auto",
        constraint=["boolean", StrOptions({"auto"})],
        text="""bool or "auto"
        Whether the inputs themselves, and an intercept, are connected to the outputs; "auto" follows the
        configuration.""",
    )
    alpha: float | Literal["auto", "gcv"] = parameter(
        default="auto",
        constraint=[Interval(Real, 0, None, closed="left"), StrOptions({"auto", "gcv"})],
        text="""float, "gcv" or "auto"
        α of the ridge ‖T − Hβ‖² + α‖β‖², with targets as scaled; intercept and direct links are not penalised.
        SC-III regularises the final output weights, SC-I and SC-II those that they evaluate with each node.
        "gcv" chooses α by generalised cross-validation, with SC-III only; "auto" follows the configuration, and is
        0 with SC-I and SC-II.""",
    )
    loss: str = constant("squared")
    quantile: float = constant(0.5)
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = constant(None)
    layer: str = parameter(
        default="dense",
        constraint=[StrOptions(LAYERS.keys())],
        text="""{"dense"}
        What hidden nodes compute: "dense" is g(wᵀx + b).""",
    )
    activation: str | Activation | Function = parameter(
        default="sigmoid",
        constraint=[StrOptions(set(ACTIVATIONS)), Activation, callable],
        text="""{"sigmoid", "tanh", "gaussian", "sine", "cosine", "relu"}, Activation or callable
        g, by name, or a function of an array that returns an array of the same shape.""",
    )
    categorical_features: CategoricalFeatures = parameter(
        default="from_dtype",
        constraint=[None, StrOptions({"from_dtype"}), "array-like"],
        text="""\
        "from_dtype", list of str or int, mask, or None
        Which columns hold categories. "from_dtype": in a DataFrame or an Arrow table, those of categorical type and
        of text; a list of names or numbers, or a mask: these, whatever their type, and in a table also the former.
        Up to 20 categories become a column of 0 and 1 each; with more, the 10 most frequent do, and the mean of the
        target for each category is encoded, cross-fitted in training. None: all columns must be numbers. See
        `encoder_`.""",
    )
    scaling: ScalingName | Auto = parameter(
        default="auto",
        constraint=[StrOptions({"auto", *(name for name in SCALINGS if name is not None)}), None],
        text="""{"minmax", "robust", "standard", "quantile", "auto"} or None
        How inputs are scaled: to [0, 1] as in the paper; the middle 96 % of each to [0, 1], with outliers clipped;
        to mean 0 and standard deviation 1; to quantiles of the training rows; or not at all.
        "auto" follows the configuration. The target is scaled to [0, 1]. In regression with one output and squared
        error, from 3000 rows on, jumps of the function along an input become further inputs of the network, unless
        scaling is None or the configuration follows the paper.""",
    )
    early_stopping: Criterion | Auto = parameter(
        default="auto",
        constraint=["boolean", StrOptions({"auto", *CRITERIA})],
        text="""bool, "validation", "gcv", "aic", "bic" or "auto"
        Keep the nodes up to the lowest error on held-out rows (True, "validation"), the lowest generalised
        cross-validation ("gcv") or information criterion of Akaike or Bayes ("aic", "bic") on the training rows,
        and stop when it no longer decreases. "auto" follows the configuration; if that uses early stopping, it is
        by held-out rows for 100 to 100,000 rows, and otherwise by generalised cross-validation.""",
    )
    validation_fraction: float | Auto = parameter(
        default="auto",
        constraint=[Interval(Real, 0, 1, closed="neither"), StrOptions({"auto"})],
        text="""float or "auto"
        Share of the rows to hold out for early stopping. "auto" is 0.2 with loss="log_loss" and 0.1 otherwise.""",
    )
    validation: HeldOut = parameter(
        default="random",
        constraint=[StrOptions(set(HELD_OUT))],
        text="""{"random", "last"}
        Which rows early stopping holds out: rows drawn at random, or the last ones. Use "last" for rows in order of
        time, where a row drawn at random has neighbours among the training rows that are nearly the same.""",
    )
    n_iter_no_change: int = parameter(
        default=25,
        constraint=[AT_LEAST_1],
        text="""int
        Nodes without a lower validation error before early stopping ends growth.""",
    )
    warm_start: bool = parameter(
        default=False,
        constraint=["boolean"],
        text="""bool
        Let `fit` continue the network of the previous call, on the same data, for instance to a larger `max_nodes`;
        other data are refused: see `partial_fit`.
        A loss that needs several rounds continues the last one, with the row weights that follow from the network,
        so the result is not that of a single fit.""",
    )
    checkpoint: str | os.PathLike[str] | None = parameter(
        default=None,
        constraint=[None, str, os.PathLike],
        text="""path or None
        A file in which the growing network is saved about once a second. `fit` with the same path, data and
        parameters continues from there, for instance after a crash, and ends with the same network. If it cannot be
        written any more, `fit` warns once and continues; a second `fit` at the same time is refused.""",
    )
    n_jobs: int | None = parameter(
        default=None,
        constraint=[None, Integral],
        text="""int or None
        Threads; None means 1, −1 all processors. The network does not depend on it.""",
    )
    random_state: Seed = parameter(
        default=None,
        constraint=["random_state"],
        text="""int, RandomState instance or None
        Seed of the random nodes; with an int, every call gives the same network.""",
    )
    verbose: int = parameter(
        default=0,
        constraint=["verbose"],
        text="""int
        1 shows progress on standard error, 2 every step.""",
    )
    supervision: str | Supervision = parameter(
        default="paper",
        constraint=[StrOptions(SUPERVISIONS.keys()), HasMethods("slack")],
        text="""{"paper", "quadratic", "orthogonal"} or an object with ``slack``, such as a Supervision
        The inequality that a node must satisfy: "paper" has μ_L = (1 − r)/(L + 1), "quadratic" (1 − r)/(L + 1)², which
        requires more of the first nodes; "orthogonal" has the decrease of the error with all re-evaluated output
        weights in place of that with only the new one, and requires less.""",
    )
    monotone: Mapping[str, int] | Sequence[int] | None = constant(None)
