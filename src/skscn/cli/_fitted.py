"""What came of a fit, and the model file that it is written to."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from skscn.cli._fit_options import FitOptions
from skscn.cli._models import data_name, notes_to_save
from skscn.cli._seen import RowSketch
from skscn.cli._validated import Validated
from skscn.fitted_loss import loss_of
from skscn.losses import name_of
from skscn.persistence import save_model
from skscn.series import Lags
from skscn.tables import TableEncoder, Target


@dataclass
class Fitted:
    """What came of it; the number of outliers is None if the loss does not weigh rows.

    The clock of a model of earlier rows is the time of the last row and the usual time between rows. ``counts`` is what
    there is to say about a target that looks like counts.
    """

    encoder: TableEncoder
    estimator: Any
    target: Target
    n_rows: int
    interrupted: bool
    path: Path
    tests_interrupted: bool = False
    validated: Validated | None = None
    sketch: RowSketch | None = None
    warnings: list[str] = field(default_factory=list)
    n_outliers: int | None = None
    lags: Lags | None = None
    clock: dict[str, Any] | None = None
    counts: str | None = None

    @property
    def loss(self) -> str:
        """The name of the loss; recurrent networks have only one."""
        loss = loss_of(self.estimator)
        return "squared" if loss is None else name_of(loss)


def path_to_write(path: Path, interrupted: bool) -> Path:
    """Where to write: a model that was cut short does not replace another, it goes next to it."""
    return path.with_name(f"{path.stem}.partial{path.suffix}") if interrupted and path.exists() else path


def save_fitted(fitted: Fitted, options: FitOptions) -> None:
    """Write the encoder and the estimator as a pipeline, with notes about the data and the tests."""
    lags = [] if fitted.lags is None else [("lags", fitted.lags)]
    pipeline = Pipeline([("table", fitted.encoder), *lags, ("model", fitted.estimator)])
    notes = {
        "target": fitted.target.to_json(),
        "data": data_name(options.data),
        "rows": fitted.n_rows,
        "sketch": fitted.sketch.to_json() if fitted.sketch else None,
        "fitted": datetime.now(UTC).isoformat(timespec="seconds"),
        "interrupted": fitted.interrupted,
        "tested": fitted.validated.facts() if fitted.validated else None,
        "time": fitted.encoder.time_,
        "loss": fitted.loss,
        "outliers": fitted.n_outliers,
        "clock": fitted.clock,
        "group": options.group if options.past is not None else None,
    }
    save_model(pipeline, fitted.path, notes=notes_to_save(notes))
