"""Whether further layers are better on rows that have chosen nothing.

The rows to train on are divided into folds. Without each of them, the network of one layer and the one with further
layers are grown again, stopped by the same held-out rows, and compared on the fold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from skscn.estimators._deepening import Grown, Pile, Verdict
from skscn.estimators.callbacks import Learnt
from skscn.losses import RowFunction
from skscn.network import Network

if TYPE_CHECKING:
    from skscn.estimators._fitting import Fit

# How many folds there are, at most.
_FOLDS = 3


class Check(NamedTuple):
    """For a fit that helps another one to decide: what that has learnt so far, and the name of this, for progress."""

    learnt: Learnt
    name: str


@dataclass(frozen=True)
class Confirmation:
    """The comparison on the folds of a fit, given as the numbers of the rows that are not in it and that are."""

    fit: Fit
    folds: list[tuple[np.ndarray, np.ndarray]]

    @classmethod
    def possible(cls, fit: Fit) -> Confirmation | None:
        """That of a fit; None if no rows are held out, or others than random ones, as rows may then be in an order."""
        at_random = fit.recipe.validation == "random" and fit.hold_out.rows is None
        if fit.plan.criterion != "validation" or not at_random:
            return None
        folds = fit.rows.folds(_FOLDS, fit.start.seed)
        return cls(fit, folds) if folds else None

    def lead(self, pile: Pile, kept: Grown) -> float | None:
        """By how many standard errors the layers of a pile are better, on the rows of all folds together.

        None if a callback has ended the fit, of which ``kept`` is left.
        """
        verdicts: list[tuple[Verdict, Verdict]] = []
        for number, (rest, rows) in enumerate(self.folds, 1):
            check = Check(lambda: kept.fitted, f"check {number} of {len(self.folds)}")
            pair = _grown(self.fit.without(rest, check), pile)
            if pair[1].is_stopped:
                return None
            verdicts.append(self._verdicts(pair, rows))
        single, deeper = map(Verdict.joined, zip(*verdicts, strict=True))
        return deeper.lead(single)

    def _verdicts(self, pair: tuple[Grown, Grown], rows: np.ndarray) -> tuple[Verdict, Verdict]:
        """On the rows with these numbers."""
        fold, networks = self.fit.rows.training.take(rows), [grown.fitted["network_"] for grown in pair]
        losses = _losses(networks[0])
        single, deeper = (Verdict.of(fold.row_values(losses, network), fold.sample_weight) for network in networks)
        return single, deeper


def _grown(fit: Fit, pile: Pile) -> tuple[Grown, Grown]:
    """The network of one layer, and the one with the layers of a pile."""
    this, single = fit.single()
    return single, single if single.is_stopped else fit.deepening(this).again(pile, single)


def _losses(network: Network) -> RowFunction:
    """The loss with what it knows of the rows of a network; squared errors in the units in which they are learnt."""
    loss, outputs = network.loss, network.outputs
    return (lambda y, f: loss.value(outputs.transform(y), outputs.transform(f))) if loss.plain else loss.value
