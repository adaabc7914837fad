"""The trained thing: frozen arrays that predict, without the estimator and without the training data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from skscn import kernels
from skscn.activations import Activation
from skscn.scaling import Scaling


@dataclass(frozen=True, eq=False)
class Network:
    """f(x) = Σ_j β_j g(w_jᵀx + b_j), between a scaling of the inputs and one of the outputs.

    Attributes
    ----------
    weights : ndarray of shape (d, L)
        Input weights w, for scaled inputs.
    biases : ndarray of shape (L,)
        Biases b.
    output_weights : ndarray of shape (L, m)
        β, for scaled outputs.
    activation : Activation
        g.
    inputs, outputs : Scaling
        How x and f(x) are scaled.
    directions : sparse array of shape (L, L)
        U, upper triangular: column j combines hidden outputs into the direction along which node j moved the output.
    coefficients : ndarray of shape (L, m)
        C: how far. The first k nodes alone predict H U[:, :k] C[:k].
    single_output : bool
        Whether predictions are one-dimensional, as the training target was.
    single_precision : bool
        Whether the training target fits in float32, so that float32 rows may have float32 predictions.
    """

    weights: np.ndarray
    biases: np.ndarray
    output_weights: np.ndarray
    activation: Activation
    inputs: Scaling
    outputs: Scaling
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
        """H of shape (n, L): what each hidden node makes of each row."""
        X = self._checked(X)
        H = np.empty((X.shape[0], self.n_nodes), dtype=np.float32 if X.dtype == np.float32 else np.float64)
        for rows, h in self._hidden_blocks(X):
            H[rows] = h
        return H

    def predict(self, X) -> np.ndarray:
        """f(x) for each row, of shape (n,) or (n, m); float32 if rows and training targets were."""
        X = self._checked(X)
        predictions = np.empty((X.shape[0], self.n_outputs), dtype=self._type(X))
        for rows, h in self._hidden_blocks(X):
            predictions[rows] = self.outputs.inverse_transform(h @ self.output_weights)
        return self._shaped(predictions)

    def staged_predict(self, X) -> Iterator[np.ndarray]:
        """The predictions of the first 1, 2, …, L nodes, each as they were solved for: one pass for all."""
        X = self._checked(X)
        moves = np.empty((X.shape[0], self.n_nodes))
        for rows, h in self._hidden_blocks(X):
            moves[rows] = h @ self.directions
        output = np.zeros((X.shape[0], self.n_outputs))
        for move, coefficients in zip(moves.T, self.coefficients, strict=True):
            output += np.multiply.outer(move, coefficients)
            yield self._shaped(self.outputs.inverse_transform(output).astype(self._type(X), copy=False))

    def _hidden_blocks(self, X) -> Iterator[tuple[slice, np.ndarray]]:
        return kernels.hidden_blocks(X, self.weights, self.biases, self.activation, self.inputs)

    def _type(self, X) -> type:
        return np.float32 if self.single_precision and X.dtype == np.float32 else np.float64

    def _checked(self, X):
        X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"The network takes rows of {self.n_features} inputs; X has shape {X.shape}.")
        return X

    def _shaped(self, predictions: np.ndarray) -> np.ndarray:
        return predictions[:, 0] if self.single_output else predictions
