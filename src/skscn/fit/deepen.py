"""Layers on top of each other: what the nodes of the next one see, how many are kept, and whether other rows agree.

Every layer is grown like the first one, on the residual that the layers below leave. Layers are piled up for as long as
the error on held-out rows decreases, on top of the first layer as it is and, in thin layers, from the beginning. A
network that is not clearly better than that of one layer, there and on folds of the training rows, is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skscn.growth import StopReason
from skscn.losses import Penalised
from skscn.network import Network
from skscn.nodes import Deep, Nodes, readout
from skscn.stopping import Validation

if TYPE_CHECKING:
    from skscn.fit.trainer import Fit, GrowingLayer, Round


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


# How many folds of the training rows are asked, at most.
_FOLDS = 3


def deepen(fit: Fit, this: Round, single: GrowingLayer) -> GrowingLayer:
    """The network of one layer that a round has grown, with further layers if these are worth it."""
    if single.is_stopped:
        return single
    search = Deepening(fit, this)
    first = clear = promising = search.judged(single, Pile())
    for other in search.tried(first):
        lead = other.lead(first)
        clear = other if lead > _CLEARLY and other.is_below(clear) else clear
        promising = other if lead > _PROMISING and other.is_below(promising) else promising
        if other.layer.is_stopped:
            return _stopped(clear.layer)
    confirmation = None if promising is first else Confirmation.possible(fit)
    if confirmation is None:
        return clear.layer
    confirmed = confirmation.lead(promising.pile, clear.layer)
    if confirmed is None:
        return _stopped(clear.layer)
    # One number of standard errors for two independent comparisons.
    return promising.layer if (promising.lead(first) + confirmed) / np.sqrt(2.0) > _CLEARLY else single


def _stopped(layer: GrowingLayer) -> GrowingLayer:
    """What is left of a fit that a callback has ended."""
    layer.fitted["stop_reason_"] = str(StopReason.CALLBACK)
    return layer


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

    layer: GrowingLayer
    verdict: Verdict | None
    pile: Pile

    def is_below(self, other: Judged) -> bool:
        """Whether it is better than another one; always, if that is not known."""
        return self.verdict is None or other.verdict is None or self.verdict.value < other.verdict.value

    def lead(self, single: Judged) -> float:
        """By how many standard errors it is better than the network of one layer; infinite, if that is not known."""
        if not len(self.layer.best):
            return 0.0
        return np.inf if self.verdict is None or single.verdict is None else self.verdict.lead(single.verdict)


class Deepening(NamedTuple):
    """The search for further layers in a round."""

    fit: Fit
    round: Round

    def judged(self, layer: GrowingLayer, pile: Pile) -> Judged:
        """With what decides on the number of layers: what early stopping monitors; nothing without it.

        If the loss chooses penalties by held-out rows, it is the lowest loss of these rows.
        """
        monitor, goal, held_out = layer.monitor, self.round.goal, self.round.held_out
        if not monitor.chooses:
            return Judged(layer, None, pile)
        if not isinstance(monitor, Validation):
            return Judged(layer, Verdict(monitor.standing.best), pile)
        if isinstance(goal, Penalised):
            sizes = (0, layer.n_below + len(layer.best)) if goal.tries_sizes else ()
            losses = self.fit.refit.lowest([*layer.spec.below, layer.candidates], goal, sizes)
        else:
            columns = monitor.watching(layer.state.fixed, layer.best)
            losses = columns.losses(layer.at_best().output_weights)
        return Judged(layer, Verdict.of(losses, held_out.sample_weight), pile)

    def tried(self, single: Judged) -> Iterator[Judged]:
        """All networks that are tried, in the order in which they are grown."""
        inputs, watched = self.fit.recipe.inputs, single.verdict is not None
        # Without a watch there is no choice.
        forms = (inputs,) if inputs != "auto" else _TRIED if watched else _TRIED[:1]
        yield from self._piled(single, forms)
        thick = min(self.fit.plan.nodes_per_layer, len(single.layer.best)) > _THIN
        if thick and _SEEN_BY_THIN in forms and watched:
            first = self.judged(self._first(_THIN), Pile(_THIN))
            yield first
            yield from self._piled(first, [_SEEN_BY_THIN])

    def _piled(self, below: Judged, forms: Sequence[str]) -> Iterator[Judged]:
        """Layer after layer, on top of the best of the forms that are tried, for as long as that is better."""
        for _ in range(1, self.fit.plan.max_layers):
            others: list[Judged] = []
            for inputs in forms:
                above = self._above(below.layer, inputs, below.pile.most)
                if above is not None:
                    other = self.judged(above, Pile(below.pile.most, (*below.pile.seen, inputs)))
                    yield other
                    others += [other] if len(above.best) else []
            best = min(others, key=lambda other: other.verdict.value if other.verdict else 0.0, default=below)
            if best is below or not best.is_below(below):
                return
            below = best

    def again(self, pile: Pile, single: GrowingLayer) -> GrowingLayer:
        """The network with the layers of a pile, as many of them as there can be."""
        layer = single if pile.most is None else self._first(pile.most)
        for inputs in pile.seen:
            above = self._above(layer, inputs, pile.most)
            if above is None or not (len(above.best) or above.is_stopped):
                break
            layer = above
        return layer

    def _first(self, most: int) -> GrowingLayer:
        return self.fit.grow_layer(self.round, self.fit.spec, self.round.previous, most)

    def _above(self, layer: GrowingLayer, inputs: str, most: int | None) -> GrowingLayer | None:
        """Another layer on top; None if there cannot be one: growth has ended, or there are no nodes, or enough."""
        own, previous = layer.best, self.round.previous
        blocks, n_below = (*layer.spec.below, own), layer.n_below + len(own)
        is_finished = layer.is_stopped or layer.fitted["stop_reason_"] == StopReason.TOL or not len(own)
        if is_finished or n_below >= self.fit.plan.max_nodes:
            return None
        top = layer.spec.layer.top if isinstance(layer.spec.layer, Deep) else layer.spec.layer
        seen: tuple[Nodes, ...] = blocks
        if inputs == "previous":
            seen = (own,)
        elif inputs == "output":
            best = layer.at_best()
            solution = best.output_weights.solution(best.rows, best.output_weights.nodes)
            seen = (readout(best.state.fixed[0], blocks, solution.output_weights),)
        spec = replace(self.fit.spec, layer=Deep(top, seen, with_inputs=inputs != "previous"), below=blocks)
        history = layer.history[len(previous.history) :]
        previous = previous._replace(lower=history[history["nodes"] <= n_below])
        return self.fit.grow_layer(self.round, spec, previous, most)


# Whether further layers are better on rows that have chosen nothing.
#
# The rows to train on are divided into folds. Without each of them, the network of one layer and the one with further
# layers are grown again, stopped by the same held-out rows, and compared on the fold.


class Check(NamedTuple):
    """For a fit that helps another one to decide: what that has learnt so far, and the name of this, for progress."""

    learnt: Callable[[], dict[str, Any]]
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

    def lead(self, pile: Pile, kept: GrowingLayer) -> float | None:
        """By how many standard errors the layers of a pile are better, on the rows of all folds together.

        None if a callback has ended the fit, of which ``kept`` is left.
        """
        verdicts: list[tuple[Verdict, Verdict]] = []
        for number, (rest, rows) in enumerate(self.folds, 1):
            check = Check(lambda: kept.fitted, f"check {number} of {len(self.folds)}")
            fit, fold = self.fit.without(rest, check), self.fit.rows.training.take(rows)
            this, single = fit.run_rounds()
            deeper = single if single.is_stopped else Deepening(fit, this).again(pile, single)
            if deeper.is_stopped:
                return None
            network = single.fitted["network_"]
            # With what the loss knows of the rows; squared errors in the units in which they are learnt.
            value = partial(_scaled_value, network) if network.loss.plain else network.loss.value
            pair = [fold.row_values(value, layer.fitted["network_"]) for layer in (single, deeper)]
            verdicts.append((Verdict.of(pair[0], fold.sample_weight), Verdict.of(pair[1], fold.sample_weight)))
        one, other = map(Verdict.joined, zip(*verdicts, strict=True))
        return other.lead(one)


def _scaled_value(network: Network, y: np.ndarray, f: np.ndarray) -> np.ndarray:
    return network.loss.value(network.outputs.transform(y), network.outputs.transform(f))
