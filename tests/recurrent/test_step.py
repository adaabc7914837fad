"""The ONNX graph of a step: run row by row it agrees with predict, forecast and the stream."""

from copy import copy
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from skscn import RecurrentSCNRegressor
from skscn.export import to_c
from skscn.onnx import step_state, to_onnx
from skscn.series import Lags
from skscn.tables import TableEncoder

RNG = np.random.default_rng(3)
NAMES = ("plain", "groups", "feedback", "holds", "free")


@pytest.fixture(scope="module")
def models(recurrent_models):
    """Models by what they have, each with rows, which may be without columns, and targets."""
    return {
        name: (model, np.empty((len(known), 0)) if rows is None else rows, known)
        for name, (model, rows, known) in recurrent_models.items()
    }


def changed(model, **fields):
    """A copy of a model, with another reservoir."""
    model = copy(model)
    model.reservoir_ = replace(model.reservoir_, **fields)
    model.states_ = {label: replace(state, origin=model.reservoir_.origin) for label, state in model.states_.items()}
    return model


def opened(graph):
    onnx.checker.check_model(graph, full_check=True)
    return onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])


def run(model, state, rows, known=None, free=False):
    """Predictions row by row; targets come back, or forecasts if it runs freely."""
    session = opened(to_onnx(model))
    names = {given.name for given in session.get_inputs()}
    found, before = [], np.full((1, model.reservoir_.n_outputs), np.nan)
    for place, row in enumerate(rows):
        given = {"X": row[np.newaxis], "y_before": before, "state": state}
        result = session.run(None, {name: value for name, value in given.items() if name in names})
        state, answer = result[-1], result[-2] if free else result[0]
        found.append(answer[0])
        if known is not None:
            before = known[place].reshape(1, -1)
        before = answer if free else before
    return np.array(found), state


def shaped(model, predictions):
    return predictions[:, 0] if model.reservoir_.single_output else predictions


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("start", [None, "end"])
def test_rows_one_after_the_other_agree_with_predict(models, name, start):
    model, rows, known = models[name]
    # An input and a target that are far outside.
    rows, known = rows.copy(), None if known is None else known.copy()
    rows[20] = 1e6
    if known is not None:
        known[40] = 1e6
    given = rows if rows.shape[1] else None
    start = model.states_["b" if name == "groups" else 0] if start == "end" else start
    found, _ = run(model, step_state(model, start), rows, known)
    expected = model.predict(given, y=known, state=start)
    np.testing.assert_allclose(shaped(model, found), expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize("name", ["feedback", "free"])
def test_without_targets_predictions_come_back(models, name):
    model, rows, _ = models[name]
    found, _ = run(model, step_state(model), rows)
    reservoir = model.reservoir_
    expected = reservoir.shaped(reservoir.clip_outputs(reservoir.columns(rows)[0] @ reservoir.output_weights))
    np.testing.assert_allclose(shaped(model, found), expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize("name", ["feedback", "holds", "free"])
def test_a_free_run_agrees_with_forecast(models, name):
    model, rows, _ = models[name]
    found, _ = run(model, step_state(model, "end"), rows[:100], free=True)
    expected = model.forecast(100, rows[:100] if rows.shape[1] else None)
    np.testing.assert_allclose(shaped(model, found), expected, atol=1e-9, rtol=0)


def test_limits_of_what_comes_back(models):
    """A model whose outputs are cut off tells the two apart."""
    model = changed(models["free"][0], low=np.array([-0.2]), high=np.array([0.3]))
    found, _ = run(model, step_state(model, "end"), np.empty((50, 0)), free=True)
    np.testing.assert_allclose(found[:, 0], model.forecast(50), atol=1e-9, rtol=0)
    scaling = model.reservoir_.outputs
    assert found.max() == pytest.approx(0.3 * scaling.scale[0] + scaling.offset[0], abs=1e-9)


def test_some_nodes_are_products(models):
    assert models["plain"][0].reservoir_.nodes.products.any()
    assert models["plain"][0].reservoir_.length > 0


def test_all_nodes_are_products(models):
    """Of columns of the delay line and of states of the row before."""
    model, rows, _ = models["plain"]
    nodes = model.reservoir_.nodes.take(slice(0, 3))
    width = nodes.width
    nodes = replace(nodes, factors=np.array([[0, 1, width], [width - 1, width, width + 1]]))
    weights = np.vstack([model.reservoir_.output_weights[: 1 + width], RNG.normal(size=(3, 1))])
    model = changed(model, nodes=nodes, output_weights=weights)
    assert nodes.is_triangular()
    found, _ = run(model, step_state(model), rows)
    np.testing.assert_allclose(found[:, 0], model.predict(rows), atol=1e-9, rtol=0)


def test_no_nodes(models):
    model, rows, _ = models["plain"]
    none = model.reservoir_.nodes.take(slice(0, 0))
    model = changed(model, nodes=none, output_weights=model.reservoir_.output_weights[: 1 + none.width])
    columns, _ = model.reservoir_.columns(rows)
    session, state = opened(to_onnx(model)), np.full((1, none.width - 2), np.nan)
    for row, expected in zip(rows, columns @ model.reservoir_.output_weights, strict=True):
        predicted, state = session.run(None, {"X": row[np.newaxis], "state": state})
        expected = model.reservoir_.clip_outputs(expected[np.newaxis])
        np.testing.assert_allclose(predicted[0], model.reservoir_.shaped(expected), atol=1e-9, rtol=0)


def test_several_sequences_side_by_side(models):
    model, rows, _ = models["groups"]
    session = opened(to_onnx(model))
    state = step_state(model, sequences=3)
    parts = [rows[:50], rows[50:100], rows[100:150]]
    found = []
    for together in zip(*parts, strict=True):
        predicted, state = session.run(None, {"X": np.stack(together), "state": state})
        found.append(predicted)
    for place, part in enumerate(parts):
        np.testing.assert_allclose(np.array(found)[:, place], model.predict(part), atol=1e-9, rtol=0)


def test_the_state_after_training(models):
    """The same as that after all training rows, from a cold start."""
    model, rows, known = models["feedback"]
    _, state = run(model, step_state(model), rows, known)
    # The last target has not come back yet.
    end, outputs = step_state(model, "end"), model.reservoir_.n_outputs
    np.testing.assert_allclose(state[:, :-outputs], end[:, :-outputs], atol=1e-9, rtol=0)


def test_groups_have_a_state_each(models):
    model, rows, _ = models["groups"]
    ends = [step_state(model, model.states_[label]) for label in ("a", "b")]
    assert (ends[0] != ends[1]).any()
    found, _ = run(model, ends[1], rows[:30])
    np.testing.assert_allclose(found, model.predict(rows[:30], np.full(30, "b"), state="end"), atol=1e-9, rtol=0)
    with pytest.raises(ValueError, match="several sequences; states_ has"):
        step_state(model, "end")


def test_a_state_of_another_model(models):
    with pytest.raises(ValueError, match="belongs to another model"):
        step_state(models["plain"][0], models["free"][0].state_)


def test_columns_of_a_table_before_a_step(models):
    pipeline, table, _ = models["table"]
    encoder, model = pipeline[0], pipeline[-1]
    session = opened(to_onnx(pipeline))
    state, found = step_state(model), []
    for row in table.to_pylist():
        given = {"flow": np.array([[row["flow"]]]), "valve": np.array([[row["valve"]]], object), "state": state}
        predicted, state = session.run(None, given)
        found.append(predicted[0, 0])
    np.testing.assert_allclose(found, model.predict(encoder.transform(table)), atol=1e-9, rtol=0)
    named = TableEncoder().fit(table.rename_columns(["state", "valve"]))
    with pytest.raises(ValueError, match="input is called 'state', like one of the columns; rename"):
        to_onnx(Pipeline([("table", named), ("model", model)]))


def test_the_graph_goes_to_a_file_and_says_who_made_it(models, tmp_path):
    graph = to_onnx(models["plain"][0], tmp_path / "step.onnx", target_opset=17)
    assert onnx.load(tmp_path / "step.onnx") == graph
    assert (graph.producer_name, graph.graph.name) == ("scikit-scn", "RecurrentSCNRegressor")
    assert graph.opset_import[0].version == 17


def test_what_cannot_be_exported(models):
    model = models["plain"][0]
    with pytest.raises(ValueError, match=r"cannot be exported after StandardScaler; export the last step alone"):
        to_onnx(make_pipeline(StandardScaler(), model))
    lags = Lags([1]).fit(models["plain"][1])
    with pytest.raises(ValueError, match="cannot be exported after Lags"):
        to_onnx(make_pipeline(lags, model))
    with pytest.raises(ValueError, match="cannot be written after Lags"):
        to_c(make_pipeline(lags, model))
    with pytest.raises(ValueError, match="needs target_opset=13 or later; got 12"):
        to_onnx(model, target_opset=12)
    with pytest.raises(NotFittedError):
        to_onnx(RecurrentSCNRegressor())
    with pytest.raises(NotFittedError):
        step_state(RecurrentSCNRegressor())
