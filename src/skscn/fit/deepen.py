"""Layers on top of each other: what the nodes of the next one see, how many are kept, and whether other rows agree.

Every layer is grown like the first one, on the residual that the layers below leave. Layers are piled up for as long as
the error on held-out rows decreases, on top of the first layer as it is and, in thin layers, from the beginning. A
network that is not clearly better than that of one layer, there and on folds of the training rows, is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skscn.fit.observers import Learnt
from skscn.fit.plan import Plan
from skscn.fit.training import Earlier, Frame, Training
from skscn.growth import StopReason
from skscn.losses import RowFunction
from skscn.network import Network
from skscn.nodes import Deep, Layer, Nodes, readout

if TYPE_CHECKING:
    from skscn.fit.trainer import Fit


# What the nodes of a further layer see: the inputs and all columns below; those of the last layer; or the inputs and
# the outputs of the network below.
SEEN = ("all", "previous", "output")
# "auto" tries these, and held-out rows choose.
_TRIED = ("all", "output")
# Thin layers have this number of nodes, and see the output of those below.
_THIN, _SEEN_BY_THIN = 20, "output"
# With further layers, the loss of held-out rows must be lower by this number of standard errors of the difference: the
# same rows have chosen how many nodes each layer has, and which of several networks is the best.
_CLEARLY = 2.0
# From this number on, other rows are asked as well, and the two comparisons together must be that clear.
_PROMISING = 1.0
# By how much a criterion must be lower, where there are no held-out rows.
_LEAST_GAIN = 0.03


def forms(inputs: str, *, watched: bool) -> tuple[str, ...]:
    """The forms of a further layer that are grown, of which one is kept; without a watch there is no choice."""
    if inputs != "auto":
        return (inputs,)
    return _TRIED if watched else _TRIED[:1]


def next_layer(training: Training, inputs: str) -> tuple[Layer, tuple[Nodes, ...]]:
    """The layer on top of a network in training, and the finished layers below it."""
    top = training.frame.layer.top if isinstance(training.frame.layer, Deep) else training.frame.layer
    own = training.best
    below = (*training.frame.below, own)
    if inputs == "previous":
        return Deep(top, (own,), with_inputs=False), below
    if inputs == "output":
        return Deep(top, (readout(*training.readout(below)),), with_inputs=True), below
    return Deep(top, below, with_inputs=True), below


class Grown(NamedTuple):
    """A layer that has been grown: the fitted attributes of an estimator that stopped after it, and the training."""

    fitted: dict[str, Any]
    training: Training

    @property
    def is_stopped(self) -> bool:
        """Whether a callback has ended the fit."""
        return bool(self.fitted["stop_reason_"] == StopReason.CALLBACK)

    @property
    def is_finished(self) -> bool:
        """Whether nothing can be on top of it: it is good enough, was ended, or has no nodes."""
        return self.is_stopped or self.fitted["stop_reason_"] == StopReason.TOL or not self.training.nodes


class Verdict(NamedTuple):
    """What is known of a network: what early stopping monitors and, if these are held-out rows, their losses."""

    value: float
    losses: np.ndarray | None = None
    weights: np.ndarray | None = None

    @classmethod
    def of(cls, losses: np.ndarray, weights: np.ndarray | None) -> Verdict:
        """The mean loss of held-out rows with these weights."""
        return cls(float(np.average(losses, weights=weights)), losses, weights)

    @classmethod
    def joined(cls, verdicts: Sequence[Verdict]) -> Verdict:
        """On the rows of all of these together."""
        losses = [each.losses for each in verdicts if each.losses is not None]
        weights = [each.weights for each in verdicts if each.weights is not None]
        return cls.of(np.concatenate(losses), np.concatenate(weights) if weights else None)

    def lead(self, other: Verdict) -> float:
        """By how many standard errors of the difference this is lower; for a criterion, infinite or 0."""
        if self.losses is None or other.losses is None:
            return np.inf if self.value < (1.0 - _LEAST_GAIN) * other.value else 0.0
        gains = other.losses - self.losses
        shares = np.full(len(gains), 1.0 / len(gains)) if self.weights is None else self.weights / self.weights.sum()
        gain, error = float(shares @ gains), float(np.sqrt(np.sum((shares * (gains - shares @ gains)) ** 2)))
        if error:
            return gain / error
        return float(np.copysign(np.inf, gain)) if gain else 0.0


class Pile(NamedTuple):
    """How layers were piled up: the most nodes of each, None for those of the plan, and what each further one sees."""

    most: int | None = None
    seen: tuple[str, ...] = ()


class Judged(NamedTuple):
    """A network of one or several layers; without early stopping nothing is known of it."""

    grown: Grown
    verdict: Verdict | None
    pile: Pile

    def is_below(self, other: Judged) -> bool:
        """Whether it is better than another one; always, if that is not known."""
        return self.verdict is None or other.verdict is None or self.verdict.value < other.verdict.value

    def lead(self, single: Judged) -> float:
        """By how many standard errors it is better than the network of one layer; infinite, if that is not known."""
        if not self.grown.training.nodes:
            return 0.0
        return np.inf if self.verdict is None or single.verdict is None else self.verdict.lead(single.verdict)


@dataclass(frozen=True)
class Deepening:
    """The search for further layers.

    Attributes
    ----------
    grow : callable
        Grows a layer, given its frame, what was there before, and its largest number of nodes or None.
    judge : callable
        The verdict on a network in training.
    plan : Plan
    inputs : str
        What the nodes of a further layer see, or "auto".
    frame : Frame
        Of the first layer.
    earlier : Earlier
        What was there before the first layer.
    """

    grow: Callable[[Frame, Earlier, int | None], Grown]
    judge: Callable[[Training], Verdict | None]
    plan: Plan
    inputs: str
    frame: Frame
    earlier: Earlier

    def of(self, grown: Grown, confirmation: Confirmation | None) -> Grown:
        """The network of one layer with further layers, if these are worth it."""
        if grown.is_stopped:
            return grown
        single = clear = promising = self._judged(grown, Pile())
        for other in self._all(single):
            lead = other.lead(single)
            clear = other if lead > _CLEARLY and other.is_below(clear) else clear
            promising = other if lead > _PROMISING and other.is_below(promising) else promising
            if other.grown.is_stopped:
                return _stopped(clear.grown)
        if confirmation is None or promising is single:
            return clear.grown
        confirmed = confirmation.lead(promising.pile, clear.grown)
        if confirmed is None:
            return _stopped(clear.grown)
        return promising.grown if _together(promising.lead(single), confirmed) > _CLEARLY else single.grown

    def again(self, pile: Pile, single: Grown) -> Grown:
        """The network with the layers of a pile, as many of them as there can be."""
        grown = single if pile.most is None else self.grow(self.frame, self.earlier, pile.most)
        for inputs in pile.seen:
            above = self._above(grown, inputs, pile.most)
            if above is None or not (above.training.nodes or above.is_stopped):
                break
            grown = above
        return grown

    def _judged(self, grown: Grown, pile: Pile) -> Judged:
        return Judged(grown, self.judge(grown.training), pile)

    def _all(self, single: Judged) -> Iterator[Judged]:
        """All networks that are tried, in the order in which they are grown."""
        tried = forms(self.inputs, watched=single.verdict is not None)
        yield from self._piled(single, tried)
        thick = min(self.plan.nodes_per_layer, single.grown.training.nodes) > _THIN
        if thick and _SEEN_BY_THIN in tried and single.verdict is not None:
            first = self._judged(self.grow(self.frame, self.earlier, _THIN), Pile(_THIN))
            yield first
            yield from self._piled(first, [_SEEN_BY_THIN])

    def _piled(self, below: Judged, tried: Sequence[str]) -> Iterator[Judged]:
        """Layer after layer, on top of the best of the forms that are tried, for as long as that is better."""
        for _ in range(1, self.plan.max_layers):
            others: list[Judged] = []
            for other in self._next(below, tried):
                yield other
                others += [other] if other.grown.training.nodes else []
            above = min(others, key=lambda other: other.verdict.value if other.verdict else 0.0, default=below)
            if above is below or not above.is_below(below):
                return
            below = above

    def _next(self, below: Judged, tried: Sequence[str]) -> Iterator[Judged]:
        """With another layer, in these forms; nothing if there cannot be another one."""
        most, seen = below.pile
        for inputs in tried:
            above = self._above(below.grown, inputs, most)
            if above is not None:
                yield self._judged(above, Pile(most, (*seen, inputs)))

    def _above(self, grown: Grown, inputs: str, most: int | None) -> Grown | None:
        """With another layer; None if there cannot be another one."""
        training, before = grown.training, self.earlier
        below = training.below + training.nodes
        if grown.is_finished or below >= self.plan.max_nodes:
            return None
        history = training.history[len(before.history) :]
        earlier = before._replace(lower=history[history["nodes"] <= below])
        layer, blocks = next_layer(training, inputs)
        return self.grow(replace(self.frame, layer=layer, below=blocks), earlier, most)


def _together(*leads: float) -> float:
    """One number of standard errors for independent comparisons."""
    return float(np.sum(leads) / np.sqrt(len(leads)))


def _stopped(grown: Grown) -> Grown:
    """What is left of a fit that a callback has ended."""
    return grown._replace(fitted={**grown.fitted, "stop_reason_": str(StopReason.CALLBACK)})


# Whether further layers are better on rows that have chosen nothing.
#
# The rows to train on are divided into folds. Without each of them, the network of one layer and the one with further
# layers are grown again, stopped by the same held-out rows, and compared on the fold.


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
