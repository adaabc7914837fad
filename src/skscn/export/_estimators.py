"""Fitted estimators as C functions: predictions of regressors, and probabilities and classes of classifiers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from skscn.estimators import SCNClassifier, SCNEnsembleClassifier, SCNEnsembleRegressor
from skscn.estimators.classifier import Calibration
from skscn.estimators.networks import grown_networks, is_multilabel
from skscn.export._code import CCode
from skscn.export._networks import predicted


@dataclass(frozen=True)
class Core:
    """What predicts from numbers.

    Attributes
    ----------
    function : str
        Of the form ``void (const real *x, real *f)``; for classes that exclude each other, ``int`` instead of ``void``.
    size : int
        How many numbers it writes.
    names : list of str or None
        The classes or, if they do not exclude each other, labels; None for regressors.
    classes : list of str or None
        The classes, one of which it returns by its number.
    """

    function: str
    size: int
    names: list[str] | None = None
    classes: list[str] | None = None


def core_of(code: CCode, model: Any) -> Core:
    """The core of a regressor, a classifier or an ensemble."""
    if isinstance(model, SCNEnsembleRegressor):
        size = model.members_[0].network_.n_outputs
        return Core(
            _weighted(code, model, size, lambda member, features: predicted(code, member.network_, features)), size
        )
    if not isinstance(model, SCNClassifier | SCNEnsembleClassifier):
        return Core(predicted(code, model.network_), model.network_.n_outputs)
    names, size = [str(label) for label in model.classes_], len(model.classes_)
    ensemble = isinstance(model, SCNEnsembleClassifier)
    multilabel = is_multilabel(grown_networks(model)[0])
    if ensemble:
        function = _ensemble_probabilities(code, model, size, multilabel)
    elif model.calibration_ is not None:
        return Core(_calibrated_class(code, model), size, names, names)
    else:
        function = _probabilities(code, model)
    return Core(function, size, names) if multilabel else Core(_largest(code, function, size), size, names, names)


def _probabilities(code: CCode, model: SCNClassifier, features: np.ndarray | None = None) -> str:
    """A function that writes the probabilities of one network."""
    outputs = _class_outputs(code, model, features)
    if model.calibration_ is None:
        return outputs
    calibrate = _calibration(code, model.calibration_, len(model.classes_))
    return code.function("probabilities", "void", "const real *x, real *f", f"{outputs}(x, f);\n{calibrate}(f);")


def _class_outputs(code: CCode, model: SCNClassifier, features: np.ndarray | None) -> str:
    """A function that writes a number for each class; a network for two classes has one output, for the second."""
    network = predicted(code, model.network_, features)
    if not model.network_.single_output:
        return network
    return code.function("two_classes", "void", "const real *x, real *f", f"{network}(x, f + 1);\nf[0] = 1 - f[1];")


def _calibrated_class(code: CCode, model: SCNClassifier) -> str:
    """A function that writes probabilities, and returns the class with the largest output."""
    size = len(model.classes_)
    outputs = _largest(code, _class_outputs(code, model, None), size)
    calibrate = _calibration(code, model.calibration_, size)
    body = f"const int best = {outputs}(x, f);\n{calibrate}(f);\nreturn best;"
    return code.function("classified", "int", "const real *x, real *f", body)


def _largest(code: CCode, function: str, size: int) -> str:
    """A function that writes what another one does, and returns the number of the largest."""
    body = f"""
        int best = 0;
        {function}(x, f);
        for (int i = 1; i < {size}; i++) if (f[i] > f[best]) best = i;
        return best;
    """
    return code.function("best", "int", "const real *x, real *f", body)


def _calibration(code: CCode, calibration: Calibration | None, size: int) -> str:
    """A function that turns outputs into probabilities, as :class:`~skscn.estimators.classifier.Calibration` does."""
    assert calibration is not None
    log, hypot, fabs = map(code.math, ("log", "hypot", "fabs"))
    constants = {
        "floor": 2.0 * calibration.floor,
        "above": np.log(2.0),
        "below": np.log(2.0 * calibration.floor**2),
        "exponent": calibration.exponent,
        "own": 1.0 - calibration.equal_share,
        "equal": calibration.equal_share / size,
    }
    c = {name: code.number(value) for name, value in constants.items()}
    body = f"""
        for (int i = 0; i < {size}; i++) {{
            const real positive = {log}({hypot}(f[i], {c["floor"]}) + {fabs}(f[i]));
            f[i] = {c["exponent"]} * (f[i] > 0 ? positive - {c["above"]} : {c["below"]} - positive);
        }}
        {code.softmax()}(f, {size});
        for (int i = 0; i < {size}; i++) f[i] = {c["own"]} * f[i] + {c["equal"]};
    """
    return code.function("calibrate", "void", "real *f", body)


def _weighted(
    code: CCode,
    model: Any,
    size: int,
    response: Callable[[Any, np.ndarray | None], str],
    each: str = "g[i]",
    hint: str = "mean",
) -> str:
    """A function that writes the weighted sum of the members' responses g, or of an expression of them."""
    lines = [f"real g[{size}];", f"for (int i = 0; i < {size}; i++) f[i] = 0;"]
    shares = code.table("shares", model.weights_)
    for place, (member, features) in enumerate(zip(model.members_, model.features_, strict=True)):
        every = np.array_equal(features, np.arange(model.n_features_in_))
        lines.append(f"{response(member, None if every else features)}(x, g);")
        lines += [
            f"for (int i = 0; i < {size}; i++) {{",
            f"    const real added = {shares}[{place}] * {each};",
            "    f[i] += added;",
            "}",
        ]
    return code.function(f"ensemble_{hint}", "void", "const real *x, real *f", "\n".join(lines))


def _ensemble_probabilities(code: CCode, model: SCNEnsembleClassifier, size: int, multilabel: bool) -> str:
    """The members' probabilities combined: their mean if they are calibrated, else that of their logarithms."""

    def probabilities(member: SCNClassifier, features: np.ndarray | None) -> str:
        return _probabilities(code, member, features)

    if model.members_[0].calibration_ is not None:
        return _weighted(code, model, size, probabilities)
    log, least = code.math("log"), code.number(np.finfo(code.dtype).tiny)
    floored = code.function("log_floored", "real", "real p", f"return {log}(p < {least} ? {least} : p);")
    if not multilabel:
        logarithms = _weighted(code, model, size, probabilities, f"{floored}(g[i])", "log")
        body = f"{logarithms}(x, f);\n{code.softmax()}(f, {size});"
        return code.function("ensemble", "void", "const real *x, real *f", body)
    odds = _weighted(code, model, size, probabilities, f"({floored}(g[i]) - {floored}(1 - g[i]))", "odds")
    body = f"{odds}(x, f);\nfor (int i = 0; i < {size}; i++) f[i] = {code.logistic()}(f[i]);"
    return code.function("ensemble", "void", "const real *x, real *f", body)
