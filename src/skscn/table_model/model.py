"""One object from a table to a prediction: target, columns, order of the rows, earlier values and estimator."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from datetime import UTC, datetime
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skscn.declarations import Estimator, attribute, parameter
from skscn.fitted_loss import loss_of
from skscn.following import is_recurrent
from skscn.losses import Loss, name_of
from skscn.readers import as_file
from skscn.table_model.parameters import DECLARATIONS
from skscn.table_model.settings import check_combination, is_recurrent_kind
from skscn.tables import TableEncoder, TableFile, Target
from skscn.words import listed, nearest, quoted

if TYPE_CHECKING:
    from skscn.judging import Assessment
    from skscn.plausibility import TargetGate
    from skscn.series import Lags
    from skscn.table_model.arriving import RowReader
    from skscn.table_model.files import NumericColumns
    from skscn.table_model.fitting import FitObserver
    from skscn.table_model.live import LiveModel
    from skscn.table_model.resampling import Resampling
    from skscn.table_model.updating import Update


def _declared(name: str, *constraint: Any) -> Any:
    """The parameter of that name: one of its choices, a number that is large enough, or what is given here."""
    of, allowed = DECLARATIONS[name], list(constraint)
    allowed += [StrOptions(set(of.choices))] if of.choices else []
    allowed += [] if of.least is None else [Interval(Integral, of.least, None, closed="left")]
    text = " ".join(filter(None, [of.text, of.python]))
    return parameter(default=of.default, constraint=allowed, text=f"{of.kind}\n{text}")


class TableModel(Estimator):
    """A model of one column of a table: it reads, encodes, trains, tests, predicts, learns further and is saved.

    ``fit`` takes a file, a folder, or a data frame of any library. It finds out which columns hold numbers, categories,
    dates or text, whether the target is a number, a count or a class, and whether the rows are a time series; it
    trains, and tests the model on rows that were held out. ``notes_`` says what was decided, and each decision can be
    made otherwise by a parameter.

    Use an estimator such as :class:`~skscn.SCNRegressor` for rows that are independent of each other and prepared by
    your own pipeline; use a table model for everything else.

    Attributes
    ----------
    target_ : Target or None
        The target; None if a model that was saved by another class does not say.
    encoder_ : TableEncoder
        What turns columns into numbers.
    lags_ : Lags or None
        What adds earlier values.
    estimator_ : estimator
        The network, ensemble or recurrent network, which takes encoded rows.
    assessment_ : Assessment or None
        The tests of the fit; None if there were none.
    notes_ : list of str
        What was decided while the model was fitted, in words.
    n_rows_ : int
        How many rows the model was trained on.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn import TableModel
    >>> rng = np.random.default_rng(0)
    >>> flats = {"area": rng.uniform(20, 120, 200), "district": rng.choice(["north", "south"], 200)}
    >>> flats["rent"] = 8 * flats["area"] + 150 * (flats["district"] == "south") + rng.normal(0, 20, 200)
    >>> model = TableModel("rent", folds=2, parameters={"n_members": 3}).fit(flats)
    >>> model.assessment_.scores["r2"] > 0.95
    True
    >>> low, high = model.predict_interval({"area": [50.0], "district": ["south"]})
    >>> bool(low[0] < 550 < high[0])
    True
    """

    target: str | None = _declared("target", str, None)
    _: KW_ONLY
    time: str | Literal[False] | None = _declared("time", str, None, "boolean")
    every: str | None = _declared("every", str, None)
    group: str | None = _declared("group", str, None)
    lags: str | Sequence[int] | None = _declared("lags", StrOptions({"auto"}), "array-like", None)
    estimator: str | BaseEstimator = _declared("estimator", BaseEstimator)
    loss: str | Loss | None = _declared("loss", str, Loss, None)
    task: str = _declared("task")
    class_weight: Any = _declared("class_weight", dict, None)
    delay: int | None = _declared("delay", None)
    feedback: bool = _declared("feedback", "boolean")
    drop: str | Sequence[str] = _declared("drop", str, "array-like")
    weight: str | None = _declared("weight", str, None)
    bounds: tuple[float, float] | None = _declared("bounds", "array-like", None)
    monotone: Mapping[str, int] | None = _declared("monotone", Mapping, None)
    folds: int | None = _declared("folds", None)
    dates: str = _declared("dates")
    parameters: Mapping[str, Any] | None = _declared("parameters", Mapping, None)
    random_state: int | None = _declared("random_state", "random_state")
    n_jobs: int | None = _declared("n_jobs", Integral, None)
    memory_limit: int | None = _declared("memory_limit", None)
    verbose: bool = _declared("verbose", "boolean")

    # A Target, an encoder and an Assessment, each of which may be None after loading.
    target_: Any = attribute()
    encoder_: Any = attribute()
    lags_: Lags | None = attribute()
    estimator_: Any = attribute()
    assessment_: Any = attribute()
    notes_: list[str] = attribute()
    n_rows_: int = attribute()
    # The column that tells several series apart, if there are several.
    group_: str | None = attribute()
    bounds_: tuple[float, float] | None = attribute()
    # How rows are resampled.
    every_: Resampling | None = attribute()
    clock_: dict[str, Any] | None = attribute()
    # What RowSketch.to_json gives.
    sketch_: dict[str, Any] | None = attribute()
    gate_: TargetGate | None = attribute()
    # The absolute errors of the tests in increasing order, or some of them, for intervals of a single network.
    errors_: np.ndarray | None = attribute()
    # What a file says besides, such as where the rows came from; and the notes of a user.
    record_: dict[str, Any] = attribute()
    user_notes_: dict[str, Any] = attribute()
    path_: Path | None = attribute(None)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.estimator_type = (
            None if not hasattr(self, "estimator_") else "classifier" if self.is_classifier else "regressor"
        )
        return tags

    # What follows from the parameters.

    @property
    def recurrent(self) -> bool:
        """Whether recurrent networks are trained."""
        return is_recurrent_kind(self.estimator)

    @property
    def ensemble_of_recurrent(self) -> bool:
        """Whether an ensemble of recurrent networks is trained."""
        return isinstance(self.estimator, str) and self.estimator == "recurrent-ensemble"

    @property
    def past(self) -> str | None:
        """The kind of model, if its predictions depend on earlier rows; None if each row is predicted on its own."""
        return "a recurrent network" if self.recurrent else None if self.lags is None else "a model with lags"

    # What follows from the fit.

    @property
    def label(self) -> str:
        """How messages refer to the model within a sentence."""
        return "the model" if self.path_ is None else self.path_.name

    @property
    def subject(self) -> str:
        """How messages refer to the model at the beginning of a sentence."""
        return "The model" if self.path_ is None else self.path_.name

    @property
    def is_classifier(self) -> bool:
        """Whether the fitted model predicts classes."""
        return hasattr(self.estimator_, "predict_proba")

    @property
    def labels(self) -> Collection[Any]:
        """The series that were in training, if there were several."""
        if is_recurrent(self.estimator_):
            return list(self.estimator_.states_)
        return [] if self.lags_ is None else self.lags_.groups_ or []

    @property
    def uses_past(self) -> bool:
        """Whether predictions depend on earlier rows."""
        return self.lags_ is not None or is_recurrent(self.estimator_)

    @property
    def knows_targets(self) -> bool:
        """Whether the target of the row before is an input."""
        return bool(getattr(self.estimator_, "feedback", False))

    @property
    def uses_targets(self) -> bool:
        """Whether earlier targets are inputs."""
        return self.knows_targets or (self.lags_ is not None and self.lags_.target is not None)

    @property
    def has_intervals(self) -> bool:
        """Whether the model provides prediction intervals."""
        if self.errors_ is not None:
            return True
        known = getattr(self.estimator_, "oob_prediction_", np.zeros(1))
        return hasattr(self.estimator_, "predict_interval") and bool(np.isfinite(known).any())

    def bounded(self, values: np.ndarray) -> np.ndarray:
        """Predictions, or ends of intervals, within the bounds of the target."""
        return values if self.bounds_ is None else values.clip(*self.bounds_)

    def runs_free(self, file: TableFile) -> bool:
        """Whether predictions of a table come back as inputs, because it lacks the target."""
        return self.knows_targets and (self.target_ is None or self.target_.name not in file.names)

    def order_types(self, file: TableFile) -> dict[str, Any]:
        """The column of a table with the time of the rows, and its type; empty if there is none."""
        timed = isinstance(self.encoder_, TableEncoder) and self.encoder_.time_ in file.names
        return self.encoder_.time_types if timed else {}

    @property
    def classes_(self) -> np.ndarray:
        """The classes, as they are written in the table."""
        classes = self.estimator_.classes_
        return classes if self.target_ is None else self.target_.written(classes)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The names of the columns that the model needs."""
        return np.array([] if self.encoder_ is None else list(self.encoder_.read_types), dtype=object)

    @property
    def loss_(self) -> str:
        """The name of the loss; recurrent networks have only one."""
        loss = loss_of(self.estimator_)
        return "squared" if loss is None else name_of(loss)

    def columns(self, file: TableFile, without: tuple[str, ...] = ()) -> TableEncoder | NumericColumns:
        """The encoder for a table; ValueError if columns are missing."""
        from skscn.table_model.files import guess_columns

        encoder = self.encoder_ or guess_columns(self, file, without)
        there = set(file.names)
        missing = [name for name in encoder.read_types if name not in there]
        if missing:
            near = nearest(missing[0], file.names) if len(missing) == 1 else None
            meant = f" ({quoted(near)} is there: rename it if that is the one)" if near else ""
            raise ValueError(
                f"{file.label} lacks the column{'s' if len(missing) > 1 else ''} {listed(map(quoted, missing))}, "
                f"which {self.label} needs{meant}; its columns are {listed(file.names)}."
            )
        return encoder

    def find_target(self, name: str | None, file: TableFile) -> Target:
        """The target in a table, of this name if the user gave one."""
        if self.target_ is not None and name in (None, self.target_.name):
            target = self.target_
        elif name is None:
            raise ValueError(f'{self.subject} does not say what it predicts; name the target column: target="COLUMN".')
        elif self.target_ is not None:
            raise ValueError(
                f"{self.subject} predicts {quoted(self.target_.name)}, not {quoted(name)}; leave the target out."
            )
        else:
            classes = self.estimator_.classes_.dtype.kind if self.is_classifier else None
            kinds = {None: "number", "b": "boolean", "i": "whole", "u": "whole"}
            target = Target(name, kinds.get(classes, "text"))
        file.find(target.name)
        return target

    # Training.

    def fit(self, table: Any, observer: FitObserver | None = None) -> Self:
        """Train on a table, and test the model on rows that are held out.

        Parameters
        ----------
        table : path, data frame, Arrow table or mapping of columns
            A .csv, .tsv, .txt (each also as .gz), .parquet, .arrow, .feather or .dat file, a folder of such files, or a
            frame of pandas, Polars or another library.
        observer : FitObserver, default=None
            Is told about decisions and progress, and may end the fit.

        Returns
        -------
        self
        """
        from skscn.table_model.fitting import FitObserver, fit_table

        self._validate_params()
        check_combination(self)
        fit_table(self, as_file(table), observer or FitObserver(self.verbose))
        return self

    # Predicting.

    def open(self, table: Any) -> TableFile:
        """A table as the model reads it: open, and resampled if the training rows were."""
        file = as_file(table)
        return file if self.every_ is None else self.every_(file)

    def read(self, table: Any, extra: Mapping[str, Any] | None = None, without: tuple[str, ...] = ()) -> RowReader:
        """The rows of a table, encoded some at a time, in the order that the model needs."""
        from skscn.table_model.arriving import RowReader

        check_is_fitted(self)
        return RowReader(self, self.open(table), dict(extra or {}), without)

    def predict(self, table: Any) -> np.ndarray:
        """Predict the target of every row; classes as they are written in the table of training.

        Parameters
        ----------
        table : as in :meth:`fit`
            With the columns of training; the target is needed only where earlier targets are inputs.

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        predicted = np.concatenate(list(self._each(table, "predict")))
        return predicted if self.target_ is None else self.target_.written(predicted)

    def predict_interval(self, table: Any, coverage: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """The lower and upper limits of intervals that are meant to contain a share ``coverage`` of the targets."""
        check_is_fitted(self)
        file = self.open(table)
        self.check_intervals(file)
        lower, upper = zip(*self._each(file, "predict_interval", coverage), strict=True)
        return np.concatenate(lower), np.concatenate(upper)

    def predict_proba(self, table: Any) -> np.ndarray:
        """The probabilities of the classes, in the order of ``classes_``; shape (n_rows, n_classes)."""
        self.check_probabilities()
        return np.concatenate(list(self._each(table, "predict_proba")))

    def _each(self, table: Any, method: str, *arguments: Any) -> Iterator[Any]:
        """The results of a method for some rows after the other."""
        rows = self.read(table)
        for batch in rows:
            yield getattr(batch, method)(*arguments)
        if not rows.n_rows:
            raise ValueError(f"{rows.file.label} has no rows to predict.")

    def check_probabilities(self) -> None:
        """Raise ValueError for a model of numbers."""
        check_is_fitted(self)
        if not self.is_classifier:
            raise ValueError(f"{self.subject} predicts numbers, not class probabilities; ask for an interval instead.")

    def check_intervals(self, file: TableFile | None = None) -> None:
        """Raise ValueError for a model without intervals, or without those of a table that lacks earlier targets."""
        check_is_fitted(self)
        if self.is_classifier:
            raise ValueError(f"{self.subject} provides no intervals: it predicts classes, which have probabilities.")
        if self.errors_ is None and not hasattr(self.estimator_, "predict_interval"):
            raise ValueError(
                f"{self.subject} provides no intervals: their width is learnt from errors on held-out rows, and a "
                'single network has only those of its tests, around a mean; use folds=5, or estimator="ensemble".'
            )
        if file is not None and self.runs_free(file):
            name = "the target" if self.target_ is None else quoted(self.target_.name)
            raise ValueError(
                f"{file.label} does not contain {name}, so predictions come back as inputs, and intervals widen; a "
                "forecast gives such intervals."
            )

    def forecast(self, steps: int | None = None, table: Any = None, coverage: float | None = None) -> Any:
        """Forecast the rows that follow the training rows, each from the forecast of the row before.

        Parameters
        ----------
        steps : int, default=None
            How many rows; by default those of ``table``.
        table : as in :meth:`fit`, default=None
            The inputs of these rows and their times, for models that have inputs.
        coverage : float, default=None
            Adds the limits of intervals that are meant to contain this share of the targets.

        Returns
        -------
        forecast : pyarrow.Table
            With a column of times, or of row numbers, the columns prediction, lower and upper, and that of the series
            if there are several.
        """
        from skscn.table_model.forecasting import forecast

        check_is_fitted(self)
        return forecast(self, steps, None if table is None else self.open(table), coverage).table

    def assess(self, table: Any, target: str | None = None) -> Assessment:
        """Assess the model on a table that contains the target; :func:`skscn.assess` does it for any model.

        Parameters
        ----------
        table : as in :meth:`fit`
        target : str, default=None
            The target column, needed only if the model does not name it.

        Returns
        -------
        assessment : Assessment
        """
        from skscn.table_model.assessing import assess_model

        check_is_fitted(self)
        return assess_model(self, self.open(table), target)

    # Learning further.

    def update(self, table: Any, *, weight: str | None = None, force: bool = False) -> Update:
        """Let the model learn from further rows, without those that it was trained on; nodes are not added.

        Parameters
        ----------
        table : as in :meth:`fit`
            With the target.
        weight : str, default=None
            The column with the sample weights, in the unit of ``fit``.
        force : bool, default=False
            Whether to learn even if the model becomes worse; otherwise that raises ValueError, and the model stays as
            it is.

        Returns
        -------
        update : Update
            The errors before and after, and what was noticed.
        """
        from skscn.table_model.updating import update

        check_is_fitted(self)
        return update(self, self.open(table), weight=weight, force=force)

    def follow(self, coverage: float = 0.9, *, learn: bool = True) -> LiveModel:
        """An object that answers one row at a time, in order of arrival, and learns from targets, late ones too.

        Parameters
        ----------
        coverage : float, default=0.9
            The share of targets that intervals are meant to contain.
        learn : bool, default=True
            Whether ``learn_one`` changes predictions.

        Returns
        -------
        live : LiveModel
        """
        from skscn.table_model.live import LiveModel

        check_is_fitted(self)
        return LiveModel(self, coverage=coverage, learn=learn)

    # Files.

    def save(self, path: str | os.PathLike[str], notes: Mapping[str, Any] | None = None) -> None:
        """Write the model to a file; :func:`~skscn.load_model` gives it back.

        Parameters
        ----------
        path : path
            The file; one that is there is replaced at once, or stays as it is.
        notes : mapping, default=None
            Notes of your own, which JSON can hold.
        """
        from skscn.table_model.files import save_model

        check_is_fitted(self)
        save_model(self, path, notes=notes)

    def pipeline(self) -> Any:
        """The fitted steps as a pipeline of scikit-learn: encoder, lags and estimator, as far as there are any."""
        table = self.encoder_ if isinstance(self.encoder_, TableEncoder) else None
        steps = [(name, step) for name, step in (("table", table), ("lags", self.lags_)) if step is not None]
        return Pipeline([*steps, ("model", self.estimator_)]) if steps else self.estimator_

    @property
    def steps(self) -> list[tuple[str, Any]]:
        """The names and the fitted steps of :meth:`pipeline`."""
        pipeline = self.pipeline()
        return pipeline.steps if isinstance(pipeline, Pipeline) else [("model", pipeline)]

    def __getitem__(self, place: int | slice) -> Any:
        """One of the fitted steps, of which the last one is the estimator; or a pipeline of some of them."""
        return self.pipeline()[place]

    def note_update(self, data: str, n_rows: int) -> None:
        """Write down that the model has learnt from further rows."""
        before = self.record_.get("updated_with", [])
        self.record_ = {**self.record_, "updated": today(), "updated_with": [*before, {"data": data, "rows": n_rows}]}


def today() -> str:
    """The present time, as files have it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
