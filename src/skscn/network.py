"""The trained network: frozen arrays that predict, without the estimator and without the training data."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse

from skscn import kernels
from skscn.activations import Activation
from skscn.layers import Dense, Nodes
from skscn.scaling import InputScaling, Scaling
from skscn.threads import single_threaded

# Up to this number of rows are predicted by one thread; more are split into parts of this size.
_FEW_ROWS = 16384


@dataclass(frozen=True, eq=False)
class LinearColumns:
    """Columns wᵀx + b of the scaled inputs and their output weights.

    Attributes
    ----------
    weights : ndarray of shape (d, p)
    biases : ndarray of shape (p,)
    output_weights : ndarray of shape (p, m)
    """

    weights: np.ndarray
    biases: np.ndarray
    output_weights: np.ndarray

    @property
    def size(self) -> int:
        """p."""
        return len(self.biases)

    @property
    def direct_weights(self) -> np.ndarray:
        """A of shape (d, m): from inputs straight to outputs."""
        return self.weights @ self.output_weights

    @property
    def intercept(self) -> np.ndarray:
        """c of shape (m,)."""
        return self.biases @ self.output_weights


@dataclass(frozen=True, eq=False)
class Network:
    """f(x) = Σ_j β_j g(w_jᵀx + b_j), between a scaling of the inputs and one of the outputs.

    Where there are direct links, c + Aᵀx is added.

    Attributes
    ----------
    weights : ndarray of shape (d, L)
        Input weights w, for scaled inputs.
    biases : ndarray of shape (L,)
        Biases b.
    output_weights : ndarray of shape (L, m)
        β, for scaled outputs.
    linear : LinearColumns
        Columns that are linear in the inputs: intercept and direct links.
    activation : Activation
        g.
    inputs, outputs : scalings
        How x and f(x) are scaled.
    bounds : tuple of two ndarrays of shape (m,), or None
        Limits between which scaled outputs are clipped.
    directions : sparse array of shape (p + L, p + L)
        U, upper triangular: column j combines the columns, p linear ones and L hidden ones, into the direction along
        which column j moved the output.
    coefficients : ndarray of shape (p + L, m)
        C: how far. The linear part and the first k nodes alone predict [columns] U[:, :p + k] C[:p + k].
    single_output : bool
        Whether predictions are one-dimensional, as the training target was.
    single_precision : bool
        Whether the training target fits in float32, so that float32 rows may have float32 predictions.

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

    weights: np.ndarray
    biases: np.ndarray
    output_weights: np.ndarray
    linear: LinearColumns
    activation: Activation
    inputs: InputScaling
    outputs: Scaling
    bounds: tuple[np.ndarray, np.ndarray] | None
    directions: sparse.csc_array
    coefficients: np.ndarray
    single_output: bool
    single_precision: bool

    @property
    def n_nodes(self) -> int:
        """L, the number of hidden nodes."""
        return self.weights.shape[1]

    @property
    def n_features(self) -> int:
        """d, the number of inputs."""
        return self.weights.shape[0]

    @property
    def n_outputs(self) -> int:
        """m, the number of outputs."""
        return self.output_weights.shape[1]

    def hidden(self, X) -> np.ndarray:
        """H of shape (n, L): the output of each hidden node for each row."""
        X = self._checked(X)
        H = np.empty((X.shape[0], self.n_nodes), dtype=np.float32 if X.dtype == np.float32 else np.float64)
        for rows, _, h in self._blocks(X):
            np.multiply(h, self.layer.outer, out=H[rows], casting="same_kind")
        return H

    def predict(self, X, n_jobs: int | None = None) -> np.ndarray:
        """f(x) for each row, of shape (n,) or (n, m); float32 if the rows and the training targets were.

        Rows are processed block by block, by ``n_jobs`` threads (−1: all processors) if there are many, so the extra
        memory does not grow with the number of rows.
        """
        X = self._checked(X)
        predictions = np.empty((X.shape[0], self.n_outputs), dtype=self._type(X))
        threads = 1 if X.shape[0] <= _FEW_ROWS or n_jobs is None else effective_n_jobs(n_jobs)
        if threads == 1:
            self._predict_into(predictions, X)
        else:
            parts = [slice(start, start + _FEW_ROWS) for start in range(0, X.shape[0], _FEW_ROWS)]
            with single_threaded(), ThreadPoolExecutor(threads) as executor:
                list(executor.map(lambda rows: self._predict_into(predictions[rows], X[rows]), parts))
        return self._shaped(predictions)

    def _predict_into(self, predictions: np.ndarray, X) -> None:
        for rows, x, h in self._blocks(X):
            outputs = h @ self._outgoing
            outputs += x @ self._straight
            predictions[rows] = self._finished(outputs)

    @property
    def layer(self) -> Dense:
        """The hidden layer."""
        return Dense(self.activation)

    @property
    def nodes(self) -> Nodes:
        """The hidden nodes."""
        return Nodes.of(self.layer, self.weights, self.biases)

    @cached_property
    def _incoming(self) -> np.ndarray:
        """Weights and biases in the form that the layer expects."""
        return self.layer.folded(self.nodes)

    @cached_property
    def _outgoing(self) -> np.ndarray:
        """Output weights times the outer factor of the layer."""
        return self.layer.outer * self.output_weights

    @cached_property
    def _straight(self) -> np.ndarray:
        """Direct weights and intercept, for rows that end with a 1."""
        return np.vstack([self.linear.direct_weights, self.linear.intercept])

    def __getstate__(self) -> dict:
        """The fields; values derived from them are not stored."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def staged_predict(self, X) -> Iterator[np.ndarray]:
        """The predictions of the first 1, 2, …, L nodes, each with the output weights of that stage, in one pass."""
        X = self._checked(X)
        moves = np.empty((X.shape[0], len(self.coefficients)))
        for rows, x, h in self._blocks(X):
            columns = [x[:, :-1] @ self.linear.weights + self.linear.biases, self.layer.outer * h]
            moves[rows] = np.hstack(columns) @ self.directions
        start = self.linear.size
        output = moves[:, :start] @ self.coefficients[:start]
        for move, coefficients in zip(moves.T[start:], self.coefficients[start:], strict=True):
            output += np.multiply.outer(move, coefficients)
            yield self._shaped(self._finished(output).astype(self._type(X), copy=False))

    def _finished(self, outputs: np.ndarray) -> np.ndarray:
        """Scaled outputs, kept within their bounds and mapped back."""
        bounded = outputs if self.bounds is None else np.clip(outputs, *self.bounds)
        return self.outputs.inverse_transform(bounded)

    def _blocks(self, X) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """For each block of rows: its slice, its scaled inputs ending with a 1, and h without its outer factor."""
        inputs = kernels.Inputs(X, self.inputs)
        for rows in kernels.blocks(X.shape[0], max(self.weights.shape)):
            x = inputs.block(rows)
            yield rows, x, self.layer.values(x, self._incoming)

    def _type(self, X) -> type:
        return np.float32 if self.single_precision and X.dtype == np.float32 else np.float64

    def _checked(self, X):
        X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"The network expects {self.n_features} features per row; X has shape {X.shape}.")
        return X

    def _shaped(self, predictions: np.ndarray) -> np.ndarray:
        return predictions[:, 0] if self.single_output else predictions
