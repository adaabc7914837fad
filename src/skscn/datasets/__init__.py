"""The data sets of the paper, KEEL's file format, and simulated tables to try things out with."""

from skscn.datasets._db1 import db1_function, make_db1
from skscn.datasets._examples import EXAMPLES, make_flats, make_plant
from skscn.datasets._paper_sets import load_compactiv, load_concrete, load_stock
from skscn.datasets.keel import DataFileError, read_keel

__all__ = [
    "EXAMPLES",
    "DataFileError",
    "db1_function",
    "load_compactiv",
    "load_concrete",
    "load_stock",
    "make_db1",
    "make_flats",
    "make_plant",
    "read_keel",
]
