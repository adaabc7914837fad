"""Hashes of many small fits, to see whether a change alters a network in its last bit.

    ./run bench fingerprints --write before.json      on the commit before a change
    ./run bench fingerprints --check before.json      after it: exit code 1 where a network differs

The fits combine algorithms, configurations, activations, backends (memory, files, Dask), sample weights, regression and
classes, losses, several nodes a step, warm start and checkpoints, tables with gaps, ensembles with intervals, deep,
recurrent and online networks, and further rows. Hashes hold on one machine with the same NumPy. ``--only WORD`` runs
the fits whose names contain a word; only these are compared.
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
    DeepSCNClassifier,
    DeepSCNRegressor,
    IRVFLRegressor,
    ModifiedQuickpropRegressor,
    OnlineSCNClassifier,
    OnlineSCNRegressor,
    RecurrentSCNEnsembleRegressor,
    RecurrentSCNRegressor,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
)
from skscn.losses import LOSSES
from skscn.output_weights import ALGORITHMS
from skscn.progress import Listener, listening
from skscn.search import CONFIGURATIONS

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
    yield from fits_of_losses()
    yield from fits_of_defaults()
    yield from fits_of_other_kinds()


def fits_of_losses() -> Iterator[tuple[str, Fit]]:
    """Every loss on every backend, alone and in an ensemble, and with a checkpoint."""
    for loss in LOSSES:
        classes = loss == "log_loss"
        y = LABELS if classes else np.abs(Y) if loss == "poisson" else Y
        kind, ensemble = (SCNClassifier, SCNEnsembleClassifier) if classes else (SCNRegressor, SCNEnsembleRegressor)
        for name, backend in BACKENDS.items():
            yield f"loss {loss} {name}", lambda k=kind, t=y, v=loss, b=backend: b(k(loss=v, **SMALL), t)
        yield (
            f"loss {loss} ensemble",
            lambda k=kind, e=ensemble, t=y, v=loss: in_memory(e(k(loss=v, **SMALL), n_members=2, random_state=0), t),
        )
        yield f"loss {loss} checkpoint", lambda k=kind, t=y, v=loss: resumed(SMALL | {"loss": v}, k, t)


def fits_of_defaults() -> Iterator[tuple[str, Fit]]:
    """Estimators as a user calls them, on few rows: hundreds of nodes, polished, with early stopping."""
    few = slice(0, 800)
    holed = X[few].copy()
    holed[::7, 1] = np.nan
    yield "default network", lambda: SCNRegressor(random_state=0).fit(X[few], Y[few])
    yield "default two outputs", lambda: SCNRegressor(random_state=0).fit(X[few], TWO[few])
    yield "default weights", lambda: SCNRegressor(random_state=0).fit(X[few], Y[few], sample_weight=WEIGHTS[few])
    yield "default gaps", lambda: SCNRegressor(random_state=0).fit(holed, Y[few])
    yield "default last rows", lambda: SCNRegressor(validation="last", random_state=0).fit(X[few], Y[few])
    yield (
        "default given rows",
        lambda: SCNRegressor(random_state=0).fit(X[few], Y[few], X_val=X[-200:], y_val=Y[-200:]),
    )
    yield "default groups", lambda: SCNRegressor(random_state=0).fit(X[few], Y[few], groups=np.arange(800) // 40)
    yield "default classes", lambda: SCNClassifier(random_state=0).fit(X[few], LABELS[few])
    yield (
        "default class weights",
        lambda: SCNClassifier(class_weight="balanced", random_state=0).fit(X[few], LABELS[few]),
    )
    yield "default ensemble", lambda: SCNEnsembleRegressor(n_members=3, random_state=0).fit(X[few], Y[few])
    yield (
        "default ensemble n_jobs",
        lambda: SCNEnsembleRegressor(n_members=3, n_jobs=2, random_state=0).fit(X[few], Y[few]),
    )
    yield (
        "default ensemble bootstrap",
        lambda: SCNEnsembleRegressor(n_members=3, bootstrap=True, random_state=0).fit(X[few], Y[few]),
    )
    yield (
        "default ensemble classes",
        lambda: SCNEnsembleClassifier(n_members=3, random_state=0).fit(X[few], LABELS[few]),
    )
    yield (
        "default further rows",
        lambda: SCNRegressor(random_state=0).fit(X[few], Y[few]).partial_fit(X[800:1000], Y[800:1000]),
    )
    yield (
        "default further classes",
        lambda: SCNClassifier(random_state=0).fit(X[few], LABELS[few]).partial_fit(X[800:1000], LABELS[800:1000]),
    )
    yield "default warm start", lambda: grown_on(SCNRegressor(random_state=0), X[few], Y[few])


def fits_of_other_kinds() -> Iterator[tuple[str, Fit]]:
    """Deep, recurrent and online networks."""
    few = slice(0, 600)
    for connections in ("all", "previous", "output"):
        settings = {"max_nodes": 30, "max_layers": 2, "early_stopping": False, "random_state": 0}
        deep = settings | {"inputs": connections}
        yield f"deep {connections}", lambda s=deep: DeepSCNRegressor(**s).fit(X[few], Y[few])
    yield "deep default", lambda: DeepSCNRegressor(random_state=0).fit(X[few], Y[few])
    yield "deep classes", lambda: DeepSCNClassifier(max_nodes=40, random_state=0).fit(X[few], LABELS[few])
    recurrent = {"max_nodes": 12, "random_state": 0}
    yield "recurrent", lambda: RecurrentSCNRegressor(**recurrent).fit(X[few], Y[few])
    yield "recurrent two outputs", lambda: RecurrentSCNRegressor(**recurrent).fit(X[few], TWO[few])
    yield "recurrent feedback", lambda: RecurrentSCNRegressor(feedback=True, **recurrent).fit(X[few], Y[few])
    yield (
        "recurrent ensemble",
        lambda: RecurrentSCNEnsembleRegressor(n_estimators=2, **recurrent).fit(X[few], Y[few]),
    )
    yield "online", lambda: OnlineSCNRegressor(random_state=0).partial_fit(X[:1500], Y[:1500])
    yield (
        "online one by one",
        lambda: one_by_one(OnlineSCNRegressor(random_state=0).partial_fit(X[:300], Y[:300]), Y),
    )
    classes = np.unique(LABELS)
    yield (
        "online classes",
        lambda: OnlineSCNClassifier(random_state=0).partial_fit(X[:1500], LABELS[:1500], classes=classes),
    )


def one_by_one(model, y):
    for row in range(300, 600):
        model.partial_fit(X[row : row + 1], y[row : row + 1])
    return model


def grown_on(model, X, y):
    model.set_params(max_nodes=12, warm_start=True).fit(X, y)
    return model.set_params(max_nodes="auto").fit(X, y)


def continued(model):
    model.set_params(max_nodes=5, warm_start=True).fit(X, Y)
    return model.set_params(max_nodes=12).fit(X, Y)


def resumed(settings, kind=SCNRegressor, y=Y):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.ckpt"
        with listening(Interrupt()):
            kind(**settings, checkpoint=path).fit(X, y)
        return kind(**settings, checkpoint=path).fit(X, y)


class Interrupt(Listener):
    """Ends a fit in the middle."""

    def step(self, step, max_nodes):
        return step.nodes >= 6


def fingerprint(model) -> str:
    """A hash of what a model has learnt, and of what it predicts."""
    digest = hashlib.blake2b(digest_size=16)
    arrays = []
    for part in getattr(model, "members_", [model]):
        if hasattr(part, "network_"):
            network = part.network_
            arrays += [array for block in network.layers for array in (block.nodes.weights, block.nodes.biases)]
            arrays += [block.output_weights for block in (*network.layers, network.linear)]
            arrays += [network.linear.weights, network.coefficients]
        if hasattr(part, "history_"):
            names = [name for name in part.history_.dtype.names if name not in ("seconds", "round")]
            arrays += [part.history_[name] for name in names]
    arrays += [getattr(model, name)(X[:500]) for name in ("predict", "predict_proba") if hasattr(model, name)]
    if isinstance(model, SCNEnsembleRegressor) and np.ndim(arrays[-1]) == 1:
        arrays += model.predict_interval(X[:500], coverage=0.9)
    for array in arrays:
        array = np.asarray(array)
        digest.update(np.ascontiguousarray(array.astype(str) if array.dtype == object else array).tobytes())
    return digest.hexdigest()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument("--write", type=Path, help="the file to write hashes to")
    choice.add_argument("--check", type=Path, help="a file of hashes to compare with")
    parser.add_argument("--only", default="", help="a word: only fits whose names contain it")
    arguments = parser.parse_args()
    found = {}
    for name, fit in fits():
        if arguments.only not in name:
            continue
        found[name] = fingerprint(fit())
        print(f"{found[name]}  {name}", flush=True)
    if arguments.write:
        arguments.write.write_text(json.dumps(found, indent=1), encoding="utf-8")
        print(f"{len(found)} fits in {arguments.write}.")
        return 0
    before = json.loads(arguments.check.read_text(encoding="utf-8"))
    before = {name: value for name, value in before.items() if arguments.only in name}
    different = [name for name in before if found.get(name) != before[name]]
    print(f"{len(before) - len(different)} of {len(before)} fits are the same bit for bit.")
    for name in different:
        print(f"different: {name}")
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
