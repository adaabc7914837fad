"""Optional packages: imported where they are used, with an error that says how to install a missing one."""

import sys
from importlib import import_module
from types import ModuleType

# Package -> the extra of scikit-scn that installs it.
EXTRAS = {
    "cryptography": "federated",
    "dask": "dask",
    "distributed": "dask",
    "jinja2": "plot",
    "matplotlib": "plot",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "polars": "io",
    "pyarrow": "io",
    "rich": "cli",
    "skl2onnx": "onnx",
    "typer": "cli",
}


def optional(module: str, purpose: str) -> ModuleType:
    """Import a module of an optional package.

    Parameters
    ----------
    module : str
        For example "matplotlib.figure".
    purpose : str
        What needs it, as the subject of a sentence: "A report", "Reading files".
    """
    package = module.split(".")[0]
    if sys.modules.get(package) is not None and (loaded := sys.modules.get(module)) is not None:
        return loaded
    try:
        import_module(package)
    except ModuleNotFoundError as missing:
        if missing.name != package:
            raise
        raise ImportError(f"{purpose} needs {package}: {how_to_install(package)}", name=package) from missing
    return import_module(module)


def how_to_install(package: str) -> str:
    """The command that installs an optional package together with the rest of its extra."""
    extra = EXTRAS[package]
    return f'pip install "scikit-scn[{extra}]", or pip install ".[{extra}]" in a clone of scikit-scn'
