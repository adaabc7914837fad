"""Deep stochastic configuration networks: layers that grow one after the other, all linked to the output."""

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar, Literal, TypeAlias

from sklearn.utils._param_validation import Interval, StrOptions

from skscn.estimators.base import CONTRACTIONS, SCOPES
from skscn.estimators.classifier import SCNClassifier
from skscn.estimators.parameters import (
    ActivationLike,
    Auto,
    CategoricalFeatures,
    Criterion,
    HeldOut,
    PathLike,
    ScalingName,
    Seed,
    document,
)
from skscn.estimators.regressor import SCNRegressor
from skscn.fit.deepen import SEEN
from skscn.search import Configuration

SeenInputs: TypeAlias = Literal["all", "previous", "output"]

_CONSTRAINTS: dict[str, list[Any]] = {
    "max_layers": [Interval(Integral, 1, None, closed="left")],
    "nodes_per_layer": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "inputs": [StrOptions({"auto", *SEEN})],
}
_STORY = """
The first layer is grown like that of a network with one layer. The nodes of a further layer see columns of the nodes
below, and have to satisfy the same inequality on the residual of the whole network. All layers are linked to the
output, so the training error also decreases where a layer begins. Further layers are tried on top of the first one, and
as layers of at most 20 nodes from the beginning. They are kept only if they are clearly better on held-out rows and on
folds of the training rows, without which they are grown again; otherwise the network is that of one layer.
"""


@document(
    summary="Regression with a deep stochastic configuration network.",
    story=_STORY,
    examples="""
>>> import numpy as np
>>> from skscn import DeepSCNRegressor, SCNRegressor
>>> X = np.random.default_rng(0).random((2000, 1))
>>> y = 1 - abs(1 - 2 * (1 - abs(1 - 2 * (1 - abs(1 - 2 * X[:, 0])))))
>>> shallow, deep = (kind(max_nodes=40, random_state=0) for kind in (SCNRegressor, DeepSCNRegressor))
>>> shallow.fit(X[:1500], y[:1500]).score(X[1500:], y[1500:]) < deep.fit(X[:1500], y[:1500]).score(X[1500:], y[1500:])
True
""",
)
class DeepSCNRegressor(SCNRegressor):
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**SCNRegressor._parameter_constraints, **_CONSTRAINTS}

    def __init__(
        self,
        algorithm: str = "SC-III",
        max_nodes: int | Auto = "auto",
        max_layers: int = 5,
        nodes_per_layer: int | Auto = "auto",
        inputs: SeenInputs | Auto = "auto",
        tol: float = 1e-4,
        max_candidates: int = 200,
        scopes: Sequence[float] = SCOPES,
        contractions: Sequence[float] = CONTRACTIONS,
        window: int = 15,
        nodes_per_step: int | Auto = "auto",
        configuration: str | Configuration = "polished",
        direct_link: bool | Auto = "auto",
        alpha: float | Literal["auto", "gcv"] = "auto",
        loss: str = "squared",
        quantile: float = 0.5,
        layer: str = "dense",
        activation: ActivationLike = "sigmoid",
        categorical_features: CategoricalFeatures = "from_dtype",
        scaling: ScalingName | Auto = "auto",
        early_stopping: Criterion | Auto = "auto",
        validation_fraction: float | Auto = "auto",
        validation: HeldOut = "random",
        n_iter_no_change: int = 25,
        warm_start: bool = False,
        checkpoint: PathLike | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        super().__init__(
            algorithm=algorithm,
            max_nodes=max_nodes,
            tol=tol,
            max_candidates=max_candidates,
            scopes=scopes,
            contractions=contractions,
            window=window,
            nodes_per_step=nodes_per_step,
            configuration=configuration,
            direct_link=direct_link,
            alpha=alpha,
            loss=loss,
            quantile=quantile,
            layer=layer,
            activation=activation,
            categorical_features=categorical_features,
            scaling=scaling,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            validation=validation,
            n_iter_no_change=n_iter_no_change,
            warm_start=warm_start,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.max_layers = max_layers
        self.nodes_per_layer = nodes_per_layer
        self.inputs = inputs


@document(
    summary="Classification with a deep stochastic configuration network.",
    story=_STORY,
    attributes="""
classes_ : ndarray
    The classes; with several labels, their numbers.
calibration_ : Calibration or None
    How outputs become probabilities with ``loss="squared"``; None under the default loss, whose outputs are logits.
""",
    examples="""
>>> from sklearn.datasets import load_wine
>>> from sklearn.model_selection import train_test_split
>>> from skscn import DeepSCNClassifier
>>> X, y = load_wine(return_X_y=True)
>>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
>>> model = DeepSCNClassifier(max_nodes=30, random_state=0).fit(X_train, y_train)
>>> model.score(X_test, y_test) > 0.9
True
""",
)
class DeepSCNClassifier(SCNClassifier):
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**SCNClassifier._parameter_constraints, **_CONSTRAINTS}

    def __init__(
        self,
        algorithm: str = "SC-III",
        max_nodes: int | Auto = "auto",
        max_layers: int = 5,
        nodes_per_layer: int | Auto = "auto",
        inputs: SeenInputs | Auto = "auto",
        tol: float = 1e-4,
        max_candidates: int = 200,
        scopes: Sequence[float] = SCOPES,
        contractions: Sequence[float] = CONTRACTIONS,
        window: int = 15,
        nodes_per_step: int | Auto = "auto",
        configuration: str | Configuration = "polished",
        direct_link: bool | Auto = "auto",
        alpha: float | Literal["auto", "gcv"] = "auto",
        loss: str = "log_loss",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        layer: str = "dense",
        activation: ActivationLike = "sigmoid",
        categorical_features: CategoricalFeatures = "from_dtype",
        scaling: ScalingName | Auto = "auto",
        early_stopping: Criterion | Auto = "auto",
        validation_fraction: float | Auto = "auto",
        validation: HeldOut = "random",
        n_iter_no_change: int = 25,
        warm_start: bool = False,
        checkpoint: PathLike | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ):
        super().__init__(
            algorithm=algorithm,
            max_nodes=max_nodes,
            tol=tol,
            max_candidates=max_candidates,
            scopes=scopes,
            contractions=contractions,
            window=window,
            nodes_per_step=nodes_per_step,
            configuration=configuration,
            direct_link=direct_link,
            alpha=alpha,
            loss=loss,
            class_weight=class_weight,
            layer=layer,
            activation=activation,
            categorical_features=categorical_features,
            scaling=scaling,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            validation=validation,
            n_iter_no_change=n_iter_no_change,
            warm_start=warm_start,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.max_layers = max_layers
        self.nodes_per_layer = nodes_per_layer
        self.inputs = inputs
