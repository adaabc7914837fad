"""The paper: its data sets, its numbers, and its experiments.

Only the commands ``demo`` and ``reproduce`` import this package. :mod:`skscn.datasets` has the names of the data sets,
and looks them up here when they are first used.
"""
