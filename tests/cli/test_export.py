"""``skscn export``: what is written for models that are not in a table's file."""

import numpy as np
import onnxruntime
import pandas as pd

from skscn import RecurrentSCNRegressor, SCNRegressor, save_model
from skscn.onnx import step_state


def test_a_step_of_a_recurrent_network(skscn, tmp_path):
    wave = np.sin(np.arange(200) / 4)
    model = RecurrentSCNRegressor(max_nodes=3, feedback=True, max_candidates=20, random_state=0).fit(None, wave)
    save_model(model, tmp_path / "wave.scn")
    done = skscn("export", tmp_path / "wave.scn", tmp_path / "step.onnx")
    assert done.stdout == f"{tmp_path / 'step.onnx'}\n"
    assert "takes a row and the state" in done.stderr
    session = onnxruntime.InferenceSession(tmp_path / "step.onnx")
    given = {"y_before": np.array([[np.nan]]), "state": step_state(model, "end")}
    np.testing.assert_allclose(session.run(["forecast"], given)[0][0], model.forecast(1), atol=1e-9)


def test_a_stream_is_refused(skscn, tmp_path):
    wave = np.sin(np.arange(200) / 4)
    model = RecurrentSCNRegressor(max_nodes=3, feedback=True, max_candidates=20, random_state=0).fit(None, wave)
    save_model(model.stream(), tmp_path / "stream.scn")
    done = skscn("export", tmp_path / "stream.scn", tmp_path / "step.onnx", code=1)
    assert "contains a stream" in done.stderr


def test_a_c_file_takes_the_columns_of_a_table(skscn, houses_model, tmp_path):
    done = skscn("export", houses_model, tmp_path / "houses.c")
    assert done.stdout == f"{tmp_path / 'houses.c'}\n"
    assert "at the beginning of houses.c" in done.stderr
    text = (tmp_path / "houses.c").read_text(encoding="utf-8")
    assert "void houses_predict(const houses_row *row, double *y);" in text
    assert "y[0]: price" in text
    assert "sold: days since 1970-01-01; missing if NaN" in text


def test_fixed_point(skscn, houses_model, houses, tmp_path):
    path = tmp_path / "houses.c"
    skscn("export", houses_model, path, "--dtype", "int16")
    assert "with weights of 16 bits. On 500 rows spread over the ranges" in path.read_text(encoding="utf-8")
    skscn("export", houses_model, path, "--dtype", "int16", "--rows", houses)
    assert "rows like those of training" in path.read_text(encoding="utf-8")
    done = skscn("export", houses_model, path, "--rows", houses, code=1)
    assert "--rows is for fixed point; use it with --dtype int16 or --dtype int8." in done.stderr
    assert "'int7' is not one of" in skscn("export", houses_model, path, "--dtype", "int7", code=2).stderr
    done = skscn("export", houses_model, tmp_path / "houses.onnx", "--dtype", "int16", code=2)
    assert "is for .c files" in done.stderr


def test_names_of_columns_of_a_model_from_python(skscn, tmp_path):
    frame = pd.DataFrame({"flow": np.arange(50.0), "heat": np.arange(50.0)[::-1] ** 2})
    save_model(SCNRegressor(max_nodes=3, random_state=0).fit(frame, frame["heat"] / 7), tmp_path / "plant.scn")
    skscn("export", tmp_path / "plant.scn", tmp_path / "plant.c")
    text = (tmp_path / "plant.c").read_text(encoding="utf-8")
    assert "x[0]: flow\n *     x[1]: heat\n" in text
