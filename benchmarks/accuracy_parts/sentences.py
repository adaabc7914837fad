"""Sentences about a summary: where our methods are worse comes first, where they are better second."""

import numpy as np

from accuracy_parts.comparing import against_others, mean_ratio, own_methods, won_and_lost
from accuracy_parts.methods import OURS
from accuracy_parts.summary import Summary


def error_sentences(summary: Summary) -> list[str]:
    """Our methods against the best of the others set by set, and against each of the others."""
    return [
        sentence
        for own in own_methods(summary)
        for sentence in (against_best_sentence(summary, own), against_each_sentence(summary, own))
        if sentence
    ]


def against_best_sentence(summary: Summary, own: str) -> str:
    """On which sets a method is worse than the best of the others, and on which it is not."""
    ratios = against_others(summary, own)
    known = [i for i in np.argsort(-ratios, kind="stable") if not np.isnan(ratios[i])]
    if not known:
        return ""
    worse = [i for i in known if ratios[i] > 1.0]
    better = [i for i in reversed(known) if ratios[i] <= 1.0]
    said = [
        f"{what} on {len(some)} of {len(known)} sets"
        + (f" ({with_ratios(summary.sets, ratios, some)})" if some else "")
        for what, some in (("worse", worse), ("as good or better", better))
    ]
    return f"{own} against the best of the other methods (ratio of the errors): {', '.join(said)}."


def with_ratios(names: list[str], ratios: np.ndarray, which: list[int]) -> str:
    """Names and ratios, such as: stock 1.03, airfoil 0.87."""
    return ", ".join(f"{names[i]} {ratio_text(ratios[i])}" for i in which)


def ratio_text(ratio: float) -> str:
    """A ratio with two digits after the point, or none if it is large."""
    return "failed" if np.isinf(ratio) else f"{ratio:.0f}" if ratio >= 10.0 else f"{ratio:.2f}"


def against_each_sentence(summary: Summary, own: str) -> str:
    """Which methods win on more sets than they lose, and which do not; with the mean ratio of the errors."""
    ratios = mean_ratio(summary.counted, summary.methods.index(own))
    behind, ahead = [], []
    for other, ratio in zip(summary.methods, ratios, strict=True):
        won, lost = won_and_lost(summary, own, other)
        if other not in OURS and won + lost:
            (behind if lost > won else ahead).append(f"{other} ({won} to {lost}, {ratio_text(ratio)})")
    if not behind + ahead:
        return ""
    said = [f"behind {listed(behind)}", f"ahead of or level with {listed(ahead)}"]
    return f"{own} against one method at a time (sets won to lost, mean ratio of the errors): {'; '.join(said)}."


def listed(texts: list[str]) -> str:
    """Names in a row, or that there are none."""
    return ", ".join(texts) or "none"


def rank_sentences(summary: Summary) -> list[str]:
    """The mean ranks of all methods that have one."""
    ranks = summary.ranks
    order = [i for i in np.argsort(ranks, kind="stable") if np.isfinite(ranks[i])]
    if len(order) < 2 or not own_methods(summary):
        return []
    return [f"Mean ranks: {', '.join(f'{summary.methods[i]} {ranks[i]:.2f}' for i in order)}."]


def time_sentences(summary: Summary) -> list[str]:
    """Which methods our own take longer than, to fit and to predict, and which they do not."""
    return [
        sentence
        for own in own_methods(summary)
        for name, what in (("cpu", "Fitting"), ("predict", "Prediction"))
        if (sentence := time_sentence(summary, own, name, what))
    ]


def time_sentence(summary: Summary, own: str, name: str, what: str) -> str:
    """The times of a method over those of the others, the largest ratios first."""
    ratios = mean_ratio(summary.costs[name], summary.methods.index(own))
    others = [i for i, other in enumerate(summary.methods) if other not in OURS and np.isfinite(ratios[i])]
    order = sorted(others, key=lambda i: -ratios[i])
    if not order:
        return ""
    slower = with_ratios(summary.methods, ratios, [i for i in order if ratios[i] > 1.0])
    faster = with_ratios(summary.methods, ratios, [i for i in reversed(order) if ratios[i] <= 1.0])
    said = f"slower than {slower or 'none'}; as fast as or faster than {faster or 'none'}"
    return f"{what} with {own} (ratio of the processor times): {said}."
