"""Learners from other packages, each held to one thread, and what to say about packages that are missing."""

from functools import partialmethod
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np

# Method -> the package that it needs. pytabkit brings PyTorch, so ./run does not install it; the others it does.
NEEDS = {
    "CatBoost": "catboost",
    "LightGBM": "lightgbm",
    "XGBoost": "xgboost",
    "SWIM": "swimnetworks",
    "RealMLP": "pytabkit",
}
# Nodes of a sampled network: those of the example of swimnetworks, which has no default.
SWIM_NODES = 512
_PREDICTIONS = ("predict", "predict_proba")
_OWN_ERRORS = {"catboost": "CatBoostError", "lightgbm": "basic.LightGBMError"}


def is_installed(method: str) -> bool:
    """Whether the package that a method needs, if any, is there."""
    return method not in NEEDS or find_spec(NEEDS[method]) is not None


def package_version(method: str) -> str:
    """The package that a method comes from, and its version."""
    package = "scikit-scn" if method.startswith("SCN") else NEEDS.get(method, "scikit-learn")
    return f"{package} {version(package)}"


def missing_packages(methods: list[str]) -> list[str]:
    """The packages that these methods would need."""
    return [package for method, package in NEEDS.items() if method in methods and not is_installed(method)]


def how_to_install(missing: list[str]) -> str:
    """What to say about packages that are not installed."""
    names = " ".join(missing)
    return (
        f"Not installed: {', '.join(missing)}. What they were measured with earlier is in the tables, nothing new; to "
        f"measure them: .venv/bin/pip install {names}"
    )


def errors() -> tuple[type[Exception], ...]:
    """What a fit may raise, including errors of the packages that are not subclasses of these."""
    own = [
        getattr(import_module(f"{package}.{module}".rstrip(".")), name)
        for package, path in _OWN_ERRORS.items()
        if find_spec(package) is not None
        for module, _, name in [path.rpartition(".")]
    ]
    return (ValueError, np.linalg.LinAlgError, MemoryError, *own)


def lightgbm(seed: int, kind: str = "LGBMRegressor", **parameters: Any) -> Any:
    import lightgbm

    return getattr(lightgbm, kind)(n_jobs=1, verbose=-1, random_state=seed, **parameters)


def catboost(seed: int, kind: str = "CatBoostRegressor", **parameters: Any) -> Any:
    import catboost

    base = getattr(catboost, kind)
    # Predictions have a number of threads of their own, all cores unless told otherwise.
    held = {name: partialmethod(getattr(base, name), thread_count=1) for name in _PREDICTIONS if hasattr(base, name)}
    fixed = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
    return type(kind, (base,), held)(random_seed=seed, **fixed, **parameters)


def xgboost(seed: int, kind: str = "XGBRegressor", **parameters: Any) -> Any:
    import xgboost

    return getattr(xgboost, kind)(n_jobs=1, random_state=seed, **parameters)


def swim_layer(seed: int, **parameters: Any) -> Any:
    """Nodes whose weights are sampled from pairs of rows (Bolager et al. 2023)."""
    import swimnetworks

    fixed = {"layer_width": SWIM_NODES, "activation": "tanh", "parameter_sampler": "tanh"}
    return swimnetworks.Dense(random_seed=seed, **fixed, **parameters)


def realmlp(seed: int, kind: str = "RealMLP_TD_Regressor") -> Any:
    import pytabkit

    return getattr(pytabkit, kind)(device="cpu", n_threads=1, random_state=seed)
