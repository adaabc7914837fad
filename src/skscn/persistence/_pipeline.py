"""A Pipeline in a model file: its steps, which must fit together."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from sklearn.pipeline import Pipeline

from skscn.persistence._base import Field, Shelf, Sizes, UnusableError, at, check_class, check_keys, shortened
from skscn.persistence._fields import Enumerated
from skscn.persistence._steps import width_of, written_step

# A step that passes its input on.
_NOTHING = "passthrough"


class PipelineOfSteps:
    """A pipeline of parts that files can hold.

    Parameters
    ----------
    steps : Field
        For each step.
    """

    def __init__(self, steps: Field):
        self.steps = steps

    def write(self, value: Pipeline, place: str, shelf: Shelf) -> dict[str, Any]:
        check_class(value, Pipeline)
        if value.memory is not None or value.transform_input is not None:
            raise UnusableError("a Pipeline is kept without memory and transform_input; set them to None")
        steps = [[name, self._write_step(name, step, at(place, name), shelf)] for name, step in value.steps]
        return {"steps": steps, "verbose": bool(value.verbose)}

    def _write_step(self, name: str, step: Any, place: str, shelf: Shelf) -> Any:
        return _NOTHING if step in (None, _NOTHING) else written_step(self.steps, name, step, place, shelf)

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Pipeline:
        check_keys(stored, ("steps", "verbose"), place)
        verbose = Enumerated(False, True).read(stored["verbose"], at(place, "verbose"), shelf, sizes)
        if not isinstance(stored["steps"], list) or not stored["steps"]:
            raise UnusableError("a Pipeline has no steps")
        steps = [self._read_step(step, place, shelf) for step in stored["steps"]]
        pipeline = Pipeline(steps, verbose=verbose)
        try:
            # Names that occur twice, and steps that are not transformers.
            pipeline._validate_steps()
        except (ValueError, TypeError) as error:
            raise UnusableError(f"it is not a Pipeline: {error}") from error
        self._check_widths([step for _, step in steps if step != _NOTHING])
        return pipeline

    def _check_widths(self, steps: list[Any]) -> None:
        """The output of a step must have as many columns as the next one expects, as far as these are known."""
        for step, following in pairwise(steps):
            width = width_of(step)
            if width is not None and width != getattr(following, "n_features_in_", width):
                raise UnusableError(f"a step returns {width} columns, the next one expects {following.n_features_in_}")

    def _read_step(self, stored: Any, place: str, shelf: Shelf) -> tuple[str, Any]:
        named = isinstance(stored, list) and len(stored) == 2 and isinstance(stored[0], str)
        if not named or not stored[0].isprintable():
            raise UnusableError(f"a step of a Pipeline is {shortened(stored)}")
        name, step = stored
        return name, _NOTHING if step == _NOTHING else self.steps.read(step, at(place, name), shelf, {})
