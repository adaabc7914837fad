"""``skscn export``: a model as an ONNX file or as a C file."""

from __future__ import annotations

from pathlib import Path

from sklearn.pipeline import make_pipeline

from skscn.cli._models import Model, open_model
from skscn.cli._outputs import check_output
from skscn.cli._voice import Voice, write_text
from skscn.export import to_c
from skscn.onnx import to_onnx
from skscn.persistence import load_model
from skscn.recurrent import RecurrentSCNRegressor
from skscn.tables import TableEncoder
from skscn.tables.columns import Category
from skscn.words import listed


def run_export(model_path: Path, out: Path, voice: Voice) -> None:
    """Write the model as a graph, or as a C file, that takes the columns of a table."""
    check_output(out, [model_path], [".onnx", ".c"])
    model = open_model(model_path)
    if model.lags is not None:
        raise ValueError(
            f"{model_path.name} uses earlier rows, and a graph sees one row at a time; to export a model, fit it "
            "without --lags."
        )
    if out.suffix.lower() == ".c":
        # As it was saved, with the names of its columns.
        to_c(load_model(model_path), out, outputs=None if model.target is None else [model.target.name])
        voice.notes([f"The comment at the beginning of {out.name} shows how to call it."])
    else:
        _write_graph(model, out, voice)
    write_text(f"{out}\n")


def _write_graph(model: Model, out: Path, voice: Voice) -> None:
    if isinstance(model.encoder, TableEncoder):
        to_onnx(make_pipeline(model.encoder, model.estimator), out)
        voice.notes(_inputs(model.encoder))
    else:
        to_onnx(model.estimator, out)
    if isinstance(model.estimator, RecurrentSCNRegressor):
        voice.notes(["The graph is one step: it takes a row and the state, and returns the state for the next row."])


def _inputs(encoder: TableEncoder) -> list[str]:
    """What the graph takes, in words."""
    words = {
        "number": "numbers",
        "boolean": "0 or 1",
        "date": "days since 1970-01-01",
        "time": "hours since midnight",
    }
    texts = [column.name for column in encoder.columns_ if isinstance(column, Category)]
    kinds = {kind: [column.name for column in encoder.columns_ if column.kind == kind] for kind in words}
    lines = [f"Inputs of type float64 ({words[kind]}): {listed(names)}." for kind, names in kinds.items() if names]
    lines += [f"Inputs of type string: {listed(texts)}."] if texts else []
    return [*lines, 'Each input has the shape (rows, 1); missing values are NaN, or "" for strings.']
