"""What a fit has done so far: the errors of pilot networks, and the nodes of the others, step by step.

A fit that repeats what its journal has, without the draws, and continues with the generator as it was, ends with the
same reservoir, bit for bit. The journal is kept in a checkpoint, if there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields

import numpy as np

from skscn.estimators.checkpoint_file import CheckpointFile
from skscn.recurrent.growing import AcceptedNodes, Growing
from skscn.recurrent.nodes import RecurrentNodes

# The steps of a network; the last one is None if no candidate passed.
Steps = list[AcceptedNodes | None]
_TERMS = ("contraction", "slack", "candidates", "seconds")


class Journal:
    """The journal of one fit.

    Parameters
    ----------
    file : CheckpointFile or None
        Where it is kept; what is there already will be repeated.
    draw_seed : callable
        Returns the seed of a fit that begins.

    Attributes
    ----------
    seed : int
    rng : Generator
        Of all draws.
    repeats : bool
        Whether the last step, or pilot network, was a repetition.
    """

    def __init__(self, file: CheckpointFile | None, draw_seed: Callable[[], int]):
        self._file, self.repeats = file, False
        self._errors: list[float] = []
        self._networks: list[Steps] = []
        # Where the fit is.
        self._pilot, self._network, self._step, self._suspended = 0, -1, 0, False
        read = None if file is None else file.read()
        if file is None or read is None:
            self.seed = draw_seed()
            self.rng = np.random.default_rng(self.seed)
            return
        about, arrays = read
        with file.complete():
            self.seed = int(about["seed"])
            self.rng = np.random.default_rng(self.seed)
            self._errors = arrays["errors"].tolist()
            self._networks = [_steps_of(arrays, f"{number}_") for number in range(about["networks"])]
            # Nothing is drawn while steps are repeated.
            self.rng.bit_generator.state = about["generator"]

    def pilot(self, error: Callable[[], float]) -> float:
        """The error of the next pilot network, which ``error`` computes."""
        self.repeats = self._pilot < len(self._errors)
        if not self.repeats:
            self._errors.append(error())
            self._note()
        self._pilot += 1
        return self._errors[self._pilot - 1]

    def suspend(self) -> None:
        """What follows is not what the fit would have done, and is not noted."""
        self._suspended = True

    def begin_network(self) -> None:
        """Another network grows."""
        self._network, self._step = self._network + 1, 0
        if self._network == len(self._networks):
            self._networks.append([])

    def step(self, growing: Growing, rng: np.random.Generator, count: int) -> AcceptedNodes | None:
        """The next step of this network."""
        if self._suspended:
            return growing.step(rng, count)
        steps = self._networks[self._network]
        self.repeats = self._step < len(steps)
        if not self.repeats:
            steps.append(growing.step(rng, count))
            self._note()
        accepted = steps[self._step]
        if self.repeats and accepted is not None:
            growing.repeat(accepted.nodes)
        self._step += 1
        return accepted

    def _note(self) -> None:
        if self._file is not None and self._file.is_due:
            self.save()

    def save(self) -> None:
        """Write the file, if there is one."""
        if self._file is None or self._suspended:
            return
        arrays = {"errors": np.array(self._errors)}
        for number, steps in enumerate(self._networks):
            arrays |= {f"{number}_{name}": values for name, values in _arrays_of(steps).items()}
        about = {"seed": self.seed, "networks": len(self._networks), "generator": self.rng.bit_generator.state}
        self._file.write(about, arrays)


def _arrays_of(steps: Sequence[AcceptedNodes | None]) -> dict[str, np.ndarray]:
    passed = [step for step in steps if step is not None]
    counts = np.array([0 if step is None else len(step.nodes) for step in steps], dtype=np.int64)
    terms = np.array([[float(getattr(step, name)) for name in _TERMS] for step in passed]).reshape(-1, len(_TERMS))
    if not passed:
        return {"counts": counts, "terms": terms}
    nodes = RecurrentNodes.joined([step.nodes for step in passed])
    return {"counts": counts, "terms": terms, **{field.name: getattr(nodes, field.name) for field in fields(nodes)}}


def _steps_of(arrays: Mapping[str, np.ndarray], prefix: str) -> Steps:
    counts, terms = arrays[f"{prefix}counts"], iter(arrays[f"{prefix}terms"].tolist())
    if not counts.any():
        return [None] * len(counts)
    nodes = RecurrentNodes(*(arrays[f"{prefix}{field.name}"] for field in fields(RecurrentNodes)))
    steps: Steps = []
    for count, end in zip(counts.tolist(), np.cumsum(counts).tolist(), strict=True):
        if not count:
            steps.append(None)
            continue
        contraction, slack, candidates, seconds = next(terms)
        steps.append(AcceptedNodes(nodes.take(slice(end - count, end)), contraction, slack, int(candidates), seconds))
    return steps
