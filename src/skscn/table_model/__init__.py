"""Table models: one object from a table to a prediction, in Python and in the program."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skscn.table_model.files import load_model, open_model, save_model
    from skscn.table_model.live import LiveModel
    from skscn.table_model.model import TableModel
    from skscn.table_model.observing import FitObserver
    from skscn.table_model.updating import Update

__all__ = ["FitObserver", "LiveModel", "TableModel", "Update", "load_model", "open_model", "save_model"]

# Imported when they are first used, so that the program can show its help at once.
_HOMES = {
    "FitObserver": "observing",
    "LiveModel": "live",
    "TableModel": "model",
    "Update": "updating",
    "load_model": "files",
    "open_model": "files",
    "save_model": "files",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'skscn.table_model' has no attribute {name!r}")
    return getattr(import_module(f"skscn.table_model.{_HOMES[name]}"), name)
