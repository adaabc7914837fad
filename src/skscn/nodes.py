"""Nodes and what they compute: activations, the hidden layer of the paper, linear columns, and layers on top of others.

The paper's theorems require of an activation g that 0 < ‖g‖ < b_g; its Section 4.3 names sigmoid, gaussian, sine,
cosine and tanh. ``ACTIVATIONS`` maps each name to its :class:`Activation`; a function can be passed instead of a name.

Activations are applied only here: sums over rows, searches, validation and the network all use a layer. Rows are
processed in blocks whose hidden outputs stay in the processor's cache. Biases are the weights of a last input that is
1, and constant factors of an activation are folded into weights and sums, so the outputs of a dense layer cost one
matrix product and one pass of the activation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from scipy import sparse

from skscn.scaling import InputScaling

# Rows of inputs: dense, or sparse by rows.
Matrix: TypeAlias = np.ndarray | sparse.csr_array | sparse.csr_matrix

# Numbers in one block of rows: half a megabyte of float64, which fits in the second-level cache.
_BLOCK = 65536


def blocks(n_rows: int, width: int) -> list[slice]:
    """Slices of rows such that an array of a slice by ``width`` columns fits in the cache."""
    step = max(16, _BLOCK // max(width, 1))
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


@dataclass(frozen=True)
class Inputs:
    """Rows of inputs, which may be in a file, and their scaling; None if they are scaled already and end with a 1."""

    X: Any
    scaling: InputScaling | None

    def __getitem__(self, rows: slice) -> Inputs:
        """Some of the rows."""
        return Inputs(self.X[rows], self.scaling)

    def block(self, rows: slice | np.ndarray) -> np.ndarray:
        """Some rows scaled, with a 1 as the last input; sparse rows are made dense here."""
        return self.X[rows] if self.scaling is None else scaled_with_one(self.X[rows], self.scaling)

    def prepared(self) -> Inputs:
        """The same inputs, scaled once if they are dense."""
        if self.scaling is None or not isinstance(self.X, np.ndarray):
            return self
        return Inputs(self.block(slice(None)), None)


def scaled_with_one(X: Matrix, scaling: InputScaling) -> np.ndarray:
    """Rows scaled, with a 1 as the last input; column by column, which is faster than row by row."""
    x = np.empty((len(scaling.sources) + 1, X.shape[0]))
    x[-1] = 1.0
    scaling.transform(X, out=x[:-1].T)
    return x.T


def with_one(x: np.ndarray) -> np.ndarray:
    """Rows with a 1 as the last input."""
    extended = np.empty((x.shape[0], x.shape[1] + 1), x.dtype)
    extended[:, :-1] = x
    extended[:, -1] = 1.0
    return extended


# Activation functions g ---------------------------------------------------------------------------------------------


Function: TypeAlias = Callable[[np.ndarray], np.ndarray]


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
    """Reject an activation that no network can be grown with."""
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


# Layers -------------------------------------------------------------------------------------------------------------


class Graph(Protocol):
    """What a layer needs to write itself as ONNX operators: each call returns the name of an output."""

    def __call__(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """An operator."""
        ...

    def constant(self, value: Any) -> str:
        """A constant."""
        ...

    def activation(self, activation: Activation, z: str) -> str:
        """An activation function."""
        ...


class Code(Protocol):
    """What a layer or a loss needs to write itself in C, where ``real`` is the type of numbers."""

    def table(self, hint: str, values: np.ndarray) -> str:
        """The name of a table of numbers, row by row."""
        ...

    def number(self, value: float) -> str:
        """A number."""
        ...

    def math(self, name: str) -> str:
        """A function of math.h, in the precision of ``real``."""
        ...

    def function(self, hint: str, returns: str, parameters: str, body: str) -> str:
        """The name of a function."""
        ...

    def activation(self, activation: Activation) -> str:
        """The name of a function real → real."""
        ...

    def softmax(self) -> str:
        """The name of a function ``void (real *f, int n)`` that works in place."""
        ...

    def logistic(self) -> str:
        """The name of a function real → real."""
        ...


class Layer(ABC):
    """Computes the columns of nodes from rows of inputs.

    Rows are scaled and end with an input that is 1, whose weight is the bias. A column is h = ``outer`` · value: the
    constant factors are applied to weights, sums and output weights, where they are free. Fields of a subclass, a
    dataclass, are its parameters, which model files contain: activations, numbers and strings.
    """

    # g, in layers that have one.
    activation: Activation | None = None
    # The constant factors of weights and of columns.
    inner: float = 1.0
    outer: float = 1.0
    # The largest absolute value of a column; infinity where none is known.
    bound: float = np.inf
    # Whether gradient-based searches can use it: see slope_and_value.
    differentiable: bool = False
    # Whether gradients is defined.
    has_gradients: bool = False

    @classmethod
    def of(cls, activation: Activation) -> Self:
        """The layer that an estimator with this activation uses."""
        return cls()

    def scales(self, X: np.ndarray, nodes: Nodes, weights: np.ndarray | None = None) -> float | np.ndarray:
        """The size that columns have where they are active: the bound or, without one, a number for each node.

        By default that is its largest absolute value. X are :meth:`features` of some rows, with their weights, if any.
        """
        if np.isfinite(self.bound):
            return self.bound
        return np.abs(self.hidden(X, nodes)).max(axis=0, initial=0.0)

    def width(self, n_inputs: int) -> int:
        """How many weights a node has."""
        return n_inputs

    def fits(self, nodes: Nodes, n_inputs: int) -> bool:
        """Whether nodes that a file contains can belong to it."""
        return len(nodes.weights) == self.width(n_inputs)

    def folded(self, nodes: Nodes) -> Any:
        """The argument of :meth:`values`: ``inner`` times the weights of nodes above their biases, shape (d + 1, k)."""
        return self.inner * np.vstack([nodes.weights, nodes.biases])

    @abstractmethod
    def values(self, x: np.ndarray, folded: Any) -> np.ndarray:
        """h/outer of shape (n, k), for rows that end with a 1."""

    def columns(self, x: np.ndarray, folded: Any) -> np.ndarray:
        """The same, in shape (k, n)."""
        return self.values(x, folded).T

    def evaluate(self, nodes: Nodes, inputs: Inputs) -> np.ndarray:
        """h of shape (k, n) on all rows, block by block."""
        folded, out = self.folded(nodes), np.empty((len(nodes), inputs.X.shape[0]))
        for rows in blocks(out.shape[1], max(folded.shape)):
            out[:, rows] = self.columns(inputs.block(rows), folded)
        out *= self.outer
        return out

    def features(self, X: np.ndarray) -> np.ndarray:
        """What nodes see of rows that do not end with a 1; searches draw directions among these."""
        return X

    def hidden(self, X: np.ndarray, nodes: Nodes) -> np.ndarray:
        """h of shape (n, k) from :meth:`features`, in their precision; to be defined if these are not the inputs."""
        return self.outer * self.values(with_one(X), self.folded(nodes).astype(X.dtype))

    def join(self, nodes: Nodes, before: int) -> None:
        """Take note of nodes that have joined a network with this number of nodes, if later nodes see earlier ones."""
        return

    def slope_and_value(self, X: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """g′(z) and g(z), each (n, k), for layers whose nodes are h = g(z) with z = wᵀx + b."""
        raise NotImplementedError(f"{type(self).__name__} has no derivative.")

    def gradients(self, X: np.ndarray, nodes: Nodes, output_weights: np.ndarray) -> Iterator[np.ndarray]:
        """For each output, Σ_l β_l ∂h_l/∂x of shape (n, d), for :meth:`features` x.

        Feature importances need it; if a subclass defines it, :attr:`has_gradients` is true. Arrays may be overwritten.
        """
        raise NotImplementedError(f"{type(self).__name__} has no gradients.")

    def pulled_back(self, X: np.ndarray, nodes: Nodes, factors: np.ndarray) -> np.ndarray:
        """Σ_l u_l ∂h_l/∂x of shape (n, d), for scaled inputs and factors u of shape (n, k): the chain rule."""
        raise NotImplementedError(f"{type(self).__name__} has no gradients.")

    def operators(self, graph: Graph, x: str, nodes: Nodes) -> str:
        """The output h of these nodes in an ONNX graph, from scaled inputs that do not end with a 1."""
        raise ValueError(f"Nodes of the layer {type(self).__name__} have no counterpart in ONNX.")

    def c_function(self, code: Code, nodes: Nodes) -> str:
        """The name of a C function ``real (const real *x, int j)``: the output h of node j, from scaled inputs."""
        raise ValueError(f"Nodes of the layer {type(self).__name__} have no counterpart in C.")


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes of one layer, as candidates and in the network.

    Attributes
    ----------
    layer : Layer
        The layer that computes their outputs.
    weights : ndarray of shape (d, k)
        w.
    biases : ndarray of shape (k,)
        b.
    scopes : ndarray of shape (k,)
        λ, the scopes that they were drawn from; a single one applies to all. NaN if unknown.
    """

    layer: Layer
    weights: np.ndarray
    biases: np.ndarray
    scopes: Any = np.nan

    def __post_init__(self) -> None:
        """Keep weights in one memory order: the last bits of products depend on it, and files have only one."""
        object.__setattr__(self, "weights", np.ascontiguousarray(self.weights))
        scopes = np.asarray(self.scopes, dtype=float)
        if scopes.shape != self.biases.shape:
            scopes = np.broadcast_to(scopes, self.biases.shape)
        object.__setattr__(self, "scopes", scopes)

    @classmethod
    def none(cls, layer: Layer, n_inputs: int) -> Nodes:
        """No nodes yet."""
        return cls(layer, np.zeros((layer.width(n_inputs), 0)), np.zeros(0))

    @classmethod
    def joined(cls, blocks: Sequence[Nodes]) -> Nodes:
        """The nodes of all blocks; where some have fewer weights than others, the rest are 0."""
        if len(blocks) == 1:
            return blocks[0]
        width = max(len(block.weights) for block in blocks)
        weights = np.zeros((width, sum(map(len, blocks))))
        for block, stop in zip(blocks, np.cumsum([len(block) for block in blocks]), strict=True):
            weights[: len(block.weights), stop - len(block) : stop] = block.weights
        biases, scopes = (np.hstack([getattr(block, name) for block in blocks]) for name in ("biases", "scopes"))
        return cls(blocks[0].layer, weights, biases, scopes)

    def __len__(self) -> int:
        return len(self.biases)

    def take(self, chosen: np.ndarray | slice) -> Nodes:
        """Some of them, in this order."""
        return Nodes(self.layer, self.weights[:, chosen], self.biases[chosen], self.scopes[chosen])


# Arguments at which the largest value of an activation is looked for, in units of the largest argument.
_ARGUMENTS = np.linspace(-1.0, 1.0, 17)


@dataclass(frozen=True)
class Dense(Layer):
    """The hidden layer of the paper, h(x) = g(wᵀx + b): nodes that use all inputs and apply one activation."""

    activation: Activation

    @classmethod
    def of(cls, activation: Activation) -> Dense:
        """With this activation."""
        return cls(activation)

    def __post_init__(self) -> None:
        """Look up once what is asked of every layer."""
        core, known = self.activation.core, self.activation.derivative is not None
        vars(self).update(inner=core.inner, outer=core.outer, bound=self.activation.bound)
        vars(self).update(differentiable=known, has_gradients=known)

    def scales(self, X: np.ndarray, nodes: Nodes, weights: np.ndarray | None = None) -> float | np.ndarray:
        """The bound, or the largest size of g(z) with z between −s and s, the root mean square of wᵀx + b on the rows.

        An argument of the size that a node gets is what makes it active. For relu this is s, so that a node is judged
        by ‖h‖²/‖z‖², which does not depend on the units of inputs, weights and activation.
        """
        if np.isfinite(self.bound):
            return self.bound
        z = _inner(X, nodes.weights, nodes.biases)
        size = np.sqrt(np.average(z * z, axis=1, weights=weights))
        # A function of the user may overflow; such a node is not alive.
        with np.errstate(all="ignore"):
            return np.abs(self.activation.value(np.outer(_ARGUMENTS, size))).max(axis=0)

    def values(self, x: np.ndarray, folded: np.ndarray) -> np.ndarray:
        """One matrix product and one pass of the activation."""
        return self.activation.core.value(x @ folded)

    def columns(self, x: np.ndarray, folded: np.ndarray) -> np.ndarray:
        """The same, contiguous in this shape."""
        return self.activation.core.value(folded.T @ x.T)

    def hidden(self, X: np.ndarray, nodes: Nodes) -> np.ndarray:
        """Without a column of ones: in single precision, adding the bias is more accurate than multiplying it."""
        return self.activation.value(_inner(X, nodes.weights, nodes.biases)).T

    def slope_and_value(self, X: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """g′(z) and g(z); where g′ is a function of g(z), the activation is evaluated once."""
        activation, z = self.activation, _inner(X, weights, biases)
        if activation.slope is not None:
            value = activation.value(z)
            return activation.slope(value).T, value.T
        assert activation.derivative is not None
        slope = activation.derivative(z)
        return slope.T, activation.value(z).T

    def gradients(self, X: np.ndarray, nodes: Nodes, output_weights: np.ndarray) -> Iterator[np.ndarray]:
        """Σ_l β_l g′(z_l) w_l for each output: g′ once, and one matrix product for each output."""
        slopes = self.slope_and_value(X, nodes.weights, nodes.biases)[0].T
        transposed = nodes.weights.T.astype(X.dtype, copy=False)
        for weights in output_weights.T.astype(X.dtype, copy=False):
            yield (slopes * weights[:, np.newaxis]).T @ transposed

    def pulled_back(self, X: np.ndarray, nodes: Nodes, factors: np.ndarray) -> np.ndarray:
        """Through g′ and the weights."""
        return (self.slope_and_value(X, nodes.weights, nodes.biases)[0] * factors) @ nodes.weights.T

    def operators(self, graph: Graph, x: str, nodes: Nodes) -> str:
        """As in the formula."""
        inner = graph("Add", graph("MatMul", x, graph.constant(nodes.weights)), graph.constant(nodes.biases))
        return graph.activation(self.activation, inner)

    def c_function(self, code: Code, nodes: Nodes) -> str:
        """As in the formula; a row of the table is a bias and its weights."""
        width, table = len(nodes.weights), code.table("weights", np.vstack([nodes.biases, nodes.weights]).T)
        body = f"""
            const real *w = {table} + {width + 1} * j;
            real z = w[0];
            for (int i = 0; i < {width}; i++) z += w[i + 1] * x[i];
            return {code.activation(self.activation)}(z);
        """
        return code.function("node", "real", "const real *x, int j", body)


def _inner(X: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
    """z = wᵀx + b of shape (k, n), in the precision of the rows: there are few nodes and many rows."""
    z: np.ndarray = weights.T.astype(X.dtype) @ X.T
    z += biases.astype(X.dtype)[:, np.newaxis]
    return z


@dataclass(frozen=True)
class Identity(Layer):
    """Nodes without activation, wᵀx + b itself: columns that are linear in the inputs, intercept and direct links."""

    def values(self, x: np.ndarray, folded: np.ndarray) -> np.ndarray:
        """One matrix product."""
        return x @ folded

    def columns(self, x: np.ndarray, folded: np.ndarray) -> np.ndarray:
        """The same, contiguous in this shape."""
        return folded.T @ x.T

    def pulled_back(self, X: np.ndarray, nodes: Nodes, factors: np.ndarray) -> np.ndarray:
        """Through the weights."""
        return factors @ nodes.weights.T

    def operators(self, graph: Graph, x: str, nodes: Nodes) -> str:
        """As in the formula."""
        return graph("Add", graph("MatMul", x, graph.constant(nodes.weights)), graph.constant(nodes.biases))


IDENTITY = Identity()


@dataclass(frozen=True, eq=False)
class Deep(Layer):
    """Nodes on top of others: h(x) = g(wᵀz + b), where z has columns of nodes below, and perhaps the inputs.

    All layers are linked to the output, so depth only changes what candidates see: the residual, the inequality and the
    output weights are those of the whole network (Wang and Li, DeepSCN, IJCNN 2018).

    Attributes
    ----------
    top : Layer
        What nodes compute from what they see.
    below : tuple of Nodes
        Blocks of nodes that were grown before, each with its own layer.
    with_inputs : bool
        Whether they see the inputs as well, which then come first.
    """

    top: Layer
    below: tuple[Nodes, ...]
    with_inputs: bool

    def __post_init__(self) -> None:
        """Bound and factors are those of the nodes themselves, whatever the layers below do with unseen rows."""
        vars(self).update(outer=self.top.outer, bound=self.top.bound, differentiable=self.top.differentiable)
        # All derivatives on the way down to the inputs must be known.
        own = self.top.has_gradients or isinstance(self.top, Identity)
        vars(self).update(has_gradients=own and all(block.layer.has_gradients for block in self.below))

    def scales(self, X: np.ndarray, nodes: Nodes, weights: np.ndarray | None = None) -> float | np.ndarray:
        """From features."""
        return self.top.scales(X, nodes, weights)

    def width(self, n_inputs: int) -> int:
        """A weight for each column that is seen."""
        return n_inputs * self.with_inputs + sum(map(len, self.below))

    def fits(self, nodes: Nodes, n_inputs: int) -> bool:
        """Whether these nodes and all below can belong to a network."""
        return super().fits(nodes, n_inputs) and all(block.layer.fits(block, n_inputs) for block in self.below)

    def folded(self, nodes: Nodes) -> np.ndarray:
        """As for nodes that see inputs."""
        return self.top.folded(nodes)

    def values(self, x: np.ndarray, folded: np.ndarray) -> np.ndarray:
        """The layers below, one after the other, and then these nodes."""
        return self.values_above(x, folded, {})

    def values_above(self, x: np.ndarray, folded: np.ndarray, known: dict[int, np.ndarray]) -> np.ndarray:
        """The same, given columns of nodes below for the same rows, by the identity of these; others are added."""
        return self.top.values(self._seen(x, known), folded)

    def columns(self, x: np.ndarray, folded: np.ndarray) -> np.ndarray:
        """The same, contiguous in this shape."""
        return self.top.columns(self._seen(x, {}), folded)

    def _seen(self, x: np.ndarray, known: dict[int, np.ndarray]) -> np.ndarray:
        """Features of rows that end with a 1, which stays."""
        return np.hstack([self._joined(x[:, :-1], known), x[:, -1:]])

    def features(self, X: np.ndarray) -> np.ndarray:
        """Inputs, if they are seen, and the columns of the nodes below, each computed once."""
        return self._joined(X, {})

    def _joined(self, X: np.ndarray, known: dict[int, np.ndarray]) -> np.ndarray:
        parts = [X] if self.with_inputs else []
        for block in self.below:
            if id(block) not in known:
                layer = block.layer
                seen = layer._joined(X, known) if isinstance(layer, Deep) else layer.features(X)
                known[id(block)] = layer.hidden(seen, block)
            parts.append(known[id(block)])
        return np.hstack(parts)

    def hidden(self, X: np.ndarray, nodes: Nodes) -> np.ndarray:
        """From features."""
        return self.top.hidden(X, nodes)

    def slope_and_value(self, X: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """From features."""
        return self.top.slope_and_value(X, weights, biases)

    def gradients(self, X: np.ndarray, nodes: Nodes, output_weights: np.ndarray) -> Iterator[np.ndarray]:
        """With respect to features."""
        return self.top.gradients(X, nodes, output_weights)

    def pulled_back(self, X: np.ndarray, nodes: Nodes, factors: np.ndarray) -> np.ndarray:
        """Through these nodes, and from there through each block below."""
        pulled = self.top.pulled_back(self.features(X), nodes, factors)
        direct = X.shape[1] * self.with_inputs
        total = pulled[:, :direct].copy() if self.with_inputs else np.zeros(X.shape)
        ends = np.cumsum([direct, *map(len, self.below)])
        for block, start, stop in zip(self.below, ends, ends[1:], strict=False):
            total += block.layer.pulled_back(X, block, pulled[:, start:stop])
        return total

    def operators(self, graph: Graph, x: str, nodes: Nodes) -> str:
        """The operators of the nodes below, each once, and then of these."""
        return self._written(graph, x, nodes, {})

    def _written(self, graph: Graph, x: str, nodes: Nodes, known: dict[int, str]) -> str:
        seen = [x] if self.with_inputs else []
        for block in self.below:
            if id(block) not in known:
                layer = block.layer
                written = partial(layer._written, known=known) if isinstance(layer, Deep) else layer.operators
                known[id(block)] = written(graph, x, block)
            seen.append(known[id(block)])
        return self.top.operators(graph, graph("Concat", *seen, axis=1) if len(seen) > 1 else seen[0], nodes)


def readout(linear: Nodes, below: tuple[Nodes, ...], output_weights: np.ndarray) -> Nodes:
    """The outputs of a network as columns: linear ones and blocks of nodes, with the output weights of all of them."""
    first, rest = np.split(output_weights, [len(linear)])
    weights = np.vstack([linear.weights @ first, rest])
    return Nodes(Deep(IDENTITY, below, with_inputs=True), weights, linear.biases @ first)


# The layers that hidden nodes can belong to; intercept and direct links are nodes of IDENTITY.
LAYERS: dict[str, type[Layer]] = {"dense": Dense}


__all__ = [
    "ACTIVATIONS",
    "IDENTITY",
    "LAYERS",
    "Activation",
    "Code",
    "Deep",
    "Dense",
    "Graph",
    "Identity",
    "Inputs",
    "Layer",
    "Nodes",
    "readout",
]
