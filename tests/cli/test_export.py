"""``skscn export``: what is written for models that are not in a table's file."""

import numpy as np
import onnxruntime

from skscn import RecurrentSCNRegressor, save_model
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
    assert "RecurrentStream" in done.stderr
