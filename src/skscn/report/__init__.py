"""An offline page about a fitted model: how good it is, which inputs matter, how it grew and how to use it."""

from skscn.report._data import ReportData as ReportData
from skscn.report._data import table_data as table_data
from skscn.report._page import write_page as write_page
from skscn.report._page import write_report

__all__ = ["write_report"]
