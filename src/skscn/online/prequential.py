"""Prequential evaluation: each row is predicted, and only then learnt."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils.validation import check_consistent_length


@dataclass(frozen=True, eq=False)
class StreamRecord:
    """What a prequential evaluation has found, row by row.

    Attributes
    ----------
    y_true, y_pred : ndarray of shape (n,) or (n, n_outputs)
        Targets and predictions, of rows that had not been learnt; those before the first row was learnt are missing.
    lower, upper : ndarray of that shape, or None
        Prediction intervals, if the model has them.
    n_nodes : ndarray of shape (n,), or None
        The number of nodes when a row was predicted, if the model has nodes.
    events : structured ndarray or None
        The events of the model, if it has some.
    first : int
        The number of the first of these rows.
    seconds : float
        The time for all rows, predictions and learning together.
    classified : bool
        Whether the targets are classes.
    """

    y_true: np.ndarray
    y_pred: np.ndarray
    lower: np.ndarray | None
    upper: np.ndarray | None
    n_nodes: np.ndarray | None
    events: np.ndarray | None
    first: int
    seconds: float
    classified: bool

    @property
    def rows(self) -> np.ndarray:
        """The numbers of the rows."""
        return np.arange(self.first, self.first + len(self.y_true))

    @property
    def errors(self) -> np.ndarray:
        """The absolute error of each row, its mean with several outputs; for classes 1 if the prediction is wrong."""
        wrong: np.ndarray = self.y_true != self.y_pred if self.classified else np.abs(self.y_true - self.y_pred)
        errors: np.ndarray = wrong.reshape(len(wrong), -1).mean(axis=1)
        return errors

    @property
    def mae(self) -> float:
        """The mean absolute error; for classes the share of wrong predictions."""
        return float(self.errors.mean())

    @property
    def rmse(self) -> float:
        """The root mean squared error."""
        if self.classified:
            raise ValueError("Classes have no squared error; use mae, which is the share of wrong predictions.")
        return float(np.sqrt(((self.y_true - self.y_pred) ** 2).mean()))

    @property
    def hits(self) -> np.ndarray | None:
        """Whether the interval of each row contains its target; None without intervals."""
        if self.lower is None or self.upper is None:
            return None
        return (self.lower <= self.y_true) & (self.y_true <= self.upper)

    def coverage(self) -> float:
        """The share of targets in their intervals."""
        if self.hits is None:
            raise ValueError("This model has no prediction intervals.")
        return float(self.hits.mean())


def prequential(model: Any, X: ArrayLike, y: ArrayLike, *, chunk: int = 1, first: int = 1) -> StreamRecord:
    """Predict each row, then learn it: an honest error for every row but the first ones.

    Parameters
    ----------
    model : estimator with ``predict`` and ``partial_fit``
        It learns all rows. A classifier gets the classes of y with its first rows.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        In order of time.
    chunk : int, default=1
        How many rows are predicted together before they are learnt.
    first : int, default=1
        How many rows are learnt before the first prediction.

    Returns
    -------
    record : StreamRecord

    Examples
    --------
    >>> import numpy as np
    >>> from skscn import OnlineSCNRegressor
    >>> from skscn.online import prequential
    >>> X = np.random.default_rng(0).uniform(size=(300, 1))
    >>> record = prequential(OnlineSCNRegressor(random_state=0), X, np.sin(9 * X[:, 0]))
    >>> bool(record.errors[-100:].mean() < 0.05)
    True
    """
    rows, targets = np.asarray(X), np.asarray(y)
    check_consistent_length(rows, targets)
    if not 1 <= first < len(rows) or chunk < 1:
        raise ValueError(
            f"first must be at least 1 and below the number of rows, and chunk at least 1; got first={first} and "
            f"chunk={chunk} for {len(rows)} rows."
        )
    started = perf_counter()
    parts: list[tuple[Any, ...]] = []
    more = {"classes": np.unique(targets)} if is_classifier(model) else {}
    model.partial_fit(rows[:first], targets[:first], **more)
    for start in range(first, len(rows), chunk):
        part = slice(start, start + chunk)
        interval = model.predict_interval(rows[part]) if hasattr(model, "predict_interval") else (None, None)
        count = np.full(len(rows[part]), getattr(model, "n_nodes_", 0))
        parts.append((model.predict(rows[part]), *interval, count))
        model.partial_fit(rows[part], targets[part])
    predicted, lower, upper, nodes = (
        None if column[0] is None else np.concatenate(column) for column in zip(*parts, strict=True)
    )
    assert predicted is not None
    return StreamRecord(
        y_true=targets[first:],
        y_pred=predicted,
        lower=lower,
        upper=upper,
        n_nodes=nodes if hasattr(model, "n_nodes_") else None,
        events=getattr(model, "events_", None),
        first=first,
        seconds=perf_counter() - started,
        classified=is_classifier(model),
    )
