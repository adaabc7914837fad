"""Whether further layers are better on rows that have chosen nothing.

The rows to train on are divided into folds. Without each of them, the network of one layer and the one with further
layers are grown again, stopped by the same held-out rows, and compared on the fold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skscn.estimators._deepening import Grown, Path, Verdict
from skscn.estimators.callbacks import Learnt
from skscn.estimators.data import ArrayData
from skscn.network import Network

if TYPE_CHECKING:
    from skscn.estimators._fitting import Fit

# How many folds there are, at most.
FOLDS = 3
# By how many standard errors of the difference, over the rows of all folds, the loss must be lower.
_STANDARD_ERRORS = 1.0


class Trial(NamedTuple):
    """A fit that only decides something: what another one has learnt so far, and the name of this one, for progress."""

    learnt: Learnt
    name: str


@dataclass(frozen=True)
class Confirmation:
    """The comparison on the folds of a fit, given as the numbers of the rows that are not in it and that are."""

    fit: Fit
    folds: list[tuple[np.ndarray, np.ndarray]]

    def of(self, path: Path, kept: Grown) -> bool | None:
        """Whether the layers of a path are better; None if a callback has ended the fit, which then is ``kept``."""
        losses, weights = [], []
        for number, (rest, rows) in enumerate(self.folds, 1):
            trial = Trial(lambda: kept.fitted, f"check {number} of {len(self.folds)}")
            pair, fold = self._pair(self.fit.without(rest, trial), path), self.fit.rows.training.take(rows)
            if any(grown.is_stopped for grown in pair):
                return None
            losses.append([_losses(grown.fitted["network_"], fold) for grown in pair])
            weights.append(fold.sample_weight)
        single, deeper = (Verdict.of(np.concatenate(each), _joined(weights)) for each in zip(*losses, strict=True))
        return deeper.is_clearly_below(single, _STANDARD_ERRORS)

    def _pair(self, fit: Fit, path: Path) -> tuple[Grown, Grown]:
        """The network of one layer, and with those of the path."""
        this, single = fit.single()
        return single, fit.deepening(this).along(path, single)


def _joined(weights: list[np.ndarray | None]) -> np.ndarray | None:
    given = [some for some in weights if some is not None]
    return np.concatenate(given) if given else None


def _losses(network: Network, rows: ArrayData) -> np.ndarray:
    """The loss of each row; squared errors of several outputs in the units in which they are learnt."""
    loss, outputs = network.loss, network.outputs
    if not loss.plain:
        return rows.row_values(loss.value, network)
    return rows.row_values(lambda y, f: loss.value(outputs.transform(y), outputs.transform(f)), network)
