"""Following a fit step by step: history, progress, callbacks and listeners, each of which only reads the steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skscn.estimators.callbacks import Callbacks
from skscn.estimators.history import HISTORY
from skscn.growth import Step
from skscn.layers import IDENTITY, Nodes
from skscn.progress import Progress, current_listener, round_of
from skscn.recurrent.drawing import Style
from skscn.recurrent.growing import AcceptedNodes, Growing


@dataclass(frozen=True, eq=False)
class Notice:
    """One step of growth: the network after it, what was accepted, its error on later rows, and the penalty for it."""

    growing: Growing
    accepted: AcceptedNodes
    validation_rmse: float
    alpha: float

    def step(self, unit: float) -> Step:
        """The step as that of any other network, with errors in this unit."""
        nodes, accepted = self.accepted.nodes, self.accepted
        return Step(
            Nodes.of(IDENTITY, nodes.weights, nodes.biases, nodes.scopes),
            len(self.growing.nodes),
            float(nodes.scopes.max()),
            accepted.contraction,
            accepted.slack,
            unit * self.growing.rmse,
            accepted.candidates,
            accepted.seconds,
            unit * self.validation_rmse,
        )


class Audience:
    """Whoever follows a fit; each of them can end it.

    Parameters
    ----------
    name : str
        What is fitted.
    max_nodes, verbose : int
    unit : float
        How large a scaled error of 1 is.
    callbacks : Callbacks or None
    learnt : callable
        Returns what an estimator that stopped after a step would have learnt.
    """

    def __init__(
        self,
        name: str,
        max_nodes: int,
        verbose: int,
        unit: float,
        callbacks: Callbacks | None,
        learnt: Callable[[Notice], dict[str, Any]],
    ):
        self._name, self._max_nodes, self._verbose, self._unit = name, max_nodes, verbose, unit
        self._callbacks, self._learnt = callbacks, learnt
        self._progress = Progress(name, max_nodes, verbose)
        self._rows: list[tuple[Any, ...]] = []
        self._round, self._pilots, self._ends = 0, 0, False

    @property
    def stopped(self) -> bool:
        """Whether the fit is to end."""
        listener = current_listener()
        self._ends = self._ends or (listener is not None and listener.stopped())
        return self._ends

    def begin_pilots(self, most: int) -> None:
        """Pilot networks are about to grow, at most this many."""
        self._progress, self._pilots = Progress(f"{self._name}, pilot networks", most, self._verbose), 0

    def pilot(self, style: Style, error: float, *, repeated: bool) -> None:
        """Show the error of a pilot network on later rows, unless it has been shown before."""
        self._pilots += 1
        if not repeated:
            shown = f"{self._pilots}/{self._progress.total}: {style}, validation {self._unit * error:.5g}"
            self._progress.show(self._pilots, shown)

    def end_pilots(self, styles: Sequence[Style]) -> None:
        """Show what the pilot networks have chosen."""
        self._progress.end(f"chose {'; '.join(map(str, styles))}")

    def begin_round(self, number: int, most: int) -> None:
        """Another network grows."""
        self._round, listener = number, current_listener()
        self._progress = Progress(f"{self._name}, {round_of(number, most)}", self._max_nodes, self._verbose)
        if listener is not None:
            listener.begin_round(number, most)

    def notify(self, notice: Notice, *, repeated: bool) -> bool:
        """Take note of a step; return whether to stop. Steps that are repeated have been shown before."""
        step = notice.step(self._unit)
        values = {**vars(step), "round": self._round}
        self._rows.append(tuple(values[name] for name in HISTORY.names or ()))
        if repeated:
            return False
        self._progress.update(step)
        if self._callbacks is not None:
            self._ends |= self._callbacks.stop_after_step(lambda: self._learnt(notice))
        listener = current_listener()
        if listener is not None:
            self._ends |= listener.step(step, self._max_nodes)
        return self._ends

    def end(self, nodes: int, reason: str) -> None:
        """Show how the fit ended."""
        self._progress.close(nodes, reason)

    def history(self) -> np.ndarray:
        """The steps as a table."""
        return np.array(self._rows, dtype=HISTORY)
