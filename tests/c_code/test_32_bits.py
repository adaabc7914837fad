"""Models in fixed point on a processor of 32 bits, whose sums in single precision have more digits in between."""

import subprocess

import numpy as np
import pytest

from skscn import SCNEnsembleRegressor, SCNRegressor
from skscn.activations import ACTIVATIONS
from skscn.export import to_c
from skscn.export._examples import answers
from skscn.export._fixed import BITS, in_fixed_point
from skscn.scaling import SCALINGS

RNG = np.random.default_rng(6)
X = RNG.uniform(size=(200, 3)).astype(np.float32).astype(float)
Y = 1e3 + np.column_stack([np.sin(6 * X[:, 0]) + X[:, 1], X[:, 2] ** 2])
ROWS = np.vstack([X, RNG.uniform(-1.0, 2.0, (4000, 3)), [[1e12] * 3, [-3e38] * 3]]).astype(np.float32).astype(float)
SMALL = {"max_nodes": 12, "max_candidates": 20, "random_state": 0}
PROGRAM = """
#include <stdio.h>
void model_predict(const float *x, float *y);
int main(void)
{
    float x[3], y[2];
    if (sizeof(void *) != 4) return 1;
    while (fread(x, sizeof x, 1, stdin) == 1) {
        model_predict(x, y);
        if (fwrite(y, sizeof y, 1, stdout) != 1) return 1;
    }
    return 0;
}
"""
MODELS = {
    **{name: {"activation": name} for name in ACTIVATIONS},
    **{f"scaling {name}": {"scaling": name} for name in SCALINGS},
    "several": {},
}


@pytest.mark.parametrize("optimised", ["-O2", pytest.param("-O0", marks=pytest.mark.slow)])
@pytest.mark.parametrize("dtype", BITS)
def test_bits_of_the_emulation(cc, tmp_path, dtype, optimised):
    (tmp_path / "main.c").write_text(PROGRAM, encoding="utf-8")
    for name, settings in MODELS.items():
        model = SCNRegressor(**SMALL, configuration="ladder", **settings)
        if name == "several":
            model = SCNEnsembleRegressor(SCNRegressor(**SMALL), n_members=3, max_features=0.7, random_state=0)
        model.fit(X, Y)
        to_c(model, tmp_path / "model.c", dtype=dtype, rows=X)
        cc("-m32", optimised, tmp_path / "model.c", tmp_path / "main.c", "-o", tmp_path / "model")
        done = subprocess.run([tmp_path / "model"], input=ROWS.astype("<f4").tobytes(), capture_output=True, check=True)
        expected = answers(in_fixed_point(model, BITS[dtype], X, answers, given=True)[0], ROWS)
        np.testing.assert_array_equal(np.frombuffer(done.stdout, "<f4").reshape(-1, 2), expected, err_msg=name)
