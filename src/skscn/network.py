"""The trained network: frozen arrays that predict, without estimator and training data; gradients of its outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse

from skscn.activations import Activation
from skscn.factor import Factor
from skscn.losses import Loss, name_of
from skscn.nodes import Deep, Matrix, Nodes, blocks, scaled_with_one
from skscn.scaling import InputScaling, Scaling
from skscn.threads import single_threaded

# Up to this number of rows are predicted by one thread; more are split into parts of this size.
_FEW_ROWS = 16384
# Scales of outputs up to this size, and down to its reciprocal, are multiplied into the weights for predictions.
_HUGE = 1e100
# The largest number of training rows that the gradients of feature importances are averaged over.
MOST_ROWS = 2000


class Outputs(Protocol):
    """What a loss compares with the targets."""

    def link(self, X: Any) -> np.ndarray:
        """The outputs f for rows X, shape (n, m)."""
        ...


@dataclass(frozen=True, eq=False)
class Constant:
    """A model with the same outputs for all rows, with which a fit begins."""

    outputs: np.ndarray

    def link(self, X: Any) -> np.ndarray:
        """The outputs f for rows X, shape (n, m)."""
        return np.tile(self.outputs, (X.shape[0], 1))


@dataclass(frozen=True, eq=False)
class WeightedNodes:
    """Nodes of one layer and their output weights.

    Attributes
    ----------
    nodes : Nodes
    output_weights : ndarray of shape (k, m)
        β, for scaled outputs.
    """

    nodes: Nodes
    output_weights: np.ndarray

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return len(self.nodes)

    @property
    def weights(self) -> np.ndarray:
        """W of shape (d, k)."""
        return self.nodes.weights

    @property
    def biases(self) -> np.ndarray:
        """B of shape (k,)."""
        return self.nodes.biases


@dataclass(frozen=True, eq=False)
class LinearColumns(WeightedNodes):
    """Columns wᵀx + b of the scaled inputs, nodes of the identity layer, and their output weights."""

    @property
    def direct_weights(self) -> np.ndarray:
        """A of shape (d, m): from inputs straight to outputs."""
        weights: np.ndarray = self.weights @ self.output_weights
        return weights

    @property
    def intercept(self) -> np.ndarray:
        """c of shape (m,)."""
        intercept: np.ndarray = self.biases @ self.output_weights
        return intercept


@dataclass(frozen=True, eq=False)
class Network:
    """f(x) = c + Aᵀx + Σ_j β_j h_j(x), between a scaling of the inputs and one of the outputs.

    In the paper's hidden layer h_j(x) = g(w_jᵀx + b_j). Without direct links c and A are 0.

    Attributes
    ----------
    linear : LinearColumns
        Columns that are linear in the inputs: intercept and direct links.
    layers : tuple of WeightedNodes
        The hidden nodes in blocks, all linked to the outputs: one block, or under losses that are minimised in several
        rounds those of earlier rounds and those of the last one.
    inputs, outputs : scalings
        How x and f(x) are scaled.
    loss : Loss
        What it was grown to minimise, which determines what is predicted for an output.
    bounds : tuple of two ndarrays of shape (m,), or None
        Limits between which scaled outputs are clipped.
    directions : sparse array of shape (p + L, p + L), or None
        U, upper triangular: column j combines the columns, p linear ones and L hidden ones, into the direction along
        which column j moved the output. None once further rows have joined: they then follow from the factor.
    coefficients : ndarray of shape (p + L, m)
        C: how far. The linear part and the first k nodes alone predict [columns] U[:, :p + k] C[:p + k].
    factor : Factor or None
        What further rows can join to evaluate all output weights again, of all rows so far; None for rules that never
        do so, and for losses whose output weights do not solve one least-squares problem. Under log loss it is a
        quadratic approximation of the penalised loss.
    single_output : bool
        Whether predictions are one-dimensional, as the training target was.
    single_precision : bool
        Whether the training target fits in float32, so that float32 rows may have float32 predictions.
    alpha : float
        The ridge of the output weights that the factor does not contain yet.
    shares : ndarray of shape (p + L,) or None
        The share of each direction in an average over numbers of nodes; None without one.
    signs : ndarray of shape (d,) or None
        1 for each input with which the output never decreases, −1 with which it never increases, 0 for others.

    Examples
    --------
    The formula by hand, with the paper's search, which has no linear part:

    >>> import numpy as np
    >>> from skscn import SCNRegressor
    >>> from skscn.datasets import make_db1
    >>> db1 = make_db1(random_state=0)
    >>> model = SCNRegressor(configuration="ladder", max_nodes=5, random_state=0).fit(db1.data, db1.target)
    >>> network = model.network_
    >>> x = network.inputs.transform(db1.test_data)
    >>> h = 1 / (1 + np.exp(-(x @ network.weights + network.biases)))
    >>> f = network.outputs.inverse_transform(h @ network.output_weights)[:, 0]
    >>> np.allclose(f, network.predict(db1.test_data))
    True
    """

    linear: LinearColumns
    layers: tuple[WeightedNodes, ...]
    inputs: InputScaling
    outputs: Scaling
    loss: Loss
    bounds: tuple[np.ndarray, np.ndarray] | None
    directions: sparse.csc_array | None
    coefficients: np.ndarray
    factor: Factor | None
    single_output: bool
    single_precision: bool
    alpha: float = 0.0
    shares: np.ndarray | None = None
    signs: np.ndarray | None = None

    @property
    def stack(self) -> tuple[WeightedNodes, ...]:
        """The layers on top of each other that the last round has grown; in a network of one layer, that layer."""
        first = max(i for i, block in enumerate(self.layers) if not isinstance(block.nodes.layer, Deep))
        return self.layers[first:]

    @property
    def deep(self) -> tuple[WeightedNodes, ...]:
        """The layers on top of others."""
        return tuple(block for block in self.layers if isinstance(block.nodes.layer, Deep))

    @property
    def layer_sizes(self) -> tuple[int, ...]:
        """The number of nodes in each layer; nodes of all rounds that see the inputs are in the first."""
        above = [block.size for block in self.deep]
        return self.n_nodes - sum(above), *above

    @property
    def nodes(self) -> Nodes:
        """The hidden nodes, of all layers."""
        return self.layers[0].nodes if len(self.layers) == 1 else Nodes.joined([block.nodes for block in self.layers])

    @property
    def weights(self) -> np.ndarray:
        """Input weights w of shape (d, L), for scaled inputs."""
        return self.nodes.weights

    @property
    def biases(self) -> np.ndarray:
        """Biases b of shape (L,)."""
        return self.nodes.biases

    @property
    def activation(self) -> Activation | None:
        """The activation g of the hidden nodes; None in layers without one."""
        return self.nodes.layer.activation

    @property
    def output_weights(self) -> np.ndarray:
        """β of shape (L, m), for scaled outputs."""
        blocks = [block.output_weights for block in self.layers]
        return blocks[0] if len(blocks) == 1 else np.vstack(blocks)

    @property
    def n_nodes(self) -> int:
        """L, the number of hidden nodes."""
        return sum(len(block.nodes) for block in self.layers)

    @cached_property
    def n_features(self) -> int:
        """d, the number of columns of X."""
        return len(np.unique(self.inputs.sources))

    @property
    def n_inputs(self) -> int:
        """What the first layer sees: the columns of X scaled, and the jumps along them."""
        return len(self.linear.nodes.weights)

    @cached_property
    def n_outputs(self) -> int:
        """m, the number of outputs."""
        return int(self.linear.output_weights.shape[1])

    @cached_property
    def never_negative(self) -> np.ndarray:
        """Whether the bounds keep each output, as it is predicted, from being negative; shape (m,)."""
        if self.bounds is None:
            return np.zeros(self.n_outputs, dtype=bool)
        return np.asarray(self.loss.mean(self.outputs.inverse_transform(self.bounds[0][np.newaxis]))[0] >= 0.0)

    @property
    def has_gradients(self) -> bool:
        """Whether the gradients of its outputs are known: those of all nodes, which see the inputs in the same way."""
        first, *others = (block.nodes.layer for block in self.layers)
        return first.has_gradients and all(layer == first or isinstance(layer, Deep) for layer in others)

    def hidden(self, X: Any) -> np.ndarray:
        """H of shape (n, L): the output of each hidden node for each row."""
        X = self._checked(X)
        H = np.empty((X.shape[0], self.n_nodes), dtype=np.float32 if X.dtype == np.float32 else np.float64)
        for rows, _, values in self._blocks(X):
            start = 0
            for layer, h in zip(self._folded.layers, values, strict=True):
                np.multiply(h, layer.outer, out=H[rows, start : start + h.shape[1]], casting="same_kind")
                start += h.shape[1]
        return H

    def predict(self, X: Any, n_jobs: int | None = None, *, double: bool = False) -> np.ndarray:
        """f(x) for each row, of shape (n,) or (n, m); float32 if the rows and the training targets were.

        With ``double`` it is always float64.
        Rows are processed block by block, by ``n_jobs`` threads (−1: all processors) if there are many, so the extra
        memory does not grow with the number of rows.
        """
        X = self._checked(X)
        dtype = np.float32 if self.single_precision and X.dtype == np.float32 and not double else np.float64
        threads = 1 if X.shape[0] <= _FEW_ROWS or n_jobs is None else effective_n_jobs(n_jobs)
        if threads == 1:
            predictions = self._by_blocks(X, self._means, dtype)
        else:
            parts = (X[start : start + _FEW_ROWS] for start in range(0, X.shape[0], _FEW_ROWS))
            with single_threaded(), ThreadPoolExecutor(threads) as executor:
                answers = executor.map(lambda part: self._by_blocks(part, self._means, dtype), parts)
                predictions = np.vstack(list(answers))
        return predictions[:, 0] if self.single_output else predictions

    def link(self, X: Any) -> np.ndarray:
        """The outputs f before the mean of the loss is taken, shape (n, m); X may be anything that slices into rows."""
        return self._by_blocks(X, self._outputs)

    def _by_blocks(self, X: Any, answer: Callable[[Any], np.ndarray], dtype: type = np.float64) -> np.ndarray:
        """What a function gives for blocks of rows, shape (n, m)."""
        if isinstance(X, np.ndarray) and len(X) == 1:
            return answer(X).astype(dtype, copy=False)
        answers = np.empty((X.shape[0], self.n_outputs), dtype)
        for rows in blocks(X.shape[0], self._folded.width):
            answers[rows] = answer(X[rows])
        return answers

    def _means(self, X: Any) -> np.ndarray:
        """What is predicted for a block of rows."""
        return self.loss.mean(self._outputs(X))

    def _outputs(self, X: Any) -> np.ndarray:
        """The outputs f of a block of rows."""
        x = scaled_with_one(X, self.inputs)
        outputs: np.ndarray = np.dot(x, self._folded.straight)
        for layer, h in zip(self._folded.layers, self._values(x), strict=True):
            outputs += np.dot(h, layer.outgoing)
        if not self._folded.unscaled:
            return self._unscaled(outputs)
        return outputs if self._ends is None else outputs.clip(*self._ends, out=outputs)

    def __getstate__(self) -> dict[str, Any]:
        """The fields; values derived from them are not stored."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """The predictions of the first 1, 2, …, L nodes, each with the output weights of that stage, in one pass."""
        if not self.loss.staged:
            raise ValueError(
                f"loss={name_of(self.loss)!r} evaluates the output weights of the finished network only, so there are "
                'no staged predictions; use loss="squared".'
            )
        X, directions = self._checked(X), self.present_directions()
        single = self.single_precision and X.dtype == np.float32
        moves = np.empty((X.shape[0], len(self.coefficients)))
        for rows, columns in self.columns(X):
            moves[rows] = columns @ directions
        start = self.linear.size
        output = moves[:, :start] @ self.coefficients[:start]
        for move, coefficients in zip(moves.T[start:], self.coefficients[start:], strict=True):
            output += np.multiply.outer(move, coefficients)
            prediction = self.loss.mean(self._unscaled(output))
            prediction = prediction.astype(np.float32 if single else np.float64, copy=False)
            yield prediction[:, 0] if self.single_output else prediction

    def columns(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """For each block of rows: its slice, and the columns that output weights multiply, linear ones first."""
        for rows, x, values in self._blocks(X):
            hidden = [layer.outer * h for layer, h in zip(self._folded.layers, values, strict=True)]
            yield rows, np.hstack([x[:, :-1] @ self.linear.weights + self.linear.biases, *hidden])

    def present_directions(self) -> sparse.csc_array:
        """U; after further rows have joined, the inverse of their triangle."""
        if self.directions is not None:
            return self.directions
        assert self.factor is not None
        return sparse.csc_array(self.factor.directions())

    def without_factor(self) -> Network:
        """The same network, which further rows cannot join."""
        return replace(self, directions=self.present_directions(), factor=None, alpha=0.0, shares=None)

    def _unscaled(self, outputs: np.ndarray) -> np.ndarray:
        """Scaled outputs, mapped back and kept within their bounds."""
        return self.outputs.inverse_transform(outputs, self._ends)

    @cached_property
    def _ends(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The bounds of outputs that are mapped back."""
        if self.bounds is None:
            return None
        low, high = self.outputs.inverse_transform(np.stack(self.bounds))
        return low[np.newaxis], high[np.newaxis]

    def _blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray, list[np.ndarray]]]:
        """For each block of rows: its slice, its scaled inputs ending with a 1, and for each layer h/outer."""
        for rows in blocks(X.shape[0], self._folded.width):
            x = scaled_with_one(X[rows], self.inputs)
            yield rows, x, self._values(x)

    def _values(self, x: np.ndarray) -> list[np.ndarray]:
        """For each layer h/outer, for scaled inputs that end with a 1.

        A layer computes the columns that it sees, and those below take theirs from there; so the last layer is first.
        """
        first, *others = self._folded.layers
        if not others:
            return [first.nodes.layer.values(x, first.folded)]
        known: dict[int, np.ndarray] = {}
        values: list[np.ndarray] = []
        for block in (*reversed(others), first):
            layer = block.nodes.layer
            if block.seen is not None:
                values.append(known[block.seen])
            elif isinstance(layer, Deep):
                values.append(layer.values_above(x, block.folded, known))
            else:
                values.append(layer.values(x, block.folded))
        return values[::-1]

    @cached_property
    def _folded(self) -> _FoldedNetwork:
        """The network as predictions need it."""
        layers, below = list[_FoldedLayer](), dict[int, Nodes]()
        scale, offset = self.outputs.scale, self.outputs.offset
        unscaled = bool(1.0 / _HUGE < scale.min() <= max(scale.max(), np.abs(offset).max()) < _HUGE)
        scale, offset = (scale, offset) if unscaled else (np.ones_like(scale), np.zeros_like(offset))
        for block in reversed(self.layers):
            nodes, layer = block.nodes, block.nodes.layer
            seen = next((number for number, other in below.items() if _are_same(nodes, other)), None)
            outer = layer.outer if seen is None else 1.0
            outgoing = outer * block.output_weights * scale
            layers.insert(0, _FoldedLayer(nodes, layer.folded(nodes), seen, outer, outgoing))
            if isinstance(layer, Deep):
                below |= {id(other): other for other in _below(layer)}
        linear, beta = self.linear.nodes, self.linear.output_weights
        straight = np.vstack([linear.weights @ beta * scale, linear.biases @ beta * scale + offset])
        width = max(int(max(block.nodes.weights.shape)) for block in self.layers)
        return _FoldedNetwork(layers, straight, unscaled, width)

    def _checked(self, X: Any) -> Any:
        X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"The network expects {self.n_features} features per row; X has shape {X.shape}.")
        return X


class _FoldedLayer(NamedTuple):
    """A layer as predictions need it.

    Attributes
    ----------
    nodes : Nodes
    folded : ndarray
        In the form that their layer expects.
    seen : int or None
        The identity of the same nodes below a further layer, if there is one, which computes their columns.
    outer : float
        The factor of the columns that is still missing.
    outgoing : ndarray of shape (k, m)
        Output weights times this factor, and times the scale of the outputs.
    """

    nodes: Nodes
    folded: np.ndarray
    seen: int | None
    outer: float
    outgoing: np.ndarray


class _FoldedNetwork(NamedTuple):
    """A network as predictions need it.

    Attributes
    ----------
    layers : list of _FoldedLayer
    straight : ndarray of shape (d + 1, m)
        The linear part, for rows that end with a 1.
    unscaled : bool
        Whether the weights contain the scaling of the outputs; not, if they might overflow.
    width : int
        The most columns that a block of rows meets.
    """

    layers: list[_FoldedLayer]
    straight: np.ndarray
    unscaled: bool
    width: int


def _below(layer: Deep) -> Iterator[Nodes]:
    """All nodes below a layer."""
    for nodes in layer.below:
        yield nodes
        if isinstance(nodes.layer, Deep):
            yield from _below(nodes.layer)


def _are_same(one: Nodes, other: Nodes) -> bool:
    """Whether nodes compute the same columns; in a network from a file, equal ones are not identical."""
    if one is other:
        return True
    a, b = one.layer, other.layer
    if isinstance(a, Deep) and isinstance(b, Deep):
        same = a.top == b.top and a.with_inputs == b.with_inputs and len(a.below) == len(b.below)
        same = same and all(map(_are_same, a.below, b.below))
    else:
        same = a == b
    return same and np.array_equal(one.weights, other.weights) and np.array_equal(one.biases, other.biases)


# How strongly the outputs depend on each input: for outputs f_q(x) = Σ_l β_lq h_l(x) + a_qᵀx, the mean over the rows of
# Σ_q (∂f_q/∂x_j)², for each input j.


def feature_importances(network: Network, X: Any, sample_weight: np.ndarray | None) -> np.ndarray | None:
    """The share of each column in the mean squared gradient; None if gradients are not known, or not finite.

    Which training rows these are depends only on the number of all rows, and BLAS is limited to one thread, so the
    result does not depend on where the rows are. A gradient times the standard deviation of its input does not depend
    on the unit of the input.
    """
    if not network.has_gradients:
        return None
    linear = network.linear
    first = [block for block in network.layers if not isinstance(block.nodes.layer, Deep)]
    with single_threaded():
        squares = mean_squared_gradients(
            Nodes.joined([block.nodes for block in first]),
            np.vstack([block.output_weights for block in first]),
            linear.nodes,
            linear.output_weights,
            X,
            scaling=network.inputs,
            units=spreads(X, sample_weight, network.inputs),
            sample_weight=sample_weight,
            above=[(block.nodes, block.output_weights) for block in network.layers if block not in first],
        )
    if not np.isfinite(squares).all():
        return None
    # Of a column, with those of the jumps along it.
    squares = np.bincount(network.inputs.sources, squares)
    largest = squares.max()
    if largest == 0.0:
        return np.full(len(squares), 1.0 / len(squares))
    # First divided by the largest, so that neither a tiny nor a huge sum matters.
    relative = squares / largest
    return np.asarray(relative / relative.sum())


def sampled(n_rows: int, most: int = MOST_ROWS) -> np.ndarray:
    """The numbers of the rows that represent all of them, in increasing order."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))


def why_none(network: Network) -> str:
    """Why a network has no importances, and what to do about it."""
    layer = network.nodes.layer
    if network.has_gradients:
        reason = (
            "it was saved by an earlier version, its fit has not ended, its rows stayed at their sites, or gradients "
            "are not finite; fit it again"
        )
    elif layer.activation is not None and layer.activation.derivative is None:
        reason = f"the derivative of the activation {layer.activation.name!r} is not known; pass an Activation with one"
    else:
        reason = f"the gradients of the layer {type(layer).__name__} are not known; use another layer"
    return f"This model has no feature_importances_: {reason}, or use sklearn.inspection.permutation_importance."


def mean_squared_gradients(
    nodes: Nodes,
    output_weights: np.ndarray,
    linear: Nodes | None,
    linear_weights: np.ndarray | None,
    X: Matrix,
    *,
    scaling: InputScaling | None = None,
    units: np.ndarray | None = None,
    sample_weight: np.ndarray | None = None,
    above: Sequence[tuple[Nodes, np.ndarray]] = (),
) -> np.ndarray:
    """Σ_q (∂f_q/∂x_j)² for each input, on average over rows; one pass of g′ and one matrix product for each output.

    Parameters
    ----------
    nodes : Nodes
        Of a layer with gradients; there may be none.
    output_weights : ndarray of shape (L, m)
        β.
    linear : Nodes or None
        Columns that are linear in the inputs.
    linear_weights : ndarray of shape (p, m), or None
        Their output weights.
    X : ndarray or sparse matrix of shape (n, d)
        At least one row; gradients are computed in the precision of the rows.
    scaling : InputScaling, default=None
        By which rows are scaled, and made dense, block by block; None if they are scaled already.
    units : ndarray of shape (d,), default=None
        By which gradients are multiplied, for instance the :func:`spreads` of the inputs.
    sample_weight : ndarray of shape (n,), default=None
    above : sequence of tuples of Nodes and ndarray of shape (k, m)
        Further layers, on top of others, and their output weights.

    Returns
    -------
    squares : ndarray of shape (d,)
    """
    n_rows, n_inputs = X.shape[0], X.shape[1] if scaling is None else len(scaling.sources)
    straight = np.zeros((n_inputs, output_weights.shape[1]))
    if linear is not None and linear_weights is not None:
        straight += linear.weights @ linear_weights
    p = np.ones(n_rows) if sample_weight is None else sample_weight
    squares = np.zeros(n_inputs)
    for rows in blocks(n_rows, max(n_inputs, len(nodes))):
        x = X[rows] if scaling is None else scaling.transform(X[rows])
        gradients = nodes.layer.gradients(x, nodes, output_weights)
        for output, (gradient, constant) in enumerate(zip(gradients, straight.T, strict=True)):
            gradient += constant
            for block, weights in above:
                factors = np.broadcast_to(weights[:, output], (len(gradient), len(block)))
                gradient += block.layer.pulled_back(x, block, factors)
            if units is not None:
                gradient *= units
            gradient *= gradient
            squares += p[rows] @ gradient
    return np.asarray(squares / p.sum())


def spreads(X: Matrix, sample_weight: np.ndarray | None = None, scaling: InputScaling | None = None) -> np.ndarray:
    """The standard deviation of each column, scaled if there is a scaling; exactly 0 if it is constant."""
    n_rows, n_inputs = X.shape[0], X.shape[1] if scaling is None else len(scaling.sources)
    p = np.ones(n_rows) if sample_weight is None else sample_weight
    sums, squares = np.zeros(n_inputs), np.zeros(n_inputs)
    # Relative to one of the rows, the sums lose few digits, and those of a constant column none.
    first = X[0:1] if scaling is None else scaling.transform(X[0:1])
    for rows in blocks(n_rows, n_inputs):
        moved = (X[rows] if scaling is None else scaling.transform(X[rows])) - first
        sums += p[rows] @ moved
        moved *= moved
        squares += p[rows] @ moved
    variances = squares / p.sum() - (sums / p.sum()) ** 2
    return np.asarray(np.sqrt(np.maximum(variances, 0.0)))
