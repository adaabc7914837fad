import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from skscn.datasets import load_compactiv, load_concrete, load_stock, read_keel

FOLDER = Path(os.environ["SKSCN_DATA"])
LOADERS = {"stock": load_stock, "concrete": load_concrete, "compactiv": load_compactiv}
SHAPES = {"stock": (950, 9), "concrete": (1030, 8), "compactiv": (8192, 21)}


@pytest.mark.parametrize("name", LOADERS)
def test_sets_have_the_papers_shapes(name):
    bunch = LOADERS[name]()
    assert bunch.data.shape == SHAPES[name]
    assert bunch.target.shape == SHAPES[name][:1]
    assert len(bunch.feature_names) == SHAPES[name][1]


@pytest.mark.parametrize("name", LOADERS)
def test_keel_files_hold_the_same_numbers(name, tmp_path, monkeypatch):
    table, keel = LOADERS[name](), read_keel(FOLDER / "keel" / f"{name}.dat")
    np.testing.assert_allclose(keel.data, table.data, rtol=1e-6)
    np.testing.assert_allclose(keel.target, table.target, rtol=1e-6)
    shutil.copy(FOLDER / "keel" / f"{name}.dat", tmp_path)
    monkeypatch.setenv("SKSCN_DATA", str(tmp_path))
    np.testing.assert_array_equal(LOADERS[name]().data, keel.data)
