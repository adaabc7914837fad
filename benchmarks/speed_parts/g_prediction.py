"""Part g: prediction, and the time of the import."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from importlib.util import find_spec

import numpy as np

from skscn import SCNRegressor
from skscn.nodes import blocks
from speed_parts.fits import make_data, network, timed
from speed_parts.results import Cell, Part, ResultStore
from speed_parts.sizes import Sizes
from speed_parts.writing import Table, seconds_text, times_text

# What is imported; scikit-learn has callbacks since version 1.9.
MODULES = ("skscn", "sklearn.base", "sklearn.callback")
OPTIONAL = ("typer", "rich", "matplotlib", "pandas", "pyarrow", "dask")


def prediction_case(sizes: Sizes) -> str:
    return f"{sizes.predicted_rows} rows, 20 inputs, {sizes.predicting_nodes} nodes"


@lru_cache(maxsize=1)
def trained(nodes: int) -> SCNRegressor:
    return network(max_nodes=nodes).fit(*make_data(2000, 20))


def prediction_cells(sizes: Sizes) -> Iterator[Cell]:
    nodes, calls = sizes.predicting_nodes, sizes.calls
    many = {"limit": bare_prediction, "Network.predict": predict_network}
    one = {**many, "SCNRegressor.predict": predict_estimator}
    for turn in range(sizes.turns):
        for method, predict in many.items():
            measure = partial(measure_prediction, predict, nodes, sizes.predicted_rows, 1)
            yield Cell(("g", prediction_case(sizes), method, turn), measure)
    for turn in range(sizes.turns):
        for method, predict in one.items():
            yield Cell(
                ("g", f"one row, {nodes} nodes", method, turn), partial(measure_prediction, predict, nodes, 1, calls)
            )
    for turn in range(sizes.imports):
        for module in filter(find_spec, MODULES):
            yield Cell(("g", "import", module, turn), partial(measure_import, module))


def bare_prediction(model: SCNRegressor, X: np.ndarray) -> np.ndarray:
    """The product, tanh in place, and the product with the output weights."""
    outputs = np.empty((len(X), model.network_.n_outputs))
    for rows in blocks(len(X), max(model.network_.weights.shape)):
        z = X[rows] @ model.network_.weights
        outputs[rows] = np.tanh(z, out=z) @ model.network_.output_weights
    return outputs


def predict_network(model: SCNRegressor, X: np.ndarray) -> np.ndarray:
    return model.network_.predict(X)


def predict_estimator(model: SCNRegressor, X: np.ndarray) -> np.ndarray:
    return model.predict(X)


def measure_prediction(predict: Callable, nodes: int, rows: int, calls: int) -> dict:
    """The medians over ``calls`` calls."""
    model, X = trained(nodes), make_data(rows, 20)[0]
    times = [timed(lambda: predict(model, X)) for _ in range(calls)]
    return {name: float(np.median([time[name] for time in times])) for name in times[0]}


def measure_import(module: str) -> dict:
    """An import in a fresh process: its time, and what optional packages came with it."""
    program = (
        "import json, sys; from time import process_time; started = process_time(); "
        f"import {module}; cpu = process_time() - started; "
        f"print(json.dumps({{'cpu': cpu, 'optional': [name for name in {OPTIONAL} if name in sys.modules]}}))"
    )
    return json.loads(
        subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    )


def prediction_tables(store: ResultStore, sizes: Sizes) -> list[Table]:
    many, one = prediction_case(sizes), f"one row, {sizes.predicting_nodes} nodes"
    rows = [
        [
            method,
            f"{sizes.predicted_rows / store.median('g', many, method) / 1e6:.2f} million rows/s",
            times_text(store.ratio("g", many, method, "limit")),
        ]
        for method in ("limit", "Network.predict")
    ]
    latency = [
        [method, seconds_text(store.median("g", one, method)), times_text(store.ratio("g", one, method, "limit"))]
        for method in ("limit", "Network.predict", "SCNRegressor.predict")
    ]
    imports = [
        [
            f"import {module}",
            seconds_text(store.median("g", "import", module)),
            times_text(store.ratio("g", "import", module, "sklearn.base")),
            ", ".join(sorted({name for r in store.turns("g", "import", module) for name in r["optional"]})) or "none",
        ]
        for module in MODULES
        if store.turns("g", "import", module)
    ]
    return [
        Table(
            f"Prediction: {many}, one thread",
            ["", "speed", "times the limit"],
            rows,
            "The limit is the matrix product of rows and weights, tanh in place, and the product with the output "
            "weights, in blocks; it neither scales the inputs nor adds the linear part.",
        ),
        Table(f"Prediction: {one}", ["", "median", "times the limit"], latency),
        Table(
            "Import",
            ["", "processor time", "times sklearn.base", "optional packages that came with it"],
            imports,
            f"The optional packages looked for are {', '.join(OPTIONAL)}. Those imported by modules of scikit-learn, "
            "which skscn needs, are not imported by skscn itself.",
        ),
    ]


PART = Part("Prediction and import", prediction_cells, prediction_tables)
