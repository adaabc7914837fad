"""Parameters are declared once: signature, constraints and docstring follow."""

import inspect
import re
from dataclasses import KW_ONLY

import numpy as np
import pytest
from sklearn.base import clone

import skscn
from skscn.declarations import Estimator, attribute, constant, parameter


class Smoother(Estimator):
    """A smoother.

    It averages rows.

    Attributes
    ----------
    rows_ : int
        Rows that were seen.

    References
    ----------
    Somebody, once.
    """

    kind: str = constant("mean")
    width: int = parameter(
        default=3,
        constraint=[int],
        text="""int
        The number of rows that are averaged.

        At least one.""",
    )
    centre: bool = constant()
    verbose: int = parameter(default=0, constraint=["verbose"], text="int\nWhether it speaks.")
    rows_: int = attribute()
    _unit: float = attribute(1.0)


class Median(Smoother):
    """A median.

    Attributes
    ----------
    middle_ : float
        The median.

    Examples
    --------
    >>> 1
    1
    """

    kind: str = constant("median")
    width: int = parameter(default=5)
    centre: bool = parameter(default=True, constraint=["boolean"], text="bool\nWhether it is centred.")


DOCSTRING = """A median.

Parameters
----------
width : int, default=5
    The number of rows that are averaged.

    At least one.
centre : bool, default=True
    Whether it is centred.
verbose : int, default=0
    Whether it speaks.

Attributes
----------
rows_ : int
    Rows that were seen.
middle_ : float
    The median.

References
----------
Somebody, once.

Examples
--------
>>> 1
1"""


def test_parameters_keep_the_place_where_they_were_first_declared():
    assert list(inspect.signature(Smoother).parameters) == ["width", "verbose"]
    assert list(inspect.signature(Median).parameters) == ["width", "centre", "verbose"]
    assert Median(7, False, 1).get_params() == {"width": 7, "centre": False, "verbose": 1}


class Keywords(Smoother):
    """A smoother whose further parameters are given by keyword."""

    _: KW_ONLY
    verbose: int = parameter(default=1)
    origin: float = parameter(default=0.0, constraint=[float], text="float\nWhere it starts.")


def test_parameters_below_the_mark_are_given_by_keyword():
    kinds = {name: each.kind for name, each in inspect.signature(Keywords).parameters.items()}
    by_place, by_keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    assert kinds == {"width": by_place, "verbose": by_keyword, "origin": by_keyword}
    with pytest.raises(TypeError, match="positional argument"):
        Keywords(3, 1)


def test_a_subclass_overrides_a_default_and_keeps_constraint_and_text():
    assert Median().width == 5
    assert Median._parameter_constraints == {"width": [int], "centre": ["boolean"], "verbose": ["verbose"]}
    assert "width : int, default=5\n        The number of rows" in Median.__doc__


def test_constants_are_no_parameters():
    assert (Smoother().kind, Median().kind) == ("mean", "median")
    assert not hasattr(Smoother(), "centre")
    with pytest.raises(TypeError, match="unexpected keyword argument 'kind'"):
        Median(kind="mean")


def test_attributes_are_absent_until_fit_sets_them():
    assert not hasattr(Median(), "rows_")
    assert Median()._unit == 1.0
    assert list(vars(Median())) == ["width", "centre", "verbose"]


def test_parameters_are_stored_as_they_are():
    width = np.arange(3)
    assert Median(width).width is width
    assert clone(Median(4)).width == 4


def test_docstrings_have_the_sections_of_their_bases():
    assert inspect.getdoc(Median) == DOCSTRING


def test_a_parameter_needs_a_constraint_and_a_text():
    with pytest.raises(TypeError, match="The parameter width of Nothing has no text"):
        type("Nothing", (Estimator,), {"__annotations__": {"width": int}, "width": parameter(default=1, constraint=[])})


PUBLIC = [getattr(skscn, name) for name in skscn.__all__]
ESTIMATORS = [cls for cls in PUBLIC if isinstance(cls, type) and issubclass(cls, Estimator)]


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_docstrings_of_estimators_name_their_parameters_and_defaults(cls):
    section = re.search(r"Parameters\n-+\n(.*?)\n\n\w+\n-+\n", inspect.getdoc(cls), re.DOTALL)[1]
    defaults = dict(re.findall(r"^(\w+) : .*, default=(.*)$", section, re.MULTILINE))
    assert defaults == {name: repr(each.default) for name, each in inspect.signature(cls).parameters.items()}
    assert list(cls._parameter_constraints) == list(defaults)
