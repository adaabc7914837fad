"""The data sets of the paper."""

from skscn.datasets._db1 import db1_function, make_db1

__all__ = ["db1_function", "make_db1"]
