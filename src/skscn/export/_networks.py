"""A grown network as C functions: scaling, nodes, output weights, bounds and the mean of its loss."""

from __future__ import annotations

import numpy as np

from skscn.export._code import CCode
from skscn.export._fixed import FixedNetwork
from skscn.network import Network
from skscn.scaling import InputScaling, QuantileScaling, WithJumps, WithQuantiles

# As in np.interp. A number that is stored is rounded to its type, whatever the processor computes with.
_INTERPOLATE = """
int low = 0, high = n - 1;
if (x != x) return x;
if (x < knots[0]) return shares[0];
if (x >= knots[high]) return shares[high];
while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (knots[middle] <= x) low = middle;
    else high = middle;
}
const real rise = shares[high] - shares[low], run = knots[high] - knots[low], beyond = x - knots[low];
const real slope = rise / run;
const real more = slope * beyond;
const real share = more + shares[low];
return share;
"""


def scaled(code: CCode, scaling: InputScaling, features: np.ndarray | None = None) -> str:
    """A function ``void (const real *x, real *z)``: inputs, or some of them, scaled, and the jumps along them."""
    if isinstance(scaling, WithJumps):
        columns = scaling.columns if features is None else features[scaling.columns]
        places, thresholds = code.integers("jumps", columns), code.table("thresholds", scaling.thresholds)
        first, count = len(scaling.scaling.sources), len(columns)
        lines = [
            f"{scaled(code, scaling.scaling, features)}(x, z);",
            f"for (int i = 0; i < {count}; i++) z[{first} + i] = x[{places}[i]] > {thresholds}[i];",
        ]
        return code.function("scaled", "void", "const real *x, real *z", "\n".join(lines))
    if isinstance(scaling, WithQuantiles):
        more = scaled(code, scaling.quantiles, features)
        lines = [f"{scaled(code, scaling.scaling, features)}(x, z);", f"{more}(x, z + {len(scaling.scaling.sources)});"]
        return code.function("scaled", "void", "const real *x, real *z", "\n".join(lines))
    x = "x[i]" if features is None else f"x[{code.integers('features', features)}[i]]"
    if isinstance(scaling, QuantileScaling):
        count, width = scaling.knots.shape
        knots, shares = code.table("knots", scaling.knots.T), code.table("shares", scaling.shares.T)
        parameters = "real x, const real *knots, const real *shares, int n"
        interpolate = code.function("interpolate", "real", parameters, _INTERPOLATE)
        lines = [f"    z[i] = {interpolate}({x}, {knots} + {count} * i, {shares} + {count} * i, {count});"]
    else:
        width = len(scaling.offset)
        offset, scale = code.table("offset", scaling.offset), code.table("scale", scaling.scale)
        limits = f"{code.limit(scaling.low)}, {code.limit(scaling.high)}"
        lines = [
            f"    const real moved = {x} - {offset}[i];",
            f"    z[i] = {code.clamp()}(moved / {scale}[i], {limits});",
        ]
    body = "\n".join([f"for (int i = 0; i < {width}; i++) {{", *lines, "}"])
    return code.function("scaled", "void", "const real *x, real *z", body)


def hidden(code: CCode, network: Network) -> str:
    """A function ``void (const real *x, real *h)``: the output of every node, for rows that are not scaled."""
    lines = [f"real z[{network.n_inputs}];", f"{scaled(code, network.inputs)}(x, z);"]
    start = 0
    for block in network.layers:
        node = block.nodes.layer.c_function(code, block.nodes)
        lines.append(f"for (int j = 0; j < {block.size}; j++) h[{start} + j] = {node}(z, j);")
        start += block.size
    return code.function("hidden", "void", "const real *x, real *h", "\n".join(lines))


def predicted(code: CCode, network: Network | FixedNetwork, features: np.ndarray | None = None) -> str:
    """A function ``void (const real *x, real *f)``: predictions for rows that are not scaled, or for some columns."""
    lines = [f"real z[{network.n_inputs}];", f"{scaled(code, network.inputs, features)}(x, z);"]
    lines += network.statements(code) if isinstance(network, FixedNetwork) else _outputs(code, network)
    mean = network.loss.c_function(code, network.n_outputs)
    lines += [] if mean is None else [f"{mean}(f);"]
    return code.function("network", "void", "const real *x, real *f", "\n".join(lines))


def _outputs(code: CCode, network: Network) -> list[str]:
    """Outputs f from scaled inputs z."""
    m, intercept = network.n_outputs, code.table("intercept", network.linear.intercept)
    lines = [f"for (int i = 0; i < {m}; i++) f[i] = {intercept}[i];"]
    if network.linear.direct_weights.any():
        direct = code.table("direct_weights", network.linear.direct_weights)
        lines += _added(network.n_inputs, "z[j]", direct, m)
    for block in network.layers:
        if block.size:
            node = block.nodes.layer.c_function(code, block.nodes)
            lines += _added(block.size, f"{node}(z, j)", code.table("output_weights", block.output_weights), m)
    return [*lines, *_unscaled(code, network)]


def _added(count: int, value: str, weights: str, m: int) -> list[str]:
    """The sum over j of values times weights, added to the outputs."""
    return [
        f"for (int j = 0; j < {count}; j++) {{",
        f"    const real h = {value};",
        f"    for (int i = 0; i < {m}; i++) f[i] += h * {weights}[{m} * j + i];",
        "}",
    ]


def _unscaled(code: CCode, network: Network) -> list[str]:
    """Outputs within their bounds, in units of the target."""
    lines, clamp, largest = [], code.clamp(), code.limit(np.inf)
    if network.bounds is not None:
        low, high = code.table("lowest", network.bounds[0]), code.table("highest", network.bounds[1])
        lines.append(f"    f[i] = {clamp}(f[i], {low}[i], {high}[i]);")
    scale, offset = code.table("unit", network.outputs.scale), code.table("zero", network.outputs.offset)
    lines.append(f"    f[i] = {clamp}(f[i] * {scale}[i] + {offset}[i], -{largest}, {largest});")
    return [f"for (int i = 0; i < {network.n_outputs}; i++) {{", *lines, "}"]
