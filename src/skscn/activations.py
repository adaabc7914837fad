"""Activation functions g of the hidden nodes h(x) = g(wᵀx + b).

The paper's theorems require 0 < ‖g‖ < b_g; its Section 4.3 names sigmoid, gaussian, sine, cosine and tanh.
``ACTIVATIONS`` maps each name to its :class:`Activation`; a custom function can be passed instead of a name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Folded:
    """g(z) = outer · value(inner · z), value evaluated in place; the factors are powers of two and therefore exact."""

    inner: float
    value: Function
    outer: float


@dataclass(frozen=True)
class Activation:
    """One activation function.

    Attributes
    ----------
    name : str
    value : callable
        g, evaluated in place: it may overwrite its argument and returns the array that holds the result.
    derivative : callable or None
        g′ as a new array; the argument is left unchanged. None if unknown; only gradient-based searches need it.
    bound : float
        The largest absolute value of g, which the guards use. (The paper's b_g bounds the L2 norm of a node instead.)
    folded : Folded or None
        g without its constant factors, which are multiplied into the weights at no extra cost.
    slope : callable or None
        g′(z) as a function of the value g(z), where there is one; it saves evaluating g twice.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn import Activation, SCNRegressor
    >>> from skscn.datasets import make_db1
    >>> softsign = Activation("softsign", lambda z: np.divide(z, 1 + np.abs(z), out=z), bound=1.0)
    >>> db1 = make_db1(random_state=0)
    >>> model = SCNRegressor(activation=softsign, max_nodes=30, random_state=0).fit(db1.data, db1.target)
    >>> model.score(db1.test_data, db1.test_target) > 0.9
    True
    """

    name: str
    value: Function
    derivative: Function | None = None
    bound: float = np.inf
    folded: Folded | None = None
    slope: Function | None = None

    def value_and_slope(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """g(z) and g′(z); z may be overwritten."""
        assert self.derivative is not None
        if self.slope is not None:
            h = self.value(z)
            return h, self.slope(h)
        slope = self.derivative(z)
        return self.value(z), slope

    @cached_property
    def core(self) -> Folded:
        """g as a :class:`Folded`."""
        return self.folded or Folded(1.0, self.value, 1.0)


@dataclass(frozen=True)
class _InPlace:
    """A user's function z → g(z), adapted to overwrite its argument; it always receives double precision."""

    function: Function

    def __call__(self, z: np.ndarray) -> np.ndarray:
        value = np.asarray(self.function(z.astype(np.float64, copy=False)))
        if value.shape != z.shape:
            raise ValueError(
                f"The activation {_name(self.function)!r} returned the shape {value.shape} for an array of shape "
                f"{z.shape}; it must return an array of the same shape, g of each number."
            )
        z[...] = value
        return z


def _one_plus_tanh(z: np.ndarray) -> np.ndarray:
    np.tanh(z, out=z)
    z += 1.0
    return z


def _sigmoid(z: np.ndarray) -> np.ndarray:
    # ½(1 + tanh(z/2)) runs in place with NumPy's vectorised tanh, several times faster than 1/(1 + exp(-z)).
    z *= 0.5
    np.tanh(z, out=z)
    z += 1.0
    z *= 0.5
    return z


def _sigmoid_slope(h: np.ndarray) -> np.ndarray:
    slope = 1.0 - h
    slope *= h
    return slope


def _sigmoid_derivative(z: np.ndarray) -> np.ndarray:
    return _sigmoid_slope(_sigmoid(z.copy()))


def _tanh(z: np.ndarray) -> np.ndarray:
    np.tanh(z, out=z)
    return z


def _tanh_slope(h: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 - h * h)


def _tanh_derivative(z: np.ndarray) -> np.ndarray:
    return _tanh_slope(np.tanh(z))


def _gaussian(z: np.ndarray) -> np.ndarray:
    # Beyond |z| = 40 the value is 0 in float64; the clip keeps z² from overflowing.
    np.clip(z, -40.0, 40.0, out=z)
    z *= z
    np.negative(z, out=z)
    np.exp(z, out=z)
    return z


def _gaussian_derivative(z: np.ndarray) -> np.ndarray:
    return np.asarray(-2.0 * np.clip(z, -40.0, 40.0) * _gaussian(z.copy()))


def _sine(z: np.ndarray) -> np.ndarray:
    np.sin(z, out=z)
    return z


def _cosine(z: np.ndarray) -> np.ndarray:
    np.cos(z, out=z)
    return z


def _cosine_derivative(z: np.ndarray) -> np.ndarray:
    return np.asarray(-np.sin(z))


def _relu(z: np.ndarray) -> np.ndarray:
    np.maximum(z, 0.0, out=z)
    return z


def _relu_derivative(z: np.ndarray) -> np.ndarray:
    return (z > 0.0).astype(z.dtype)


ACTIVATIONS: dict[str, Activation] = {
    activation.name: activation
    for activation in (
        Activation("sigmoid", _sigmoid, _sigmoid_derivative, 1.0, Folded(0.5, _one_plus_tanh, 0.5), _sigmoid_slope),
        Activation("tanh", _tanh, _tanh_derivative, bound=1.0, slope=_tanh_slope),
        Activation("gaussian", _gaussian, _gaussian_derivative, bound=1.0),
        Activation("sine", _sine, np.cos, bound=1.0),
        Activation("cosine", _cosine, _cosine_derivative, bound=1.0),
        Activation("relu", _relu, _relu_derivative),
    )
}


def resolve_activation(activation: str | Activation | Function) -> Activation:
    """The :class:`Activation` that a name, an instance or a plain function z → g(z) stands for."""
    if isinstance(activation, str):
        return ACTIVATIONS[activation]
    if isinstance(activation, Activation):
        return activation
    return Activation(_name(activation), _InPlace(activation))


def _name(function: Function) -> str:
    return getattr(function, "__name__", type(function).__name__)


# Two-dimensional, like hidden outputs; a few numbers on both sides of 0.
_TRIED = np.linspace(-3.0, 3.0, 14).reshape(7, 2)


def check_activation(activation: Activation) -> None:
    """Reject an activation that no network can be grown with; those registered here are known to work."""
    if ACTIVATIONS.get(activation.name) == activation:
        return
    value = np.asarray(activation.value(_TRIED.copy()))
    fault = None
    if value.shape != _TRIED.shape:
        fault = f"returned the shape {value.shape} for an array of shape {_TRIED.shape}"
    elif not np.isfinite(value).all():
        fault = "returned NaN or infinity for numbers between -3 and 3"
    elif np.ptp(value) == 0.0:
        fault = f"is constant: it returned {value[0, 0]} for all numbers between -3 and 3"
    if fault:
        raise ValueError(
            f"The activation {activation.name!r} {fault}; it must map an array to one of the same shape, with a finite "
            "number g(z) for each z that is not the same for all z."
        )
