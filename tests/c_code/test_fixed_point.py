"""Models in fixed point: the compiled code has the bits of its emulation, and the errors that it states are true."""

import re
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skscn import (
    ACTIVATIONS,
    Activation,
    RecurrentSCNRegressor,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
)
from skscn.export import to_c
from skscn.export._examples import answers
from skscn.export._fixed import _REACH, BITS, in_fixed_point
from skscn.scaling import SCALINGS, WithQuantiles
from skscn.series import Lags
from skscn.table_model import TableModel

RNG = np.random.default_rng(8)
X = RNG.uniform(size=(300, 4))
# A constant column, and one that is mostly one value.
X[:, 2] = 0.25
X[:250, 3] = 0.5
Y = 10.0 * np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=300)
OUTPUTS = np.column_stack([Y, 1e4 + X[:, 1] ** 2])
LABELS = (3 * X[:, 0]).astype(int)
# Rows of training, beyond them, and far beyond them.
ROWS = np.vstack([X, RNG.uniform(-1.0, 2.0, (700, 4)), [[1e12] * 4, [-3e38] * 4]]).astype(np.float32).astype(float)
QUICK = {"n_members": 2, "max_nodes": 20}
SMALL = {"max_nodes": 12, "max_candidates": 20, "random_state": 0}


def regressors():
    """Regressors of many kinds, by names."""
    ladder = {**SMALL, "configuration": "ladder"}
    several = SCNEnsembleRegressor(SCNRegressor(**SMALL), n_members=3, max_features=0.7, random_state=0)
    models = {f"scaled_{name}": SCNRegressor(**ladder, scaling=name) for name in SCALINGS}
    models |= {name: SCNRegressor(**ladder, activation=name) for name in ACTIVATIONS}
    models |= {"polished": SCNRegressor(**SMALL), "robust": SCNRegressor(**SMALL, loss="huber")}
    models = {name: model.fit(X, Y) for name, model in models.items()}
    models["several"] = several.fit(X, OUTPUTS)
    models["linear"] = SCNRegressor(**SMALL).fit(X, X[:, 0])
    models["constant"] = SCNRegressor(**ladder).fit(X, np.full(len(X), 3.0))
    return models


def emulated(model, dtype, rows=X):
    return in_fixed_point(model, BITS[dtype], rows, answers, given=True)[0]


@pytest.mark.parametrize("dtype", BITS)
def test_bits_of_the_emulation(compiled, dtype):
    models = regressors()
    functions = compiled(models, dtype, rows=X)
    for name, model in models.items():
        found, _ = functions[name](ROWS)
        np.testing.assert_array_equal(found, answers(emulated(model, dtype), ROWS), err_msg=name)


def test_bits_of_jumps_along_inputs(compiled):
    rows = np.random.default_rng(0).uniform(size=(4000, 4))
    targets = 3.0 * (rows[:, 2] > 0.5) + rows[:, 1]
    model = SCNRegressor(**SMALL).fit(rows, targets)
    assert model.network_.inputs.columns.tolist() == [2]
    models = {"jumping": model, "small": SCNEnsembleRegressor(model, 3, random_state=0).fit(rows, targets).compact(20)}
    assert isinstance(models["small"].network_.inputs, WithQuantiles)
    functions = compiled(models, "int16", rows=rows)
    for name, each in models.items():
        found, _ = functions[name](rows[:200])
        np.testing.assert_array_equal(found, answers(emulated(each, "int16", rows), rows[:200]))


@pytest.mark.parametrize("dtype", BITS)
def test_its_own_test_asks_for_the_same_bits(tested, dtype):
    done = tested(SCNRegressor(**SMALL).fit(X, Y), dtype=dtype, rows=X)
    assert done.returncode == 0, done.stdout
    text = to_c(SCNRegressor(**SMALL).fit(X, Y), dtype=dtype, rows=X)
    assert "<= 0.0) continue" in text


def test_every_activation_has_its_table():
    assert _REACH.keys() == ACTIVATIONS.keys()


def stated(text):
    """The errors that a file states."""
    return tuple(
        map(float, re.search(r"\* by ([\d.e-]+) .*and by at most ([\d.e-]+?)(?: of|\.$)", text, re.M).groups())
    )


@pytest.mark.parametrize("dtype", BITS)
def test_the_errors_of_the_comment_are_those_of_the_code(compiled, dtype):
    model = SCNEnsembleRegressor(SCNRegressor(**SMALL), n_members=2, random_state=0).fit(X, Y)
    measured = X[1::2].astype(np.float32)
    found, _ = compiled({"model": model}, dtype, rows=X)["model"](measured)
    exact = model.predict(X[1::2])
    errors = np.abs(found[:, 0] - exact) / np.ptp(exact)
    expected = np.sqrt(np.mean(errors**2)), errors.max()
    np.testing.assert_allclose(stated(to_c(model, dtype=dtype, rows=X)), expected, rtol=0.06)


def functions_of_four_inputs():
    """Smooth, steep and additive functions, as rows of training, targets and rows of a test."""
    rng = np.random.default_rng(2)
    for function in (
        lambda x: 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3],
        lambda x: 1e-3 * np.tanh(40 * (x[:, 0] - x[:, 1])) + 5e-4 * x[:, 2],
        lambda x: 300.0 + np.exp(x.sum(axis=1)),
    ):
        x = rng.uniform(size=(1500, 4))
        yield x[:500], function(x[:500]), x[500:]
    x, y = load_diabetes(return_X_y=True)
    yield x[::2], y[::2], x[1::2]


@pytest.mark.parametrize("rows", [False, True])
def test_sixteen_bits_are_as_good_as_double_precision(rows):
    for x, y, new in functions_of_four_inputs():
        model = SCNRegressor(random_state=0).fit(x, y)
        given = x if rows else RNG.uniform(x.min(axis=0), x.max(axis=0), x.shape)
        fixed, _, _ = in_fixed_point(model, 16, given, answers, given=rows)
        assert np.abs(answers(fixed, new)[:, 0] - model.predict(new)).max() < 1e-3 * np.ptp(y)


def test_fitting_output_weights_to_rows_makes_eight_bits_usable():
    better = []
    for x, y, new in functions_of_four_inputs():
        # Noise, so that the error of the model itself is known to be larger.
        model = SCNRegressor(random_state=0).fit(x, y + 0.05 * y.std() * RNG.normal(size=len(y)))
        errors = [
            np.sqrt(np.mean((answers(in_fixed_point(model, 8, x, answers, given=given)[0], new)[:, 0] - exact) ** 2))
            for exact in [model.predict(new)]
            for given in (True, False)
        ]
        better.append(errors[0] / errors[1])
        assert errors[0] < 0.01 * np.ptp(y)
    assert np.prod(better) < 0.5


def test_a_larger_error_than_the_model_has_is_refused():
    x = RNG.uniform(size=(500, 2))
    model = SCNRegressor(random_state=0).fit(x, np.tanh(9 * x[:, 0] - 4 * x[:, 1]) + 1e-4 * RNG.normal(size=500))
    reason = r"With weights of 8 bits, predictions are off by .* more than the error of the model itself, .*; use "
    with pytest.raises(ValueError, match=reason + 'dtype="int16"'):
        to_c(model, dtype="int8", rows=x)
    assert "16 bits" in to_c(model, dtype="int16", rows=x)


def test_probabilities(compiled):
    member = SCNClassifier(**SMALL)
    models = {"one": member, "squared": SCNClassifier(**SMALL, loss="squared")}
    models["several"] = SCNEnsembleClassifier(member, n_members=2, random_state=0)
    for model in models.values():
        model.fit(X, LABELS)
    for dtype, largest in (("int16", 2e-3), ("int8", 0.3)):
        functions = compiled(models, dtype, rows=X)
        for name, model in models.items():
            found, labels = functions[name](X.astype(np.float32))
            np.testing.assert_allclose(found, answers(emulated(model, dtype), X), atol=2e-5, err_msg=name)
            assert np.abs(found - model.predict_proba(X)).max() < largest
            assert np.mean(model.classes_[labels] == model.predict(X)) > 0.95


def plant(n_rows=400):
    """A table whose target depends on earlier rows, with a category and gaps."""
    rng = np.random.default_rng(4)
    flow, valve = rng.uniform(size=n_rows), rng.choice(["open", "shut"], n_rows)
    level = np.zeros(n_rows)
    for n in range(2, n_rows):
        level[n] = 0.6 * level[n - 1] + flow[n - 2] * (valve[n] == "open") + 0.02 * rng.normal()
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n_rows), unit="h")
    table = pd.DataFrame({"when": when, "flow": flow, "valve": valve, "level": level})
    table.loc[::9, "flow"] = np.nan
    return table


@pytest.mark.parametrize("dtype", BITS)
def test_a_table_with_lags_and_bounds(tested, dtype):
    table = plant()
    model = TableModel(target="level", time="when", lags=[1, 2], delay=1, bounds=(0.0, 1.5), parameters=QUICK).fit(
        table
    )
    assert model.lags_.depth_ == 2
    done = tested(model, dtype=dtype, rows=table)
    assert done.returncode == 0, done.stdout
    text = to_c(model, name="plant", dtype=dtype, rows=table)
    assert f"with weights of {BITS[dtype]} bits. On 200 rows like those of training" in text
    assert "void plant_step(plant_state *state, const plant_row *row, const float *y_known, float *y);" in text
    assert "bytes for each state" in text
    assert stated(text)[0] < {"int16": 5e-4, "int8": 1e-2}[dtype]


def test_memory_as_the_compiler_has_it(cc, tmp_path):
    """The sizes of all tables, and of the arrays on the way to the deepest function."""
    model = SCNEnsembleRegressor(SCNRegressor(**SMALL), n_members=2, random_state=0).fit(X, OUTPUTS)
    for dtype in ("float64", "float32", "int16", "int8"):
        text = to_c(model, tmp_path / "model.c", dtype=dtype, **({"rows": X} if dtype in BITS else {}))
        constants, stack = map(int, re.search(r"(\d+) bytes of constants.*\n \* (\d+) bytes of arrays", text).groups())
        tables = re.findall(r"^static const \w+ (\w+)\[\]", text, re.M)
        sizes = " + ".join(f"sizeof {table}" for table in tables)
        program = f'#include "model.c"\n#include <stdio.h>\nint main(void) {{ printf("%u", (unsigned)({sizes})); }}\n'
        (tmp_path / "main.c").write_text(program, encoding="utf-8")
        cc(tmp_path / "main.c", "-o", tmp_path / "sizes")
        done = subprocess.run([tmp_path / "sizes"], capture_output=True, text=True, check=True)
        assert int(done.stdout) == constants
        # Inputs without gaps, outputs of a member, scaled inputs; in fixed point, inputs and outputs that are whole.
        real = 8 if dtype == "float64" else 4
        assert stack == real * (4 + 2 + 4) + (2 * 4 + 8 * 2 if dtype in BITS else 0)


def fitted(**options):
    return SCNRegressor(**SMALL, **options).fit(X, Y)


SOFTSIGN = Activation("softsign", lambda z: z / (1 + np.abs(z)), bound=1.0)


@pytest.mark.parametrize(
    ("model", "options", "reason"),
    [
        (lambda: RecurrentSCNRegressor(**SMALL).fit(X, Y), {}, 'Recurrent networks cannot .* use dtype="float32"'),
        (lambda: fitted(activation=SOFTSIGN), {}, "one layer with a built-in activation"),
        (lambda: fitted(monotone=[0, 1, 0, 0]), {}, "may break the constraints of monotone"),
        (lambda: fitted(scaling="standard"), {}, "limits of the inputs, which scaling='standard' does not give"),
        (fitted, {"dtype": "int8"}, 'dtype="int8" needs rows=….* dtype="int16" does not'),
        (fitted, {"rows": X[:9]}, "rows=… has 9 rows; fixed point needs at least 10"),
        (fitted, {"rows": X[:, 1:]}, "rows=… has 3 columns; the model has 4 inputs"),
        (fitted, {"rows": X, "dtype": "float32"}, 'rows=… is for fixed point; use it with dtype="int16"'),
        (lambda: SCNRegressor(**SMALL).fit(X, 1e38 * Y), {"rows": X}, "exceed the range of float32"),
        (
            lambda: make_pipeline(Lags([1], [1], delay=1), SCNRegressor(**SMALL)).fit(X, Y),
            {"rows": X},
            "has no earlier targets",
        ),
    ],
)
def test_what_fixed_point_refuses(model, options, reason, tmp_path):
    with pytest.raises(ValueError, match=reason):
        to_c(model(), tmp_path / "model.c", **{"dtype": "int16", **options})
    assert not list(tmp_path.iterdir())


def test_steps_before_the_network(tested):
    model = make_pipeline(StandardScaler(), SCNRegressor(**SMALL)).fit(X, Y)
    for dtype in BITS:
        done = tested(model, dtype=dtype, rows=X)
        assert done.returncode == 0, done.stdout
