"""An offline page about a fitted model: how good it is, which inputs matter, how it grew and how to use it."""

from skscn.report._data import ReportData, table_data
from skscn.report._page import write_page, write_report

__all__ = ["ReportData", "table_data", "write_page", "write_report"]
