"""What becomes of model files that were damaged or forged: each must be refused, or change nothing.

usage: ./run bench mutations [--count 10000] [--seed 0]

A damaged file has bits flipped, is cut, spliced with another one, followed by gigabytes of nothing, or has its header
or the one around it edited; it must raise ModelFileError or load to the very same predictions. A forged file has its
header or its arrays edited and the checksum computed anew; it must raise ModelFileError or be a model that predicts, if
something else. Descriptions of all of them must raise ModelFileError or be there.
"""

import argparse
import copy
import json
import os
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from safetensors.numpy import load, save

from skscn import ModelFileError, archive, describe_model, load_model
from skscn.recurrent import RecurrentStream

FILES = Path(__file__).parents[1] / "tests" / "files"
Rng = np.random.Generator


@dataclass(frozen=True)
class Sample:
    """A model file, rows, and what the model says about them."""

    name: str
    content: bytes
    rows: np.ndarray | pa.Table
    predictions: np.ndarray


def samples() -> list[Sample]:
    found = []
    for path in sorted(FILES.glob("*/*.scn")):
        expected = json.loads((path.parent / "expected.json").read_text(encoding="utf-8"))
        rows = pa.table(expected["table"]) if path.stem.endswith("-table") else np.array(expected["rows"])
        found.append(Sample(path.stem, path.read_bytes(), rows, predicted(load_model(path), rows)))
    return found


def predicted(model: Any, rows: Any) -> np.ndarray:
    """Predictions for the rows; by a stream, one after the other."""
    if isinstance(model, RecurrentStream):
        return np.array([model.predict_one(row) for row in rows])
    return model.predict(rows)


def flip(content: bytes, other: bytes, rng: Rng) -> bytes:
    """Some bits."""
    damaged = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        damaged[rng.integers(len(damaged))] ^= 1 << rng.integers(8)
    return bytes(damaged)


def cut(content: bytes, other: bytes, rng: Rng) -> bytes:
    """Before the end, or something after it."""
    return content[: rng.integers(len(content))] if rng.random() < 0.8 else content + rng.bytes(rng.integers(1, 100))


def splice(content: bytes, other: bytes, rng: Rng) -> bytes:
    """Part of another file, or of this one, in place of a part."""
    start, end = sorted(rng.integers(len(content) + 1, size=2))
    source = other if rng.random() < 0.5 else content
    first, last = sorted(rng.integers(len(source) + 1, size=2))
    return content[:start] + source[first:last] + content[end:]


def edit_text(content: bytes, other: bytes, rng: Rng) -> bytes:
    """Some characters of the header, which keeps its length."""
    length = int.from_bytes(content[:8], "little")
    header = bytearray(content[8 : 8 + length])
    for _ in range(rng.integers(1, 4)):
        header[rng.integers(length)] = rng.choice(list(b'0123456789-.eE"{}[],:truefalsnINF \\'))
    return content[:8] + bytes(header) + content[8 + length :]


def edit_header(content: bytes, other: bytes, rng: Rng) -> bytes:
    """The header, as JSON; the checksum stays."""
    about, arrays = taken_apart(content)
    return save(arrays, {"skscn": json.dumps(edited(about, rng))})


def edit_outer(content: bytes, other: bytes, rng: Rng) -> bytes:
    """The header of safetensors, which holds ours and the places of the arrays: values of wrong types anywhere."""
    outer, body = outer_header(content)
    if rng.random() < 0.2:
        outer = replacement(outer, rng)
    elif rng.random() < 0.3:
        outer["__metadata__"] = replacement(outer["__metadata__"], rng)
    else:
        outer = edited(outer, rng)
    header = json.dumps(outer).encode()
    return len(header).to_bytes(8, "little") + header + (body if rng.random() < 0.7 else b"")


class Sparse(bytes):
    """The beginning of a file that is HUGE; it takes no space on disk where the system supports that."""


HUGE = 40 * 2**30


def stretch(content: bytes, other: bytes, rng: Rng) -> bytes:
    """The whole file, or a header alone, before gigabytes of zeros."""
    length = int.from_bytes(content[:8], "little")
    return Sparse([content, content[: 8 + length], len(b"{}").to_bytes(8, "little") + b"{}", b""][rng.integers(4)])


def forge_header(content: bytes, other: bytes, rng: Rng) -> bytes:
    """The same, with the checksum computed anew."""
    about, arrays = taken_apart(content)
    return put_together(edited(about, rng), arrays)


def forge_arrays(content: bytes, other: bytes, rng: Rng) -> bytes:
    """An array, with the checksum computed anew; often the header goes with it."""
    about, arrays = taken_apart(content)
    # safetensors returns arrays in another order each time.
    name = str(rng.choice(sorted(arrays)))
    change = CHANGES[rng.integers(len(CHANGES))]
    with np.errstate(all="ignore"):
        before, arrays[name] = arrays[name], np.ascontiguousarray(change(arrays[name], rng))
    if rng.random() < 0.7:
        about = json.loads(
            json.dumps(about).replace(json.dumps(list(before.shape)), json.dumps(list(arrays[name].shape)))
        )
    if rng.random() < 0.1:
        arrays[f"{name}x"] = arrays.pop(name)
    return put_together(about, arrays)


def _spoilt(array: np.ndarray, rng: Rng) -> np.ndarray:
    array = array.copy()
    if array.size:
        values = [0, 1, -1, 10**6, -(2**31), 2**62] if array.dtype.kind in "iub" else [0.0, -1.0, np.nan, np.inf, 1e308]
        array.flat[rng.integers(array.size)] = np.array(values[rng.integers(len(values))]).astype(array.dtype)
    return array


CHANGES: list[Callable[[np.ndarray, Rng], np.ndarray]] = [
    _spoilt,
    _spoilt,
    lambda array, rng: array * array.dtype.type(2) if array.dtype.kind == "f" else array,
    lambda array, rng: array[: rng.integers(len(array) + 1)] if array.ndim else array,
    lambda array, rng: np.concatenate([array, array]) if array.ndim else array,
    lambda array, rng: array.T,
    lambda array, rng: array.reshape(-1),
    lambda array, rng: array.astype([np.float64, np.float32, np.int64, np.int8, np.bool_][rng.integers(5)]),
    lambda array, rng: np.zeros((0, rng.integers(2**40)), array.dtype),
]


def outer_header(content: bytes) -> tuple[dict, bytes]:
    """The header of safetensors, and what follows it."""
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def taken_apart(content: bytes) -> tuple[dict, dict[str, np.ndarray]]:
    return json.loads(outer_header(content)[0]["__metadata__"]["skscn"]), load(content)


def put_together(about: dict, arrays: dict[str, np.ndarray]) -> bytes:
    """A file whose checksums are right."""
    about = {**about, "arrays": archive._fingerprint(arrays)}
    about.pop("checksum", None)
    return save(arrays, {"skscn": json.dumps({**about, "checksum": archive._checksum(about)})})


def edited(about: dict, rng: Rng) -> dict:
    """Something deep in the header is replaced, removed, doubled or exchanged."""
    about = copy.deepcopy(about)
    for _ in range(rng.integers(1, 3)):
        places = list(walk(about))
        container, key = places[rng.integers(len(places))]
        action = rng.random()
        if action < 0.6:
            container[key] = replacement(container[key], rng)
        elif action < 0.75:
            del container[key]
        elif action < 0.85 and isinstance(container, dict):
            container[f"{key}_"] = container[key]
        else:
            other, place = places[rng.integers(len(places))]
            container[key] = copy.deepcopy(other[place])
    return about


def walk(value):
    """Every place in JSON: its container and key."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(items):
        yield value, key
        if isinstance(item, dict | list):
            yield from walk(item)


def replacement(value, rng: Rng):
    nested: list = []
    for _ in range(rng.integers(1, 60)):
        nested = [nested]
    number = value if isinstance(value, int | float) else 0
    values = [
        None, True, False, 0, 1, -1, 2**31, 2**53, 10**30, 10**400, -0.5, 1e308, 1e-320, number + 1, -number,
        "", "SCNRegressor", "Pipeline", "os.system", "__class__", "\x00", "\ud800", "sine", "inf", "auto",
        [], {}, nested, [1, 2], {"tuple": [1]}, {"float": "nan"}, {"class": "Pipeline"}, {"path": "/"},
        {"estimator": {"class": "SCNRegressor", "parameters": {}}},
    ]  # fmt: skip
    return values[rng.integers(len(values))]


# Only POSIX systems make sparse files without being asked for them.
DAMAGES = (flip, cut, splice, edit_text, edit_header, edit_outer, *((stretch,) if os.name == "posix" else ()))
FORGERIES = (forge_header, forge_arrays)


def outcome(sample: Sample, content: bytes, path: Path, *, forged: bool) -> str:
    """What becomes of a file; anything that must not happen is raised."""
    path.write_bytes(content)
    if isinstance(content, Sparse):
        os.truncate(path, HUGE)
    with suppress(ModelFileError):
        describe_model(path)
    try:
        model = load_model(path)
    except ModelFileError:
        return "refused"
    if not forged:
        np.testing.assert_array_equal(predicted(model, sample.rows), sample.predictions)
        return "the same"
    n_features = model.n_features_in_
    if n_features > 100:
        return "another model"
    if isinstance(sample.rows, pa.Table):
        return outcome_of_table(model, sample)
    rows = np.resize(sample.rows, (len(sample.rows), n_features))
    try:
        with np.errstate(all="ignore"):
            predictions = predicted(model, rows)
    except ValueError:
        # scikit-learn's transformers refuse in words: categories that are unknown, numbers that have become too large.
        if not sample.name.startswith("Pipeline-"):
            raise
        return "another model"
    assert len(predictions) == len(sample.rows)
    return "the same" if np.array_equal(predictions, sample.predictions) else "another model"


def outcome_of_table(model: Any, sample: Sample) -> str:
    """Where columns have other names or kinds, the table is refused in words."""
    try:
        with np.errstate(all="ignore"):
            predictions = model.predict(sample.rows)
    except ValueError as refusal:
        if "olumn" not in str(refusal) and "eature names" not in str(refusal):
            raise
        return "another model"
    assert len(predictions) == len(sample.rows)
    return "the same" if np.array_equal(predictions, sample.predictions) else "another model"


def run(count: int, seed: int, report: Callable[[str], None] = lambda line: None) -> dict[str, Counter]:
    """So many mutations of each kind in turn; what became of them, kind by kind."""
    rng, chosen = np.random.default_rng(seed), samples()
    kinds = DAMAGES + FORGERIES
    found: dict[str, Counter] = {kind.__name__: Counter() for kind in kinds}
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(count):
            kind = kinds[number % len(kinds)]
            sample, other = (chosen[index] for index in rng.integers(len(chosen), size=2))
            content = kind(sample.content, other.content, rng)
            start = perf_counter()
            try:
                found[kind.__name__][outcome(sample, content, Path(folder) / "m.scn", forged=kind in FORGERIES)] += 1
            except Exception:
                report(f"mutation {number} ({kind.__name__} of {sample.name}, seed {seed}):")
                raise
            slowest = max(slowest, perf_counter() - start)
    report(f"{count} mutations of {len(chosen)} files; the slowest took {slowest:.3f} s")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    found = run(options.count, options.seed, lambda line: print(line, file=sys.stderr))
    outcomes = ("refused", "the same", "another model")
    print(f"{'mutation':14}", *(f"{name:>14}" for name in outcomes))
    for kind, counts in found.items():
        print(f"{kind:14}", *(f"{counts[name]:>14}" for name in outcomes))


if __name__ == "__main__":
    main()
