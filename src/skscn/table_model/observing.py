"""Observers of the fit of a table model."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from skscn.progress import Listener

if TYPE_CHECKING:
    from skscn.table_model.model import TableModel


class FitObserver(Listener):
    """Is told about the decisions and the progress of a fit, and may end it; this one prints notes if asked to.

    Attributes
    ----------
    interrupted : bool
        Whether the fit is to end with what has grown so far.
    """

    interrupted = False

    def __init__(self, verbose: bool = False):
        self._verbose = verbose

    def note(self, text: str) -> None:
        """Called with each decision, in words."""
        if self._verbose:
            sys.stderr.write(f"{text}\n")

    def begin(self, description: str, estimator: Any) -> None:
        """Called before an estimator grows: the model itself, or one of those that are tested."""

    def trained(self, model: TableModel) -> None:
        """Called with the model when it is trained, before it is tested."""
