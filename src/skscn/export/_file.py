"""``to_c``: a fitted model as one C file, with a comment that shows how to call it and a test of its own."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skscn import __version__, estimators
from skscn.estimators.networks import parts_of
from skscn.export._code import DTYPES, CCode, checked_name, identifier
from skscn.export._estimators import core_of
from skscn.export._examples import examples_of
from skscn.export._inputs import inputs_of
from skscn.export._predicting import predicting
from skscn.export._program import Program
from skscn.export._stepping import stepping
from skscn.files import replace_file
from skscn.recurrent.predicting import ReservoirRegressor
from skscn.table_model import TableModel


def to_c(
    model: BaseEstimator,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str | None = None,
    dtype: str = "float64",
    outputs: Sequence[str] | None = None,
) -> str:
    """Write a fitted model as one C99 file that makes the same predictions.

    The file needs nothing but ``math.h``, allocates no memory, and has no state of its own, so that its functions may
    be called from several threads. The comment at its beginning lists inputs, outputs and functions. Compiled with
    ``-DSKSCN_TEST`` it is a program that compares the predictions for some rows with those of Python, and returns 1 if
    they differ.

    Parameters
    ----------
    model : fitted TableModel or scikit-scn estimator, or Pipeline that ends with one
        Steps before it may be a :class:`~skscn.tables.TableEncoder` at the beginning, :class:`~skscn.series.Lags`,
        StandardScaler, MinMaxScaler, RobustScaler, MaxAbsScaler, and networks as transformers. Of models with lags and
        of recurrent networks, one step is written: the program keeps a state from row to row.
    path : path-like, default=None
        Where to write the file; None means that the text is only returned.
    name : str, default=None
        What the names of its functions begin with; by default the name of the file. All else is static, so that files
        with different names can be linked into one program.
    dtype : {"float64", "float32"}, default="float64"
        The type of numbers in C, double or float. In single precision, networks with large output weights lose digits.
    outputs : sequence of str, default=None
        Names of the outputs, or of what the classes are classes of, for the comment.

    Returns
    -------
    text : str

    Raises
    ------
    ValueError
        If a part of the model has no counterpart in C.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skscn import SCNRegressor
    >>> from skscn.export import to_c
    >>> X, y = load_diabetes(return_X_y=True)
    >>> text = to_c(SCNRegressor(max_nodes=10, random_state=0).fit(X, y), name="diabetes")
    >>> "void diabetes_predict(const double *x, double *y);" in text
    True
    """
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be {' or '.join(map(repr, DTYPES))}; got {dtype!r}.")
    if name is None:
        name = identifier("model" if path is None else Path(path).stem)
    bounds, known = None, None
    if isinstance(model, TableModel):
        bounds, known, outputs = model.bounds_, model.feature_names_in_, outputs or _target_names(model)
        model = model.pipeline()
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    steps = [step for step in steps if step is not None and not isinstance(step, str)]
    names = getattr(steps[0], "feature_names_in_", known)
    *before, last = [part for step in steps for part in parts_of(step)]
    program = _program(code := CCode(dtype), checked_name(name), before, last, names, list(outputs or ()), bounds)
    title = f"{type(last).__name__}, written by scikit-scn {__version__}"
    text = program.text(code, title, f"{name}.c" if path is None else shlex.quote(Path(path).name))
    if path is not None:
        replace_file(Path(path), text.encode())
    return text


def _target_names(model: TableModel) -> list[str]:
    return [] if model.target_ is None else [model.target_.name]


def _program(
    code: CCode,
    name: str,
    before: list[Any],
    last: Any,
    names: Any,
    outputs: list[str],
    bounds: tuple[float, float] | None,
) -> Program:
    recurrent = isinstance(last, ReservoirRegressor)
    if not recurrent and type(last).__name__ not in estimators.__all__:
        raise ValueError(f"{type(last).__name__} is not a scikit-scn estimator, and cannot be written in C.")
    check_is_fitted(last)
    inputs = inputs_of(code, name, before, last, names)
    if recurrent and inputs.memory is not None:
        raise ValueError(
            "A step of a recurrent network, which remembers earlier rows by itself, cannot be written after Lags."
        )
    examples = examples_of(before, last, str(code.dtype), bounds)
    if recurrent:
        return stepping(code, name, inputs, last, _bounded(code, bounds, last.reservoir_.n_outputs), examples, outputs)
    core = core_of(code, last)
    if bounds is not None:
        body = "\n".join([f"{core.function}(x, y);", *_bounded(code, bounds, core.size)])
        core = replace(core, function=code.function("bounded", "void", "const real *x, real *y", body))
    return predicting(code, name, inputs, core, examples, outputs)


def _bounded(code: CCode, bounds: tuple[float, float] | None, size: int) -> list[str]:
    """Statements that keep predictions y within the bounds of the target."""
    if bounds is None:
        return []
    low, high = map(code.limit, bounds)
    return [f"for (int i = 0; i < {size}; i++) y[i] = {code.clamp()}(y[i], {low}, {high});"]
