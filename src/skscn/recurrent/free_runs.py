"""Free runs: the outputs of a reservoir come back as its inputs, for many starts and many output weights at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skscn.recurrent.nodes import RecurrentNodes, step


@dataclass(frozen=True, eq=False)
class Starts:
    """Where free runs start.

    Attributes
    ----------
    line : ndarray of shape (R, p)
        The delay line of the last row before each run.
    nodes : ndarray of shape (R, L)
        The states after that row.
    outputs : ndarray of shape (R, m)
        The outputs of that row.
    """

    line: np.ndarray
    nodes: np.ndarray
    outputs: np.ndarray

    def repeated(self, times: int) -> Starts:
        """Each start this many times, one copy after the other."""
        return Starts(*(np.repeat(values, times, axis=0) for values in (self.line, self.nodes, self.outputs)))


def free_run(
    nodes: RecurrentNodes,
    starts: Starts,
    weights: np.ndarray,
    limits: tuple[np.ndarray, np.ndarray],
    steps: int,
    inputs: np.ndarray | None = None,
) -> np.ndarray:
    """Scaled outputs (steps, R, m).

    Parameters
    ----------
    nodes : RecurrentNodes
    starts : Starts
        Of R runs.
    weights : ndarray of shape (R, 1 + p + L, m)
        Output weights of each run.
    limits : tuple of two ndarrays of shape (m,)
        Outputs are kept between them.
    steps : int
    inputs : ndarray of shape (R, steps, d_x), default=None
        Scaled inputs of the rows that follow.
    """
    outputs, width = starts.outputs, starts.line.shape[1]
    runs, m = outputs.shape
    columns = np.hstack([np.ones((runs, 1)), starts.line, starts.nodes])
    line, states = columns[:, 1 : 1 + width], columns[:, 1 + width :]
    n_inputs = 0 if inputs is None else inputs.shape[2]
    newest = slice(n_inputs, n_inputs + m)
    course = np.empty((steps, runs, m))
    for number in range(steps):
        line[:, newest.stop :] = line[:, : width - newest.stop].copy()
        line[:, newest] = outputs
        if inputs is not None:
            line[:, :n_inputs] = inputs[:, number]
        states[:] = step(nodes, line @ nodes.weights + nodes.biases, line, states)
        outputs = (columns[:, np.newaxis] @ weights)[:, 0].clip(*limits)
        course[number] = outputs
    return course
