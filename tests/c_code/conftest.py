"""A C compiler, and models that it has made functions of."""

import ctypes
import subprocess

import numpy as np
import pytest

from skscn.export import to_c
from skscn.export._fixed import BITS
from skscn.recurrent import RecurrentSCNRegressor
from skscn.series import Lags
from skscn.series.line import LagLine
from skscn.tables import TableEncoder, as_table
from skscn.tables.columns import Category

STRICT = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]


@pytest.fixture(scope="session")
def cc(c_compiler):
    """Compile without a warning."""

    def run(*arguments):
        done = subprocess.run([c_compiler, *STRICT, *map(str, arguments), "-lm"], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr

    return run


@pytest.fixture
def tested(cc, tmp_path):
    """Write models, and run the test in each file."""

    def run(model, **options):
        to_c(model, tmp_path / "tested.c", **options)
        cc("-DSKSCN_TEST", tmp_path / "tested.c", "-o", tmp_path / "tested")
        return subprocess.run([tmp_path / "tested"], capture_output=True, text=True)

    return run


@pytest.fixture
def compiled(cc, tmp_path):
    """Functions of several models, linked together: name → a function of rows."""

    def run(models, dtype="float64", **options):
        for name, model in models.items():
            to_c(model, tmp_path / f"{name}.c", dtype=dtype, **options)
        library = tmp_path / f"models_{dtype}.so"
        cc("-shared", "-fPIC", *(tmp_path / f"{name}.c" for name in models), "-o", library)
        loaded = ctypes.CDLL(str(library))
        return {name: Compiled(loaded, name, model, dtype) for name, model in models.items()}

    return run


class Compiled:
    """A model in C."""

    def __init__(self, library, name, model, dtype):
        # Rows and predictions are in single precision in fixed point.
        self.library, self.name = library, name
        self.dtype = np.dtype("float32" if dtype in BITS else dtype)
        first, last = (model[0], model[-1]) if hasattr(model, "steps") else (model, model)
        encoded = getattr(first, "encoder_", None)
        self.encoder = first if isinstance(first, TableEncoder) else None if encoded is None else encoded.table
        self.told = False
        if isinstance(last, RecurrentSCNRegressor):
            self.reservoir, self.outputs = last.reservoir_, last.reservoir_.n_outputs
            self.told = self.reservoir.fed_back
            return
        lags = [step for _, step in getattr(model, "steps", []) if isinstance(step, Lags)]
        self.line = LagLine(lags[0]) if lags else None
        self.told = bool(lags and self.line.targets)
        self.classes = len(last.classes_) if hasattr(last, "classes_") else None
        network = getattr(last, "members_", [last])[0].network_
        self.outputs = self.classes or network.n_outputs

    def __call__(self, rows):
        """Predictions of shape (n, k), and the classes."""
        answers, labels = np.empty((len(rows), self.outputs), self.dtype), []
        predict = getattr(self.library, f"{self.name}_predict")
        for row, answer in zip(rows, answers, strict=True):
            labels.append(predict(self._given(row), ctypes.c_void_p(answer.ctypes.data)))
        return answers.astype(np.float64), np.array(labels)

    def _given(self, row):
        if self.encoder is not None:
            return ctypes.byref(row)
        self._kept = np.ascontiguousarray(row, self.dtype)
        return ctypes.c_void_p(self._kept.ctypes.data)

    def rows(self, table):
        """The rows of a table as structures."""
        table = as_table(table)
        kinds = [
            ctypes.c_char_p if isinstance(column, Category) else ctypes.c_double for column in self.encoder.columns_
        ]
        kind = type("Row", (ctypes.Structure,), {"_fields_": [(f"m{i}", kind) for i, kind in enumerate(kinds)]})
        columns = [
            [None if text is None else text.encode() for text in column.texts(table.column(column.name)).to_list()]
            if isinstance(column, Category)
            else column.floats(table.column(column.name)).tolist()
            for column in self.encoder.columns_
        ]
        return [kind(*values) for values in zip(*columns, strict=True)]

    def state(self, start, *arguments):
        """A state, begun."""
        reservoir, real = self.reservoir, np.ctypeslib.as_ctypes_type(self.dtype)
        sizes = (
            reservoir.length * reservoir.n_driving,
            reservoir.n_nodes,
            reservoir.n_outputs * reservoir.fed_back,
        )
        fields = [(f"m{i}", real * max(size, 1)) for i, size in enumerate(sizes)]
        state = type("State", (ctypes.Structure,), {"_fields_": [*fields, ("started", ctypes.c_int)]})()
        getattr(self.library, f"{self.name}_{start}")(ctypes.byref(state), *arguments)
        return state

    def lag_state(self, start, *arguments):
        """The same, of a model with lags."""
        kind = np.ctypeslib.as_ctypes_type(self.dtype) * self.line.size
        state = type("State", (ctypes.Structure,), {"_fields_": [("values", kind)]})()
        getattr(self.library, f"{self.name}_{start}")(ctypes.byref(state), *arguments)
        return state

    def step(self, state, row=None, before=(), forecast=False):
        """One row."""
        answer = np.empty(self.outputs, self.dtype)
        given = [] if row is None else [self._given(row)]
        for target in () if forecast or not self.told else [before]:
            self._told = None if target is None else np.ascontiguousarray(target, self.dtype)
            given.append(None if target is None else ctypes.c_void_p(self._told.ctypes.data))
        function = getattr(self.library, f"{self.name}_{'forecast' if forecast else 'step'}")
        function(ctypes.byref(state), *given, ctypes.c_void_p(answer.ctypes.data))
        return answer.astype(np.float64)
