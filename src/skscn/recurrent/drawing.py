"""Random candidates for the nodes of a reservoir."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skscn.recurrent.nodes import LARGEST_FEEDBACK, SOURCES, RecurrentNodes

# The weights of earlier nodes are drawn from [−s, s]/√k with one of these s, for k of them.
_STRENGTHS = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Style:
    """From where nodes are drawn; short pilot networks choose among a few.

    Attributes
    ----------
    length : int
        How many earlier rows the delay line has.
    scopes : tuple of two floats
        The smallest and the largest λ.
    products : bool
        Whether half of the candidates are products.
    recurrent : bool
        Whether nodes hear themselves and earlier nodes; otherwise only the delay line.
    """

    length: int
    scopes: tuple[float, float]
    products: bool
    recurrent: bool = True

    def __str__(self) -> str:
        """In words."""
        kinds = [name for name in ("products", "recurrent") if getattr(self, name)]
        return ", ".join([f"delay line of {self.length} rows", "scopes {:g} to {:g}".format(*self.scopes), *kinds])


def draw(rng: np.random.Generator, count: int, width: int, present: int, style: Style) -> RecurrentNodes:
    """Candidates for a reservoir with this many nodes at present, on a delay line of this width."""
    low, high = np.log(style.scopes)
    scopes = np.exp(rng.uniform(low, high, count))
    fan_in = np.exp(rng.uniform(0.0, np.log(width + 1.0), count)).astype(int).clip(1, width)
    chosen = rng.random((width, count)).argsort(axis=0) < fan_in
    weights = rng.uniform(-1.0, 1.0, (width, count)) * chosen * scopes
    feedback = rng.uniform(-LARGEST_FEEDBACK, LARGEST_FEEDBACK, count) * (rng.random(count) < 0.75)
    heard = present if style.recurrent else 0
    nodes = replace(
        RecurrentNodes.empty(width, count),
        weights=weights,
        biases=rng.uniform(-1.0, 1.0, count) * scopes,
        feedback=feedback * style.recurrent,
        scopes=scopes,
        **_heard(rng, count, heard),
    )
    return _with_products(rng, nodes, heard) if style.products else nodes


def _heard(rng: np.random.Generator, count: int, present: int) -> dict[str, np.ndarray]:
    """Up to SOURCES earlier nodes and their weights; a node drawn twice counts twice."""
    if not present:
        return {}
    sources = rng.integers(present, size=(SOURCES, count))
    degree = rng.integers(0, SOURCES + 1, size=count)
    strengths = rng.choice(_STRENGTHS, count) / np.sqrt(np.maximum(degree, 1))
    weights = rng.uniform(-1.0, 1.0, (SOURCES, count)) * strengths
    return {"sources": sources, "source_weights": weights * (np.arange(SOURCES)[:, np.newaxis] < degree)}


def _with_products(rng: np.random.Generator, nodes: RecurrentNodes, present: int) -> RecurrentNodes:
    """Half of the nodes replaced by products."""
    half = len(nodes) // 2
    products = RecurrentNodes.empty(nodes.width, half)
    factors = rng.integers(nodes.width + present, size=(2, half))
    return RecurrentNodes.joined([nodes.take(slice(half, None)), replace(products, factors=factors)])
