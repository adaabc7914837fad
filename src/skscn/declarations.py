"""Estimators whose parameters are declared once, each with its default, its constraint and its text.

    class Smoother(Estimator):
        \"\"\"A smoother.\"\"\"

        width: int = parameter(
            default=3,
            constraint=[Interval(Integral, 1, None, closed="left")],
            text=\"\"\"int
            The number of rows that are averaged.\"\"\",
        )
        rows_: int = attribute()

An :class:`Estimator` is a :func:`dataclasses.dataclass`, so type checkers and editors know the signature. Its
``__init__``, scikit-learn's ``_parameter_constraints`` and the section "Parameters" of its docstring follow from the
declarations. As in any dataclass, parameters are in the order in which they are first declared, and a subclass that
declares one again keeps its place:

- ``width: int = parameter(default=5)`` has another default, the same constraint and the same text;
- ``width: int = constant(5)`` is no parameter of the subclass, which has an attribute of this value instead;
- a base class holds the place of a parameter that only some subclasses have by ``constant()``;
- parameters that are declared below ``_: KW_ONLY`` are given by keyword.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, field, fields
from textwrap import indent
from typing import Any, ClassVar, Literal, dataclass_transform

from sklearn.base import BaseEstimator


def parameter(*, default: Any, constraint: Sequence[Any] | None = None, text: str | None = None) -> Any:
    """Declare a parameter of an estimator.

    Parameters
    ----------
    default : object
        Not mutable.
    constraint : list or None
        As in scikit-learn's ``_parameter_constraints``; None for that of the base class.
    text : str or None
        Its entry in the docstring: the first line is its type, those that follow its meaning. None for that of the
        base class.
    """
    return field(default=default, metadata={"constraint": constraint, "text": text})


def constant(value: Any = MISSING, *, init: Literal[False] = False) -> Any:
    """The value of what is a parameter of other estimators; without a value it only holds the parameter's place."""
    return field(default=value, init=init)


def attribute(default: Any = MISSING, *, init: Literal[False] = False) -> Any:
    """Declare an attribute that ``fit`` sets; before that it has its default, if there is one."""
    return field(default=default, init=init)


@dataclass_transform(eq_default=False, field_specifiers=(parameter, constant, attribute))
class Estimator(BaseEstimator):
    """Base of estimators: a subclass declares its parameters and what ``fit`` sets.

    Sections "Attributes" and "References" of a docstring hold for subclasses too.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    # The sections of the docstring as it was written, by their titles; the text before them has none.
    _sections: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        written, cls.__doc__ = inspect.cleandoc(cls.__doc__ or ""), ""
        dataclass(eq=False, repr=False, match_args=False)(cls)
        parameters = [field for field in fields(cls) if field.init]
        cls._parameter_constraints = {each.name: list(_declared(cls, each.name, "constraint")) for each in parameters}
        parts = re.split(r"^(\w+)\n-+\n", written, flags=re.MULTILINE)
        cls._sections = dict(zip(["", *parts[1::2]], (part.strip("\n") for part in parts[::2]), strict=True))
        cls.__doc__ = indent(_docstring(cls), "    ").lstrip()


def _declared(cls: type, name: str, key: str) -> Any:
    """The constraint or the text of a parameter, from the nearest class that gives one."""
    for base in cls.__mro__:
        declared = vars(base).get("__dataclass_fields__", {}).get(name)
        if declared is not None and declared.metadata.get(key) is not None:
            return declared.metadata[key]
    raise TypeError(f"The parameter {name} of {cls.__name__} has no {key}.")


def _docstring(cls: type[Estimator]) -> str:
    """The sections of a class and its bases, in the order of numpydoc."""
    lines = []
    for each in fields(cls):
        if each.init:
            kind, _, meaning = inspect.cleandoc(_declared(cls, each.name, "text")).partition("\n")
            lines.append(f"{each.name} : {kind}, default={each.default!r}\n{indent(meaning, '    ')}")
    sections = {"": cls._sections[""], "Parameters": "\n".join(lines), "Attributes": "", "References": ""}
    for base in reversed(cls.__mro__[1:]):
        inherited = vars(base).get("_sections", {})
        for title in ("Attributes", "References"):
            sections[title] = "\n".join(filter(None, [sections[title], inherited.get(title)]))
    for title, text in cls._sections.items():
        if title:
            sections[title] = "\n".join(filter(None, [sections.get(title), text]))
    titled = (f"{title}\n{'-' * len(title)}\n{text}" if title else text for title, text in sections.items() if text)
    return "\n\n".join(titled) + "\n"
