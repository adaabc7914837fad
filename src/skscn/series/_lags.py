"""``Lags``, the transformer that adds columns of earlier rows, and how it is stored in files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from skscn.checks import fit_context
from skscn.series._search import FEWEST_ROWS, Candidates, find_season, find_terms
from skscn.series._terms import (
    LONGEST,
    LagTerm,
    Past,
    SeriesEnd,
    are_complete,
    checked_lags,
    depth_of,
    known_means,
    last_known,
    names_from_json,
    names_or_places,
    place_of,
    read_targets,
    searched_targets,
    sequences_of,
    term_from_json,
    validated,
)
from skscn.words import count, listed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sklearn.utils import Tags


_FIELDS = {"parameters", "n_inputs", "names", "targets", "target_means", "terms", "grouped", "ends"}


def lags_to_json(lags: Lags) -> dict[str, Any]:
    """Fitted lags as plain data."""
    names = getattr(lags, "feature_names_in_", None)
    return {
        "parameters": {name: _plain(value) for name, value in lags.get_params(deep=False).items()},
        "n_inputs": int(lags.n_features_in_),
        "names": None if names is None else [str(name) for name in names],
        "targets": list(lags._target_names),
        "target_means": None if lags._target_means is None else lags._target_means.tolist(),
        "terms": [term.to_json() for term in lags._terms],
        "grouped": lags._grouped,
        "ends": [[_key(key), end.inputs.tolist(), _with_none(end.targets)] for key, end in lags._ends.items()],
    }


def lags_from_json(cls: type[Lags], state: Any) -> Lags:
    """The fitted lags that gave this state; ValueError for anything else."""
    if not isinstance(state, dict) or set(state) != _FIELDS:
        raise ValueError(f"Lags must be an object with exactly the fields {', '.join(sorted(_FIELDS))}")
    lags = _made(cls, state["parameters"])
    _set_inputs(lags, state["n_inputs"], state["names"])
    _set_targets(lags, state["targets"], state["target_means"])
    _set_terms(lags, state["terms"])
    lags._grouped, lags._ends = _ends(state, lags.n_features_in_, len(lags._target_names))
    if any(len(end.inputs) > max(lags._depth, 1) for end in lags._ends.values()):
        raise ValueError("more rows are remembered than are needed")
    return lags


def _set_inputs(lags: Lags, n_inputs: Any, names: Any) -> None:
    if type(n_inputs) is not int or not 1 <= n_inputs < 2**31:
        raise ValueError("the number of inputs is not a whole number of at least 1")
    lags.n_features_in_ = n_inputs
    if names is None:
        return
    if len(names_from_json(names, "inputs")) != n_inputs:
        raise ValueError(f"there are {len(names)} names of {n_inputs} inputs")
    lags.feature_names_in_ = np.array(names, dtype=object)


def _set_targets(lags: Lags, names: Any, means: Any) -> None:
    lags._target_names = names_from_json(names, "targets")
    if (lags.target is None) != (not names):
        raise ValueError("the parameter target and the names of targets do not fit together")
    if (means is None) != (not names):
        raise ValueError("the means of targets do not fit their names")
    lags.delay_ = lags._checked_delay()
    lags._target_means = None if means is None else _numbers([means], len(names))[0]


def _set_terms(lags: Lags, states: Any) -> None:
    if not isinstance(states, list):
        raise ValueError("the added columns are not a list")
    terms = [term_from_json(state, lags.n_features_in_, len(lags._target_names)) for state in states]
    if sorted(set(terms)) != terms:
        raise ValueError("the added columns are not in order, or occur twice")
    if lags.delay_ is not None and any(term.of_target and term.rows < lags.delay_ for term in terms):
        raise ValueError("a target is used before it is known")
    lags._set_terms(terms)


def _made(cls: type[Lags], parameters: Any) -> Lags:
    if not isinstance(parameters, dict) or set(parameters) != set(cls().get_params()):
        raise ValueError("the parameters of Lags are missing, or have other names")
    inputs = parameters["inputs"]
    if isinstance(inputs, dict):
        if set(inputs) != {"pairs"} or not isinstance(inputs["pairs"], list):
            raise ValueError("the parameter inputs is not a list of columns and lags")
        parameters = {**parameters, "inputs": dict(inputs["pairs"])}
    lags = cls(**parameters)
    lags._validate_params()
    return lags


def _ends(state: dict[str, Any], n_inputs: int, n_targets: int) -> tuple[bool, dict[Any, SeriesEnd]]:
    grouped, stored = state["grouped"], state["ends"]
    if not isinstance(grouped, bool) or not isinstance(stored, list):
        raise ValueError("the last rows are not a list")
    ends = {}
    for key, inputs, targets in stored:
        if type(key) not in ((str, int, float, bool) if grouped else (type(None),)) or key in ends:
            raise ValueError("a group occurs twice, or has a name that is not a text or a number")
        ends[key] = SeriesEnd(_numbers(inputs, n_inputs), _numbers(targets, n_targets, missing=True))
        if len(ends[key].inputs) != len(ends[key].targets):
            raise ValueError("inputs and targets of the last rows are not equally many")
    return grouped, ends


def _numbers(rows: Any, width: int, *, missing: bool = False) -> np.ndarray:
    """Rows of finite numbers, and perhaps of None for NaN."""
    if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) == width for row in rows):
        raise ValueError(f"the last rows are not lists of {width} numbers")
    if not all(type(value) is float or (missing and value is None) for row in rows for value in row):
        raise ValueError("the last rows contain values that are not numbers")
    values = np.array(rows, dtype=np.float64).reshape(len(rows), width)
    if not (np.isfinite(values) | (missing & np.isnan(values))).all():
        raise ValueError("the last rows contain numbers that are not finite")
    return values


def _with_none(values: np.ndarray) -> list[list[float | None]]:
    """Rows of numbers, with None for NaN."""
    return [[None if value != value else value for value in row] for row in values.tolist()]


def _plain(value: Any) -> Any:
    """A parameter as plain data."""
    if isinstance(value, Mapping):
        return {"pairs": [[_key(key), _plain(lags)] for key, lags in value.items()]}
    if value is None or isinstance(value, str | bool):
        return value
    return [_key(item) for item in value] if np.ndim(value) else _key(value)


def _key(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


# Earlier rows as columns: a transformer for models that see one row at a time.


AUTO = "auto"
# The most rows, the last ones, in which to search.
_MOST_ROWS = 5000
# Windows of moving means that the search tries, if they are not longer than max_lag.
_WINDOWS = (5, 10, 20, 50, 100, 200, 500)


class Lags(TransformerMixin, BaseEstimator):
    """Add earlier values of inputs and of the target, and moving means, as columns.

    The columns of X stay, in their order; the added ones follow. No value is taken from a later row, and none from
    another group. Rows must be in order of time; lags count rows.

    In ``fit_transform`` the earlier targets are those of y. Later on, :meth:`transform` continues from the end of the
    rows that were fitted: it expects the rows that follow them. Their earlier targets are those of ``targets``, as far
    as they are given and at least ``delay`` rows old, or else the last ones that were known.

    Parameters
    ----------
    inputs : "auto", int, sequence of int, mapping or None, default="auto"
        How many rows ago the added values of inputs are: the same lags for all `columns`, or a mapping from columns to
        lags. "auto" searches for a few that explain the target, in early rows, and decides on later rows how many are
        worth adding.
    target : "auto", int, sequence of int or None, default=None
        How many rows ago the added values of the target are; "auto" includes them in the search. Where targets are
        missing (NaN), such as laboratory values of every tenth row, it is the last one
        that was known by then.
    delay : int or None, default=None
        After how many rows the target of a row is known; needed for `target`, whose lags cannot be smaller.
    means : "auto" or sequence of int, default="auto"
        Numbers of rows, each with this one as the last, of which the mean of every one of `columns` is added.
        "auto" includes means in the search if `inputs` is "auto", and adds none otherwise.
    columns : sequence of str or int, or None, default=None
        The inputs, by name or place, to which `inputs` and `means` apply; None for all.
    max_lag : int, default=30
        The longest lag, and the longest window, that "auto" tries; at most a quarter of the rows. With `target="auto"`,
        a season of the target that is longer is tried as well, if its autocorrelation has one.
    max_terms : int, default=20
        The most columns that "auto" adds.
    continues : bool, default=True
        Whether the rows given to :meth:`transform` follow those that were fitted. If False, they are series of their
        own, possibly of other groups, of which nothing is known before the first row.

    Attributes
    ----------
    lags_ : dict of str to list of int
        The lags that are added, by the name of the input or target.
    means_ : dict of str to list of int
        The windows of the means that are added.
    complete_ : ndarray of bool, shape (n_samples,)
        The rows of ``fit`` of which all added values are known. In the first rows they are not: earlier inputs are then
        those of the first row, and earlier targets the mean of all targets. To train on complete rows only, transform
        all rows and then select these.
    depth_ : int
        How many earlier rows the added columns need.
    groups_ : list or None
        The labels of the groups whose last rows are known; None without groups.
    delay_ : int or None
        The parameter `delay`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> import numpy as np
    >>> from skscn.series import Lags
    >>> lags = Lags(inputs=[1, 2])
    >>> lags.fit_transform([[1.0], [2.0], [3.0]])
    array([[1., 1., 1.],
           [2., 1., 1.],
           [3., 2., 1.]])
    >>> lags.transform([[4.0], [5.0]])
    array([[4., 3., 2.],
           [5., 4., 3.]])
    >>> list(lags.get_feature_names_out())
    ['x0', 'x0 1 row ago', 'x0 2 rows ago']

    The target follows the input five rows later:

    >>> u = np.random.default_rng(0).normal(size=(500, 1))
    >>> y = np.sin(np.roll(u[:, 0], 5))
    >>> Lags(inputs="auto").fit(u, y).lags_
    {'x0': [5]}
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "inputs": [StrOptions({AUTO}), Integral, "array-like", Mapping, None],
        "target": [StrOptions({AUTO}), Integral, "array-like", None],
        "delay": [Interval(Integral, 1, None, closed="left"), None],
        "means": [StrOptions({AUTO}), "array-like"],
        "columns": ["array-like", None],
        "max_lag": [Interval(Integral, 1, LONGEST, closed="both")],
        "max_terms": [Interval(Integral, 1, None, closed="left")],
        "continues": ["boolean"],
    }

    def __init__(
        self,
        inputs: str | int | Sequence[int] | Mapping[Any, int | Sequence[int]] | None = AUTO,
        target: str | int | Sequence[int] | None = None,
        *,
        delay: int | None = None,
        means: str | Sequence[int] = AUTO,
        columns: Sequence[str | int] | None = None,
        max_lag: int = 30,
        max_terms: int = 20,
        continues: bool = True,
    ):
        self.inputs = inputs
        self.target = target
        self.delay = delay
        self.means = means
        self.columns = columns
        self.max_lag = max_lag
        self.max_terms = max_terms
        self.continues = continues

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._searches or self.target is not None
        tags.target_tags.multi_output = True
        return tags

    @property
    def _searches(self) -> bool:
        return AUTO in (self.inputs if isinstance(self.inputs, str) else None, self._target)

    @property
    def _target(self) -> Any:
        """The parameter, if it can be compared."""
        return self.target if isinstance(self.target, str) else None

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike | None = None, *, groups: ArrayLike | None = None) -> Self:
        """Choose the columns to add, and remember the last rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Rows in order of time.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets, NaN where they are not known; needed for "auto" and for earlier targets.
        groups : array-like of shape (n_samples,), default=None
            Which sequence each row belongs to; rows of several sequences may be mixed.

        Returns
        -------
        self
        """
        self._fit(X, y, groups)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: ArrayLike, y: ArrayLike | None = None, *, groups: ArrayLike | None = None) -> np.ndarray:
        """Fit, and add the columns to these rows, with earlier targets from y.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        groups : array-like of shape (n_samples,), default=None

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_features_out)
        """
        rows, pasts = self._fit(X, y, groups)
        return self._with_terms(rows, pasts)

    def _fit(
        self, X: ArrayLike, y: ArrayLike | None, groups: ArrayLike | None
    ) -> tuple[np.ndarray, list[tuple[np.ndarray, Past]]]:
        """Fit; the rows, and of each group the places of its rows and its past."""
        rows = validated(self, X, reset=True)
        if y is None and (self._searches or self.target is not None):
            raise ValueError(
                "Lags needs y: requires y to be passed, but the target y is None; without targets, give inputs as "
                "numbers of rows and leave target at None."
            )
        self.delay_ = self._checked_delay()
        self._target_names, targets = read_targets(y, len(rows), as_numbers=self.target is not None)
        self._grouped = groups is not None
        sequences = sequences_of(groups, len(rows))
        self._target_means = known_means(targets, sequences, self._target_names) if self.target is not None else None
        longest = max(len(places) for _, places in sequences)
        terms = self._given_terms(longest)
        if self._searches:
            parts = [(rows[places], targets[places], searched_targets(y, len(rows))[places]) for _, places in sequences]
            terms = {*terms, *self._found_terms(parts, sorted(terms), longest)}
        self._set_terms(sorted(terms))
        nothing = self._nothing()
        pasts = [(places, Past.of(nothing, rows[places], targets[places], self._depth)) for _, places in sequences]
        self._ends = {key: past.end() for (key, _), (_, past) in zip(sequences, pasts, strict=True)}
        self.complete_ = np.zeros(len(rows), dtype=bool)
        for places, past in pasts:
            self.complete_[places] = are_complete(past, self._terms)
        return rows, pasts

    def _checked_delay(self) -> int | None:
        if self.target is None:
            if self.delay is not None:
                raise ValueError("delay is about earlier targets; set target as well, or leave delay at None.")
            return None
        if self.delay is None:
            raise ValueError(
                "Earlier targets need delay, the number of rows after which the target of a row is known; without it, "
                "predictions would use targets that nobody has yet."
            )
        return int(self.delay)

    def _place_of(self, column: Any) -> int:
        return place_of(column, list(getattr(self, "feature_names_in_", [])), self.n_features_in_)

    @property
    def _places(self) -> list[int]:
        """The inputs to which `inputs` and `means` apply."""
        columns = range(self.n_features_in_) if self.columns is None else self.columns
        return sorted({self._place_of(column) for column in columns})

    def _given_terms(self, longest: int) -> set[LagTerm]:
        """The terms that the parameters name; ValueError if they need more rows than the longest series has."""
        windows = [] if isinstance(self.means, str) else checked_lags(self.means)
        given = {LagTerm(False, place, False, rows) for place, lags in self._given_inputs() for rows in lags}
        given |= {LagTerm(False, place, True, rows) for place in self._places for rows in windows}
        if self.target is not None and self._target is None:
            lags = self._late_enough(checked_lags(self.target))
            given |= {LagTerm(True, place, False, rows) for place in range(len(self._target_names)) for rows in lags}
        if depth_of(given) >= longest:
            raise ValueError(
                f"{count(depth_of(given), 'earlier row')} cannot be looked at in a series of "
                f"{count(longest, 'sample')}; give smaller lags or more rows."
            )
        return given

    def _given_inputs(self) -> Iterable[tuple[int, list[int]]]:
        """The place of each input, and its lags."""
        if isinstance(self.inputs, Mapping):
            return [(self._place_of(column), checked_lags(lags)) for column, lags in self.inputs.items()]
        lags = [] if self.inputs is None or isinstance(self.inputs, str) else checked_lags(self.inputs)
        return [(place, lags) for place in self._places]

    def _late_enough(self, lags: list[int]) -> list[int]:
        assert self.delay_ is not None, "earlier targets have a delay"
        if lags and min(lags) < self.delay_:
            raise ValueError(
                f"The target {count(min(lags), 'row')} ago is not known yet if delay is {self.delay_}; give lags of at "
                f"least {self.delay_}."
            )
        return lags

    def _found_terms(
        self, parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]], given: list[LagTerm], longest: int
    ) -> list[LagTerm]:
        """The terms that the search finds; a part is the inputs, the targets and what is to be explained in a group."""
        tried = self._candidate_terms(min(int(self.max_lag), longest // 4))
        if self._target is not None and self.delay_ is not None:
            lag = max(term.rows for term in tried if term.of_target)
            season = find_season([targets[-_MOST_ROWS:] for _, targets, _ in parts], lag + 1)
            if season is not None:
                # How the target went on a season ago, and from where, tells how the last known one goes on.
                then = (season, season + self.delay_)
                tried += [
                    LagTerm(True, place, False, rows) for place in range(len(self._target_names)) for rows in then
                ]
        terms = [term for term in tried if term not in given]
        if not terms:
            return []
        depth, share = depth_of([*terms, *given]), _MOST_ROWS / sum(len(rows) for rows, _, _ in parts)
        several = []
        for rows, targets, explained in parts:
            last = slice(-max(int(share * len(rows)), 2 * depth), None)
            past = Past.of(self._nothing(), rows[last], targets[last], depth)
            several.append(Candidates.of(past, terms, given, explained[last]))
        candidates = Candidates.together(several)
        if len(candidates.targets) < FEWEST_ROWS:
            raise ValueError(
                f"Searching lags needs at least {FEWEST_ROWS} rows with a target and {depth_of(terms)} rows before "
                f"them; there are {len(candidates.targets)}. Give lags, such as inputs=[1, 2], or a smaller max_lag."
            )
        return find_terms(candidates, int(self.max_terms))

    def _candidate_terms(self, longest: int) -> list[LagTerm]:
        """The terms that the search tries."""
        terms = []
        if isinstance(self.inputs, str):
            terms += [LagTerm(False, place, False, rows) for place in self._places for rows in range(1, longest + 1)]
            windows = {*_WINDOWS, longest} if isinstance(self.means, str) else set()
            windows = {rows for rows in windows if 1 < rows <= longest}
            terms += [LagTerm(False, place, True, rows) for place in self._places for rows in sorted(windows)]
        if self._target is not None:
            assert self.delay_ is not None, "earlier targets have a delay"
            late = range(self.delay_, max(longest, self.delay_) + 1)
            terms += [LagTerm(True, place, False, rows) for place in range(len(self._target_names)) for rows in late]
        return terms

    def origins(self) -> list[int]:
        """For each column of the output, the input whose present or earlier values it has; −1 for targets."""
        return [*range(self.n_features_in_), *(-1 if term.of_target else term.column for term in self._terms)]

    def _set_terms(self, terms: list[LagTerm]) -> None:
        self._terms, self._depth = terms, depth_of(terms)
        self._n_features_out = self.n_features_in_ + len(terms)
        names = names_or_places(self)
        self.lags_: dict[str, list[int]] = {}
        self.means_: dict[str, list[int]] = {}
        for term in terms:
            source = (self._target_names if term.of_target else names)[term.column]
            (self.means_ if term.is_mean else self.lags_).setdefault(source, []).append(term.rows)

    def transform(
        self, X: ArrayLike, *, groups: ArrayLike | None = None, targets: ArrayLike | None = None
    ) -> np.ndarray:
        """Add the columns to rows that follow those of ``fit``, or, with ``continues=False``, to rows of their own.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        groups : array-like of shape (n_samples,), default=None
            As in ``fit``.
        targets : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets of these rows, NaN where they are not known. In a row, only those are used that are at least
            ``delay`` rows older.

        Returns
        -------
        X_new : ndarray of shape (n_samples, n_features_out)
        """
        check_is_fitted(self, "_terms")
        rows, pasts = self._following(X, groups, targets)
        return self._with_terms(rows, [(places, past) for _, places, past in pasts])

    def advance(self, X: ArrayLike, *, groups: ArrayLike | None = None, targets: ArrayLike | None = None) -> Self:
        """Remember rows that have followed, so that :meth:`transform` continues from their end.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
        groups : array-like of shape (n_samples,), default=None
        targets : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None

        Returns
        -------
        self
        """
        check_is_fitted(self, "_terms")
        _, pasts = self._following(X, groups, targets)
        self._ends = {**self._ends, **{key: past.end() for key, _, past in pasts}}
        return self

    def know(self, targets: ArrayLike, group: Any = None) -> Self:
        """Let targets of the last rows be known, which came later than their rows.

        Parameters
        ----------
        targets : array-like of shape (n_rows,) or (n_rows, n_outputs)
            The targets of the last rows that were remembered, NaN where they are not known.
        group : label, default=None
            The group that the rows belong to, if there are several.

        Returns
        -------
        self
        """
        check_is_fitted(self, "_terms")
        if self.target is None:
            return self
        key = group if self._grouped else next(iter(self._ends))
        end, late = self._ends[key], np.asarray(targets, dtype=np.float64)
        late = late.reshape(len(late), -1)[-len(end.targets) :] if len(end.targets) else late[:0]
        known = np.concatenate([end.targets[: len(end.targets) - len(late)], late])
        self._ends = {**self._ends, key: SeriesEnd(end.inputs, last_known(known))}
        return self

    def restart(self, groups: Iterable[Any] | None = None) -> Self:
        """Forget the last rows: the rows that come next begin a series of their own.

        Parameters
        ----------
        groups : iterable of labels, default=None
            The groups to begin, which may be new ones; None means all of them.

        Returns
        -------
        self
        """
        check_is_fitted(self, "_terms")
        if groups is not None and not self._grouped:
            raise ValueError("Lags was fitted without groups; restart() begins the only series.")
        self._ends = {**self._ends, **dict.fromkeys(self._ends if groups is None else groups, self._nothing())}
        return self

    @property
    def groups_(self) -> list[Any] | None:
        """The labels of the groups whose last rows are known; None if Lags was fitted without groups."""
        check_is_fitted(self, "_terms")
        return list(self._ends) if self._grouped else None

    def _nothing(self) -> SeriesEnd:
        return SeriesEnd.nothing(self.n_features_in_, len(self._target_names))

    def _following(
        self, X: ArrayLike, groups: ArrayLike | None, targets: ArrayLike | None
    ) -> tuple[np.ndarray, list[tuple[Any, np.ndarray, Past]]]:
        """The rows, and of each group its key, the places of its rows, and its past."""
        rows = validated(self, X, reset=False)
        known = np.full((len(rows), len(self._target_names)), np.nan)
        if targets is not None and self.target is not None:
            known = read_targets(targets, len(rows), as_numbers=True)[1]
            if known.shape[1] != len(self._target_names):
                raise ValueError(f"targets has {known.shape[1]} columns; y had {len(self._target_names)} in training.")
        pasts = [
            (key, places, Past.of(self._end_of(key), rows[places], known[places], self._depth))
            for key, places in self._known_sequences(groups, len(rows))
        ]
        return rows, pasts

    def _end_of(self, key: Any) -> SeriesEnd:
        return self._ends[key] if self.continues else self._nothing()

    def _known_sequences(self, groups: ArrayLike | None, n_rows: int) -> list[tuple[Any, np.ndarray]]:
        sequences = sequences_of(groups, n_rows)
        if not self.continues:
            return sequences
        if (groups is not None) != self._grouped:
            given, then = ("without", "with") if self._grouped else ("with", "without")
            raise ValueError(f"The rows come {given} groups, but Lags was fitted {then} groups.")
        if unknown := [key for key, _ in sequences if key not in self._ends]:
            raise ValueError(
                f"The groups {listed(map(repr, unknown))} were not in training, so nothing is known of their earlier "
                "rows; restart(groups) begins new groups, and continues=False makes all rows begin with these."
            )
        return sequences

    def _with_terms(self, rows: np.ndarray, pasts: list[tuple[np.ndarray, Past]]) -> np.ndarray:
        result = np.empty((len(rows), self._n_features_out))
        result[:, : self.n_features_in_] = rows
        for places, past in pasts:
            for column, term in enumerate(self._terms, start=self.n_features_in_):
                values = term.values(past)
                if term.of_target:
                    assert self._target_means is not None, "earlier targets have a mean"
                    values = np.where(np.isnan(values), self._target_means[term.column], values)
                result[places, column] = values
        return result

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the inputs, if they had none in ``fit``.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self, "_terms")
        inputs = _check_feature_names_in(self, input_features)
        return np.array([*inputs, *(term.name(inputs, self._target_names) for term in self._terms)], dtype=object)

    @property
    def depth_(self) -> int:
        """How many earlier rows the added columns need."""
        check_is_fitted(self, "_terms")
        return self._depth

    def to_json(self) -> dict[str, Any]:
        """What has been learnt, with the last rows, as plain data that JSON can hold."""
        check_is_fitted(self, "_terms")
        return lags_to_json(self)

    @classmethod
    def from_json(cls, state: Any) -> Lags:
        """The transformer that gave this state; anything else than such a state raises ValueError.

        Parameters
        ----------
        state : dict
        """
        return lags_from_json(cls, state)
