"""``to_c``: a fitted model as one C file, with a comment that shows how to call it and a test of its own."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array, check_is_fitted

from skscn import __version__, estimators
from skscn.estimators.networks import grown_networks, parts_of
from skscn.export._code import DTYPES, CCode, checked_name, identifier
from skscn.export._estimators import core_of
from skscn.export._examples import answers, applied, examples_of, within
from skscn.export._fixed import BITS, in_fixed_point
from skscn.export._inputs import inputs_of
from skscn.export._predicting import predicting
from skscn.export._program import Program
from skscn.export._stepping import stepping
from skscn.files import replace_file
from skscn.recurrent.predicting import ReservoirRegressor
from skscn.series import Lags
from skscn.table_model import TableModel
from skscn.tables import TableEncoder
from skscn.tables.filling import Filling

# Rows that the error in fixed point is measured on, if none are given.
_SPREAD = 500


def to_c(
    model: BaseEstimator,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str | None = None,
    dtype: str = "float64",
    outputs: Sequence[str] | None = None,
    rows: Any = None,
) -> str:
    """Write a fitted model as one C99 file that makes the same predictions.

    The file needs nothing but ``math.h`` and, in fixed point, ``stdint.h``, allocates no memory, and has no state of
    its own, so that its functions may be called from several threads. The comment at its beginning lists inputs,
    outputs and functions. Compiled with ``-DSKSCN_TEST`` it is a program that compares the predictions for some rows
    with those of Python, and returns 1 if they differ.

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
    dtype : {"float64", "float32", "int16", "int8"}, default="float64"
        The type of numbers in C, double or float. In single precision, networks with large output weights lose digits.
        "int16" and "int8" write the network in fixed point, for small controllers: weights have 16 or 8 bits, output
        weights twice as many, activations come from a table, and only inputs, predictions and what is outside the
        network (encoding, scaling, weights of members, probabilities) are in single precision. The file says how far
        predictions are from those in double precision.
    outputs : sequence of str, default=None
        Names of the outputs, or of what the classes are classes of, for the comment.
    rows : as for ``predict``, default=None
        Rows like those of training, for fixed point: output weights are fitted, on every other one, to the outputs of
        the network in double precision, and the error is measured on the rest. "int8" needs them. Otherwise, output
        weights are rounded, and the error is measured on rows spread over the ranges of the inputs.

    Returns
    -------
    text : str

    Raises
    ------
    ValueError
        If a part of the model has no counterpart in C, or if predictions in fixed point are off by more than the error
        of the model itself.

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
    if rows is not None and dtype not in BITS:
        raise ValueError('rows=… is for fixed point; use it with dtype="int16" or dtype="int8".')
    if rows is None and dtype == "int8":
        raise ValueError(
            'dtype="int8" needs rows=…, a table like that of training, to which output weights are fitted; '
            'dtype="int16" does not.'
        )
    bounds, known, table = None, None, None
    if isinstance(model, TableModel):
        table = model
        bounds, known, outputs = model.bounds_, model.feature_names_in_, outputs or _target_names(model)
        model = model.pipeline()
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    steps = [step for step in steps if step is not None and not isinstance(step, str)]
    names = getattr(steps[0], "feature_names_in_", known)
    *before, last = [part for step in steps for part in parts_of(step)]
    _check(last)
    accuracy, tolerance = list[str](), None
    if dtype in BITS:
        if isinstance(last, ReservoirRegressor):
            raise ValueError('Recurrent networks cannot be written in fixed point; use dtype="float32".')
        numbers = within(last, _SPREAD) if rows is None else _numbers(table, before, last, rows)
        last, accuracy, largest = in_fixed_point(last, BITS[dtype], numbers, answers, given=rows is not None)
        tolerance = 0.0 if _has_same_bits(before, last) else largest
    code = CCode("float32" if dtype in BITS else dtype)
    program = _program(code, checked_name(name), before, last, names, list(outputs or ()), bounds, tolerance)
    title = f"{type(last).__name__}, written by scikit-scn {__version__}"
    text = program.text(code, title, f"{name}.c" if path is None else shlex.quote(Path(path).name), accuracy)
    if path is not None:
        replace_file(Path(path), text.encode())
    return text


def _target_names(model: TableModel) -> list[str]:
    return [] if model.target_ is None else [model.target_.name]


def _check(last: Any) -> None:
    """Raise an error if this is not a fitted estimator of this package."""
    if not isinstance(last, ReservoirRegressor) and type(last).__name__ not in estimators.__all__:
        raise ValueError(f"{type(last).__name__} is not a scikit-scn estimator, and cannot be written in C.")
    check_is_fitted(last)


def _numbers(table: TableModel | None, before: list[Any], last: Any, rows: Any) -> np.ndarray:
    """Rows as the last step takes them."""
    if table is not None:
        filling = [step for step in before if isinstance(step, Filling)]
        none = np.zeros((0, last.n_features_in_))
        return np.vstack([none, *(applied(filling, batch.X) for batch in table.read(rows))])
    if any(isinstance(step, Lags) and step.target is not None for step in before):
        raise ValueError("rows=… has no earlier targets, which Lags needs here; fit a TableModel, or leave rows out.")
    first = before[0] if before else last
    if not isinstance(first, TableEncoder):
        rows = check_array(rows, dtype=np.float64, ensure_all_finite="allow-nan")
        width = first.n_features if isinstance(first, Filling) else first.n_features_in_
        if rows.shape[1] != width:
            raise ValueError(f"rows=… has {rows.shape[1]} columns; the model has {width} inputs.")
    return np.asarray(applied(before, rows))


def _has_same_bits(before: list[Any], last: Any) -> bool:
    """Whether predictions of networks in fixed point are the same on each processor.

    What comes before or after them is computed in single precision there, and in double precision here.
    """
    medians = all(isinstance(step, Filling) and not step.slopes.size for step in before)
    return medians and not hasattr(last, "classes_") and grown_networks(last)[0].network_.loss.plain


def _program(
    code: CCode,
    name: str,
    before: list[Any],
    last: Any,
    names: Any,
    outputs: list[str],
    bounds: tuple[float, float] | None,
    tolerance: float | None,
) -> Program:
    recurrent = isinstance(last, ReservoirRegressor)
    inputs = inputs_of(code, name, before, last, names)
    if recurrent and inputs.memory is not None:
        raise ValueError(
            "A step of a recurrent network, which remembers earlier rows by itself, cannot be written after Lags."
        )
    examples = examples_of(before, last, str(code.dtype), bounds, tolerance)
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
