"""Sentences about a summary: where our methods are worse comes first, where they are better second."""

import numpy as np

from accuracy_parts.comparing import against_others, mean_ratio, named, own_methods, won_and_lost
from accuracy_parts.methods import OURS
from accuracy_parts.summary import Summary

# More sets than any table has: all are named.
ALL = 1000


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
    worse = [(summary.sets[i], ratios[i]) for i in known if ratios[i] > 1.0]
    better = [(summary.sets[i], ratios[i]) for i in reversed(known) if ratios[i] <= 1.0]
    return (
        f"{own} is worse than the best of the other methods on {len(worse)} of {len(known)} sets{named(worse, ALL)}, "
        f"and as good or better on {len(better)}{named(better, ALL)}."
    )


def against_each_sentence(summary: Summary, own: str) -> str:
    """Which methods win on more sets than they lose, and which do not; with the mean ratio of the errors."""
    ratios = mean_ratio(summary.counted, summary.methods.index(own))
    behind, ahead = [], []
    for other, ratio in zip(summary.methods, ratios, strict=True):
        won, lost = won_and_lost(summary, own, other)
        if other not in OURS and won + lost:
            (behind if lost > won else ahead).append(f"{other} {won} : {lost}, × {ratio:.2f}")
    said = [
        *([f"it loses on more sets than it wins against {'; '.join(behind)}"] if behind else []),
        *([f"it wins on as many sets or more against {'; '.join(ahead)}"] if ahead else []),
    ]
    if not said:
        return ""
    return f"{own} against one method at a time (sets won : lost, mean ratio of the errors): {'. '.join(said)}."


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
        for name, what in (("cpu", "fitting"), ("predict", "prediction"))
        if (sentence := time_sentence(summary, own, name, what))
    ]


def time_sentence(summary: Summary, own: str, name: str, what: str) -> str:
    """The times of a method over those of the others, the largest ratios first."""
    ratios = mean_ratio(summary.costs[name], summary.methods.index(own))
    others = [i for i, other in enumerate(summary.methods) if other not in OURS and np.isfinite(ratios[i])]
    order = sorted(others, key=lambda i: -ratios[i])
    slower = [f"{summary.methods[i]} × {ratios[i]:.2g}" for i in order if ratios[i] > 1.0]
    faster = [f"{summary.methods[i]} × {ratios[i]:.2g}" for i in reversed(order) if ratios[i] <= 1.0]
    said = [
        *([f"slower than {', '.join(slower)}"] if slower else []),
        *([f"faster than {', '.join(faster)}"] if faster else []),
    ]
    return f"{own}, {what} (its processor time over theirs): {'; '.join(said)}." if said else ""
