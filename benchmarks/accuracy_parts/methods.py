"""The methods that are compared: our estimators and other learners, at their defaults."""

from collections.abc import Callable

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import skscn
from accuracy_parts.functions import FUNCTIONS
from accuracy_parts.peers import catboost, lightgbm, realmlp, swim_layer, xgboost

OURS = ("SCN", "SCN-ensemble")
_ESTIMATORS = {
    "regression": (skscn.SCNRegressor, skscn.SCNEnsembleRegressor),
    "classification": (skscn.SCNClassifier, skscn.SCNEnsembleClassifier),
}
RANDOM_NODES = 300
# A Gaussian process takes time cubic in the rows; the classifier does so for each class and many times.
GP_ROWS = {"regression": 2000, "classification": 1000}


class RandomSigmoids(TransformerMixin, BaseEstimator):
    """Sigmoid nodes with weights and biases uniform in [-1, 1], after the inputs themselves if ``direct``."""

    def __init__(self, nodes, direct, random_state):
        self.nodes, self.direct, self.random_state = nodes, direct, random_state

    def fit(self, X, y=None):
        rng = np.random.default_rng(self.random_state)
        self.weights_ = rng.uniform(-1.0, 1.0, (X.shape[1], self.nodes))
        self.biases_ = rng.uniform(-1.0, 1.0, self.nodes)
        return self

    def transform(self, X):
        H = expit(X @ self.weights_ + self.biases_)
        return np.hstack([X, H]) if self.direct else H


class LeastSquaresClassifier(ClassifierMixin, BaseEstimator):
    """Plain least squares on class indicators."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.model_ = LinearRegression().fit(X, (y[:, None] == self.classes_).astype(float))
        return self

    def decision_function(self, X):
        outputs = self.model_.predict(X)
        return outputs[:, 1] - outputs[:, 0] if len(self.classes_) == 2 else outputs

    def predict(self, X):
        return self.classes_[np.argmax(self.model_.predict(X), axis=1)]


def scaled(*steps):
    return make_pipeline(StandardScaler(), *steps)


def scaled_target(model):
    return TransformedTargetRegressor(model, transformer=StandardScaler())


def elm_nodes(rows):
    """Fewer nodes than rows by far: without regularisation, as many nodes as rows fit the noise."""
    return min(RANDOM_NODES, rows // 3)


def gp_regressor(rows, seed):
    if rows > GP_ROWS["regression"]:
        return None
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    return scaled(GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed))


def gp_classifier(rows, seed):
    if rows > GP_ROWS["classification"]:
        return None
    # On classes that are easy to separate the likelihood has no optimum within scikit-learn's wider bounds.
    kernel = ConstantKernel(1.0, (1e-3, 1e3)) * RBF(1.0, (0.1, 100.0))
    return scaled(GaussianProcessClassifier(kernel, random_state=seed))


def svc(rows, seed):
    """SVC with probabilities.

    They come from a logistic regression on the decisions between pairs of classes, which is near to what libsvm does.
    CalibratedClassifierCV sees counts of won pairs instead, and its log loss is several times as large for ten classes.
    """
    pairs = SVC(decision_function_shape="ovo")
    logistic = LogisticRegression(max_iter=1000)
    return scaled(StackingClassifier([("svc", pairs)], logistic, stack_method="decision_function"))


def elm_classifier(rows, seed):
    # A temperature makes probabilities of the outputs and leaves the predicted classes as they are.
    readout = CalibratedClassifierCV(LeastSquaresClassifier(), method="temperature", ensemble=False)
    return scaled(RandomSigmoids(elm_nodes(rows), False, seed), readout)


def ridge():
    return RidgeCV(np.logspace(-6, 4, 11))


def rvfl_regressor(rows, seed):
    return scaled(RandomSigmoids(RANDOM_NODES, True, seed), ridge())


def rvfl_classifier(rows, seed):
    return scaled(RandomSigmoids(RANDOM_NODES, True, seed), LogisticRegression(max_iter=1000))


def swim_regressor(rows, seed):
    # Ridge as for RVFL: least squares, as in the example of the package, fits the noise of small tables.
    return scaled(swim_layer(seed), ridge())


def swim_classifier(rows, seed):
    return scaled(swim_layer(seed, is_classifier=True), LogisticRegression(max_iter=1000))


def ours(task):
    """Our estimators, on one thread."""
    return {
        name: lambda rows, seed, estimator=estimator: estimator(n_jobs=1, random_state=seed)
        for name, estimator in zip(OURS, _ESTIMATORS[task], strict=True)
    }


_REGRESSORS: dict[str, Callable] = {
    **ours("regression"),
    "CatBoost": lambda rows, seed: catboost(seed),
    "LightGBM": lambda rows, seed: lightgbm(seed),
    "XGBoost": lambda rows, seed: xgboost(seed),
    "boosting": lambda rows, seed: HistGradientBoostingRegressor(random_state=seed),
    "forest": lambda rows, seed: RandomForestRegressor(random_state=seed),
    "MLP": lambda rows, seed: scaled_target(scaled(MLPRegressor(early_stopping=True, max_iter=500, random_state=seed))),
    "RealMLP": lambda rows, seed: realmlp(seed),
    "SVM": lambda rows, seed: scaled_target(scaled(SVR())),
    "RVFL": rvfl_regressor,
    "ELM": lambda rows, seed: scaled(RandomSigmoids(elm_nodes(rows), False, seed), LinearRegression()),
    "SWIM": swim_regressor,
    "GP": gp_regressor,
}
_CLASSIFIERS: dict[str, Callable] = {
    **ours("classification"),
    "CatBoost": lambda rows, seed: catboost(seed, "CatBoostClassifier"),
    "LightGBM": lambda rows, seed: lightgbm(seed, "LGBMClassifier"),
    "XGBoost": lambda rows, seed: xgboost(seed, "XGBClassifier"),
    "boosting": lambda rows, seed: HistGradientBoostingClassifier(random_state=seed),
    "forest": lambda rows, seed: RandomForestClassifier(random_state=seed),
    "MLP": lambda rows, seed: scaled(MLPClassifier(early_stopping=True, max_iter=500, random_state=seed)),
    "RealMLP": lambda rows, seed: realmlp(seed, "RealMLP_TD_Classifier"),
    "SVM": svc,
    "RVFL": rvfl_classifier,
    "ELM": elm_classifier,
    "SWIM": swim_classifier,
    "GP": gp_classifier,
}
# Task -> name -> factory from the number of training rows and the seed; None where there are too many rows for the
# method.
METHODS = {"regression": _REGRESSORS, "classification": _CLASSIFIERS, **dict.fromkeys(FUNCTIONS, _REGRESSORS)}
