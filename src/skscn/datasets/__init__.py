"""The data sets of the paper, and KEEL's file format."""

from skscn.datasets._db1 import db1_function, make_db1
from skscn.datasets._paper_sets import load_compactiv, load_concrete, load_stock
from skscn.datasets.keel import DataFileError, read_keel

__all__ = [
    "DataFileError",
    "db1_function",
    "load_compactiv",
    "load_concrete",
    "load_stock",
    "make_db1",
    "read_keel",
]
