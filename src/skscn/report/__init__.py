"""An offline page about a fitted model: how good it is, which inputs matter, how it grew and how to use it."""

from skscn.report._page import write_report

__all__ = ["write_report"]
