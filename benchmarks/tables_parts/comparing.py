"""Tables straight into estimators, after a TableEncoder, and into CatBoost with its own treatment of categories."""

from collections.abc import Iterator
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from accuracy_parts.peers import catboost, is_installed
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

import skscn
from skscn.tables import TableEncoder
from tables_parts.frames import KINDS, Table, make

ROWS, TEST_ROWS = 1500, 2000
STRAIGHT, ENCODED, OTHER = "{}", "TableEncoder + {}", "CatBoost"
MODELS = {
    "regression": ("SCNRegressor", "SCNEnsembleRegressor"),
    "classification": ("SCNClassifier", "SCNEnsembleClassifier"),
}


class Compared(NamedTuple):
    """The test error of a method on one table: root mean squared error, or log loss, and processor time of its fit."""

    table: str
    seed: int
    method: str
    error: float
    seconds: float


def measure(splits: int, tables: list[str] | None = None) -> Iterator[Compared]:
    """All methods on all tables."""
    for kind in tables or KINDS:
        for seed in range(splits):
            table = make(kind, seed, ROWS, TEST_ROWS)
            for name, model in methods(table.task, seed).items():
                start = process_time()
                fitted = model.fit(table.X, table.y)
                yield Compared(kind, seed, name, error(fitted, table), process_time() - start)


def methods(task: str, seed: int) -> dict[str, Any]:
    """What is compared, with default settings."""
    found: dict[str, Any] = {}
    for name, label in zip(MODELS[task], ("SCN", "SCN ensemble"), strict=True):
        found[STRAIGHT.format(label)] = getattr(skscn, name)(random_state=seed)
        found[ENCODED.format(label)] = make_pipeline(TableEncoder(), getattr(skscn, name)(random_state=seed))
    return found | ({OTHER: Boosted(task, seed)} if is_installed(OTHER) else {})


class Boosted:
    """CatBoost, with categories as it wants them, and dates as days."""

    def __init__(self, task: str, seed: int):
        self.model = catboost(seed, "CatBoostRegressor" if task == "regression" else "CatBoostClassifier")

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "Boosted":
        categories = [name for name in X if X[name].dtype.kind not in "biufM"]
        self.model.fit(self._prepared(X), y, cat_features=categories)
        self.classes_ = getattr(self.model, "classes_", None)
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return self.model.predict(self._prepared(X))

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        return self.model.predict_proba(self._prepared(X))

    def _prepared(self, X: pd.DataFrame) -> pd.DataFrame:
        return X.apply(_prepared)


def _prepared(column: pd.Series) -> pd.Series:
    if column.dtype.kind == "M":
        return (column - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
    return column if column.dtype.kind in "biuf" else column.astype(object).where(column.notna(), "missing")


def error(model: Any, table: Table) -> float:
    """On test rows."""
    if table.task == "classification":
        return float(log_loss(table.expected, model.predict_proba(table.tested), labels=np.unique(table.y)))
    return float(np.sqrt(np.mean((model.predict(table.tested) - table.expected) ** 2)))


def summary(compared: list[Compared]) -> list[str]:
    """Lines of a table: mean errors, and the ratios to those after a TableEncoder and to CatBoost's."""
    lines = [f"{'table':12} {'method':28} {'error':>8} {'seconds':>8} {'/ encoded':>10} {'/ CatBoost':>10}"]
    for kind in dict.fromkeys(one.table for one in compared):
        these = [one for one in compared if one.table == kind]
        names = list(dict.fromkeys(one.method for one in these))
        errors = {name: float(np.mean([one.error for one in these if one.method == name])) for name in names}
        for name in names:
            seconds = np.mean([one.seconds for one in these if one.method == name])
            ratios = [
                errors[name] / errors[other] if other in errors else np.nan for other in (ENCODED.format(name), OTHER)
            ]
            lines.append(f"{kind:12} {name:28} {errors[name]:8.4f} {seconds:8.2f} {ratios[0]:10.3f} {ratios[1]:10.3f}")
    return lines
