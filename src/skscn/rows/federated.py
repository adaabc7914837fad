"""Rows that may not move: each site answers with masked sums, of which only the sum over all sites can be read.

Sites agree on a secret for each pair of them, by a key exchange (X25519) whose messages pass through the coordinator.
To every number of an answer one site of a pair adds what this secret and the request give, and the other subtracts it
(Bonawitz et al., 2017, without their protocol for sites that never return). Numbers are integers modulo 2^256, in units
of 2^-160, so the masks cancel exactly, and the sum over the sites is rounded only once. A site that was away exchanges
keys again and answers again; what it had computed follows from the log that the coordinator keeps.

This protects sums from a coordinator that follows the protocol, as long as it is not in league with all sites but one.
Requests and answers are bytes, without pickle; sites run only the operations below.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from hashlib import sha256, shake_256
from io import BytesIO
from itertools import count
from math import ldexp
from typing import Any, final

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from skscn.extras import optional
from skscn.nodes import ACTIVATIONS, LAYERS, Activation, Identity, Nodes
from skscn.rows.dask import Fixed, LoggedBackend, Message, StatefulPart, Subtrees
from skscn.rows.operations import (
    Answer,
    Deflate,
    Join,
    Open,
    Rotate,
    Score,
    ScoreSample,
    Selection,
    Slope,
    Weigh,
)
from skscn.rows.partitions import Part
from skscn.scaling import InputScaling, QuantileScaling, Scaling
from skscn.supervision import SampledSums, Slopes, Sums

ONLY_SUMS = (
    'Rows stay at their sites, which answer with sums only; use SCNRegressor with configuration="ladder", "renewal", '
    '"free" or "quickprop", loss="squared" and a bounded activation such as "sigmoid", without '
    "checkpoint, warm_start, or early stopping on held-out rows."
)
# Bytes of an integer, its unit 2^-_POINT, and the largest number, which leaves room for the sum over many sites.
_BYTES, _POINT, _LARGEST = 32, 160, 2.0**80
_MODULUS = 1 << 8 * _BYTES
# How often a site may come back without its keys before it has answered a request.
_FORGOTTEN = 5


# What the coordinator asks ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Greet:
    """Asks a site who it is, and for the public key of a new pair of keys."""


@dataclass(frozen=True)
class Member:
    """A site as the others see it: its name, what its rows look like, how many they are, and its public key."""

    name: str
    n_rows: int
    n_outputs: int
    single_output: bool
    columns: tuple[str, ...] | int
    key: str


@dataclass(frozen=True)
class Agree:
    """All sites, whose secrets follow from their keys."""

    members: tuple[Member, ...]


@dataclass(frozen=True)
class Begin:
    """The scalings of a fit."""

    inputs: InputScaling
    outputs: Scaling


@dataclass(frozen=True)
class Below:
    """Asks how many rows have a value at or below each cut, shape (k, d); of the targets or of the inputs."""

    cuts: np.ndarray
    targets: bool


@dataclass(frozen=True)
class PowerSum:
    """Asks for the sum of (value − centre)^power, column by column."""

    centre: np.ndarray
    power: int
    targets: bool


@dataclass(frozen=True)
class Ask:
    """An operation on all rows, or sums over the rows with these numbers."""

    message: Message[Any]
    rows: np.ndarray | None = None


def _classes() -> dict[str, type]:
    """Whatever may be in a request or in an answer; what is not here cannot be asked of a site."""
    requests = (Greet, Member, Agree, Begin, Below, PowerSum, Ask, Message, Scaling, QuantileScaling, Nodes, Identity)
    operations = (Weigh, Score, Slope, Open, Deflate, Join, Rotate, ScoreSample)
    return {cls.__name__: cls for cls in (*requests, *operations, Sums, Slopes, SampledSums, *LAYERS.values())}


# Requests and answers as bytes --------------------------------------------------------------------------------------


def packed(value: Any) -> bytes:
    """Dataclasses, arrays, numbers and text as bytes."""
    arrays: list[np.ndarray] = []
    text, buffer = json.dumps(_outline(value, arrays)).encode(), BytesIO()
    np.savez(buffer, *arrays, np.frombuffer(text, np.uint8))
    return buffer.getvalue()


def unpacked(content: bytes) -> Any:
    """What :func:`packed` was given; lists and tuples are tuples."""
    with np.load(BytesIO(content), allow_pickle=False) as file:
        *arrays, text = (file[name] for name in file.files)
        return _restored(json.loads(text.tobytes()), arrays)


def _outline(value: Any, arrays: list[np.ndarray]) -> Any:
    """A value without its arrays and floats, which are collected."""
    if isinstance(value, np.ndarray | np.floating | float):
        arrays.append(np.asarray(value))
        return {"array": len(arrays) - 1}
    if isinstance(value, Activation):
        if ACTIVATIONS.get(value.name) is not value:
            raise ValueError(
                f"Sites know activations by their names, but {value.name!r} is not one of {[*ACTIVATIONS]}."
            )
        return {"activation": value.name}
    if isinstance(value, type):
        return {"type": np.dtype(value).name}
    if isinstance(value, tuple | list):
        return [_outline(item, arrays) for item in value]
    if is_dataclass(value):
        name = type(value).__name__
        if _classes().get(name) is not type(value):
            raise ValueError(f"Sites do not support {name}. {ONLY_SUMS}")
        return {
            "class": name,
            "of": {field.name: _outline(getattr(value, field.name), arrays) for field in fields(value)},
        }
    return int(value) if isinstance(value, np.integer) else value


def _restored(outline: Any, arrays: Sequence[np.ndarray]) -> Any:
    if isinstance(outline, list):
        return tuple(_restored(item, arrays) for item in outline)
    if not isinstance(outline, dict):
        return outline
    if "array" in outline:
        array = arrays[outline["array"]]
        return array if array.ndim else array.item()
    if "activation" in outline:
        return ACTIVATIONS[outline["activation"]]
    if "type" in outline:
        return np.dtype(outline["type"]).type
    return _classes()[outline["class"]](**{name: _restored(value, arrays) for name, value in outline["of"].items()})


# Masks --------------------------------------------------------------------------------------------------------------


def masked(values: np.ndarray, secrets: Sequence[tuple[int, bytes]], request: bytes) -> bytes:
    """Numbers as integers modulo 2^256, plus or minus what each secret and the request give."""
    if not (np.abs(values) < _LARGEST).all():
        raise ValueError('A sum is not finite, or larger than 1e24; use scaling="minmax", and check the rows.')
    numbers = [int(ldexp(value, _POINT)) for value in values.tolist()]
    for sign, secret in secrets:
        stream = shake_256(secret + sha256(request).digest()).digest(_BYTES * len(numbers))
        numbers = [number + sign * mask for number, mask in zip(numbers, _integers(stream), strict=True)]
    return b"".join((number % _MODULUS).to_bytes(_BYTES, "little") for number in numbers)


def unmasked(answers: Sequence[bytes]) -> np.ndarray:
    """The sums of the numbers in the answers of all sites, in which the masks cancel."""
    sums = [sum(numbers) % _MODULUS for numbers in zip(*map(_integers, answers), strict=True)]
    return np.array([ldexp(float(total - _MODULUS * (2 * total >= _MODULUS)), -_POINT) for total in sums])


def _integers(content: bytes) -> Iterator[int]:
    return (int.from_bytes(content[place : place + _BYTES], "little") for place in range(0, len(content), _BYTES))


# A site -------------------------------------------------------------------------------------------------------------


@final
class Site:
    """The rows of one owner, who answers the coordinator's requests with masked sums.

    Parameters
    ----------
    name : str
        Differs from those of the other sites, whose order it decides.
    X : array-like or DataFrame of shape (n, d)
        Numbers, none of them missing; the same columns at all sites.
    y : array-like of shape (n,) or (n, m)

    Examples
    --------
    Three sites in this process; in earnest each has its own, and an engine carries the bytes.

    >>> import numpy as np
    >>> from skscn import SCNRegressor
    >>> from skscn.rows import Site, Sites
    >>> X = np.random.default_rng(0).uniform(size=(300, 2))
    >>> y = np.sin(6 * X[:, 0]) * X[:, 1]
    >>> plants = [Site(name, X[k::3], y[k::3]) for k, name in enumerate("ABC")]
    >>> sites = Sites(lambda request: [plant.answer(request) for plant in plants])
    >>> model = SCNRegressor(configuration="ladder", max_nodes=20, random_state=0).fit(sites)
    >>> model.score(X, y) > 0.9
    True
    """

    def __init__(self, name: str, X: Any, y: Any):
        columns = getattr(X, "columns", None)
        inputs = check_array(X, dtype=np.float64)
        targets = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        check_consistent_length(inputs, targets)
        self.name = name
        self._columns = inputs.shape[1] if columns is None else tuple(map(str, columns))
        self._single = targets.ndim == 1
        self._part = Part(inputs, targets.reshape(len(targets), -1), None, np.arange(len(inputs)))
        self._key: Any = None
        self._secrets: list[tuple[int, bytes]] = []
        # The number of its first row among those of all sites.
        self._first = 0
        self._state: StatefulPart | None = None

    def answer(self, request: bytes) -> bytes:
        """What the coordinator gets for a request: masked sums, or a sentence that says why there are none."""
        try:
            return packed(self._answer(request))
        except ValueError as error:
            return packed(("refused", f"Site {self.name}: {error}"))

    def _answer(self, request: bytes) -> tuple[Any, ...]:
        _, task = unpacked(request)
        if isinstance(task, Greet):
            x25519 = optional("cryptography.hazmat.primitives.asymmetric.x25519", "A site")
            self._key, self._secrets = x25519.X25519PrivateKey.generate(), []
            key = self._key.public_key().public_bytes_raw().hex()
            rows, outputs = self._part.targets.shape
            return "member", Member(self.name, rows, outputs, self._single, self._columns, key)
        if isinstance(task, Agree):
            self._agree(task.members)
            return ("done",)
        if isinstance(task, Begin):
            self._state = StatefulPart(self._part, Fixed(task.inputs, task.outputs, len(self._part.X)), 0)
            return ("done",)
        if not self._secrets:
            return ("keys",)
        share = self._share(task)
        if share is None:
            return ("log",)
        arrays: list[np.ndarray] = []
        outline = json.dumps(_outline(share, arrays))
        values = np.concatenate([np.zeros(0), *(np.ravel(array) for array in arrays)])
        shapes = [list(array.shape) for array in arrays]
        return "sum", outline, shapes, np.frombuffer(masked(values, self._secrets, request), np.uint8)

    def _agree(self, members: Sequence[Member]) -> None:
        """A secret for each other site; the one of a pair that comes first adds masks, the other subtracts them."""
        x25519 = optional("cryptography.hazmat.primitives.asymmetric.x25519", "A site")
        names = [member.name for member in members]
        if len(members) < 2 or names.count(self.name) != 1:
            raise ValueError(
                "sums are masked together with other sites; there must be at least two, with different names."
            )
        own, self._secrets = names.index(self.name), []
        self._first = sum(member.n_rows for member in members[:own])
        for place, member in enumerate(members):
            if place != own:
                shared = self._key.exchange(x25519.X25519PublicKey.from_public_bytes(bytes.fromhex(member.key)))
                keys = "".join(sorted((member.key, members[own].key)))
                self._secrets.append((1 if own < place else -1, sha256(shared + keys.encode()).digest()))

    def _share(self, task: Any) -> Any:
        """The share of a sum; None if the site needs the log."""
        if isinstance(task, Below | PowerSum):
            values = self._part.targets if task.targets else self._part.X
            if isinstance(task, PowerSum):
                return ((values - task.centre) ** task.power).sum(axis=0)
            pairs = zip(np.sort(values, axis=0).T, task.cuts.T, strict=True)
            return np.array([np.searchsorted(*pair, side="right") for pair in pairs], dtype=float).T
        if self._state is None:
            raise ValueError("this fit has not begun; it begins when an estimator is fitted to all sites.")
        if task.rows is None:
            found = self._state.share(task.message)
            return None if found is None else next(iter(found.values()))
        own = task.rows - self._first
        return self._state.answer(own[(own >= 0) & (own < len(self._part.X))], task.message)


# The coordinator ----------------------------------------------------------------------------------------------------


@final
class Sites:
    """The sites of several owners, to which ``SCNRegressor(configuration="ladder").fit(sites)`` fits a network.

    Parameters
    ----------
    ask : callable
        Sends a request, which is bytes, to all sites, and returns what :meth:`Site.answer` gives at each of them, in
        any order. It waits for a site that is away, and may raise ConnectionError if one was lost meanwhile.

    Attributes
    ----------
    members : tuple of Member
        The sites in the order of their names.
    """

    def __init__(self, ask: Callable[[bytes], Sequence[bytes]]):
        self._ask, self._numbers = ask, count()
        self._agreed = False
        self._known: tuple[Member, ...] | None = None
        self._begin: Begin | None = None
        self.members = self._agree()
        outputs = {(member.columns, member.n_outputs, member.single_output) for member in self.members}
        if len(outputs) > 1:
            raise ValueError(
                "The sites differ in their columns or their number of targets; all need the same, in the same order."
            )

    @property
    def n_rows(self) -> int:
        """Rows at all sites."""
        return sum(member.n_rows for member in self.members)

    def begin(self, inputs: InputScaling, outputs: Scaling) -> None:
        """Begin a fit with these scalings."""
        self._begin = Begin(inputs, outputs)
        self._agreed = False

    def below(self, cuts: np.ndarray, *, targets: bool) -> np.ndarray:
        """How many rows are at or below each cut, of shape (k, d), in the targets or in the inputs."""
        return np.asarray(self.total(Below(cuts, targets)))

    def moment(self, centre: np.ndarray, power: int, *, targets: bool) -> np.ndarray:
        """The mean of (value − centre)^power, column by column."""
        return np.asarray(self.total(PowerSum(centre, power, targets)) / self.n_rows)

    def total(self, task: Any) -> Any:
        """The sum of what all sites answer; None if some need the log. A site that is away is waited for."""
        forgotten = 0
        while True:
            try:
                if not self._agreed:
                    self._agree()
                answers = self._answers(task)
            except ConnectionError:
                self._agreed = False
                continue
            if any(answer[0] == "keys" for answer in answers):
                self._agreed, forgotten = False, forgotten + 1
                if forgotten > _FORGOTTEN:
                    raise ValueError("A site keeps losing its keys; use the same Site object during the whole fit.")
                continue
            if any(answer[0] == "log" for answer in answers):
                return None
            _, outline, shapes, _ = answers[0]
            values, arrays = unmasked([answer[3].tobytes() for answer in answers]), []
            for shape in shapes:
                size = int(np.prod(shape, dtype=int))
                arrays.append(values[:size].reshape(shape))
                values = values[size:]
            return _restored(json.loads(outline), arrays)

    def _answers(self, task: Any) -> list[tuple[Any, ...]]:
        """What the sites answer; no two requests are the same, so that no two answers have the same masks."""
        answers = [unpacked(answer) for answer in self._ask(packed((next(self._numbers), task)))]
        for answer in answers:
            if answer[0] == "refused":
                raise ValueError(answer[1])
        return answers

    def _agree(self) -> tuple[Member, ...]:
        """New secrets for all pairs of sites, which then begin the fit again."""
        found: list[Member] = [answer[1] for answer in self._answers(Greet())]
        members = tuple(sorted(found, key=lambda member: member.name))
        present = tuple(replace(member, key="") for member in members)
        if self._known is not None and present != self._known:
            raise ValueError("A site has changed since the sites were opened; open them again with Sites.")
        self._known = present
        self._answers(Agree(members))
        if self._begin is not None:
            self._answers(self._begin)
        self._agreed = True
        return members


@final
class FederatedBackend(LoggedBackend):
    """N training rows at sites that answer with sums only.

    Parameters
    ----------
    sites : Sites
        Which have begun a fit.
    shape : tuple of int
        N, d and m.
    """

    def __init__(self, sites: Sites, shape: tuple[int, int, int]):
        super().__init__(shape)
        self.sites = sites

    def select(self, selection: Selection[Answer], rows: np.ndarray) -> Answer:
        """Sums over the rows with these numbers; the rows themselves are refused."""
        if not isinstance(selection, ScoreSample):
            raise ValueError(ONLY_SUMS)
        answer: Answer = self._asked(lambda message: self.sites.total(Ask(message, rows)), selection)
        return answer

    def _shares(self, message: Message[Any]) -> Subtrees | None:
        total = self.sites.total(Ask(message))
        return None if total is None else {(0, 0): total}
