import datetime as dt

import numpy as np
import onnx
import onnxruntime
import pyarrow as pa
import pytest

from skscn.tables import TableEncoder, as_table, prepend_table


def identity(width, output="encoded"):
    """A graph that gives what it gets."""
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, [None, width]) for name in ("X", output)]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Identity", ["X"], ["size"]), onnx.helper.make_node("Identity", ["size"], [output])],
        "identity",
        ends[:1],
        ends[1:],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture
def table():
    n_rows = 40
    days = [dt.datetime(2019, 1, 1) + dt.timedelta(hours=500 * i) for i in range(n_rows)]
    return pa.table(
        {
            # As names within the graph are.
            "X": [None if i % 5 == 0 else float(i) for i in range(n_rows)],
            "size": pa.array([f"{i},5" for i in range(n_rows)]),
            "town": [["Rome", "Oslo", "Bern", None][i % 4] for i in range(n_rows)],
            "kind": [["a", "b", "c", "d"][min(i % 7, 3)] for i in range(n_rows)],
            "when": days,
            "at": [day.time() for day in days],
            "yes": [i % 3 == 0 for i in range(n_rows)],
        }
    )


@pytest.mark.parametrize(("max_categories", "time"), [(2, None), (20, None), (20, "when")])
def test_the_graph_encodes_as_the_encoder_does(table, max_categories, time):
    encoder = TableEncoder(max_categories, time=time).fit(table)
    graph = prepend_table(identity(len(encoder.get_feature_names_out())), encoder)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    # Also a category that training did not have.
    other = table.set_column(3, "kind", pa.array(["new", *table["kind"].to_pylist()[1:]]))
    inputs = {}
    for column in encoder.columns_:
        values = as_table(other).column(column.name)
        texts = column.kind == "category"
        given = [text or "" for text in values.to_list()] if texts else column.floats(values)
        inputs[column.name] = np.array(given, dtype=object if texts else float)[:, np.newaxis]
    (encoded,) = session.run(["encoded"], inputs)
    np.testing.assert_allclose(encoded, encoder.transform(other), rtol=0, atol=1e-9)


def test_an_output_that_is_called_like_a_column(table):
    encoder = TableEncoder().fit(table)
    with pytest.raises(ValueError, match="output is called 'town'"):
        prepend_table(identity(len(encoder.get_feature_names_out()), "town"), encoder)
