"""The members of an ensemble: their seeds, their files, and the threads or processes in which they grow.

Those of an ensemble of networks draw rows and columns. They are grown on the distinct rows, each with the sum of its
weights. So a weight of 2 is the row twice, the order of the rows does not matter, and a member is never grown on a copy
of a row that is out of bag for it. Where rows repeat more than ten times on average, new rows are copies of old ones
too, and all rows are kept.

With validation="last" rows are in order of time and are not merged. Each member is grown on rows up to a different
time, and only later rows are out of bag. In the end, older rows count for less where that predicts later ones better.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_sample_weight

from skscn.estimators.base import GrowingNetwork
from skscn.fit.data import LARGEST_MEAN_COUNT, finalised
from skscn.fit.plan import FEW_ROWS, Recipe
from skscn.fit.updating import following, why_not
from skscn.growth import StopReason
from skscn.jumps import Jumps
from skscn.progress import Listener, current_listener, listening
from skscn.threads import single_threaded


def member_seeds(random_state: int | np.random.RandomState | None, count: int) -> list[int]:
    """A seed for each member; the first ones do not depend on how many there are."""
    seeds: list[int] = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=count).tolist()
    return seeds


def member_checkpoint(checkpoint: str | os.PathLike[str] | None, seed: int) -> str | None:
    """The file of a member, next to that of the ensemble."""
    return None if checkpoint is None else f"{os.fspath(checkpoint)}-{seed}"


def member_tasks(grow: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """Tasks that grow members, one for each tuple of arguments, and report to the listener of this process."""
    listener = current_listener()
    elsewhere = None if listener is None else listener.elsewhere()
    return (delayed(_grow_listening)(grow, elsewhere, *some) for some in arguments)


def _grow_listening(grow: Callable[..., Any], elsewhere: Listener | None, *arguments: Any) -> Any:
    # Sums in BLAS depend on the number of threads, which may be larger in a worker process than here.
    with single_threaded(), listening(current_listener() or elsewhere):
        return grow(*arguments)


def resolve_members(n_members: int | str, n_rows: int, *, classes: bool) -> int:
    """The number of members of an ensemble on this number of rows, for classes or for numbers."""
    if not isinstance(n_members, str):
        return n_members
    many = 10_000 if classes else 1_000
    return 20 if n_rows < FEW_ROWS else 10 if n_rows < many else 6 if n_rows < 100_000 else 5


# Up to this number of targets, those of all members together, threads grow them: a few seconds on one processor.
_MOST_IN_THREADS = 300_000


@dataclass(frozen=True)
class Workers:
    """The threads or processes of an ensemble, as its parameters ``n_jobs`` and ``verbose`` say.

    ``n_targets`` is the number of targets, those of all members together, which tells how long growth will take.
    """

    n_jobs: int | None
    verbose: int
    n_targets: float = np.inf

    @property
    def are_processes(self) -> bool:
        """Whether members grow in other processes, unless the user has chosen another joblib backend."""
        return self.n_targets > _MOST_IN_THREADS and effective_n_jobs(self.n_jobs) > 1

    def run(self, tasks: Iterable[Any], **settings: Any) -> Any:
        """Run the tasks, those of short fits in threads.

        Growth is many short NumPy calls, in which threads wait for each other, but two processes take 3.6 s of
        processor time to start: 6 members of 20,000 rows take 1.7 s one by one or in two threads, and 5.4 s in two
        processes.
        """
        prefer = None if self.n_targets > _MOST_IN_THREADS else "threads"
        # Around all of them: threads that each set and restore the limit of the process would undo each other's.
        with single_threaded():
            return Parallel(n_jobs=self.n_jobs, verbose=self.verbose, prefer=prefer, **settings)(tasks)

    def grow(self, tasks: Iterable[Any], n_members: int, stop_after: Callable[[Any], bool] | None = None) -> list[Any]:
        """Grow members and notify the listener; when it asks to stop, no more are started and finished ones are kept.

        A task returns a member with its ``number`` and its ``network``. ``stop_after`` is given each finished member,
        and may ask to stop as well. A member that was cut short is kept only if there is no other.
        """
        listener = current_listener()
        if listener is None and stop_after is None:
            return list(self.run(tasks))
        listener = Listener() if listener is None else listener
        if self.are_processes:
            listener.begin_processes(self.n_jobs)
        grown: list[Any] = []
        ended = False
        tasks = takewhile(lambda _: not (ended or listener.stopped()), tasks)
        try:
            # Members arrive one by one, after the limit within run has ended.
            with single_threaded():
                for member in self.run(tasks, return_as="generator_unordered", pre_dispatch="n_jobs"):
                    grown.append(member)
                    ended = listener.member(member.network, len(grown), n_members) or ended
                    ended = (stop_after is not None and stop_after(member)) or ended
        except (KeyboardInterrupt, BrokenExecutor):
            # Whatever has stopped the processes, their finished members are available.
            if not listener.stopped():
                raise
        if not grown:
            raise KeyboardInterrupt
        grown.sort(key=lambda member: member.number)
        if ended or listener.stopped():
            # Without those that were cut short, unless all were.
            return [member for member in grown if member.network.stop_reason_ != StopReason.CALLBACK] or grown[:1]
        return grown


# The rows and columns of each network


@dataclass(frozen=True)
class DistinctRows:
    """Rows, usually each distinct row once with the total weight of its copies.

    Attributes
    ----------
    X, y, sample_weight : arrays
    inverse : ndarray
        The index of each training row that was given.
    groups : ndarray or None
        The number of each row's group, of which members hold out all rows or none.
    n_held_out : int
        How many rows at the end are only held out, by every member.
    """

    X: Any
    y: np.ndarray
    sample_weight: np.ndarray
    inverse: np.ndarray
    groups: np.ndarray | None = None
    n_held_out: int = 0

    @property
    def n_training(self) -> int:
        """How many rows members can be trained on."""
        return len(self.y) - self.n_held_out

    def with_held_out(self, X: Any, y: np.ndarray, sample_weight: np.ndarray) -> DistinctRows:
        """With these rows at the end, which are only held out."""
        both = [self.X, X]
        return replace(
            self,
            X=sparse.vstack(both, format="csr") if any(map(sparse.issparse, both)) else np.concatenate(both),
            y=np.concatenate([self.y, y]),
            sample_weight=np.concatenate([self.sample_weight, sample_weight]),
            n_held_out=len(y),
        )


def check_weights(sample_weight: ArrayLike | None, X: Any) -> tuple[np.ndarray, float]:
    """Weights of all rows, 1 if none were given, and their unit."""
    weights: np.ndarray = _check_sample_weight(sample_weight, X, dtype=np.float64)
    largest = weights.max()
    if (weights < 0).any() or largest == 0:
        raise ValueError("sample_weight must contain numbers of at least 0, and not only zeros.")
    # Counts stay unchanged; weights too large for counts could overflow when summed.
    unit = float(largest) if largest > 2**53 else 1.0
    return weights / unit, unit


def distinct_rows(
    X: Any, y: np.ndarray, numbers: np.ndarray, sample_weight: np.ndarray, groups: np.ndarray | None = None
) -> DistinctRows:
    """Each distinct row of a group once; numbers are y as numbers. The order of the rows does not matter.

    Rows that repeat too often for weights to count them stay as they are: a few distinct rows, each repeated many
    times, could not be split into training rows and held-out rows.
    """
    columns = numbers.reshape(len(y), -1) if groups is None else np.column_stack([numbers, groups])
    constants = np.random.default_rng(0).integers(2**64, size=columns.shape[1] + X.shape[1], dtype=np.uint64)
    fingerprints = _hash(columns, constants[: columns.shape[1]]) + _hash(X, constants[columns.shape[1] :])
    _, first, inverse = np.unique(fingerprints, return_index=True, return_inverse=True)
    times = np.bincount(inverse, weights=sample_weight > 0)
    if times.sum() > LARGEST_MEAN_COUNT * np.count_nonzero(times):
        order = np.lexsort((sample_weight, inverse))
        groups = None if groups is None else groups[order]
        return DistinctRows(X[order], y[order], sample_weight[order], np.argsort(order), groups)
    groups = None if groups is None else groups[first]
    return DistinctRows(X[first], y[first], np.bincount(inverse, weights=sample_weight), inverse, groups)


def _hash(rows: Any, constants: np.ndarray) -> np.ndarray:
    """A 64-bit hash of each row, the same for equal rows, dense or sparse; 10⁶ others collide with probability 3e-8.

    Integer arithmetic wraps, so the sums are exact in any order; a 0 adds nothing.
    """
    if sparse.issparse(rows):
        rows = rows.copy()
        rows.sum_duplicates()
        mixed = sparse.csr_array((_mix(rows.data), rows.indices, rows.indptr), shape=rows.shape)
        return np.asarray(mixed @ constants)
    return np.asarray(_mix(rows) @ constants)


def _mix(values: np.ndarray) -> np.ndarray:
    """The bits of numbers, well mixed; 0 stays 0."""
    # Adding 0 turns −0 into 0.
    return finalised((np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64))


@dataclass(frozen=True)
class MemberPlan:
    """What makes a member differ.

    Its number, its seed, its columns, how often each row was drawn, if any were, the factor of validation_fraction,
    whether its inputs are mapped to quantiles, where scaling is "auto", and the jumps along its columns, if known.
    """

    number: int
    seed: int
    features: np.ndarray
    counts: np.ndarray | None
    stretch: float
    by_quantiles: bool = False
    jumps: Jumps | None = None


class GrownMember(NamedTuple):
    """A member with its number, its predictions for all rows, and which of them it has not seen."""

    number: int
    network: GrowingNetwork
    predictions: np.ndarray
    unseen: np.ndarray


def bootstrap_counts(strata: np.ndarray, has_weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How often each row is drawn in a bootstrap sample within each stratum, of the rows that have weight."""
    counts = np.zeros(len(strata))
    for stratum in np.unique(strata[has_weight]):
        rows = np.flatnonzero(has_weight & (strata == stratum))
        counts += np.bincount(rng.choice(rows, len(rows)), minlength=len(strata))
    return counts


def grow_member(
    estimator: GrowingNetwork,
    data: DistinctRows,
    plan: MemberPlan,
    method: str,
) -> GrownMember:
    """Grow a member, by its ``fit`` or ``partial_fit``, and let it predict all rows."""
    training = slice(data.n_training)
    weights = data.sample_weight[training] * (1.0 if plan.counts is None else plan.counts[training])
    member = _member(estimator, plan, int(np.count_nonzero(weights)))
    X, member._averaged, member._jumps = select_columns(data.X, plan.features), True, plan.jumps
    different = bool(np.ptp(weights))
    given = {"sample_weight": weights if different else None}
    if data.n_held_out:
        rows = slice(data.n_training, None)
        given |= {"X_val": X[rows], "y_val": data.y[rows], "sample_weight_val": data.sample_weight[rows]}
    elif data.groups is not None:
        given["groups"] = data.groups
    getattr(member, method)(X[training], data.y[training], **given)
    predictions = member._response(X)
    held_out, network = member.held_out_, member.network_
    # A calibration is that of the output weights before.
    joins = (
        why_not(network.loss) is None and network.factor is not None and getattr(member, "calibration_", None) is None
    )
    if joins and len(held_out) and not data.n_held_out:
        # After these predictions, its output weights may see the rows that it held out: in a series, the newest ones.
        seen = member.n_rows_seen_
        member.partial_fit(X[held_out], data.y[held_out], sample_weight=weights[held_out] if different else None)
        # They were counted before.
        member.n_rows_seen_ = seen
        if member.validation == "last" and member.network_.loss.plain and is_regressor(member):
            targets, own = data.y[training].reshape(data.n_training, -1), weights / member._weight_unit
            alpha = Recipe.of(member).alpha
            member.network_ = following(member.network_, X[training], targets, own if different else None, alpha)
    # A later fit of its own is another matter.
    del member._averaged, member._jumps
    if not different:
        # What a row without a weight of its own counted for.
        member._weight_unit = float(weights[0])
    # Out of bag are the rows that the member was not grown on; in a series, only those that are later.
    unseen = np.asarray(weights == 0)
    unseen[held_out] = True
    if member.validation == "last":
        unseen[: np.flatnonzero(~unseen)[-1]] = False
    unseen = np.append(unseen, np.ones(data.n_held_out, dtype=bool))
    return GrownMember(plan.number, member, predictions, unseen)


def _member(estimator: GrowingNetwork, plan: MemberPlan, n_rows: int) -> Any:
    """The member with the parameters of its plan; n_rows is the number of rows that it is grown on."""
    member = clone(estimator).set_params(random_state=plan.seed, n_jobs=1)
    member.set_params(checkpoint=member_checkpoint(member.checkpoint, plan.seed))
    if member.monotone is not None:
        member.set_params(monotone=member.monotone[plan.features])
    # At most halfway from the requested share to all rows.
    member._validate_params()
    recipe = Recipe.of(member)
    if plan.by_quantiles and member.scaling == "auto" and recipe.finds_jumps:
        member.set_params(scaling="quantile")
    share = recipe.validation_fraction
    member.set_params(validation_fraction=min(plan.stretch * share, 0.5 + 0.5 * share))
    holds_out = member.early_stopping in (True, "validation")
    if holds_out and max(1, round(member.validation_fraction * n_rows)) >= n_rows:
        member.set_params(early_stopping=False)
    return member


def select_columns(X: Any, features: np.ndarray) -> Any:
    """These columns of validated rows; X itself if they are all of them."""
    return X if len(features) == X.shape[1] else X[:, features]
