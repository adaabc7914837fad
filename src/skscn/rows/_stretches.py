"""Rows are walked in stretches of fixed length, and what is found on them is added up in a fixed order.

Both depend on nothing but the number of rows, so a sum does not depend on threads, files or machines.
"""

from typing import Any

# Rows in a stretch, at most: enough for a call to cost little beside its work.
STRETCH = 16384
# Fewer rows than this are not worth a stretch of their own, but a few stretches there should be for threads to share.
_SHORTEST, _FEW = 2048, 4
# Beyond so many stretches their number is a multiple of it, so that threads have equal shares.
_SHARES = 8


def stretch_length(n_rows: int) -> int:
    """Rows in a stretch; the last one may be shorter."""
    count = max(1, -(-n_rows // STRETCH), min(_FEW, n_rows // _SHORTEST))
    if count > _FEW:
        count = _SHARES * -(-count // _SHARES)
    return max(1, -(-n_rows // count))


def stretches(n_rows: int) -> list[slice]:
    """All rows, stretch by stretch."""
    length = stretch_length(n_rows)
    return [slice(start, min(start + length, n_rows)) for start in range(0, n_rows, length)]


# What has been added up: node (l, i) of a binary tree stands for the 2ˡ stretches from i 2ˡ on.
Subtrees = dict[tuple[int, int], Any]


def added(nodes: Subtrees, count: int) -> Subtrees:
    """Add up what stands side by side in the binary tree over ``count`` stretches.

    Some of the stretches leave some of the nodes; all of them leave one, the sum over all rows. Sums of parts of the
    rows that were added up elsewhere go on from there to the same sum, bit for bit.
    """
    left: Subtrees = {}
    level, waiting = 0, {i: value for (at, i), value in nodes.items() if at == 0}
    while count > 1:
        above = {i: value for (at, i), value in nodes.items() if at == level + 1}
        for i, value in waiting.items():
            if i ^ 1 in waiting:
                if not i & 1:
                    above[i >> 1] = value + waiting[i ^ 1]
            elif i ^ 1 >= count:
                above[i >> 1] = value
            else:
                left[level, i] = value
        level, waiting, count = level + 1, above, -(-count // 2)
    return left | {(level, i): value for i, value in waiting.items()}


def total(values: list, count: int):
    """The sum of what was found on ``count`` stretches, in their order."""
    (result,) = added({(0, i): value for i, value in enumerate(values)}, count).values()
    return result
