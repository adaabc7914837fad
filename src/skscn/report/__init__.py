"""A page about a fitted model that opens offline: how good it is, what it goes by, how it grew and how to use it."""

from skscn.report._page import write_report

__all__ = ["write_report"]
