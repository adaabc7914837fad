"""Part costs: the processor time of a fit under each loss, relative to squared error on the same rows."""

from functools import partial
from typing import Any

import numpy as np
from accuracy_parts.sets import DataSet
from accuracy_parts.summary import geometric_means, over_columns
from accuracy_parts.tables import Row, Table

from losses_parts.experiments import Experiment, load_tables
from losses_parts.learners import network, own
from losses_parts.measuring import fitted
from losses_parts.results import Results
from skscn import SCNClassifier

ROBUST = ("huber", "welsch", "bisquare", "kde")
REGRESSION = {
    "squared": own(network),
    **{loss: own(partial(network, loss=loss)) for loss in (*ROBUST, "absolute")},
    "quantile": own(partial(network, loss="quantile", quantile=0.95)),
    "poisson": own(partial(network, loss="poisson")),
}
CLASSIFICATION = {
    loss: own(lambda seed, loss=loss: SCNClassifier(loss=loss, random_state=seed)) for loss in ("squared", "log_loss")
}


def measure(data: DataSet, make: Any, seed: int) -> dict:
    """The time of a fit; there is none under "poisson" if targets are negative."""
    X, _, y, _ = data.split(seed)
    return fitted(make(seed), X, y)


def tables(results: Results, title: str) -> list[Table]:
    cpu = results.means("cpu")
    ratios = np.where(np.isfinite(cpu), cpu, np.nan) / cpu[:, [results.methods.index("squared")]]
    rows = [Row(case, values, 2) for case, values in zip(results.cases, ratios, strict=True)]
    summary = {"geometric mean": geometric_means(ratios), "smallest": over_columns(ratios, np.min)}
    summary["largest"] = over_columns(ratios, np.max)
    return [Table(title, results.methods, [*rows, *(Row(label, values, 2) for label, values in summary.items())])]


EXPERIMENTS = [
    Experiment(
        "costs",
        1,
        partial(load_tables, task),
        methods,
        measure,
        partial(tables, title=f"Fit, processor seconds relative to squared error: {task}"),
    )
    for task, methods in (("regression", REGRESSION), ("classification", CLASSIFICATION))
]
