"""A model that runs live: one row in, one prediction out, in order of arrival; targets come when they are known."""

from __future__ import annotations

import json
import os
from collections import OrderedDict, deque
from collections.abc import Hashable, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skscn.following import is_recurrent
from skscn.judging.sketch import RowSketch
from skscn.table_model.arriving import Batch, check_one_sequence
from skscn.table_model.clock import TrainingClock, clock_after
from skscn.table_model.resampling import ArrivingSteps
from skscn.table_model.series import check_known, group_labels
from skscn.table_model.updating import FAR_OUTSIDE, ONLY_INPUTS, gate_of, why_not_updatable
from skscn.tables import TableEncoder
from skscn.tables.columns import is_plain
from skscn.tables.frames import TableColumns
from skscn.words import listed, quoted

if TYPE_CHECKING:
    from skscn.recurrent import RecurrentStream
    from skscn.table_model.model import TableModel
    from skscn.tables.outside import Outside

# Rows that are remembered, so that their targets may come late.
_REMEMBERED = 1000


@dataclass
class Answer:
    """The answer to a row: its prediction, interval and probabilities, and what its target will be learnt with.

    ``number`` counts the rows of its series.
    """

    prediction: Any
    X: np.ndarray
    label: Hashable
    number: int
    limits: tuple[float, float] | None = None
    probabilities: np.ndarray | None = None
    # The encoded row and its columns, by which inputs outside the training range are found.
    row: tuple[np.ndarray, TableColumns | None] | None = None
    # The targets that came for it, each with the time of its row.
    targets: set[tuple[np.datetime64, str]] = field(default_factory=set)


class LiveModel:
    """Answers rows one at a time and learns from targets, at once or late; made by :meth:`TableModel.follow`.

    Parameters
    ----------
    model : TableModel
        Fitted; the live model works on a copy.
    coverage : float, default=0.9
        The share of targets that intervals are meant to contain.
    learn : bool, default=True
        Whether targets change predictions.
    journal : path, default=None
        A file to which each call is appended before it is answered. A live model that is opened with the journal of
        another one does again what is written there, and so goes on where that one was, even if it was killed.

    Attributes
    ----------
    n_answered, n_learnt, n_set_aside : int
    columns : list of str
        The columns that a row needs; the target is given to ``learn_one``.
    events : list of str
        What was unusual, in words: targets that were set aside, rows that do not follow the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn import TableModel
    >>> x = np.linspace(0, 6, 200)
    >>> model = TableModel("y", estimator="network", folds=0).fit({"x": x, "y": np.sin(x)})
    >>> live = model.follow()
    >>> round(live.predict_one({"x": 1.0}), 2)
    0.84
    >>> live.learn_one({"x": 1.0}, 0.84)
    >>> live.n_learnt
    1
    """

    def __init__(
        self,
        model: TableModel,
        coverage: float = 0.9,
        *,
        learn: bool = True,
        journal: str | os.PathLike[str] | None = None,
    ):
        if model.encoder_ is None:
            raise ValueError(f"{model.subject} does not say which columns it needs; predict a table instead.")
        self.model, self.coverage, self.learns = deepcopy(model), coverage, learn
        self._encoder, self._estimator = self.model.encoder_, self.model.estimator_
        times = self._encoder.time_types if isinstance(self._encoder, TableEncoder) else {}
        groups = [] if model.group_ is None else [model.group_]
        self.columns = list(dict.fromkeys([*self._encoder.read_types, *times, *groups]))
        self._needed = frozenset(self.columns)
        self._inputs = [name for name in self._encoder.read_types if name != self._encoder.time_]
        self._timed = self._encoder.time_ is not None
        # Times that were read, as they were given and as they are: that of a row comes again with its target.
        self._read_times: OrderedDict[Any, np.datetime64] = OrderedDict()
        self._gate, self._sketch = gate_of(model), RowSketch.continued(model.sketch_)
        # What was learnt and is not in the sketch yet, and rows that were not looked at yet.
        self._unsketched: list[tuple[np.ndarray, Any]] = []
        self._unseen: list[np.ndarray] = []
        self._answers: OrderedDict[Hashable, Answer] = OrderedDict()
        self._latest: dict[Hashable, np.datetime64] = {}
        self._streams: dict[Hashable, RecurrentStream] = {}
        self._targets: dict[Hashable, deque[float]] = {}
        self._counts: dict[Hashable, int] = {}
        self._last: Answer | None = None
        # Rows of steps that are not complete, and targets that belong to them.
        self._steps = None if model.every_ is None else ArrivingSteps(model.every_)
        self._early: dict[Hashable, dict[np.datetime64, Any]] = {}
        self.n_answered, self.n_learnt, self.n_set_aside, self.events = 0, 0, 0, list[str]()
        self._outside_rows = self._encoder.looking_outside()
        if is_recurrent(self._estimator):
            check_one_sequence(self._estimator, model.group_)
        # Why targets cannot change output weights.
        self._refusal = why_not_updatable(model) if learn else None
        if self._refusal is not None and model.uses_targets:
            self.events.append(f"{ONLY_INPUTS}: {self._refusal}")
        self._journal = None if journal is None else _Journal(Path(journal), self)

    # Answering.

    def predict_one(self, row: Mapping[str, Any]) -> Any:
        """Predict the target of the next row: a number, or a class as it is written in the table of training.

        Parameters
        ----------
        row : mapping of str to values
            Numbers, text or dates; None, NaN and infinities are missing values. If the model knows the time of the
            rows, a time that was answered before gets the same answer, and an earlier one raises ValueError. If rows
            are resampled, the answer is that of the last step that is complete.
        """
        if self._journal is not None:
            self._journal.write("predict", row)
        if self._steps is None:
            self._last = self._answer(row)
        else:
            self._answer_steps(self._steps, row)
        if self._last is None:
            raise ValueError(
                f"The first step ({self.model.every_}) is not complete; its prediction comes with the next."
            )
        return self._last.prediction

    def interval(self) -> tuple[float, float]:
        """The lower and upper limit for the row that was answered last."""
        if self._last is None or self._last.limits is None:
            raise ValueError(f"{self.model.subject} has no interval; it needs a row, and a model with intervals.")
        return self._last.limits

    def probabilities(self) -> np.ndarray:
        """The probabilities of the classes for the row that was answered last."""
        if self._last is None or self._last.probabilities is None:
            raise ValueError(f"{self.model.subject} has no probabilities; it needs a row, and a model of classes.")
        return self._last.probabilities

    @property
    def outside(self) -> tuple[str, ...]:
        """The inputs of the row that was answered last which lie outside the training range."""
        if self._last is None or self._last.row is None:
            return ()
        outside = self._encoder.looking_outside()
        outside.add(*self._last.row)
        return tuple(column.name for column in outside.found())

    @property
    def outside_rows(self) -> Outside:
        """Which inputs of all rows so far were missing, or outside the training range."""
        self._look_outside()
        return self._outside_rows

    def _look_outside(self) -> None:
        if self._unseen:
            self._outside_rows.add(np.concatenate(self._unseen))
            self._unseen.clear()

    def _answer(self, row: Mapping[str, Any]) -> Answer:
        label, time = self._place(row)
        key = self._key(row, label, time)
        if self._timed and key in self._answers:
            return self._answers[key]
        self._check_time(time, label)
        X = self._encoder.transform_one(row)
        answer = self._step(X, label)
        # The encoded row says whether numbers are outside; text, and what is missing, is looked up in the row itself.
        plain = all(is_plain(row[name]) for name in self._inputs)
        answer.row = X, None if plain else _table(row, self.columns)
        if plain:
            self._unseen.append(X)
        else:
            self._outside_rows.add(*answer.row)
        if len(self._unseen) == _REMEMBERED:
            self._look_outside()
        self._answers[key] = answer
        if len(self._answers) > _REMEMBERED:
            self._answers.popitem(last=False)
        self.n_answered += 1
        return answer

    def _answer_steps(self, steps: ArrivingSteps, row: Mapping[str, Any]) -> None:
        """Answer the steps that are complete with a row, and learn the targets that came before."""
        label, time = self._place(row)
        for complete in steps.add(label, time, {name: row[name] for name in self.columns}):
            self._last = self._answer(complete)
            key = (label, self._place(complete)[1].item())
            for given, value in self._early.pop(key, {}).items():
                self._take(value, self._last, given)

    def _place(self, row: Mapping[str, Any]) -> tuple[Hashable, np.datetime64]:
        """The series of a row and its time; ValueError if a column is missing."""
        if not self._needed <= row.keys():
            missing = [name for name in self.columns if name not in row]
            raise ValueError(
                f"The row lacks {listed(map(quoted, missing))}, which {self.model.label} needs; it has "
                f"{listed(map(str, row))}."
            )
        group, time = self.model.group_, self._encoder.time_
        label = None if group is None else str(group_labels(group, np.array([_finite(row[group])], dtype=object))[0])
        if time is None:
            return label, np.datetime64("NaT")
        given = row[time]
        if given not in self._read_times:
            every = self.model.every_
            self._read_times[given] = self._encoder.row_time(row) if every is None else every.moment(given)
            if len(self._read_times) > 2 * _REMEMBERED:
                self._read_times.popitem(last=False)
        return label, self._read_times[given]

    def _key(self, row: Mapping[str, Any], label: Hashable, time: np.datetime64) -> Hashable:
        """Rows with the same key are the same: their time, or their values where no time is known."""
        if self._timed:
            return (label, None if np.isnat(time) else time.item())
        return tuple(str(row[name]) for name in self.columns)

    def _check_time(self, time: np.datetime64, label: Hashable) -> None:
        """Raise ValueError if the time of a row is missing or not after the last one; begin anew after a gap."""
        if label is not None and (known := self.model.labels):
            check_known(str(self.model.group_), np.array([label]), known)
        if not self._timed:
            return
        latest = self._latest.get(label)
        if np.isnat(time) and self.model.uses_past:
            name = quoted(str(self._encoder.time_))
            raise ValueError(f"{name} is missing; a model that uses earlier rows needs a time in every row.")
        if latest is not None and time <= latest:
            name = quoted(str(self._encoder.time_))
            raise ValueError(f"{name} is {time}, but the last row was at {latest}; rows must come in order of time.")
        if latest is None and self.model.uses_past and not self._clock(label).is_followed_by(time):
            self._begin_anew(label)
            self.events.append(f"The first row ({time}) does not follow the training rows; earlier rows are unknown.")
        if not np.isnat(time):
            self._latest[label] = time

    def _clock(self, label: Hashable) -> TrainingClock:
        return TrainingClock.read(self.model.clock_, None if label is None else str(label))

    def _begin_anew(self, label: Hashable) -> None:
        if self.model.lags_ is not None:
            self.model.lags_.restart(None if label is None else [label])
        else:
            self._streams[label] = self._stream(None)

    def _stream(self, state: Any) -> RecurrentStream:
        return self._estimator.stream(state, learning="blend" if self.learns else None, coverage=self.coverage)

    def _step(self, X: np.ndarray, label: Hashable) -> Answer:
        """Advance by an encoded row, and predict it."""
        model, number = self.model, self._counts.get(label, 0)
        self._counts[label] = number + 1
        if is_recurrent(self._estimator):
            if label not in self._streams:
                state = "end" if label is None else self._estimator.states_[label]
                self._streams[label] = self._stream(state)
            stream = self._streams[label]
            value = float(stream.predict_one(X[0] if X.shape[1] else None))
            low, high = stream.interval()
            if model.bounds_ is not None:
                value, low, high = model.bounded(np.array([value, low, high])).tolist()
            return Answer(value, X, label, number, (float(low), float(high)))
        if model.lags_ is not None:
            groups: Any = None if label is None else [label]
            self._targets.setdefault(label, deque(maxlen=max(1, model.lags_.depth_))).append(np.nan)
            encoded, X = X, model.lags_.transform(X, groups=groups)
            model.lags_.advance(encoded, groups=groups)
        batch = Batch(model, X)
        prediction = batch.predict()
        written = prediction if model.target_ is None else model.target_.written(prediction)
        answer = Answer(written.tolist()[0], X, label, number)
        if model.is_classifier:
            answer.probabilities = batch.predict_proba()[0]
        elif model.has_intervals:
            low, high = batch.predict_interval(self.coverage)
            answer.limits = float(low[0]), float(high[0])
        return answer

    # Learning.

    def learn_one(self, row: Mapping[str, Any], target: Any) -> None:
        """Learn the target of a row that was answered, now or up to 1,000 rows ago.

        A target that is not plausible is set aside: far outside the range of earlier ones, with an error far larger
        than recent ones. If such targets go on, it was a change, and they are learnt. If the model knows the time of
        the rows, a target that comes again with the same time and value is ignored. ValueError if the model cannot be
        updated, unless earlier targets are its inputs: then they are that and nothing more.
        """
        if self._refusal is not None and not self.model.uses_targets:
            raise ValueError(self._refusal)
        if self._journal is not None:
            self._journal.write("learn", row, target)
        label, time = self._place(row)
        end = time if self.model.every_ is None or np.isnat(time) else self.model.every_.end(time)
        key = self._key(row, label, end)
        answer = self._answers.get(key)
        if answer is None and self._steps is not None and self._steps.is_waiting(label, time):
            value = self._value(target)
            if value is not None:
                self._early.setdefault(key, {})[time] = value
            return
        if answer is None:
            raise ValueError("The row was not answered, or too long ago; call predict_one with it first.")
        value = self._value(target)
        if value is not None:
            self._take(value, answer, time)

    def _take(self, value: Any, answer: Answer, time: np.datetime64) -> None:
        """Learn the target of the row at this time, if it is new and plausible."""
        given = time, str(value)
        if given in answer.targets:
            return
        if self._timed:
            answer.targets.add(given)
        if self._is_plausible(value, answer):
            self._learn(value, answer)

    def _value(self, target: Any) -> Any:
        """A target as the estimator takes it; None if it is missing."""
        column = self.model.target_
        if column is None:
            return target
        if column.kind == "number" and is_plain(target):
            return float(target)
        y, present = column.values(np.array([_finite(target)], dtype=object))
        return y[0] if np.asarray(present)[0] else None

    def _is_plausible(self, value: Any, answer: Answer) -> bool:
        """Whether to learn a target; recurrent networks decide themselves."""
        if self._gate is None or is_recurrent(self._estimator):
            return True
        if self._gate.admits(np.array([value], dtype=float), np.array([answer.prediction], dtype=float)):
            return True
        self._set_aside(value)
        return False

    def _set_aside(self, value: Any) -> None:
        self.n_set_aside += 1
        self.events.append(f"{FAR_OUTSIDE}: {float(value):,.10g}. It is learnt if such values go on.")

    def _learn(self, value: Any, answer: Answer) -> None:
        late = self._counts[answer.label] - 1 - answer.number
        if is_recurrent(self._estimator):
            stream = self._streams[answer.label]
            before = stream.n_set_aside
            if not stream.learn_late(value, late):
                self.events.append(f"A target came {late} rows late, which is too late to be learnt.")
                return
            if stream.n_set_aside > before:
                self._set_aside(value)
                return
        elif self.model.lags_ is not None and late < len(self._targets[answer.label]):
            known = self._targets[answer.label]
            known[-1 - late] = float(value) if not self.model.is_classifier else np.nan
            self.model.lags_.know(np.array(known), group=answer.label)
        if not self.learns or self._refusal is not None:
            return
        if not is_recurrent(self._estimator):
            self._estimator.partial_fit(answer.X, np.array([value]))
        self.n_learnt += 1
        if self._sketch is not None:
            self._unsketched.append((answer.X, value))
            if len(self._unsketched) == _REMEMBERED:
                self._add_to_sketch()

    def _add_to_sketch(self) -> None:
        """Let the sketch of the training rows contain what was learnt."""
        if self._sketch is not None and self._unsketched:
            rows, values = zip(*self._unsketched, strict=True)
            self._sketch.add(np.concatenate(rows), np.array(values))
            self._unsketched.clear()

    def close(self) -> None:
        """Close the journal, if there is one; ``with`` does it too."""
        if self._journal is not None:
            self._journal.close()

    def __enter__(self) -> LiveModel:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def save(self, path: str | os.PathLike[str], source: str = "live rows") -> None:
        """Write the model as it is now, with the state after the last row; ``source`` is where the rows came from."""
        model = self.model
        if is_recurrent(self._estimator):
            states = {label: stream.state for label, stream in self._streams.items()}
            first = next(iter(self._estimator.states_))
            named = {first if label is None else label: state for label, state in states.items()}
            self._estimator.states_ = {**self._estimator.states_, **named}
        for label, time in sorted(self._latest.items(), key=lambda latest: latest[1]):
            labels = None if label is None else np.array([label])
            model.clock_ = clock_after(model.clock_, np.array([time]), labels)
        model.gate_ = self._gate
        self._add_to_sketch()
        model.sketch_ = model.sketch_ if self._sketch is None else self._sketch.to_json()
        before = model.record_
        model.note_update(source, self.n_learnt)
        model.save(path)
        # What was learnt in all is written down once.
        model.record_ = before


def _finite(value: Any) -> Any:
    """A value, or None for numbers that are not finite."""
    return None if isinstance(value, float | np.floating) and not np.isfinite(value) else value


def _table(row: Mapping[str, Any], names: list[str]) -> TableColumns:
    """These columns of a row."""
    return TableColumns({name: np.array([_finite(row[name])], dtype=object) for name in names}, 1)


class _Journal:
    """The calls of a live model, one a line, written before they are answered and done again by the next one."""

    def __init__(self, path: Path, live: LiveModel):
        self._replaying = True
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        # A line that was being written when the program was killed.
        whole = [line for line in lines if line.endswith(b"\n")]
        live._journal = self
        for line in whole:
            method, *arguments = json.loads(line)
            with suppress(ValueError):
                (live.predict_one if method == "predict" else live.learn_one)(*arguments)
        self._replaying = False
        self._stream = path.open("r+b" if lines else "ab")
        self._stream.truncate(sum(map(len, whole)))
        self._stream.seek(0, os.SEEK_END)

    def write(self, method: str, *arguments: Any) -> None:
        """Append a call."""
        if self._replaying:
            return
        plain = [dict(argument) if isinstance(argument, Mapping) else argument for argument in arguments]
        self._stream.write(json.dumps([method, *plain], default=_plain).encode() + b"\n")
        self._stream.flush()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) and not isinstance(value, np.datetime64) else str(value)
