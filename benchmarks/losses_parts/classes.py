"""Part classes: errors and probabilities of classifiers on tables."""

from functools import partial
from typing import Any

import numpy as np
from accuracy_parts.peers import catboost, lightgbm, xgboost
from accuracy_parts.sets import DataSet
from accuracy_parts.tables import Row, Table
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from losses_parts.experiments import Experiment, Method, load_tables
from losses_parts.learners import own
from losses_parts.measuring import fitted
from losses_parts.results import Results, ranked
from skscn import SCNClassifier, SCNEnsembleClassifier

# Smaller probabilities count as this one in the log loss.
LEAST = 1e-6


def measure(data: DataSet, make: Any, seed: int) -> dict:
    """The error, the log loss, and the smallest probabilities: of any class, and of a right one."""
    X, X_test, y, y_test = data.split(seed)
    model = make(seed)
    result = fitted(model, X, y)
    # CatBoost returns a column.
    predicted, probabilities = np.ravel(model.predict(X_test)), np.asarray(model.predict_proba(X_test))
    right = probabilities[np.arange(len(y_test)), y_test].astype(float)
    return result | {
        "test_rows": len(y_test),
        "error": float(np.mean(predicted != y_test)),
        "log_loss": float(-np.mean(np.log(np.clip(right, LEAST, 1.0)))),
        "smallest": float(probabilities.min()),
        "smallest_right": float(right.min()),
    }


def svc(seed: int) -> Any:
    return make_pipeline(StandardScaler(), SVC(probability=True, random_state=seed))


METHODS = {
    "SCN": own(lambda seed: SCNClassifier(loss="log_loss", random_state=seed)),
    "SCN-squared": own(lambda seed: SCNClassifier(loss="squared", random_state=seed)),
    "SCN-ensemble": own(lambda seed: SCNEnsembleClassifier(n_members=10, random_state=seed)),
    "CatBoost": Method(partial(catboost, kind="CatBoostClassifier"), package="catboost"),
    "LightGBM": Method(partial(lightgbm, kind="LGBMClassifier"), package="lightgbm"),
    "XGBoost": Method(partial(xgboost, kind="XGBClassifier"), package="xgboost"),
    "HGB": Method(lambda seed: HistGradientBoostingClassifier(random_state=seed)),
    "SVC": Method(svc),
    "forest": Method(lambda seed: RandomForestClassifier(random_state=seed)),
}


def tables(results: Results) -> list[Table]:
    errors = ranked(results, "error", "Classes: error rate", floors=half_a_row(results), notes=[ERROR_NOTE])
    log_loss = ranked(results, "log_loss", "Classes: log loss", notes=[LOG_LOSS_NOTE])
    return [errors, Table(log_loss.title, log_loss.methods, [*log_loss.rows, *smallest(results)], log_loss.notes)]


ERROR_NOTE = "An error rate counts in ratios and geometric means as half a wrong row at least."
LOG_LOSS_NOTE = f"Probabilities below {LEAST:g} count as {LEAST:g}. The smallest ones are over all sets and splits."


def half_a_row(results: Results) -> np.ndarray:
    """Half a wrong row in all the splits, as an error rate, by set."""
    rows = results.means("test_rows")
    return 0.5 / (results.splits * np.fmax.reduce(np.where(np.isfinite(rows), rows, np.nan), axis=1))


def smallest(results: Results) -> list[Row]:
    """The exponents of the smallest probabilities; minus infinity for zero."""
    with np.errstate(divide="ignore"):
        return [
            Row(f"smallest probability{of}, power of ten", np.log10(results.smallest(name)), 1)
            for of, name in ((" of a right class", "smallest_right"), ("", "smallest"))
        ]


EXPERIMENTS = [Experiment("classes", 5, lambda folder: load_tables("classification", folder), METHODS, measure, tables)]
