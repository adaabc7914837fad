"""Networks in fixed point: weights of 8 or 16 bits, activations from a table, and sums of whole numbers.

The literature calls networks of this kind, with little storage, stochastic configuration machines. Inputs are scaled in
single precision and rounded to 16 bits; at the end, the sum of an output is multiplied by its unit in single precision.
All else is in whole numbers. :meth:`FixedNetwork.link` computes what the C that it writes computes, bit for bit:
each product and sum in single precision is a statement of its own in C, which rounds it.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.linalg import lstsq

from skscn.estimators.networks import growth_of
from skscn.export._code import CCode
from skscn.losses import Loss
from skscn.network import Network
from skscn.nodes import ACTIVATIONS, Dense
from skscn.scaling import InputScaling, QuantileScaling, WithJumps, WithQuantiles, scaling_of_columns
from skscn.words import count

BITS = {"int16": 16, "int8": 8}
# The largest number of rows that are used, evenly spaced, and the smallest.
_MOST_ROWS = 10_000
_FEWEST_ROWS = 10
# The ridge of what is added to output weights, for columns between -1 and 1.
_RIDGE = 0.1
# An activation is almost constant beyond these arguments, or begins again. Nodes of relu are scaled to fit.
_REACH = {"sigmoid": 12.0, "tanh": 6.0, "gaussian": 3.5, "sine": np.pi, "cosine": np.pi, "relu": 1.0}
_WAVES = ("sine", "cosine")
# How much larger the step of a node may be than it must, and the number of steps that are tried.
_LARGER, _TRIALS = 1.5, 32
# By the bits of weights: a table has 2 to the power of this many intervals, each divided into 2 to the power of _INNER.
_INTERVALS = {8: 7, 16: 9}
_INNER = 8
# By the bits of weights: the step of a bias, in steps of the sum that it belongs to.
_BIAS = {8: 1, 16: 256}

_NODES = """
for (int j = 0; j < {count}; j++) {{
    const {weight} *w = {weights} + {width} * j;
    {sum} sum = ({sum}){biases}[j] * {bias};
    for (int i = 0; i < {width}; i++) sum += ({sum})w[i] * u[i];
    int64_t t = (int64_t)sum * {factors}[j] + {half};
    t = {within};
    const int16_t *at = {table} + (t >> {coarse});
    const int32_t h = (int32_t)at[0] * {one} + ((int32_t)at[1] - at[0]) * (int32_t)((t >> {fine}) & {last});
    for (int i = 0; i < {m}; i++) sums[i] += (int64_t)h * {outgoing}[{m} * j + i];
}}
"""


@dataclass(frozen=True, eq=False)
class FixedInputs:
    """Scaled inputs as whole numbers of 16 bits.

    Attributes
    ----------
    scaling : scaling
    low, rate : float32
        Where they begin, and how many steps they have in a unit.
    """

    scaling: InputScaling
    low: np.float32
    rate: np.float32

    @classmethod
    def of(cls, scaling: InputScaling, z: np.ndarray, *, known: bool) -> Self:
        """Between the limits of the scaling or, without any, in twice the range of rows that are ``known``."""
        own = scaling_of_columns(scaling)
        if isinstance(own, QuantileScaling):
            low, high = 0.0, 1.0
        elif own.high - own.low < 2.0**10:
            low, high = own.low, own.high
        elif known:
            middle, half = (z.max() + z.min()) / 2.0, max(float(np.ptp(z)), 1e-6)
            low, high = middle - half, middle + half
        else:
            raise ValueError(
                f"Fixed point needs limits of the inputs, which scaling={scaling.name!r} does not give; pass "
                "training rows as rows=…."
            )
        return cls(scaling, np.float32(low), np.float32(65536.0 / (high - low)))

    @property
    def step(self) -> float:
        """The size of a step."""
        return 1.0 / float(self.rate)

    @property
    def origin(self) -> float:
        """The scaled input whose whole number is 0."""
        return float(self.low) + 32768.5 * self.step

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """The whole numbers of rows."""
        largest = np.finfo(np.float32).max
        x = np.asarray(X, np.float64).clip(-largest, largest).astype(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = _scaled(self.scaling, x)
            steps = (scaled - self.low) * self.rate
        return _whole(np.nan_to_num(steps).clip(0.0, 65535.0)) - 32768

    def statements(self, code: CCode) -> list[str]:
        """From scaled inputs z to whole numbers u."""
        width = len(self.scaling.sources)
        return [
            # As constants within expressions, they might have more digits.
            f"const real low = {code.number(float(self.low))}, rate = {code.number(float(self.rate))};",
            f"int16_t u[{width}];",
            f"for (int i = 0; i < {width}; i++) {{",
            "    const real moved = z[i] - low;",
            "    const real steps = moved * rate;",
            "    u[i] = (int16_t)((steps >= 65535 ? 65535 : steps > 0 ? (int32_t)steps : 0) - 32768);",
            "}",
        ]


def _scaled(scaling: InputScaling, x: np.ndarray) -> np.ndarray:
    """Rows scaled as the program does, in single precision."""
    if isinstance(scaling, WithQuantiles):
        return np.column_stack([_scaled(scaling.scaling, x), _scaled(scaling.quantiles, x)])
    if isinstance(scaling, WithJumps):
        jumps = x[:, scaling.columns] > scaling.thresholds.astype(np.float32)
        return np.column_stack([_scaled(scaling.scaling, x), jumps.astype(np.float32)])
    if isinstance(scaling, QuantileScaling):
        columns = zip(x.T, scaling.knots.T, scaling.shares.T, strict=True)
        return np.column_stack([_interpolated(*column) for column in columns])
    largest = np.finfo(np.float32).max
    limits = np.array([scaling.low, scaling.high]).clip(-largest, largest).astype(np.float32)
    moved = x - scaling.offset.astype(np.float32)
    return np.asarray((moved / scaling.scale.astype(np.float32)).clip(*limits))


def _interpolated(x: np.ndarray, knots: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Linear interpolation in single precision."""
    knots, shares = knots.astype(np.float32), shares.astype(np.float32)
    place = (np.searchsorted(knots, x, side="right") - 1).clip(0, len(knots) - 2)
    rise, run = np.diff(shares)[place], np.diff(knots)[place]
    slope = np.divide(rise, run, out=np.zeros_like(rise), where=run > 0.0)
    inner = slope * (x - knots[place]) + shares[place]
    return np.where(x < knots[0], shares[0], np.where(x >= knots[-1], shares[-1], inner))


@dataclass(frozen=True, eq=False)
class FixedNodes:
    """Nodes in fixed point. With the whole number h that is computed, the output of node j is middle_j + unit_j h.

    Attributes
    ----------
    bits : int
        Of weights.
    waves : bool
        Whether the activation begins again beyond its table.
    weights, biases, factors : ndarray of shape (L, d), (L,), (L,)
        The place of node j in the table, which has 2^``places`` steps, is its sum times its factor.
    places : int
    table : ndarray
    middle, units : ndarray of shape (L,)
    """

    bits: int
    waves: bool
    weights: np.ndarray
    biases: np.ndarray
    factors: np.ndarray
    places: int
    table: np.ndarray
    middle: np.ndarray
    units: np.ndarray

    @classmethod
    def of(cls, network: Network, bits: int, inputs: FixedInputs, z: np.ndarray, u: np.ndarray) -> Self:
        """Each node has a factor of its own, with which its largest weight uses all bits.

        Its argument stays what it was for the mean of the rows, which are scaled as z, and as whole numbers u.
        """
        nodes, activation = network.nodes, network.activation
        assert activation is not None
        span, centre = 2.0 * _REACH[activation.name], u.mean(axis=0)
        weights, at_centre = inputs.step * nodes.weights.T, nodes.biases + z.mean(axis=0) @ nodes.weights
        reach = np.abs(at_centre) + 65536.0 * np.abs(weights).sum(axis=1)
        reach = np.where(reach > 0.0, reach, 1.0)
        # relu(z) = c relu(z / c).
        c = reach if activation.name == "relu" else np.ones_like(reach)
        weights, at_centre, reach = weights / c[:, np.newaxis], at_centre / c, reach / c
        # The size of a step of the sum; biases have 32 bits.
        sizes = [
            np.abs(weights).max(axis=1, initial=0.0) / (2 ** (bits - 1) - 1),
            np.abs(at_centre - weights @ centre) / (2.0**30 * _BIAS[bits]),
            reach * 2.0**-40,
        ]
        size = np.max(sizes, axis=0)
        # A little larger, if that rounds to a smaller error of the argument.
        tried, spread = size * np.linspace(1.0, _LARGER, _TRIALS)[:, np.newaxis], np.atleast_2d(np.cov(u.T, bias=True))
        moved = tried[..., np.newaxis] * np.rint(weights / tried[..., np.newaxis]) - weights
        best = np.argmin(((moved @ spread) * moved).sum(axis=2), axis=0)
        size = np.take_along_axis(tried, best[np.newaxis], axis=0)[0]
        # Sums times factors have 62 bits, factors 31.
        room = [61.0 - np.log2(reach / span), 30.0 - np.log2(size / span), np.full(1, 56.0)]
        places = int(np.concatenate(room).min())
        factors = np.ceil(np.ldexp(size / span, places))
        size = np.ldexp(factors * span, -places)
        whole = np.rint(weights / size[:, np.newaxis])
        biases = np.rint((at_centre / size - whole @ centre) / _BIAS[bits])
        values = activation.value(np.linspace(-span / 2.0, span / 2.0, (1 << _INTERVALS[bits]) + 1))
        middle, half = (values.max() + values.min()) / 2.0, np.ptp(values) / 2.0
        table = np.rint((values - middle) / half * 32767.0)
        return cls(
            bits=bits,
            waves=activation.name in _WAVES,
            weights=_whole(whole),
            biases=_whole(biases),
            factors=_whole(factors),
            places=places,
            table=_whole(table),
            middle=c * middle,
            units=c * half / 32767.0 / (1 << _INNER),
        )

    def __call__(self, u: np.ndarray) -> np.ndarray:
        """H of shape (n, L): whole numbers of 24 bits."""
        # These products are exact in double precision, and faster.
        sums = _whole(u.astype(np.float64) @ self.weights.T) + self.biases * _BIAS[self.bits]
        t, top = sums * self.factors + (1 << self.places - 1), (1 << self.places) - 1
        t = t & top if self.waves else t.clip(0, top)
        coarse = self.places - _INTERVALS[self.bits]
        at, within = t >> coarse, t >> coarse - _INNER & (1 << _INNER) - 1
        return np.asarray((self.table[at] << _INNER) + (self.table[at + 1] - self.table[at]) * within)

    def statements(self, code: CCode, output_weights: np.ndarray) -> list[str]:
        """From whole numbers u to sums of outputs."""
        if not len(self.weights):
            return []
        largest = np.abs(self.weights).sum(axis=1) * 32768 + np.abs(self.biases) * _BIAS[self.bits]
        top, coarse = f"INT64_C({(1 << self.places) - 1})", self.places - _INTERVALS[self.bits]
        names = {
            "count": len(self.weights),
            "width": self.weights.shape[1],
            "m": output_weights.shape[1],
            "weight": f"int{self.bits}_t",
            "sum": "int32_t" if largest.max() < 2**31 else "int64_t",
            "weights": code.integers("weights", self.weights, self.bits),
            "biases": code.integers("biases", self.biases, 32),
            "bias": _BIAS[self.bits],
            "factors": code.integers("factors", self.factors, 32),
            "half": f"INT64_C({1 << self.places - 1})",
            "within": f"(int64_t)((uint64_t)t & {top})" if self.waves else f"t < 0 ? 0 : t > {top} ? {top} : t",
            "table": code.integers("activation", self.table, 16),
            "coarse": coarse,
            "fine": coarse - _INNER,
            "one": 1 << _INNER,
            "last": (1 << _INNER) - 1,
            "outgoing": code.integers("output_weights", output_weights, 2 * self.bits),
        }
        return [_NODES.strip().format(**names)]


@dataclass(frozen=True, eq=False)
class FixedNetwork:
    """A network in fixed point.

    Attributes
    ----------
    network : Network
        In double precision.
    scaled : FixedInputs
    nodes : FixedNodes
    direct_weights, output_weights, intercept : ndarray of shape (d, m), (L, m), (m,)
        For inputs and nodes as whole numbers, in ``units``. Output weights have twice as many bits as weights.
    units : ndarray of shape (m,), float32
    ends : ndarray of shape (2, m) or None
        Limits of the sums.
    """

    network: Network
    scaled: FixedInputs
    nodes: FixedNodes
    direct_weights: np.ndarray
    output_weights: np.ndarray
    intercept: np.ndarray
    units: np.ndarray
    ends: np.ndarray | None

    @property
    def inputs(self) -> InputScaling:
        """The scaling of inputs."""
        return self.network.inputs

    @property
    def loss(self) -> Loss:
        """The loss that it was grown to minimise."""
        return self.network.loss

    @property
    def n_inputs(self) -> int:
        """What the nodes see: the columns of X scaled, and the jumps along them."""
        return self.network.n_inputs

    @property
    def n_outputs(self) -> int:
        """m, the number of outputs."""
        return self.network.n_outputs

    @property
    def single_output(self) -> bool:
        """Whether predictions are one-dimensional."""
        return self.network.single_output

    def predict(self, X: np.ndarray, n_jobs: int | None = None, *, double: bool = False) -> np.ndarray:
        """f(x) for each row, as in :meth:`Network.predict`, but always float64."""
        predictions = self.loss.mean(self.link(X).astype(np.float64))
        return predictions[:, 0] if self.single_output else predictions

    def link(self, X: np.ndarray) -> np.ndarray:
        """The outputs before the mean of the loss is taken, shape (n, m), float32."""
        u = self.scaled(X)
        sums = self.intercept + u @ self.direct_weights + self.nodes(u) @ self.output_weights
        sums = sums if self.ends is None else sums.clip(*self.ends)
        return np.asarray(sums.astype(np.float32) * self.units)

    def statements(self, code: CCode) -> list[str]:
        """From scaled inputs z to outputs f."""
        m = self.n_outputs
        each, intercept = f"for (int i = 0; i < {m}; i++)", code.integers("intercept", self.intercept, 64)
        lines = [*self.scaled.statements(code), f"int64_t sums[{m}];", f"{each} sums[i] = {intercept}[i];"]
        if self.direct_weights.any() or not len(self.output_weights):
            direct = code.integers("direct_weights", self.direct_weights, 32)
            added = f"{each} sums[i] += (int64_t)u[j] * {direct}[{m} * j + i];"
            lines.append(f"for (int j = 0; j < {self.n_inputs}; j++) {added}")
        lines += [*self.nodes.statements(code, self.output_weights), f"{each} {{"]
        if self.ends is not None:
            low, high = code.integers("lowest", self.ends[0], 64), code.integers("highest", self.ends[1], 64)
            lines.append(f"    sums[i] = sums[i] < {low}[i] ? {low}[i] : sums[i] > {high}[i] ? {high}[i] : sums[i];")
        return [
            *lines,
            "    const real sum = (real)sums[i];",
            f"    f[i] = sum * {code.table('units', self.units)}[i];",
            "}",
        ]


def fixed_network(network: Network, bits: int, X: np.ndarray, *, refit: bool) -> FixedNetwork:
    """A network in fixed point, with output weights fitted to its own outputs for these rows if ``refit``."""
    if any(type(block.nodes.layer) is not Dense for block in network.layers) or network.activation not in (
        ACTIVATIONS.values()
    ):
        raise ValueError(
            'Only networks of one layer with a built-in activation can be written in fixed point; use dtype="float32".'
        )
    if network.signs is not None:
        raise ValueError('In fixed point, rounding may break the constraints of monotone; use dtype="float32".')
    z, linear = network.inputs.transform(X), network.linear
    inputs = FixedInputs.of(network.inputs, z, known=refit)
    u = inputs(X)
    nodes = FixedNodes.of(network, bits, inputs, z, u)
    # For scaled targets, still with fractions.
    exact = [
        inputs.step * linear.direct_weights,
        nodes.units[:, np.newaxis] * network.output_weights,
        linear.intercept + inputs.origin * linear.direct_weights.sum(axis=0) + nodes.middle @ network.output_weights,
    ]
    if refit:
        exact = _refitted(network, nodes, z, u, exact)
    scale, offset = network.outputs.scale, network.outputs.offset
    direct, outgoing, intercept = (scale * part for part in exact)
    intercept += offset
    ends = None if network.bounds is None else np.stack(network.bounds) * scale + offset
    # The smallest unit with which each number fits, and the sum of all.
    sums = np.abs(intercept) + 2.0**23 * np.abs(outgoing).sum(axis=0) + 2.0**15 * np.abs(direct).sum(axis=0)
    sums = sums if ends is None else np.maximum(sums, np.abs(ends).max(axis=0))
    units = [
        np.abs(outgoing).max(axis=0, initial=0.0) / (2.0 ** (2 * bits - 1) - 1.0),
        np.abs(direct).max(axis=0, initial=0.0) / (2.0**31 - 1.0),
        sums * 2.0**-61,
        np.full_like(sums, np.finfo(np.float32).tiny),
    ]
    if sums.max() > np.finfo(np.float32).max:
        raise ValueError(
            f'Sums in the model, such as {sums.max():g}, exceed the range of float32; use dtype="float64".'
        )
    # A little larger, so that rounding does not make it too small.
    unit = (np.max(units, axis=0) * (1.0 + 2.0**-20)).astype(np.float32)
    direct, outgoing, intercept = (_whole(np.rint(part / unit)) for part in (direct, outgoing, intercept))
    ends = None if ends is None else _whole(np.rint(ends / unit))
    return FixedNetwork(network, inputs, nodes, direct, outgoing, intercept, unit, ends)


def _refitted(
    network: Network, nodes: FixedNodes, z: np.ndarray, u: np.ndarray, given: list[np.ndarray]
) -> list[np.ndarray]:
    """Direct weights, output weights and intercept with which outputs for these rows are like those of the network.

    What is added to those that are given has a ridge: there may be fewer rows than nodes.
    """
    wanted = z @ network.linear.direct_weights + network.linear.intercept
    for block in network.layers:
        wanted += block.nodes.layer.hidden(z, block.nodes) @ block.output_weights
    scales = np.repeat([2.0**15 * given[0].any(), 2.0**23, 1.0], [len(given[0]), len(given[1]), 1])
    columns = np.hstack([u, nodes(u), np.ones((len(u), 1))])
    missing = wanted - columns @ np.vstack(given)
    scaled = np.divide(columns, scales, out=np.zeros_like(columns), where=scales > 0.0)
    ridge = _RIDGE * np.sqrt(len(u)) * np.eye(len(scales))
    added = lstsq(np.vstack([scaled, ridge]), np.vstack([missing, np.zeros((len(scales), missing.shape[1]))]))[0]
    added = np.divide(added, scales[:, np.newaxis], out=added, where=scales[:, np.newaxis] > 0.0)
    direct, outgoing, intercept = np.split(added, np.cumsum([len(part) for part in given[:2]]))
    return [given[0] + direct, given[1] + outgoing, given[2] + intercept[0]]


def _whole(values: np.ndarray) -> np.ndarray:
    return values.astype(np.int64)


# ---- estimators


def in_fixed_point(
    last: Any, bits: int, numbers: np.ndarray, answers: Callable[[Any, np.ndarray], np.ndarray], *, given: bool
) -> tuple[Any, list[str], float]:
    """An estimator whose networks are in fixed point, what that costs in words, and the largest error.

    ``answers`` gives predictions or probabilities of shape (n, k). Output weights are fitted to every other one of the
    rows that are ``given``, and the error is measured on the rest.
    """
    if given and len(numbers) < _FEWEST_ROWS:
        raise ValueError(f"rows=… has {count(len(numbers), 'row')}; fixed point needs at least {_FEWEST_ROWS}.")
    numbers = numbers[:: -(-len(numbers) // _MOST_ROWS)]
    fitted, measured = (numbers[::2], numbers[1::2]) if given else (numbers, numbers)

    def fixed(estimator: Any, rows: np.ndarray) -> Any:
        estimator = copy(estimator)
        estimator.network_ = fixed_network(estimator.network_, bits, rows, refit=given)
        return estimator

    if hasattr(last, "members_"):
        found, pairs = copy(last), zip(last.members_, last.features_, strict=True)
        found.members_ = [fixed(member, fitted[:, features]) for member, features in pairs]
    else:
        found = fixed(last, fitted)
    exact, classes = answers(last, measured), hasattr(last, "classes_")
    errors = np.abs(answers(found, measured) - exact)
    squares = np.mean(errors**2, axis=0)
    rmse, own = float(np.sqrt(squares.mean())), own_error(last, exact)
    if own is not None and rmse > own:
        remedies = [] if given else ["pass training rows as rows=…"]
        remedies.append('use dtype="int16"' if bits == 8 else 'use dtype="float32"')
        raise ValueError(
            f"With weights of {bits} bits, predictions are off by {rmse:.2g} (root mean square), more than the error "
            f"of the model itself, {own:.2g}; {' or '.join(remedies)}."
        )
    ranges = np.ones(exact.shape[1]) if classes else np.ptp(exact, axis=0)
    unit, of_range = np.where(ranges > 0.0, ranges, 1.0), "" if classes else " of their range"
    rows = "like those of training" if given else "spread over the ranges of the inputs, unlike those of training,"
    accuracy = [
        f"Fixed point, with weights of {bits} bits. On {len(measured)} rows {rows}",
        f"{'probabilities' if classes else 'predictions'} differ from those in double precision",
        f"by {(np.sqrt(squares) / unit).max():.2g}{of_range} (root mean square), and by at most "
        f"{(errors.max(axis=0) / unit).max():.2g}{of_range}.",
        "",
    ]
    return found, accuracy, float(errors.max())


def own_error(last: Any, exact: np.ndarray) -> float | None:
    """The root mean square error of a model, as its last step or its probabilities have it; None if it is not known."""
    if hasattr(last, "classes_"):
        return float(np.sqrt(np.mean(exact * (1.0 - exact))))
    members = getattr(last, "members_", [last])
    steps = [growth_of(member).kept_steps for member in members]
    if not all(member.network_.loss.plain and len(kept) for member, kept in zip(members, steps, strict=True)):
        return None
    held_out, trained = (np.array([kept[name][-1] for kept in steps]) for name in ("validation_rmse", "train_rmse"))
    return float(np.sqrt(np.mean(np.where(np.isfinite(held_out), held_out, trained) ** 2)))
