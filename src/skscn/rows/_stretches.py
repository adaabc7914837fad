"""Rows are processed in stretches of fixed length, and the results are summed in a fixed order.

Both depend only on the number of rows, so a sum does not depend on threads, files or machines.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

# What an operation returns for one stretch; shares have a sum, a + b.
Share = TypeVar("Share")

# The largest number of rows in a stretch: enough for the overhead of a call to be small.
STRETCH = 16384
# Fewer rows than this are not worth a separate stretch, but there should be a few stretches for threads to share.
_SHORTEST, _FEW = 2048, 4
# Above this number of stretches their number is a multiple of it, so that threads have equal shares.
_SHARES = 8


def stretch_length(n_rows: int, longest: int = STRETCH) -> int:
    """Rows in a stretch; the last one may be shorter."""
    count = max(1, -(-n_rows // longest), min(_FEW, n_rows // _SHORTEST))
    if count > _FEW:
        count = _SHARES * -(-count // _SHARES)
    return max(1, -(-n_rows // count))


def stretches(n_rows: int, longest: int = STRETCH) -> list[slice]:
    """All rows, stretch by stretch."""
    length = stretch_length(n_rows, longest)
    return [slice(start, min(start + length, n_rows)) for start in range(0, n_rows, length)]


# Partial sums: node (l, i) of a binary tree stands for the 2ˡ stretches from i 2ˡ on.
Subtrees = dict[tuple[int, int], Any]


def added(nodes: Subtrees, count: int) -> Subtrees:
    """Add up neighbouring nodes in the binary tree over ``count`` stretches.

    Some of the stretches give some of the nodes; all of them give one, the sum over all rows. Partial sums that were
    added up elsewhere lead to the same total, bit for bit.
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


def total(shares: Sequence[Share]) -> Share:
    """The sum of the shares of all stretches, in their order."""
    result: Share
    (result,) = added({(0, i): share for i, share in enumerate(shares)}, len(shares)).values()
    return result
