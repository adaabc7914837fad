"""Hashes of many small fits, to see whether a change alters a network in its last bit.

    ./run bench fingerprints --write before.json      on the commit before a change
    ./run bench fingerprints --check before.json      after it: exit code 1 where a network differs

The fits combine algorithms, configurations, activations, backends (memory, files, Dask), sample weights, regression and
classes, several nodes a step, warm start and checkpoints. Hashes hold on one machine with the same NumPy.
"""

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import dask
import dask.array as da
import numpy as np

from skscn import (
    ACTIVATIONS,
    Chunks,
    IRVFLRegressor,
    ModifiedQuickpropRegressor,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
)
from skscn.configuration import CONFIGURATIONS
from skscn.output_weights import ALGORITHMS

N_ROWS = 4500
RNG = np.random.default_rng(20)
X = RNG.uniform(size=(N_ROWS, 4)) * [1.0, 10.0, 0.1, 5.0]
Y = np.sin(5 * X[:, 0]) + 0.1 * X[:, 1] * X[:, 3] + 0.05 * RNG.normal(size=N_ROWS)
TWO = np.column_stack([Y, np.cos(X[:, 3]) + X[:, 1]])
LABELS = np.array(["low", "middle", "high"])[np.digitize(Y, [0.5, 1.5])]
WEIGHTS = RNG.uniform(0.5, 2.0, N_ROWS)
REPEATS = RNG.integers(0, 3, N_ROWS).astype(float)
SMALL = {"max_nodes": 12, "max_candidates": 30, "window": 4, "random_state": 0}
Fit = Callable[[], object]


def in_memory(model, y=Y, sample_weight=None):
    return model.fit(X, y, sample_weight=sample_weight)


def in_files(model, y=Y):
    return model.fit(Chunks(X, y, memory_limit=100_000))


def on_dask(model, y=Y, sample_weight=None):
    chunks = (700, 0, 2500, 1, 1299)
    cut = [None if a is None else da.from_array(a, chunks=(chunks, *a.shape[1:])) for a in (X, y, sample_weight)]
    with dask.config.set(scheduler="threads", num_workers=2):
        return model.fit(cut[0], cut[1], sample_weight=cut[2])


BACKENDS = {"memory": in_memory, "files": in_files, "dask": on_dask}


def fits() -> Iterator[tuple[str, Fit]]:
    """Names of fits and the fits."""
    for algorithm in ALGORITHMS:
        for configuration in CONFIGURATIONS:
            settings = SMALL | {"algorithm": algorithm, "configuration": configuration}
            yield f"{algorithm} {configuration}", lambda s=settings: in_memory(SCNRegressor(**s))
        for name, backend in BACKENDS.items():
            settings = SMALL | {"algorithm": algorithm}
            yield f"{algorithm} {name}", lambda s=settings, b=backend: b(SCNRegressor(**s))
            yield (
                f"{algorithm} {name} ladder",
                lambda s=settings, b=backend: b(SCNRegressor(configuration="ladder", **s)),
            )
            classifier = SCNClassifier(loss="squared", **settings)
            yield f"{algorithm} {name} classes", lambda c=classifier, b=backend: b(c, LABELS)
    for activation in ACTIVATIONS:
        for configuration in ("polished", "ladder", "quickprop"):
            settings = SMALL | {"activation": activation, "configuration": configuration}
            yield f"{activation} {configuration}", lambda s=settings: in_memory(SCNRegressor(**s))
    for kind, weights in {"weights": WEIGHTS, "repeats": REPEATS}.items():
        for name, backend in {"memory": in_memory, "dask": on_dask}.items():
            yield f"{kind} {name}", lambda w=weights, b=backend: b(SCNRegressor(**SMALL), sample_weight=w)
            yield f"{kind} {name} two outputs", lambda w=weights, b=backend: b(SCNRegressor(**SMALL), TWO, w)
    for algorithm in ALGORITHMS:
        for configuration in ("polished", "ladder"):
            several = SMALL | {"algorithm": algorithm, "configuration": configuration, "nodes_per_step": 3}
            yield f"{algorithm} {configuration} 3 a step", lambda s=several: in_memory(SCNRegressor(**s))
        yield f"{algorithm} warm start", lambda a=algorithm: continued(SCNRegressor(**SMALL | {"algorithm": a}))
        yield f"{algorithm} checkpoint", lambda a=algorithm: resumed(SMALL | {"algorithm": a})
    for stopping in (False, True, "gcv", "aic", "bic"):
        yield f"stopping {stopping}", lambda s=stopping: in_memory(SCNRegressor(early_stopping=s, **SMALL))
    for scaling in ("minmax", "standard", "quantile", "robust", None):
        yield f"scaling {scaling}", lambda s=scaling: in_memory(SCNRegressor(scaling=s, **SMALL))
    yield "alpha", lambda: in_memory(SCNRegressor(alpha=0.1, **SMALL))
    yield "threads", lambda: in_memory(SCNRegressor(n_jobs=2, **SMALL))
    yield "IRVFL", lambda: in_memory(IRVFLRegressor(max_nodes=12, random_state=0))
    yield "quickprop", lambda: in_memory(ModifiedQuickpropRegressor(max_nodes=5, random_state=0))
    yield "ensemble", lambda: in_memory(SCNEnsembleRegressor(SCNRegressor(**SMALL), n_members=3, random_state=0))
    members = SCNClassifier(loss="squared", **SMALL)
    yield "classes", lambda: in_memory(SCNEnsembleClassifier(members, n_members=3, random_state=0), LABELS)


def continued(model):
    model.set_params(max_nodes=5, warm_start=True).fit(X, Y)
    return model.set_params(max_nodes=12).fit(X, Y)


def resumed(settings):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.ckpt"
        half = settings | {"checkpoint": path}
        SCNRegressor(**half).fit(X, Y)
        return SCNRegressor(**half).fit(X, Y)


def fingerprint(model) -> str:
    """A hash of what a model has learnt, and of what it predicts."""
    digest = hashlib.blake2b(digest_size=16)
    for part in getattr(model, "members_", [model]):
        network = part.network_
        arrays = [network.weights, network.biases, network.output_weights, network.linear.weights, network.coefficients]
        arrays += [network.linear.output_weights, network.directions.toarray()]
        arrays += [part.history_[name] for name in part.history_.dtype.names if name not in ("seconds", "round")]
        for array in arrays:
            digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(np.ascontiguousarray(model.predict(X[:500])).tobytes())
    return digest.hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument("--write", type=Path, help="the file to write hashes to")
    choice.add_argument("--check", type=Path, help="a file of hashes to compare with")
    arguments = parser.parse_args()
    found = {}
    for name, fit in fits():
        found[name] = fingerprint(fit())
        print(f"{found[name]}  {name}", flush=True)
    if arguments.write:
        arguments.write.write_text(json.dumps(found, indent=1), encoding="utf-8")
        print(f"{len(found)} fits in {arguments.write}.")
        return 0
    before = json.loads(arguments.check.read_text(encoding="utf-8"))
    different = [name for name in before if found.get(name) != before[name]]
    print(f"{len(before) - len(different)} of {len(before)} fits are the same bit for bit.")
    for name in different:
        print(f"different: {name}")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
