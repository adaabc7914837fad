"""Files that released versions have written keep loading, to the same predictions."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import skscn
from skscn import archive, persistence
from skscn.persistence._pipelines import MODELS

FILES = Path(__file__).parents[1] / "files"
VERSIONS = sorted(path.name for path in FILES.iterdir() if path.is_dir() and path.name != "__pycache__")
RELEASED = [path for version in VERSIONS for path in sorted((FILES / version).glob("*.scn"))]


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_released_file_loads_to_the_same_predictions(path):
    expected = json.loads((path.parent / "expected.json").read_text(encoding="utf-8"))
    model = skscn.load_model(path)
    rows = pa.table(expected["table"]) if path.stem.endswith("-table") else np.array(expected["rows"])
    for method, answer in expected["answers"][path.stem].items():
        found = np.asarray(getattr(model, method)(rows[0] if method == "predict_one" else rows))
        if found.dtype.kind == "f":
            np.testing.assert_allclose(found, answer, rtol=1e-9, atol=1e-12)
        else:
            np.testing.assert_array_equal(found, answer)


def kinds(value):
    """Names of all classes in a header."""
    values = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    own = {value["class"]} if isinstance(value, dict) and isinstance(value.get("class"), str) else set()
    return own.union(*map(kinds, values))


def test_there_is_a_file_of_each_kind():
    headers = [archive.read_header(path, persistence._KIND) for path in RELEASED]
    assert set(MODELS) <= set().union(*map(kinds, headers))


UPDATABLE = [path for path in RELEASED if path.parent.name == "0.1.0" and "Pipeline" not in path.stem]


@pytest.mark.parametrize("path", UPDATABLE, ids=lambda path: path.stem)
def test_a_model_of_version_0_1_must_be_fitted_once_more_before_it_can_be_updated(path):
    model, rows = skscn.load_model(path), np.array(json.loads((path.parent / "expected.json").read_text())["rows"])
    with pytest.raises((ValueError, AttributeError)) as caught:
        model.partial_fit(rows, model.predict(rows))
    assert "must be fitted once more before it can be updated" in str(caught.value.__cause__ or caught.value)
